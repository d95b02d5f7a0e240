"""Is damage to a checkpoint reported? Every file and every field, damaged in many ways: one sentence each time.

The sentence names what is damaged, and the newest intact checkpoint.
"""

import hashlib
import json
import math
import shutil

import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")

from checkpoint_damage import FILES, Damage, copied_to, error_of, two_checkpoints
from safetensors.torch import load_file, save_file
from small import ALONE

from baselines.ppo import train
from baselines.tools import checkpoint


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return two_checkpoints(tmp_path_factory.mktemp("run"))


@pytest.fixture(scope="module")
def alone(run, tmp_path_factory):
    return copied_to(tmp_path_factory.mktemp("alone"), run[1])


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
def test_a_damaged_file_is_an_error_that_names_the_newest_intact_checkpoint(run, file):
    older, newest, resume = run
    with Damage(newest / file) as damage:
        for way, data in ways_to_damage(damage.whole, (older / file).read_bytes()).items():
            if file == "config.json" and (way.startswith("bit") or way == "longer"):
                continue  # fields are damaged below
            damage.path.write_bytes(data)
            error_of(resume, newest, file, repr(str(newest)),
                     f"the newest intact checkpoint of the run is {str(older)!r}")
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


def test_the_error_of_a_run_without_an_intact_checkpoint_says_so(run, tmp_path):
    older, newest, resume = run
    shutil.copytree(older.parent, tmp_path / "run")
    places = checkpoint.checkpoints(tmp_path / "run")
    for place in places:
        (place / "optimizer.safetensors").unlink()
    error_of(resume, places[-1], "optimizer.safetensors", "the run has no intact checkpoint")
    shutil.copytree(newest, tmp_path / "alone")
    (tmp_path / "alone" / "optimizer.safetensors").unlink()
    assert "intact" not in error_of(resume, tmp_path / "alone", "optimizer.safetensors")


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
    error_of(lambda place: checkpoint.load_policy(checkpoint.checkpoint_at(place)), tmp_path / "run",
             repr(older.name)[1:-1])
    damaged.rename(tmp_path / "damaged")
    assert train(config).checkpoint.name > older.name


def test_a_pickle_in_a_checkpoint_is_never_loaded(run, tmp_path, monkeypatch):
    """Nor is one written: unpickling executes code from the file."""
    import pickle

    newest, resume = run[1:]
    for module, name in ((pickle, "loads"), (pickle, "load"), (pickle, "Unpickler"), (torch, "load")):
        monkeypatch.setattr(module, name, lambda *_, **__: pytest.fail("a pickle was loaded"))
    shutil.copytree(newest, tmp_path / "copy")
    (tmp_path / "copy" / "rank-0.batches").write_bytes(pickle.dumps([b""]))
    resume(tmp_path / "copy")
    assert sorted(file.name for file in newest.iterdir()) == sorted(FILES)
