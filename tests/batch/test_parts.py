"""Is a part a view of some worlds of its batch? Its arrays, its resets, its steps beside those of other parts."""

import threading

import numpy as np
import pytest
from golden import OUTPUTS
from part_batches import SCENES, bytes_of, draw, make, opened, stepped, steps_of
from scripted_scenes import IGNORE_ALL

from drive_env import Batch, BatchPart, CallError, ConfigError, DriveConfig
from drive_env.drivers import LaneDriver
from drive_env.render import SceneView
from drive_env.replay import Recorder


@pytest.mark.parametrize("bad", (0, -1, 17, 3, 1.0, "2", None, True, [2], 10**30))
def test_a_bad_number_of_parts_is_an_error(bad):
    with pytest.raises(ConfigError, match="parts"):
        Batch(scenes=SCENES, num_worlds=20 if bad == 17 else 2, parts=bad)


def test_a_part_is_not_made_by_itself():
    with pytest.raises(CallError, match="makes its parts itself"):
        BatchPart(Batch("town"), 0, seed=0)


@pytest.mark.parametrize("looks", [LaneDriver, Recorder, SceneView])
def test_readers_of_single_worlds_require_the_whole_batch(looks):
    batch = Batch("town", num_worlds=4, parts=2)
    with pytest.raises(ConfigError, match=r"batch is a part, worlds 2 to 3; it must be the whole batch"):
        looks(batch.parts[1])
    looks(batch)


@pytest.mark.parametrize("observation_type", ("float32", "float16", "index"))
@pytest.mark.parametrize("parts", (1, 2, 3, 7))
def test_parts_are_views_of_consecutive_agents_and_worlds_of_the_batch(parts, observation_type):
    batch = make(parts=parts, observation={"type": observation_type})
    assert len(batch.parts) == parts and all(part.config is batch.config for part in batch.parts)
    places = np.arange(batch.num_worlds), np.arange(batch.num_agents)
    assert np.array_equal(np.concatenate([places[0][part.world_slice] for part in batch.parts]), places[0])
    assert np.array_equal(np.concatenate([places[1][part.agent_slice] for part in batch.parts]), places[1])
    assert max(part.num_worlds for part in batch.parts) <= min(part.num_worlds for part in batch.parts) + 1
    batch.reset()
    batch.step(draw(batch, 0))
    by_world = ["scene_index", "world_ids", *(["vehicle_table"] if observation_type == "index" else [])]
    for part in batch.parts:
        for name in ("actions", *OUTPUTS, *by_world):
            whole = getattr(batch, name)[part.world_slice if name in by_world else part.agent_slice]
            assert np.array_equal(getattr(part, name), whole) and np.shares_memory(getattr(part, name), whole)
        assert (part.num_agents, part.num_worlds) == (len(part.rewards), len(part.scene_index))
        assert np.array_equal(part.world_of_agent, batch.world_of_agent[part.agent_slice] - part.world_slice.start)
        assert repr(part).startswith(f"BatchPart(worlds {part.world_slice.start} to ")


def test_parts_share_arrays_of_the_caller():
    own = {name: np.empty_like(getattr(make(), name)) for name in ("actions", "observations", "scene_index")}
    batch = Batch(scenes=SCENES, num_worlds=7, parts=2, arrays=dict(own), config=make().config, seed=5)
    batch.reset()
    for name, array in own.items():
        assert all(np.shares_memory(getattr(part, name), array) for part in batch.parts)
    batch.parts[1].step(batch.parts[1].actions)
    assert (steps_of(batch) > 0).tolist() == [False] * 3 + [True] * 4


@pytest.mark.parametrize("threads", (1, 2, 3, 4))
def test_a_learner_that_computes_for_one_half_while_the_other_is_stepped(threads):
    batch = opened(parts=2, threads=threads)
    first, second = batch.parts
    first.step_async(draw(batch, 0)[first.agent_slice])
    for step in range(40):
        second.step_async(draw(batch, step)[second.agent_slice])
        first.wait()
        first.step_async(draw(batch, step + 1)[first.agent_slice])
        second.wait()
    first.wait()
    second.step(draw(batch, 40)[second.agent_slice])
    assert bytes_of(batch) == bytes_of(stepped(41))


@pytest.mark.parametrize("threads", (1, 3))
def test_parts_in_threads_of_their_own(threads):
    batch, message = opened(parts=3, threads=threads), []

    def step_often(part, in_flight):
        try:
            for step in range(40):
                actions = draw(batch, step)[part.agent_slice]
                if in_flight:
                    part.step_async(actions)
                    part.wait()
                else:
                    part.step(actions)
                part.restart_observations()
        except Exception as error:  # noqa: BLE001  whatever it is, the test must see it
            message.append(error)

    callers = [threading.Thread(target=step_often, args=(part, number != 1)) for number, part in enumerate(batch.parts)]
    for thread in callers:
        thread.start()
    for thread in callers:
        thread.join()
    assert message == [] and bytes_of(batch) == bytes_of(stepped(40))


def test_a_reset_of_a_part_is_that_of_its_worlds():
    batch, other = make(parts=2), make()
    first, second = batch.parts
    second.reset(seed=8)
    assert (batch.seed, first.seed, second.seed) == (5, 5, 8)
    with pytest.raises(CallError, match="before reset"):
        batch.step(batch.actions)
    with pytest.raises(CallError, match="leaves out world 0"):
        first.reset(worlds=[False, True, True])
    first.reset(initial_ages=[0, 1, 2])
    other.reset(seed=[5] * 3 + [8] * 4, initial_ages=[0, 1, 2, 0, 0, 0, 0])
    assert bytes_of(batch) == bytes_of(other)
    second.reset(worlds=[True, False, False, True], seed=[1, 2, 3, 4])
    other.reset(worlds=[False] * 3 + [True, False, False, True], seed=[0, 0, 0, 1, 2, 3, 4])
    assert bytes_of(batch) == bytes_of(other) and np.array_equal(batch.seeds, other.seeds)
    for bad in ({"worlds": [True] * 7}, {"initial_ages": [0] * 3}, {"initial_ages": [0, 0, 9, 0]}):
        with pytest.raises(CallError):
            second.reset(**bad)
    with pytest.raises(ConfigError):
        second.reset(seed=[1, 2, 3])
    assert bytes_of(batch) == bytes_of(other)


def test_a_restart_left_to_the_caller_is_required_part_by_part():
    batch = opened(parts=2, restart="caller", max_trials=1, trial_steps=3, **IGNORE_ALL)
    first, second = batch.parts
    for _ in range(3):
        second.step(second.actions)
    with pytest.raises(CallError, match="world 0.*reset"):
        second.step_async(second.actions)
    first.step_async(first.actions)
    second.reset(worlds=second.trial_ended[:: batch.agents_per_world])
    first.wait()
    batch.step(batch.actions)


def test_restart_observations_of_a_part_are_those_of_the_batch():
    batch = stepped(9, parts=2, on_goal="ignore", on_collision="ignore", on_offroad="ignore")
    whole = batch.restart_observations()
    for part in batch.parts:
        assert np.array_equal(part.restart_observations(), whole[part.agent_slice])
        with pytest.raises(CallError, match="out is"):
            part.restart_observations(np.empty_like(whole))
    assert whole.any()


def test_restart_observations_go_to_memory_of_their_own():
    batch = Batch("town", num_worlds=4, config=DriveConfig(max_trials=2))
    batch.reset()
    with pytest.raises(CallError, match="out shares memory with observations"):
        batch.restart_observations(out=batch.observations)
