"""Is a config plain data? Whatever value is passed, the field holds what its JSON round trip gives."""

import dataclasses
import json
from enum import IntEnum
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")

import numpy as np
from small import tiny_config

from baselines.config import EnvConfig, ModelConfig, PPOConfig, RunConfig, TrainConfig
from baselines.ppo import train
from baselines.presets import PRESETS
from baselines.tools import checkpoint
from drive_env import ConfigError, DriveConfig

Two = IntEnum("Two", {"two": 2})

ODD = {
    "env": {"scenes": [Path("town"), np.str_("intersection")], "scene_count": np.int32(2), "num_worlds": 6.0,
            "scene_parameters": {"arm_length_m": np.float32(60.1), "blocks": [1, np.int64(1)]},
            "drive": {"dt_s": np.float64(0.1), "max_trials": Two.two, "control": [3, 4], "reward": {"goal": 2}}},
    "ppo": {"agent_steps": 1e3, "learning_rate": np.float32(1e-3), "clip": torch.tensor(0.25), "epochs": Two.two,
            "anneal": np.bool_(False), "gamma": np.array(0.5, np.float32), "credit": np.str_("stop"), "gae_lambda": 1},
    "run": {"folder": Path("runs") / "odd", "minutes": np.float16(0.1)}}

PLAIN = {
    "env": {"scenes": ("./town", "intersection"), "scene_count": 2, "num_worlds": 6,
            "scene_parameters": {"arm_length_m": 60.1, "blocks": (1, 1)},
            "drive": {"dt_s": 0.1, "max_trials": 2, "control": (3, 4), "reward": {"goal": 2}}},
    "ppo": {"agent_steps": 1000, "learning_rate": 0.001, "clip": 0.25, "epochs": 2, "anneal": False, "gamma": 0.5,
            "credit": "stop", "gae_lambda": 1.0},
    "run": {"folder": "runs/odd", "minutes": 0.1}}


def leaves(value):
    """All values of nested dataclasses, dicts and tuples."""
    if dataclasses.is_dataclass(value):
        value = [getattr(value, field.name) for field in dataclasses.fields(value)]
    if isinstance(value, dict):
        value = [*value, *value.values()]
    return [leaf for part in value for leaf in leaves(part)] if isinstance(value, (list, tuple)) else [value]


@pytest.mark.parametrize("make", [lambda parts: TrainConfig(**parts), lambda parts: TrainConfig().changed(**parts),
                                  TrainConfig.from_dict], ids=["made", "changed", "from a dict"])
def test_odd_values_become_plain_ones(make):
    config = make(ODD)
    assert config == make(PLAIN)
    assert {type(leaf) for leaf in leaves(config)} == {bool, int, float, str, type(None)}


@pytest.mark.parametrize("config", [TrainConfig(**ODD), *PRESETS.values()])
def test_a_config_survives_json(config):
    found = config.to_dict()
    assert json.loads(json.dumps(found)) == found
    assert TrainConfig.from_dict(found) == config
    assert checkpoint.config_from_json(config.to_dict(), checkpoint.SCHEMA) == config


def test_a_run_with_odd_values_is_saved_and_resumed(tmp_path):
    """A path as the folder, a list of scenes, numpy's numbers, a list as a parameter."""
    odd = {"env": {"scenes": ["town"], "scene_count": np.int64(1), "scene_agents": np.int16(6),
                   "scene_parameters": {"blocks": [1, 1]}},
           "ppo": {"learning_rate": np.float32(1e-3)}}
    config = tiny_config("").changed(**odd)
    train(config.changed(ppo={"agent_steps": 500.0}, run={"folder": tmp_path}))
    result = train(config.changed(ppo={"agent_steps": 1500}, run={"folder": tmp_path, "resume": True}))
    assert result.lines[-1]["agent_steps"] >= 1500
    assert checkpoint.load_policy(result.checkpoint)[1].env == config.env


SCALARS = {"float16": np.float16, "float32": np.float32, "float64": np.float64, "longdouble": np.longdouble,
           "0-d float32": lambda number: np.array(number, np.float32),
           "torch float32": lambda number: torch.tensor(number),
           "torch float64": lambda number: torch.tensor(number, dtype=torch.float64),
           "torch float16": lambda number: torch.tensor(number, dtype=torch.float16),
           "torch bfloat16": lambda number: torch.tensor(number, dtype=torch.bfloat16)}


@pytest.mark.parametrize("make", SCALARS.values(), ids=SCALARS)
@pytest.mark.parametrize("number", [0.1, 0.001, 1.0, 1.5])
def test_a_scalar_of_any_precision_is_the_number_that_it_was_made_from(make, number):
    """In the trainer's fields, in those of the env, and in arrays."""
    scalar = make(number)
    assert PPOConfig(learning_rate=scalar).learning_rate == number
    assert DriveConfig(dt_s=scalar).dt_s == number
    assert EnvConfig(scene_parameters={"a": [scalar, scalar]}).scene_parameters == {"a": (number, number)}
    if hasattr(scalar, "reshape"):
        assert EnvConfig(scene_parameters={"a": scalar.reshape(1)}).scene_parameters == {"a": (number,)}


@pytest.mark.parametrize("kind", ["float16", "float32", "bfloat16"])
def test_a_scalar_survives_a_config_to_the_bit(kind):
    """Of random bits, and of the largest number, which fewer digits would round up."""
    dtype = getattr(torch, kind)
    bits = torch.randint(-2**15, 2**15, (300,), generator=torch.manual_seed(1)).to(torch.int16)
    scalars = [*bits.view(torch.bfloat16 if kind == "bfloat16" else torch.float16), torch.finfo(dtype).max]
    for scalar in (torch.as_tensor(scalar).to(dtype) for scalar in scalars):
        if scalar.isfinite():
            kept = EnvConfig(scene_parameters={"a": scalar}).scene_parameters["a"]
            assert torch.tensor(kept, dtype=torch.float64).to(dtype) == scalar and float(f"{kept:.8e}") == kept


def test_a_config_copies_the_dict_that_it_is_made_from():
    parameters = {"arm_length_m": 60.0}
    config = EnvConfig(scene_parameters=parameters)
    parameters["arm_length_m"] = 1.0
    assert config.scene_parameters == {"arm_length_m": 60.0}


@pytest.mark.parametrize("make, sentence", [
    (lambda: EnvConfig(scenes="town"), "scenes is 'town'; it must be a list, each entry a string"),
    (lambda: EnvConfig(scenes=(1,)), r"scenes is \(1,\); it must be a list, each entry a string"),
    (lambda: EnvConfig(num_worlds="4"), "num_worlds is '4'; it must be a whole number"),
    (lambda: EnvConfig(env_groups=1.5), "env_groups is 1.5; it must be a whole number or None"),
    (lambda: EnvConfig(drive=3), "drive is 3; it must be of type DriveConfig, or a dict of its fields"),
    (lambda: EnvConfig(drive={"magic": 3}), "DriveConfig has no field 'magic'; it has dt_s, "),
    (lambda: EnvConfig(scene_parameters={"a": "b"}), "scene_parameters is {'a': 'b'}; it must be a dict"),
    (lambda: EnvConfig(scene_counts={"narrow": 3}), "scene_counts is {'narrow': 3}; it must be a dict with keys from"),
    (lambda: EnvConfig(scene_agents_of={"town": 0}), "scene_agents_of is {'town': 0}; it must be a dict of numbers"),
    (lambda: ModelConfig(memory="lstm"), "memory is 'lstm'; it must be one of 'transformer', 'none'"),
    (lambda: ModelConfig(width=True), "width is True; it must be a whole number"),
    (lambda: PPOConfig(gamma="0.9"), "gamma is '0.9'; it must be a finite number"),
    (lambda: PPOConfig(learning_rate=float("inf")), "learning_rate is inf; it must be a finite number"),
    (lambda: PPOConfig(learning_rate=10**400), "it must be a finite number"),
    (lambda: PPOConfig(agent_steps=None), "agent_steps is None; it must be a whole number"),
    (lambda: PPOConfig(learning_rate=np.zeros((1, 1))), "it must be a finite number"),
    (lambda: RunConfig(resume=1), "resume is 1; it must be True or False"),
    (lambda: RunConfig(folder=b"run"), "folder is b'run'; it must be a string"),
    (lambda: RunConfig(resume=True, overwrite=True), "overwrite is True; it must be False where resume is True"),
    (lambda: TrainConfig(ppo=DriveConfig()), "it must be of type PPOConfig, or a dict of its fields"),
    (lambda: TrainConfig().changed(ppo=3), "ppo is 3; it must be of type PPOConfig, or a dict of its fields"),
    (lambda: TrainConfig().changed(magic=3),
     "TrainConfig has no field 'magic'; it has env, model, partners, expert, ppo, run"),
    (lambda: TrainConfig().changed(gamma=0.9), r"TrainConfig has no field 'gamma'; did you mean ppo\.gamma\?"),
    (lambda: TrainConfig().changed(env={"drive": {"partners": 3}}), "partners is a field of observation: DriveConfig"),
    (lambda: TrainConfig().changed(ppo={"lr": 0.9}), "PPOConfig has no field 'lr'; it has agent_steps, "),
    (lambda: PPOConfig(learnin_rate=0.9), r"PPOConfig has no field 'learnin_rate'; did you mean learning_rate\?"),
    (lambda: EnvConfig(drive={"observation": {"partners": 300}}), r"^observation\.partners is 300; it must be a whole"),
    (lambda: TrainConfig.from_dict([3]), r"config is \[3\]; it must be a dict of its fields"),
    (lambda: TrainConfig(cls=3), "TrainConfig has no field 'cls'; it has env, model, partners, expert, ppo, run"),
    (lambda: TrainConfig().changed(self=3),
     "TrainConfig has no field 'self'; it has env, model, partners, expert, ppo, run"),
    (lambda: TrainConfig.from_dict({"env": {"drive": {"self": 3}}}), "DriveConfig has no field 'self'; it has dt_s"),
    (lambda: PPOConfig(target_kl=-0.1), "target_kl is -0.1; it must be 0 or more"),
    (lambda: PPOConfig(epochs=10**5000), "^epochs is a value of type int that cannot be shown; it must be"),
    (lambda: PPOConfig(gamma=np.zeros((9, 9))), r"^gamma is array\(\[\[0\., .*\.\.\.; it must be a finite number$"),
    (lambda: TrainConfig(env=np.zeros((9, 9))), r"^env is array\(\[\[0\., .*\.\.\.; it must be of type EnvConfig"),
])
def test_a_value_of_another_type_is_an_error(make, sentence):
    with pytest.raises(ConfigError, match=sentence):
        make()
