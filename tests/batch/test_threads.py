"""Can several threads and processes use batches? Each call completes or is refused; no state is torn."""

import gc
import multiprocessing
import pickle
import subprocess
import sys
import textwrap
import warnings
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from scripted_scenes import IGNORE_ALL
from small_batch import make, rollout

from drive_env import CallError

PROCESS = Path("/proc/self/status")


def test_two_batches_in_two_threads_step_as_each_does_alone():
    alone = [rollout(make(num_worlds=8, threads=2), 200, seed) for seed in (1, 2)]
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(rollout, (make(num_worlds=8, threads=2) for _ in alone), (200, 200), (1, 2))) == alone


def test_one_batch_in_two_threads_steps_or_raises_and_never_tears():
    batch = make(num_worlds=16, threads=2, trial_steps=10_000, **IGNORE_ALL)
    batch.reset()
    actions = np.full(batch.num_agents, 45)

    def step_often():
        done = 0
        for _ in range(400):
            try:
                batch.step(actions)
                done += 1
            except CallError as error:
                assert "another thread" in str(error)
        return done

    with ThreadPoolExecutor(3) as pool:
        done = sum(future.result() for future in [pool.submit(step_often) for _ in range(3)])
    assert done > 0 and (batch._core.state["clock_steps"] == done).all()
    # Every agent had the same actions, so one thread alone leads to the same state.
    reference = make(num_worlds=16, threads=2, trial_steps=10_000, **IGNORE_ALL)
    reference.reset()
    for _ in range(done):
        reference.step(actions)
    assert np.array_equal(reference.observations, batch.observations)


CRASHES = {
    "closing_while_another_thread_steps": """
        for _ in range(60):
            batch = Batch([SCENE], num_worlds=64, threads=2)
            batch.reset()
            actions = np.full(batch.num_agents, 45)
            def run():
                try:
                    for _ in range(50):
                        batch.step(actions)
                except CallError:
                    pass
            thread = threading.Thread(target=run)
            thread.start()
            time.sleep(0.004)
            try:
                batch.close()
            except CallError:
                pass
            thread.join()
    """,
    "reading_while_another_thread_steps_and_closes": """
        for _ in range(15):
            batch = Batch([SCENE], num_worlds=256, threads=2, config=DriveConfig(max_trials=20))
            batch.reset()
            actions = np.full(batch.num_agents, 45)
            def repeat(call):
                while True:
                    try:
                        call()
                    except CallError as error:
                        if "closed" in str(error):
                            return
            calls = (batch.metrics, batch.vehicles, batch.restart_observations,
                     lambda: batch.phase_times(True), lambda: batch.step(actions))
            threads = [threading.Thread(target=repeat, args=(call,)) for call in calls]
            for thread in threads:
                thread.start()
            time.sleep(0.01)
            batch.close()
            for thread in threads:
                thread.join()
    """,
    "bad_actions_while_another_thread_steps": """
        batch = Batch([SCENE], num_worlds=64, threads=1,
                      config=DriveConfig(action_type="continuous", **IGNORE_ALL))
        batch.reset()
        good = np.zeros((batch.num_agents, 2), np.float32)
        bad = np.full((batch.num_agents, 2), np.nan, np.float32)
        def run(actions):
            for _ in range(1000):
                try:
                    batch.step(actions)
                except (CallError, ActionError):
                    pass
        threads = [threading.Thread(target=run, args=(actions,)) for actions in (good, bad)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert np.isfinite(batch.observations).all() and np.isfinite(batch.vehicles()["x_m"]).all()
    """,
}


@pytest.mark.parametrize("case", CRASHES)
def test_no_order_of_calls_in_two_threads_ends_the_process(case):
    program = """
        import threading, time
        import numpy as np
        from drive_env import *
        SCENE = generate_scene("town", seed=0, agents=32)
        IGNORE_ALL = {"on_goal": "ignore", "on_collision": "ignore", "on_offroad": "ignore"}
    """
    program = textwrap.dedent(program) + textwrap.dedent(CRASHES[case])
    done = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, text=True,
                          timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]


def rollout_and_send(batch, steps, pipe):
    found = rollout(batch, steps)
    batch.close()
    pipe.send(found)
    pipe.close()


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork on this platform")
def test_a_forked_child_and_its_parent_both_go_on():
    batch, reference = make(num_worlds=6, threads=3), make(num_worlds=6, threads=3)
    rollout(batch, 10), rollout(reference, 10)
    alone = rollout(reference, 30)
    context = multiprocessing.get_context("fork")
    for _ in range(3):
        receiver, sender = context.Pipe(duplex=False)
        child = context.Process(target=rollout_and_send, args=(batch, 30, sender))
        with warnings.catch_warnings():
            # Newer interpreters warn at every fork beside threads; this test shows that the core's are harmless.
            warnings.simplefilter("ignore", DeprecationWarning)
            child.start()
        assert receiver.poll(30), "the child hangs"
        assert receiver.recv() == alone
        child.join(60)
        assert child.exitcode == 0
    assert rollout(batch, 30) == alone


def test_a_spawned_worker_gets_a_batch_by_pickle():
    batch, reference = make(threads=2), make(threads=2)
    rollout(batch, 10), rollout(reference, 10)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(rollout, (batch, 30)) == rollout(reference, 30)


@pytest.mark.skipif(not PROCESS.exists(), reason="only Linux reports the number of threads of a process")
def test_a_batch_that_is_dropped_gives_its_memory_and_threads_back():
    def threads():
        lines = PROCESS.read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("Threads:"))

    gc.collect()
    before = threads()
    for _ in range(10):
        batch = make(num_worlds=8, threads=4)
        rollout(batch, 2)
        assert threads() == before + 3
        left = weakref.ref(batch)
        del batch
        assert left() is None and threads() == before


def test_a_copy_made_while_another_thread_steps_is_of_one_moment():
    batch = make(num_worlds=16, trial_steps=10_000, **IGNORE_ALL)
    batch.reset()
    going = True

    def step_on():
        while going:
            try:
                batch.step(batch.actions)
            except CallError as error:
                assert "another thread" in str(error)

    batch.actions[:] = 45
    with ThreadPoolExecutor(1) as pool:
        stepping = pool.submit(step_on)
        copies = 0
        while copies < 15:
            try:
                restored = pickle.loads(pickle.dumps(batch))
            except CallError:
                continue
            assert len(set(restored._core.state["clock_steps"][:, 0].tolist())) == 1
            copies += 1
        going = False
        stepping.result()
