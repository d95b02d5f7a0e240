"""Are the highway, the oval and the racetracks those of their descriptions?"""

from __future__ import annotations

import math

import numpy as np
import pytest
from generated_scenes import lane_points, positions
from lane_map_scenes import made

from drive_env import generate_scene
from drive_env.errors import SceneError
from drive_env.scenes.generate import racetrack, racetrack_large
from drive_env.scenes.generate.circuit import closing_arc_m, tangent

HIGHWAY_ENV = {
    # With y up: centre, radius, first and last angle in degrees of each arc of the first lane, and its lines.
    "racetrack": (
        (((100, 20), 20, -90, 0), ((105, 30), 15, 0, 180), ((70, 30), 20, 0, -135), ((18.1, 18.1), 25, 45, 300),
         ((43.2, -23.4), 23.5, 120, 92)),
        (((44, 0), (100, 0)), ((120, 20), (120, 30)), ((55.7, 15.7), (35.7, 35.7)))),
    "racetrack_large": (
        (((200, 20), 20, -90, 0), ((205, 60), 15, 0, 180), ((170, 60), 20, 0, -135), ((88.1, 78.1), 25, 45, 155),
         ((42, 15), 15, 150, 270)),
        (((42, 0), (200, 0)), ((220, 20), (220, 60)), ((155.7, 45.7), (105.7, 95.7)), ((65.44, 88.67), (29.01, 22.5))))}
"""Its `racetrack-v0` and `racetrack-large-v0`."""

TRACKS = {"racetrack": racetrack.track, "racetrack_large": racetrack_large.track}
RADII_M = {"racetrack": {15, 20, 23.5, 25}, "racetrack_large": {15, 20, 25}}

TOUCH_M = 0.35
"""Its pieces do not meet exactly."""


@pytest.mark.parametrize("name", TRACKS)
def test_a_racetrack_is_that_of_highway_env(name):
    path, (arcs, lines) = TRACKS[name](), HIGHWAY_ENV[name]
    x_m, y_m, *_ = path.at(np.linspace(0.0, path.length_m, 20_000))
    points = [((1 - t) * np.array(a) + t * np.array(b)) for a, b in lines for t in np.linspace(0, 1, 20)]
    for centre, radius_m, first, last in arcs:
        angle = np.radians(np.linspace(first, last, 60))
        points += list(np.array(centre) + radius_m * np.stack([np.cos(angle), np.sin(angle)], axis=1))
    away = [np.hypot(x_m - x, y_m - y).min() for x, y in points]
    assert max(away) <= TOUCH_M
    # And nothing else: every place of the track is near one of these points.
    near = [np.hypot(*(np.array(points) - place).T).min() for place in np.stack([x_m, y_m], axis=1)[::50]]
    assert max(near) <= 5.0


@pytest.mark.parametrize("name", TRACKS)
def test_a_racetrack_closes(name):
    path = TRACKS[name]()
    assert math.dist(path.end[:2], path.start[:2]) <= 1e-12
    assert path.end.heading_rad - path.start.heading_rad == pytest.approx(2 * math.pi, abs=1e-12)
    assert {round(1 / abs(piece.start_per_m), 9) for piece in path.pieces if piece.start_per_m} == RADII_M[name]


@pytest.mark.parametrize(("next_centre_m", "next_radius_m"), [
    ((30.0, 5.0), 8.0), ((-4.0, -40.0), 12.0), ((0.0, 25.0), 3.0)])
def test_a_tangent_leads_from_circle_to_circle(next_centre_m, next_radius_m):
    """Its ends are a radius to the right of the centres of both left turns."""
    heading_rad, length_m = tangent((1.0, 2.0), 9.0, next_centre_m, next_radius_m)
    sine, cosine = math.sin(heading_rad), math.cos(heading_rad)
    right, ahead = np.array([sine, -cosine]), np.array([cosine, sine])
    assert np.array([1.0, 2.0]) + 9.0 * right + length_m * ahead == pytest.approx(
        np.array(next_centre_m) + next_radius_m * right)
    assert 0.0 <= heading_rad < 2 * math.pi and length_m > 0.0


def test_a_closing_turn_touches_the_last_one_and_the_axis():
    """Circles that touch from outside have the sum of their radii between their centres."""
    at_m = closing_arc_m((10.0, 12.0), 20.0, 15.0)
    assert math.hypot(at_m - 10.0, 12.0 + 15.0) == pytest.approx(35.0)


@pytest.mark.parametrize(("straight_m", "radius_m", "lanes", "width_m"), [(120.0, 30.0, 2, 5.0), (40.0, 15.0, 4, 3.0)])
def test_a_lap_of_the_oval_is_two_straights_and_a_circle(straight_m, radius_m, lanes, width_m):
    found = made("oval", 0, agents=2, straight_m=straight_m, radius_m=radius_m, lanes=lanes, lane_width_m=width_m)
    lengths_m = found.map.samples.length_m
    for lane in range(lanes):
        lap_m = 2 * straight_m + 2 * math.pi * (radius_m + lane * width_m)
        assert lengths_m[lane] + lengths_m[lane + lanes] == pytest.approx(lap_m, rel=2e-3)
        assert found.map.links.count((lane, lane + lanes)) == found.map.links.count((lane + lanes, lane)) == 1
    outer, inner = sorted(found.map.edges(), key=lambda edge: np.ptp(edge[:, 0]), reverse=True)
    assert np.ptp(outer[:, 1]) / 2 == pytest.approx(radius_m + (lanes - 0.5) * width_m + 1.0, abs=0.03)
    assert np.ptp(inner[:, 1]) / 2 == pytest.approx(radius_m - 0.5 * width_m - 1.0, abs=0.03)


@pytest.mark.parametrize("name", ["oval", "racetrack", "racetrack_large"])
def test_the_goals_of_a_circuit_are_100_to_200_m_ahead(name):
    for seed in range(20):
        found = made(name, seed)
        lanes, xy_m = lane_points(found.scene), positions(found.scene)
        half = len(lanes) // 2
        for car in range(found.scene.objects.count):
            # Around the lap of the lane of the start: both halves in one polyline.
            goal_m = found.scene.objects.goal_m[car].astype(np.float64)
            ways = []
            for lane in range(half):
                lap = np.concatenate([lanes[lane], lanes[lane + half][1:]])
                step = np.hypot(*np.diff(lap, axis=0).T)
                along = np.concatenate([[0.0], np.cumsum(step)])
                at = [float(along[np.hypot(*(lap - place).T).argmin()]) for place in (xy_m[car], goal_m)]
                near = max(np.hypot(*(lap - place).T).min() for place in (xy_m[car], goal_m))
                ways.append((near, (at[1] - at[0]) % along[-1]))
            near, way_m = min(ways)
            assert near < 3.0 and 95.0 <= way_m <= 205.0  # the goal is on the lane of the start


@pytest.mark.parametrize("bend", [False, True])
def test_the_goals_of_a_highway_are_300_to_500_m_ahead_in_any_lane(bend):
    changes = []
    for seed in range(20):
        scene = generate_scene("highway", seed=seed, bend=bend)
        lanes, xy_m = lane_points(scene), positions(scene)
        for car in range(scene.objects.count):
            goal_m = scene.objects.goal_m[car].astype(np.float64)
            nearest = []
            for place in (xy_m[car], goal_m):
                away = [np.hypot(*(line - place).T).min() for line in lanes.values()]
                nearest.append(int(np.argmin(away)))
            changes.append(nearest[1] - nearest[0])
            # Straight, or the arc over a chord, on any lane.
            chord_m = float(np.hypot(*(goal_m - xy_m[car])))
            way_m = 1200 * math.asin(chord_m / 1200) if bend else chord_m
            assert 294.0 <= way_m <= 506.0
    assert set(changes) == {-2, -1, 0, 1, 2}


def test_a_bend_of_the_highway_turns_to_both_sides():
    """600 m on a radius of 600 m turn by 1 rad."""
    sides = set()
    for seed in range(12):
        lanes = made("highway", seed, agents=1, bend=True).map.lanes
        assert abs(lanes[1].curve.end.heading_rad) == pytest.approx(1.0)
        sides.add(lanes[1].curve.end.heading_rad > 0)
        assert {round(float(lane.curve.path.pieces[0].length_m), 6) for lane in lanes} == {600.0}
    assert sides == {True, False}


def test_cars_on_a_highway_keep_a_headway_of_a_second():
    """To the centre of the next car, less the longest car; speeds are 0.6 to 1 of the limit where there is room."""
    free = []
    for seed in range(20):
        scene = generate_scene("highway", seed=seed, agents=12)
        xy_m = positions(scene)
        speed_mps = np.hypot(scene.objects.vx_mps[0], scene.objects.vy_mps[0])
        for car in range(12):
            ahead = (np.abs(xy_m[:, 1] - xy_m[car, 1]) < 1.0) & (xy_m[:, 0] > xy_m[car, 0])
            gap_m = (xy_m[ahead, 0] - xy_m[car, 0]).min(initial=np.inf) - 5.2
            assert speed_mps[car] * 1.0 <= gap_m
            free.append(speed_mps[car] >= 18.0 - 0.125)
    assert np.mean(free) >= 0.9


def test_as_many_cars_as_fit_start_and_one_more_is_refused():
    for name in ("highway", "oval", "racetrack", "racetrack_large"):
        with pytest.raises(SceneError, match=r"agents is 4000; at most \d+ fit on these roads") as caught:
            generate_scene(name, seed=4, agents=4000)
        fitting = int(str(caught.value).split("at most ")[1].split()[0])
        scene = generate_scene(name, seed=4, agents=fitting)
        xy_m = positions(scene)
        away = np.hypot(xy_m[:, None, 0] - xy_m[:, 0], xy_m[:, None, 1] - xy_m[:, 1])
        assert away[~np.eye(fitting, dtype=bool)].min() >= 3.0
        with pytest.raises(SceneError):
            generate_scene(name, seed=4, agents=fitting + 1)
