"""What may be called while a step is in flight? `wait` alone; every other call is refused and changes nothing."""

import copy
import gc
import pickle
import time
from pathlib import Path

import numpy as np
import pytest
from part_batches import CALLS, ENDLESS, TIMEOUT_S, bytes_of, draw, make, opened, stepped, steps_of

from drive_env import ActionError, CallError

PROCESS = Path("/proc/self/status")
ACTION_TYPES = ("discrete", "multi_discrete", "continuous")


@pytest.mark.parametrize("threads", (1, 2, 4))
@pytest.mark.parametrize("action_type", ACTION_TYPES)
def test_actions_may_be_overwritten_while_their_step_is_in_flight(action_type, threads):
    wanted = bytes_of(stepped(30, action_type=action_type))
    for takes_bound in (False, True):
        batch = opened(threads=threads, action_type=action_type)
        actions = batch.bound_actions if takes_bound else np.empty_like(batch.bound_actions)
        for step in range(30):
            actions[...] = draw(batch, step)
            batch.step_async(actions)
            actions[...] = -7
            batch.wait()
        assert bytes_of(batch) == wanted


@pytest.mark.parametrize("threads", (1, 2, 4))
def test_a_step_in_flight_is_taken_while_its_caller_does_something_else(threads):
    batch = opened(threads=threads, **ENDLESS)
    for step in range(5):
        batch.step_async(draw(batch, step))
        end = time.monotonic() + TIMEOUT_S
        while (steps_of(batch) <= step).any() and time.monotonic() < end:
            time.sleep(0.001)
        assert (steps_of(batch) == step + 1).all()  # before any wait
        batch.wait()
    assert bytes_of(batch) == bytes_of(stepped(5, **ENDLESS))


@pytest.mark.skipif(not PROCESS.exists(), reason="only Linux reports the number of threads of a process")
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


CALLS_OF_A_BATCH = {
    "metrics": lambda batch: batch.metrics(),
    "vehicles": lambda batch: batch.vehicles(0),
    "trial_state": lambda batch: batch.trial_state(0),
    "step_events": lambda batch: batch.step_events(0),
    "phase_times": lambda batch: batch.phase_times(False),
    "expert_actions": lambda batch: batch.expert_actions(),
    "pickle": pickle.dumps,
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
}


@pytest.mark.parametrize("name", {**CALLS, **CALLS_OF_A_BATCH})
def test_a_call_beside_a_step_in_flight_is_an_error_and_changes_nothing(name):
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
    assert bytes_of(batch) == bytes_of(stepped(30))


def test_a_wait_without_a_step_in_flight_is_an_error():
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
    before, actions = bytes_of(batch), draw(batch, 0)
    actions[second.agent_slice.start + 8] = bad
    with pytest.raises(ActionError, match=f"agent {second.agent_slice.start + 8} "):
        batch.step_async(actions)
    with pytest.raises(ActionError, match=r"agent 8 \(world 1\)"):  # the index within the part
        second.step_async(actions[second.agent_slice])
    for wrong in (actions, actions[:3], None, "nonsense", actions.astype(float), [[1], [2, 3]]):
        with pytest.raises(ActionError):
            second.step_async(wrong)
    assert bytes_of(batch) == before
    with pytest.raises(CallError, match="before step_async"):
        second.wait()
    first.step(actions[first.agent_slice])
    second.step(draw(batch, 0)[second.agent_slice])
    assert bytes_of(batch) == bytes_of(stepped(1))


def test_a_step_before_reset_and_after_close_is_an_error():
    batch = make(parts=2)
    for part in (batch, *batch.parts):
        for call in (part.step, part.step_async):
            with pytest.raises(CallError, match="before reset"):
                call(part.actions)
    batch.close()
    for part in (batch, *batch.parts):
        for call in CALLS.values():
            with pytest.raises(CallError, match="closed"):
                call(part)
        with pytest.raises(CallError, match="closed"):
            part.wait()
