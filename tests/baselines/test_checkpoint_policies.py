"""Is the path of a checkpoint a policy wherever drive-env accepts one, and is what forms none one sentence?"""

import hashlib
import json
import shutil
import sys
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")

from command import run
from small import BUSY

from baselines.adaptation.interventions import Blanked, Exchanged, Wiped, WipedAndBlanked, of_another_episode
from baselines.evaluate import ABLATIONS, policy_of, scene_settings
from baselines.policy.runner import PolicyRunner
from baselines.tools.checkpoint import load_policy
from drive_env import ConfigError, MissingExtraError, generate_scene
from drive_env.evaluation import Adaptation, MultiScenario, evaluator_of, load_result, merge
from drive_env.policies import TrainedPolicy, resolved
from drive_env.replay import record

SCENES = {"scenes": ["intersection"], "scene_count": 3, "scene_agents": 6}


@pytest.fixture(scope="module")
def checkpoint(short_run):
    return short_run[1].checkpoint


def same_rows(one, two):
    return one.rows.keys() == two.rows.keys() and all(
        np.array_equal(one.rows[name], two.rows[name], equal_nan=one.rows[name].dtype.kind == "f") for name in one.rows)


def test_a_path_is_evaluated_as_the_policy_that_it_holds(checkpoint):
    evaluator = MultiScenario("trained", {**SCENES, "env": BUSY.drive})
    runner = PolicyRunner(load_policy(checkpoint)[0], torch.device("cpu"))
    by_path, by_runner = evaluator.rollout(str(checkpoint)), evaluator.rollout(runner)
    assert same_rows(by_path, by_runner) and not same_rows(by_path, evaluator.rollout("random"))
    about, weights = json.loads((checkpoint / "config.json").read_text()), checkpoint / "weights.safetensors"
    assert by_path.checkpoint == {
        "path": str(checkpoint), "sha256": hashlib.sha256(weights.read_bytes()).hexdigest(),
        "update": about["counters"]["update"], "steps": about["counters"]["agent_steps"]}
    assert by_runner.checkpoint is None and by_path.policy == str(checkpoint)


def test_the_folder_of_a_run_is_its_newest_checkpoint(checkpoint, tmp_path):
    shutil.copytree(checkpoint, tmp_path / checkpoint.name)
    assert resolved(tmp_path).checkpoint["path"] == str(tmp_path / checkpoint.name)


def test_a_recording_of_a_checkpoint_is_the_episode_that_its_policy_drives_in_the_config_of_its_training(checkpoint):
    scene = generate_scene("intersection", seed=7, agents=4)
    runner = PolicyRunner(load_policy(checkpoint)[0], torch.device("cpu"))
    page = record(scene, checkpoint, seed=3).html()
    assert page == record(scene, runner, BUSY.drive, seed=3).html() != record(scene, "random", BUSY.drive, 3).html()


def test_the_command_plays_held_out_scenes_of_the_training_in_its_config(checkpoint, tmp_path):
    run("evaluate", str(checkpoint), "--set", "scene_count=2", "--no-bounds", "--out", str(tmp_path / "a.json"))
    found = load_result(tmp_path / "a.json")
    assert set(found.rows["scene"]) == {"intersection/10000000", "intersection/10000001"}
    assert found.config["scene_agents"] == 6 and found.config["env"]["trial_steps"] == 24
    assert found.checkpoint["update"] > 0
    output = run("evaluate", str(checkpoint), "--scenes", "oval", "--set", "scene_count=2", "--set", "scene_agents=3")
    assert "episodes: 2 of 2" in output and "random" in output
    run("replay", "oval", "--policy", str(checkpoint), "--out", str(tmp_path / "a.html"))
    assert (tmp_path / "a.html").stat().st_size > 10_000


def test_the_scenes_of_a_training_are_a_default_alone():
    trained = {"scenes": ["exits"], "scene_agents": 1, "scene_parameters": {"exits": 2}}
    chosen = lambda **settings: evaluator_of("a", settings, BUSY.drive, trained).config
    assert chosen(type="multi_scenario").scene_parameters == {"exits": 2}
    assert chosen(type="multi_scenario", scene_agents=2).scene_agents == 2
    assert chosen(type="multi_scenario", scenes=["oval"]).to_dict()["scene_parameters"] == {}
    assert chosen(type="behaviour_class").scenes[0] != "exits"


def test_a_generator_that_a_training_lists_several_times_is_evaluated_once():
    """A list may name it often to draw its scenes often; an evaluation plays each scene once."""
    settings = scene_settings(replace(BUSY, scenes=("oval", "town", "oval")))
    assert settings["scenes"] == ["oval", "town"]
    assert len(evaluator_of("a", {"type": "multi_scenario", "scene_count": 2}, BUSY.drive, settings).sources()) == 4


def test_a_checkpoint_that_does_not_fit_is_one_sentence(checkpoint, tmp_path):
    other = BUSY.drive.replace(observation={"partners": 4})
    with pytest.raises(ConfigError, match="than those of this batch, since observation.partners is 4 and was"):
        MultiScenario("trained", {**SCENES, "env": other}).rollout(checkpoint)
    with pytest.raises(ConfigError, match="is no checkpoint, and no folder of a run with one: config.json cannot be"):
        resolved(tmp_path)
    shutil.copytree(checkpoint, tmp_path / "copy")
    (tmp_path / "copy" / "weights.safetensors").write_bytes(b"")
    with pytest.raises(ConfigError, match="copy' is damaged: weights.safetensors"):
        resolved(str(tmp_path / "copy"))
    with pytest.raises(ConfigError, match="device is 'abacus'; it must be 'auto' or a device of torch"):
        policy_of(checkpoint, "abacus")


def test_without_the_trainer_or_torch_one_sentence_says_what_is_missing(checkpoint, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "baselines.evaluate", None)
        with pytest.raises(ConfigError, match="the package baselines that reads checkpoints is in the checkout"):
            resolved(checkpoint)
    for module in ("baselines.evaluate", "baselines.policy.runner"):
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtraError, match=r'torch must be installed, by pip install -e ".\[train\]"'):
        resolved(checkpoint)


def test_a_policy_with_the_attributes_of_a_torch_module_is_no_checkpoint():
    """A `torch.nn.Module` has an attribute `training`, and a user may well add a `checkpoint`."""
    module = torch.nn.Identity()
    module.checkpoint = "own"
    module.forward = lambda batch: np.full(batch.num_agents, 45)
    assert resolved(module) is module and not isinstance(module, TrainedPolicy)
    assert MultiScenario("own", {**SCENES, "env": BUSY.drive}).rollout(module).checkpoint is None


def test_an_evaluator_plays_a_checkpoint_under_the_ablations_of_its_memory(checkpoint):
    found = Adaptation("memory", {**SCENES, "env": BUSY.drive}).rollout(checkpoint)
    policy, drive = load_policy(checkpoint)[0], MultiScenario("memory", {**SCENES, "env": BUSY.drive})
    cpu = torch.device("cpu")
    for group, kind in (("full", None), ("wiped", Wiped), ("blanked", Blanked), ("wiped_and_blanked", WipedAndBlanked)):
        runner = PolicyRunner(policy, cpu, intervene=kind and partial(kind, device=cpu))
        assert found.groups[group] == drive.rollout(runner).metrics, group
    assert set(found.groups) == {"full", *ABLATIONS}
    last = [found.groups[group]["trial_1_score"].value for group in ("full", "wiped")]
    assert found.metrics["score_over_wiped"].value == pytest.approx(last[0] - last[1], abs=1e-9)


def test_with_several_episodes_later_trials_are_played_with_the_memory_of_another_one(checkpoint, tmp_path):
    """As by the interventions themselves, and by shards as a whole."""
    settings = {**SCENES, "episodes": 2, "env": BUSY.drive.replace(hidden={"steering_gain": (0.5, 1.5)})}
    evaluator = Adaptation("memory", settings)
    found = evaluator.rollout(checkpoint)
    assert set(found.groups) == {"full", *ABLATIONS, "redrawn"}
    runner = PolicyRunner(load_policy(checkpoint)[0], torch.device("cpu"))
    exchanged = replace(runner, intervene=partial(Exchanged, runner=runner, donors=of_another_episode))
    assert found.groups["redrawn"] == MultiScenario("memory", settings).rollout(exchanged).metrics
    rows = {group: found.rows["reward"][(found.rows["group"] == group) & (found.rows["trial"] == 1)]
            for group in found.groups}
    assert not np.array_equal(rows["redrawn"], rows["full"]) and not np.array_equal(rows["redrawn"], rows["wiped"])
    first = [found.groups[group]["trial_0_length"] for group in ("full", "redrawn")]
    assert first[0] == first[1]
    parts = [evaluator.rollout(checkpoint, (shard, 2)) for shard in range(2)]
    assert merge(parts).groups["redrawn"] == found.groups["redrawn"]
