"""Does an exported policy act in numpy as its checkpoint does in torch, and is what is none of both one sentence?"""

import io
import json
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")

from command import run
from small import BUSY, TINY, make_policy, run_here

import drive_env
from baselines.adaptation.interventions import ablations
from baselines.evaluate import scene_settings
from baselines.export import exported, main, shape_of
from baselines.policy.runner import PolicyRunner
from baselines.presets import PRESETS
from drive_env import Batch, ConfigError, load_policy
from drive_env.evaluation import MultiScenario, TrafficMatrix
from drive_env.trained import (
    PACKAGED, PolicyFile, difference_of_actions, meaning_of_actions, meaning_of_observations, needed_weights, policy_of,
    read_policy, write_policy)

MODELS = {
    "as in the tests of the trainer": {}, "one layer": {"layers": 1}, "shared heads": {"heads": 4, "kv_heads": 2},
    "feed-forward": {"memory": "none"}, "no previous action": {"previous_action": False},
    "a context of one step": {"context": 1}, "a separate critic": {"critic": "separate"}}

ACTIONS = ("discrete", "multi_discrete", "continuous")


def file_of(policy, model, drive):
    shape = shape_of(policy)
    weights = {name: policy.state_dict()[name].numpy() for name in needed_weights(shape, model.object_width)}
    return PolicyFile(shape, model.object_width, weights, drive, meaning_of_observations(drive),
                      meaning_of_actions(drive), {}, {})


@pytest.fixture(scope="module")
def checkpoint(short_run):
    return short_run[1].checkpoint


@pytest.fixture(scope="module")
def file(checkpoint, tmp_path_factory):
    path = tmp_path_factory.mktemp("exported") / "policy.npz"
    write_policy(path, exported(checkpoint))
    return path


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
@pytest.mark.parametrize("actions", ACTIONS)
def test_numpy_acts_as_torch(model, actions):
    """Over several episodes, longer than the context, with agents that wait."""
    model, drive = replace(TINY, **model), BUSY.drive.replace(action_type=actions, trial_steps=12)
    with Batch(drive_env.resolve_scenes("intersection", seeds=range(3), agents=6), num_worlds=6, config=drive) as batch:
        torch_policy = make_policy(batch, model)
        runner = PolicyRunner(torch_policy, torch.device("cpu"))(batch)
        act = policy_of(file_of(torch_policy, model, drive), "policy").for_batch(batch)
        batch.reset()
        waited = episodes = distinct = 0
        for _ in range(80):
            mine, theirs, acts = act(batch), runner(batch), ~batch.waits
            if actions == "continuous":
                np.testing.assert_allclose(mine[acts], theirs[acts], atol=2e-4)
            else:
                np.testing.assert_array_equal(mine[acts], theirs[acts])
            distinct += len(np.unique(mine[acts]))
            waited, episodes = waited + (~acts).sum(), episodes + batch.first.sum()
            batch.step(theirs)
    assert waited > 50 and episodes > 2 * batch.num_agents and distinct > 80, "the actions do not vary"


def test_numpy_forgets_as_torch():
    """Under the ablation `wiped`, over trials that agents end at different steps and over several episodes."""
    model, drive = replace(TINY, context=40), BUSY.drive.replace(max_trials=3, trial_steps=8)
    with Batch(drive_env.resolve_scenes("intersection", seeds=range(3), agents=6), num_worlds=6, config=drive) as batch:
        torch_policy = make_policy(batch, model)
        runner = PolicyRunner(torch_policy, torch.device("cpu"))
        wiped = ablations(runner)["wiped"](batch)
        policy = policy_of(file_of(torch_policy, model, drive), "policy")
        act, remembering = policy.ablated["wiped"](batch), policy.for_batch(batch)
        batch.reset()
        differs = 0
        for _ in range(100):
            mine, theirs, acts = act(batch), wiped(batch), ~batch.waits
            np.testing.assert_array_equal(mine[acts], theirs[acts])
            differs += (remembering(batch)[acts] != mine[acts]).sum()
            batch.step(theirs)
        assert differs > 20, "the memory makes no difference"
    feed_forward = replace(TINY, memory="none")
    with Batch("intersection", num_worlds=1, config=drive) as batch:
        file = file_of(make_policy(batch, feed_forward), feed_forward, drive)
    assert not policy_of(file, "policy").ablated


def test_a_checkpoint_and_its_file_are_evaluated_alike(checkpoint, file):
    evaluator = MultiScenario("exported", {"scenes": ["intersection"], "scene_count": 3, "scene_agents": 6,
                                           "env": BUSY.drive})
    ours, theirs = evaluator.rollout(file), evaluator.rollout(checkpoint)
    path = Path(theirs.checkpoint["path"])
    assert ours.checkpoint == {**theirs.checkpoint, "path": f"{path.parent.name}/{path.name}"}
    assert ours.metrics.keys() == theirs.metrics.keys()
    assert all(ours.metrics[name].value == pytest.approx(theirs.metrics[name].value, abs=1e-5)
               for name in ("score", "collision", "offroad", "distance_m"))
    assert load_policy(file).config == load_policy(checkpoint).config == BUSY.drive
    assert load_policy(file).scenes == load_policy(checkpoint).scenes


def test_the_file_needs_no_torch_and_no_checkout(file, tmp_path):
    code = ("import sys; sys.modules['torch'] = sys.modules['baselines'] = None; import drive_env; "
            f"policy = drive_env.load_policy({str(file)!r}); "
            "batch = drive_env.Batch('intersection', num_worlds=2, config=policy.config); "
            "act = policy.for_batch(batch); batch.reset(); batch.step(act(batch)); print('drives')")
    assert subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True,
                          check=True).stdout == "drives\n"


def test_the_same_policy_is_the_same_file_and_survives_it(checkpoint, file, tmp_path):
    again, half = tmp_path / "again.npz", tmp_path / "half.npz"
    write_policy(again, read_policy(file))
    assert again.read_bytes() == file.read_bytes()
    write_policy(half, read_policy(file), half=True)
    assert half.stat().st_size < 0.7 * file.stat().st_size
    for name, array in read_policy(half).weights.items():
        np.testing.assert_array_equal(array, read_policy(file).weights[name].astype(np.float16), err_msg=name)


def test_commands_export_and_take_the_file(checkpoint, tmp_path, monkeypatch, capsys):
    file = tmp_path / "policy.npz"
    code, out, _ = run_here(monkeypatch, capsys, main, checkpoint, file, "--half")
    assert code == 0 and out == f"policy: {file} ({file.stat().st_size:,} bytes)\n"
    run("replay", "intersection", "--policy", str(file), "--out", str(tmp_path / "a.html"))
    assert (tmp_path / "a.html").stat().st_size > 10_000
    code, _, errors = run_here(monkeypatch, capsys, main, checkpoint, tmp_path / "policy.bin")
    assert code == 1 and errors.endswith("policy.bin'; it must end in .npz")
    code, _, errors = run_here(monkeypatch, capsys, main, tmp_path / "none", file)
    assert code == 1 and errors.startswith("baselines.export: ") and errors.count("\n") == 0


@pytest.mark.parametrize("change, sentence", [
    ({"observation": {"partners": 4}}, r"was trained on other observations than those of this batch, .* differ in 'pa.*"
     ", since observation.partners is 4 and was 5 in the training; the config of its"),
    ({"max_trials": 7}, "differ in 'trial/index', since max_trials is 7 and was 2 in the training; "),
    ({"max_trials": 7, "observation": {"roads": 9}},
     "since max_trials is 7 and was 2 in the training, and observation.roads is 9 and was "),
    ({"goal_radius_m": 2.0, "observation": {"candidates": 2}}, "differ in 'candidates/"),
    ({"action_type": "continuous"}, "was trained with actions whose type is 'discrete'; this batch has 'continuous'"),
    ({"dynamics": {"max_steering_rad": 0.3}}, "differ in 'ego/steering'"),
    ({"dynamics": {"model": "grip"}}, "was trained with actions whose model is 'bicycle'; this batch has 'grip'"),
    ({"observation": {"type": "index"}}, "observation.type is 'index'; for the policy .* it must be 'float32' or")])
def test_a_batch_of_other_observations_or_actions_is_refused(file, change, sentence):
    policy = load_policy(file)
    with Batch("intersection", num_worlds=1, config=policy.config.replace(**change)) as batch:
        with pytest.raises(ConfigError, match=sentence):
            policy.for_batch(batch)


@pytest.mark.parametrize("change, sentence", [
    ({}, None), ({"dynamics": {"max_steering_rad": 0.3}}, "actions whose number 'steering' has the lowest value -0.6"),
    ({"dynamics": {"model": "grip"}}, "actions whose model is 'bicycle'; this batch has 'grip'"),
    ({"action_type": "continuous"}, "actions whose type is 'discrete'; this batch has 'continuous'")])
def test_actions_mean_the_same_if_all_of_their_numbers_do(change, sentence):
    """Checkpoints and exported policies are compared by this meaning alone."""
    then, now = meaning_of_actions(BUSY.drive), meaning_of_actions(BUSY.drive.replace(**change))
    found = difference_of_actions(json.loads(json.dumps(then)), now)
    assert found == sentence if sentence is None else found.startswith(sentence)


def test_an_exported_policy_is_traffic_if_it_fits_the_config(file):
    few = {"scenes": ["intersection"], "scene_count": 2, "scene_agents": 4, "options": {"checkpoint": str(file)}}
    found = TrafficMatrix("matrix", {**few, "env": BUSY.drive}).rollout(file)
    of_self, of_checkpoint = (
        {name: found.rows[name][found.rows["group"] == group].tolist() for name in ("reward", "distance_m", "score")}
        for group in ("self", "checkpoint"))
    assert of_self == of_checkpoint, "the ego is the same policy"
    with pytest.raises(ConfigError, match="since max_trials is 1 and was 2 in the training"):
        TrafficMatrix("matrix", {**few, "env": BUSY.drive.replace(max_trials=1)}).rollout("lane")


def test_half_float_observations_are_accepted(file):
    policy = load_policy(file)
    with Batch("intersection", num_worlds=1, config=policy.config.replace(observation={"type": "float16"})) as batch:
        act = policy.for_batch(batch)
        batch.reset()
        assert act(batch).shape == batch.actions.shape


def damaged(file, path, change):
    """A copy with some arrays changed: `change` takes a dict of all."""
    with np.load(file) as arrays:
        found = dict(arrays)
    change(found)
    np.savez(path, **found)


def with_head(**changes):
    def change(found):
        head = json.loads(str(found["policy.json"]))
        for key, value in changes.items():
            *parts, last = key.split("__")
            place = head
            for part in parts:
                place = place[part]
            place[last] = value
        found["policy.json"] = np.array(json.dumps(head))
    return change


@pytest.mark.parametrize("change, sentence", [
    (with_head(format=2), "it has format 2; this version reads format 1"),
    (with_head(shape__width=10**9), "a number of its shape is 1000000000; it must be a whole number from 1 to 65536"),
    (with_head(shape__width=60_000), "weights; it may have 268435456"),
    (with_head(shape__layers=True), "a number of its shape is True"),
    (with_head(shape__layers=60_000), "it has no array 'trunks.0.layers.2"),
    (with_head(shape__heads=3), "its heads do not divide its width"),
    (with_head(shape__bounds=[0.0]), "not enough values to unpack"),
    (with_head(shape__sets=[["roads", 0, 1, 8, 8]]), "the bounds or the sets of its shape are inconsistent"),
    (with_head(shape__sizes=[1, 2]), "the number of sizes of its action is not that of components"),
    (with_head(object_width=0), "a number of its shape is 0"),
    (with_head(config__dt_s=-1.0), "dt_s is -1.0"),
    (with_head(checkpoint=3), "checkpoint and scenes must be objects"),
    (with_head(shape=3), "it is no trained policy, or damaged"),
    (with_head(checkpoint={"steps": float("nan")}), "its text has the number NaN; numbers must be finite"),
    (with_head(shape__sets=[["partners", 60_000, 4, 8, 7], ["roads", 56, 4, 8, 7]]), "reads 60032 floats of an observ"),
    (with_head(shape__previous_action="no"), "previous_action is 'no'"),
    (with_head(layout=3), "its layout must be a list of features"),
    (with_head(layout=[[]]), "its layout must be a list of features"),
    (with_head(actions={}), "its actions must have a type, a model, and the meaning of each number"),
    (with_head(actions__type="continuous"), "numbers with the values [91], but its actions are others"),
    (lambda found: found.update({"policy.json": np.array("x" * (1 << 23))}), "its text has 33554560 bytes; it"),
    (lambda found: found.pop("policy.json"), "it is no trained policy, or damaged: KeyError"),
    (lambda found: found.pop("trunks.0.norm.bias"), "it has no array 'trunks.0.norm.bias'"),
    (lambda found: found.update(more=np.zeros(2)), "it has an array 'more', which its shape does not describe"),
    (lambda found: found.update({"trunks.0.norm.bias": np.zeros(10**6)}), "its array 'trunks.0.norm.bias' is larger"),
    (lambda found: found.update({"trunks.0.norm.bias": np.zeros(3)}), "must be finite floats of shape"),
    (lambda found: found.update({"trunks.0.norm.bias": np.full(16, np.nan, np.float32)}), "must be finite floats of"),
    (lambda found: found.update({"trunks.0.norm.bias": np.zeros(16, np.int32)}), "must be finite floats of shape")])
def test_a_damaged_file_is_one_sentence_with_its_name(file, tmp_path, change, sentence):
    path = tmp_path / "damaged.npz"
    damaged(file, path, change)
    with pytest.raises(ConfigError) as error:
        load_policy(path)
    assert str(error.value).startswith(f"{path}: ") and sentence in str(error.value) and "\n" not in str(error.value)


def test_mutants_of_a_file_are_read_or_refused(file, tmp_path):
    """Bytes changed, or the end cut off: one sentence, or a policy of the same shape."""
    whole, random, path = file.read_bytes(), np.random.default_rng(0), tmp_path / "mutant.npz"
    refused = 0
    for mutant in range(150):
        data = bytearray(whole)
        for place in random.integers(len(data), size=3):
            data[place] ^= int(random.integers(1, 256))
        path.write_bytes(data[: random.integers(len(data))] if mutant % 3 == 0 else data)
        try:
            assert load_policy(path).config == BUSY.drive
        except ConfigError as error:
            assert str(error).startswith(f"{path}: ")
            refused += 1
    assert refused > 100


def with_entries(file, path, changed, compression=zipfile.ZIP_DEFLATED):
    """A copy with some entries of the archive changed or added, as (name, bytes)."""
    with zipfile.ZipFile(file) as source, zipfile.ZipFile(path, "w", compression) as target:
        names = [name for name, _ in changed]
        for name, data in [*((name, source.read(name)) for name in source.namelist() if name not in names), *changed]:
            target.writestr(name, data)


def test_headers_that_numpy_cannot_parse_are_one_sentence(file, tmp_path):
    path = tmp_path / "policy.npz"
    for text in (b"{'shape': (16,", b"\n    x\n  y\n", b"'''"):
        header = text.ljust(117) + b"\n"
        data = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header
        with_entries(file, path, [("trunks.0.norm.bias.npy", data)])
        with pytest.raises(ConfigError, match="it is no trained policy, or damaged: "):
            load_policy(path)


def test_a_damaged_archive_of_another_compression_is_one_sentence(file, tmp_path):
    path = tmp_path / "policy.npz"
    with_entries(file, path, [], zipfile.ZIP_LZMA)
    assert load_policy(path).config == BUSY.drive
    data = bytearray(path.read_bytes())
    data[60:200] = bytes(byte ^ 0x5a for byte in data[60:200])
    path.write_bytes(data)
    with pytest.raises(ConfigError, match="it is no trained policy, or damaged: LZMAError"):
        load_policy(path)


def test_no_entry_of_an_archive_hides_another_one(file, tmp_path):
    """numpy prefers an entry without the suffix, whose size nothing has checked."""
    path, large = tmp_path / "policy.npz", io.BytesIO()
    np.save(large, np.zeros(1 << 20, np.float32))
    with_entries(file, path, [("trunks.0.norm.bias", large.getvalue())])
    with pytest.raises(ConfigError, match="it has an entry 'trunks.0.norm.bias', which has another name than"):
        load_policy(path)


def test_objects_in_a_file_are_not_unpickled(file, tmp_path):
    path, evil = tmp_path / "evil.npz", io.BytesIO()
    np.save(evil, np.array([print], object), allow_pickle=True)
    with zipfile.ZipFile(file) as source, zipfile.ZipFile(path, "w") as target:
        for name in source.namelist():
            target.writestr(name, evil.getvalue() if name == "policy.json.npy" else source.read(name))
    with pytest.raises(ConfigError, match="it is no trained policy, or damaged: ValueError: Object arrays cannot be"):
        load_policy(path)


@pytest.mark.parametrize("source", ["nowhere", 3, None, b"a.npz", "random", "package.module:name"])
def test_what_is_no_policy_is_one_sentence(source):
    with pytest.raises(ConfigError, match=r"^source is .*; it must be 'generalist', 'hidden_exit', a file \*.npz of b"):
        load_policy(source)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"a.npz: it cannot be read: No such file or directory$"):
        load_policy(tmp_path / "a.npz")


@pytest.mark.parametrize("name", PACKAGED)
def test_a_packaged_policy_has_the_config_of_its_preset(name):
    packaged, env = load_policy(name), PRESETS[name].env
    assert packaged.config == env.drive and packaged.scenes == scene_settings(env)
    assert packaged.checkpoint["steps"] == pytest.approx(PRESETS[name].ppo.agent_steps, rel=0.01)
