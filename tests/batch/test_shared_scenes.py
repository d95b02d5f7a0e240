"""Do batches of equal scenes, and of those alone, share the core's form of them?"""

import dataclasses
import gc

import numpy as np
import pytest
from scripted_scenes import driver, log_replay, stage

from drive_env import Batch, DriveConfig, generate_scene, parallel_env
from drive_env.native import _scenes_in_use

TOWN = generate_scene("town", seed=3, agents=6)
CONFIG = DriveConfig(trial_steps=15, max_trials=2)


def rollout(batch, steps=40):
    rng, record = np.random.default_rng(0), []
    batch.reset(seed=1)
    for _ in range(steps):
        batch.step(rng.integers(91, size=batch.num_agents))
        record.append((batch.observations.tobytes(), batch.rewards.tobytes(), batch.code.tobytes()))
    return record


def of_core(scene, **choices):
    batch = Batch(scene, config=CONFIG.replace(**choices), threads=1)
    return batch._core.scene_handles[0], batch


def test_envs_of_one_scene_share_it_and_step_as_alone():
    with Batch(TOWN, config=CONFIG, threads=1) as alone:
        expected = rollout(alone)
    batches = [Batch(generate_scene("town", seed=3, agents=6), config=CONFIG, threads=1) for _ in range(3)]
    assert len({id(batch._core.scene_handles[0]) for batch in batches}) == 1
    assert rollout(batches[0]) == expected
    batches[0].close()
    assert rollout(batches[1]) == rollout(batches[2]) == expected


def test_unused_memory_is_released():
    gc.collect()
    before = len(_scenes_in_use)
    env = parallel_env([generate_scene("town", seed=seed, agents=5) for seed in range(3)], CONFIG)
    assert len(_scenes_in_use) == before + 3
    env.close()
    gc.collect()
    assert len(_scenes_in_use) == before


LOG = [(float(frame), 5.0, 0.0, 10.0) for frame in range(30)]
OTHERS = {
    "the same": (lambda scene: scene, {}, True),
    "another name": (lambda scene: dataclasses.replace(scene, name="other"), {}, False),
    "a longer trial": (lambda scene: scene, {"trial_steps": 16}, False),
    "another step": (lambda scene: scene, {"dt_s": 0.05}, False),
    "fewer roads": (lambda scene: scene, {"observation": {"roads": 8}}, True),
    "a shorter view": (lambda scene: scene, {"observation": {"view_radius_m": 30.0}}, True),
    "slower cars": (lambda scene: scene, {"dynamics": {"max_speed_mps": 9.0}}, True),
    "another observation type": (lambda scene: scene, {"observation": {"type": "index"}}, True),
    "other rewards": (lambda scene: scene, {"on_collision": "ignore"}, True),
    "no log": (lambda scene: scene, {"others": "static"}, False),
    "another log": (lambda scene: stage([driver(), log_replay([*LOG[:-1], (40.0, 5.0, 0.0, 10.0)])]), {}, False),
    "another start": (lambda scene: stage([driver(1.0), log_replay(LOG)]), {}, False),
    "another log of a longer time": (lambda scene: stage([driver(), log_replay([*LOG, LOG[-1]])]), {}, False),
}


@pytest.mark.parametrize("other, choices, shared", OTHERS.values(), ids=OTHERS)
def test_only_what_is_the_same_to_the_last_bit_is_shared(other, choices, shared):
    scene = stage([driver(), log_replay(LOG)])
    (first, batch), (second, another) = of_core(scene), of_core(other(scene), **choices)
    assert (first is second) == shared
    batch.close()
    another.close()


def test_every_report_counts_clipped_start_speeds():
    scene = stage([driver(speed_mps=20.0)])
    for _ in range(2):
        batch = Batch(scene, config=CONFIG.replace(dynamics={"max_speed_mps": 9.0}), threads=1)
        assert batch.scene_report().imputed["start speeds brought within min_speed_mps and max_speed_mps"] == 1
        kept = batch  # so that the second finds the scene in use
    kept.close()
