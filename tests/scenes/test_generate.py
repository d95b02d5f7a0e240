"""Can every generated scene be driven?"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from boxes import box_segment_gap_m, corners, on_road, point_segment_m, segments_of
from core_routes import core_route
from generated_scenes import (
    EDGE, LANE, LINE, NAMES, SHAPES, LaneTable, check_routes, check_spawns, lane_points, positions)

from drive_env.scenes import generate_scene

SEEDS = range(50)
"""A fault in 6 of 100 scenes is found with 95% probability. Roads of more seeds: tests/scenes/generate."""


@pytest.mark.parametrize("agents", [32, 64])
@pytest.mark.parametrize("name", NAMES)
def test_cars_start_apart_on_the_road_and_away_from_goals(name, agents):
    for seed in SEEDS if agents == 32 else SEEDS[::2]:
        check_spawns(generate_scene(name, seed=seed, agents=agents), agents)


@pytest.mark.parametrize(("name", "low_m", "high_m"), [("town", 40, 141), ("intersection", 30, 170)])
def test_every_goal_is_reachable_on_the_lane_graph_within_a_trial(name, low_m, high_m):
    for seed in SEEDS:
        scene = generate_scene(name, seed=seed)
        routes_m = check_routes(scene)
        assert low_m - 1 <= routes_m.min() and routes_m.max() <= high_m
        assert len(np.unique(scene.objects.goal_m, axis=0)) == scene.objects.count


@pytest.mark.parametrize("name", NAMES)
def test_full_scenes_have_reachable_goals_too(name):
    for seed in SEEDS[::4]:
        assert np.isfinite(check_routes(generate_scene(name, seed=seed, agents=64))).all()


@pytest.mark.parametrize("name", NAMES)
def test_a_lane_leads_into_lanes_that_start_at_its_end(name):
    for seed in SEEDS:
        scene = generate_scene(name, seed=seed, agents=1)
        lanes = lane_points(scene)
        for lane, points in lanes.items():
            for after in scene.lanes.after(lane):
                there = lanes[int(after)]
                assert (there[0] == points[-1]).all()
                step, there_step = points[-1] - points[-2], there[1] - there[0]
                bend = math.atan2(step[0] * there_step[1] - step[1] * there_step[0], step @ there_step)
                assert abs(bend) < 0.1


@pytest.mark.parametrize(("name", "shape"), SHAPES)
def test_turns_are_quarter_circles_of_at_least_7_m(name, shape):
    radii_m = set()
    for points in lane_points(generate_scene(name, seed=2, agents=1, **shape)).values():
        if len(points) == 2:
            continue
        radius_m = np.abs(points[-1] - points[0]).max()
        # The centre is the corner of the square over the two ends that is inside the turn.
        corners_m = [np.array([points[0][0], points[-1][1]]), np.array([points[-1][0], points[0][1]])]
        away_m = [np.linalg.norm(points - corner, axis=1) for corner in corners_m]
        assert min(np.abs(distance - radius_m).max() for distance in away_m) < 2e-3
        radii_m.add(float(radius_m))
    assert min(radii_m) >= 7.0 and len(radii_m) == 2


def test_every_lane_of_a_town_is_on_a_cycle():
    for seed in SEEDS:
        for blocks in ((2, 2), (3, 2), (5, 4)):
            if blocks != (2, 2) and seed % 10:
                continue
            scene = generate_scene("town", seed=seed, agents=1, blocks=blocks)
            for lane in lane_points(scene):
                seen, queue = set(), [lane]
                while queue and lane not in seen:
                    new = {int(after) for after in scene.lanes.after(queue.pop())} - seen
                    seen |= new
                    queue += new
                assert lane in seen


def test_towns_differ_in_streets_and_in_spacing():
    towns = [generate_scene("town", seed=seed) for seed in range(64)]
    assert len({scene.roads.count for scene in towns}) >= 3
    assert len({float(scene.roads.x_m.max()) for scene in towns}) > 32


@pytest.mark.parametrize(("name", "shape"), SHAPES)
def test_a_car_on_any_lane_centre_keeps_clear_of_every_curb(name, shape):
    """For a box along the tangent, and for one turned like a bicycle whose middle follows the lane."""
    length_m, width_m = 5.2, 2.1
    for seed in range(2):
        scene = generate_scene(name, seed=seed, agents=1, **shape)
        edges = segments_of(scene.roads, {EDGE})
        for points in lane_points(scene).values():
            bends = len(points) > 2
            step = np.diff(points, axis=0)
            turned = step[0, 0] * step[-1, 1] - step[0, 1] * step[-1, 0]
            # A quarter circle spans its radius along both axes.
            radius_m = np.abs(points[-1] - points[0]).max()
            slip_rad = math.copysign(math.asin(0.3 * length_m / radius_m), turned) if bends else 0.0
            assert not bends or radius_m >= 7.0
            for start, move in zip(points[:-1], step, strict=True):
                count = max(2, int(np.linalg.norm(move) // 1.0))
                xy_m = start + np.linspace(0, 1, count)[:, None] * move
                tangent_rad = math.atan2(move[1], move[0])
                for turn_rad in {0.0, -slip_rad}:
                    heading_rad = np.full(count, tangent_rad + turn_rad)
                    boxes = corners(xy_m, heading_rad, length_m, width_m)
                    assert on_road(boxes.reshape(-1, 2), edges).all()
                    assert min(box_segment_gap_m(box, edges) for box in boxes[::1 if bends else 4]) >= 0.3


@pytest.mark.parametrize(("name", "shape"), SHAPES)
def test_curbs_are_closed_and_do_not_cross_lines_or_lanes(name, shape):
    scene = generate_scene(name, seed=1, agents=1, **shape)
    roads = scene.roads
    for road in np.flatnonzero(roads.kind == EDGE):
        first, last = roads.start[road], roads.start[road + 1] - 1
        assert (roads.x_m[first], roads.y_m[first]) == (roads.x_m[last], roads.y_m[last])
    edges = segments_of(roads, {EDGE})
    inner = segments_of(roads, {LANE, LINE}).reshape(-1, 2)
    assert on_road(inner, edges).all()
    assert point_segment_m(inner, edges).min() >= 1.0


def relations(xy_m, ahead):
    """(n, n): position of car j along and across the heading of car i, and the cosine between their headings."""
    offset = xy_m[None] - xy_m[:, None]
    along_m = np.abs((offset * ahead[:, None]).sum(-1))
    across_m = np.abs(offset[..., 0] * ahead[:, None, 1] - offset[..., 1] * ahead[:, None, 0])
    return along_m, across_m, (ahead[:, None] * ahead[None]).sum(-1)


def test_a_stopped_car_in_a_town_can_be_passed():
    """No two of 32 cars on opposite lanes block a street together."""
    for seed in SEEDS:
        scene = generate_scene("town", seed=seed)
        xy_m, heading_rad = positions(scene), scene.objects.heading_rad[0].astype(np.float64)
        ahead = np.stack([np.cos(heading_rad), np.sin(heading_rad)], axis=1)
        along_m, across_m, same_way = relations(xy_m, ahead)
        assert along_m[(same_way < -0.5) & (across_m < 5.0)].min(initial=np.inf) >= 15.0


def test_a_stopped_car_at_an_intersection_can_be_passed():
    """All starts are on entry lanes, so exit lanes are free; cars of one lane have room to turn out."""
    for seed in SEEDS:
        scene = generate_scene("intersection", seed=seed)
        xy_m, heading_rad = positions(scene), scene.objects.heading_rad[0].astype(np.float64)
        ahead = np.stack([np.cos(heading_rad), np.sin(heading_rad)], axis=1)
        assert ((xy_m * ahead).sum(axis=1) < -10.0).all()
        along_m, across_m, same_way = relations(xy_m, ahead)
        others = ~np.eye(len(xy_m), dtype=bool)
        assert along_m[others & (same_way > 0.5) & (across_m < 1.0)].min() >= 15.0


def test_no_car_starts_too_fast_to_stop_for_the_next():
    for name in NAMES:
        for seed in SEEDS[::2]:
            scene = generate_scene(name, seed=seed, agents=64)
            table, xy_m = LaneTable(scene), positions(scene)
            speed_mps = np.hypot(scene.objects.vx_mps[0], scene.objects.vy_mps[0])
            places = sorted((*next(iter(table.lanes_at(xy_m[car]).items())), car) for car in range(64))
            assert (speed_mps > 0).any()
            for (lane, along, car), (next_lane, next_along, other) in pairwise(places):
                if lane == next_lane:
                    clear_m = next_along - along - scene.objects.length_m[[car, other]].sum() / 2
                    assert speed_mps[car] ** 2 / (2 * 2.0) < clear_m


@pytest.mark.parametrize("name", NAMES)
def test_a_bicycle_can_drive_every_route_within_a_trial_without_a_curb_contact(name):
    for seed in range(4):
        scene = generate_scene(name, seed=seed)
        objects, edges = scene.objects, segments_of(scene.roads, {EDGE})
        for car in range(objects.count):
            x, y = float(objects.x_m[0, car]), float(objects.y_m[0, car])
            heading = float(objects.heading_rad[0, car])
            speed = float(np.hypot(objects.vx_mps[0, car], objects.vy_mps[0, car]))
            length_m, width_m = float(objects.length_m[car]), float(objects.width_m[car])
            goal = objects.goal_m[car]
            route = dense(core_route(scene, (x, y), heading, goal))
            for step in range(200):
                here = int(np.argmin(np.hypot(route[:, 0] - x, route[:, 1] - y)))
                aim = route[min(here + 16, len(route) - 1)]
                bearing = math.atan2(aim[1] - y, aim[0] - x) - heading
                # The point at 4 m is on the circle of radius 4 / (2 sin bearing).
                steer = math.atan(2 * math.sin(bearing) * 0.6 * length_m / 4.0)
                steer = max(-0.6, min(0.6, steer))
                wanted = 5.0 if abs(turn_ahead(route, here)) > 0.2 else 12.0
                speed = max(0.0, speed + max(-4.0, min(4.0, (wanted - speed) / 0.1)) * 0.1)
                slip = math.atan(0.5 * math.tan(steer))
                x += speed * math.cos(heading + slip) * 0.1
                y += speed * math.sin(heading + slip) * 0.1
                heading += speed * math.cos(slip) * math.tan(steer) / (0.6 * length_m) * 0.1
                if step % 4 == 0:
                    box = corners(np.array([[x, y]]), np.array([heading]), length_m, width_m)[0]
                    assert box_segment_gap_m(box, edges) > 0
                if math.hypot(goal[0] - x, goal[1] - y) < 2.0:
                    break
            else:
                pytest.fail(f"{scene.name}: car {car} does not arrive in 200 steps")


def dense(route):
    """The route resampled every 0.25 m."""
    along = np.concatenate([[0], np.cumsum(np.linalg.norm(np.diff(route, axis=0), axis=1))])
    at = np.arange(0, along[-1], 0.25)
    return np.stack([np.interp(at, along, route[:, 0]), np.interp(at, along, route[:, 1])], axis=1)


def turn_ahead(route, here):
    """Change of direction over the next 12 m, rad."""
    tail = route[here:here + 49]
    if len(tail) < 5:
        return 0.0
    a, b = tail[1] - tail[0], tail[-1] - tail[-2]
    return math.atan2(a[0] * b[1] - a[1] * b[0], a @ b)
