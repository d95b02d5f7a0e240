"""Does every score have a row in the table, and is the distance per infraction a ratio of sums?"""

import math

import numpy as np
import pytest
from scored_drives import driven, moving, straight_map

from drive_env.errors import ConfigError
from drive_env.evaluation.scores import SCORES, DrivenMap, km_per_infraction, nuplan_score, score_driven, vmax_score


def test_the_scores_of_a_drive_are_those_of_the_table():
    scores = score_driven(driven(others=[moving(40.0, speed_mps=3.0)]))
    assert list(scores) == list(SCORES)
    assert all(type(value) is float and math.isfinite(value) for value in scores.values())


def test_only_what_needs_an_expert_or_lanes_is_undefined_without_them():
    scores = score_driven(driven(expert_mps=None, road_map=DrivenMap()))
    assert {name for name, value in scores.items() if math.isnan(value)} == {
        "waymax_log_divergence", "waymax_wrong_way", "waymax_off_route", "waymax_progression"}


def test_scores_of_suites_are_those_of_their_functions():
    scene = driven(12.0, others=[moving(80.0, speed_mps=6.0)], road_map=straight_map(limit_mps=11.0))
    scores, nuplan, vmax = score_driven(scene), nuplan_score(scene), vmax_score(scene)
    assert scores["nuplan_score"] == nuplan.score and scores["vmax_score"] == vmax.score
    assert scores["vmax_nuplan_score"] == vmax.nuplan_score
    assert {f"nuplan_{name}": value for name, value in nuplan.terms.items()}.items() <= scores.items()
    assert {f"vmax_{name}": value for name, value in vmax.terms.items()}.items() <= scores.items()


def test_shares_are_of_the_steps():
    """16 of 151 steps against the lane, 21 too fast."""
    steps = np.arange(151)
    speed_mps = np.where(steps < 16, -2.0, np.where(steps > 129, 14.0, 10.0))
    scores = score_driven(driven(speed_mps, road_map=straight_map(limit_mps=12.0)))
    assert scores["wrong_way_share"] == pytest.approx(16 / 151)
    assert scores["over_speed_share"] == pytest.approx(21 / 151)
    assert scores["distance_m"] == pytest.approx(np.abs(speed_mps[1:]).sum() * 0.1)
    assert scores["mean_speed_mps"] == pytest.approx(scores["distance_m"] / 15.0)


def test_waymax_metrics_are_means_but_for_progression():
    scores = score_driven(driven(4.0))
    assert scores["waymax_progression"] == pytest.approx(0.4)
    assert scores["waymax_log_divergence"] == pytest.approx(0.5 * 6.0 * 15.0)


def test_hard_braking_is_counted():
    speed_mps = np.clip(30.0 - 5.0 * 0.1 * np.maximum(np.arange(151) - 50, 0), 5.0, None)
    scores = score_driven(driven(speed_mps))
    assert scores["hard_braking_share"] == pytest.approx(50 / 151, abs=6 / 151)
    assert score_driven(driven(speed_mps[::-1]))["hard_braking_share"] == 0.0


def test_a_road_edge_on_another_level_is_no_infraction():
    y_m = np.where(np.arange(151) == 5, -1.0, 0.0)
    assert score_driven(driven(10.0, y_m=y_m))["offroad"] == 1.0
    assert score_driven(driven(10.0, y_m=y_m, z_m=np.full((151, 1), 8.0)))["offroad"] == 0.0


def test_every_onset_is_an_infraction():
    """Two contacts with one car, one overlap with an edge, a red light and two signs."""
    steps = np.arange(151)
    speed_mps = np.where((steps > 30) & (steps <= 60), -5.0, 10.0)
    y_m = np.where(steps == 5, -1.0, 0.0)
    scores = score_driven(driven(speed_mps, y_m=y_m, others=[moving(30.0)], red_lights=1, stop_signs=2))
    assert scores["collisions"] == 1.0 and scores["offroad"] == 1.0
    assert scores["infractions"] == 2 + 1 + 1 + 2


def test_the_distance_per_infraction_is_a_sum_over_a_sum():
    rows = [{"distance_m": 9000.0, "infractions": 1.0}, {"distance_m": 1000.0, "infractions": 4.0}]
    assert km_per_infraction(rows) == pytest.approx(2.0)
    assert math.isnan(km_per_infraction([{"distance_m": 5.0, "infractions": 0.0}]))
    assert math.isnan(km_per_infraction([]))
    with pytest.raises(ConfigError, match="each must have distance_m and infractions"):
        km_per_infraction([{"distance_m": 5.0}])
