"""How long do a batch, its parts and their steps in flight live? Copies, close, garbage collection, fork."""

import copy
import gc
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import warnings
import weakref

import numpy as np
import pytest
from part_batches import ENDLESS, TIMEOUT_S, bytes_of, draw, opened, stepped, steps_of

from drive_env import Batch, CallError


def test_a_copy_has_parts_of_its_own():
    batch = stepped(4, parts=3)
    other = pickle.loads(pickle.dumps(batch))
    assert [part.world_slice for part in other.parts] == [part.world_slice for part in batch.parts]
    for part in other.parts:
        part.step(draw(batch, 4)[part.agent_slice])
    assert bytes_of(other) == bytes_of(stepped(5)) and bytes_of(batch) == bytes_of(stepped(4))


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
        assert (steps_of(batch) == 1).all()  # both steps were made in every world
        for part in (batch, *batch.parts):
            with pytest.raises(CallError, match="closed"):
                part.wait()


@pytest.fixture
def few_objects():
    """Freezes the objects of earlier tests, so that the collector skips them and is fast."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("few_objects")
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
        if in_a_cycle:
            gc.collect()
        assert left() is None and (steps == 1).all()


FINALIZERS = '''
import gc
from drive_env import Batch, CallError, generate_scene

gc.disable()  # a collection in between may change which object is the older one

class Env:  # as Gymnasium's VectorEnv, whose finalizer closes it
    def __init__(self, batch):
        self.batch, self.itself = batch, self

    def __del__(self):
        try:
            self.batch.step(self.batch.actions)
        except CallError as error:
            print(error)
        self.batch.close()

env = Env(Batch(generate_scene("intersection", agents=1), threads=1))
env.batch.reset()
del env
gc.collect()
'''


def test_an_env_that_is_finalized_after_its_batch_finds_it_closed():
    """Python runs the finalizers of a cycle from the oldest object to the newest. Freed memory is overwritten."""
    done = subprocess.run([sys.executable, "-c", FINALIZERS], env={**os.environ, "MALLOC_PERTURB_": "165"},
                          capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "this batch is closed; make a new one\n", "")


def test_parts_go_on_when_the_last_reference_to_the_batch_is_gone():
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
    wanted = stepped(20)
    for part in (first, second):
        assert np.array_equal(part.observations, wanted.observations[part.agent_slice])
    first.step_async(first.actions)
    steps = first.observations
    del first, second, part
    gc.collect()
    assert np.isfinite(steps).all()


def look_in_child(batch, part, pipe):
    message = []
    for call in (part.wait, lambda: part.step(part.actions), batch.reset, batch.metrics, lambda: pickle.dumps(batch)):
        try:
            call()
            message.append("nothing")
        except CallError as error:
            message.append(str(error))
    batch.close()
    pipe.send(message)
    pipe.close()


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork on this platform")
@pytest.mark.parametrize("whole", (False, True))
def test_calls_in_a_child_forked_with_a_step_in_flight_are_errors_and_the_parent_goes_on(whole):
    batch = opened(parts=2, num_worlds=7)
    part = batch if whole else batch.parts[1]
    context = multiprocessing.get_context("fork")
    part.step_async(draw(batch, 0)[part.agent_slice])
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=look_in_child, args=(batch, part, sender))
    with warnings.catch_warnings():
        # Newer interpreters warn at every fork beside threads; this test shows that the core's are harmless.
        warnings.simplefilter("ignore", DeprecationWarning)
        child.start()
    assert receiver.poll(TIMEOUT_S), "the child hangs"
    message = receiver.recv()
    child.join(TIMEOUT_S)
    assert child.exitcode == 0 and all("forked" in sentence for sentence in message), message
    part.wait()
    if not whole:
        batch.parts[0].step(draw(batch, 0)[batch.parts[0].agent_slice])
    batch.step(draw(batch, 1))
    assert bytes_of(batch) == bytes_of(stepped(2))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
def test_a_child_forked_between_steps_steps_parts_whose_batch_is_gone():
    part = opened(parts=2).parts[1]
    part.step_async(part.actions)
    part.wait()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        signal.alarm(TIMEOUT_S)
        part.step_async(part.actions)
        part.wait()
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_a_copy_keeps_the_seeds_of_its_parts():
    batch = Batch("town", num_worlds=4, parts=2, seed=3)
    batch.reset()
    batch.parts[1].reset(seed=9)
    assert [part.seed for part in pickle.loads(pickle.dumps(batch)).parts] == [3, 9]
    batch.reset(seed=11)
    assert [batch.seed, *(part.seed for part in batch.parts)] == [11, 11, 11]
