"""Do the lanes of a bottleneck end one after another, and do all cars get through?"""

from __future__ import annotations

import numpy as np
import pytest
from boxes import segments_of
from generated_scenes import EDGE, lane_points, positions
from lane_map_scenes import made
from played_scenes import agents_of, goal_share, played

from drive_env import generate_scene
from drive_env.errors import SceneError

PARTS_M = (100.0, 40.0, 40.0, 40.0, 30.0, 60.0)
"""Approach, three tapers, the neck, and the exit."""


def width_m(scene, x_m):
    """Of the road, between its edges, where x is this."""
    sides = segments_of(scene.roads, {EDGE})
    across = sides[((sides[:, :, 0] - x_m).prod(axis=1) < 0)]
    share = (x_m - across[:, 0, 0]) / (across[:, 1, 0] - across[:, 0, 0])
    y_m = across[:, 0, 1] + share * (across[:, 1, 1] - across[:, 0, 1])
    assert len(y_m) == 2
    return abs(float(y_m[1] - y_m[0]))


def test_one_lane_less_after_every_taper():
    """And in the middle of each taper, half a lane less; 1 m to the edge on both sides. Chords are 2 cm from curves."""
    scene = generate_scene("bottleneck")
    middles_m = np.cumsum(PARTS_M) - np.array(PARTS_M) / 2 + 1e-3
    lanes = [(width_m(scene, x_m) - 2.0) / 3.5 for x_m in middles_m]
    assert lanes == pytest.approx([4.0, 3.5, 2.5, 1.5, 1.0, 1.0], abs=0.02 / 3.5 + 1e-3)
    assert max(line[:, 0].max() for line in lane_points(scene).values()) == pytest.approx(sum(PARTS_M))


@pytest.mark.parametrize(("lanes", "neck_lanes"), [(4, 1), (4, 2), (3, 3), (6, 1), (1, 1)])
def test_only_a_lane_that_ends_and_the_one_beside_are_in_conflict(lanes, neck_lanes):
    found = made("bottleneck", 0, lanes=lanes, neck_lanes=neck_lanes)
    conflict = found.map.conflicts()
    assert conflict.sum() == 2 * (lanes - neck_lanes) and not found.map.conflicts(merges=False).any()
    for one, other in zip(*np.nonzero(conflict), strict=True):
        ends = [found.map.lanes[lane].curve.end for lane in (one, other)]
        assert ends[0][:2] == pytest.approx(ends[1][:2], abs=1e-9)


def test_the_left_lanes_end_in_the_mirrored_scene():
    scene, other = (generate_scene("bottleneck", seed=3, mirrored=mirrored) for mirrored in (False, True))
    assert (scene.objects.y_m == -other.objects.y_m).all() and (scene.objects.x_m == other.objects.x_m).all()
    assert (scene.objects.goal_m == other.objects.goal_m * (1, -1)).all()
    assert width_m(other, 205.3) == pytest.approx(width_m(scene, 205.3), abs=2e-3)


def test_a_toll_has_a_stop_line_and_a_low_limit_in_every_lane_of_its_neck():
    scene = generate_scene("bottleneck", lanes=4, neck_lanes=3, toll=True)
    controls = scene.traffic_controls
    assert controls.kind.tolist() == [2, 2, 2]
    # In the middle of the neck, which follows one taper; from the left to the right boundary of each lane.
    assert (controls.line_m[:, [0, 2]] == 155.0).all()
    assert controls.line_m[:, [1, 3]] == pytest.approx(-3.5 * np.array([[0, 1], [1, 2], [2, 3]]), abs=1e-3)
    limits = {lane: float(scene.roads.speed_limit_mps[lane]) for lane in lane_points(scene)}
    in_neck = [lane for lane, line in lane_points(scene).items() if 140.0 <= line[0, 0] < 170.0]
    assert {lane for lane, limit in limits.items() if limit == 3.0} == set(in_neck) and len(in_neck) == 6
    assert generate_scene("bottleneck").traffic_controls.count == 0


def test_a_neck_wider_than_the_road_is_an_error():
    with pytest.raises(SceneError, match="neck_lanes is 3; with 2 lanes it must be at most 2"):
        generate_scene("bottleneck", lanes=2, neck_lanes=3)


def test_more_cars_than_fit_are_an_error_with_the_number_that_fits():
    """12 places of 8 m on each of four lanes of 100 m, less 3.6 m at both ends and 4 m before the first taper."""
    with pytest.raises(SceneError, match=r"agents is 100; at most (\d+) fit on these roads") as raised:
        generate_scene("bottleneck", agents=100)
    fitting = int(str(raised.value).split("at most ")[1].split(" ")[0])
    assert 24 <= fitting <= 48 and generate_scene("bottleneck", agents=fitting).objects.count == fitting


def test_cars_start_on_all_lanes_before_the_first_taper():
    found = np.concatenate([positions(generate_scene("bottleneck", seed=seed)) for seed in range(8)])
    assert set(np.round((-found[:, 1] - 1.75) / 3.5)) == {0.0, 1.0, 2.0, 3.0}
    assert found[:, 0].max() <= 100.0 - 3.6 + 1e-3


@pytest.mark.parametrize(("toll", "steps_a_car"), [(False, 25), (True, 40)])
def test_all_get_through_one_after_another_and_never_stand_still_all_at_once(toll, steps_a_car):
    """After the time that one alone needs, 2.5 s a car at most, or 4 s if each stops at a toll."""
    standing, most = np.zeros(16, int), np.zeros(16, int)

    def watch(batch):
        speed = agents_of(batch)[3].reshape(16, -1)
        inside = np.stack([batch.vehicles(world)["present"][:12] for world in range(16)])
        waits = ((speed < 0.1) | ~inside).all(axis=1) & inside.any(axis=1)
        standing[:] = np.where(waits, standing + 1, 0)
        most[:] = np.maximum(most, standing)

    alone = played("bottleneck", range(16), "lane", agents=1, steps=600, toll=toll)
    assert alone["goal"].all()
    steps = int(alone["trial_length"].max()) + 12 * steps_a_car
    records = played("bottleneck", range(16), "lane", steps=steps, on_step=watch, toll=toll)
    assert records["goal"].mean() >= 0.95
    assert most.max() <= 50


def test_most_cars_do_not_get_through_without_steering():
    assert goal_share("bottleneck", range(16), "constant", steps=600) < 0.5
    assert goal_share("bottleneck", range(16), "random", steps=600) < 0.05
