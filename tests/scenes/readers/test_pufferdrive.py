"""Is a PufferDrive `.bin` read as documented, and is anything else refused with a reason?"""

from __future__ import annotations

import math
import random
import struct
import time

import numpy as np
import pytest
from bin_writer import FRAMES, file_bytes, object_bytes, road_bytes, small_file
from kinds import kind_counts
from samples import sample

from drive_env.errors import SceneError
from drive_env.scenes import load_scene
from drive_env.scenes.readers.pufferdrive import LAYOUTS, contents_of
from drive_env.scenes.readers.pufferdrive.as_scene import as_scene
from drive_env.scenes.scene import OBJECT_KINDS, ROAD_KINDS
from drive_env.scenes.validate import validate_scene

ROAD = road_bytes(6, [(0.0, 0.0), (1.0, 0.0)])


def read_early(data, source):
    """The scene of a file of the early layout, whatever other layouts it may fit."""
    return as_scene(contents_of(data, LAYOUTS[0]), source)


def outcome(data):
    """"read" or "refused"; anything but a valid scene or a SceneError fails the test."""
    try:
        validate_scene(read_early(data, "hostile.bin"))
    except SceneError as error:
        assert str(error)
        return "refused"
    return "read"


def refusal(data):
    with pytest.raises(SceneError) as caught:
        read_early(data, "x.bin")
    return str(caught.value)


def test_every_field_of_a_file_is_read():
    scene = validate_scene(read_early(small_file(), "folder/written.bin"))
    objects, roads = scene.objects, scene.roads
    assert (scene.name, scene.source, scene.generated) == ("written", "folder/written.bin", False)
    assert (scene.dt_s, scene.sdc, scene.tracks_to_predict) == (0.1, -1, ())
    assert kind_counts(objects.kind, OBJECT_KINDS) == {"vehicle": 2, "pedestrian": 1}
    assert kind_counts(roads.kind, ROAD_KINDS) == {
        "lane": 2, "line": 1, "edge": 1, "stop_sign": 1, "crosswalk": 1, "speed_bump": 1, "driveway": 1}
    assert objects.valid.T.tolist() == [[True] * FRAMES, [False, True, True, False], [True] * FRAMES]
    assert objects.marked_expert.tolist() == [False, True, False]
    assert objects.id.tolist() == [0, 1, 2]
    assert objects.x_m[3, 0] + scene.origin_m[0] == pytest.approx(8000.6, abs=1e-3)
    assert objects.y_m[0, 2] + scene.origin_m[1] == pytest.approx(-5006.0, abs=1e-3)
    assert objects.goal_m[1] + scene.origin_m == pytest.approx([8040.0, -5001.75], abs=1e-3)
    assert objects.vx_mps[:, 2].tolist() == [1.0] * FRAMES
    assert np.diff(roads.start).tolist() == [3, 2, 2, 2, 1, 3, 2, 2]
    assert roads.x_m[7] + scene.origin_m[0] == pytest.approx(7990.0, abs=1e-3)


def test_width_comes_before_length():
    objects = read_early(small_file(), "x.bin").objects
    assert (objects.width_m[0], objects.length_m[0], objects.height_m[0]) == (2.0, 4.5, 1.5)


def test_invalid_frames_are_zero_not_the_sentinel():
    objects = read_early(small_file(), "x.bin").objects
    for name in ("x_m", "y_m", "heading_rad", "vx_mps", "vy_mps"):
        assert not getattr(objects, name)[~objects.valid].any()


def test_the_origin_is_the_rounded_mean_of_the_valid_positions():
    objects = [object_bytes(x=1000.0, y=50.0, speed=0.0), object_bytes(x=1007.0, y=51.0, speed=0.0)]
    data = file_bytes(objects, [ROAD])
    assert read_early(data, "x.bin").origin_m.tolist() == [1004.0, 50.0]


def test_far_coordinates_keep_digits_that_float32_would_lose():
    x = float(np.float32(8123.4567))
    scene = read_early(file_bytes([object_bytes(x=x, speed=0.0)], [ROAD]), "x.bin")
    assert float(scene.objects.x_m[0, 0]) + scene.origin_m[0] == x


def test_an_object_that_is_never_valid_is_dropped_and_counted():
    data = file_bytes([object_bytes(), object_bytes(valid=[0] * FRAMES, size=(0.0, -1.0, math.nan)),
                       object_bytes(x=20.0)], [ROAD])
    scene = validate_scene(read_early(data, "x.bin"))
    assert scene.objects.id.tolist() == [0, 2]
    assert scene.report.dropped == {"objects valid at no frame": 1}


def test_a_road_without_points_is_dropped_and_counted():
    scene = validate_scene(read_early(file_bytes([object_bytes()], [road_bytes(4, []), ROAD]), "x.bin"))
    assert scene.roads.id.tolist() == [1]
    assert scene.report.dropped == {"roads without points": 1}


def test_missing_fields_are_reported_as_imputed():
    report = read_early(small_file(), "x.bin").report
    assert [count for reason, count in report.imputed.items() if reason.startswith("lane successors")] == [1]
    assert any(reason.startswith("dt_s") for reason in report.imputed)
    assert report.notes == ["stop signs that no lane leads to, which have no effect: 1"]


def test_heights_are_kept_where_states_are_valid():
    scene = validate_scene(read_early(small_file(), "x.bin"))
    assert np.array_equal(scene.objects.z_m, np.where(scene.objects.valid, np.float32(100), 0))
    assert (scene.objects.goal_z_m == 100).all() and (scene.roads.z_m == 100).all()


def test_headings_are_wrapped_to_minus_pi_and_pi():
    data = file_bytes([object_bytes(heading=heading) for heading in (math.pi, 4.0, -6.0)], [ROAD])
    heading_rad = read_early(data, "x.bin").objects.heading_rad[0]
    assert heading_rad == pytest.approx([-math.pi, 4.0 - 2 * math.pi, 2 * math.pi - 6.0], abs=1e-6)


def test_headings_that_are_not_wrapped_are_radians_and_noted():
    scene = read_early(file_bytes([object_bytes(heading=10.2), object_bytes(x=9.0)], [ROAD]), "x.bin")
    assert scene.objects.heading_rad[0] == pytest.approx([10.2 - 4 * math.pi, 0.0], abs=1e-6)
    assert f"headings beyond a full turn, wrapped as radians: {FRAMES} of {2 * FRAMES}" in scene.report.notes


def test_absent_sizes_are_those_of_the_kind_and_a_vehicle_wider_than_long_is_noted():
    objects = [object_bytes(size=(0.0, 0.0, 0.0)), object_bytes(kind=2, x=9.0, size=(-1.0, 0.5, 1.8)),
               object_bytes(x=20.0, size=(4.5, 2.0, 1.5)), object_bytes(kind=3, x=30.0, size=(2.0, 1.0, 1.5))]
    scene = validate_scene(read_early(file_bytes(objects, [ROAD]), "x.bin"))
    sizes_m = np.stack([scene.objects.length_m, scene.objects.width_m, scene.objects.height_m], axis=1)
    assert np.array_equal(sizes_m, np.float32([[4.7, 2.1, 1.5], [0.5, 0.8, 1.8], [2.0, 4.5, 1.5], [1.0, 2.0, 1.5]]))
    imputed = scene.report.imputed
    assert [imputed[f"{name}s, by the kind of object"] for name in ("length", "width", "height")] == [1, 2, 1]
    assert "vehicles wider than long: 1, the first of them object 2, 4.5 m wide and 2 m long" in scene.report.notes


def test_a_map_without_objects_is_a_scene():
    roads = [road_bytes(4, [(90_000.0, 5.0), (90_040.0, 5.0)]), road_bytes(6, [(90_000.0, 9.0), (90_040.0, 9.0)])]
    scene = validate_scene(read_early(file_bytes([], roads), "map.bin"))
    assert (scene.objects.count, scene.objects.frame_count, scene.roads.count) == (0, 1, 2)
    assert scene.origin_m.tolist() == [90_020.0, 7.0]
    assert scene.roads.x_m.tolist() == [-20.0, 20.0, -20.0, 20.0]
    assert "point 1 is nan" in refusal(file_bytes([], [road_bytes(4, [(1.0, 5.0), (math.nan, 5.0)])]))


@pytest.mark.parametrize(("data", "words"), [
    (b"abc", "3 bytes"),
    (struct.pack("<ii", -1, 2) + bytes(200), "num_objects is -1"),
    (struct.pack("<ii", 0, 2) + bytes(200), "road 0 at byte 8: type is 0; it must be 4 to 10"),
    (bytes(500), "byte 0: num_objects and num_roads are 0; one of them must be at least 1"),
    (struct.pack("<ii", 3, 2_000_000_000) + bytes(200), "num_roads is 2000000000"),
    (struct.pack("<ii", 60_000, 90_000) + bytes(200), "the file has 208"),
    (file_bytes([object_bytes(kind=4)], [ROAD]), "object 0 at byte 8: type is 4; it must be 1 to 3"),
    (file_bytes([object_bytes(), object_bytes(frames=5)], [ROAD]),
     f"object 1 at byte {8 + 36 + 32 * FRAMES}: it has 5 frames; object 0 has 4"),
    (file_bytes([object_bytes(valid=[1, 2, 1, 1])], [ROAD]), "valid is 2"),
    (file_bytes([object_bytes(expert=7)], [ROAD]), "mark_as_expert is 7"),
    (file_bytes([object_bytes(size=(0.005, 4.0, 1.0))], [ROAD]), "width is 0.005; it must be 0.01 to 200"),
    (file_bytes([object_bytes(size=(2.0, math.nan, 1.0))], [ROAD]), "length is nan"),
    (file_bytes([object_bytes(size=(2.0, 300.0, 1.0))], [ROAD]), "length is 300; it must be 0.01 to 200"),
    (file_bytes([object_bytes(heading=90.0)], [ROAD]), "heading at frame 0 is 90"),
    (file_bytes([object_bytes(speed=math.inf)], [ROAD]), "x at frame 0 is"),
    (file_bytes([object_bytes(y=math.nan)], [ROAD]), "y at frame 0 is nan"),
    (file_bytes([object_bytes(speed=150.0, side_speed=150.0)], [ROAD]),
     "object 0 at byte 8: vx and vy at frame 0 are a speed of 212.132; where valid it must be at most 200"),
    (file_bytes([object_bytes(goal=(math.nan, 0.0))], [ROAD]), "object 0 at byte 8: its goal is nan"),
    (file_bytes([object_bytes(), object_bytes(), object_bytes(x=2e6)], [ROAD]),
     f"object 2 at byte {8 + 2 * (36 + 32 * FRAMES)}: its position at frame 3"),
    (file_bytes([object_bytes()], [road_bytes(3, [(0.0, 0.0)])]),
     f"road 0 at byte {8 + 36 + 32 * FRAMES}: type is 3; it must be 4 to 10"),
    (file_bytes([object_bytes()], [ROAD, road_bytes(4, [(0.0, 0.0), (1e9, 0.0)])]),
     "point 1 is 1e+09 m from"),
    (file_bytes([object_bytes()], [ROAD])[:-1], "bytes for 0 to 1"),
    (file_bytes([object_bytes()], [ROAD]) + b"\0", "1 bytes are left"),
])
def test_a_fault_is_named_with_its_place_and_value(data, words):
    assert words in refusal(data)


def test_hostile_counts_neither_allocate_nor_loop():
    start_s = time.process_time()
    for objects, roads, frames in (
            (1, 0, 2**31 - 1), (65_535, 100_000, 91), (1, 100_000, 1), (65_535, 0, 10**6)):
        refusal(struct.pack("<iiii", objects, roads, 1, frames) + bytes(4000))
    assert time.process_time() - start_s < 0.5


def test_lanes_that_all_start_where_one_ends_are_refused_before_they_are_paired():
    lane = road_bytes(4, [(0.0, 0.0), (1.0, 0.0), (0.0, 0.0)])
    assert "at most" in refusal(file_bytes([object_bytes()], [lane] * 5000))


def test_random_bytes_are_refused():
    source = random.Random(5)
    for _ in range(2000):
        assert outcome(source.randbytes(source.randrange(1, 3000))) == "refused"


def test_a_random_tail_behind_a_valid_head_is_refused_or_read():
    source, data = random.Random(6), small_file()
    for _ in range(2000):
        cut = source.randrange(8, len(data))
        outcome(data[:cut] + source.randbytes(len(data) - cut))


def test_map_942_agrees_with_an_independent_reader():
    scene = load_scene(sample("pufferdrive/map_942.bin"))
    objects, roads, origin_m = scene.objects, scene.roads, scene.origin_m
    assert objects.valid.shape == (91, 79)
    assert kind_counts(objects.kind, OBJECT_KINDS) == {"vehicle": 77, "pedestrian": 2}
    assert kind_counts(roads.kind, ROAD_KINDS) == {
        "lane": 459, "edge": 69, "line": 47, "speed_bump": 15, "driveway": 9, "crosswalk": 5, "stop_sign": 4}
    assert len(roads.x_m) == 3873
    assert objects.marked_expert.sum() == 52
    assert objects.valid.sum() == 3063
    x_m = objects.x_m[objects.valid].astype(np.float64) + origin_m[0]
    assert x_m.sum() == pytest.approx(1228051.342956543, abs=0.05)
    assert objects.x_m[0, 78] + origin_m[0] == pytest.approx(376.0181579589844, abs=1e-4)
    assert objects.y_m[0, 78] + origin_m[1] == pytest.approx(-9903.357421875, abs=1e-4)
    assert objects.heading_rad[0, 78] == pytest.approx(0.0021273, abs=1e-6)


def test_map_000_agrees_with_an_independent_reader():
    scene = load_scene(sample("pufferdrive/map_000.bin"))
    objects, roads, origin_m = scene.objects, scene.roads, scene.origin_m
    assert objects.valid.shape == (91, 64)
    assert kind_counts(objects.kind, OBJECT_KINDS) == {"vehicle": 50, "pedestrian": 12, "cyclist": 2}
    assert kind_counts(roads.kind, ROAD_KINDS) == {"lane": 17, "edge": 10, "driveway": 9, "line": 2}
    assert len(roads.x_m) == 324
    assert objects.marked_expert.sum() == 38
    assert objects.valid.sum() == 3128
    x_m = objects.x_m[objects.valid].astype(np.float64) + origin_m[0]
    assert x_m.sum() == pytest.approx(13325988.816894531, abs=0.05)
    assert objects.x_m[0, 0] + origin_m[0] == pytest.approx(4285.09716796875, abs=1e-4)
    assert objects.y_m[0, 0] + origin_m[1] == pytest.approx(-3645.868408203125, abs=1e-4)
    sizes_m = [objects.width_m[0], objects.length_m[0], objects.height_m[0]]
    assert sizes_m == pytest.approx([2.0385647, 4.3476529, 1.6112162], abs=1e-6)
    assert objects.goal_m[-1] + origin_m == pytest.approx([4237.8193359375, -3651.734375], abs=1e-4)
