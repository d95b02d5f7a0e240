"""Is the neck of a narrow street as wide as one car needs, and do cars reach it from both sides at the same time?"""

from __future__ import annotations

import numpy as np
import pytest
from boxes import segments_of
from generated_scenes import EDGE, positions
from lane_map_scenes import made
from played_scenes import goal_share

from drive_env import generate_scene
from drive_env.errors import SceneError


def sides_m(scene, x_m):
    """The y of both edges where x is this; first the one on the right of a car that drives east."""
    sides = segments_of(scene.roads, {EDGE})
    across = sides[((sides[:, :, 0] - x_m).prod(axis=1) < 0)]
    share = (x_m - across[:, 0, 0]) / (across[:, 1, 0] - across[:, 0, 0])
    return sorted((across[:, 0, 1] + share * (across[:, 1, 1] - across[:, 0, 1])).tolist())


@pytest.mark.parametrize("neck_width_m", [3.0, 3.2, 3.6])
def test_the_street_is_7_m_wide_its_neck_as_wide_as_asked_and_each_approach_has_a_bay(neck_width_m):
    scene = generate_scene("narrow", neck_width_m=neck_width_m)
    half_m = neck_width_m / 2
    for x_m in (53.3, 61.7, 70.7):
        assert sides_m(scene, x_m) == pytest.approx([-half_m, half_m], abs=2e-3)
    for x_m in (10.3, 23.3, 104.3, 120.3):
        assert sides_m(scene, x_m) == pytest.approx([-3.5, 3.5], abs=2e-3)
    assert sides_m(scene, 32.3) == pytest.approx([-5.7, 3.5], abs=2e-3)
    assert sides_m(scene, 92.3) == pytest.approx([-3.5, 5.7], abs=2e-3)


def test_two_cars_do_not_fit_side_by_side_in_the_neck():
    for seed in range(24):
        scene = generate_scene("narrow", seed=seed)
        assert scene.objects.width_m.sum() > 3.2


def test_lanes_of_both_directions_are_in_conflict_from_taper_to_taper():
    """The taper into the neck with the one out of it, and the neck with itself; 5 lanes of each direction."""
    found = made("narrow", 0)
    one, other = np.nonzero(found.map.conflicts())
    pairs = {(east, west) for east, west in zip(one.tolist(), other.tolist(), strict=True) if east < west}
    assert pairs == {(1, 5 + 3), (2, 5 + 2), (3, 5 + 1)}


def test_cars_reach_the_neck_within_2_s_of_each_other_and_either_may_be_first():
    later_s = []
    for seed in range(64):
        scene = generate_scene("narrow", seed=seed)
        x_m, speed_mps = positions(scene)[:, 0], scene.objects.vx_mps[0]
        times_s = [(40.0 - x_m[0]) / speed_mps[0], (x_m[1] - 84.0) / -speed_mps[1]]
        later_s.append(times_s[1] - times_s[0])
    assert max(later_s) <= 2.1 and min(later_s) >= -2.1
    assert max(later_s) > 1.5 and min(later_s) < -1.5 and abs(np.mean(later_s)) < 0.5


def test_a_lone_car_comes_from_either_side():
    scenes = [generate_scene("narrow", seed=seed, agents=1) for seed in range(16)]
    assert {np.sign(scene.objects.vx_mps[0, 0]) for scene in scenes} == {-1, 1}


def test_with_priority_one_side_has_a_yield_line_before_the_neck():
    assert generate_scene("narrow").traffic_controls.count == 0
    found = set()
    for seed in range(16):
        controls = generate_scene("narrow", seed=seed, priority=True).traffic_controls
        assert controls.kind.tolist() == [3]
        found.add(tuple(controls.line_m[0].tolist()))
    assert found == {(40.0, 0.0, 40.0, -3.25), (84.0, 0.0, 84.0, 3.25)}


def test_more_cars_fit_on_longer_approaches_and_too_many_are_an_error():
    with pytest.raises(SceneError, match="agents is 3; at most 2 fit on these roads"):
        generate_scene("narrow", agents=3)
    for approach_m, fitting in ((62.0, 4), (100.0, 12), (200.0, 38)):
        assert generate_scene("narrow", agents=fitting, approach_m=approach_m).objects.count == fitting
        with pytest.raises(SceneError, match=f"at most {fitting} fit"):
            generate_scene("narrow", agents=fitting + 1, approach_m=approach_m)


def test_both_cars_arrive_if_they_take_turns():
    assert goal_share("narrow", range(24), "lane") == 1.0
    assert goal_share("narrow", range(24), "lane", agents=1) == 1.0


def test_no_car_gets_through_without_steering():
    assert goal_share("narrow", range(16), "constant") == 0.0
    assert goal_share("narrow", range(16), "random") < 0.05
