"""Do the metrics of Waymax follow their definition, and are they valid where they are defined?"""

import numpy as np
import pytest
from scored_drives import DT_S, driven, line, moving, straight_map

from drive_env.evaluation.scores import DrivenMap, waymax_metrics

STEPS = np.arange(151)


def test_overlap_is_1_as_long_as_boxes_overlap():
    """The ego, 4 m long, drives through another one that stands 40 m ahead."""
    found = waymax_metrics(driven(10.0, others=[moving(40.0)])).overlap
    assert found.valid.all()
    assert np.flatnonzero(found.value).tolist() == list(range(36, 45))


def test_offroad_is_1_where_a_corner_is_beyond_the_nearest_edge():
    y_m = np.where((STEPS > 20) & (STEPS < 40), -0.8, 0.0)
    found = waymax_metrics(driven(10.0, y_m=y_m)).offroad
    assert np.flatnonzero(found.value).tolist() == list(range(21, 40)) and found.valid.all()
    assert not waymax_metrics(driven(10.0, y_m=9.0, road_map=DrivenMap())).offroad.value.any()


def test_divergence_is_the_distance_from_the_expert_in_the_same_step():
    expert_m = np.stack([STEPS * 1.0, np.full(151, 3.0)], axis=1)[:100]
    expert_m[50] = np.nan
    found = waymax_metrics(driven(6.0, expert_m=expert_m)).log_divergence
    assert np.flatnonzero(~found.valid).tolist() == [50, *range(100, 151)]
    wanted = np.hypot(STEPS * 0.4, 3.0)
    np.testing.assert_allclose(found.value[found.valid], wanted[found.valid])
    assert not found.value[~found.valid].any()
    assert not waymax_metrics(driven(6.0, expert_mps=None)).log_divergence.valid.any()


@pytest.mark.parametrize("acceleration_mps2, infeasible", [(10.4, False), (10.5, True), (-10.4, False), (-10.5, True)])
def test_an_acceleration_above_that_of_vehicles_is_infeasible(acceleration_mps2, infeasible):
    speed_mps = 20.0 + acceleration_mps2 * DT_S * (STEPS > 70)
    found = waymax_metrics(driven(speed_mps)).kinematic_infeasibility
    assert found.valid.tolist() == [False] + [True] * 150
    assert np.flatnonzero(found.value).tolist() == ([71] if infeasible else [])


@pytest.mark.parametrize("curvature, speed_mps, infeasible", [
    (0.3, 5.0, False), (0.302, 5.0, True), (-0.302, 5.0, True), (3.0, 0.59, False), (3.0, 0.61, True)])
def test_a_curvature_above_that_of_vehicles_is_infeasible(curvature, speed_mps, infeasible):
    """But for vehicles slower than 0.6 m/s."""
    heading_rad = np.where(STEPS > 70, curvature * speed_mps * DT_S, 0.0) + 3.1
    heading_rad = (heading_rad + np.pi) % (2 * np.pi) - np.pi
    found = waymax_metrics(driven(speed_mps, heading_rad=heading_rad)).kinematic_infeasibility
    assert found.value.any() == infeasible


@pytest.mark.parametrize("y_m, wrong_way_m", [(3.4, 0.0), (3.6, 3.6), (-6.0, 6.0)])
def test_far_from_all_lanes_that_lead_on_is_the_wrong_way(y_m, wrong_way_m):
    """The oncoming lane at 7 m cannot be driven along."""
    lanes = [line((-500.0, 0.0), (1000.0, 0.0)), line((1000.0, 7.0), (-500.0, 7.0))]
    road_map = DrivenMap(lanes=lanes, successors=[[], []])
    y_m = np.where(STEPS > 0, y_m, 0.0)
    found = waymax_metrics(driven(10.0, y_m=y_m, road_map=road_map)).wrong_way
    assert found.valid.all() and found.value[0] == 0.0
    np.testing.assert_allclose(found.value[1:], wrong_way_m)


def test_lanes_that_follow_can_be_driven_along():
    """The lane forks to the left after 60 m; the ego follows the fork, the expert does not."""
    lanes = [line((-500.0, 0.0), (60.0, 0.0)), line((60.0, 0.0), (1000.0, 0.0)), line((60.0, 0.0), (1000.0, 94.0))]
    y_m = np.maximum(STEPS - 60.0, 0.0) * 0.1
    linked = waymax_metrics(driven(10.0, y_m=y_m, road_map=DrivenMap(lanes=lanes, successors=[[1, 2], [], []])))
    assert not linked.wrong_way.value.any()
    apart = waymax_metrics(driven(10.0, y_m=y_m, road_map=DrivenMap(lanes=lanes, successors=[[1], [], []])))
    np.testing.assert_allclose(apart.wrong_way.value, np.where(y_m < 3.5, 0.0, y_m), atol=1e-9)

    # Off the route: more than 2 m farther from it than from the fork, or, if no lane leads to that, more than 5 m.
    np.testing.assert_allclose(linked.off_route.value > 0, y_m > 2.05, atol=0)
    assert (apart.off_route.value > 0).tolist() == (y_m > 5.0).tolist()
    chosen = linked.off_route.value > 0
    np.testing.assert_allclose(linked.off_route.value[chosen], y_m[chosen])


def test_progression_is_the_place_between_start_and_end_of_the_expert():
    found = waymax_metrics(driven(4.0)).progression
    assert found.valid.all()
    np.testing.assert_allclose(found.value, 0.4 * STEPS / 150, atol=1e-9)
    assert waymax_metrics(driven(4.0, expert_mps=0.0)).progression.value.tolist() == [1.0] * 151
    assert not waymax_metrics(driven(4.0, expert_mps=None)).progression.valid.any()


def test_without_lanes_and_expert_ways_and_routes_are_not_valid():
    found = waymax_metrics(driven(10.0, road_map=DrivenMap(), expert_mps=None))
    assert not found.wrong_way.valid.any() and not found.off_route.valid.any()


def test_lanes_whose_links_are_unknown_can_all_be_driven_along():
    road_map = straight_map(lanes=[line((1000.0, 7.0), (-500.0, 7.0))], speed_limit_mps=None)
    assert not waymax_metrics(driven(10.0, y_m=6.0, road_map=road_map)).wrong_way.value.any()
