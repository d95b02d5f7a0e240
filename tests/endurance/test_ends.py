"""Does a process that still has batches exit cleanly? With any threads, references and handlers left.

Each case is a separate program; it must print its last line and nothing else, and exit with the expected status.
"""

import signal
import subprocess
import sys
import textwrap

import pytest

PRELUDE = """
    import atexit, gc, os, signal, sys, threading, time
    import numpy as np
    import drive_env
    from drive_env import Batch, CallError, DriveConfig, generate_scene

    SCENE = generate_scene("town", seed=0, agents=32)

    def made(num_worlds=16, threads=4, **choices):
        batch = Batch([SCENE], num_worlds=num_worlds, threads=threads, config=DriveConfig(**choices))
        batch.reset()
        for _ in range(3):
            batch.step(batch.actions)
        return batch

    def step_for_ever(batch):
        while True:
            batch.step(batch.actions)
"""

CASES = {
    "with a batch that was never closed": ("batch = made()", 0),
    "by sys.exit with live workers": ("batch = made(); print('done', flush=True); sys.exit(7)", 7),
    "by os._exit with live workers": ("batch = made(); print('done', flush=True); os._exit(8)", 8),
    "by an uncaught error": ("""
        batch = made()
        sys.stderr = open(os.devnull, "w")
        print("done", flush=True)
        raise ValueError("not caught")
     """, 1),
    "while a daemon thread steps": ("""
        batch = made(num_worlds=64)
        threading.Thread(target=step_for_ever, args=(batch,), daemon=True).start()
        time.sleep(0.05)
    """, 0),
    "while two daemon threads step and copy": ("""
        import pickle
        batch = made(num_worlds=64)
        def again(call):
            while True:
                try:
                    call()
                except CallError:
                    pass
        for call in (lambda: batch.step(batch.actions), lambda: pickle.dumps(batch)):
            threading.Thread(target=again, args=(call,), daemon=True).start()
        time.sleep(0.05)
    """, 0),
    "with steps in flight without a wait": ("""
        whole, parted = made(num_worlds=64), Batch([SCENE], num_worlds=64, threads=4, parts=3)
        parted.reset()
        for part in (whole, *parted.parts):
            part.step_async(part.actions)
    """, 0),
    "while a daemon thread keeps steps in flight": ("""
        batch = Batch([SCENE], num_worlds=64, threads=2, parts=2)
        batch.reset()
        def fly(part):
            while True:
                part.step_async(part.actions)
                part.wait()
        for part in batch.parts:
            threading.Thread(target=fly, args=(part,), daemon=True).start()
        time.sleep(0.05)
    """, 0),
    "after batches in flight were dropped in cycles and closed by their holders": ("""
        class Holder:
            def __init__(self):
                self.batch, self.itself = made(num_worlds=64), self
                self.batch.holder = self
                self.batch.step_async(self.batch.actions)
            def __del__(self):
                self.batch.close()
        for _ in range(30):
            Holder()
            gc.collect()
    """, 0),
    "with batches in cycles that were never collected": ("""
        gc.disable()
        class Holder:
            pass
        for _ in range(20):
            holder = Holder()
            holder.batch, holder.itself = made(num_worlds=2), holder
            holder.batch.holder = holder
    """, 0),
    "with an env open in a module and closed by a handler": ("""
        env = drive_env.parallel_env(SCENE)
        env.reset()
        module = type(sys)("kept")
        module.env = env
        sys.modules["kept"] = module
        atexit.register(env.close)
    """, 0),
    "with a batch closed only by its holder's finaliser": ("""
        class Holder:
            def __init__(self):
                self.batch = made()
            def __del__(self):
                self.batch.close()
                self.batch.close()
        sys.modules["kept"] = holder = Holder()
    """, 0),
    "by a signal that kills": ("""
        batch = made(num_worlds=64)
        threading.Thread(target=step_for_ever, args=(batch,), daemon=True).start()
        print("done", flush=True)
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(60)
    """, -signal.SIGTERM),
    "in a forked child with the parent's batch": ("""
        batch = made()
        for _ in range(10):
            child = os.fork()
            if child == 0:
                batch.step(batch.actions)
                sys.exit(5)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 5
        batch.step(batch.actions)
    """, 0),
    "in a forked child that had a stepping thread beside it": ("""
        batch = made(num_worlds=256)
        threading.Thread(target=step_for_ever, args=(batch,), daemon=True).start()
        refused = 0
        for _ in range(200):
            child = os.fork()
            if child == 0:
                try:
                    batch.step(batch.actions)
                except CallError as error:
                    assert "forked" in str(error), error
                    batch.close()
                    os._exit(9)
                os._exit(0)
            refused += os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
            if refused:
                break
        assert refused, "no child was forked during a call"
    """, 0),
    "after its views outlived the batch": ("""
        views = []
        for _ in range(20):
            batch = made(num_worlds=4)
            views.append((batch.observations, batch.rewards, batch.vehicles(0)))
            del batch
        gc.collect()
        assert all(np.isfinite(part).all() for view in views for part in view[:2])
    """, 0),
    "after parts were dropped in every order": ("""
        import itertools
        for order in itertools.permutations(range(4)):
            batch = made(num_worlds=2)
            parts = [batch._core.state, batch._core.arrays, batch._core.block, batch]
            handles = batch._core.scene_handles
            del batch
            for place in order:
                parts[place] = None
                gc.collect()
            del handles
    """, 0),
}


@pytest.mark.skipif(sys.platform == "win32", reason="signals and forks are those of POSIX")
@pytest.mark.parametrize("case", CASES)
def test_a_process_ends(case):
    body, wanted = CASES[case]
    program = textwrap.dedent(PRELUDE) + textwrap.dedent(body)
    if "done" not in body:
        program += "\nprint('done', flush=True)\n"
    done = subprocess.run([sys.executable, "-W", "ignore::DeprecationWarning", "-c", program], check=False,
                          capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr[-3000:]) == (wanted, "done\n", "")
