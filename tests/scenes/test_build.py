"""Is a scene of roads along polylines the one that was drawn? Lanes, links, road edges, vehicles; what is refused."""

import hashlib
import math

import numpy as np
import pytest
from boxes import point_segment_m
from driven_scenes import drive

from drive_env import Batch, DriveConfig, Road, SceneError, Vehicle, build_scene
from drive_env.scenes import ROAD_KINDS

KIND = {name: code for code, name in ROAD_KINDS.items()}
S_CURVE = [(0, 0), (80, 0), (140, 50), (220, 50)]
BEND = [(0, 0), (60, 0), (60, 60)]
STREET = Road([(-150, 0), (150, 0)])
BACK = Road([(0, 150), (0, 300), (-150, 300), (-300, 200), (-300, 0), (-150, 0)])


def over(height_m):
    """A road that crosses `STREET` on a bridge."""
    return Road([(0, -150, 0), (0, -60, height_m), (0, 60, height_m), (0, 150, 0)])


def polylines(scene, kind):
    xy_m = np.stack([scene.roads.x_m, scene.roads.y_m], axis=1).astype(np.float64)
    return [xy_m[scene.roads.start[i]:scene.roads.start[i + 1]] for i in np.flatnonzero(scene.roads.kind == KIND[kind])]


def distances_m(points, polyline):
    return point_segment_m(points, np.stack([polyline[:-1], polyline[1:]], axis=1)).min(axis=1)


def links(scene):
    return {(before, int(after)) for before in range(scene.roads.count) for after in scene.lanes.after(before)}


def test_the_lane_driver_reaches_all_goals_of_an_s_curve_and_of_the_road_joined_to_it():
    curve, onward = Road(S_CURVE, lanes=2), Road([(220, 50), (320, 50)], lanes=2)
    cars = [Vehicle(curve.pose(10.0, lane), onward.pose(90.0, lane), 8.0) for lane in (0, 1)]
    cars += [Vehicle(onward.pose(90.0, lane, oncoming=True), curve.pose(10.0, lane, oncoming=True)) for lane in (0, 1)]
    outcomes, _, _ = drive(build_scene([curve, onward], cars), 600, traffic_controls=True)
    assert outcomes == ["goal"] * 4


def test_the_lane_driver_drives_round_a_ring():
    ring = Road([(0, 0), (100, 0), (100, 80), (0, 80), (0, 0)], one_way=True)
    # Past the place where the ring begins and ends, in the middle of its first leg.
    car = Vehicle(ring.pose(ring.length_m - 30.0), ring.pose(100.0), 5.0)
    assert drive(build_scene([ring], [car]), 600)[0] == ["goal"]


@pytest.mark.parametrize("one_way, offsets_m", [(False, (1.75, 5.25)), (True, (-1.75, 1.75))])
def test_lanes_are_as_far_from_the_line_as_their_widths_say_and_lead_its_way(one_way, offsets_m):
    """On straight roads to the right; the other direction is the mirror image."""
    scene = build_scene([Road([(0, 0), (100, 0)], lanes=2, one_way=one_way)], [])
    found = [(float(lane[0, 1]), float(lane[-1, 1]), lane[-1, 0] > lane[0, 0]) for lane in polylines(scene, "lane")]
    ahead = [(-offset_m, -offset_m, True) for offset_m in offsets_m]
    assert found == (ahead if one_way else ahead + [(offset_m, offset_m, False) for offset_m in offsets_m])


@pytest.mark.parametrize("lanes, one_way", [(1, True), (1, False), (2, False), (3, True)])
def test_edges_are_one_metre_beside_the_outermost_lanes_in_bends_too(lanes, one_way):
    road = Road([(0, 0), (60, 0), (120, 60), (120, 120)], lanes=lanes, lane_width_m=3.2, one_way=one_way)
    scene = build_scene([road], [])
    edge, = polylines(scene, "edge")
    outer_m = lanes * 3.2 / (2 if one_way else 1) + 1.0
    centre = np.array([road.path.at([at])[:2, 0] for at in np.linspace(0.0, road.length_m, 2000)])
    gaps_m = distances_m(edge, centre)
    # Beyond both ends, the edge is a cap 4 m away.
    assert gaps_m.max() <= math.hypot(outer_m, 4.0) + 0.05
    beside = [gap_m for gap_m, point in zip(gaps_m, edge, strict=True) if 0 < point[0] and point[1] < 120]
    assert np.abs(np.array(beside) - outer_m).max() < 0.05
    assert min(distances_m(lane, edge).min() for lane in polylines(scene, "lane")) > 1.0 + 1.6 - 0.05


def test_a_bend_is_an_arc_that_touches_both_legs():
    """It replaces two fifths of both legs: 0.4 * 60 m before and after the right angle."""
    path = Road(BEND).path
    arc, = [piece for piece in path.pieces if piece.start_per_m]
    assert arc.length_m == pytest.approx(24.0 * math.pi / 2)
    assert arc.start_per_m == arc.end_per_m == pytest.approx(1 / 24.0)
    assert path.end[:2] == pytest.approx((60.0, 60.0))


def test_points_in_a_row_make_the_road_of_the_first_and_the_last():
    """Their directions differ by roundings alone, for which an arc would have no length."""
    points = [(0.1 * k, 0.3 * k) for k in range(0, 100, 7)]
    road = Road(points, one_way=True)
    assert road.length_m == pytest.approx(math.dist(points[0], points[-1]))
    assert road.path.end[:2] == pytest.approx(points[-1])


def test_lanes_continue_where_roads_join_end_to_start():
    first, second = Road([(0, 0), (50, 0)], lanes=2), Road([(50, 0), (100, 0)], lanes=2)
    # Lanes of a road: ahead 0 and 1, back 2 and 3; those of the second begin at 4.
    assert links(build_scene([first, second], [])) == {(0, 4), (1, 5), (6, 2), (7, 3)}


def test_a_road_that_is_drawn_against_the_other_continues_it():
    first, second = Road([(0, 0), (50, 0)]), Road([(100, 0), (50, 0)])
    assert links(build_scene([first, second], [])) == {(0, 3), (2, 1)}


def test_a_ramp_leaves_a_lane():
    main = Road([(0, 0), (100, 0)], lanes=2, one_way=True)
    onward, ramp = Road([(100, 0), (200, 0)], lanes=2, one_way=True), Road([(100, -1.75), (140, -1.75), (180, -30)],
                                                                          one_way=True)
    assert links(build_scene([main, onward, ramp], [])) == {(0, 2), (1, 3), (1, 4)}


def test_where_roads_cross_no_edge_is_on_either():
    scene = build_scene([Road([(-60, 0), (60, 0)]), Road([(0, -60), (0, 60)])], [])
    edges = np.concatenate(polylines(scene, "edge"))
    assert min(distances_m(edges, lane).min() for lane in polylines(scene, "lane")) > 2.7


def test_cars_on_a_bridge_and_below_it_do_not_meet():
    """Both are at the crossing at once; on one level, one of them has to wait."""
    bridge = over(6.0)
    cars = [Vehicle(STREET.pose(90.0), STREET.pose(280.0), 13.0), Vehicle(bridge.pose(90.0), bridge.pose(280.0), 13.0)]
    outcomes, found, _ = drive(build_scene([STREET, bridge], cars), 300)
    assert outcomes == ["goal"] * 2
    assert found["speed_mps"].min() > 12.0
    flat = Road([point[:2] for point in bridge.centre_m])
    cars = [cars[0], Vehicle(flat.pose(90.0), flat.pose(280.0), 13.0)]
    assert drive(build_scene([STREET, flat], cars), 300)[1]["speed_mps"].min() < 10.0


def test_each_road_above_another_has_its_own_edges_at_its_own_height():
    below, above = polylines(scene := build_scene([STREET, over(6.0)], []), "edge")
    assert np.abs(below[:, 1]).max() == np.abs(above[:, 0]).max() == 4.5
    edge = np.repeat(scene.roads.kind, np.diff(scene.roads.start)) == KIND["edge"]
    z_m, y_m = scene.roads.z_m[edge][len(below):], above[:, 1]
    assert (scene.roads.z_m[edge][:len(below)] == 0.0).all()
    # 6 m on the bridge, and straight ramps to it; an edge has the height of the nearest sample of a lane, 5 m apart.
    assert np.abs(z_m - np.interp(np.abs(y_m), [60.0, 150.0], [6.0, 0.0])).max() <= 5.0 * 6.0 / 90.0


def test_cars_of_a_scene_with_heights_are_on_their_roads():
    bridge = over(6.0)
    scene = build_scene([STREET, bridge], [Vehicle(bridge.pose(150.0), bridge.pose(290.0)), Vehicle((-90.0, -1.75))])
    assert scene.objects.z_m[0] == pytest.approx([6.75, 0.75])
    assert scene.objects.goal_z_m[0] == pytest.approx(0.75 + 6.0 * bridge.pose(290.0)[3] / 6.0, abs=1e-3)
    assert 0.5 < bridge.pose(290.0)[3] < 1.0


def test_a_vehicle_starts_along_the_lane_it_is_on():
    road = Road(S_CURVE)
    pose = road.pose(116.0)
    scene = build_scene([road], [Vehicle(pose[:2], (200.0, 48.25), 10.0), Vehicle((5.0, 1.75), (5.0, -1.75))])
    # On the straight part of the middle leg.
    ahead_rad = math.atan2(50, 60)
    assert scene.objects.heading_rad[0] == pytest.approx([ahead_rad, -math.pi], abs=1e-3)
    assert scene.objects.vx_mps[0, 0] == pytest.approx(10.0 * math.cos(ahead_rad), abs=0.01)
    assert scene.objects.vy_mps[0, 0] == pytest.approx(10.0 * math.sin(ahead_rad), abs=0.01)


def test_a_vehicle_without_a_goal_is_parked_and_stands():
    road = Road([(0, 0), (100, 0)])
    scene = build_scene([road], [Vehicle(road.pose(10.0), road.pose(90.0)), Vehicle((50.0, -2.0, 0.1))])
    with Batch(scene, config=DriveConfig(others="idm", trial_steps=50)) as batch:
        batch.reset()
        assert batch.num_agents == 1
        before = batch.vehicles()["x_m"]
        batch.step(np.full(1, batch.single_action_space.n - 1))
        assert (batch.vehicles()["x_m"] != before).sum() <= 1
        assert (batch.vehicles()["x_m"] == 50.0).any()


def test_a_heading_of_a_goal_is_its_own():
    road = Road([(0, 0), (100, 0)])
    goals = build_scene([road], [Vehicle((10.0, -1.75), (90.0, -1.75, math.pi)), Vehicle((20.0, -1.75), (90.0, -1.75))])
    assert goals.objects.goal_heading_rad[0] == np.float32(-math.pi)
    assert np.isnan(goals.objects.goal_heading_rad[1])


def test_a_dense_polyline_makes_the_curve_it_was_sampled_from():
    """Within 2 cm of a circle, and without segments so short that their direction is lost."""
    angle_rad = np.linspace(0.0, 2.0, 41)
    road = Road(40.0 * np.stack([np.cos(angle_rad), np.sin(angle_rad)], axis=1), one_way=True)
    lane, = polylines(build_scene([road], []), "lane")
    assert np.abs(np.hypot(*lane.T) - 40.0).max() < 0.02
    assert np.hypot(*np.diff(lane, axis=0).T).min() > 0.15


def test_the_bytes_of_a_scene_are_those_of_every_platform():
    """Recorded on Linux on x86-64, with an S-curve, a joint, a ring and a bridge."""
    curve, onward = Road(S_CURVE, lanes=2), Road([(220, 50), (320, 50)], lanes=2)
    ring = Road([(0, 200), (100, 210), (90, 300), (0, 280), (0, 200)], one_way=True)
    bridge = Road([(30, -300, 0), (40, -150, 8), (50, -100, 8), (70, 20, 7.5), (60, 120, 6)])
    scene = build_scene([curve, onward, ring, bridge], [Vehicle(curve.pose(30.0), onward.pose(70.0), 7.3),
                                                        Vehicle(bridge.pose(111.0), (64.0, 90.0))])
    found = hashlib.sha256()
    for part in (scene.roads, scene.lanes, scene.objects):
        for values in vars(part).values():
            found.update(values.tobytes())
    assert found.hexdigest() == "8c036994a5e57832fef8198a763015ad68aef306a20c99f7aa1835b8f728e963"


def test_the_bytes_of_a_scene_do_not_depend_on_the_kind_of_its_numbers():
    of_floats = build_scene([Road([(0.0, 0.0), (60.0, 0.0), (60.0, 60.0)], lanes=2)],
                            [Vehicle((5.0, -1.75), (9.0, 0.0))])
    of_arrays = build_scene([Road(np.array(BEND, np.float32), lanes=np.int64(2))],
                            [Vehicle(np.array([5.0, -1.75], np.float32), (np.float32(9), 0))])
    for part in ("roads", "objects"):
        ours, others = vars(getattr(of_floats, part)), vars(getattr(of_arrays, part))
        assert all(ours[name].tobytes() == others[name].tobytes() for name in ours)


@pytest.mark.parametrize("make, words", [
    (lambda: Road([(0, 0)]), "at least 2 points"),
    (lambda: Road([(0, 0, 0, 0), (9, 0, 0, 0)]), "2 or 3 numbers each"),
    (lambda: Road("line"), "centre_m is 'line'"),
    (lambda: Road([(0, 0), (math.nan, 0)]), r"centre_m\[1\] is \[nan, 0.0\]; coordinates must be from"),
    (lambda: Road([(0, 0), (50, 0), (50.5, 0)]), r"centre_m\[2\] is 0.5 m from the point before it; .* at least 1 m"),
    (lambda: Road(BEND, lanes=0), "lanes is 0; it must be a whole number from 1 to 8"),
    (lambda: Road(BEND, lane_width_m=9.0), "lane_width_m is 9.0; it must be a number from 2.5 to 6, in m"),
    (lambda: Road(BEND, width=3.0), "did you mean lane_width_m"),
    (lambda: Road([(0, 0), (20, 0), (20, 20)], lanes=2), "point 1 .* of at most 8 m; it must be at least 9.45 m"),
    (lambda: Road([(0, 0), (50, 0), (0, 0.5)]), "radius of at most"),
    (lambda: Road([(0, 0), (50, 0), (0, 0)]), "radius of at most 0 m"),
    (lambda: Road([(0, 0), (100, 0), (100, 60), (50, 60), (50, -60)]), r"on the road itself at \(\S+, \S+\) m"),
    (lambda: Road([(0, 0), (100, 0), (130, 20), (100, 40), (50, 40), (20, 5)]), "must not cross or touch itself"),
    (lambda: Road(BEND).pose(500.0), "along_m is 500.0; it must be a number from 0 to"),
    (lambda: Road(BEND).pose(5.0, lane=1), "lane is 1; it must be a whole number from 0 to 0"),
    (lambda: Road(BEND, one_way=True).pose(5.0, oncoming=True), "False on a one-way road"),
    (lambda: build_scene([], []), "roads has 0 roads"),
    (lambda: build_scene(Road(BEND), []), "roads is a Road; it must be a list"),
    (lambda: build_scene([BEND], []), r"roads\[0\] is a list; it must be a Road"),
    (lambda: build_scene([Road(BEND)], [(0, 0)]), r"vehicles\[0\] is a tuple; it must be a Vehicle"),
    (lambda: build_scene([Road(BEND)], [Vehicle((30, 30), (0, 0))]), r"vehicles\[0\].start is 28.2 m.* at most 1.75 m"),
    (lambda: build_scene([Road(BEND)], [Vehicle((1,), (0, 0))]), r"vehicles\[0\].start is \(1,\); .* 2 to 4 numbers"),
    (lambda: build_scene([Road(BEND)], [Vehicle((1, 1), "ab")]), r"vehicles\[0\].goal\[0\] is 'a'"),
    (lambda: build_scene([Road(BEND)], [Vehicle((1, 1), (9, 1), math.inf)]), r"vehicles\[0\].speed_mps is inf"),
    (lambda: build_scene([Road(BEND)], [Vehicle((1, 1), (9, 1), 5.0, length_m=0.0)]), "length_m"),
    (lambda: build_scene([Road(BEND), Road([(60, 60.5), (60, 90)])], []),
     "end of road 0 is 0.5 m from the start of road 1, their directions differ by 0 rad"),
    (lambda: build_scene([Road(BEND), Road([(60, 60), (90, 60)])], []), "directions differ by 1.57 rad"),
    (lambda: build_scene([Road(BEND, lanes=2, one_way=True), Road([(60, 60), (60, 90)], one_way=True)], []),
     "lanes that continue each other"),
    (lambda: Road([(0, 0, 0), (10, 0, 3)]), "rises or falls by 0.3 m per metre after its point 0; at most 0.25 m"),
    (lambda: build_scene([Road(BEND), Road([(60, 60, 2), (60, 90, 2)])], []), "their heights by 2 m"),
    (lambda: build_scene([STREET, over(4.0)], []), r"roads 0 and 1 differ by 4 m in height at .*, or at least 4.5 m"),
    (lambda: build_scene([STREET, over(6.0), BACK], []), "roads 0 and 1 lie above each other by .* are joined"),
])
def test_what_cannot_be_drawn_is_refused_with_its_value(make, words):
    with pytest.raises((SceneError, TypeError), match=words):
        make()
