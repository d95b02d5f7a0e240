"""Are boxes, edges and goals as large as the scene and the config say? Passes at one centimetre."""

import math

import numpy as np
import pytest
from scripted_events import TURNS, wall
from scripted_scenes import (
    IGNORE_ALL,
    Actor,
    batch_of,
    drive,
    driver,
    onsets,
    stage,
)


@pytest.mark.parametrize("turn_rad", TURNS)
@pytest.mark.parametrize("shift_m", [(0.0, 0.0), (3000.0, -4000.0)])
def test_a_pass_at_1_cm_is_no_contact_and_1_cm_of_overlap_is(turn_rad, shift_m):
    for heading_rad, reach_m in ((0.0, 0.9), (math.pi / 2, 2.4), (math.pi / 4, (2.4 + 0.9) / math.sqrt(2))):
        for gap_m in (0.01, -0.01):
            other = Actor(20.0, 1.0 + reach_m + gap_m, heading_rad, length_m=4.8, width_m=1.8)
            scene = stage([driver(speed_mps=10.0), other], turn_rad=turn_rad, shift_m=shift_m)
            assert bool(drive(batch_of(scene), 45)["collision_onset"].any()) == (gap_m < 0), (heading_rad, gap_m)


@pytest.mark.parametrize("turn_rad", TURNS)
def test_a_pass_at_1_cm_from_an_edge_is_no_crossing_and_1_cm_over_it_is(turn_rad):
    for gap_m in (0.01, -0.01):
        scene = stage([driver(speed_mps=10.0)], [("edge", [(-20.0, -1.0 - gap_m), (80.0, -1.0 - gap_m)])],
                      turn_rad=turn_rad)
        batch = batch_of(scene, **IGNORE_ALL)
        assert bool(batch._core.state["on_road_edge"][0, 0]) == (gap_m < 0)
        assert not drive(batch, 30)["offroad_onset"].any()
        scene = stage([driver(speed_mps=10.0)], [("edge", [(10.0, -1.0 - gap_m), (20.0, -5.0)])],
                      turn_rad=turn_rad)
        assert bool(drive(batch_of(scene, **IGNORE_ALL), 30)["offroad_onset"].any()) == (gap_m < 0)


@pytest.mark.parametrize("length_m, width_m", [(0.5, 0.5), (4.0, 2.0), (18.0, 2.6), (0.02, 0.02)])
def test_a_box_has_the_length_and_width_of_the_scene(length_m, width_m):
    half = length_m / 2
    # After step n the bumper is at n + half.
    batch = batch_of(stage([driver(speed_mps=10.0, length_m=length_m, width_m=width_m)], [wall(half + 6.5)]))
    assert onsets(drive(batch, 10), "offroad_onset") == [6]
    for gap_m in (0.005, -0.005):
        post = Actor(half + 3.5, width_m / 2 + 0.01 + gap_m, length_m=0.02, width_m=0.02)
        batch = batch_of(stage([driver(speed_mps=10.0, length_m=length_m, width_m=width_m), post]),
                         **IGNORE_ALL)
        assert bool(drive(batch, 40)["collision_onset"].any()) == (gap_m < 0)


@pytest.mark.parametrize("heading_rad", (0.0, math.pi / 2, math.pi, -math.pi / 2))
def test_edges_at_the_border_of_the_map_hold_from_inside_and_from_outside(heading_rad):
    square = ("edge", [(-20.0, -20.0), (20.0, -20.0), (20.0, 20.0), (-20.0, 20.0), (-20.0, -20.0)])
    inside = drive(batch_of(stage([driver(0.0, 0.0, heading_rad, 10.0)], [square])), 30)
    # 18 m to the edge in steps of 1 m; a bumper that ends on it overlaps it or not, by the rounding of the heading.
    (onset,) = onsets(inside, "offroad_onset")
    assert onset == 17 or heading_rad != 0.0 and onset == 18
    start = (-1000.0 * math.cos(heading_rad) + 3.0, -1000.0 * math.sin(heading_rad) + 3.0)
    outside = drive(batch_of(stage([driver(*start, heading_rad, 40.0)], [square]), observation={"roads": 0}), 260)
    # The bumper has about 978 m to go, 4 m a step.
    assert 243 <= onsets(outside, "offroad_onset")[0] <= 246


def test_a_long_edge_holds_along_its_whole_length():
    line = ("edge", [(-2000.0, 30.0), (2000.0, 31.0)])
    agents = [driver(x, 0.0, math.pi / 2, 20.0) for x in np.linspace(-1990.0, 1990.0, 80)]
    record = drive(batch_of(stage(agents, [line]), **IGNORE_ALL), 20)
    assert all(len(onsets(record, "offroad_onset", agent)) == 1 for agent in range(80))
    record = drive(batch_of(stage([driver(2003.5, 0.0, math.pi / 2, 20.0)], [line])), 30)
    assert not record["offroad_onset"].any()


def test_a_scene_without_roads_is_driven_like_any_other():
    batch = batch_of(stage([driver(speed_mps=10.0), Actor(30.0, 0.0)]))
    assert onsets(drive(batch, 40), "collision_onset") == [25]
    assert not batch.observations[:, batch.observation_layout()["roads/kind"].slice].any()
