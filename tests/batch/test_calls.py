"""Is a call that is out of order or has a bad argument refused, without any change of the batch?"""

import copy
import pickle

import numpy as np
import pytest
from small_batch import SCENE, make, refused, rollout, state_of

from drive_env import Batch, CallError, ConfigError, DriveConfig, DriveError


def test_step_before_reset_is_an_error():
    batch = make()
    assert "reset" in refused(batch, lambda: batch.step(np.zeros(batch.num_agents, np.int64)))
    batch = make()
    assert "reset" in refused(batch, batch.restart_observations)
    batch = make()
    assert "world 1" in refused(batch, lambda: batch.reset(worlds=np.array([True, False, True])))


@pytest.mark.parametrize("arguments", [
    {"worlds": [True, False]}, {"worlds": [1, 0, 1]}, {"worlds": np.ones((3, 1), bool)}, {"worlds": "yes"},
    {"worlds": 1}, {"initial_ages": [0, 0]}, {"initial_ages": [0.0, 1.0, 2.0]}, {"initial_ages": [0, 0, 15]},
    {"initial_ages": [-1, 0, 0]}, {"initial_ages": [0, 0, 2**40]}, {"initial_ages": np.ones((3, 1), int)},
    {"initial_ages": 3}, {"seed": -1}, {"seed": 1 << 64}, {"seed": 1.5}, {"seed": "1"}, {"seed": True},
])
def test_a_bad_argument_of_reset_moves_nothing(arguments):
    batch = make()
    rollout(batch, 7)
    assert next(iter(arguments)) in refused(batch, lambda: batch.reset(**arguments), DriveError)


@pytest.mark.parametrize("arguments", [{"worlds": [[True], [True, False]]}, {"initial_ages": [[0], [1, 2]]},
                                       {"seed": [[0], [1, 2], 3]}])
def test_a_ragged_argument_of_reset_is_an_error_like_any_other(arguments):
    batch = make()
    rollout(batch, 7)
    refused(batch, lambda: batch.reset(**arguments), DriveError)


@pytest.mark.parametrize("out", [np.zeros((12, 3), np.float32), "out", np.zeros(5), None.__class__])
def test_a_bad_array_for_restart_observations_is_an_error(out):
    batch = make()
    rollout(batch, 7)
    refused(batch, lambda: batch.restart_observations(out))


def test_a_bad_world_or_scene_index_is_an_error():
    batch = make()
    rollout(batch, 3)
    for bad in (-1, 3, 1.0, "0", True, None):
        refused(batch, lambda bad=bad: batch.vehicles(bad), ConfigError)
        refused(batch, lambda bad=bad: batch.scene_report(bad), ConfigError)


def test_calls_of_a_closed_batch_are_errors_and_its_arrays_stay_readable():
    batch = make(threads=2)
    rollout(batch, 7)
    seen = batch.observations.copy()
    batch.close()
    batch.close()
    for call in (lambda: batch.step(batch.actions), batch.reset, lambda: batch.reset(seed=1), batch.metrics,
                 batch.vehicles, batch.restart_observations, lambda: batch.phase_times(True),
                 batch.expert_actions, lambda: pickle.dumps(batch), lambda: copy.deepcopy(batch)):
        with pytest.raises(CallError, match="closed"):
            call()
    assert np.array_equal(batch.observations, seen)
    assert "Batch" in repr(batch) and batch.observation_layout()
    with make() as other:
        rollout(other, 3)
    with pytest.raises(CallError, match="closed"):
        other.step(other.actions)


def test_a_reopened_batch_behaves_as_a_new_one():
    batch, kept = make(), make()
    rollout(batch, 7)
    assert batch.reopen() is False
    batch.close()
    assert batch.reopen() is True
    assert rollout(batch, 40) == rollout(kept, 40)


def test_a_restart_left_to_the_caller_is_required_before_the_next_step():
    batch = Batch(scenes=[SCENE], num_worlds=2, config=DriveConfig(trial_steps=3), restart="caller")
    rollout(batch, 3)
    before = state_of(batch)
    for _ in range(2):
        with pytest.raises(CallError, match="world 0.*reset"):
            batch.step(batch.actions)
        assert state_of(batch) == before
    batch.reset(worlds=np.array([True, False]))
    with pytest.raises(CallError, match="world 1"):
        batch.step(batch.actions)
    batch.reset(worlds=np.array([False, True]))
    batch.step(np.zeros(batch.num_agents, np.int64))
