"""Does a Gymnasium spec survive JSON, as data sets store it, and make the same env?"""

from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec

from drive_env import DriveConfig

CONFIG = DriveConfig(dt_s=0.2, max_trials=2, trial_steps=5, control=(3, 1), on_goal="stop", agents_per_world=1,
                     observation={"partners": 3}, dynamics={"min_speed_mps": -2}, reward={"goal": 2.5})


def test_a_spec_survives_json_and_makes_the_env():
    """Minari stores `env.spec.to_json()` with its data, and makes the env again by `EnvSpec.from_json`."""
    env = gymnasium.make("drive_env/Drive-v0", scenes="intersection", config=CONFIG)
    kept = env.spec.to_json()
    spec = EnvSpec.from_json(kept)
    assert spec == env.spec and env.spec == spec and spec.to_json() == kept
    recovered = gymnasium.make(spec)
    assert recovered.unwrapped.batch.config == CONFIG and recovered.spec == env.spec
    assert EnvSpec.from_json(recovered.spec.to_json()) == env.spec
    actions = np.random.default_rng(0).integers(91, size=20)
    rollouts = []
    for each in (env, recovered):
        rollout = [each.reset(seed=3)[0].tobytes()]
        for action in actions:
            observation, *rest = each.step(action)
            rollout.append((observation.tobytes(), *rest))
            if rest[1] or rest[2]:
                rollout.append(each.reset()[0].tobytes())
        rollouts.append(rollout)
        each.close()
    assert rollouts[0] == rollouts[1]


def test_a_spec_keeps_what_json_can_hold_of_its_arguments():
    """As docs/config.md describes it: a `DriveConfig` and a list survive, a tuple becomes a list, a path raises."""
    name = "drive_env/Drive-v0"
    env = gymnasium.make(name, scenes=["intersection"], config=DriveConfig(dt_s=np.float32(0.1)))
    assert EnvSpec.from_json(env.spec.to_json()) == env.spec
    env.close()
    env = gymnasium.make(name, scenes=("intersection",))
    spec = EnvSpec.from_json(env.spec.to_json())
    assert spec.kwargs["scenes"] == ["intersection"] and spec != env.spec
    gymnasium.make(spec).close()
    env.close()
    for arguments in ({"scenes": Path("town")}, {"scenes": "town", "config": {"dt_s": np.float32(0.1)}}):
        with pytest.raises(TypeError, match="not JSON serializable"):
            EnvSpec(name, kwargs=arguments).to_json()


def test_a_vector_env_s_spec_survives_json():
    envs = gymnasium.make_vec("drive_env/Drive-v0", num_envs=2, scenes="intersection", config=CONFIG)
    spec = EnvSpec.from_json(envs.spec.to_json())
    assert spec.kwargs["config"] == CONFIG
    again = gymnasium.make_vec(spec, num_envs=2)
    assert again.unwrapped.batch.config == CONFIG
    np.testing.assert_array_equal(envs.reset(seed=1)[0], again.reset(seed=1)[0])
    envs.close()
    again.close()
