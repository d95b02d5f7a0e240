"""Does an evaluation measure every trial of the chosen scenes once, and does its command report it?"""

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")

from small import ALONE, BUSY, log_of, make_policy, run_here, run_module_here, tiny_config
from still_town import still_town

from baselines import evaluate as evaluation
from baselines import ppo
from baselines.config import EnvConfig
from baselines.evaluate import PolicyRunner, evaluate
from baselines.rollout.batches import open_batches, scenes_of, seeds_used
from baselines.run import spread
from drive_env import Batch, generate_scene, join_metrics, save_scene
from drive_env.evaluation import MultiScenario
from drive_env.policies import policy_maker


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """The checkpoint of a short run."""
    return ppo.train(tiny_config(tmp_path_factory.mktemp("run"), ppo={"agent_steps": 500})).checkpoint


def test_held_out_scenes_are_those_of_the_seeds_from_the_first_on():
    env = EnvConfig(scenes=("intersection", "town"), scene_count=2, scene_agents=4)
    assert [scene.name for scene in scenes_of(env)] == ["intersection/0", "intersection/1", "town/0", "town/1"]
    assert [scene.name for scene in scenes_of(env, 70)] == ["intersection/70", "intersection/71", "town/70", "town/71"]
    assert {scene.objects.count for scene in scenes_of(env, 70)} == {4}


def test_a_generator_can_have_counts_of_its_own():
    """The other generators and the held-out scenes keep to theirs, and no held-out scene is one of the training's."""
    env = EnvConfig(scenes=("town", "narrow"), scene_count=1, scene_counts={"narrow": 3}, scene_agents=4,
                    scene_agents_of={"narrow": 2})
    names = lambda scenes: [(scene.name, scene.objects.count) for scene in scenes]
    assert names(scenes_of(env)) == [("town/0", 4), ("narrow/0", 2), ("narrow/1", 2), ("narrow/2", 2)]
    assert seeds_used(env) == 3
    assert not {name for name, _ in names(scenes_of(env))} & {name for name, _ in names(scenes_of(env, 3))}
    assert names(scenes_of(env.on_scenes(("narrow",)))) == names(scenes_of(env))[1:]
    assert names(scenes_of(env.on_scenes(count=1, agents=2))) == [("town/0", 2), ("narrow/0", 2)]


@pytest.mark.parametrize("count, kept", [(None, "abcdefg"), (7, "abcdefg"), (9, "abcdefg"), (1, "a"), (2, "ad"),
                                         (3, "ace"), (6, "abcdef")])
def test_an_evaluation_on_fewer_scenes_takes_them_from_all_parts_of_the_list(count, kept):
    assert "".join(spread(list("abcdefg"), count)) == kept


@pytest.mark.parametrize("first_seed, count", [(-1, 1), (2**64 - 1, 2), (2**64, 1), (0, 10**30)])
def test_seeds_out_of_their_range_are_an_error_before_any_scene_is_generated(first_seed, count):
    with pytest.raises(ValueError, match=f"^first_seed is {first_seed} and scene_count {count}; the seeds must be "):
        scenes_of(EnvConfig(scene_count=count), first_seed)


def test_an_evaluation_simulates_every_scene_once():
    """Every trial of every agent is recorded once, also where worlds end early."""
    scenes = scenes_of(replace(BUSY, scene_count=8))
    for trials in (1, 2, 3):
        # A world's trial ends when a third of its agents have stopped: here soon, there late.
        drive = BUSY.drive.replace(max_trials=trials, trial_steps=200, stopped_share_limit=0.33)
        report = evaluate(policy_maker("random"), scenes, drive)
        assert report["trials"].n == trials * sum(len(scene.objects.id) for scene in scenes)
        assert report["trial_length"].value < 150, "some ended early"


@pytest.mark.parametrize("trials", [1, 2, 3])
def test_an_evaluation_counts_each_trial_once_however_short_the_shortest_log(trials):
    """A finished world is neither stepped nor counted again: all metrics are means of worlds that run alone."""
    generated = scenes_of(replace(BUSY, scene_count=3))
    scenes = [log_of(scene, frames) for scene, frames in zip(generated, (2, 9, 3))]
    drive = BUSY.drive.replace(max_trials=trials, trial_steps=None)
    agents = [roles.num_agents for scene in scenes for roles in Batch(scene, config=drive).roles]

    def full_throttle(batch):
        return lambda batch: np.full(batch.actions.shape, 90)

    whole = evaluate(full_throttle, scenes, drive)
    assert whole["trials"] == (trials * sum(agents), trials * sum(agents))
    alone = [evaluate(full_throttle, [scene], drive) for scene in scenes]
    assert alone[0]["trial_length"].value == 1 < alone[1]["trial_length"].value
    for name, figure in join_metrics(alone).items():
        assert whole[name].n == figure.n, name
        assert whole[name].value == pytest.approx(figure.value, rel=1e-5, nan_ok=True), name


def test_the_random_policy_has_a_stream_per_batch_of_an_evaluation(monkeypatch):
    monkeypatch.setattr(evaluation, "WORLDS_AT_ONCE", 2)
    scene, = scenes_of(replace(BUSY, scene_count=1))
    sampled = []

    def make_act(batch):
        act = policy_maker("random")(batch)
        sampled.append(act(batch).tolist())
        return act

    evaluate(make_act, [scene] * 6, BUSY.drive)
    assert len(sampled) == 3 and sampled[0] != sampled[1] != sampled[2] != sampled[0]


def test_an_evaluation_is_the_same_in_smaller_batches(monkeypatch):
    scenes = scenes_of(BUSY)
    batch, = open_batches(BUSY, scenes, ALONE, 0)[0]
    runner = PolicyRunner(make_policy(batch), torch.device("cpu"))
    whole = evaluate(runner, scenes, BUSY.drive)
    monkeypatch.setattr(evaluation, "WORLDS_AT_ONCE", 2)
    parts = evaluate(runner, scenes, BUSY.drive)
    assert whole.keys() == parts.keys()
    for name in whole:
        # World ids differ, but nothing in these scenes is random.
        assert parts[name].value == pytest.approx(whole[name].value, nan_ok=True) and parts[name].n == whole[name].n


def test_a_deterministic_policy_gives_the_same_report_twice():
    scenes = scenes_of(BUSY)
    batch, = open_batches(BUSY, scenes, ALONE, 0)[0]
    runner = PolicyRunner(make_policy(batch), torch.device("cpu"))
    assert evaluate(runner, scenes, BUSY.drive) == evaluate(runner, scenes, BUSY.drive)
    sampled = PolicyRunner(runner.policy, runner.device, deterministic=False)
    assert evaluate(sampled, scenes, BUSY.drive) != evaluate(sampled, scenes, BUSY.drive)


def test_an_evaluator_of_the_env_measures_a_policy_with_memory_as_the_trainer_does():
    scenes = scenes_of(BUSY)
    batch, = open_batches(BUSY, scenes, ALONE, 0)[0]
    runner = PolicyRunner(make_policy(batch), torch.device("cpu"))
    drive = BUSY.drive.replace(max_trials=2)
    report = evaluate(runner, scenes, drive)
    found = MultiScenario("trainer", {"scenes": scenes, "env": drive}).rollout(runner).metrics
    for name in ("score", "offroad", "distance_m", "reward", "trial_1_length", "ada_delta_trial_1_minus_0"):
        assert found[name].value == pytest.approx(report[name].value), name


def test_a_policy_runner_drops_the_context_at_an_episode_start():
    """Its actions after an episode's start are those of a new runner."""
    drive = BUSY.drive.replace(max_trials=1, trial_steps=12)
    with Batch(scenes_of(BUSY), num_worlds=3, config=drive) as batch:
        runner = PolicyRunner(make_policy(batch), torch.device("cpu"))
        old = runner(batch)
        batch.reset()
        for _ in range(2):
            batch.step(old(batch))
            while not batch.first.any():
                batch.step(old(batch))
            opened = batch.first
            assert (old(batch)[opened] == runner(batch)(batch)[opened]).all()


def assert_evaluated(trained, code, printed, errors):
    assert code == 0, errors
    for words in (f"{trained.name} on 5 scenes", "random policy", "ada_delta_trial_1_minus_0"):
        assert words in printed


def test_the_command_evaluates_a_checkpoint_on_other_scenes(trained, monkeypatch, capsys):
    assert_evaluated(trained, *run_module_here(monkeypatch, capsys, "baselines.evaluate", trained, "--scene-count", 5))


def test_the_command_evaluates_the_newest_checkpoint_of_a_folder(trained, monkeypatch, capsys):
    folder = trained.parent
    assert_evaluated(trained, *run_here(monkeypatch, capsys, evaluation.main, folder, "--scene-count", "5"))


@pytest.mark.parametrize("arguments, sentence", [
    (["nowhere"], "baselines.evaluate: 'nowhere' is no checkpoint"),
    ([None, "--seed", "-1"], "baselines.evaluate: seed is -1; it must be")])
def test_an_argument_that_cannot_be_evaluated_is_one_sentence(trained, monkeypatch, capsys, arguments, sentence):
    arguments = [trained if one is None else one for one in arguments]
    code, printed, errors = run_here(monkeypatch, capsys, evaluation.main, *arguments)
    assert (code, printed) == (1, "") and errors.startswith(sentence)


@pytest.mark.parametrize("words", [
    ("--scenes", "oval", "intersection"), ("--scenes", "oval", "--scenes", "intersection")])
def test_an_option_takes_several_values_at_once_or_one_after_the_other(trained, words, monkeypatch, capsys):
    code, printed, errors = run_here(monkeypatch, capsys, evaluation.main, trained, *words, "--evaluator",
                                     "multi_scenario", "robustness", "--set", "sample=2", "seed=3", "--show")
    assert code == 0, errors
    assert printed.count('"oval",\n  "intersection"\n') == printed.count('"sample": 2') == 2


def test_a_scene_in_which_nothing_could_drive_is_one_sentence(trained, monkeypatch, capsys, tmp_path):
    save_scene(generate_scene("town", agents=2), tmp_path / "a.drv")
    save_scene(still_town(), tmp_path / "b.drv")
    code, printed, errors = run_here(monkeypatch, capsys, evaluation.main, trained, "--scenes", tmp_path)
    assert (code, printed) == (1, "") and "\n" not in errors
    assert errors.startswith("baselines.evaluate: scene town/0 has no object that could drive")
