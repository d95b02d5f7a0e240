"""Which lane is each agent on? Compared with a search of all lanes in float64, and on staged roads."""

import dataclasses
import math

import numpy as np
import pytest
from scripted_events import TURNS
from scripted_scenes import ACTION_COUNT, COAST_ACTION, IGNORE_ALL, batch_of, driver, stage

from drive_env import REWARD_TERMS, generate_scene

LANE = ("lane", [(-50.0, 0.0), (50.0, 0.0)])
OPPOSITE = ("lane", [(50.0, 3.5), (-50.0, 3.5)])
"""The next lane to the left of `LANE`, which leads the other way."""

REACH_M, TURN_COST_M = 5.0, 1.0


def lane_facts(batch):
    return {name: batch._core.state[name][0] for name in ("lane", "lane_offset_m", "lane_cos_error", "lane_sin_error")}


def located(actors, roads, **more):
    """The lane facts of staged agents after one step at rest."""
    batch = batch_of(stage(actors, roads, **more), reward={"lane_offset_per_m_s": -1.0}, **IGNORE_ALL)
    batch.step(np.full(batch.num_agents, COAST_ACTION))
    return lane_facts(batch)


def costs(roads, x_m, y_m, heading_rad):
    """(cost, road, offset to the left, cosine, sine) of every lane segment within reach, sorted by cost."""
    found = []
    for road in np.flatnonzero(roads.kind == 1):
        points = np.stack([roads.x_m, roads.y_m], axis=1)[roads.start[road] : roads.start[road + 1]].astype(float)
        for start, end in zip(points[:-1], points[1:]):
            length_m = np.hypot(*(end - start))
            if length_m < 1e-4:
                continue
            along = (end - start) / length_m
            place = np.array([x_m, y_m]) - start
            beyond = place @ along - np.clip(place @ along, 0.0, length_m)
            offset = along[0] * place[1] - along[1] * place[0]
            angle = heading_rad - math.atan2(along[1], along[0])
            distance = math.hypot(beyond, offset)
            if distance <= REACH_M:
                found.append((distance + TURN_COST_M * (1 - math.cos(angle)), road, offset, math.cos(angle),
                              math.sin(angle)))
    return sorted(found)


@pytest.mark.parametrize("kind", ["town", "intersection"])
def test_in_any_rollout_the_lane_is_the_one_that_a_search_of_all_finds(kind):
    scene = generate_scene(kind, seed=2, agents=8)
    batch = batch_of(scene, reward_terms=True, trial_steps=40, **IGNORE_ALL)
    rng, compared, without = np.random.default_rng(0), 0, 0
    for _ in range(40):
        batch.step(rng.integers(0, ACTION_COUNT, 8))
        vehicles, facts = batch.vehicles(), lane_facts(batch)
        for agent in np.flatnonzero(~batch.invalid_step):
            found = costs(scene.roads, *(float(vehicles[name][agent]) for name in ("x_m", "y_m", "heading_rad")))
            if not found:
                without += 1
                assert [float(values[agent]) for values in facts.values()] == [-1.0, 0.0, 0.0, 0.0]
                continue
            # The same piece of road may belong to several lanes.
            equal = [entry for entry in found if entry[0] < found[0][0] + 1e-3]
            assert facts["lane"][agent] in [entry[1] for entry in equal]
            own = [float(facts[name][agent]) for name in ("lane_offset_m", "lane_cos_error", "lane_sin_error")]
            assert any(own == pytest.approx(entry[2:], abs=2e-3) for entry in equal)
            compared += 1
    assert compared > 100


@pytest.mark.parametrize("turn_rad", TURNS)
def test_offset_and_heading_error_have_the_signs_of_left(turn_rad):
    facts = located([driver(-10.0, 1.25, 0.25), driver(10.0, -0.75, -0.5)], [LANE], turn_rad=turn_rad)
    assert facts["lane"].tolist() == [0, 0]
    assert facts["lane_offset_m"] == pytest.approx([1.25, -0.75], abs=1e-4)
    assert facts["lane_cos_error"] == pytest.approx([math.cos(0.25), math.cos(0.5)], abs=1e-5)
    assert facts["lane_sin_error"] == pytest.approx([math.sin(0.25), -math.sin(0.5)], abs=1e-5)


def test_the_opposite_lane_counts_as_two_metres_farther_away():
    """Between centre lines 3.5 m apart an agent changes lanes at 2.75 m, where the way to the other is 0.75 m."""
    facts = located([driver(x_m, y_m) for x_m, y_m in ((-30.0, 2.7), (0.0, 2.8), (30.0, 3.5))], [LANE, OPPOSITE])
    assert facts["lane"].tolist() == [0, 1, 1]
    assert facts["lane_cos_error"].tolist() == [1.0, -1.0, -1.0]
    assert facts["lane_offset_m"] == pytest.approx([2.7, 0.7, 0.0], abs=1e-5)  # left of the lane that leads back


def test_beyond_the_reach_and_past_the_end_there_is_no_lane():
    facts = located([driver(-30.0, 4.99), driver(30.0, -5.01), driver(54.9, 0.0), driver(55.1, 20.0)], [LANE])
    assert facts["lane"].tolist() == [0, -1, 0, -1]
    assert facts["lane_cos_error"].tolist() == [1.0, 0.0, 1.0, 0.0]


def test_only_lanes_of_some_length_are_lanes_and_ties_go_to_the_first():
    elsewhere = [("edge", LANE[1]), ("line", LANE[1]), ("lane", [(0.0, 0.5)])]
    assert located([driver(0.0, 1.0)], elsewhere)["lane"].tolist() == [-1]
    assert located([driver(0.0, 1.0)], [*elsewhere, LANE, LANE])["lane"].tolist() == [3]


# ---- the terms ----


def facts_of(actors, speed_limit_mps=0.0, roads=(LANE,)):
    """The reward facts, by term, of staged agents after a step of 0.1 s at a held speed."""
    scene = stage(actors, roads)
    limits = np.full(len(roads), speed_limit_mps, np.float32)
    scene = dataclasses.replace(scene, roads=dataclasses.replace(scene.roads, speed_limit_mps=limits))
    batch = batch_of(scene, reward_terms=True, dynamics={"min_speed_mps": -20.0}, **IGNORE_ALL)
    batch.step(np.full(batch.num_agents, COAST_ACTION))
    return dict(zip(REWARD_TERMS, batch.reward_terms.T.tolist()))


def test_alignment_and_offset_are_integrals_over_time():
    facts = facts_of([driver(-30.0, -1.5, math.pi / 3), driver(10.0, 0.5, math.pi), driver(0.0, 30.0)])
    assert facts["lane_alignment"] == pytest.approx([0.05, -0.1, 0.0], abs=1e-6)
    assert facts["lane_offset"] == pytest.approx([0.15, 0.05, 0.0], abs=1e-6)


def test_the_wrong_way_is_the_distance_against_the_lane_forwards_or_in_reverse():
    facts = facts_of([driver(-40.0, speed_mps=10.0), driver(-20.0, heading_rad=math.pi, speed_mps=10.0),
                      driver(10.0, speed_mps=-4.0), driver(30.0, heading_rad=math.pi, speed_mps=-4.0),
                      driver(0.0, 30.0, speed_mps=-4.0)])
    assert facts["wrong_way"] == pytest.approx([0.0, 1.0, 0.4, 0.0, 0.0], abs=1e-5)


def test_over_speed_is_the_distance_beyond_that_at_the_limit():
    actors = [driver(-40.0, speed_mps=10.0), driver(0.0, speed_mps=8.0), driver(30.0, speed_mps=-9.0),
              driver(0.0, 30.0, speed_mps=20.0)]
    assert facts_of(actors, 8.0)["over_speed"] == pytest.approx([0.2, 0.0, 0.1, 0.0], abs=1e-5)
    assert facts_of(actors)["over_speed"] == [0.0] * 4  # without a known limit
