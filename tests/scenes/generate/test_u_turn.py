"""Does a U-turn lead from the left lane to the left lane, with room to wait in the gap?"""

from __future__ import annotations

import math

import numpy as np
import pytest
from boxes import corners
from lane_map_scenes import made

from drive_env import generate_scene

CAR_M = (5.2, 2.1)


def turns_of(roads):
    """Pairs of lanes of one U-turn: up to the yield line, and behind it."""
    return [(before, after) for before, after in roads.links
            if all(roads.lanes[i].curve.path.pieces[0].start_per_m > 0 for i in (before, after))]


@pytest.mark.parametrize("parameters", [{}, {"lanes": 3}, {"gap_m": 30.0}, {"radius_m": 8.0}])
def test_a_u_turn_is_a_half_circle_between_the_left_lanes(parameters):
    roads, radius_m = made("u_turn", 0, **parameters).map, parameters.get("radius_m", 6.0)
    assert len(turns_of(roads)) == 2
    for first, second in turns_of(roads):
        start, end = roads.lanes[first].curve.start, roads.lanes[second].curve.end
        length_m = roads.lanes[first].curve.length_m + roads.lanes[second].curve.length_m
        assert length_m == pytest.approx(math.pi * radius_m)
        assert math.hypot(end.x_m - start.x_m, end.y_m - start.y_m) == pytest.approx(2 * radius_m)
        assert abs(start.y_m) == pytest.approx(radius_m) and end.y_m == pytest.approx(-start.y_m)
    nearest = min(abs(lane.curve.start.y_m) for lane in roads.lanes if not lane.curve.path.pieces[0].start_per_m)
    assert nearest == pytest.approx(radius_m)


@pytest.mark.parametrize("radius_m", [5.0, 6.0, 8.0])
def test_a_car_that_waits_at_the_line_is_clear_of_both_directions(radius_m):
    roads = made("u_turn", 0, radius_m=radius_m).map
    for first, _ in turns_of(roads):
        end = roads.lanes[first].curve.end
        # On the circle, the middle of a car is half its length before its front.
        angle = end.heading_rad - CAR_M[0] / 2 / radius_m
        centre = end.moved(0.0, radius_m)
        place = np.array([[centre.x_m + radius_m * math.sin(angle), centre.y_m - radius_m * math.cos(angle)]])
        box = corners(place, np.array([angle]), *CAR_M)[0]
        assert np.abs(box[:, 1]).max() < radius_m - 1.75


def test_turns_of_both_sides_have_a_yield_line_in_the_gap():
    controls = generate_scene("u_turn").traffic_controls
    assert controls.kind.tolist() == [3, 3]
    assert np.abs(controls.line_m[:, [1, 3]]).max() == pytest.approx(6.0 - 1.75 - 0.5, abs=2e-3)


def test_the_gap_in_the_median_has_the_length_of_its_parameter():
    for gap_m in (12.0, 18.0, 30.0):
        scene = generate_scene("u_turn", gap_m=gap_m)
        roads = scene.roads
        points = np.stack([roads.x_m, roads.y_m], axis=1)[np.repeat(roads.kind == 3, np.diff(roads.start))]
        median = points[np.abs(points[:, 1]) < 3.5]
        assert np.abs(median[:, 0]).min() == pytest.approx(gap_m / 2, abs=5e-3)


def test_a_quarter_of_the_cars_or_more_turn():
    turned = total = 0
    for seed in range(40):
        objects = generate_scene("u_turn", seed=seed).objects
        turned += int((np.sign(objects.y_m[0]) != np.sign(objects.goal_m[:, 1])).sum())
        total += objects.count
    assert 0.25 < turned / total < 0.65
