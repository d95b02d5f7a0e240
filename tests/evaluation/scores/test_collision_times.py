"""How soon do boxes at constant velocity collide? Gaps over closing speeds, and which objects count."""

import numpy as np
import pytest
from scored_drives import LENGTH_M, driven, moving, straight_map

from drive_env.evaluation.scores import nuplan_score
from drive_env.evaluation.scores.collision_times import nuplan_time_to_collision, vmax_time_to_collision
from drive_env.evaluation.scores.drive import Drive
from drive_env.evaluation.scores.faults import collisions_of


def nuplan_s(scene):
    drive = Drive(scene)
    return nuplan_time_to_collision(drive, collisions_of(drive))


def vmax_s(scene):
    return vmax_time_to_collision(Drive(scene))


@pytest.mark.parametrize("gap_m", [0.5, 3.0, 11.9, 12.1, 20.0, 28.9])
def test_a_vehicle_ahead_is_reached_after_gap_over_closing_speed(gap_m):
    scene = driven(10.0, steps=2, others=[moving(LENGTH_M + gap_m, speed_mps=4.0)])
    wanted = np.ceil(gap_m / 6.0 / 0.1 - 1e-9) * 0.1
    assert nuplan_s(scene)[0] == pytest.approx(wanted if wanted < 2.95 else np.inf)
    assert vmax_s(scene)[0] == pytest.approx(min(wanted, 5.0))


def test_an_oncoming_vehicle_comes_nearer_at_both_speeds():
    scene = driven(10.0, steps=2, others=[moving(LENGTH_M + 20.0, heading_rad=np.pi, speed_mps=6.0)])
    assert nuplan_s(scene)[0] == pytest.approx(np.ceil(20 / 16 / 0.1) * 0.1)


def test_a_crossing_vehicle_counts_if_both_are_there_at_one_time():
    at_once = moving(20.0, -10.0, np.pi / 2, 5.0)
    assert nuplan_s(driven(10.0, steps=2, others=[at_once]))[0] == pytest.approx(1.7)
    earlier = moving(20.0, 4.0, np.pi / 2, 5.0)
    assert np.isinf(nuplan_s(driven(10.0, steps=2, others=[earlier]))[0])


def test_a_vehicle_at_a_side_counts_only_between_lanes_or_in_a_junction():
    """The vehicle approaches from the left. The ego, 2 m wide, has 0.75 m to each side in a lane of unknown width."""
    beside = moving(1.0, 4.0, -0.3, 10.4)
    assert np.isinf(nuplan_s(driven(10.0, steps=2, others=[beside]))[0])
    assert np.isinf(nuplan_s(driven(10.0, steps=2, y_m=0.74, others=[beside]))[0])
    assert np.isfinite(nuplan_s(driven(10.0, steps=2, y_m=0.76, others=[beside]))[0])
    on_edge = straight_map(edges_y_m=(-0.9, 5.25))
    assert np.isfinite(nuplan_s(driven(10.0, steps=2, others=[beside], road_map=on_edge))[0])
    in_junction = straight_map(in_junction=np.ones(2, bool))
    assert np.isfinite(nuplan_s(driven(10.0, steps=2, others=[beside], road_map=in_junction))[0])


@pytest.mark.parametrize("bearing_deg, counts", [(29.0, True), (31.0, False)])
@pytest.mark.parametrize("times_s, axle_m, none_s", [(nuplan_s, 1.2, np.inf), (vmax_s, 1.6, 5.0)])
def test_a_crossing_vehicle_counts_up_to_30_degrees_from_the_rear_axle(bearing_deg, counts, times_s, axle_m, none_s):
    """It would cross the path of the ego after 1.9 s."""
    aside_m = 20.0 * np.tan(np.radians(bearing_deg))
    crossing = moving(20.0 - axle_m, -aside_m, np.pi / 2, aside_m / 1.9)
    assert (times_s(driven(10.0, steps=2, others=[crossing]))[0] < none_s) == counts


def test_the_first_time_is_that_after_one_step_by_nuplan_and_now_by_vmax():
    overlapping = moving(3.5, speed_mps=10.0)
    assert nuplan_s(driven(10.0, steps=2, others=[overlapping]))[0] == pytest.approx(0.1)
    assert vmax_s(driven(10.0, steps=2, others=[overlapping]))[0] == 0.0


def test_a_vehicle_behind_never_counts():
    behind = moving(-8.0, speed_mps=20.0)
    in_junction = straight_map(in_junction=np.ones(2, bool))
    assert np.isinf(nuplan_s(driven(10.0, steps=2, others=[behind], road_map=in_junction))[0])
    assert vmax_s(driven(10.0, steps=2, others=[behind]))[0] == 5.0


def test_who_stands_has_no_time_to_collision():
    assert np.isinf(nuplan_s(driven(0.0, steps=2, others=[moving(8.0, heading_rad=np.pi, speed_mps=6.0)]))).all()


def test_an_object_that_was_hit_counts_no_more_and_the_step_of_a_collision_at_fault_is_0():
    time_s = nuplan_s(driven(10.0, others=[moving(30.0)]))
    hit = 26  # the front, 2 m ahead of the centre, is at the rear of the other one, 28 m away
    assert time_s[hit] == 0.0 and np.isinf(time_s[hit + 1 :]).all()
    np.testing.assert_allclose(time_s[hit - 3 : hit], [0.3, 0.2, 0.1])


@pytest.mark.parametrize("gap_m, wanted", [(9.1, 1.0), (8.9, 0.0)])
def test_a_time_below_95_hundredths_of_a_second_is_out_of_bound(gap_m, wanted):
    """In the second of two steps the gap is a metre less."""
    scene = driven(10.0, steps=2, others=[moving(LENGTH_M + gap_m + 1.0)])
    assert nuplan_score(scene).terms["time_to_collision"] == wanted


def test_no_pair_is_left_out():
    """Against every pair and time, by the corners of the boxes."""
    rng = np.random.default_rng(3)
    others = [
        moving(rng.uniform(-20, 60), rng.uniform(-25, 25), rng.uniform(-3, 3), rng.uniform(0, 15)) for _ in range(30)]
    scene = driven(12.0, steps=3, others=others)
    found = vmax_s(scene)
    times_s = 0.1 * np.arange(50)
    for step in range(3):
        own = square(scene, step, 0, times_s)
        axle = np.array([scene.x_m[step, 0] - 0.4 * LENGTH_M, 0.0])
        first = 5.0
        for other in range(1, 31):
            shift = np.array([scene.x_m[step, other], scene.y_m[step, other]]) - axle
            if abs(np.degrees(np.arctan2(shift[1], shift[0]))) >= 30:
                continue
            theirs = square(scene, step, other, times_s)
            hits = [apart_by_no_side(one, two) for one, two in zip(own, theirs, strict=True)]
            first = min([first, *times_s[hits].tolist()])
        assert found[step] == pytest.approx(first)
    assert (found < 5.0).any()


def square(scene, step, index, times_s):
    """(times, 4, 2) corners of a box that moves at constant velocity."""
    heading = scene.heading_rad[step, index]
    turn = np.array([[np.cos(heading), -np.sin(heading)], [np.sin(heading), np.cos(heading)]])
    local = np.array([[2, 1], [-2, 1], [-2, -1], [2, -1]]) @ turn.T
    centre = np.array([scene.x_m[step, index], scene.y_m[step, index]])
    return centre + local + (times_s * scene.speed_mps[step, index])[:, None, None] * turn[:, 0]


def apart_by_no_side(one, two):
    """Whether no side of one box separates it from the other box."""
    for box, other in ((one, two), (two, one)):
        for side in range(4):
            start, step = box[side], box[(side + 1) % 4] - box[side]
            if (step[0] * (other - start)[:, 1] - step[1] * (other - start)[:, 0] < 0).all():
                return False
    return True
