"""Do the laws hold for the oracle, and break with any wrong entry? They were written independently of each other."""


import laws
import numpy as np
import pytest
import rollouts
from integer_scenes import coasting_stage
from oracle_batch import OracleBatch

from drive_env.config import DriveConfig


def oracle_record(config, restart="auto", calls=60, seed=0, num_worlds=3):
    stages = [
        coasting_stage([{"goal_step": 4}, {"wall_step": 3}, {"car_step": 5}, {}]),
        coasting_stage([{"goal_step": 1}, {"goal_step": 2, "wall_step": 2}]),
    ]
    batch = OracleBatch(stages, config, num_worlds, restart=restart)
    return rollouts.collect(
        batch, config, rollouts.POLICIES["coast"], calls, seed=seed, restart=restart, reset_share=0.1
    )


@pytest.mark.parametrize("restart", ["auto", "caller"])
@pytest.mark.parametrize(
    "choices",
    [
        {"max_trials": 1, "trial_steps": 6},
        {"max_trials": 3, "trial_steps": 6},
        {"max_trials": 2, "trial_steps": 1},
        {"max_trials": 2, "trial_steps": 8, "on_goal": "ignore", "on_collision": "remove"},
        {
            "max_trials": 2,
            "trial_steps": 8,
            "on_goal": "stop",
            "on_offroad": "ignore",
            "stopped_share_limit": 0.5,
        },
    ],
)
def test_the_oracle_obeys_the_laws(choices, restart):
    laws.check(oracle_record(DriveConfig(**choices), restart))


@pytest.mark.parametrize("name", [name for name in rollouts.ARRAYS if name != "observations"])
def test_a_single_wrong_entry_of_any_channel_breaks_a_law(name):
    record = oracle_record(DriveConfig(max_trials=2, trial_steps=6), calls=22, num_worlds=2)
    for t in range(len(record.arrays)):
        for r in range(len(record.world_of_agent)):
            values = record.arrays[t][name]
            right = values[r]
            values[r] = not right if values.dtype == bool else right + 1
            with pytest.raises(AssertionError):
                laws.check(record)
            values[r] = right
    laws.check(record)


def test_a_wrong_observation_of_a_restart_or_a_removed_agent_breaks_a_law():
    record = oracle_record(DriveConfig(max_trials=2, trial_steps=6), calls=40)
    for t, arrays in enumerate(record.arrays):
        for r in np.flatnonzero(arrays["removed"] | (arrays["invalid_step"] & ~arrays["stopped"])):
            if arrays["first"][r] and not arrays["removed"][r]:
                continue
            right = arrays["observations"][r, 0]
            arrays["observations"][r, 0] += 0.125
            with pytest.raises(AssertionError):
                laws.check(record)
            arrays["observations"][r, 0] = right
    laws.check(record)


@pytest.mark.parametrize("wrong", [np.nan, np.inf, 1.5, -1.5])
def test_an_observation_outside_the_space_breaks_a_law(wrong):
    record = oracle_record(DriveConfig(max_trials=1, trial_steps=6), calls=5)
    record.arrays[2]["observations"][np.flatnonzero(~record.arrays[2]["waits"])[0], 1] = wrong
    with pytest.raises(AssertionError, match="law_11"):
        laws.check(record)
