"""Does the ramp of a merge meet the highway as designed, and is its traffic what the scene promises?"""

from __future__ import annotations

import math

import numpy as np
import pytest
from boxes import point_segment_m
from generated_scenes import lane_points, positions
from lane_map_scenes import made
from played_scenes import goal_share

from drive_env import generate_scene
from drive_env.errors import SceneError


def lanes_at(scene, xy_m):
    """The lanes whose centre contains a point."""
    return [lane for lane, line in lane_points(scene).items()
            if point_segment_m(xy_m[None], np.stack([line[:-1], line[1:]], axis=1)).min() < 2e-3]


def ramp_lanes(scene):
    """Lanes that are not of the highway, in order: the ramp, its lane, and its taper."""
    return [lane for lane, line in lane_points(scene).items() if np.ptp(line[:, 1]) > 1e-6 or line[0, 1] < -7.3]


def test_the_lane_of_the_ramp_ends_as_a_cubic():
    """W 3.6 m over 50 m: w(s) = 3.6 - 0.00432 s2 + 0.0000576 s3 is what is left of it; 1.8 in the middle."""
    scene = generate_scene("merge")
    _, beside, taper = (lane_points(scene)[lane] for lane in ramp_lanes(scene))
    assert np.ptp(beside[:, 1]) == 0.0 and beside[-1, 0] - beside[0, 0] == pytest.approx(150.0)
    s = taper[:, 0] - beside[-1, 0]
    left_m = -5.4 - taper[:, 1]
    assert np.abs(left_m - (3.6 - 0.00432 * s**2 + 0.0000576 * s**3)).max() < 1.5e-3
    assert left_m[s == 25.0] == pytest.approx(1.8, abs=1e-3) and s[-1] == pytest.approx(50.0)


@pytest.mark.parametrize("radius_m", [40.0, 50.0, 60.0])
def test_the_ramp_comes_in_a_bend_of_its_radius_and_meets_the_highway_at_10_degrees(radius_m):
    scene = generate_scene("merge", ramp_radius_m=radius_m)
    ramp = lane_points(scene)[ramp_lanes(scene)[0]]
    step = np.diff(ramp, axis=0)
    heading = np.degrees(np.arctan2(step[:, 1], step[:, 0]))
    # The gore is a straight of 40 m.
    gore = np.abs(heading - 10.0) < 0.05
    assert np.linalg.norm(step[gore], axis=1).sum() == pytest.approx(40.0, abs=1e-2)
    assert heading[0] == pytest.approx(60.0, abs=0.05) and (np.diff(heading) < 0.05).all()
    # Circle through three points of the bend.
    bend = np.flatnonzero((heading > 12.0) & (heading < 58.0))
    a, b, c = (ramp[bend[i]] for i in (1, len(bend) // 2, -1))
    sides = [np.linalg.norm(p - q) for p, q in ((a, b), (b, c), (c, a))]
    area = abs((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])) / 2
    assert math.prod(sides) / (4 * area) == pytest.approx(radius_m, abs=0.3)


def test_only_the_taper_is_in_conflict_with_the_lane_beside():
    for lanes in (1, 2, 4):
        found = made("merge", 3, lanes=lanes)
        *_, taper = ramp_lanes(found.scene)
        last = 2 * lanes + lanes - 1  # of the third part of the highway
        one, other = np.nonzero(found.map.conflicts())
        assert set(zip(one.tolist(), other.tolist(), strict=True)) == {(taper, last), (last, taper)}
        assert not found.map.conflicts(merges=False).any()


def test_half_of_the_cars_start_on_the_ramp():
    for agents, expected in ((12, {6}), (2, {1}), (5, {2, 3}), (1, {0, 1})):
        counts = set()
        for seed in range(24):
            scene = generate_scene("merge", seed=seed, agents=agents)
            ramp = ramp_lanes(scene)
            counts.add(sum(any(lane in ramp for lane in lanes_at(scene, xy_m)) for xy_m in positions(scene)))
        assert counts == expected


def test_goals_are_behind_the_merge_on_the_lane_to_which_a_car_comes_without_a_change():
    for seed in range(24):
        scene = generate_scene("merge", seed=seed)
        xy_m, goal_m = positions(scene), scene.objects.goal_m
        assert (goal_m[:, 0] > 120 + 150 + 50).all()
        assert np.abs(np.maximum(xy_m[:, 1], -5.4) - goal_m[:, 1]).max() < 2e-3


def test_cars_of_the_highway_follow_with_at_least_a_second_and_a_half():
    """From bumper to bumper, for a leader of the longest length."""
    for seed in range(24):
        scene = generate_scene("merge", seed=seed)
        xy_m, speed_mps = positions(scene), scene.objects.vx_mps[0]
        for y_m in (-1.8, -5.4):
            cars = np.flatnonzero(np.abs(xy_m[:, 1] - y_m) < 1e-2)
            cars = cars[np.argsort(xy_m[cars, 0])]
            gap_m = np.diff(xy_m[cars, 0]) - 5.2
            assert (gap_m >= 1.5 * speed_mps[cars[:-1]]).all()


def test_more_cars_than_fit_are_an_error_with_the_number_that_fits():
    with pytest.raises(SceneError, match=r"agents is 4000; at most (\d+) fit on these roads") as raised:
        generate_scene("merge", agents=4000)
    fitting = int(str(raised.value).split("at most ")[1].split(" ")[0])
    assert generate_scene("merge", agents=fitting).objects.count == fitting
    with pytest.raises(SceneError, match=f"at most {fitting} fit"):
        generate_scene("merge", agents=fitting + 1)


def test_a_car_alone_reaches_its_goal_and_no_car_does_so_without_steering_from_the_ramp():
    assert goal_share("merge", range(16), "lane", agents=1) == 1.0
    assert goal_share("merge", range(16), "constant") < 0.5
    assert goal_share("merge", range(16), "random") < 0.05


def test_all_cars_together_merge():
    """In 400 steps, twice those of a car alone, so that cars have time to wait for each other."""
    assert goal_share("merge", range(16), "lane", steps=400) >= 0.95
