"""Does every infraction take its factor of the driving score of Bench2Drive?"""

import math

import numpy as np
import pytest
from scored_drives import driven, line, moving, straight_map

from drive_env.evaluation.scores import DrivenMap, bench2drive_score


def test_the_whole_way_without_infractions_is_a_success():
    score = bench2drive_score(driven(10.0))
    assert (score.driving_score, score.success, score.route_completion, score.penalty) == (1.0, True, 1.0, 1.0)


@pytest.mark.parametrize("kind, factor", [(1, 0.6), (2, 0.5), (3, 0.6), (4, 0.65)])
@pytest.mark.parametrize("count", [1, 2])
def test_a_collision_takes_the_factor_of_what_is_hit(kind, factor, count):
    """Whoever is at fault: one of the objects runs into the rear of the ego."""
    others = [moving(30.0 + 20.0 * index, kind=kind, size_m=(0.6, 0.6)) for index in range(count - 1)]
    others.append(moving(-8.0, speed_mps=11.0, kind=kind, size_m=(0.6, 0.6)))
    score = bench2drive_score(driven(10.0, others=others))
    assert score.penalty == pytest.approx(factor**count) and not score.success
    assert score.driving_score == score.penalty


def test_violations_take_their_factors():
    score = bench2drive_score(driven(10.0, red_lights=2, stop_signs=1))
    assert score.penalty == pytest.approx(0.7 * 0.7 * 0.8) and not score.success


@pytest.mark.parametrize("left_m, completion", [(2.9, 1.0), (3.1, 146.9 / 150), (75.0, 0.5), (150.0, 0.0)])
def test_the_share_of_the_way_that_is_done_counts(left_m, completion):
    score = bench2drive_score(driven((150.0 - left_m) / 15.0))
    assert score.route_completion == pytest.approx(completion) == score.driving_score
    assert score.success == (completion == 1.0)


def test_the_share_of_the_distance_outside_of_lanes_is_lost():
    """30 of 150 steps beside all lanes, and 15 in an oncoming one; the steps between are a little longer."""
    road_map = straight_map(lanes=[line((-500.0, 0.0), (1000.0, 0.0)), line((1000.0, 3.5), (-500.0, 3.5))])
    steps = np.arange(151)
    beside = (steps > 20) & (steps <= 50)
    oncoming = (steps > 70) & (steps <= 85)
    y_m = np.where(beside, -5.5, np.where(oncoming, 3.5, 0.0))
    scene = driven(10.0, y_m=y_m, road_map=road_map)
    moved_m = np.hypot(np.diff(scene.x_m[:, 0]), np.diff(scene.y_m[:, 0]))
    share = math.fsum(moved_m[(beside | oncoming)[1:]]) / math.fsum(moved_m)
    score = bench2drive_score(scene)
    assert 0.2 < share < 0.5 and score.penalty == pytest.approx(1 - share) and not score.success
    assert bench2drive_score(driven(10.0, y_m=-5.5, road_map=DrivenMap())).penalty == 1.0


def test_without_a_way_nothing_is_left_to_do():
    assert bench2drive_score(driven(0.0, expert_mps=None)).success
