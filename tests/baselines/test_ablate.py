"""Does the table of ablations show what a policy knows, with the right intervals, and does its command report it?"""

import json
import math
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")

from eliminator import Eliminator, open_field
from small import BUSY, TINY, run_here, tiny_config

from baselines import ablate, ppo
from baselines.adaptation import pictures
from baselines.adaptation.interventions import ablations
from baselines.adaptation.scores import Scores, optimal_curves
from baselines.adaptation.training import read_trainings
from baselines.config import EnvConfig
from baselines.evaluate import PolicyRunner
from baselines.presets import PRESETS
from baselines.rollout.batches import scenes_of
from baselines.tools.checkpoint import about, checkpoints
from baselines.tools.log_file import read_lines
from drive_env import Batch
from drive_env.tasks import gates, hidden_closure, hidden_exit, occluded_crossing, optimal_scores_on

CPU = torch.device("cpu")


def files(drive):
    """An env whose scenes are not those of a generator."""
    return EnvConfig(scenes=("./field",), drive=drive)


def test_the_table_of_an_optimal_policy_is_the_published_one():
    """A policy written by hand: with its memory it reaches the optimum, with trial features alone that of its
    convention, and with neither, or with those of another agent, it guesses."""
    scenes, drive = open_field()
    with Batch(scenes, num_worlds=1, config=drive) as batch:
        full = PolicyRunner(Eliminator(batch.observation_layout()), CPU)
    runners = {name: (runner, drive) for name, runner in ablations(full).items()}
    policies = ablate.scores_of(runners, scenes, episodes=16, seed=3)
    optimal = optimal_curves(files(drive), scenes)
    score = {name: [scores.of_trial(trial).value for trial in range(3)] for name, scores in policies.items()}

    first, second, third = score["full"]
    assert first == pytest.approx(1 / 3, abs=0.15) and second == pytest.approx(2 / 3, abs=0.15) and third == 1
    assert policies["full"].memory_share(2, optimal).value == pytest.approx(1)
    # By the convention an agent without memory finds the first exit in each trial, the second in the second alone, and
    # the third in the third.
    assert score["wiped"] == pytest.approx([first, second, first + (1 - second)])
    assert score["wiped and blanked"] == pytest.approx([first] * 3)
    # It does not know that it succeeded, so it tries each exit once.
    assert score["blanked"] == pytest.approx([first, second - first, 1 - second])
    for name in ("shuffled", "redrawn"):
        assert score[name][0] == first
        assert all(0.15 < later < 0.55 for later in score[name][1:]), (name, score[name])


def records_of(scores):
    """Trial records of (scenes, agents, trials) scores."""
    found = np.zeros(scores.size, [("scene", np.int32), ("trial", np.int32), ("score", np.float32)])
    for name, index in zip(("scene", "trial"), (0, 2)):
        found[name] = np.indices(scores.shape)[index].ravel()
    found["score"] = scores.ravel()
    return found


def test_an_interval_is_that_of_a_mean_over_scenes():
    """By the central limit theorem: 1.96 standard errors of the means of scenes, whose agents are all alike."""
    rng = np.random.default_rng(2)
    of_scene = (rng.random((200, 2)) < (0.3, 0.7)).astype(float)
    scores = Scores(records_of(np.repeat(of_scene[:, None], 5, 1)), 200)
    for trial in range(2):
        found, mean = scores.of_trial(trial), of_scene[:, trial].mean()
        half = 1.96 * of_scene[:, trial].std() / math.sqrt(200)
        assert found.value == pytest.approx(mean) and found.n == 1000
        assert found.low == pytest.approx(mean - half, abs=0.02) and found.high == pytest.approx(mean + half, abs=0.02)
    gain, wanted = scores.gain(1), of_scene[:, 1] - of_scene[:, 0]
    assert gain.value == pytest.approx(wanted.mean())
    assert gain.high - gain.low == pytest.approx(2 * 1.96 * wanted.std() / math.sqrt(200), rel=0.15)


def test_a_difference_of_two_policies_pairs_their_scenes():
    """A constant difference is certain, however much the scenes differ."""
    rng = np.random.default_rng(4)
    lower = rng.random((20, 3, 2)) * 0.5
    found = Scores(records_of(lower + 0.25), 20).excess(Scores(records_of(lower), 20), 1)
    assert (found.value, found.low, found.high) == (pytest.approx(0.25, abs=1e-6),) * 3


def test_the_share_of_memory_is_the_part_of_the_step_between_the_two_optima():
    scenes, drive = open_field()
    optimal = optimal_curves(files(drive), scenes)
    assert optimal["memory"] == pytest.approx((1 / 3, 2 / 3, 1))
    share = lambda third: Scores(records_of(np.full((4, 2, 3), third)), 4).memory_share(2, optimal).value
    assert share(0.6 + 1 / 3) == pytest.approx(0.8)
    assert (share(1), share(2 / 3), share(1 / 3)) == pytest.approx((1, 0, -1), abs=1e-5)
    assert Scores(records_of(np.ones((4, 2, 3))), 4).memory_share(1, optimal) is None, "a memory adds nothing there"


def test_an_optimum_is_a_mean_over_scenes_or_not_known():
    three, four = (hidden_exit(exits, seeds=range(2)) for exits in (3, 4))
    drive = four.config
    mixed = optimal_curves(files(drive), [*three.scenes, *four.scenes])
    assert mixed["memory"] == pytest.approx([(a + b) / 2 for a, b in zip((1 / 3, 2 / 3, 1), (1 / 4, 1 / 2, 3 / 4))])
    assert optimal_curves(files(drive.replace(observation={"goal_reveal_s": 0.4})), list(four.scenes)) == {}
    assert optimal_curves(files(drive.replace(max_trials=9)), list(four.scenes)) == {}
    assert optimal_curves(files(drive), [*three.scenes, *scenes_of(BUSY)]) == {}


@pytest.mark.parametrize("name, task, parameters", [
    ("hidden_exit", hidden_exit(4, seeds=[0]), {"exits": 4}),
    ("hidden_exit", hidden_exit(3, seeds=[0], reveal_s=0.4), {}),
    ("gates", gates(3, seeds=[0]), {"gates": 3}), ("occluded_crossing", occluded_crossing(seeds=[0]), {}),
    ("hidden_closure", hidden_closure(1, seeds=[0]), {"closed": 1})])
def test_the_optimum_of_a_preset_is_that_of_its_task(name, task, parameters):
    """No optimum is known for the runs that it starts from, which hide less or reward more."""
    env = replace(PRESETS[name].env, drive=task.config, scene_parameters=parameters)
    found = optimal_curves(env, [])
    assert found == {knowledge: pytest.approx(scores) for knowledge, scores in task.optimal_scores.items()}
    assert optimal_curves(PRESETS[f"{name}_mixed"].env, []) == {}
    assert optimal_curves(replace(env, scenes=(*env.scenes, "town")), scenes_of(BUSY)) == {}
    assert task.name == name and PRESETS[name].run.start_from == PRESETS[f"{name}_mixed"].run.folder


@pytest.mark.parametrize("change", [
    {"reward": {"progress_per_m": 0.01}}, {"observation": {"steps_share": True}}, {"trial_steps": 500},
    {"on_collision": "ignore"}, {"max_trials": 9}, {"dynamics": {"max_speed_mps": 20.0}}, {"others": "static"},
    {"control": "all"}])
def test_no_optimum_is_known_where_a_config_shows_more_or_eases_a_trial(change):
    drive = gates(seeds=[0]).config
    assert optimal_scores_on("gates", {}, drive.replace(reward={"collision": -0.2}, observation={"partners": 9}))
    assert optimal_scores_on("gates", {}, drive.replace(**change)) == {}
    assert optimal_scores_on("gates", {"known_share": 0.5}, drive) == optimal_scores_on("town", {}, drive) == {}


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Checkpoints of short runs on the hidden exit, of three trials and of one."""
    task = hidden_exit()
    config = tiny_config("", env={"scenes": ("exits",), "scene_agents": None, "drive": task.config},
                         model=vars(replace(TINY, context=90)), ppo={"agent_steps": 100},
                         run={"checkpoint_updates": 1})
    found = {}
    for name, trials in (("three", 3), ("one", 1)):
        folder = tmp_path_factory.mktemp(name)
        found[name] = ppo.train(config.changed(run={"folder": str(folder)}, env={"drive": {"max_trials": trials}})
                                ).checkpoint
    return found


def test_the_command_prints_a_table_and_writes_scores_and_a_picture(trained, tmp_path, monkeypatch, capsys):
    code, printed, errors = run_here(
        monkeypatch, capsys, ablate.main, trained["three"].parent, "--scene-count", "2", "--episodes", "2",
        "--compare", f"single={trained['one']}", "--out", tmp_path / "found")
    assert code == 0, errors
    written = json.loads((tmp_path / "found" / "scores.json").read_text())
    assert written["scenes"] == ["exits/3", "exits/4"], "the first seeds after those of the training"
    names = ["full", "wiped", "blanked", "wiped and blanked", "shuffled", "redrawn", "single"]
    assert list(written["policies"]) == names
    assert list(written["checkpoints"]) == ["full", "single"]
    for words in (*names, "optimal, trial features", "trial 1", "trial 3", "memory's share"):
        assert words in printed
    assert "trial 0" not in printed, "tables count trials from 1"
    assert [len(found["scores"]) for found in written["policies"].values()] == [3] * 6 + [1]
    assert written["policies"]["single"]["gain"] is None
    assert written["policies"]["full"]["scores"][0]["n"] == 4
    assert [one["value"] for one in written["policies"]["full"]["minus_full"]] == [0, 0, 0]
    assert (tmp_path / "found" / "scores.png").read_bytes()[:4] == b"\x89PNG"

    code, printed, errors = run_here(monkeypatch, capsys, pictures.main, tmp_path / "found" / "scores.json", "--out",
                                     tmp_path / "again.png")
    assert code == 0 and printed == f"picture: {tmp_path / 'again.png'}\n", errors
    assert (tmp_path / "again.png").read_bytes() == (tmp_path / "found" / "scores.png").read_bytes()


def test_the_runs_of_a_task_follow_each_other(tmp_path, monkeypatch, capsys):
    """The presets, with a small policy and few, short trials."""
    monkeypatch.chdir(tmp_path)
    names = ("hidden_closure_known", "hidden_closure_mixed", "hidden_closure")
    for name in names:
        result = ppo.train(PRESETS[name].changed(
            env={"scene_count": 2, "num_worlds": 4, "drive": {"trial_steps": 12}},
            model=vars(replace(TINY, context=24)), ppo={"agent_steps": 150, "rollout_steps": 16},
            run={"device": "cpu", "evaluate_updates": 0, "progress": False}))
        start, end = result.lines[0], result.lines[-1]
        assert end["status"] == "finished" and ("parent" in start) == (name != "hidden_closure_known")

    # Their scores are those of their logs, in trainings whose runs may have been moved.
    (tmp_path / "runs").rename("moved")
    shutil.copytree("moved/hidden_closure_known", "moved/other")
    folders = [*(Path("moved", name) for name in names), Path("moved/other")]
    found = read_trainings(folders)
    assert [[run.name for run in training] for training in found] == [[*names], ["other"]]
    for run, folder in zip((run for training in found for run in training), folders, strict=True):
        lines = [line for line in read_lines(folder / "metrics.jsonl")
                 if line["kind"] == "update" and line["trial_2_score"] is not None]
        assert run.agent_steps.tolist() == [line["agent_steps"] for line in lines] and len(lines)
        np.testing.assert_array_equal(run.scores, [[line[f"trial_{k}_score"] for k in range(3)] for line in lines])
        assert (run.seed, run.optimal) == (0, ())
    code, printed, errors = run_here(monkeypatch, capsys, pictures.main, *folders)
    assert code == 0 and printed == "picture: trials.png\n", errors
    assert Path("trials.png").read_bytes()[:4] == b"\x89PNG"


def test_the_optimum_of_a_run_on_a_task_is_that_of_the_task(trained):
    (run,), = read_trainings([trained["three"].parent])
    assert run.optimal == pytest.approx(hidden_exit().optimal_scores["memory"])


@pytest.mark.parametrize("source, sentence", [
    ("one", "has max_trials 1; it must have 2 or more trials in an episode"),
    ("nowhere", "nowhere"), ("none.json", "'none.json' cannot be read: No such file or directory"),
    ("bad.json", "'bad.json' is no scores.json of baselines.ablate, or damaged: KeyError: 'policies'")])
def test_what_has_no_scores_of_trials_is_one_sentence(trained, tmp_path, monkeypatch, capsys, source, sentence):
    monkeypatch.chdir(tmp_path)
    Path("bad.json").write_text("{}")
    given = trained[source].parent if source in trained else source
    code, _, errors = run_here(monkeypatch, capsys, pictures.main, given)
    assert code == 1 and errors.startswith("baselines.adaptation.pictures: ") and sentence in errors
    assert not Path("trials.png").exists() and errors.count("\n") == 0


def test_the_scores_of_all_checkpoints_of_a_run_are_drawn(trained, tmp_path, monkeypatch, capsys):
    paths = checkpoints(trained["three"].parent)
    scenes = scenes_of(EnvConfig(("exits",), scene_count=2), 50)
    points = ablate.scores_in_training(paths, scenes, 2, 0, False, CPU)
    assert [steps for steps, _ in points] == [about(path)["counters"]["agent_steps"] for path in paths]
    assert len(points) == 2 and all(list(policies) == ["full", "wiped"] for _, policies in points)
    code, printed, errors = run_here(monkeypatch, capsys, ablate.main, trained["three"], "--scene-count", "2",
                                     "--episodes", "2", "--training", "--out", tmp_path)
    assert code == 0 and f"training: {tmp_path / 'training.png'}" in printed, errors
    assert (tmp_path / "training.png").read_bytes()[:4] == b"\x89PNG"


@pytest.mark.parametrize("arguments, sentence", [
    (["one"], "has max_trials 1; an ablation needs an episode of 2 or more trials"),
    (["three", "--episodes", "1"], "episodes is 1; it must be 2 or more"),
    (["three", "--compare", "nothing"], "compare is 'nothing'; it must be NAME=CHECKPOINT"),
    (["three", "--compare", "wiped=three"], "compare has 'wiped', which is the name of another policy"),
    (["three", "--compare", "x=nowhere"], "'nowhere' is no checkpoint"),
    (["three", "--scene-count", "0"], "scene_count is 0; it must be 1 or more"),
    (["three", "--scenes", "nowhere.drv"], "nowhere.drv"),
])
def test_arguments_that_do_not_fit_are_one_sentence(trained, tmp_path, monkeypatch, capsys, arguments, sentence):
    arguments = [trained.get(argument, argument) for argument in arguments]
    code, _, errors = run_here(monkeypatch, capsys, ablate.main, *arguments, "--out", tmp_path / "found")
    assert (code, errors[:18]) == (1, "baselines.ablate: ") and sentence in errors
    assert not (tmp_path / "found").exists()
