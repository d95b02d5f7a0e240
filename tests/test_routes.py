"""Is a route the shortest path along lanes from the start to the goal, and the same as that of a search in float64?"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from boxes import point_segment_m, segments_of
from core_routes import core_route, with_lanes
from python_routes import python_route
from samples import sample
from small_scene import changed, roads_of, small_scene

from drive_env import DriveConfig
from drive_env.errors import CallError
from drive_env.native import native_scene
from drive_env.roles import assign_roles
from drive_env.routes import lane_route, route_lanes
from drive_env.scenes import LaneGraph, generate_scene, load_scene
from drive_env.scenes.lane_links import link_lanes
from drive_env.scenes.validate import validate_scene

LANE = 1


def scene_of(*lanes, links=None):
    """A scene of these lanes, linked by their end points or by {before: [after, ...]}."""
    roads = roads_of([(LANE, lane) for lane in lanes])
    graph = link_lanes(roads)
    if links is not None:
        after = [links.get(lane, []) for lane in range(len(lanes))]
        graph = LaneGraph(np.cumsum([0, *map(len, after)]).astype(np.int32),
                          np.array([road for roads in after for road in roads], np.int32))
    return validate_scene(changed(small_scene(), roads=roads, lanes=graph))


def length_m(route):
    return np.linalg.norm(np.diff(route.astype(np.float64), axis=0), axis=1).sum()


def test_a_route_is_trimmed_to_the_start_and_the_goal():
    scene = scene_of([(0, 0), (10, 0)], [(10, 0), (20, 0)], [(20, 0), (20, 10)], links={0: [1], 1: [2]})
    route = core_route(scene, (4, 0.5), 0.1, (20.3, 6))
    assert route.dtype == np.float32
    assert route.tolist() == [[4, 0], [10, 0], [20, 0], [20, 6]]


def test_start_and_goal_on_one_lane_need_only_that_lane():
    assert core_route(scene_of([(0, 0), (10, 0)]), (2, 0), 0.0, (7, 0)).tolist() == [[2, 0], [7, 0]]
    assert core_route(scene_of([(0, 0), (10, 0)]), (2, 0), 0.0, (2, 0)).tolist() == [[2, 0]]


def test_a_goal_behind_the_start_is_reached_around_the_cycle():
    square = [(0, 0), (10, 0), (10, 10), (0, 10), (0, 0)]
    scene = scene_of(*([a, b] for a, b in pairwise(square)), links={0: [1], 1: [2], 2: [3], 3: [0]})
    assert length_m(core_route(scene, (6, 0), 0.0, (4, 0))) == pytest.approx(38.0)


def test_a_goal_behind_on_a_lane_without_cycle_is_unreachable():
    assert core_route(scene_of([(0, 0), (10, 0)]), (6, 0), 0.0, (4, 0)) is None


def test_the_shorter_of_two_paths_is_taken():
    links = {0: [1, 2], 1: [3], 2: [3]}
    scene = scene_of([(0, 0), (10, 0)], [(10, 0), (15, 8), (20, 0)], [(10, 0), (15, -3), (20, 0)],
                     [(20, 0), (30, 0)], links=links)
    assert core_route(scene, (0, 0), 0.0, (30, 0))[2].tolist() == [15, -3]


def test_the_heading_decides_between_overlapping_lanes():
    scene = scene_of([(0, 0), (10, 0)], [(10, 0), (0, 0)], [(10, 0), (20, 0)], [(0, 0), (-10, 0)],
                     links={0: [2], 1: [3]})
    assert core_route(scene, (5, 0), 0.0, (15, 0)).tolist() == [[5, 0], [10, 0], [15, 0]]
    assert core_route(scene, (5, 0), math.pi, (15, 0)) is None
    assert core_route(scene, (5, 0), -math.pi, (-5, 0)).tolist() == [[5, 0], [0, 0], [-5, 0]]


@pytest.mark.parametrize(("heading_deg", "found"), [
    (59, True), (-59, True), (61, False), (-61, False), (180, False)])
def test_a_lane_is_a_candidate_within_60_degrees_of_the_heading(heading_deg, found):
    route = core_route(scene_of([(0, 0), (10, 0)]), (2, 0), math.radians(heading_deg), (8, 0))
    assert (route is not None) == found


def test_a_candidate_lane_is_taken_if_the_nearest_has_no_path():
    scene = scene_of([(0, 0), (10, 0)], [(0, 1), (10, 1)], [(10, 1), (20, 1)], links={1: [2]})
    assert core_route(scene, (2, 0.2), 0.0, (15, 1)).tolist() == [[2, 1], [10, 1], [15, 1]]


def test_the_nearest_lane_is_preferred_to_one_with_a_slightly_shorter_path():
    scene = scene_of([(0, 0), (10, 0)], [(0, 1), (10, 1)], [(10, 0), (10, 3)], [(10, 1), (20, 1)],
                     links={0: [2], 1: [3], 2: [3]})
    assert core_route(scene, (2, 0.1), 0.0, (15, 1))[0].tolist() == [2, 0]
    assert core_route(scene, (2, 0.9), 0.0, (15, 1))[0].tolist() == [2, 1]


def test_a_point_far_from_every_lane_has_no_route():
    scene = scene_of([(0, 0), (10, 0)])
    assert core_route(scene, (2, 16), 0.0, (8, 0)) is None
    assert core_route(scene, (2, 0), 0.0, (8, 16)) is None


def test_a_scene_without_lanes_has_no_route():
    scene = validate_scene(changed(
        small_scene(), roads=roads_of([(3, [(0, 0), (10, 0)])]),
        lanes=LaneGraph(np.zeros(2, np.int32), np.zeros(0, np.int32))))
    assert core_route(scene, (2, 0), 0.0, (8, 0)) is None
    empty = validate_scene(changed(
        small_scene(), roads=roads_of([]), lanes=LaneGraph(np.zeros(1, np.int32), np.zeros(0, np.int32))))
    assert core_route(empty, (2, 0), 0.0, (8, 0)) is None


@pytest.mark.parametrize("name", ["town", "intersection"])
def test_every_car_of_a_generated_scene_has_a_route_along_lanes(name):
    for seed in range(10):
        scene = generate_scene(name, seed=seed)
        objects, lanes = scene.objects, segments_of(scene.roads, {LANE})
        for car in range(objects.count):
            start = np.array([objects.x_m[0, car], objects.y_m[0, car]])
            route = core_route(scene, start, float(objects.heading_rad[0, car]), objects.goal_m[car])
            assert np.abs(route[0] - start).max() < 1e-3
            assert np.abs(route[-1] - objects.goal_m[car]).max() < 1e-3
            middle = (route[1:].astype(np.float64) + route[:-1]) / 2
            assert point_segment_m(np.concatenate([route, middle]), lanes).min(axis=1).max() < 1e-3
            assert 30 <= length_m(route) <= 170
            step = np.diff(route.astype(np.float64), axis=0)
            bend = np.abs(np.diff(np.unwrap(np.arctan2(step[:, 1], step[:, 0]))))
            assert bend.max(initial=0.0) < 0.3


def test_moving_cars_of_a_real_map_have_routes_about_as_long_as_their_logs():
    scene = load_scene(sample("pufferdrive/map_942.bin"))
    objects, found = scene.objects, 0
    for car in np.flatnonzero(objects.valid[0] & (objects.kind == 1)):
        frames = np.flatnonzero(objects.valid[:, car])
        track = np.stack([objects.x_m[frames, car], objects.y_m[frames, car]], axis=1)
        if np.linalg.norm(track[-1] - track[0]) < 20.0:
            continue
        route = core_route(scene, track[0], float(objects.heading_rad[0, car]), track[-1])
        if route is not None and length_m(route) <= 1.1 * length_m(track) + 5.0:
            found += 1
    assert found >= 8


# ---- the same as in float64 ----

REAL = ("pufferdrive/map_000.bin", "pufferdrive/map_942.bin", "gpudrive/test.json",
        "gpudrive/tfrecord-00000-of-01000_325.json")


def without_repeats(route):
    """The polyline without points within a millimetre of the previous one."""
    kept = [0]
    for index in range(1, len(route)):
        if np.abs(route[index] - route[kept[-1]]).max() >= 1e-3:
            kept.append(index)
    return route[kept]


def check_route(scene, start, heading, goal):
    """Whether both search programs find a route; they must find the same one or none."""
    expected, route = python_route(scene, start, heading, goal), core_route(scene, start, heading, goal)
    assert (expected is None) == (route is None)
    if route is not None:
        np.testing.assert_allclose(route, without_repeats(expected), rtol=0, atol=1e-4)
    return route is not None


def check_routes(scene):
    """The number of routes, from all objects to their goals and to those of others, that both search programs find."""
    objects, found = scene.objects, 0
    rng = np.random.default_rng(0)
    for car in np.flatnonzero(objects.valid[0]):
        start, heading = (objects.x_m[0, car], objects.y_m[0, car]), float(objects.heading_rad[0, car])
        for goal in (objects.goal_m[car], *objects.goal_m[rng.integers(0, objects.count, 2)]):
            found += check_route(scene, start, heading, goal)
    return found


@pytest.mark.parametrize("name", ["town", "intersection"])
def test_routes_of_generated_scenes_equal_those_of_a_search_in_float64(name):
    assert sum(check_routes(generate_scene(name, seed=seed)) for seed in range(3)) > 100


@pytest.mark.parametrize("name", REAL)
def test_routes_of_real_maps_equal_those_of_a_search_in_float64(name):
    assert check_routes(load_scene(sample(name))) >= 5


def test_routes_of_random_graphs_equal_those_of_a_search_in_float64():
    rng = np.random.default_rng(1)
    found = 0
    for _ in range(30):
        points = rng.uniform(0, 40, (12, 3, 2)).round(2)
        links = {lane: rng.choice(np.delete(np.arange(12), lane), rng.integers(0, 4), replace=False).tolist()
                 for lane in range(12)}
        scene = scene_of(*(line.tolist() for line in points), links=links)
        for _ in range(10):
            start, goal, heading = rng.uniform(0, 40, 2), rng.uniform(0, 40, 2), rng.uniform(-3, 3)
            found += check_route(scene, start, heading, goal)
    assert found > 50


# ---- calls ----


def test_a_route_as_lanes_has_the_part_of_each_that_is_driven():
    scene = scene_of([(0, 0), (10, 0)], [(10, 0), (20, 0)], links={0: [1]})
    assert route_lanes(with_lanes(scene), (4, 0.5), 0.1, (16, 0)) == [(0, 4.0, 10.0), (1, 0.0, 6.0)]
    assert route_lanes(with_lanes(scene), (4, 30), 0.1, (16, 0)) == []


def test_a_route_of_many_lanes_and_points_is_whole():
    points = [(float(i), 0.0) for i in range(2000)]
    scene = scene_of(*([points[i], points[i + 1]] for i in range(600)), points[600:],
                     links={lane: [lane + 1] for lane in range(600)})
    route = core_route(scene, (0, 0), 0.0, (1999, 0))
    assert route.tolist() == [list(point) for point in points]


def test_a_scene_without_its_lane_graph_is_refused():
    scene = native_scene(assign_roles(small_scene(), DriveConfig(control="all")))
    with pytest.raises(CallError, match="scene small has no lane graph; it must be created with lane_start"):
        lane_route(scene, (0, 0), 0.0, (10, 0))


def test_ends_that_are_no_coordinates_are_refused():
    with pytest.raises(CallError, match="goal_x_m of a route is nan; it must be -50000 to 50000"):
        core_route(small_scene(), (0, 0), 0.0, (math.nan, 0))
