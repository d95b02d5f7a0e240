"""What does Ctrl-C in the middle of a call leave behind? A whole call, and a batch that continues."""

import pickle
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

from drive_env import Batch, CallError, DriveConfig, generate_scene

SCENE = generate_scene("town", seed=0, agents=16)
ENDLESS = DriveConfig(trial_steps=100_000, on_goal="ignore", on_collision="ignore", on_offroad="ignore")

pytestmark = [
    pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="signals are those of POSIX"),
    # An interrupt in the callback of a weak reference: Python reports it and continues.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def make(threads):
    return Batch([SCENE], num_worlds=96, threads=threads, config=ENDLESS, seed=4)


class Interrupter:
    """Interrupts calls by a signal every millisecond, as Ctrl-C would; code between calls is not interrupted."""

    def __init__(self):
        self.arrived, self._armed = 0, False

    def __enter__(self):
        self._before = signal.signal(signal.SIGALRM, self._interrupt)
        signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
        return self

    def __exit__(self, *_):
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, self._before)

    def _interrupt(self, *_):
        if self._armed:
            self._armed = False
            raise KeyboardInterrupt

    def call(self, function, *arguments):
        """Makes the call; counts it if it was interrupted."""
        try:
            self._armed = True
            try:
                function(*arguments)
            finally:
                self._armed = False
        except KeyboardInterrupt:
            self.arrived += 1


@pytest.mark.parametrize("threads", (1, 3))
def test_a_step_that_was_interrupted_was_taken_whole_or_not_at_all(threads):
    batch, reference = make(threads), make(1)
    batch.reset()
    actions = np.full(batch.num_agents, 5 * 13 + 7)
    calls = 0
    with Interrupter() as interrupter:
        while interrupter.arrived < 40:
            interrupter.call(batch.step, actions)
            calls += 1
    # An interrupt before the call of the core means no step; one during it, a step of every world.
    taken = set(batch._core.state["clock_steps"][:, 0].tolist())
    assert len(taken) == 1 and calls - interrupter.arrived <= min(taken) <= calls and min(taken) > 0
    reference.reset()
    for _ in range(min(taken) + 1):
        reference.step(actions)
    batch.step(actions)
    for name in ("observations", "rewards", "code"):
        assert getattr(batch, name).tobytes() == getattr(reference, name).tobytes()


def test_a_step_whose_begin_or_wait_was_interrupted_is_in_flight_or_taken_whole():
    batch, reference = make(2), make(1)
    batch.reset()
    actions = np.full(batch.num_agents, 5 * 13 + 7)
    with Interrupter() as interrupter:
        while interrupter.arrived < 40:
            interrupter.call(batch.step_async, actions)
            try:  # either may have been interrupted before the core was called
                interrupter.call(batch.wait)
                batch.wait()
            except CallError as error:
                assert "before step_async" in str(error)
    taken = set(batch._core.state["clock_steps"][:, 0].tolist())
    assert len(taken) == 1 and min(taken) > 0
    reference.reset()
    for _ in range(min(taken)):
        reference.step(actions)
    for name in ("observations", "rewards", "code"):
        assert getattr(batch, name).tobytes() == getattr(reference, name).tobytes()


CALLS = {
    "reset": lambda batch: batch.reset(),
    "step": lambda batch: batch.step(batch.bound_actions),
    "metrics": lambda batch: batch.metrics(),
    "restart_observations": lambda batch: batch.restart_observations(),
    "vehicles": lambda batch: batch.vehicles(3),
    "a copy": lambda batch: pickle.dumps(batch),
    "another batch": lambda batch: make(2),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_call_that_was_interrupted_leaves_a_batch_that_goes_on(name):
    batch, reference = make(2), make(2)
    batch.reset()
    end = time.monotonic() + 60
    with Interrupter() as interrupter:
        while interrupter.arrived < 10 and time.monotonic() < end:
            interrupter.call(CALLS[name], batch)
    assert interrupter.arrived > 0
    for one in (batch, reference):
        one.reset(seed=8)
        for _ in range(5):
            one.step(np.full(one.num_agents, 45))
    assert batch.observations.tobytes() == reference.observations.tobytes()


def test_a_close_that_was_interrupted_can_be_called_again():
    end = time.monotonic() + 60
    with Interrupter() as interrupter:
        while interrupter.arrived < 5 and time.monotonic() < end:
            batch = make(3)
            batch.reset()
            interrupter.call(batch.close)
            batch.close()
            with pytest.raises(CallError, match="closed"):
                batch.step(batch.actions)
    assert interrupter.arrived > 0


def test_an_interrupt_ends_a_program_that_steps():
    program = textwrap.dedent("""
        import signal
        from drive_env import Batch, generate_scene
        signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs of a shell ignore it
        batch = Batch([generate_scene("town", agents=32)], num_worlds=64, threads=2)
        batch.reset()
        print("steps", flush=True)
        while True:
            batch.step(batch.actions)
    """)
    process = subprocess.Popen([sys.executable, "-c", program], text=True, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
    assert process.stdout.readline() == "steps\n"
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert errors.rstrip().endswith("KeyboardInterrupt") and process.returncode in (-signal.SIGINT, 130)


def test_a_signal_reaches_a_caller_that_waits_beside_sleeping_workers():
    batch = make(3)
    batch.reset()
    batch.step(batch.actions)  # starts the workers, which then sleep
    with Interrupter() as interrupter:
        for _ in range(5):
            began = time.monotonic()
            interrupter.call(time.sleep, 30)
            assert time.monotonic() - began < 20
    assert interrupter.arrived == 5
