"""Does a checkpoint of any schema mean the same in every later version, and is an unknown one an error?"""

import dataclasses
import json
import shutil
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")

from small import tiny_config

from baselines.config import ModelConfig, TrainConfig
from baselines.ppo import train
from baselines.tools import checkpoint
from drive_env import Batch

GOLDEN = sorted((Path(__file__).parent / "golden").glob("schema-*"))


def altered(place, folder, change):
    """A copy of a checkpoint whose config.json is changed."""
    copy = folder / "copy"
    shutil.copytree(place, copy)
    about = json.loads((copy / "config.json").read_text())
    change(about)
    (copy / "config.json").write_text(json.dumps(about))
    return copy


def test_a_missing_key_gets_the_value_frozen_for_its_schema(short_run, tmp_path, monkeypatch):
    """Not today's default, which may have changed."""
    def remove(about):
        del about["config"]["ppo"]["gamma"], about["config"]["env"]["drive"]["goal_radius_m"]

    old = altered(short_run[1].checkpoint, tmp_path, remove)
    frozen = json.loads(checkpoint.FROZEN[checkpoint.SCHEMA].read_text())
    frozen["ppo"]["gamma"] = 0.25
    path = tmp_path / "frozen.json"
    path.write_text(json.dumps(frozen))
    monkeypatch.setitem(checkpoint.FROZEN, checkpoint.SCHEMA, path)
    found = checkpoint.load_policy(old)[1]
    assert found.ppo.gamma == 0.25 and found.env.drive.goal_radius_m == 2.0


def test_every_config_field_has_a_frozen_value():
    """A new field must be added to the files of old schemas, with the value that describes what those versions did."""
    def keys(value, path=""):
        if not dataclasses.is_dataclass(value):
            return {path}
        return set().union(*(keys(getattr(value, field.name), f"{path}/{field.name}")
                             for field in dataclasses.fields(value)))

    def frozen_keys(value, default, path=""):
        return set().union(*(frozen_keys(entry, nested, f"{path}/{name}")
                             if dataclasses.is_dataclass(nested := getattr(default, name, None))
                             else {f"{path}/{name}"} for name, entry in value.items()))

    for version, path in checkpoint.FROZEN.items():
        missing = keys(TrainConfig()) - frozen_keys(json.loads(path.read_text()), TrainConfig())
        assert not missing, f"baselines/tools/schema/{version}.json lacks {sorted(missing)}"


def test_the_values_of_schema_1_are_frozen():
    """A change of today's defaults must not change the file."""
    frozen = json.loads(checkpoint.FROZEN[1].read_text())
    assert (frozen["ppo"]["gamma"], frozen["ppo"]["gae_lambda"], frozen["model"]["context"]) == (0.995, 0.95, 128)
    assert checkpoint.config_from_json({}, 1).env.drive.max_trials == 1


@pytest.mark.parametrize("change, sentence", [
    (lambda about: about.update(schema=99), "schema is 99; this version reads 1"),
    (lambda about: about["config"]["ppo"].update(magic=1), "config has ppo.magic, which is unknown"),
    (lambda about: about["semantics"].update(positions="learned table"), "positions are 'learned table'"),
])
def test_an_unknown_version_key_or_encoding_is_an_error(short_run, tmp_path, change, sentence):
    with pytest.raises(checkpoint.CheckpointError, match=sentence):
        checkpoint.load_policy(altered(short_run[1].checkpoint, tmp_path, change))


@pytest.mark.parametrize("key", ["counters", "schema"])
def test_a_key_that_occurs_twice_is_an_error(short_run, tmp_path, key):
    """Which of the values counts is not defined."""
    copy = altered(short_run[1].checkpoint, tmp_path, lambda about: None)
    text = (copy / "config.json").read_text()
    (copy / "config.json").write_text(f'{{"{key}": 1, {text[1:]}')
    with pytest.raises(checkpoint.CheckpointError, match=f"config.json .*the key '{key}' occurs twice"):
        checkpoint.load_policy(copy)


@pytest.mark.parametrize("place", GOLDEN, ids=lambda path: path.name)
def test_a_golden_checkpoint_reproduces_its_outputs(place):
    policy, config = checkpoint.load_policy(place)
    wanted = json.loads((place / "outputs.json").read_text())
    outputs = golden_outputs(policy)
    for name, values in outputs.items():
        assert values == pytest.approx(wanted[name], abs=1e-4), name
    assert dataclasses.asdict(config.model) == wanted["model"]


@pytest.mark.parametrize("place", GOLDEN, ids=lambda path: path.name)
def test_a_golden_checkpoint_fits_the_batches_of_its_config(place):
    """Sets of the observation that its version did not have yet are empty."""
    env = checkpoint.load_policy(place)[1].env
    with Batch("intersection", config=env.drive) as batch:
        checkpoint.check_fits(place, batch)
    observation = env.drive.observation.replace(candidates=1)
    with Batch("intersection", config=env.drive.replace(observation=observation)) as batch, \
            pytest.raises(checkpoint.CheckpointError, match="other observations"):
        checkpoint.check_fits(place, batch)


def test_there_is_a_golden_checkpoint_of_every_schema():
    assert {path.name for path in GOLDEN} == {f"schema-{version}" for version in checkpoint.FROZEN}


def golden_outputs(policy):
    """Log-probabilities of some actions, and values, of three agents with waits and with starts of episodes."""
    agents, steps, size = 3, 12, policy.trunks[0].encoder.own + sum(
        block.slots * block.size for block in policy.trunks[0].encoder.sets)
    count = agents * steps * size
    observations = ((torch.arange(count) * 0.61803398875) % 1.0).view(agents, steps, size)
    waits = torch.zeros(agents, steps, dtype=torch.bool)
    waits[1, 4:7] = True
    first = torch.zeros_like(waits)
    first[:, 0] = first[1, 7] = True
    previous = torch.arange(agents * steps).view(agents, steps, 1) % 91
    cache = policy.make_cache(agents, steps, "cpu")
    found = []
    with torch.no_grad():
        for step in range(steps):
            cache.reset(first[:, step])
            parameters, values = policy.step(observations[:, step], previous[:, step], ~waits[:, step], cache)
            found.append(torch.cat([parameters[:, [0, 45, 90]], values[:, None]], -1))
    found = torch.stack(found, 1)
    return {f"agent {agent}": found[agent].flatten().tolist() for agent in range(agents)}


def write_golden(folder: Path) -> None:
    """Written once per schema, by a tiny run, and never again: `python tests/baselines/test_checkpoint_schema.py`."""
    import os
    import tempfile

    place = folder / f"schema-{checkpoint.SCHEMA}"
    assert not place.exists(), f"{place} exists: a golden checkpoint is never written again"
    folder.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as run:
        os.chdir(run)
        model = dict(vars(ModelConfig(width=8, layers=2, heads=2, object_width=4, context=6, critic="separate")))
        config = tiny_config("golden", model=model, ppo={"agent_steps": 1000, "learning_rate": 1e-2})
        result = train(config)
        place.mkdir(parents=True)
        about = json.loads((result.checkpoint / "config.json").read_text())
        # As after training on a GPU: the state of a rollout is for one version.
        del about["files"]["rank-0.safetensors"]
        (place / "config.json").write_text(json.dumps(about, indent=1))
        for name in about["files"]:
            shutil.copy(result.checkpoint / name, place / name)
        outputs = golden_outputs(result.policy) | {"model": model}
        (place / "outputs.json").write_text(json.dumps(outputs))


if __name__ == "__main__":
    write_golden(Path(__file__).resolve().parent / "golden")
