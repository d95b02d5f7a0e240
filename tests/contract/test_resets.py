"""What does `reset` do to episodes, seeds, scenes and the arrays of the worlds that it leaves out?"""

import numpy as np
import pytest
import rollouts
from contract_batches import assert_same_arrays, make_batch, same_bits, step, two_trials_of_everything
from integer_scenes import Car, Stage, coasting_stage

from drive_env.errors import SceneError


def test_reset_with_a_seed_opens_episode_0_of_that_seed():
    rng = np.random.default_rng(0)
    used, fresh = two_trials_of_everything(seed=3), two_trials_of_everything(seed=8)
    used.reset()
    for _ in range(31):
        used.step(rollouts.random_actions(used, rng))
    used.reset(seed=8)
    fresh.reset()
    for _ in range(60):
        assert_same_arrays(used, fresh)
        assert same_bits(used.scene_index, fresh.scene_index)
        actions = rollouts.random_actions(used, rng)
        used.step(actions)
        fresh.step(actions)


def test_reset_opens_the_next_episode_and_seeds_separate_streams():
    def scenes(seed, resets=24):
        batch = two_trials_of_everything(seed=seed)
        out = []
        for _ in range(resets):
            batch.reset()
            out.append(tuple(batch.scene_index))
        return out

    assert scenes(0) == scenes(0)
    assert len({tuple(scenes(seed)) for seed in range(4)}) == 4
    assert len(set(scenes(0))) > 2
    per_world = list(zip(*scenes(0)))
    assert len(set(per_world)) == 3, "every world draws from a stream of its own"
    again = two_trials_of_everything(seed=0)
    again.reset()
    again.reset()
    again.reset(seed=0)
    assert tuple(again.scene_index) == scenes(0)[0]
    again.reset()
    assert tuple(again.scene_index) == scenes(0)[1]


def test_cycle_plays_scene_i_plus_e_in_episode_e_of_world_i():
    stages = [coasting_stage([{"goal_step": 1 + k}]) for k in range(5)]
    ids = [0, 3, 4, 11]
    batch = make_batch(stages, 4, scene_order="cycle", world_ids=ids, trial_steps=2)
    batch.reset()
    episode = np.zeros(4, int)
    for call in range(40):
        assert list(batch.scene_index) == [(i + e) % 5 for i, e in zip(ids, episode)]
        if call % 7 == 6:
            batch.reset(worlds=np.array([True, False, False, True]))
            episode += [1, 0, 0, 1]
            continue
        step(batch)
        episode += batch.first[:4]


def test_a_masked_reset_leaves_the_other_worlds_arrays_as_they_were():
    rng = np.random.default_rng(1)
    batch, alone = two_trials_of_everything(), two_trials_of_everything()
    batch.reset()
    alone.reset()
    for call in range(50):
        actions = rollouts.random_actions(batch, rng)
        batch.step(actions)
        alone.step(actions)
        assert_same_arrays(batch, alone, slice(4, 8), slice(4, 8))
        if call % 3 == 0:
            before = rollouts.snapshot(batch)
            before_1 = batch.restart_observations()[4:8].copy()
            batch.reset(worlds=np.array([True, False, bool(call % 2)]))
            kept = slice(4, 8) if call % 2 else slice(4, 12)
            for name in rollouts.ARRAYS:
                assert same_bits(getattr(batch, name)[kept], before[name][kept]), name
            assert same_bits(batch.restart_observations()[4:8], before_1)
            assert batch.first[:4].all() and not batch.invalid_step[:4].any()
    before = rollouts.snapshot(batch)
    batch.reset(worlds=np.zeros(3, bool))
    for name in rollouts.ARRAYS:
        assert same_bits(getattr(batch, name), before[name]), name


def test_a_scene_in_which_no_agent_could_drive_is_named_at_construction():
    good = coasting_stage([{"goal_step": 2}])
    empty = Stage(agents=(), static_vehicles=(Car(0), Car(1)), name="no-vehicle-drives-here")
    with pytest.raises(SceneError, match="no-vehicle-drives-here"):
        make_batch([good, empty], trial_steps=5)
