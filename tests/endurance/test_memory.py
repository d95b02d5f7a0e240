"""Does memory grow? Over resets, batches made and dropped, scenes, copies and errors."""

import multiprocessing
import pickle

import memory
import numpy as np
import pytest

import drive_env
from drive_env import ActionError, Batch, DriveConfig, generate_scene

LIMIT_MB = 2.0
"""Ten times the largest growth measured; a leak of one small batch a repeat is more."""

pytestmark = pytest.mark.skipif(not memory.ROLLUP.exists(), reason="only Linux reports the private memory of a process")


def small_batch(num_worlds=4, **choices):
    return Batch([generate_scene("town", seed=seed, agents=16) for seed in range(3)], num_worlds=num_worlds, threads=2,
                 config=DriveConfig(**choices))


def resets():
    batch = small_batch()

    def repeat():
        batch.reset()
        batch.step(batch.actions)

    return repeat, 2000


def batches(close):
    scenes = [generate_scene("town", seed=seed, agents=32) for seed in range(2)]

    def repeat():
        batch = Batch(scenes, num_worlds=8, threads=3)
        batch.reset()
        batch.step(batch.actions)
        if close:
            batch.close()

    return repeat, 200


def batches_closed():
    return batches(close=True)


def batches_dropped():
    return batches(close=False)


def batches_dropped_in_flight():
    scenes = [generate_scene("town", seed=0, agents=32)]

    def repeat():
        batch = Batch(scenes, num_worlds=8, threads=3, parts=2)
        batch.reset()
        for part in batch.parts:
            part.step_async(part.actions)

    return repeat, 200


def scenes_changed():
    """Every second step opens an episode, on another scene."""
    batch = Batch([generate_scene("town", seed=seed, agents=8) for seed in range(40)], num_worlds=4, threads=2,
                  config=DriveConfig(trial_steps=1))
    batch.reset()
    return lambda: batch.step(batch.actions), 4000


def scenes_made():
    seeds = iter(range(10_000))

    def repeat():
        with Batch(generate_scene("town", seed=next(seeds), agents=24), num_worlds=2) as batch:
            batch.reset()

    return repeat, 60


def copies():
    batch = small_batch()
    batch.reset()

    def repeat():
        copy = pickle.loads(pickle.dumps(batch))
        copy.step(copy.actions)

    return repeat, 200


def queries():
    batch = small_batch(max_trials=3, trial_steps=20)
    batch.reset()

    def repeat():
        batch.step(batch.actions)
        batch.metrics(), batch.restart_observations(), batch.vehicles(1), batch.trial_state(2), batch.step_events()
        batch.phase_times(True), batch.observation_layout(), batch.scene_report(1)

    return repeat, 200


def errors():
    batch = small_batch()
    batch.reset()
    bad = np.full(batch.num_agents, 91)

    def repeat():
        with pytest.raises(ActionError):
            batch.step(bad)
        with pytest.raises(drive_env.ConfigError):
            Batch([generate_scene("intersection", agents=2)], num_worlds=0)
        with pytest.raises(drive_env.SceneError):
            generate_scene("town", agents=4000)

    return repeat, 200


def adapters():
    scene = generate_scene("intersection", agents=8)

    def repeat():
        env = drive_env.parallel_env(scene)
        env.reset(seed=1)
        env.step({agent: 45 for agent in env.agents})
        env.close()

    return repeat, 100


def leaking():
    kept = []
    return lambda: kept.append(np.ones(8192)), 200


CASES = (resets, batches_closed, batches_dropped, batches_dropped_in_flight, scenes_changed, scenes_made, copies,
         queries, errors, adapters)


def measure(case, share, pipe):
    repeat, times = case()
    times = max(round(share * times), min(times, 60))
    pipe.send(memory.growth_mb(repeat, times, warm=max(times // 5, 5)))


def in_a_process(function, *arguments):
    """The value it sends from a separate process, so that memory of other tests does not count."""
    context = multiprocessing.get_context("forkserver")
    # Its modules are imported once, and nothing else is in its memory.
    context.set_forkserver_preload(["drive_env", "pytest"])
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=function, args=(*arguments, sender))
    process.start()
    sender.close()
    sent = receiver.recv()
    process.join()
    return sent


def growth_of(case, share=1.0):
    return in_a_process(measure, case, share)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_memory_does_not_grow_over(case, request):
    """Without `--slow` over fewer repeats: a batch leaked in each would still be more than the limit."""
    assert growth_of(case, 1.0 if request.config.getoption("--slow") else 0.4) < LIMIT_MB


def held_by_some(beside, pipe):
    """MB that 40 scenes hold, each made beside so many others that are dropped at once."""
    seeds = iter(range(10_000))
    make = lambda: Batch(generate_scene("town", seed=next(seeds), agents=24),
                         config=DriveConfig(observation={"road_memory_mib": 1}))
    make()
    before, kept = memory.own_mb(), []
    for _ in range(40):
        kept.append(make())
        for other in [make() for _ in range(beside)]:
            other.close()
    pipe.send(memory.own_mb() - before)


def test_a_scene_that_stays_holds_little_of_those_that_went():
    alone, among_others = (in_a_process(held_by_some, beside) for beside in (0, 5))
    assert among_others < 2 * alone + 8


def test_growth_of_memory_would_be_measured():
    assert growth_of(leaking) > 2 * LIMIT_MB
