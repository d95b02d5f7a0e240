"""Is it found where roads lie above each other, and reported?"""

from __future__ import annotations

import numpy as np
import pytest
from samples import sample
from small_scene import roads_of

from drive_env import load_scene
from drive_env.scenes import Report, Roads
from drive_env.scenes.levels import LEVEL_HEIGHT_M, levels_of, report_levels

LANE = 1


def crossing(height_m: float, at_m: tuple[float, float] = (0.0, 0.0), turn_rad: float = 1.3) -> Roads:
    """Two straight lanes of 100 m; the second, at a height, crosses the first at a place."""
    along = np.array([np.cos(turn_rad), np.sin(turn_rad)])
    roads = roads_of([(LANE, [(-50, 0), (50, 0)]), (LANE, [tuple(at_m - 50 * along), tuple(at_m + 50 * along)])])
    roads.z_m[2:] = height_m
    return roads


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("x_m", np.linspace(0.0, 5.0, 9))
def test_a_crossing_above_a_road_is_found_wherever_it_is(x_m, sign):
    places = levels_of(crossing(sign * 6.0, (x_m, 0.0)))
    assert len(places) and np.allclose(places[:, 2], 6.0)
    assert np.hypot(places[:, 0] - x_m, places[:, 1]).max() < 5.0


def test_a_crossing_at_nearly_one_height_is_none():
    assert len(levels_of(crossing(LEVEL_HEIGHT_M))) == 0
    assert len(levels_of(crossing(1.01 * LEVEL_HEIGHT_M))) > 0


def test_a_steep_road_does_not_lie_above_itself():
    """Baldwin Street, the steepest, rises by 35 in 100."""
    roads = roads_of([(LANE, [(0, 0), (200, 120)])])
    roads.z_m[1] = 0.35 * np.hypot(200, 120)
    assert len(levels_of(roads)) == 0


def test_roads_apart_in_the_plane_do_not_lie_above_each_other():
    roads = roads_of([(LANE, [(0, 0), (100, 0)]), (LANE, [(0, 11), (100, 11)])])
    roads.z_m[2:] = 20.0
    assert len(levels_of(roads)) == 0


def test_the_report_names_the_places():
    report = Report()
    report_levels(crossing(-6.25, (20.0, 0.0)), report)
    (note,) = report.notes
    assert note.startswith("roads lie above each other: by 6.2 m at (") and "elsewhere" not in note
    x_m, y_m = (float(number) for number in note.rpartition("(")[2].removesuffix(") m").split(", "))
    assert abs(x_m - 20.0) <= 5.0 and abs(y_m) <= 5.0


def test_the_report_names_at_most_five_places():
    lanes = [(LANE, [(40 * i, -20), (40 * i, 20)]) for i in range(7)]
    roads = roads_of([(LANE, [(-10, 0), (300, 0)]), *lanes])
    roads.z_m[2:] = 5.0
    report = Report()
    report_levels(roads, report)
    assert report.notes[0].count("by 5.0 m") == 5 and report.notes[0].endswith(" and elsewhere")


def test_a_map_of_too_many_roads_is_flat():
    """Of 40,000 roads of 50 m, one of which crosses another one at 6 m."""
    lines = [(LANE, [(0, 10 * i), (50, 10 * i)]) for i in range(40_000)]
    roads = roads_of([(LANE, [(25, -20), (25, 20)]), *lines])
    roads.z_m[:2] = 6.0
    assert len(levels_of(roads)) == 0 and len(levels_of(roads_of(lines[:10]))) == 0


def test_a_real_map_of_one_level_has_no_note():
    scene = load_scene(sample("pufferdrive/map_942.bin"))
    assert np.ptp(scene.roads.z_m) > LEVEL_HEIGHT_M
    assert not any("above each other" in note for note in scene.report.notes)


def test_roads_without_points_have_one_level():
    assert levels_of(roads_of([])).shape == (0, 3)
