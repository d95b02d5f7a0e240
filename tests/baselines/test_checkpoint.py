"""Does a checkpoint restore what was saved, also with later versions, and never a part of it?"""

import json
import re
import shutil
from contextlib import ExitStack

import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")

from small import files_end_at, tiny_config

from baselines.ppo import train
from baselines.tools import checkpoint
from baselines.tools.log_file import read_lines
from drive_env import Batch, DriveConfig, generate_scene, save_scene
from drive_env.trained import meaning_of_actions


def test_a_policy_is_restored_bit_for_bit(short_run):
    config, result = short_run
    policy, found = checkpoint.load_policy(result.checkpoint)
    assert found == config
    for (name, one), (other_name, other) in zip(policy.state_dict().items(), result.policy.state_dict().items()):
        assert name == other_name and torch.equal(one, other)


def test_the_file_describes_inputs_and_outputs(short_run):
    about = checkpoint.about(short_run[1].checkpoint)
    meant = about["semantics"]
    assert about["schema"] == checkpoint.SCHEMA
    assert {"positions", "context", "credit", "gamma_trial", "layout_hash", "layout", "actions"} <= meant.keys()
    assert meant["context"] == 20 and meant["credit"] == "through" and "rotary" in meant["positions"]
    assert meant["actions"] == {"space": {"discrete": [91]}, **meaning_of_actions(short_run[0].env.drive)}


def test_resuming_continues_bit_for_bit(tmp_path):
    """Four updates in one run, or two, everything loaded again, and two more."""
    steps = 4 * 36 * 16  # four updates or more
    ppo = {"agent_steps": steps, "anneal": False, "recompute_context": True, "noise_correlation": 0.8}
    whole = train(tiny_config(tmp_path / "whole", ppo=ppo))
    half = tiny_config(tmp_path / "half", ppo=ppo | {"agent_steps": steps // 2})
    train(half)
    resumed = train(half.changed(ppo={"agent_steps": steps}, run={"resume": True}))
    for one, other in zip(whole.policy.parameters(), resumed.policy.parameters()):
        assert torch.equal(one, other)
    timeless = lambda lines: [{k: v for k, v in line.items() if not k.startswith("time_") and not k.endswith("per_s")}
                              for line in lines if line["kind"] == "update"]
    assert timeless(whole.lines) == timeless(resumed.lines)
    assert [line["update"] for line in timeless(resumed.lines)] == list(range(1, 1 + len(timeless(whole.lines))))
    assert len(timeless(whole.lines)) >= 4


@pytest.mark.parametrize("parts, sentence", [
    ({"env": {"drive": {"reward": {"goal": 2.0}}}}, "has env.drive.reward.goal 1.0, this config 2.0; to resume they"),
    ({"model": {"width": 32}}, "has model.width 16, this config 32; to resume they must be equal"),
    ({"ppo": {"rollout_steps": 8}}, "has ppo.rollout_steps 16, this config 8; to resume they must be equal$"),
    ({"ppo": {"recompute_context": True}}, "has ppo.recompute_context False, this config True; to resume they must be"),
    ({"ppo": {"noise_correlation": 0.5}}, "has ppo.noise_correlation 0.0, this config 0.5; to resume they must be"),
    ({"run": {"precision": "bfloat16"}}, "has run.precision 'float32', this config 'bfloat16'; to resume they must be"),
    ({"env": {"num_worlds": 12}}, "has env.num_worlds 6, this config 12; to resume they must be equal")])
def test_a_config_that_cannot_resume_is_an_error(short_run, parts, sentence):
    with pytest.raises(checkpoint.CheckpointError, match=sentence):
        train(short_run[0].changed(run={"resume": True}).changed(**parts))


def test_without_the_state_of_the_rollout_the_worlds_are_new(short_run, tmp_path):
    """As after training on a GPU: weights and counters continue, and the episodes differ from those at the start."""
    shutil.copytree(short_run[0].run.folder, tmp_path / "run")
    place = checkpoint.newest(tmp_path / "run")
    about = json.loads((place / "config.json").read_text())
    (place / "rank-0.safetensors").unlink()
    del about["files"]["rank-0.safetensors"]
    (place / "config.json").write_text(json.dumps(about))
    config = short_run[0].changed(ppo={"agent_steps": 2000}, run={"resume": True, "folder": str(tmp_path / "run")})
    lines = [line for line in train(config).lines if line["kind"] == "update"]
    assert [line["update"] for line in lines] == list(range(1, len(lines) + 1)) and len(lines) > 2
    assert lines[-1]["agent_steps"] >= 2000


def test_resuming_in_an_empty_folder_starts_a_run(tmp_path):
    assert train(tiny_config(tmp_path, ppo={"agent_steps": 500}, run={"resume": True})).checkpoint.is_dir()


def test_only_the_newest_checkpoints_remain(tmp_path):
    config = tiny_config(tmp_path, run={"checkpoint_updates": 1, "keep_checkpoints": 2})
    train(config)
    found = checkpoint.checkpoints(tmp_path)
    assert len(found) == 2 and found[-1] == checkpoint.newest(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_dir()) == [path.name for path in found]


@pytest.mark.parametrize("free_bytes", [20_000, 60_000, 200_000])
def test_a_full_disk_leaves_the_earlier_checkpoint_and_the_log_whole(tmp_path, free_bytes):
    """Whichever file is the first that does not fit: one sentence, and no half folder."""
    config = tiny_config(tmp_path, ppo={"agent_steps": 500})
    first = train(config).checkpoint
    with ExitStack() as full, pytest.raises(OSError) as error:
        train(config.changed(ppo={"agent_steps": 900}, run={"resume": True}),
              lambda _: full.enter_context(files_end_at(free_bytes)))
    sentence = str(error.value)
    assert sentence.startswith(f"checkpoint '{tmp_path}/update-0000000") and sentence.count("\n") == 0
    assert re.search("cannot be written: .*(too large|os error 27).*; earlier checkpoints are unchanged$", sentence)
    assert [path for path in tmp_path.iterdir() if path.is_dir()] == [first]
    checkpoint.load_policy(first)
    kinds = [line["kind"] for line in read_lines(tmp_path / "metrics.jsonl")]
    assert kinds[-3:] == ["update", "evaluation", "end"]


def test_a_checkpoint_that_is_a_link_is_unlinked_where_it_is_the_oldest(short_run, tmp_path):
    """What it points to is unchanged."""
    shutil.copytree(short_run[0].run.folder, tmp_path / "run")
    place = checkpoint.newest(tmp_path / "run")
    place.rename(tmp_path / "elsewhere")
    place.symlink_to(tmp_path / "elsewhere")
    result = train(short_run[0].changed(ppo={"agent_steps": 1500}, run={
        "resume": True, "folder": str(tmp_path / "run"), "keep_checkpoints": 1}))
    assert checkpoint.checkpoints(tmp_path / "run") == [result.checkpoint] and not place.is_symlink()
    checkpoint.load_policy(tmp_path / "elsewhere")


def test_a_link_in_the_place_of_a_new_checkpoint_is_replaced(tmp_path):
    config = tiny_config(tmp_path, ppo={"agent_steps": 500})
    (tmp_path / "elsewhere").mkdir()
    result = train(config, lambda line: (tmp_path / f"update-{line['update']:08d}").symlink_to(tmp_path / "elsewhere"))
    assert not result.checkpoint.is_symlink() and not list((tmp_path / "elsewhere").iterdir())
    checkpoint.load_policy(result.checkpoint)


def test_a_folder_without_a_checkpoint_is_an_error(tmp_path):
    with pytest.raises(checkpoint.CheckpointError, match="there is no checkpoint in"):
        checkpoint.newest(tmp_path)
    with pytest.raises(checkpoint.CheckpointError, match="is no checkpoint"):
        checkpoint.load_policy(tmp_path)
    (tmp_path / "config.json").write_text('{"schema": 1')
    with pytest.raises(checkpoint.CheckpointError, match="is no checkpoint"):
        checkpoint.about(tmp_path)
    for text in ('{"schema": 1}', "[]"):
        (tmp_path / "config.json").write_text(text)
        with pytest.raises(checkpoint.CheckpointError, match="is no checkpoint: its config.json has no '"):
            checkpoint.load_policy(tmp_path)


def test_the_folder_of_a_run_stands_for_its_newest_checkpoint(short_run, tmp_path):
    place = short_run[1].checkpoint
    assert checkpoint.checkpoint_at(place) == checkpoint.checkpoint_at(place.parent) == place
    assert checkpoint.checkpoint_at(tmp_path) == tmp_path


def test_other_observations_and_actions_are_an_error(short_run):
    config, result = short_run
    with Batch("intersection", config=config.env.drive) as batch:
        checkpoint.check_fits(result.checkpoint, batch)
    with Batch("intersection", config=config.env.drive.replace(observation={"view_radius_m": 50.0})) as batch, \
            pytest.raises(checkpoint.CheckpointError, match="was trained on other observations"):
        checkpoint.check_fits(result.checkpoint, batch)  # as many floats, of another scale
    with Batch("intersection", config=DriveConfig()) as batch, \
            pytest.raises(checkpoint.CheckpointError, match="was trained on other observations"):
        checkpoint.check_fits(result.checkpoint, batch)
    with Batch("intersection", config=config.env.drive.replace(action_type="continuous")) as batch, \
            pytest.raises(checkpoint.CheckpointError, match="was trained with actions whose type is 'discrete'; this"):
        checkpoint.check_fits(result.checkpoint, batch)


def test_a_folder_of_another_name_is_no_checkpoint_of_the_run(short_run, tmp_path):
    """It is never the newest and never deleted; by its own path it can be read."""
    shutil.copytree(short_run[1].checkpoint, tmp_path / "update-00000001")
    for name in ("update-zzz", "update-0000002", "update-000000003", "update-" + 8 * "\u0661"):
        shutil.copytree(short_run[1].checkpoint, tmp_path / name)
        checkpoint.load_policy(tmp_path / name)
    (tmp_path / "update-00000009").write_text("no folder")
    assert checkpoint.checkpoints(tmp_path) == [tmp_path / "update-00000001"]
    shutil.copytree(short_run[1].checkpoint, tmp_path / "update-100000000")  # one more digit sorts after, not before
    shutil.copytree(short_run[1].checkpoint, tmp_path / "update-99999999")
    assert [place.name for place in checkpoint.checkpoints(tmp_path)] == [
        "update-00000001", "update-99999999", "update-100000000"]


@pytest.mark.parametrize("agents", [6, 5, 8])
def test_another_scene_of_the_same_name_cannot_resume(tmp_path, agents):
    """A scene file was changed between save and resume: the state of a world belongs to its scene."""
    path = tmp_path / "scene.drv"
    save_scene(generate_scene("intersection", seed=0, agents=6), path)
    config = tiny_config(tmp_path / "run", env={"scenes": (str(path),)}, ppo={"agent_steps": 500, "minibatches": 1})
    train(config)
    save_scene(generate_scene("intersection", seed=1, agents=agents), path)
    with pytest.raises(checkpoint.CheckpointError, match="was written with other scenes than this config now has; to "
                                                         "resume they must be equal$"):
        train(config.changed(ppo={"agent_steps": 1500}, run={"resume": True}))


def test_resuming_rejects_another_position_encoding_as_loading_does(short_run, tmp_path):
    shutil.copytree(short_run[0].run.folder, tmp_path / "run")
    place = checkpoint.newest(tmp_path / "run")
    about = json.loads((place / "config.json").read_text())
    about["semantics"]["positions"] = "learned table"
    (place / "config.json").write_text(json.dumps(about))
    config = short_run[0].changed(ppo={"agent_steps": 2000}, run={"resume": True, "folder": str(tmp_path / "run")})
    for use in (lambda: train(config), lambda: checkpoint.load_policy(place), lambda: checkpoint.about(place)):
        with pytest.raises(checkpoint.CheckpointError, match="positions are 'learned table'; this version has 'rotary"):
            use()
