"""Steps in flight, and parts of a batch: do they play as whole steps do, and is every call out of turn told so?

That the bytes are equal in every way of taking steps is asked of whole plays in tests/determinism.
"""

import copy
import gc
import multiprocessing
import os
import pickle
import signal
import threading
import time
import warnings
import weakref
from pathlib import Path

import numpy as np
import pytest
from golden import SHOWN
from staged_sim import IGNORE_ALL

from drive_env import ActionError, Batch, BatchPart, CallError, ConfigError, DriveConfig, generate_scene
from drive_env.drivers import LaneDriver
from drive_env.render import SceneView
from drive_env.replay import Recorder

SCENES = [generate_scene("town", seed=seed, agents=6) for seed in range(2)]
PROCESS = Path("/proc/self/status")
PATIENCE_S = 60
ENDLESS = {**IGNORE_ALL, "trial_steps": 10_000}
ACTION_TYPES = ("discrete", "multi_discrete", "continuous")


def make(parts=1, threads=2, num_worlds=7, restart="auto", scenes=SCENES, **choices):
    return Batch(scenes=scenes, num_worlds=num_worlds, threads=threads, parts=parts, seed=5, restart=restart,
                 config=DriveConfig(**{"max_trials": 2, "trial_steps": 9, **choices}))


def opened(*arguments, **choices):
    batch = make(*arguments, **choices)
    batch.reset()
    return batch


def draw(batch, step):
    """Actions of a step, the same for every batch of this size."""
    rng = np.random.default_rng(step)
    if batch.config.action_type == "continuous":
        return rng.uniform(-1, 1, (batch.num_agents, 2)).astype(np.float32)
    pairs = np.stack([rng.integers(0, 7, batch.num_agents), rng.integers(0, 13, batch.num_agents)], 1)
    return pairs if batch.config.action_type == "multi_discrete" else pairs[:, 0] * 13 + pairs[:, 1]


def all_of(batch):
    """All there is, as bytes: the state and every array that is shown."""
    return [batch._block.tobytes(), *(getattr(batch, name).tobytes() for name in SHOWN)]


def steps_of(batch):
    return batch._state["clock_steps"][:, 0]


def played(steps, **choices):
    """A batch that was driven by whole steps on one thread."""
    batch = opened(threads=1, **choices)
    for step in range(steps):
        batch.step(draw(batch, step))
    return batch


# ---- a step in flight ----


@pytest.mark.parametrize("threads", (1, 2, 4))
@pytest.mark.parametrize("action_type", ACTION_TYPES)
def test_actions_may_be_overwritten_while_their_step_is_in_flight(action_type, threads):
    wanted = all_of(played(30, action_type=action_type))
    for takes_bound in (False, True):
        batch = opened(threads=threads, action_type=action_type)
        actions = batch.bound_actions if takes_bound else np.empty_like(batch.bound_actions)
        for step in range(30):
            actions[...] = draw(batch, step)
            batch.step_async(actions)
            actions[...] = -7
            batch.wait()
        assert all_of(batch) == wanted


@pytest.mark.parametrize("threads", (1, 2, 4))
def test_a_step_in_flight_is_taken_while_its_caller_does_something_else(threads):
    batch = opened(threads=threads, **ENDLESS)
    for step in range(5):
        batch.step_async(draw(batch, step))
        end = time.monotonic() + PATIENCE_S
        while (steps_of(batch) <= step).any() and time.monotonic() < end:
            time.sleep(0.001)
        assert (steps_of(batch) == step + 1).all()  # nobody waited for it
        batch.wait()
    assert all_of(batch) == all_of(played(5, **ENDLESS))


@pytest.mark.skipif(not PROCESS.exists(), reason="only Linux tells how many threads a process has")
@pytest.mark.parametrize("threads, workers", [(1, 1), (2, 1), (3, 2), (4, 3)])
def test_a_step_in_flight_has_one_thread_less_than_a_step_but_at_least_one(threads, workers):
    def count():
        return next(int(line.split()[1]) for line in PROCESS.read_text().splitlines() if line.startswith("Threads:"))

    gc.collect()
    batch, before = make(threads=threads), count()
    batch.reset(seed=1)
    assert count() == before + threads - 1
    batch.step_async(batch.actions)
    batch.wait()
    assert count() == before + workers
    batch.close()
    assert count() == before


CALLS = {
    "reset": lambda batch: batch.reset(),
    "reset of some": lambda batch: batch.reset(worlds=np.arange(batch.num_worlds) == 0),
    "step": lambda batch: batch.step(batch.actions),
    "step with others": lambda batch: batch.step(batch.actions.copy()),
    "step_async": lambda batch: batch.step_async(batch.actions),
    "restart_observations": lambda batch: batch.restart_observations(),
}
CALLS_OF_A_BATCH = {
    "metrics": lambda batch: batch.metrics(),
    "vehicles": lambda batch: batch.vehicles(0),
    "trial_state": lambda batch: batch.trial_state(0),
    "step_events": lambda batch: batch.step_events(0),
    "phase_times": lambda batch: batch.phase_times(False),
    "pickle": pickle.dumps,
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
}


@pytest.mark.parametrize("name", {**CALLS, **CALLS_OF_A_BATCH})
def test_a_call_beside_a_step_in_flight_is_told_and_changes_nothing(name):
    call = {**CALLS, **CALLS_OF_A_BATCH}[name]
    batch = opened(parts=3)
    for step in range(0, 30, 2):
        batch.step_async(draw(batch, step))
        with pytest.raises(CallError, match="a step is in flight; call wait first"):
            call(batch)
        if name in CALLS:
            for part in batch.parts:
                with pytest.raises(CallError, match="a step of the whole batch is in flight"):
                    call(part)
        batch.wait()
        actions = draw(batch, step + 1)
        for part in batch.parts[:2]:
            part.step_async(actions[part.agent_slice])
        with pytest.raises(CallError, match="a step of part 0 is in flight"):
            call(batch)
        if name in CALLS:
            with pytest.raises(CallError, match="a step is in flight; call wait first"):
                call(batch.parts[1])
        batch.parts[2].step(actions[batch.parts[2].agent_slice])
        for part in batch.parts[:2]:
            part.wait()
    assert all_of(batch) == all_of(played(30))


def test_a_wait_for_no_step_is_told():
    batch = opened(parts=2)
    for waiter in (batch, *batch.parts):
        with pytest.raises(CallError, match="before step_async"):
            waiter.wait()
    batch.step_async(batch.actions)
    with pytest.raises(CallError, match="a step of the whole batch is in flight; call its wait first"):
        batch.parts[0].wait()
    batch.wait()
    batch.parts[1].step_async(batch.parts[1].actions)
    with pytest.raises(CallError, match="a step of part 1 is in flight; call its wait first"):
        batch.wait()
    with pytest.raises(CallError, match="before step_async"):
        batch.parts[0].wait()
    batch.parts[1].wait()
    for waiter in (batch, *batch.parts):
        with pytest.raises(CallError, match="before step_async"):
            waiter.wait()


@pytest.mark.parametrize("bad", [99, -1, 2**40])
def test_a_refused_action_puts_no_step_in_flight(bad):
    batch = opened(parts=2)
    first, second = batch.parts
    before, actions = all_of(batch), draw(batch, 0)
    actions[second.agent_slice.start + 8] = bad
    with pytest.raises(ActionError, match=f"agent {second.agent_slice.start + 8} "):
        batch.step_async(actions)
    with pytest.raises(ActionError, match=r"agent 8 \(world 1\)"):  # counted within the part
        second.step_async(actions[second.agent_slice])
    for wrong in (actions, actions[:3], None, "nonsense", actions.astype(float), [[1], [2, 3]]):
        with pytest.raises(ActionError):
            second.step_async(wrong)
    assert all_of(batch) == before
    with pytest.raises(CallError, match="before step_async"):
        second.wait()
    first.step(actions[first.agent_slice])
    second.step(draw(batch, 0)[second.agent_slice])
    assert all_of(batch) == all_of(played(1))


def test_a_step_before_reset_and_after_close_is_told():
    batch = make(parts=2)
    for part in (batch, *batch.parts):
        for call in (part.step, part.step_async):
            with pytest.raises(CallError, match="before reset"):
                call(part.actions)
    batch.close()
    for part in (batch, *batch.parts):
        for name, call in CALLS.items():
            with pytest.raises(CallError, match="closed"):
                call(part)
            assert name
        with pytest.raises(CallError, match="closed"):
            part.wait()


# ---- parts ----


@pytest.mark.parametrize("bad", (0, -1, 17, 3, 1.0, "2", None, True, [2], 10**30))
def test_a_bad_number_of_parts_is_told(bad):
    with pytest.raises(ConfigError, match="parts"):
        Batch(scenes=SCENES, num_worlds=20 if bad == 17 else 2, parts=bad)


def test_a_part_is_not_made_by_itself():
    with pytest.raises(CallError, match="parts"):
        BatchPart()


@pytest.mark.parametrize("looks", [LaneDriver, Recorder, SceneView])
def test_what_looks_at_single_worlds_wants_the_whole_batch(looks):
    batch = Batch("town", num_worlds=4, parts=2)
    with pytest.raises(ConfigError, match=r"batch is a part, worlds 2 to 3; it must be the whole batch"):
        looks(batch.parts[1])
    looks(batch)


@pytest.mark.parametrize("observation_type", ("float32", "float16", "index"))
@pytest.mark.parametrize("parts", (1, 2, 3, 7))
def test_parts_show_consecutive_agents_and_worlds_of_the_batch(parts, observation_type):
    batch = make(parts=parts, observation_type=observation_type)
    assert len(batch.parts) == parts and all(part.config is batch.config for part in batch.parts)
    places = np.arange(batch.num_worlds), np.arange(batch.num_agents)
    assert np.array_equal(np.concatenate([places[0][part.world_slice] for part in batch.parts]), places[0])
    assert np.array_equal(np.concatenate([places[1][part.agent_slice] for part in batch.parts]), places[1])
    assert max(part.num_worlds for part in batch.parts) <= min(part.num_worlds for part in batch.parts) + 1
    batch.reset()
    batch.step(draw(batch, 0))
    by_world = ["scene_index", "world_ids", *(["vehicle_table"] if observation_type == "index" else [])]
    for part in batch.parts:
        for name in ("actions", *SHOWN, *by_world):
            whole = getattr(batch, name)[part.world_slice if name in by_world else part.agent_slice]
            assert np.array_equal(getattr(part, name), whole) and np.shares_memory(getattr(part, name), whole)
        assert (part.num_agents, part.num_worlds) == (len(part.rewards), len(part.scene_index))
        assert np.array_equal(part.world_of_agent, batch.world_of_agent[part.agent_slice] - part.world_slice.start)
        assert repr(part).startswith(f"BatchPart(worlds {part.world_slice.start} to ")


def test_parts_show_arrays_of_ones_own():
    given = {name: np.empty_like(getattr(make(), name)) for name in ("actions", "observations", "scene_index")}
    batch = Batch(scenes=SCENES, num_worlds=7, parts=2, arrays=dict(given), config=make().config, seed=5)
    batch.reset()
    for name, array in given.items():
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
    assert all_of(batch) == all_of(played(41))


@pytest.mark.parametrize("threads", (1, 3))
def test_parts_in_threads_of_their_own(threads):
    batch, said = opened(parts=3, threads=threads), []

    def play(part, flies):
        try:
            for step in range(40):
                actions = draw(batch, step)[part.agent_slice]
                if flies:
                    part.step_async(actions)
                    part.wait()
                else:
                    part.step(actions)
                part.restart_observations()
        except Exception as error:  # noqa: BLE001  whatever it is, the test must see it
            said.append(error)

    players = [threading.Thread(target=play, args=(part, number != 1)) for number, part in enumerate(batch.parts)]
    for player in players:
        player.start()
    for player in players:
        player.join()
    assert said == [] and all_of(batch) == all_of(played(40))


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
    assert all_of(batch) == all_of(other)
    second.reset(worlds=[True, False, False, True], seed=[1, 2, 3, 4])
    other.reset(worlds=[False] * 3 + [True, False, False, True], seed=[0, 0, 0, 1, 2, 3, 4])
    assert all_of(batch) == all_of(other) and np.array_equal(batch.seeds, other.seeds)
    for bad in ({"worlds": [True] * 7}, {"initial_ages": [0] * 3}, {"initial_ages": [0, 0, 9, 0]}):
        with pytest.raises(CallError):
            second.reset(**bad)
    with pytest.raises(ConfigError):
        second.reset(seed=[1, 2, 3])
    assert all_of(batch) == all_of(other)


def test_a_restart_left_to_the_caller_is_owed_part_by_part():
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


def test_what_waiting_agents_of_a_part_will_meet():
    batch = played(9, parts=2, on_goal="ignore", on_collision="ignore", on_offroad="ignore")
    whole = batch.restart_observations()
    for part in batch.parts:
        assert np.array_equal(part.restart_observations(), whole[part.agent_slice])
        with pytest.raises(CallError, match="out is"):
            part.restart_observations(np.empty_like(whole))
    assert whole.any()


# ---- copies and ends ----


def test_a_copy_has_parts_of_its_own():
    batch = played(4, parts=3)
    other = pickle.loads(pickle.dumps(batch))
    assert [part.world_slice for part in other.parts] == [part.world_slice for part in batch.parts]
    for part in other.parts:
        part.step(draw(batch, 4)[part.agent_slice])
    assert all_of(other) == all_of(played(5)) and all_of(batch) == all_of(played(4))


def test_a_part_has_no_copies():
    part = opened(parts=2).parts[0]
    for make_copy in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(CallError, match="pickle its batch"):
            make_copy(part)


@pytest.mark.parametrize("threads", (1, 3))
def test_closing_ends_the_steps_in_flight(threads):
    for _ in range(20):
        batch = opened(parts=2, threads=threads, num_worlds=40, **ENDLESS)
        for part in batch.parts:
            part.step_async(part.actions)
        batch.close()
        assert (steps_of(batch) == 1).all()  # both were taken in every world
        for part in (batch, *batch.parts):
            with pytest.raises(CallError, match="closed"):
                part.wait()


@pytest.mark.parametrize("in_a_cycle", (False, True))
@pytest.mark.parametrize("threads", (1, 3))
def test_a_batch_that_is_dropped_ends_its_step_before_its_memory_goes(threads, in_a_cycle):
    for _ in range(20):
        batch = opened(threads=threads, num_worlds=40, **ENDLESS)
        if in_a_cycle:
            batch.itself = batch
        left, steps = weakref.ref(batch), steps_of(batch)
        batch.step_async(batch.actions)
        del batch
        gc.collect()
        assert left() is None and (steps == 1).all()


def test_parts_go_on_without_whoever_held_the_batch():
    batch = opened(parts=2)
    first, second = batch.parts
    left = weakref.ref(batch)
    first.step_async(draw(batch, 0)[first.agent_slice])
    actions = [draw(batch, step) for step in range(20)]
    del batch
    assert left() is None
    first.wait()
    for step in range(20):
        if step:
            first.step(actions[step][first.agent_slice])
        second.step(actions[step][second.agent_slice])
    wanted = played(20)
    for part in (first, second):
        assert np.array_equal(part.observations, wanted.observations[part.agent_slice])
    first.step_async(first.actions)
    steps = first.observations
    del first, second, part
    gc.collect()
    assert np.isfinite(steps).all()


def look_in_child(batch, part, pipe):
    said = []
    for call in (part.wait, lambda: part.step(part.actions), batch.reset, batch.metrics, lambda: pickle.dumps(batch)):
        try:
            call()
            said.append("nothing")
        except CallError as error:
            said.append(str(error))
    batch.close()
    pipe.send(said)
    pipe.close()


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork on this platform")
@pytest.mark.parametrize("whole", (False, True))
def test_a_child_forked_with_a_step_in_flight_is_told_and_its_parent_goes_on(whole):
    batch = opened(parts=2, num_worlds=7)
    part = batch if whole else batch.parts[1]
    context = multiprocessing.get_context("fork")
    part.step_async(draw(batch, 0)[part.agent_slice])
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=look_in_child, args=(batch, part, sender))
    with warnings.catch_warnings():
        # Newer interpreters warn of every fork beside threads; the law here is that ours do no harm.
        warnings.simplefilter("ignore", DeprecationWarning)
        child.start()
    assert receiver.poll(PATIENCE_S), "the child hangs"
    said = receiver.recv()
    child.join(PATIENCE_S)
    assert child.exitcode == 0 and all("forked" in sentence for sentence in said), said
    part.wait()
    if not whole:
        batch.parts[0].step(draw(batch, 0)[batch.parts[0].agent_slice])
    batch.step(draw(batch, 1))
    assert all_of(batch) == all_of(played(2))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
def test_a_child_forked_between_steps_knows_parts_whose_batch_is_gone():
    part = opened(parts=2).parts[1]
    part.step_async(part.actions)
    part.wait()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        signal.alarm(PATIENCE_S)
        part.step_async(part.actions)
        part.wait()
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_a_copy_knows_the_seeds_of_its_parts():
    batch = Batch("town", num_worlds=4, parts=2, seed=3)
    batch.reset()
    batch.parts[1].reset(seed=9)
    assert [part.seed for part in pickle.loads(pickle.dumps(batch)).parts] == [3, 9]
    batch.reset(seed=11)
    assert [batch.seed, *(part.seed for part in batch.parts)] == [11, 11, 11]


def test_what_waiting_agents_will_see_goes_to_memory_of_its_own():
    batch = Batch("town", num_worlds=4, config=DriveConfig(max_trials=2))
    batch.reset()
    with pytest.raises(CallError, match="out shares memory with observations"):
        batch.restart_observations(out=batch.observations)
