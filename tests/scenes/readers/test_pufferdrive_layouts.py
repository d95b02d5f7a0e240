"""Is each layout of a PufferDrive `.bin` told apart by its content, and read to the same scene?"""

from __future__ import annotations

import math
import struct

import numpy as np
import pytest
from bin_writer import file_bytes, object_bytes, road_bytes, small_file
from kinds import kind_counts
from later_bin_writer import (
    LATER,
    MAP,
    RELEASES,
    agent,
    cone,
    control,
    floats,
    ints,
    november_bytes,
    release_bytes,
    road,
    small_release,
    tails,
)
from samples import sample

from drive_env import Batch, DriveConfig
from drive_env.errors import SceneError
from drive_env.scenes import load_scene, save_scene
from drive_env.scenes.readers import pufferdrive
from drive_env.scenes.readers.pufferdrive import LAYOUTS, contents_of, read_pufferdrive, same
from drive_env.scenes.readers.pufferdrive.contents import LayoutError
from drive_env.scenes.scene import LIGHT_STATES, ROAD_KINDS
from drive_env.scenes.validate import validate_scene

NOVEMBER = [name for name in LATER if name.startswith("2025")]
ALL = {"early": small_file(), **LATER}


def read(data):
    return validate_scene(read_pufferdrive(data, "folder/written.bin"))


def refusal(data):
    with pytest.raises(SceneError) as caught:
        read_pufferdrive(data, "x.bin")
    return str(caught.value)


def differences(one, other):
    return {f"{part}.{name}" for part in ("objects", "roads", "lanes", "traffic_controls")
            for name, values in vars(getattr(one, part)).items() if not same(values, vars(getattr(other, part))[name])}


# ---- which layout ----


@pytest.mark.parametrize("name", ALL)
def test_one_layout_alone_fits(name):
    fitting = []
    for layout in LAYOUTS:
        try:
            contents_of(ALL[name], layout)
        except LayoutError:
            continue
        fitting.append(layout.name)
    assert fitting == [name]


def test_every_layout_has_a_test():
    assert [layout.name for layout in LAYOUTS] == list(ALL)


@pytest.mark.parametrize("name", NOVEMBER)
def test_a_file_of_november_2025_is_the_early_one_with_ids_and_metadata(name):
    early, later = read(small_file()), read(LATER[name])
    assert differences(early, later) == {"objects.id", "roads.id"}
    assert later.objects.id.tolist() == [70, 71, 72] and later.roads.id.tolist() == list(range(73, 81))
    assert (later.sdc, later.tracks_to_predict) == (1, (2, 0))
    assert later.scenario_id == ("1c365f15b70ebdbf" if name.endswith("id") else "short" if "id" in name else "")
    assert "object ids: the index in the file" not in later.report.imputed
    assert later.report.dropped.get("further arrays of objects, whose meaning is not known") == (
        15 if "further" in name else None)


@pytest.mark.parametrize("name", RELEASES)
def test_a_file_of_release_3_has_the_same_traffic(name):
    early, later = read(small_file()), read(LATER[name])
    for field in ("id", "kind", "length_m", "width_m", "height_m", "goal_m", "goal_z_m", "marked_expert", "x_m", "y_m",
                  "z_m", "heading_rad", "vx_mps", "vy_mps", "valid"):
        assert same(getattr(early.objects, field), getattr(later.objects, field)), field
    assert same(early.origin_m, later.origin_m)
    assert kind_counts(later.roads.kind, ROAD_KINDS) == {"lane": 2, "edge": 1, "line": 1, "crosswalk": 1,
                                                         "speed_bump": 1}
    assert later.roads.x_m[:5].tolist() == early.roads.x_m[:5].tolist()
    assert later.roads.speed_limit_mps.tolist() == [13.5, 0.0, 0.0, 0.0, 0.0, 0.0]
    assert (later.lanes.after(0).tolist(), later.lanes.after(1).tolist()) == ([1], [])
    assert (later.scenario_id, later.provenance.dataset, later.dt_s) == ("5ca1ab1e", "carla", 0.1)
    assert (later.sdc, later.objects_of_interest, later.tracks_to_predict) == (0, (1, 0), (2,))
    assert later.report.dropped == {"lanes of the routes of agents": 2, "objects such as cones and barriers": 1}
    assert later.report.imputed == {"object ids: the index in the file": 3,
                                    "the recording vehicle: agent 0, by the convention of the format": 1}


def test_the_sample_of_november_2025_equals_the_early_one():
    early, later = (load_scene(sample(f"pufferdrive/{name}.bin")) for name in ("map_000", "cilab_map_000"))
    assert differences(early, later) == {"objects.id", "roads.id"}
    assert same(early.origin_m, later.origin_m)
    assert (later.sdc, later.tracks_to_predict) == (63, (53, 32))
    assert (later.objects.id[[0, -1]].tolist(), later.roads.id[[0, -1]].tolist()) == ([0, 188], [5, 59])
    assert later.report.imputed == {"dt_s 0.1, absent from the file": 1,
                                    "lane successors, from lanes that end where another starts": 18}


def test_a_head_that_is_also_a_scenario_id_is_not_taken_for_one():
    """The four numbers before the counts have the length of a scenario's id."""
    scene = read(november_bytes(small_file(), sdc=2, predicted=(1, 0)))
    assert (scene.scenario_id, scene.sdc, scene.tracks_to_predict) == ("", 2, (1, 0))


@pytest.mark.parametrize("name", ["3.1", "3.3"])
def test_layouts_that_differ_in_nothing_are_one(name):
    """Without a lane graph the two of 3.1 are equal, and without lanes those of 3.3."""
    data = small_release(name, graph=(), controls=(), roads=[road(0, "a", 21, [(8000.0, -5000.0), (8050.0, -5000.0)])])
    assert read(data).roads.count == 1


def test_a_file_that_fits_two_layouts_differently_is_refused(monkeypatch):
    contents, other = (contents_of(small_release("3.1", dt=dt), LAYOUTS[6]) for dt in (0.1, 0.2))
    monkeypatch.setattr(pufferdrive, "contents_of", lambda _, layout: other if layout == LAYOUTS[0] else contents)
    assert refusal(bytes(100)) == ("it has 100 bytes, which fit the layouts 'early' and '2025-11'; exactly one must "
                                   "fit")


def test_of_two_layouts_with_the_right_length_the_one_with_plausible_states_is_read(monkeypatch):
    good = contents_of(small_file(), LAYOUTS[0])
    wrong = contents_of(file_bytes([object_bytes(heading=math.nan)], []), LAYOUTS[0])
    monkeypatch.setattr(pufferdrive, "contents_of", lambda _, layout: good if layout.name == "3.0" else wrong)
    assert read(b"any").objects.count == 3


# ---- damage ----


@pytest.mark.parametrize("name", ALL)
def test_the_reason_for_a_damaged_file_is_that_of_its_layout(name):
    data = ALL[name]
    for cut in range(len(data) // 2, len(data)):
        named = refusal(data[:cut]).partition("; of the known layouts, ")[2]
        assert f"'{name.split(' with lengths')[0]}" in named
        assert named.endswith((" fits most of the file", " fit most of the file"))


@pytest.mark.parametrize(("data", "words"), [
    (b"abc", "it has 3 bytes; no layout has fewer than 16"),
    (bytes(500), "byte 0: it begins with the numbers 0, 0, 0, 0, as no known layout of 500"),
    (ints(7, 2000, 3, 9) * 40, "byte 0: it begins with the numbers 7, 2000, 3, 9, as no known layout of 640"),
])
def test_a_file_that_no_layout_begins_gives_its_first_numbers(data, words):
    assert refusal(data).startswith(words)


A = "ab"
CAR, LANE = agent(0, A), road(0, A, 2, [(0.0, 0.0), (40.0, 0.0)])
SECOND = agent(1, A, x=9.0)


def parked(**fields):
    return release_bytes(A, [CAR, SECOND], [LANE], **fields)


@pytest.mark.parametrize(("data", "words"), [
    (release_bytes(A, [CAR, agent(2, A)], [LANE]), "object 1 at byte 212: id is 2; it must be 1 to 1"),
    (release_bytes(A, [CAR, agent(1, A, kind=4)], [LANE]), "object 1 at byte 212: type is 4; it must be 0 to 3"),
    (release_bytes(A, [CAR, agent(1, A, valid=(1,) * 5)], [LANE]), "object 1 at byte 212: it has 5 frames; object 0"),
    (release_bytes(A, [CAR, agent(1, A, valid=(1, 2, 1, 1))], [LANE]), "valid at frame 1 is 2; it must be 0 or 1"),
    (release_bytes(A, [CAR, agent(1, A, state=3)], [LANE]), "control_state is 3; it must be 0 to 2"),
    (release_bytes(A, [CAR], [road(0, A, 40, [(0.0, 0.0)])]), "road 0 at byte 212: type is 40; it must be 0 to 39"),
    (release_bytes(A, [CAR], [road(0, A, 2, [(0.0, 0.0)], limit=201.0)]), "speed_limit is 201; it must be at most 200"),
    (release_bytes(A, [CAR], [road(0, A, 2, [(0.0, 0.0)], limit=math.nan)]), "speed_limit is nan"),
    (parked(controls=[control(0, kind=4)]), "type is 4; it must be 1 to 3"),
    (parked(controls=[control(0, states=(1, 5))]), "its state at frame 1 is 5; it must be 0 to 4"),
    (parked(graph=(1,)), "lane 0 of the lane graph is 1; it must be 0 to 0"),
    (parked(scenario_id=b"a\nb"), "scenario_id is b'a\\nb'; it must be printable ASCII"),
    (parked(dt=3.0), "dt is 3; it must be 0.0001 to 2, or 0 where it is unknown"),
    (parked(tails=b"x"), "1 bytes are left after the metadata"),
    (parked(tails=tails(widths=(3.5, 0.0))), "the width of road 0 at point 1 is 0; it must be above 0 and at most 50"),
    (parked(tails=tails(widths=(3.5,))), "section LANEWID1 takes 8 bytes; the file has 4 left"),
    (parked(controls=[control(0)], tails=b"TLPHASE1" + ints(1)), "section TLPHASE1 takes 8 bytes; the file has 4"),
])
def test_a_fault_of_release_3_is_named_with_its_place_and_value(data, words):
    found = refusal(data)
    assert words in found and "'3.3'" in found.partition("; of the known layouts, ")[2]


@pytest.mark.parametrize(("data", "words"), [
    (release_bytes(A, [agent(0, A, y=math.nan)], [LANE]), "object 0 at byte 16: y at frame 0 is nan"),
    (release_bytes(A, [agent(0, A, size=(300.0, 2.0, 1.5))], [LANE]), "object 0 at byte 16: length is 300"),
    (release_bytes(A, [CAR], [road(0, A, 2, [(0.0, 0.0), (1e9, 0.0)])]), "road 0 at byte 212: point 1 is 1e+09 m from"),
    (parked(controls=[control(0, line=(1e9,) * 6)]), "its stop line is 1e+09 m from the scene's origin"),
    (parked(controls=[control(0, line=(math.nan,) * 6)]), "its stop line is nan m from the scene's origin"),
    (november_bytes(file_bytes([object_bytes(), object_bytes(heading=90.0)], []), predicted=()),
     "heading at frame 0 is 90; where valid it must be from -50 to 50"),
])
def test_a_value_out_of_range_is_named(data, words):
    assert words in refusal(data)


# ---- what files hold ----


@pytest.mark.parametrize("name", ["2025-11", "2025-11 with further arrays", *RELEASES])
def test_a_map_alone_is_a_scene(name, tmp_path):
    if name in RELEASES:
        data = release_bytes(RELEASES[name], [], [road(0, RELEASES[name], 2, [(0.0, 0.0), (40.0, 0.0)])])
    else:
        data = november_bytes(MAP, further=5 if "further" in name else 0, sdc=-1, predicted=())
    scene = read(data)
    assert (scene.objects.count, scene.roads.count, scene.origin_m.tolist()) == (0, 1, [20.0, 0.0])
    save_scene(scene, tmp_path / "map.drv")
    assert load_scene(tmp_path / "map.drv").roads.count == 1


def test_ids_that_are_not_unique_are_replaced_by_indices():
    data = bytearray(november_bytes(file_bytes([object_bytes(), object_bytes(x=9.0)], []), predicted=()))
    struct.pack_into("<i", data, data.index(ints(0, 1, 71, 4)) + 8, 70)
    scene = read(bytes(data))
    assert scene.objects.id.tolist() == [0, 1]
    assert "some objects have the same id: the index in the file stands for all ids" in scene.report.notes


def test_indices_outside_the_objects_are_dropped_and_minus_one_is_none():
    data = november_bytes(file_bytes([object_bytes(), object_bytes(x=9.0)], []), sdc=7, predicted=(1, -1, 5, 1))
    scene = read(data)
    assert (scene.sdc, scene.tracks_to_predict) == (-1, (1,))
    assert scene.report.dropped == {
        "sdc_track_index outside the objects of the file, or valid at no frame": 1,
        "tracks_to_predict outside the objects of the file, or valid at no frame": 1}


def test_a_size_is_that_of_the_first_valid_frame_and_imputed_where_there_is_none():
    sized = bytearray(agent(0, A, valid=(0, 1, 1, 1)))
    sizes_at = 12 + 4 * 6 * 4
    struct.pack_into("<f", sized, sizes_at, 99.0)  # at a frame where it is not
    struct.pack_into("<f", sized, sizes_at + 8, 5.5)
    scene = read(release_bytes(A, [bytes(sized), agent(1, A, kind=0, x=9.0, size=(0.0, -1.0, 0.0))], [LANE]))
    assert scene.objects.length_m.tolist() == [4.5, np.float32(4.7)]
    assert scene.objects.width_m.tolist() == [2.0, np.float32(2.1)]
    assert scene.report.imputed["lengths, by the kind of object"] == 1


def test_agents_that_may_not_be_controlled_are_marked_for_log_replay():
    scene = read(release_bytes(A, [agent(i, A, x=9.0 * i, state=i) for i in range(3)], [LANE]))
    assert scene.objects.marked_expert.tolist() == [False, True, True]


@pytest.mark.parametrize(("dt", "dt_s"), [(0.1, 0.1), (0.05, 0.05), (0.0, 0.1)])
def test_the_time_step_is_that_of_the_file_or_imputed(dt, dt_s):
    scene = read(parked(dt=dt))
    assert scene.dt_s == dt_s
    assert ("dt_s 0.1, absent from the file" in scene.report.imputed) == (dt == 0.0)


def test_a_goal_at_the_position_of_invalid_states_is_the_last_valid_position():
    scene = read(release_bytes(A, [agent(0, A, valid=(1, 1, 1, 0), goal=(-10000.0, -10000.0))], [LANE]))
    assert scene.objects.goal_m[0] + scene.origin_m == pytest.approx([0.4, 0.0])
    assert scene.report.imputed["goals: the last valid position"] == 1


def test_exits_that_are_no_other_lane_are_dropped():
    roads = [road(0, A, 2, [(0.0, 0.0), (9.0, 0.0)], exits=(1, 1, 0, 2, 3, -1, 9)),
             road(1, A, 2, [(9.0, 0.0), (20.0, 0.0)]), road(2, A, 21, [(0.0, 4.0), (9.0, 4.0)]), road(3, A, 2, [])]
    scene = read(release_bytes(A, [CAR], roads))
    assert scene.lanes.after(0).tolist() == [1]
    assert scene.report.dropped == {"roads without points": 1,
                                    "exits of lanes that are no other lane, or are repeated": 6}


def test_indices_of_lanes_follow_the_roads_that_are_kept():
    roads = [road(0, A, 30, [(0.0, 0.0)]), road(1, A, 2, []), road(2, A, 2, [(0.0, 0.0), (9.0, 0.0)], exits=(3,)),
             road(3, A, 2, [(9.0, 0.0), (20.0, 0.0)])]
    scene = read(release_bytes(A, [CAR], roads, controls=[control(0, kind=3, line=(9.0, 2.0, 0.0, 9.0, -2.0, 0.0),
                                                                  lanes=(1, 3, 0))]))
    assert scene.roads.id.tolist() == [2, 3] and scene.lanes.after(0).tolist() == [1]
    assert scene.traffic_controls.lane.tolist() == [1]
    assert scene.report.dropped == {"roads of an unknown kind": 1, "roads without points": 1}


def test_widths_of_lanes_are_the_medians_of_the_section():
    roads = [LANE, road(1, A, 21, [(0.0, 4.0), (9.0, 4.0)]), road(2, A, 1, [(40.0, 0.0), (50.0, 0.0), (60.0, 0.0)])]
    for phases in (None, []):
        scene = read(release_bytes(A, [CAR], roads, tails=tails(phases, (3.0, 4.0, 3.5, 3.25, 9.0))))
        assert scene.roads.width_m.tolist() == [3.5, 0.0, 3.5]


# ---- traffic lights and signs ----


def test_lights_and_signs_have_their_lines_lanes_and_states():
    scene = read(LATER["3.3"])
    controls = scene.traffic_controls
    assert controls.kind.tolist() == [1, 2] and controls.lane.tolist() == [0, 1]
    assert [LIGHT_STATES[code] for code in controls.state[:, 0]] == ["red", "green", "yellow", "off"]
    assert not controls.state[:, 1].any()
    # The lane runs along +x: left is the end with the larger y.
    assert controls.line_m[0] + np.tile(scene.origin_m, 2) == pytest.approx([8020.0, -5000.0, 8020.0, -5003.5])


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("ahead", [1.0, -1.0])
def test_the_left_end_of_a_stop_line_is_first_however_the_file_has_it(swapped, ahead):
    ends = [(20.0, 3.0, 0.0), (20.5, -3.0, 0.0)]
    line = sum(reversed(ends) if swapped else ends, ())
    lane = road(0, A, 2, [(-40.0 * ahead, 0.0), (40.0 * ahead, 0.0)])
    scene = read(release_bytes(A, [CAR], [lane], controls=[control(0, line=line)]))
    left_y, right_y = scene.traffic_controls.line_m[0, [1, 3]]
    assert left_y == 3.0 * ahead and right_y == -3.0 * ahead


def test_a_stop_line_without_length_is_imputed_across_its_lane():
    scene = read(parked(controls=[control(0, line=(20.0, 0.5, 0.0) * 2)]))
    x_m, y_m = scene.origin_m
    assert scene.traffic_controls.line_m[0] == pytest.approx([20.0 - x_m, 2.25 - y_m, 20.0 - x_m, -1.25 - y_m])
    assert scene.report.imputed["stop lines of traffic controls, across the lane at their point"] == 1


@pytest.mark.parametrize(("states", "shown", "reports"), [
    ((3,), [3, 3, 3, 3], ({}, {})),
    ((1, 2), [1, 2, 0, 0], ({}, {"states of traffic lights off, at frames that the file lacks": 2})),
    ((), [0, 0, 0, 0], ({}, {"states of traffic lights off, at frames that the file lacks": 4})),
    ((1, 1, 1, 1, 3), [1, 1, 1, 1], ({"states of traffic lights outside the frames of the log": 1}, {}))])
def test_states_follow_the_frames_of_the_log(states, shown, reports):
    scene = read(parked(controls=[control(0, states=states)]))
    assert scene.traffic_controls.state[:, 0].tolist() == shown
    dropped, imputed = ({reason: count for reason, count in found.items() if "states of" in reason}
                        for found in (scene.report.dropped, scene.report.imputed))
    assert (dropped, imputed) == reports


def test_controls_of_no_lane_and_phases_are_dropped():
    scene = read(parked(controls=[control(0, lanes=()), control(1, lanes=(9,)), control(2)],
                        tails=tails([(-1, -1), (0, 0), (0, 1)])))
    assert scene.traffic_controls.count == 1
    assert scene.report.dropped == {"phases of traffic lights, which have no durations": 2,
                                    "traffic controls of no lane of the file": 2}


def test_objects_of_the_map_are_skipped_and_counted():
    scene = read(parked(objects=[cone(0), cone(1, frames=0), cone(2, frames=9)]))
    assert scene.objects.count == 2 and scene.report.dropped["objects such as cones and barriers"] == 3


@pytest.mark.parametrize("name", ["2025-11", "3.0", "3.3"])
def test_a_log_is_replayed_at_its_positions(name):
    """The first car drives; the others are where the file has them."""
    scene = read(LATER[name])
    with Batch(scene, config=DriveConfig(control="vehicles", others="replay", trial_steps=3)) as batch:
        batch.reset()
        for frame in range(3):
            vehicles = batch.vehicles()
            for item in np.flatnonzero(scene.objects.valid[frame]):
                away_m = np.hypot(vehicles["x_m"] - scene.objects.x_m[frame, item],
                                  vehicles["y_m"] - scene.objects.y_m[frame, item])
                assert item == 0 or away_m.min() < 1e-4
            batch.step(np.full(batch.num_agents, batch.single_action_space.n // 2))


def test_floats_and_ints_of_the_writer_are_little_endian():
    assert floats(1.0) == b"\0\0\x80?" and ints(1) == b"\1\0\0\0"
    assert len(road_bytes(4, [(0.0, 0.0)])) == 48
