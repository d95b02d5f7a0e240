"""Does a run that starts from another run's checkpoint begin with its weights, and with nothing else of it?"""

import hashlib

import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")

from small import BUSY

import drive_env
from baselines.ppo import train
from baselines.tools import checkpoint
from baselines.tools.checkpoint import CheckpointError
from baselines.tools.log_file import read_lines


def child(short_run, folder, **parts):
    """The config of a run that starts from the short run and ends after its first update."""
    config = short_run[0].changed(ppo={"agent_steps": 1}, run={"folder": folder, "start_from": short_run[0].run.folder})
    return config.changed(**parts)


@pytest.mark.parametrize("parts", [
    {"env": {"drive": {"on_collision": "stop", "trial_steps": 20}, "scene_count": 2, "num_worlds": 4}},
    {"model": {"context": 60}, "ppo": {"rollout_steps": 8}}], ids=["env", "context"])
def test_a_run_starts_with_the_weights_of_its_parent_in_another_config(short_run, tmp_path, parts):
    """With learning rate 0, it also ends with them; the optimiser has made the steps of the run alone."""
    found = train(child(short_run, tmp_path, **parts).changed(ppo={"learning_rate": 0.0}))
    for one, other in zip(short_run[1].policy.parameters(), found.policy.parameters(), strict=True):
        assert torch.equal(one, other)
    assert checkpoint.about(found.checkpoint)["counters"]["update"] == 1
    tensors = checkpoint.read_tensors(found.checkpoint, "optimizer.safetensors",
                                      checkpoint.about(found.checkpoint)["files"]["optimizer.safetensors"])
    assert {int(tensor) for name, tensor in tensors.items() if name.endswith(".step")} == {4}


def test_features_whose_scale_differs_are_reported(short_run, tmp_path, capsys):
    found = train(child(short_run, tmp_path, env={"drive": {"max_trials": 4, "reward": {"collision": -2.0}}}))
    names = found.lines[0]["parent_rescaled"]
    assert names == ["trial/index", "trial/reward"]
    assert f"another scale than in run.start_from: {', '.join(names)}\n" in capsys.readouterr().err


def test_the_log_says_how_a_run_started(short_run, tmp_path):
    found = train(child(short_run, tmp_path))
    place, counters = short_run[1].checkpoint, checkpoint.about(short_run[1].checkpoint)["counters"]
    line = found.lines[0]
    assert line["kind"] == "start" and line["update"] == line["agent_steps"] == 0
    assert line["parent"] == str(place)
    assert (line["parent_update"], line["parent_agent_steps"]) == (counters["update"], counters["agent_steps"])
    assert line["parent_sha256"] == hashlib.sha256((place / "weights.safetensors").read_bytes()).hexdigest()
    assert line["parent_rescaled"] == []
    assert (line["version"], line["torch"], line["device"]) == (drive_env.__version__, torch.__version__, "cpu")
    assert line["ranks"] == 1 and line["command"] and "commit" in line
    assert "parent" not in short_run[1].lines[0]


def test_a_resumed_run_continues_from_its_own_checkpoint(short_run, tmp_path):
    """So a script may restart the same command with `--run.resume`."""
    first = train(child(short_run, tmp_path, run={"resume": True}))
    again = train(child(short_run, tmp_path, ppo={"agent_steps": 1000}, run={"resume": True}))
    starts = [line for line in again.lines if line["kind"] == "start"]
    assert [line["update"] for line in starts] == [0, 1]
    assert ["parent" in line for line in starts] == [True, False] and first.checkpoint.is_dir()


@pytest.mark.parametrize("parts, sentence", [
    ({"env": {"drive": {"observation": {"partners": 4}}}}, "was trained on other observations than those of this"),
    ({"env": {"drive": BUSY.drive.replace(action_type="multi_discrete")}}, "was trained with actions whose type is"),
    ({"model": {"width": 32}}, "has model.width 16, this config 32; to start from it they must be equal$"),
    ({"model": {"memory": "none"}}, "has model.memory 'transformer', this config 'none'; to start from it they must"),
    ({"run": {"start_from": "nowhere"}}, "'nowhere' is no checkpoint, and no folder of a run with one")])
def test_a_parent_that_does_not_fit_is_an_error_and_deletes_no_old_run(short_run, tmp_path, parts, sentence):
    train(short_run[0].changed(ppo={"agent_steps": 1}, run={"folder": tmp_path}))
    before = read_lines(tmp_path / "metrics.jsonl")
    with pytest.raises(CheckpointError, match=sentence):
        train(child(short_run, tmp_path, run={"overwrite": True}).changed(**parts))
    assert read_lines(tmp_path / "metrics.jsonl") == before and checkpoint.checkpoints(tmp_path)
