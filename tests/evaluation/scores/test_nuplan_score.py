"""Does the closed-loop score of nuPlan follow its definition? Drives whose terms are known."""

import math

import numpy as np
import pytest
from scored_drives import DT_S, LIMIT_MPS, driven, line, moving, straight_map
from staged_tracks import scene_of, straight

from drive_env.evaluation.scores import DrivenMap, driven_scene, nuplan_score

CONE, PEDESTRIAN = 4, 2
PROGRESS, TIME, SPEED, COMFORT = 5 / 16, 5 / 16, 4 / 16, 2 / 16


def terms_of(*arguments, **settings):
    return nuplan_score(driven(*arguments, **settings)).terms


def test_the_expert_on_itself_has_the_whole_score():
    lanes = [[(-50.0, y_m), (400.0, y_m)] for y_m in (0.0, 3.5)]
    scene = scene_of(lanes, [straight(10.0, 15.0), straight(8.0, 15.0, y_m=3.5, start_m=30.0)],
                     edges=[[(-50.0, -1.75), (400.0, -1.75)], [(400.0, 5.25), (-50.0, 5.25)]])
    score = nuplan_score(driven_scene(scene, 0))
    assert score.score == 1.0 and set(score.terms.values()) == {1.0}


def test_an_expert_that_brakes_hard_lacks_comfort_alone():
    speed_mps = np.clip(12.0 - 6.0 * (DT_S * np.arange(151) - 5.0), 4.0, 12.0)
    scene = scene_of([[(-50.0, 0.0), (400.0, 0.0)]], [straight(speed_mps, 15.0)])
    score = nuplan_score(driven_scene(scene, 0))
    assert score.score == pytest.approx(1 - COMFORT) and score.terms["comfort"] == 0.0


def test_who_stands_still_has_no_score():
    score = nuplan_score(driven(0.0))
    assert score.score == 0.0
    assert score.terms["making_progress"] == 0.0 and score.terms["time_to_collision"] == 1.0


@pytest.mark.parametrize("excess_mps, wanted", [(0.0, 1.0), (1.115, 0.5 - 1.115 / 2.23 / 150), (2.23, 0.0), (9.0, 0.0)])
def test_the_mean_excess_of_speed_counts(excess_mps, wanted):
    """Of 151 steps over 15 s, as published."""
    score = nuplan_score(driven(LIMIT_MPS + excess_mps, expert_mps=LIMIT_MPS))
    assert score.terms["speed_limit"] == pytest.approx(wanted)
    assert score.score == pytest.approx(1 - SPEED * (1 - wanted))


def test_there_is_no_excess_where_the_limit_is_unknown_or_there_is_no_lane():
    assert terms_of(40.0, road_map=straight_map(limit_mps=0.0))["speed_limit"] == 1.0
    assert terms_of(40.0, road_map=DrivenMap())["speed_limit"] == 1.0


@pytest.mark.parametrize("kinds, wanted", [((CONE,), 0.5), ((CONE, CONE), 0.0), ((1,), 0.0), ((PEDESTRIAN,), 0.0),
                                           ((3,), 0.0)])
def test_the_first_cone_takes_half_of_the_score_and_others_all(kinds, wanted):
    others = [moving(40.0 + 20.0 * index, kind=kind, size_m=(0.5, 0.5)) for index, kind in enumerate(kinds)]
    score = nuplan_score(driven(10.0, others=others))
    assert score.terms["no_at_fault_collisions"] == wanted
    # A collision at fault is a time to collision of 0.
    assert score.score == pytest.approx(wanted * (1 - TIME))


def test_a_contact_counts_once_however_often_it_begins():
    speed_mps = np.where(np.arange(151) // 20 % 2 == 0, 10.0, -10.0)
    score = nuplan_score(driven(speed_mps, others=[moving(20.5, kind=CONE, size_m=(0.5, 0.5))]))
    assert score.terms["no_at_fault_collisions"] == 0.5


@pytest.mark.parametrize("outside_m, wanted", [(0.29, 1.0), (0.31, 0.0)])
@pytest.mark.parametrize("side", [1, -1])
def test_a_corner_may_be_outside_by_less_than_30_cm(outside_m, wanted, side):
    """At one step alone, and on either side."""
    edges_y_m = (-4.0, 4.0)
    y_m = np.where(np.arange(151) == 70, side * (4.0 - 1.0 + outside_m), 0.0)
    found = nuplan_score(driven(10.0, y_m=y_m, road_map=straight_map(edges_y_m)))
    assert found.terms["drivable_area"] == wanted
    assert (found.score > 0.0) == bool(wanted)


def test_what_is_within_the_known_width_of_a_lane_is_no_violation():
    """A line of posts in the middle of a wide lane, with the road on both sides."""
    posts = [line((-500.0, 0.0), (1000.0, 0.0))]
    for widths_m, wanted in ((None, 0.0), (np.array([8.0]), 1.0), (np.array([3.0]), 0.0)):
        road_map = straight_map(lanes_y_m=(0.0,), road_edges=posts, width_m=widths_m)
        assert terms_of(10.0, y_m=-2.0, road_map=road_map)["drivable_area"] == wanted
    above = straight_map(lanes=[lane + [0.0, 0.0, 8.0] for lane in straight_map().lanes], width_m=np.full(2, 8.0),
                         road_edges=posts)
    assert terms_of(10.0, y_m=-2.0, road_map=above)["drivable_area"] == 0.0


@pytest.mark.parametrize("back_m, wanted", [(1.9, 1.0), (3.0, 0.5), (5.9, 0.5), (7.0, 0.0)])
def test_ways_against_the_lane_within_a_second_count(back_m, wanted):
    """After 3 s the ego drives back by so much within 1 s, and on again."""
    steps = np.arange(151)
    speed_mps = np.where((steps > 30) & (steps <= 40), -back_m, 10.0)
    x_m = np.concatenate([[0.0], np.cumsum(speed_mps[1:]) * DT_S])
    scene = driven(speed_mps)
    scene.x_m[:, 0] = x_m
    assert nuplan_score(scene).terms["driving_direction"] == wanted


def test_an_oncoming_lane_is_driven_against_its_direction():
    oncoming = line((1000.0, 3.5), (-500.0, 3.5))
    road_map = straight_map(lanes=[line((-500.0, 0.0), (1000.0, 0.0)), oncoming])
    assert terms_of(10.0, y_m=0.0, road_map=road_map)["driving_direction"] == 1.0
    assert terms_of(10.0, y_m=3.5, road_map=road_map)["driving_direction"] == 0.0
    # A little beyond the line between the lanes, the ego still counts as on its own lane.
    assert terms_of(10.0, y_m=1.9, road_map=road_map)["driving_direction"] == 1.0


@pytest.mark.parametrize("share, score", [
    (0.199, 0.0), (0.2001, (5 + 5 * 0.2001 + 4 + 2) / 16), (1.0, 1.0), (1.2, 1.0)])
def test_a_fifth_of_the_expert_s_way_is_progress(share, score):
    found = nuplan_score(driven(10.0 * share))
    assert found.terms["progress"] == pytest.approx(min(share, 1.0))
    assert found.score == pytest.approx(score)


@pytest.mark.parametrize("own_m, expert_m, wanted", [
    (0.0, 1.5, 1.0), (0.0, 4.0, 0.5), (-1.9, 4.0, 0.5), (-2.1, 4.0, 0.0), (-2.1, 0.0, 1.0)])
def test_short_ways_count_as_2_m_and_ways_back_as_none(own_m, expert_m, wanted):
    scene = driven(own_m / 15.0, expert_mps=expert_m / 15.0)
    if expert_m:  # from the middle of the path, so that it has a part behind the ego
        expert = scene.expert_m.copy()
        expert[0, 0] = -4.0
        scene = driven(own_m / 15.0, expert_mps=expert_m / 15.0, expert_m=expert)
        wanted = 0.0 if own_m < -2 else min(1.0, 2.0 / max(2.0, expert_m + 4.0))
    assert nuplan_score(scene).terms["progress"] == pytest.approx(wanted, abs=1e-6)


def test_the_route_takes_the_place_of_an_expert_and_without_both_there_is_nothing_to_lack():
    route_m = np.array([[0.0, 0.0], [300.0, 0.0]])
    assert terms_of(10.0, expert_mps=None, route_m=route_m)["progress"] == pytest.approx(0.5)
    assert terms_of(0.0, expert_mps=None)["progress"] == 1.0


def test_the_end_of_a_lap_is_not_its_start():
    """The expert drives a loop back to its start; the ego drives 1 m farther."""
    angle = np.linspace(0.0, 2.0 * np.pi, 151)
    lap = driven(12.0, expert_m=30.0 * np.stack([np.cos(angle), np.sin(angle)], axis=1))
    further = angle * (1.0 + 1.0 / (60.0 * np.pi))
    lap.x_m[:, 0], lap.y_m[:, 0] = 30.0 * np.cos(further), 30.0 * np.sin(further)
    assert nuplan_score(lap).terms["progress"] == pytest.approx(1.0)


def test_a_way_that_crosses_itself_is_followed_in_order():
    """A figure of eight: at the crossing, the ego stays on its own part."""
    angle = np.linspace(0.0, 2.0 * np.pi, 400)
    eight_m = np.stack([40.0 * np.sin(angle), 20.0 * np.sin(2.0 * angle)], axis=1)
    way_m = float(np.hypot(*np.diff(eight_m, axis=0).T).sum())
    half = driven(10.0, steps=201, expert_m=eight_m)
    half.x_m[:, 0], half.y_m[:, 0] = eight_m[:201].T
    driven_m = float(np.hypot(*np.diff(eight_m[:201], axis=0).T).sum())
    assert nuplan_score(half).terms["progress"] == pytest.approx(driven_m / way_m, abs=0.01)


def test_there_is_no_progress_on_another_road():
    assert terms_of(10.0, y_m=12.0)["progress"] == pytest.approx(2.0 / 150.0)


def test_the_score_is_the_product_of_its_parts():
    score = nuplan_score(driven(9.0, others=[moving(60.0, kind=CONE, size_m=(0.5, 0.5))]))
    terms = score.terms
    weighted = (5 * terms["progress"] + 5 * terms["time_to_collision"] + 4 * terms["speed_limit"]
                + 2 * terms["comfort"]) / 16
    assert 0 < score.score < 1
    assert score.score == pytest.approx(weighted * math.prod(terms[name] for name in (
        "no_at_fault_collisions", "drivable_area", "making_progress", "driving_direction")))
