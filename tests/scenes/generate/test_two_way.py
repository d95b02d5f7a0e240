"""Does a car that wants to pass meet the slow and the oncoming vehicles that a two-way road promises?"""

from __future__ import annotations

import numpy as np
import pytest
from generated_scenes import positions
from played_scenes import agents_of, goal_share, played, towards

from drive_env import Batch, DriveConfig, generate_scene
from drive_env.errors import SceneError

SEEDS = range(24)
LIMIT_MPS = 25.0


def groups(scene):
    """Indices of the agents, the slow vehicles and the oncoming ones."""
    others = scene.objects.marked_expert
    east = scene.objects.vx_mps.max(axis=0) > 0
    return np.flatnonzero(~others), np.flatnonzero(others & east), np.flatnonzero(others & ~east)


def test_slow_and_oncoming_vehicles_keep_their_speed_and_their_lanes():
    for seed in SEEDS:
        scene = generate_scene("two_way", seed=seed, slow=3)
        objects, (_, slow, oncoming) = scene.objects, groups(scene)
        assert len(slow) == 3 and objects.valid[:, slow].all()
        for cars, y_m, shares in ((slow, -1.75, (0.4, 0.45)), (oncoming, 1.75, (0.8, 1.0))):
            for car in cars:
                valid = objects.valid[:, car]
                x_m = objects.x_m[valid, car].astype(float)
                assert (objects.y_m[valid, car] == y_m).all()
                assert np.flatnonzero(np.diff(valid.astype(int))).size <= 2  # it enters once and leaves once
                speed_mps = abs(float(objects.vx_mps[valid, car][0]))
                assert shares[0] - 1e-3 <= speed_mps / LIMIT_MPS <= shares[1] + 1e-3
                assert np.abs(np.abs(np.diff(x_m)) - 0.1 * speed_mps).max() < 1.1e-3
        assert np.diff(np.sort(objects.x_m[0, slow])).min() >= 25.0 - 1e-2


def test_oncoming_vehicles_leave_gaps_of_8_to_14_s_to_a_car_at_the_limit():
    """As met by a car at the limit that starts where the first agent does, for as long as the log lasts."""
    for seed in SEEDS:
        scene = generate_scene("two_way", seed=seed)
        agents, _, oncoming = groups(scene)
        car_m = positions(scene)[agents, 0].max() + 0.1 * LIMIT_MPS * np.arange(201)
        met_s = []
        for car in oncoming:
            valid = scene.objects.valid[:, car]
            apart_m = np.where(valid, scene.objects.x_m[:, car] - car_m, np.nan)
            passes = np.flatnonzero((apart_m[:-1] > 0) & (apart_m[1:] <= 0))
            met_s += (0.1 * (passes + 1)).tolist()
        met_s.sort()
        assert 2.0 - 0.1 <= met_s[0] <= 8.1
        assert all(8.0 - 0.1 <= gap_s <= 14.1 for gap_s in np.diff(met_s))


def test_a_trial_lasts_as_long_as_the_logs():
    with Batch(generate_scene("two_way"), config=DriveConfig(agents_per_world=2)) as batch:
        assert batch.roles[0].trial_steps == 200
        assert batch.roles[0].num_agents == 2


def test_the_number_of_agents_is_exact_and_others_are_beside_it():
    for agents in (1, 2, 7):
        assert len(groups(generate_scene("two_way", seed=agents, agents=agents))[0]) == agents
    with pytest.raises(SceneError, match=r"agents is 100; at most 13 fit on these roads"):
        generate_scene("two_way", agents=100)
    assert len(groups(generate_scene("two_way", agents=13))[0]) == 13


def test_a_goal_that_needs_overtaking_is_beyond_all_that_stay_behind():
    for seed in SEEDS:
        for must in (False, True):
            scene = generate_scene("two_way", seed=seed, slow=2, must_overtake=must)
            agents, slow, _ = groups(scene)
            last_m = scene.objects.x_m[-1, slow].min()
            goal_m = scene.objects.goal_m[agents, 0]
            assert (goal_m > last_m + 2.0).all() if must else (goal_m < last_m - 20.0).all()


@pytest.mark.parametrize("slow", [1, 3])
def test_a_car_that_stays_behind_reaches_a_near_goal_and_no_far_one(slow):
    assert goal_share("two_way", range(8), follows, agents=1, slow=slow) == 1.0
    assert goal_share("two_way", range(8), follows, agents=1, slow=slow, must_overtake=True) == 0.0


def follows(batch):
    """Keeps its lane, and behind the last slow vehicle."""
    def act():
        x_m, _, _, _, _ = agents_of(batch)
        wanted_mps = np.full(len(x_m), LIMIT_MPS)
        for world in range(batch.num_worlds):
            cars = batch.vehicles(world)
            ahead_m = cars["x_m"][cars["present"] & (cars["y_m"] < 0.0) & (cars["x_m"] > x_m[world])]
            if len(ahead_m):
                wanted_mps[world] = min(LIMIT_MPS, 10.0 + 0.5 * (ahead_m.min() - x_m[world] - 12.0))
        return towards(batch, np.stack([x_m + 18.0, np.full(len(x_m), -1.75)], axis=1), wanted_mps)
    return act


def overtakes(batch):
    """Follows the last slow vehicle, passes it where the oncoming lane is free for 6 s at 50 m/s, and goes back."""
    passing = np.zeros(batch.num_worlds, bool)

    def act():
        x_m, _, _, speed_mps, _ = agents_of(batch)
        target_m, wanted_mps = np.stack([x_m + 18.0, np.full(len(x_m), -1.75)], axis=1), np.full(len(x_m), LIMIT_MPS)
        for world in range(batch.num_worlds):
            cars = batch.vehicles(world)
            there = cars["present"].copy()
            there[0] = False
            slow_m = cars["x_m"][there & (cars["y_m"] < 0.0)].min()
            oncoming_m = cars["x_m"][there & (cars["y_m"] > 0.0) & (cars["x_m"] > x_m[world] - 8.0)]
            is_free = not len(oncoming_m) or oncoming_m.min() - x_m[world] > 300.0
            gap_m = slow_m - x_m[world]
            passing[world] = gap_m > -11.0 and (passing[world] or (is_free and abs(gap_m) < 35.0))
            if passing[world]:
                target_m[world, 1] = 1.75
            elif gap_m > 0.0:
                wanted_mps[world] = min(LIMIT_MPS, 10.0 + 0.5 * (gap_m - 12.0))
        return towards(batch, target_m, wanted_mps)
    return act


def test_a_car_that_overtakes_in_a_gap_reaches_the_far_goal():
    records = played("two_way", SEEDS, overtakes, agents=1, must_overtake=True)
    assert records["goal"].all()


def test_no_car_reaches_a_far_goal_without_control():
    assert goal_share("two_way", range(16), "constant", must_overtake=True) == 0.0
    assert goal_share("two_way", range(16), "random") < 0.05
