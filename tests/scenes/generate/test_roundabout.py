"""Do the arcs and lines of a roundabout follow their closed forms, and does traffic use every exit?"""

from __future__ import annotations

import math

import numpy as np
import pytest
from lane_map_scenes import made

from drive_env import generate_scene
from drive_env.errors import SceneError
from drive_env.scenes.generate.curves import Pose
from drive_env.scenes.generate.ring import Ring


def test_an_entry_of_12_m_on_a_ring_of_16_m_is_that_of_the_closed_form():
    """Its centre is 13.75 m right of the axis, 28 m from the ring's centre."""
    entry = Ring(Pose(0.0, 0.0, 0.0), {0: 0.0}, 3.5, 16.0, 12.0, 12.0, 1, 7.0).entry
    assert math.degrees(entry.past_rad) == pytest.approx(29.411, abs=1e-3)
    assert math.degrees(entry.angle_rad) == pytest.approx(60.589, abs=1e-3)
    assert entry.reach_m == pytest.approx(24.391, abs=1e-3)
    assert entry.radius_m * entry.angle_rad == pytest.approx(12.690, abs=1e-3)


def test_five_arms_leave_13_degrees_of_the_ring_between_an_entry_and_the_next_exit():
    lanes = made("roundabout", 0, arms=5).map.lanes
    ring = [lane.curve.length_m for lane in lanes if lane.curve.path.pieces[0].start_per_m == pytest.approx(1 / 16)]
    assert len(ring) == 10 and sum(ring) == pytest.approx(2 * math.pi * 16.0)
    assert math.degrees(min(ring) / 16.0) == pytest.approx(13.178, abs=1e-3)


def test_arms_that_are_too_near_are_refused_with_the_length_that_is_left():
    with pytest.raises(SceneError, match="inner lane are between an entry and the next exit; at least"):
        generate_scene("roundabout", arms=5, radius_m=12.0, entry_radius_m=20.0)


@pytest.mark.parametrize("lanes", [1, 2])
def test_traffic_runs_to_the_left_around_the_centre(lanes):
    roads = made("roundabout", 0, lanes=lanes).map
    for lane in roads.lanes:
        x_m, y_m, heading, _ = lane.curve.at(np.linspace(0, lane.curve.length_m, 20))
        away_m = np.hypot(x_m, y_m)
        if away_m.max() < 17.0:
            assert (x_m * np.sin(heading) - y_m * np.cos(heading) > 0.99 * away_m).all()


def test_a_car_that_yields_stands_outside_of_the_ring():
    controls = generate_scene("roundabout").traffic_controls
    assert controls.kind.tolist() == [3] * 4
    ends_m = controls.line_m.reshape(4, 2, 2).astype(np.float64)
    away_m = np.linalg.norm(ends_m, axis=2)
    assert away_m.min(axis=1) == pytest.approx(np.full(4, 16.0 + 1.75 + 0.5), abs=2e-3)
    # The line is as long as the lane is wide.
    assert np.linalg.norm(ends_m[:, 0] - ends_m[:, 1], axis=1) == pytest.approx(np.full(4, 3.5), abs=2e-3)


def test_every_arm_has_a_splitter_island_between_its_lanes():
    roads = made("roundabout", 0).map
    assert len(roads.walls) == 4
    for island, angle in zip(roads.walls, np.arange(4) * math.pi / 2, strict=True):
        out = island @ [math.cos(angle), math.sin(angle)]
        left = island @ [-math.sin(angle), math.cos(angle)]
        assert out.min() == pytest.approx(16.0 + 1.75 + 0.5) and np.abs(left).max() < 2.0
        assert left.min() < 0 < left.max()


def test_cars_leave_at_every_other_arm():
    seen = set()
    for seed in range(30):
        objects = generate_scene("roundabout", seed=seed).objects
        start = np.rint(np.arctan2(objects.y_m[0], objects.x_m[0]) / (math.pi / 2))
        goal = np.rint(np.arctan2(objects.goal_m[:, 1], objects.goal_m[:, 0]) / (math.pi / 2))
        seen |= set(((goal - start) % 4).astype(int).tolist())
    assert seen == {1, 2, 3}
