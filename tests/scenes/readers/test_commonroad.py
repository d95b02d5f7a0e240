"""Is a CommonRoad scenario read as documented, and is anything else refused with its place?"""

from __future__ import annotations

import gzip
import math
import tracemalloc

import numpy as np
import pytest
from commonroad_writer import (
    document,
    dynamic,
    exact,
    interval,
    lanelet,
    light,
    problem,
    rectangle,
    references,
    sign,
    small_scenario,
    state,
    static,
    straight,
)
from kinds import kind_counts
from samples import sample

from drive_env import Batch, DriveConfig
from drive_env.errors import SceneError
from drive_env.scenes import load_scene, save_scene
from drive_env.scenes.readers.commonroad import elements, has_signature, lanelets, read_commonroad
from drive_env.scenes.scene import LIGHT_STATES, OBJECT_KINDS, ROAD_KINDS
from drive_env.scenes.validate import validate_scene


def read(data):
    return validate_scene(read_commonroad(data, "folder/made.xml", len(data)))


def refusal(data):
    with pytest.raises(SceneError) as caught:
        read_commonroad(data, "x.xml", len(data))
    return str(caught.value)


def points_of(scene, kind):
    """The points of every road of a kind, in the coordinates of the file."""
    roads = scene.roads
    return [np.stack([roads.x_m, roads.y_m], axis=1)[roads.start[road] : roads.start[road + 1]] + scene.origin_m
            for road in np.flatnonzero([ROAD_KINDS[code] == kind for code in roads.kind])]


# ---- the whole ----


@pytest.mark.parametrize("version", ["2018b", "2020a"])
def test_every_part_of_a_scenario_is_read(version):
    scene = read(small_scenario(version))
    objects = scene.objects
    assert (scene.name, scene.scenario_id, scene.dt_s) == ("made", "ZAM_Made-1_1_T-1", 0.1)
    assert scene.provenance.dataset == "CommonRoad"
    assert kind_counts(objects.kind, OBJECT_KINDS) == {"vehicle": 3, "pedestrian": 1}
    assert objects.id.tolist() == [41, 42, 43, 100] and scene.sdc == 3
    assert objects.marked_expert.tolist() == [True, True, True, False]
    assert objects.valid.T.tolist() == [[True] * 3, [False, True, True], [True] * 3, [True, False, False]]
    assert objects.x_m[:, 0] + scene.origin_m[0] == pytest.approx([1010.0, 1011.0, 1012.0], abs=1e-4)
    assert objects.vy_mps[1, 1] == pytest.approx(math.sin(1.5)) and objects.vx_mps[0, 3] == 5.0
    assert objects.length_m[1] == objects.width_m[1] == np.float32(0.8)
    assert objects.goal_m[3] + scene.origin_m == pytest.approx([1080.0, 502.0], abs=1e-4)
    assert objects.goal_m[1] + scene.origin_m == pytest.approx([1030.0, 496.1], abs=1e-4)
    lanes = points_of(scene, "lane")
    assert [lane[:, 1].tolist() for lane in lanes] == [[502.0, 502.0], [506.0, 506.0], [502.0, 502.0]]
    assert scene.roads.id[:3].tolist() == [1, 2, 3] and scene.roads.width_m[:3].tolist() == [4.0] * 3
    assert (scene.lanes.after(0).tolist(), scene.lanes.after(2).tolist()) == ([2], [])
    assert "planning problem 100: the time at the goal, 20 to 30 steps, is not kept" in scene.report.notes


def test_the_vehicle_of_the_planning_problem_drives_and_the_others_replay_their_logs():
    scene = read(small_scenario())
    with Batch(scene, config=DriveConfig(trial_steps=2)) as batch:
        batch.reset()
        assert batch.num_agents == 1
        for frame in range(2):
            vehicles = batch.vehicles()
            for item in np.flatnonzero(scene.objects.valid[frame, :3]):
                away_m = np.hypot(vehicles["x_m"] - scene.objects.x_m[frame, item],
                                  vehicles["y_m"] - scene.objects.y_m[frame, item])
                assert away_m.min() < 1e-4
            batch.step(np.full(1, batch.single_action_space.n // 2))


def test_author_affiliation_and_source_are_noted():
    scene = read(document(straight(1), author="A. Author", source="", affiliation="x" * 400))
    assert scene.report.notes == ["author of the scenario: A. Author", f"affiliation of the scenario: {'x' * 300}"]


def test_a_scenario_is_saved_and_loaded_and_found_by_its_content(tmp_path):
    path = tmp_path / "scenario"
    for data in (small_scenario(), gzip.compress(small_scenario())):
        path.write_bytes(data)
        scene = load_scene(path)
        save_scene(scene, tmp_path / "scene.drv")
        assert load_scene(tmp_path / "scene.drv").objects.id.tolist() == [41, 42, 43, 100]


def test_the_signature_is_the_first_element():
    assert has_signature(small_scenario()) and has_signature(b"\xef\xbb\xbf<!-- x --><commonRoad/>")
    assert not has_signature(b"<osm><commonRoad/></osm>") and not has_signature(b"commonRoad")


# ---- lanelets ----


def test_edges_are_where_no_other_lanelet_is():
    """Around two lanes side by side; not across a lane that crosses them, which has edges outside of them alone."""
    beside = [straight(1, 0.0, parts=references(adjacentLeft=(2, "same"))),
              straight(2, 4.0, parts=references(adjacentRight=(1, "same")))]
    edges = points_of(read(document(*beside)), "edge")
    assert sorted(edge[0, 1] for edge in edges) == [-2.0, 6.0]
    assert all(np.ptp(edge[:, 0]) == 40.0 for edge in edges)
    crossing = lanelet(3, [(18.0, -20.0), (18.0, 20.0)], [(22.0, -20.0), (22.0, 20.0)])
    edges = points_of(read(document(*beside, crossing)), "edge")
    for edge in edges:
        middle_m = (edge[1:] + edge[:-1]) / 2
        inside_road = (np.abs(middle_m[:, 1] - 2.0) < 3.9)
        inside_crossing = np.abs(middle_m[:, 0] - 20.0) < 1.9
        assert not (inside_road & (np.abs(middle_m[:, 0] - 20.0) < 2.1)).any() and not inside_crossing.any()
    assert len(edges) == 8


def test_neighbours_that_the_file_does_not_name_have_no_edge_between_them():
    assert len(points_of(read(document(straight(1), straight(2, 4.0))), "edge")) == 2
    assert len(points_of(read(document(straight(1), straight(2, 4.5))), "edge")) == 4


def test_a_painted_bound_between_lanes_is_one_line():
    same = [straight(1, 0.0, parts=references(adjacentLeft=(2, "same")), marking="dashed"),
            straight(2, 4.0, parts=references(adjacentRight=(1, "same")), marking="dashed")]
    opposite = [straight(1, 0.0, parts=references(adjacentLeft=(2, "opposite"))),
                lanelet(2, [(40.0, 2.0), (0.0, 2.0)], [(40.0, 6.0), (0.0, 6.0)],
                        references(adjacentLeft=(1, "opposite")))]
    for lanes in (same, opposite):
        lines = points_of(read(document(*lanes)), "line")
        assert [line[:, 1].tolist() for line in lines] == [[2.0, 2.0]]
    unpainted = [part.replace("dashed", "no_marking") for part in same]
    assert not points_of(read(document(*unpainted)), "line")


@pytest.mark.parametrize(("kind", "lanes", "crosswalks"), [
    ("urban", 2, 0), ("bicycleLane", 2, 0), ("sidewalk", 1, 0), ("border", 1, 0), ("crosswalk", 1, 1)])
def test_the_type_of_a_lanelet_decides_what_it_is(kind, lanes, crosswalks):
    scene = read(document(straight(1, parts=references(adjacentLeft=(2, "same"))),
                          straight(2, 4.0, parts=f"<laneletType>{kind}</laneletType>")))
    assert (len(points_of(scene, "lane")), len(points_of(scene, "crosswalk"))) == (lanes, crosswalks)
    # A vehicle may not leave its lane for a sidewalk.
    assert len(points_of(scene, "edge")) == 2
    dropped = scene.report.dropped.get("lanelets on which no vehicle drives", 0)
    assert dropped == (kind in ("sidewalk", "border"))


def test_bounds_of_different_numbers_of_points_are_paired_by_their_length():
    bent = lanelet(1, [(0.0, 4.0), (10.0, 4.0), (40.0, 4.0)], [(0.0, 0.0), (40.0, 0.0)])
    assert points_of(read(document(bent)), "lane")[0].tolist() == [[0.0, 2.0], [10.0, 2.0], [40.0, 2.0]]
    other = lanelet(1, [(0.0, 4.0), (40.0, 4.0)], [(0.0, 0.0), (30.0, 0.0), (40.0, 0.0)])
    assert points_of(read(document(other)), "lane")[0].tolist() == [[0.0, 2.0], [30.0, 2.0], [40.0, 2.0]]


def test_the_graph_has_successors_and_predecessors_once():
    lanes = [straight(1, parts=references(successor=2) + references(successor=9) + references(successor=1)),
             straight(2, 0.0, 40.0, 80.0, references(predecessor=1)),
             straight(3, 0.0, 80.0, 99.0, references(predecessor=2))]
    scene = read(document(*lanes))
    assert [scene.lanes.after(road).tolist() for road in range(3)] == [[1], [2], []]
    assert scene.report.dropped == {"successors and predecessors that are no lanelet of the file": 1}


def test_a_map_alone_is_a_scene():
    scene = read(document(straight(1, 502.0, 1000.0, 1040.0)))
    assert (scene.objects.count, scene.objects.frame_count, scene.sdc) == (0, 1, -1)
    assert scene.origin_m.tolist() == [1020.0, 502.0]


def test_lanelets_that_overlap_too_often_are_refused(monkeypatch):
    monkeypatch.setattr(lanelets, "WORK_LIMIT", 100)
    assert "overlap so often" in refusal(document(*(straight(number, 0.1 * number) for number in range(20))))


def test_bounds_of_too_many_pieces_are_refused_before_they_are_cut():
    """Points that are far apart: 2 MB of them would take gigabytes."""
    points = [(1000.0 * (number % 2), 0.001 * number) for number in range(30_000)]
    far = document(lanelet(1, points, [(x, y - 3.0) for x, y in points]))
    tracemalloc.start()
    assert refusal(far) == "lanelets: their bounds have more than 1048576 pieces of up to 1 m"
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < elements.parsed_bytes_at_most(far)


# ---- obstacles ----


@pytest.mark.parametrize(("kind", "read_as"), [
    ("car", "vehicle"), ("truck", "vehicle"), ("bus", "vehicle"), ("taxi", "vehicle"), ("motorcycle", "vehicle"),
    ("bicycle", "cyclist"), ("pedestrian", "pedestrian"), ("constructionZone", "other"), ("unknown", "other"),
    ("spaceship", "other")])
def test_the_kind_of_an_object_is_that_of_its_type(kind, read_as):
    scene = read(document(straight(1), dynamic(5, [(0, 1.0, 0.0, 0.0, 1.0)], kind)))
    assert OBJECT_KINDS[scene.objects.kind[0]] == read_as
    assert any("spaceship" in reason for reason in scene.report.dropped) == (kind == "spaceship")


def test_the_centre_and_turn_of_a_rectangle_move_and_turn_the_box():
    parts = "<orientation>0.5</orientation><center><x>1.0</x><y>2.0</y></center>"
    scene = read(document(straight(1), static(5, 10.0, 0.0, math.pi / 2, shape=rectangle(6.0, 3.0, parts))))
    at = [scene.objects.x_m[0, 0], scene.objects.y_m[0, 0]] + scene.origin_m
    assert at == pytest.approx([8.0, 1.0], abs=1e-4)
    assert scene.objects.heading_rad[0, 0] == pytest.approx(math.pi / 2 + 0.5, abs=1e-6)
    assert (scene.objects.length_m[0], scene.objects.width_m[0]) == (6.0, 3.0)


@pytest.mark.parametrize(("shape", "size_m", "centre_m"), [
    ("<circle><radius>1.5</radius></circle>", (3.0, 3.0), (0.0, 0.0)),
    ("<polygon><point><x>-1</x><y>0</y></point><point><x>3</x><y>1</y></point><point><x>3</x><y>-1</y></point>"
     "</polygon>", (4.0, 2.0), (1.0, 0.0)),
    (rectangle(2.0, 2.0) + rectangle(2.0, 2.0, "<center><x>4</x><y>0</y></center>"), (6.0, 2.0), (2.0, 0.0)),
    (rectangle(2.0, 4.0, f"<orientation>{math.pi / 2}</orientation>") + "<circle><radius>0.5</radius></circle>",
     (4.0, 2.0), (0.0, 0.0))])
def test_the_box_of_other_shapes_is_that_around_them(shape, size_m, centre_m):
    scene = read(document(straight(1), static(5, 10.0, 0.0, shape=shape)))
    objects = scene.objects
    assert (objects.length_m[0], objects.width_m[0]) == pytest.approx(size_m)
    assert [objects.x_m[0, 0], objects.y_m[0, 0]] + scene.origin_m == pytest.approx(np.add([10.0, 0.0], centre_m))
    assert scene.report.imputed["boxes of obstacles: those around circles, polygons, or several shapes"] == 1


def test_velocities_that_are_absent_are_those_between_positions():
    scene = read(document(straight(1), dynamic(5, [(0, 0.0, 0.0), (1, 1.0, 0.0), (3, 5.0, 2.0)])))
    assert scene.objects.vx_mps[[0, 1, 3], 0] == pytest.approx([10.0, 5.0 / 0.3, 20.0], abs=1e-4)
    assert scene.objects.vy_mps[3, 0] == pytest.approx(10.0) and not scene.objects.valid[2, 0]
    assert scene.report.imputed["velocities, from successive positions"] == 3


def test_intervals_are_read_as_their_middle_and_regions_as_their_centre():
    uncertain = (f"<initialState><position>{rectangle(2.0, 1.0, '<center><x>7</x><y>1</y></center>')}</position>"
                 + interval("orientation", 0.2, 0.4) + interval("velocity", 2.0, 4.0) + exact("time", 0)
                 + "</initialState>")
    obstacle = (f'<dynamicObstacle id="5"><type>car</type><shape>{rectangle()}</shape>{uncertain}</dynamicObstacle>')
    scene = read(document(straight(1), obstacle))
    assert [scene.objects.x_m[0, 0], scene.objects.y_m[0, 0]] + scene.origin_m == pytest.approx([7.0, 1.0])
    assert scene.objects.heading_rad[0, 0] == pytest.approx(0.3)
    assert np.hypot(scene.objects.vx_mps[0, 0], scene.objects.vy_mps[0, 0]) == pytest.approx(3.0)
    assert scene.report.imputed["positions: the centres of regions"] == 1


def test_obstacles_without_states_are_dropped_and_counted():
    sets = dynamic(5, [(0, 0.0, 0.0, 0.0, 1.0)]).replace("</dynamicObstacle>", "<occupancySet/></dynamicObstacle>")
    scene = read(document(straight(1), sets, '<phantomObstacle id="6"/>', '<environmentObstacle id="7"/>', "<odd/>"))
    assert scene.objects.count == 0
    assert scene.report.dropped == {
        "obstacles with sets of occupied places in place of a trajectory": 1,
        "phantom obstacles, which are sets of places": 1, "environment obstacles, such as buildings": 1,
        "elements 'odd', which are not read": 1}


# ---- planning problems ----


@pytest.mark.parametrize(("goal", "goal_m", "heading_rad"), [
    (f"<position>{rectangle(4.0, 2.0, '<center><x>30</x><y>1</y></center>')}</position>", (30.0, 1.0), math.nan),
    ("<position><circle><radius>2</radius><center><x>20</x><y>3</y></center></circle></position>", (20.0, 3.0),
     math.nan),
    ('<position><lanelet ref="2"/><lanelet ref="1"/></position>' + interval("orientation", -0.2, 0.6), (80.0, 0.0),
     0.2),
    ('<position><lanelet ref="1"/></position>' + interval("orientation", -3.1, 3.1), (40.0, 0.0), math.nan),
    (interval("time", 10, 20), (40.0, 0.0), math.nan), ("", (40.0, 0.0), math.nan)])
def test_the_goal_is_the_centre_of_a_region_or_the_end_of_a_lanelet(goal, goal_m, heading_rad):
    scene = read(document(straight(1), straight(2, 0.0, 40.0, 80.0), problem(100, 3.0, 0.0, goal=goal)))
    assert scene.objects.goal_m[0] + scene.origin_m == pytest.approx(goal_m, abs=1e-4)
    assert scene.objects.goal_heading_rad[0] == pytest.approx(heading_rad, nan_ok=True)


def test_all_planning_problems_are_driven_and_the_first_is_the_recording_vehicle():
    data = document(straight(1), static(5, 20.0, 0.0), problem(100, 3.0, 0.0), problem(101, 12.0, 0.0))
    scene = read(data)
    assert (scene.sdc, scene.objects.id.tolist()) == (1, [5, 100, 101])
    with Batch(scene, config=DriveConfig(trial_steps=2)) as batch:
        assert batch.num_agents == 2


def test_ids_that_are_not_unique_are_replaced_by_indices():
    scene = read(document(straight(1), static(5, 20.0, 0.0), problem(5, 3.0, 0.0)))
    assert scene.objects.id.tolist() == [0, 1]


# ---- lights and signs ----


@pytest.mark.parametrize(("offset", "shown"), [(None, "rrrryyggg"), (0, "rrrryyggg"), (2, "ggrrrryyg"),
                                               (-3, "ryygggrrr"), (11, "ggrrrryyg")])
def test_a_light_shows_what_its_cycle_has_at_each_step(offset, shown):
    """Colour at step k: that of the cycle (k - timeOffset) steps after its start."""
    cycle = light(7, [(2, "red"), (2, "redYellow"), (2, "yellow"), (3, "green")], offset)
    data = document(straight(1, parts=references(trafficLightRef=7)), cycle,
                    dynamic(5, [(step, 1.0 + step, 0.0, 0.0, 10.0) for step in range(9)]), problem(100, 20.0, 0.0))
    scene = read(data)
    with Batch(scene, config=DriveConfig(traffic_controls=True, trial_steps=8)) as batch:
        batch.reset()
        seen = ""
        for _ in range(8):
            seen += LIGHT_STATES[int(np.ravel(batch.light_states())[0])][0]
            batch.step(np.full(batch.num_agents, batch.single_action_space.n // 2))
    assert seen == shown[:8]


def test_a_stop_line_is_that_of_the_file_with_its_left_end_first_or_the_end_of_the_lanelet():
    inside = "<stopLine>" + "".join(f"<point><x>35</x><y>{y}</y></point>" for y in (-2, 2)) + "</stopLine>"
    for parts, x_m in ((inside, 35.0), ("<stopLine/>", 40.0), ("", 40.0)):
        scene = read(document(straight(1, parts=parts + references(trafficLightRef=7)), light(7, [(5, "red")])))
        line_m = scene.traffic_controls.line_m[0] + np.tile(scene.origin_m, 2)
        assert line_m == pytest.approx([x_m, 2.0, x_m, -2.0])


def test_lights_that_the_stop_line_names_count_once_and_inactive_ones_are_off():
    parts = references(trafficLightRef=7) + "<stopLine>" + references(trafficLightRef=7) + "</stopLine>"
    scene = read(document(straight(1, parts=parts), light(7, [(5, "red")], parts="<active>false</active>")))
    assert scene.traffic_controls.count == 1 and len(scene.traffic_controls.phase_state) == 0


@pytest.mark.parametrize(("benchmark", "name", "kind"), [
    ("DEU_A-1_1_T-1", "206", 2), ("DEU_A-1_1_T-1", "205", 3), ("ZAM_A-1_1_T-1", "206", 2),
    ("USA_A-1_1_T-1", "R1-1", 2), ("USA_A-1_1_T-1", "r1-2", 3), ("C-USA_A-1_1_T-1", "R1-1", 2),
    ("ESP_A-1_1_T-1", "r2", 2), ("ESP_A-1_1_T-1", "R1", 3), ("DEU_A-1_1_T-1", "R1-1", None),
    ("USA_A-1_1_T-1", "206", 2), ("DEU_A-1_1_T-1", "306", None)])
def test_signs_mean_what_they_mean_in_the_country_of_the_scenario(benchmark, name, kind):
    scene = read(document(straight(1, parts=references(trafficSignRef=8)), sign(8, (name,)), benchmark=benchmark))
    assert scene.traffic_controls.kind.tolist() == ([] if kind is None else [kind])
    assert ("traffic signs without an effect" in scene.report.dropped) == (kind is None)


def test_the_lowest_speed_limit_of_a_lanelet_is_in_metres_per_second():
    lanes = [straight(1, parts=references(trafficSignRef=8) + references(trafficSignRef=9)), straight(2, 4.0)]
    scene = read(document(*lanes, sign(8, ("274", 13.9), ("206",)), sign(9, ("274", 8.3))))
    assert scene.roads.speed_limit_mps[:2] == pytest.approx([8.3, 0.0])
    assert scene.traffic_controls.kind.tolist() == [2]


def test_references_to_what_the_file_lacks_are_counted():
    parts = references(trafficSignRef=8) + references(trafficLightRef=9)
    scene = read(document(straight(1, parts=parts)))
    assert scene.traffic_controls.count == 0
    assert scene.report.dropped == {"references to traffic lights and signs that are not in the file": 2}


# ---- faults ----


CAR = dynamic(5, [(0, 1.0, 0.0, 0.0, 1.0), (1, 2.0, 0.0, 0.0, 1.0)])
LANE = straight(1)


@pytest.mark.parametrize(("data", "words"), [
    (b"<commonRoad", "line 1, column 1: unclosed token"),
    (b"<commonRoad></commonroad>", "line 1, column 15: mismatched tag"),
    (b'<?xml version="1.0" encoding="nonsense"?><commonRoad/>', "line 1, column "),
    (b"<!DOCTYPE commonRoad [<!ENTITY a 'b'>]><commonRoad>&a;</commonRoad>",
     "it has a document type; it must have none"),
    (b"<commonRoad>" + b"<a>" * 40 + b"</a>" * 40 + b"</commonRoad>", "it is nested more than 32 deep"),
    (document(LANE, version="2017a"), "the document: commonRoadVersion is '2017a'; it must be one of 2018b, 2020a"),
    (document(LANE, dt="fast"), "the document: timeStepSize is 'fast'; it must be a number from 0.0001 to 2"),
    (document(LANE, dt="nan"), "timeStepSize is 'nan'"), (document(LANE, dt=3), "timeStepSize is '3'"),
    (document(), "the document has no lanelet, obstacle or planning problem"),
    (document(LANE.replace('id="1"', "")), "lanelet 1 has no id"),
    (document(LANE.replace('id="1"', 'id="one"')), "lanelet 1: id is 'one'; it must be a whole number"),
    (document(LANE, LANE), "lanelet 2 has the id 1, as lanelet 1 has; each must be unique"),
    (document(LANE.replace("leftBound", "left")), "lanelet 1 has no leftBound"),
    (document(lanelet(1, [(0, 0)], [(0, 1), (1, 1)])), "lanelet 1: leftBound has 1 points; it must have at least 2"),
    (document(LANE.replace("<x>40.0</x>", "<x>far</x>", 1)),
     "lanelet 1: leftBound: point 2: x is 'far'; it must be a number from -1e+09 to 1e+09"),
    (document(LANE.replace("<x>40.0</x>", "<x>1_0</x>", 1)), "x is '1_0'"),
    (document(LANE.replace("<x>40.0</x>", "<x>inf</x>", 1)), "x is 'inf'"),
    (document(LANE.replace("<x>40.0</x>", "", 1)), "lanelet 1: leftBound: point 2 has no x"),
    (document(straight(1, parts="<successor/>")), "lanelet 1: successor has no ref"),
    (document(straight(1, 0.0, 0.0, 2e5)), "m from the scene's origin"),
    (document(CAR.replace('id="5"', "")), "the document: element 1, dynamicObstacle has no id"),
    (document(dynamic(5, [(0, 1.0, 0.0)], version="2018b").replace(">dynamic<", ">odd<")),
     "obstacle 5: role is 'odd'; it must be static or dynamic"),
    (document(CAR.replace("<type>car</type>", "")), "obstacle 5 has no type"),
    (document(dynamic(5, [(0, 1.0, 0.0)], shape="<blob/>")), "obstacle 5: shape has no rectangle, circle or polygon"),
    (document(dynamic(5, [(0, 1.0, 0.0)], shape=rectangle(300.0))), "length is '300.0'; it must be a number from 0 to"),
    (document(dynamic(5, [(0, 1.0, 0.0)], shape=rectangle(0.0))),
     "obstacle 5: shape: its length is 0; it must be 0.01 to 200"),
    (document(CAR.replace("<exact>1</exact></time>", "<exact>0</exact></time>")),
     "obstacle 5: it has two states at time 0"),
    (document(CAR.replace("<exact>1</exact></time>", "<exact>1.5</exact></time>")), "obstacle 5: state 1: time is 1.5"),
    (document(CAR.replace("<exact>1</exact></time>", "</time>")), "obstacle 5: state 1: time has no intervalStart"),
    (document(CAR.replace(exact("time", 1), "")), "obstacle 5: state 1 has no time"),
    (document(dynamic(5, [(0, 1.0, 0.0, 0.0, 201.0)])), "velocity is '201.0'; it must be a number from -200 to 200"),
    (document(dynamic(5, [(0, 1.0, 0.0), (10**7, 1.0, 0.0)])), "obstacle 5: state 1: time is '10000000'"),
    (document(dynamic(5, [(0, 1.0, 0.0), (1, 2e5, 0.0)])), "obstacle 5: x at time"),
    (document(*(static(number, 0.0, 0.0) for number in range(4)), dynamic(99, [(0, 1.0, 0.0), (999_999, 1.0, 0.0)])),
     "obstacles: 5 objects over 1000000 frames; at most 4194304 states are allowed"),
    (document(LANE, '<planningProblem id="100"/>'), "planning problem 100 has no initialState"),
    (document(LANE, problem(100, 0.0, 0.0, goal='<position><lanelet ref="9"/></position>')),
     "planning problem 100: goalState 1: position: lanelet 9 is not in the file"),
    (document(LANE, light(7, [(0, "red")])), "traffic light 7: cycleElement 1: duration is '0'; it must be a whole"),
    (document(LANE, light(7, [(5, "pink")])),
     "traffic light 7: cycleElement 1: color is 'pink'; it must be one of red"),
    (document(LANE, sign(8, ("274", "fast"))), "traffic sign 8: trafficSignElement 1: additionalValue is 'fast'"),
], ids=lambda value: value if isinstance(value, str) else "")
def test_a_fault_is_named_with_its_place_and_value(data, words):
    assert words in refusal(data)


def test_a_small_file_cannot_take_much_memory():
    data = b"<commonRoad>" + b"<a/>" * 2_000_000 + b"</commonRoad>"
    with pytest.raises(SceneError, match="which may take 532000600 in memory once parsed; at most 90000000"):
        read_commonroad(data, "x", 10_000)


@pytest.mark.parametrize("part", [
    "<a/>", '<a b="1"/>', '<a b="1" c="2"/>', '<a b="1" c="" d="" e="" f="" g="" h="" i="8"/>', "<a>text</a>", "<a/>é",
    "<a><b/></a>", "<a>" + "<b/>" * 30 + "</a>", "<a>" + "x" * 1000 + "</a>", "<a>" + "x" * 1000 + "\U0001f600</a>",
    "&amp;" * 100, "<{}/>", "<a {}='x'/>", "<a b='{}'/>"])
def test_the_memory_of_a_document_is_bounded_before_it_is_parsed(part):
    count = max(1, 400_000 // len(part))
    parts = (part.replace("{}", f"n{number}") for number in range(count))
    data = f"<r>{''.join(parts)}</r>".encode()
    tracemalloc.start()
    root = elements.parsed(data, 10**9)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert root.tag == "r" and peak < elements.parsed_bytes_at_most(data)


# ---- real files ----


def test_us101_agrees_with_an_independent_reader():
    scene = load_scene(sample("commonroad/USA_US101-3_3_T-1.xml"))
    objects = scene.objects
    assert kind_counts(scene.roads.kind, ROAD_KINDS)["lane"] == 12
    assert objects.id.tolist()[:1] == [363] and scene.sdc == 12 and objects.id[12] == 396
    assert objects.valid.shape == (32, 13) and objects.valid[:, :12].all() and objects.valid[:, 12].sum() == 1
    assert [objects.x_m[0, 0], objects.y_m[0, 0]] + scene.origin_m == pytest.approx([20.3796, -18.5216], abs=1e-4)
    assert (scene.scenario_id, scene.dt_s) == ("USA_US101-3_3_T-1", 0.1)


def test_the_tutorial_agrees_with_an_independent_reader():
    scene = load_scene(sample("commonroad/ZAM_Tutorial-1_2_T-1.xml"))
    objects = scene.objects
    assert objects.id.tolist() == [43, 42, 44, 100] and objects.valid.shape == (41, 4)
    assert [objects.x_m[40, 0], objects.y_m[40, 0]] + scene.origin_m == pytest.approx([30.0, 3.5], abs=1e-4)
    assert objects.heading_rad[0, 0] == np.float32(0.02) and not objects.vx_mps[:, 0].any()
    assert kind_counts(scene.roads.kind, ROAD_KINDS) == {"lane": 3, "edge": 2}
    assert objects.goal_heading_rad[3] == pytest.approx((0.95091 - 1.0491) / 2, abs=1e-6)


def test_a_state_of_the_writer_has_its_parts():
    assert state(3, 1, 2, 0.5).count("<exact>") == 2 and "velocity" in state(3, 1, 2, 0.5, 4.0)
