"""Does a copy of a batch continue bit for bit? By pickle and by copy, anywhere in an episode."""

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest
from scripted_scenes import driver, log_replay, stage
from small_batch import ACTION_TYPES, NAMES, SCENE, make, rollout, state_of

from drive_env import Batch, CallError, generate_scene
from drive_env.scenes import Scripts


def by_pickle(batch):
    return pickle.loads(pickle.dumps(batch))


@pytest.mark.parametrize("copied", [by_pickle, copy.deepcopy, copy.copy])
@pytest.mark.parametrize("choices", [
    *({"action_type": action_type} for action_type in ACTION_TYPES),
    {"detailed_metrics": True, "reward_ranges": {"goal": (0.5, 1.5)}},
    {"dynamics": "single_track"},
    {"hidden": {"steering_gain": (0.5, 1.5), "action_delay_steps": (0, 3), "scope": "trial"}},
    {"critic_observations": True, "observation": {"time_left": "critic"}},
    {"observation": {"type": "image"}, "image": {"size": 16}},
    {"disturbances": {"phantom_braking": 1.0, "trigger_probability": 0.2}},
    {"sensors": {"partner_dropout": 0.3, "road_position_noise_m": 0.2}},
    {"reward": {"route_progress_per_m": 0.1}},
    {"coplayers": 1},
    {"action_mask": True, "action_type": "multi_discrete"},
    {"on_goal": "next", "goal_radius_m": 15.0, "goal_spacing_m": 5.0},
    {"goal_heading_tolerance_rad": 0.2, "goal_radius_m": 15.0, "observation": {"goals": 1}},
    {"on_goal": "respawn", "goal_radius_m": 15.0, "detailed_metrics": True},
    {"traffic_controls": True, "on_red_light": "remove", "observation": {"controls": 3}}], ids=str)
def test_a_copy_made_anywhere_in_an_episode_goes_on_bit_for_bit(copied, choices):
    log = [(20.0 + frame, 5.0, 0.0, 10.0) for frame in range(40)]
    crossed = stage([driver(speed_mps=5.0), driver(0.0, 8.0), log_replay(log)], [("edge", [(9.0, -2.0), (9.0, 2.0)])])
    scripts = Scripts(*np.array([[2], [0], [0]], np.int32), np.array([[3, 2, 3, -2]], np.float32))
    scenes = [generate_scene("intersection", seed=0, agents=4, lights="traffic_controls" in choices),
              replace(crossed, scripts=scripts)]
    batch = make(num_worlds=4, threads=2, scenes=scenes, **choices)
    for length in (0, 1, 7, 8, 20):
        rollout(batch, length, seed=length)
        other = copied(batch)
        for name in NAMES:
            assert np.array_equal(getattr(other, name), getattr(batch, name)), name
        assert repr(other.metrics()) == repr(batch.metrics())
        assert rollout(other, 40) == rollout(copied(batch), 40)
        reference = copied(batch)
        rollout(batch, 3), rollout(reference, 3)
        assert state_of(batch) == state_of(reference)
        # Nothing is shared: steps of the copy leave the batch as it was.
        other.close()
    assert batch.restart == "auto" and copied(batch).restart == "auto"


def test_a_copy_of_a_batch_that_was_not_reset_was_not_reset_either():
    batch = make()
    other = pickle.loads(pickle.dumps(batch))
    with pytest.raises(CallError, match="reset"):
        other.step(other.actions)
    assert rollout(other, 10) == rollout(batch, 10)


def test_a_copy_keeps_seed_ids_and_restart():
    batch = Batch(scenes=[SCENE], num_worlds=2, seed=11, world_ids=[7, 3], restart="caller", threads=2)
    batch.reset()
    other = pickle.loads(pickle.dumps(batch))
    assert (other.seed, other.restart, other.threads) == (11, "caller", 2)
    assert other.world_ids.tolist() == [7, 3] and other.world_of_agent.tolist() == batch.world_of_agent.tolist()
