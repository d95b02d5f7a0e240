"""Does a stop sign of a file apply to the lanes that end beside it, and to no others?"""

import numpy as np
import pytest
from bin_writer import file_bytes, object_bytes, road_bytes
from json_writer import json_bytes, road, small_document
from samples import sample
from scripted_scenes import COAST, IGNORE_ALL, discrete, driver, stage

from drive_env import Batch, DriveConfig, load_scene
from drive_env.scenes.lane_links import link_lanes
from drive_env.scenes.scene import CONTROL_KIND_CODES, Report, no_traffic_controls
from drive_env.scenes.stop_signs import with_stop_signs

NO_EFFECT = "stop signs that no lane leads to, which have no effect"


def fork(end, turn_rad=0.0, shift_m=0.0):
    """A lane that ends at a point, and the two that follow it; `turn_rad` is its direction, `shift_m` to its left."""
    ahead = np.array([np.cos(turn_rad), np.sin(turn_rad)])
    left = np.array([-ahead[1], ahead[0]])
    end = np.array(end, float) + shift_m * left
    ways = [end + 15 * ahead + side * 6 * left for side in (-1, 1)]
    return [("lane", [tuple(end - 60 * ahead), tuple(end)]), *(("lane", [tuple(end), tuple(way)]) for way in ways)]


def placed(roads):
    """The stop signs among roads, as (lanes, line) pairs, and the report."""
    scene, report = stage([driver(0.0, 500.0)], roads), Report()
    found = with_stop_signs(no_traffic_controls(1), scene.roads, link_lanes(scene.roads), report)
    assert (found.kind == CONTROL_KIND_CODES["stop"]).all()
    return [(found.lane[found.start[i]:found.start[i + 1]].tolist(), found.line_m[i].reshape(2, 2))
            for i in range(found.count)], report


@pytest.mark.parametrize("turn_rad", [0.0, 1.0, -2.5])
@pytest.mark.parametrize("ahead_m, right_m, line_ahead_m", [(-5.0, 3.0, -5.0), (3.0, 6.0, 0.0), (-9.9, 7.9, -9.9)])
def test_a_sign_to_the_right_of_the_end_of_a_lane_stops_its_traffic(turn_rad, ahead_m, right_m, line_ahead_m):
    ahead = np.array([np.cos(turn_rad), np.sin(turn_rad)])
    left = np.array([-ahead[1], ahead[0]])
    (found,), report = placed([*fork((0, 0), turn_rad), ("stop_sign", [tuple(ahead_m * ahead - right_m * left)])])
    assert found[0] == [0]
    expected_m = [line_ahead_m * ahead + 1.75 * left, line_ahead_m * ahead - 1.75 * left]
    assert found[1] == pytest.approx(np.array(expected_m), abs=1e-4)
    assert not report.notes and sum(report.imputed.values()) == 1


@pytest.mark.parametrize("sign_m", [(-5.0, 3.0), (-5.0, -8.1), (-10.1, -3.0), (4.1, -3.0), (-5.0, -0.4)])
def test_a_sign_elsewhere_has_no_effect_and_is_counted(sign_m):
    found, report = placed([*fork((0, 0)), ("stop_sign", [sign_m])])
    assert not found and report.notes == [f"{NO_EFFECT}: 1"]


def test_a_lane_that_leads_to_one_other_is_no_end():
    lanes = [("lane", [(-60, 0), (0, 0)]), ("lane", [(0, 0), (60, 0)])]
    found, report = placed([*lanes, ("stop_sign", [(-3, -3)])])
    assert not found and report.notes == [f"{NO_EFFECT}: 1"]


def test_a_sign_applies_to_all_lanes_of_its_side_and_its_line_is_across_them():
    roads = [*fork((0, 0)), *fork((0, 0), shift_m=3.6), *fork((-2, 0), shift_m=7.2), *fork((0, 0), shift_m=14.0)]
    (found,), _ = placed([*roads, ("stop_sign", [(-1, -4)])])
    assert sorted(found[0]) == [0, 3, 6]
    assert found[1] == pytest.approx(np.array([[-1, 7.2 + 1.75], [-1, -1.75]]), abs=1e-4)


def test_between_lanes_of_two_sides_a_sign_applies_to_the_nearer_or_to_none():
    """The second lane comes from the other side, and has the sign to its right, too."""
    for right_m, lanes in ((3.2, None), (6.0, [0])):
        roads = [*fork((0, 0)), *fork((0, -3.0 - right_m), np.pi)]
        found, report = placed([*roads, ("stop_sign", [(-2.0, -3.0)])])
        assert [of for of, _ in found] == ([] if lanes is None else [lanes])
        assert len(report.notes) == (lanes is None)


def test_both_formats_have_the_signs_and_an_agent_that_drives_on_disobeys_one(tmp_path):
    # The same small junction in both formats.
    lines = [[(-60, 0), (0, 0)], [(0, 0), (15, -6)], [(0, 0), (15, 6)]]
    binary = file_bytes([object_bytes(x=-20.0, frames=30, speed=10.0, goal=(200.0, 0.0))],
                        [*(road_bytes(4, line) for line in lines), road_bytes(7, [(-2.0, -4.0)])])
    text = {**small_document(), "roads": [*(road("lane", 2, line) for line in lines),
                                          road("stop_sign", 17, [(-2.0, -4.0)])], "tl_states": {}}
    (tmp_path / "scene.bin").write_bytes(binary)
    (tmp_path / "scene.json").write_bytes(json_bytes(text))
    scenes = [load_scene(tmp_path / name) for name in ("scene.bin", "scene.json")]
    for scene in scenes:
        controls = scene.traffic_controls
        assert controls.count == 1 and controls.lane.tolist() == [0] and controls.state.shape[1] == 1
        middle_m = controls.line_m.reshape(2, 2).mean(axis=0) + scene.origin_m
        assert middle_m == pytest.approx([-2.0, 0.0], abs=1e-3)

    # It coasts over the line of the first.
    batch = Batch(scenes=scenes[:1], config=DriveConfig(traffic_controls=True, trial_steps=29, **IGNORE_ALL))
    batch.reset()
    for _ in range(29):
        batch.step(discrete(batch, COAST))
    assert batch.metrics()["stop_sign"].value == 1.0


@pytest.mark.parametrize("name, count", [("pufferdrive/map_942.bin", 4),
                                         ("gpudrive/tfrecord-00000-of-01000_325.json", 6), ("gpudrive/test.json", 2)])
def test_every_sign_of_a_real_file_is_placed_and_its_lanes_cross_the_line_forwards(name, count):
    scene = load_scene(sample(name))
    controls, roads = scene.traffic_controls, scene.roads
    signs = np.flatnonzero(controls.kind == CONTROL_KIND_CODES["stop"])
    assert len(signs) == count and not any(NO_EFFECT in note for note in scene.report.notes)
    for sign in signs:
        left_m, right_m = controls.line_m[sign].reshape(2, 2).astype(float)
        across = right_m - left_m
        for lane in controls.lane[controls.start[sign]:controls.start[sign + 1]]:
            points = slice(roads.start[lane], roads.start[lane + 1])
            points_m = np.stack([roads.x_m[points], roads.y_m[points]], axis=1) - left_m
            beyond = across[0] * points_m[:, 1] - across[1] * points_m[:, 0]  # above 0 on the far side
            share = points_m @ across / (across @ across)
            assert beyond[0] < 0 and beyond[-1] > -8.0 * np.linalg.norm(across)
            assert 0.0 < share[-1] < 1.0
