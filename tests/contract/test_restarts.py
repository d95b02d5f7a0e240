"""When is a world restarted, at which age, and what do its agents observe then?"""

import numpy as np
import pytest
import rollouts
from contract_batches import assert_same_arrays, make_batch, same_bits, step, two_trials_of_everything
from integer_scenes import coasting_stage

from drive_env.errors import CallError, DriveError

# -- restart="caller"


def test_caller_restart_leaves_the_last_restart_to_the_caller_and_inner_ones_to_steps():
    stages = [coasting_stage([{"goal_step": 2}, {"wall_step": 1}]), coasting_stage([{"goal_step": 5}, {}])]
    batch = make_batch(stages, 2, max_trials=2, trial_steps=6, restart="caller", scene_order="cycle")
    batch.reset()
    step(batch, 2)
    assert batch.trial_ended[:2].all() and not batch.trial_ended[2:].any()
    step(batch)
    assert batch.invalid_step[:2].all() and (batch.trial_index[:2] == 1).all()
    step(batch, 2)
    assert batch.trial_ended[:2].all() and batch.terminations[0]
    before = rollouts.snapshot(batch)
    for _ in range(2):
        with pytest.raises(CallError, match=r"world 0\b"):
            step(batch)
        for name in rollouts.ARRAYS:
            assert same_bits(getattr(batch, name), before[name]), name
    with pytest.raises(CallError, match=r"world 0\b"):
        batch.reset(worlds=np.array([False, True]))
        step(batch)
    batch.reset(worlds=np.array([True, False]))
    assert batch.first[:2].all() and not batch.invalid_step[:2].any() and batch.scene_index[0] == 1
    step(batch)
    assert not batch.invalid_step[:2].any()


# -- initial ages


def test_an_age_shortens_the_first_trial_of_an_episode_only_and_records_nothing():
    batch = make_batch(
        coasting_stage([{}, {"wall_step": 2}]), 3, max_trials=2, trial_steps=5, observation={"time_left": "actor"}
    )
    time_left = batch.observation_layout()["ego/time_left"]
    batch.reset(initial_ages=np.array([0, 2, 4]))
    shown = batch.observations[::2, time_left.offset] / time_left.scale
    assert shown == pytest.approx([1, 0.6, 0.2], abs=1e-6)
    places = [batch.vehicles(w)["x_m"][:2].tolist() for w in range(3)]
    assert places == [[0, 0]] * 3, "an age moves no vehicle"
    ends = [[], [], []]
    for call in range(1, 31):
        step(batch)
        for w in range(3):
            if batch.trial_ended[2 * w]:
                ends[w].append(call)
    # Five driving steps and a restart each, except in the first trial: 5, 3 and 1 driving steps.
    assert ends == [[5, 11, 17, 23, 29], [3, 9, 15, 21, 27], [1, 7, 13, 19, 25]]
    batch = make_batch(coasting_stage([{}, {"wall_step": 1}]), 2, max_trials=2, trial_steps=5)
    batch.reset(initial_ages=np.array([0, 3]))
    step(batch, 5)
    # World 1's shortened trial ended after 2 steps and is not recorded; its next one is, at its end.
    assert batch.metrics()["trials"].value == 2
    step(batch, 3)
    assert batch.metrics()["trials"].value == 4
    assert (batch.metrics()["trial_0_score"].n, batch.metrics()["trial_1_score"].n) == (2, 2)


@pytest.mark.parametrize("bad", [-1, 5, 10**6, 2**40])
def test_an_age_is_below_the_trial_s_steps(bad):
    batch = make_batch(coasting_stage([{}]), 2, trial_steps=5)
    batch.reset()
    step(batch, 2)
    before = rollouts.snapshot(batch)
    with pytest.raises(DriveError, match=str(bad)):
        batch.reset(initial_ages=np.array([0, bad]))
    for name in rollouts.ARRAYS:
        assert same_bits(getattr(batch, name), before[name]), name
    batch.reset(initial_ages=np.array([4, 0]))
    step(batch)
    assert list(batch.trial_ended) == [True, False]


# -- restart_observations


def test_restart_observations_are_zero_for_agents_that_drive_are_absent_or_in_their_last_trial():
    batch = make_batch(coasting_stage([{"wall_step": 1}, {"goal_step": 3}]), max_trials=2, trial_steps=5,
                       agents_per_world=3)
    batch.reset()
    assert not batch.restart_observations().any()
    step(batch)
    expected = batch.restart_observations().copy()
    assert expected[0].any() and not expected[1:].any()
    step(batch, 2)
    expected = batch.restart_observations().copy()
    assert expected[:2].any(axis=1).all() and not expected[2].any()
    step(batch)
    assert same_bits(batch.observations, expected)
    assert not batch.restart_observations().any()
    step(batch, 3)
    assert batch.trial_ended.all()
    assert not batch.restart_observations().any()


def test_restart_observations_change_nothing():
    looked, plain = two_trials_of_everything(), two_trials_of_everything()
    looked.reset()
    plain.reset()
    rng = np.random.default_rng(0)
    for _ in range(40):
        looked.restart_observations()
        actions = rollouts.random_actions(plain, rng)
        looked.step(actions)
        plain.step(actions)
        assert_same_arrays(looked, plain)
