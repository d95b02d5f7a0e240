"""Does a rollout have the same bytes on any number of threads, among other worlds, in copies, in flight, in parts?"""

from __future__ import annotations

import atexit
import functools
import multiprocessing
import pickle
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import golden
import numpy as np
from golden import SEED, STEPS, Hashes, Snapshot
from ways import CROWD, Unavailable, alone, copied, crowd_alone, opened, way

HALF = STEPS // 2

# ---- threads and other worlds ----


def _by_threads(count, rollout):
    found = golden.hashes_of(opened(rollout, CROWD, threads=count))
    if found != crowd_alone(rollout):
        return found
    # The report is of all 16 worlds, so it is not compared with that of the rollout's own worlds.
    return Hashes({world: found.worlds[world] for world in golden.WORLD_IDS}, alone(rollout).report)


for _count in (1, 2, 3, 4, 5, 7, 8, 11, 16):
    way(f"16 worlds on {_count} threads")(functools.partial(_by_threads, _count))


@way("more threads than worlds")
def _(rollout):
    return golden.hashes_of(opened(rollout, threads=64))


def _among_worlds(world_ids, rollout):
    found = golden.hashes_of(opened(rollout, world_ids, threads=2))
    # A report sums its agents in the order of the worlds: another order may change the last digit.
    return Hashes({world: parts for world, parts in found.worlds.items() if world in golden.WORLD_IDS},
                  alone(rollout).report)


for _ids in ((3, 2, 1, 0), (2,), (0, 3), (1, 900, 0, 7, 3, 2, 55)):
    way(f"worlds {', '.join(map(str, _ids))} in this order")(functools.partial(_among_worlds, _ids))


@way("worlds that were reset to other seeds in between")
def _(rollout):
    batch = opened(rollout, seed=1)
    batch.reset(seed=[SEED, 5, SEED, 6])
    found = golden.hashes_of(batch)
    return Hashes({world: found.worlds[world] for world in (0, 2)}, "")


@way("a batch used before, reset to the seed", ("outputs", "state"))
def _(rollout):
    batch = opened(rollout, threads=2, seed=99)
    golden.hashes_of(batch, steps=37)
    batch.reset(seed=SEED)
    return golden.hashes_of(batch)


# ---- copies and processes ----


def first_half(batch) -> list[Snapshot]:
    return copied(golden.snapshots_of(batch, HALF))


def second_half(batch) -> tuple[list[Snapshot], np.ndarray]:
    """Snapshots of the steps after `HALF`, and the report."""
    snapshots = []
    for step in range(HALF + 1, STEPS + 1):
        batch.step(golden.draw(batch, step))
        snapshots += copied([golden.snapshot_of(batch, step % golden.RESTARTS_EVERY == 0)])
    return snapshots, golden.report_of(batch)


def joined(before, after) -> Hashes:
    snapshots, report = after
    return golden.hash_snapshots([*before, *snapshots], golden.WORLD_IDS, lambda: report)


@way("a pickled copy, made in the middle of an episode")
def _(rollout):
    batch = opened(rollout, threads=2)
    before = first_half(batch)
    copy = pickle.loads(pickle.dumps(batch))
    found, original = joined(before, second_half(copy)), joined(before, second_half(batch))
    return found if found != original else original


def _half_in_child(batch, pipe):
    pipe.send(second_half(batch))
    pipe.close()


@way("a forked child, and its parent afterwards")
def _(rollout):
    if "fork" not in multiprocessing.get_all_start_methods():
        raise Unavailable("this platform has no fork")
    batch = opened(rollout, threads=2)
    before = first_half(batch)
    receiver, sender = multiprocessing.get_context("fork").Pipe(duplex=False)
    child = multiprocessing.get_context("fork").Process(target=_half_in_child, args=(batch, sender))
    with warnings.catch_warnings():
        # Newer interpreters warn at every fork beside threads; this test shows that the core's are harmless.
        warnings.simplefilter("ignore", DeprecationWarning)
        child.start()
    sender.close()
    of_child = joined(before, receiver.recv())
    child.join()
    of_parent = joined(before, second_half(batch))
    return of_child if of_child != of_parent else of_parent


@way("a spawned process that got the batch in the middle")
def _(rollout):
    batch = opened(rollout, threads=2)
    before = first_half(batch)
    return joined(before, _spawned().apply(second_half, (batch,)))


@functools.cache
def _spawned():
    pool = multiprocessing.get_context("spawn").Pool(1)
    atexit.register(pool.terminate)
    return pool


@way("another thread from the middle on")
def _(rollout):
    batch = opened(rollout, threads=2)
    before = first_half(batch)
    with ThreadPoolExecutor(1) as pool:
        return joined(before, pool.submit(second_half, batch).result())


def _in_turns(batch, barrier):
    def snapshots():
        for snapshot in golden.snapshots_of(batch):
            barrier.wait(60)
            yield snapshot
    return golden.hash_snapshots(snapshots(), batch.world_ids, lambda: golden.report_of(batch))


@way("two batches in two threads, stepped in turns")
def _(rollout):
    other = next(name for name in golden.ROLLOUTS if name != rollout)
    barrier = threading.Barrier(2)
    with ThreadPoolExecutor(2) as pool:
        both = [pool.submit(_in_turns, opened(name, threads=2), barrier) for name in (rollout, other)]
        assert both[1].result() == alone(other), f"{other} beside {rollout}"
        return both[0].result()


class Stepped:
    """A batch whose steps are made in another way."""

    def __init__(self, batch, step):
        self._batch, self._step = batch, step

    def __getattr__(self, name):
        return getattr(self._batch, name)

    def step(self, actions):
        self._step(self._batch, actions)


def _in_flight(batch, actions):
    """The caller overwrites its actions while the step is in flight."""
    batch.bound_actions[...] = actions
    batch.step_async(batch.bound_actions)
    batch.bound_actions[...] = 99
    batch.wait()


def _parts_in_flight(batch, actions):
    """All in flight at once, waited for in reverse order."""
    for part in batch.parts:
        part.step_async(actions[part.agent_slice])
    for part in reversed(batch.parts):
        part.wait()


def _parts_by_halves(batch, actions):
    """One part in flight while another is stepped by its caller."""
    first, *others = batch.parts
    first.step_async(actions[first.agent_slice])
    for part in others:
        part.step(actions[part.agent_slice])
    first.wait()


def _parts_in_threads(batch, actions):
    with ThreadPoolExecutor(len(batch.parts)) as pool:
        list(pool.map(lambda part: part.step(actions[part.agent_slice]), batch.parts))


def _stepped(step, threads, parts, rollout):
    return golden.hashes_of(Stepped(opened(rollout, threads=threads, parts=parts), step))


for _count in (1, 2, 4):
    way(f"every step in flight, {_count} threads")(functools.partial(_stepped, _in_flight, _count, 1))
for _count, _parts in ((1, 2), (2, 3), (3, 4)):
    way(f"{_parts} parts, all in flight at once, {_count} threads")(
        functools.partial(_stepped, _parts_in_flight, _count, _parts))
    way(f"{_parts} parts, one in flight beside the others, {_count} threads")(
        functools.partial(_stepped, _parts_by_halves, _count, _parts))
way("3 parts in 3 threads of their callers")(functools.partial(_stepped, _parts_in_threads, 2, 3))


@way("two batches in one thread, stepped in turns")
def _(rollout):
    batch, beside = opened(rollout), opened(rollout, seed=3)

    def snapshots():
        for snapshot, _ in zip(golden.snapshots_of(batch), golden.snapshots_of(beside), strict=True):
            yield snapshot

    return golden.hash_snapshots(snapshots(), batch.world_ids, lambda: golden.report_of(batch))
