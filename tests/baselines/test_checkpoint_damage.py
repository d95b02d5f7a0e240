"""Is damage to a checkpoint reported? Every file and every field, damaged in many ways: one sentence each time.

The sentence names what is damaged, and the newest checkpoint that is whole.
"""

import copy
import hashlib
import json
import math
import shutil

import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")

from safetensors.torch import load_file, save_file
from small import ALONE, tiny_config

from baselines.ppo import make_optimizer, make_policy, train
from baselines.rollout.batches import open_batches, scenes_of
from baselines.rollout.collector import Collector
from baselines.tools import checkpoint
from baselines.tools.checkpoint import CheckpointError

NULLABLE = {"scene_agents", "env_groups", "dt_s", "trial_steps", "agents_per_world", "goal_max_speed_mps",
            "stopped_share_limit", "kv_heads", "gamma_trial", "target_kl", "torch_threads", "compile", "minutes"}
"""Fields of a config that may be null."""

TEXT = {"folder", "device", "unit"}
"""Fields for which any text is valid."""

FLAGS = {"previous_action", "anneal", "recompute_context", "resume", "overwrite", "compile", "tensorboard", "wandb",
         "progress"}

SIGNED = {"goal", "collision", "offroad", "progress_per_m", "min_speed_mps", "target_kl"}
"""Numbers that may be negative."""

PARTS = {"env", "model", "ppo", "run", "drive", "observation", "dynamics", "reward", "scene_parameters"}
"""Nested configs, and other objects; missing fields get their frozen values."""

FILES = ("config.json", "weights.safetensors", "optimizer.safetensors", "rank-0.safetensors")


class Resume:
    """The objects into which a checkpoint is resumed."""

    def __init__(self, config):
        self.config = config
        batches, device_buffers = open_batches(config.env, scenes_of(config.env), ALONE, 0)
        self.policy = make_policy(config, batches[0], ALONE)
        self.optimizer = make_optimizer(self.policy, config.ppo)
        self.collector = Collector(batches, device_buffers, self.policy, config.ppo.rollout_steps)

    def __call__(self, place):
        counters = checkpoint.resumable(place, self.config)
        checkpoint.load_weights(place, self.policy, self.optimizer)
        assert checkpoint.load_rollout(place, self.collector, ALONE)
        return counters


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run with two checkpoints: the whole one, the one to be damaged, and what resumes from it."""
    folder = tmp_path_factory.mktemp("run")
    config = tiny_config(folder, ppo={"agent_steps": 1000}, run={"checkpoint_updates": 1})
    train(config)
    older, newest = checkpoint.checkpoints(folder)[-2:]
    resume = Resume(config)
    assert resume(newest)["update"] == resume(older)["update"] + 1
    return older, newest, resume


@pytest.fixture(scope="module")
def alone(run, tmp_path_factory):
    """A copy of the newest checkpoint, outside of a run."""
    place = tmp_path_factory.mktemp("alone") / "checkpoint"
    shutil.copytree(run[1], place)
    return place


def error_of(read, place, *names):
    """The error message of a damaged checkpoint, which contains all of these."""
    with pytest.raises(CheckpointError) as error:
        read(place)
    sentence = str(error.value)
    assert type(error.value) is CheckpointError and error.value.__cause__ is None
    assert len(sentence.splitlines()) == 1 and sentence.isprintable() and len(sentence) < 1000
    for name in names:
        assert name in sentence, (name, sentence)
    return sentence


class Damage:
    """A file whose bytes are restored at the end of the context."""

    def __init__(self, path):
        self.path = path

    def __enter__(self):
        self.whole = self.path.read_bytes()
        return self

    def __exit__(self, *_):
        self.remove()
        self.path.write_bytes(self.whole)

    def remove(self):
        if self.path.is_dir():
            self.path.rmdir()
        self.path.unlink(missing_ok=True)


def ways_to_damage(whole, other):
    """Damaged bytes, by the kind of damage."""
    size = len(whole)
    cut = {f"cut at {at}": whole[:at] for at in {0, 1, 7, 8, 9, size // 3, size // 2, size - 1}}
    flipped = {f"bit {at} flipped": whole[: at // 8] + bytes([whole[at // 8] ^ 1 << at % 8]) + whole[at // 8 + 1 :]
               for at in (0, 61, 8 * (size // 2) + 3, 8 * size - 1)}
    return cut | flipped | {"zeros": bytes(size), "text": b"not a checkpoint", "longer": whole + b"\0",
                            "swapped": whole[size // 2 :] + whole[: size // 2], "of another update": other,
                            "a header of 2**63 bytes": b"\xff" * 7 + b"\x7f" + whole[8:], "null": b"null",
                            "deep": b"[" * 100_000, "no text": b"\xff\xfe" + whole}


@pytest.mark.parametrize("file", FILES)
def test_a_damaged_file_is_an_error_that_names_the_newest_whole_checkpoint(run, file):
    older, newest, resume = run
    with Damage(newest / file) as damage:
        for way, data in ways_to_damage(damage.whole, (older / file).read_bytes()).items():
            if file == "config.json" and (way.startswith("bit") or way == "longer"):
                continue  # fields are damaged below
            damage.path.write_bytes(data)
            error_of(resume, newest, file, repr(str(newest)),
                     f"the newest whole checkpoint of the run is {str(older)!r}")
            if file in ("config.json", "weights.safetensors"):
                error_of(checkpoint.load_policy, newest, file, repr(str(older)))
            else:
                checkpoint.load_policy(newest)
        damage.remove()
        error_of(resume, newest, file, repr(str(older)))
        damage.path.mkdir()
        error_of(resume, newest, file, repr(str(older)))
    assert resume(newest)


def rehashed(place, file):
    """Updates the hash of a file in config.json."""
    about = json.loads((place / "config.json").read_text())
    about["files"][file] = hashlib.sha256((place / file).read_bytes()).hexdigest()
    (place / "config.json").write_text(json.dumps(about))


def damaged_tensors(key, tensor):
    """Replacements of a tensor, by the kind of damage."""
    other = torch.float64 if tensor.dtype != torch.float64 else torch.float32
    return {"missing": {}, "renamed": {f"{key}\n": tensor}, "and one more": {key: tensor, "more": torch.zeros(1)},
            "wrong shape": {key: tensor[None].clone()}, "longer": {key: torch.zeros(3, *tensor.shape)},
            "empty": {key: torch.zeros(0, dtype=tensor.dtype)}, "wrong dtype": {key: tensor.to(other)},
            "bool": {key: torch.zeros(tensor.shape, dtype=torch.bool)}}


@pytest.mark.parametrize("file", FILES[1:])
def test_a_damaged_tensor_is_named_even_where_the_hash_fits(run, alone, file, request):
    """Without `--slow` every tensor is damaged in one way, and the next tensor in the next way."""
    resume, newest = run[2], alone
    read = {"weights.safetensors": checkpoint.load_policy,
            "optimizer.safetensors": lambda place: checkpoint.load_weights(place, resume.policy, resume.optimizer),
            "rank-0.safetensors": lambda place: checkpoint.load_rollout(place, resume.collector, ALONE)}[file]
    with Damage(newest / "config.json"), Damage(newest / file):
        tensors = load_file(newest / file)
        for number, (key, tensor) in enumerate(tensors.items()):
            damages = [(way, instead) for way, instead in damaged_tensors(key, tensor).items()
                       if way != "bool" or tensor.dtype != torch.bool]
            if not request.config.getoption("--slow"):
                damages = [damages[number % len(damages)]]
            for way, instead in damages:
                others = {name: one for name, one in tensors.items() if name != key}
                save_file(others | instead, newest / file)
                rehashed(newest, file)
                sentence = error_of(read, newest, file, repr(str(newest)))
                assert "'more'" in sentence if way == "and one more" else key in sentence, (way, key, sentence)
    assert resume(newest)


@pytest.mark.parametrize("key, value", [
    ("batch0/state/scene_index", 99), ("batch0/state/previous_outcome", 200), ("batch0/state/clock_steps", -1),
    ("batch0/state/x_m", math.nan), ("batch0/state/id", 7), ("random", 255)])
def test_an_impossible_value_is_an_error_even_where_the_hash_fits(run, key, value):
    older, newest, resume = run
    file = "rank-0.safetensors"
    with Damage(newest / "config.json"), Damage(newest / file):
        tensors = load_file(newest / file)
        tensors[key].fill_(value)
        save_file(tensors, newest / file)
        rehashed(newest, file)
        error_of(resume, newest, file, key.rpartition("/")[2], repr(str(older)))
    assert resume(newest)


@pytest.mark.parametrize("file, key, value", [
    ("rank-0.safetensors", "group0.previous_actions", 91), ("rank-0.safetensors", "group0.previous_actions", -1),
    ("rank-0.safetensors", "group0.clock", 10**9), ("rank-0.safetensors", "group0.clock", -1),
    ("rank-0.safetensors", "cache.written", 10**9), ("rank-0.safetensors", "cache.written", -1),
    ("rank-0.safetensors", "cache.position", 2**62), ("rank-0.safetensors", "cache.position", -1),
    ("rank-0.safetensors", "cache.keys", math.nan), ("rank-0.safetensors", "cache.values", math.inf),
    ("optimizer.safetensors", "0.step", -1), ("optimizer.safetensors", "0.step", math.nan),
    ("optimizer.safetensors", "0.exp_avg", math.nan), ("optimizer.safetensors", "0.exp_avg_sq", -1),
    ("optimizer.safetensors", "0.exp_avg_sq", math.inf), ("weights.safetensors", "actor.linear.bias", math.nan)])
def test_a_value_that_no_training_leads_to_is_an_error_even_where_the_hash_fits(run, file, key, value):
    """One entry is enough."""
    newest, resume = run[1:]
    with Damage(newest / "config.json"), Damage(newest / file):
        tensors = load_file(newest / file)
        tensors[key].view(-1)[-1] = value
        save_file(tensors, newest / file)
        rehashed(newest, file)
        error_of(resume, newest, file, repr(key), "; it must be from " if math.isfinite(value) else "must be finite")
        if file == "weights.safetensors":
            error_of(checkpoint.load_policy, newest, file, repr(key))
    assert resume(newest)


def places(value, path=()):
    """The path of everything in a JSON value, objects and lists too."""
    if path:
        yield path
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, entry in entries:
        yield from places(entry, (*path, key))


def put(about, path, value):
    """A copy with another value at a path; without the entry if the value is `put` itself."""
    about = copy.deepcopy(about)
    parent = about
    for key in path[:-1]:
        parent = parent[key]
    if value is put:
        del parent[path[-1]]
    else:
        parent[path[-1]] = value
    return about


def may_be(path, was, value):
    """Whether the value is valid for the field."""
    name, of_config = path[-1], path[0] == "config"
    if value is put:
        return of_config and len(path) > 1 and name not in range(99)
    if value is None:
        return name in NULLABLE and of_config
    if value == {}:
        return name in PARTS or of_config and len(path) == 1
    if value == {"a": 1}:
        return name == "scene_parameters"
    if value == "x":
        return name in TEXT or path[:3] == ("config", "env", "scenes") and len(path) == 4
    if value is True:
        return name in FLAGS
    if value == -1:
        return name in SIGNED or name == "low"
    return value == was


@pytest.mark.parametrize("value", [put, None, "x", [], {}, True, -1, math.nan, math.inf, 10**400, [[None]], {"a": 1}],
                         ids=lambda value: "missing" if value is put else str(value)[:9])
def test_a_damaged_field_is_named(alone, value):
    newest = alone
    count = 0
    with Damage(newest / "config.json") as damage:
        whole = json.loads(damage.whole)
        for path in places(whole):
            was = whole
            for key in path:
                was = was[key]
            if was == value and type(was) is type(value):
                continue
            damage.path.write_text(json.dumps(put(whole, path, value)))
            if may_be(path, was, value):
                try:
                    checkpoint.about(newest)
                except CheckpointError:  # a part of a config that does not fit the rest
                    error_of(checkpoint.about, newest, "config.json", repr(str(newest)))
                continue
            names = [name for name in path if isinstance(name, str)]
            error_of(checkpoint.about, newest, "config.json", repr(str(newest)),
                 *names[-1:] if path[-1:] != ("layout",) and path[:2] != ("semantics", "layout") else ["layout"])
            count += 1
    assert count > 300


def test_legal_values_are_accepted(alone):
    """The values that `may_be` calls valid are: the test above would pass if everything were rejected."""
    newest = alone
    with Damage(newest / "config.json") as damage:
        whole = json.loads(damage.whole)
        for path, value in ((("config", "run", "folder"), "x"), (("config", "ppo", "target_kl"), None),
                            (("config", "run", "compile"), True), (("config", "run", "seed"), put),
                            (("config", "env", "drive", "reward", "goal"), -1), (("config", "run"), {}),
                            (("config", "env", "scene_agents"), None)):
            damage.path.write_text(json.dumps(put(whole, path, value)))
            checkpoint.about(newest)


@pytest.mark.parametrize("path, value, names", [
    (("schema",), True, "schema is True; this version reads 1"),
    (("schema",), 1.0, "schema is 1.0; this version reads 1"),
    (("semantics", "actions", "space"), {"discrete": [92]}, "weights.safetensors: 'actor."),
    (("semantics", "actions", "space"), {"multi_discrete": [7, 13]}, "weights.safetensors"),
    (("semantics", "actions", "space"), {"box": [-1.0, 1.0, 2]}, "weights.safetensors"),
    (("semantics", "actions", "space"), {"box": [1.0, -1.0, 2]}, "semantics.actions.space"),
    (("semantics", "actions", "space"), {"discrete": [91, 91]}, "semantics.actions.space"),
    (("semantics", "actions", "space"), {"discrete": [2**60]}, "semantics.actions.space"),
    (("semantics", "actions", "space"), {"discrete": [91], "box": [0, 1, 2]}, "semantics.actions.space"),
    (("config", "model", "width"), 32, "weights.safetensors: "),
    (("config", "model", "width"), 2**30, "config.model and semantics.layout make no policy"),
    (("config", "model", "layers"), 10**12, "tensors; config.model.layers is 1000000000000"),
    (("config", "model", "layers"), 3, "weights.safetensors lacks 'trunks.0.layers.2."),
    (("config", "model", "layers"), 1, "weights.safetensors has 'trunks.0.layers.1."),
    (("config", "ppo", "credit"), "stop", "semantics.credit is 'through'; its config and layout require 'stop'"),
    (("counters", "update"), 7, "counters.update is 7; the name of its folder says 2"),
    (("counters", "more"), 7, "counters has 'more'"),
    (("files", "../weights.safetensors"), "0" * 64, "files is {"),
    (("files", "rank-0.safetensors"), put, "files does not name 'rank-0.safetensors', which exists"),
    (("ranks",), 2, "the files of all 2 ranks or of none"),
])
def test_fields_that_contradict_each_other_are_an_error(run, path, value, names):
    newest = run[1]
    with Damage(newest / "config.json") as damage:
        damage.path.write_text(json.dumps(put(json.loads(damage.whole), path, value)))
        error_of(checkpoint.load_policy, newest, names)


def test_the_error_says_where_no_checkpoint_is_whole(run, tmp_path):
    older, newest, resume = run
    shutil.copytree(older.parent, tmp_path / "run")
    places = checkpoint.checkpoints(tmp_path / "run")
    for place in places:
        (place / "optimizer.safetensors").unlink()
    error_of(resume, places[-1], "optimizer.safetensors", "the run has no whole checkpoint")
    shutil.copytree(newest, tmp_path / "alone")
    (tmp_path / "alone" / "optimizer.safetensors").unlink()
    assert "whole" not in error_of(resume, tmp_path / "alone", "optimizer.safetensors")


def test_a_run_is_not_silently_resumed_from_an_older_checkpoint_than_a_damaged_one(run, tmp_path):
    """Also where only its empty folder is left; once that is moved away, the older one is resumed."""
    older, newest, resume = run
    shutil.copytree(older.parent, tmp_path / "run")
    config = resume.config.changed(run={"folder": str(tmp_path / "run"), "resume": True}, ppo={"agent_steps": 1500})
    damaged = tmp_path / "run" / newest.name
    for file in damaged.iterdir():
        file.unlink()
    assert checkpoint.newest(tmp_path / "run") == damaged
    error_of(lambda place: train(config), damaged, "config.json", repr(str(tmp_path / "run" / older.name)))
    error_of(lambda place: checkpoint.load_policy(checkpoint.named(place)), tmp_path / "run", repr(older.name)[1:-1])
    damaged.rename(tmp_path / "damaged")
    assert train(config).checkpoint.name > older.name


def test_a_pickle_in_a_checkpoint_is_never_loaded(run, tmp_path, monkeypatch):
    """Nor is one written: unpickling executes code from the file."""
    import pickle

    older, newest, resume = run
    for module, name in ((pickle, "loads"), (pickle, "load"), (pickle, "Unpickler"), (torch, "load")):
        monkeypatch.setattr(module, name, lambda *_, **__: pytest.fail("a pickle was loaded"))
    shutil.copytree(newest, tmp_path / "copy")
    (tmp_path / "copy" / "rank-0.batches").write_bytes(pickle.dumps([b""]))
    resume(tmp_path / "copy")
    assert sorted(file.name for file in newest.iterdir()) == sorted(FILES)
