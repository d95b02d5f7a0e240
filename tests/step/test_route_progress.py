"""How far does an agent come along the lanes that lead to its goal? Against projections onto the whole route."""

import numpy as np
import pytest
from scripted_scenes import IGNORE_ALL, batch_of, driver, stage

from drive_env import REWARD_TERMS, DriveConfig, generate_scene
from drive_env.action_space import action_dimensions
from drive_env.binding import lib
from drive_env.drivers import LaneDriver
from drive_env.native import native_scene
from drive_env.native_config import native_config
from drive_env.routes import lane_route

BEND = ("lane", [(0.0, 0.0), (50.0, 0.0), (50.0, 60.0)])
"""A lane with a right angle, 110 m long."""


def fact(batch):
    return batch.reward_terms[:, REWARD_TERMS.index("route_progress")].copy()


def along(route, x_m, y_m):
    """Length up to the point of a polyline nearest to a place, and its distance, m."""
    sides = np.diff(route.astype(float), axis=0)
    lengths = np.hypot(*sides.T)
    offsets = np.array([x_m, y_m]) - route[:-1]
    shares = np.clip((offsets * sides).sum(axis=1) / lengths**2, 0.0, 1.0)
    distances = np.hypot(*(offsets - shares[:, None] * sides).T)
    nearest = distances.argmin()
    return lengths[:nearest].sum() + shares[nearest] * lengths[nearest], distances[nearest]


def place(batch, *places_m):
    """Steps of one agent of the model `state` to each place; returns the fact of each step."""
    dimensions, found = action_dimensions(batch.config), []
    for x_m, y_m in places_m:
        values = (x_m, y_m, 0.0, 0.0)
        batch.step(np.array([[dimension.share_of(value) for dimension, value in zip(dimensions, values, strict=True)]],
                            np.float32))
        found.append(float(fact(batch)[0]))
    return found


def placed(roads, goal_m=(50.0, 60.0), **choices):
    """One agent of the model `state`, which may move 80 m in a step of 2 s."""
    scene = stage([driver(5.0, 0.0, goal_m=goal_m)], roads, dt_s=2.0)
    return batch_of(scene, dynamics="state", action_type="continuous", reward_terms=True, **{**IGNORE_ALL, **choices})


@pytest.mark.parametrize("kind, drawn", [("town", False), ("exits", True)])
def test_the_sum_of_the_progress_is_the_length_driven_along_the_route_and_critics_observe_the_rest(kind, drawn):
    # agents that drive along their routes
    scene = generate_scene(kind, seed=2, agents=4 if not drawn else None)
    batch = batch_of(
        scene, num_worlds=6 if drawn else 2, trial_steps=120, max_trials=2, reward_terms=True, critic_observations=True,
        **IGNORE_ALL)
    left = batch.critic_layout()["critic/route_left"]
    graph, driver_of_all = native_scene(batch.roles[0], lane_graph=True), LaneDriver(batch)
    starts, sums, compared, goals = batch.vehicles(0), np.zeros(batch.num_agents), 0, set()
    for step in range(240):
        batch.step(driver_of_all.act_all())
        if batch.trial_ended.any():
            sums[:] = 0.0
            continue
        sums += fact(batch)
        if step % 5:
            continue
        # the length up to the agent's projection onto the route, where it is close to the route
        for agent in range(batch.num_agents):
            world, own = divmod(agent, batch.agents_per_world)
            state, now = batch.trial_state(world), batch.vehicles(world)
            if not now["present"][own] or state["had_goal"][own]:
                continue
            goal_m = state["goal_m"][own]
            route = lane_route(graph, (starts["x_m"][own], starts["y_m"][own]), starts["heading_rad"][own], goal_m)
            due_m, distance_m = along(route, now["x_m"][own], now["y_m"][own])
            if distance_m < 3.0:
                assert sums[agent] == pytest.approx(due_m, abs=0.1)
                left_m = batch.critic_observations[agent, left.offset] / left.scale
                length_m = np.hypot(*np.diff(route.astype(float), axis=0).T).sum()
                assert left_m == pytest.approx(min(length_m - due_m, 1 / left.scale), abs=0.1)
                compared += 1
                goals.add(tuple(goal_m.tolist()))
    assert compared > 15 and (not drawn or len(goals) > 1)


def test_progress_follows_a_bend_and_counts_back():
    batch = placed([BEND])
    assert place(batch, (10, 0), (30, 3), (40, -2), (50, 10), (48, 30), (50, 5)) == pytest.approx(
        [5, 20, 10, 20, 20, -25], abs=0.02)


def test_a_circle_earns_nothing_however_far_it_leads_from_the_route():
    batch = placed([BEND])
    circle = place(batch, (20, 0), (40, 0), (40, -25), (20, -25), (20, 0))
    assert circle == pytest.approx([15, 20, 0, -20, 0], abs=0.02)


def test_once_the_goal_was_reached_there_is_none():
    batch = placed([BEND])
    assert place(batch, (50, 50), (50, 59), (50, 20)) == pytest.approx([95, 9, 0], abs=0.02)
    assert batch.trial_state()["had_goal"].all()


@pytest.mark.parametrize("roads, goal_m, on_goal, places_m, due_m", [
    ([BEND], (50, 60), "ignore", [(30, 3), (50, 10), (50, 59), (50, 20)], [80, 50, 0, 0]),
    ([], (50, 60), "ignore", [(50, 10), (14, 12), (50, 59), (50, 20)], [50, 60, 0, 0]),
    ([BEND], (50, 20), "next", [(30, 3), (50, 19), (20, 20)], [40, 41, 50]),
    ([BEND], (50, 60), "respawn", [(30, 3), (50, 59), (30, 3)], [80, 105, 80]),
], ids=["along the lanes, 0 once reached", "straight without lanes", "straight to a next goal", "from a new start"])
def test_a_critic_observes_the_route_that_is_left(roads, goal_m, on_goal, places_m, due_m):
    batch = placed(roads, goal_m, on_goal=on_goal, critic_observations=True)
    left, found = batch.critic_layout()["critic/route_left"], []
    for place_m in places_m:
        place(batch, place_m)
        found.append(float(batch.critic_observations[0, left.offset] / left.scale))
    assert found == pytest.approx(due_m, abs=0.02)


def test_where_no_lanes_lead_to_the_goal_there_is_none():
    for roads in ([], [("lane", [(0.0, 0.0), (20.0, 0.0)])]):
        assert place(placed(roads), (10, 0), (15, 0)) == [0.0, 0.0]


def test_a_config_needs_the_parts_of_a_scene_whose_facts_it_uses():
    logs, routes = lib.DRV_SCENE_AGENT_LOGS, lib.DRV_SCENE_ROUTES
    for choices, parts in (({}, 0), ({"detailed_metrics": True}, 0), ({"reward_terms": True}, logs + routes),
                           ({"reward": {"distance_to_log_per_m_s": 0.1}}, logs),
                           ({"reward_ranges": {"route_progress_per_m": (0.0, 0.1)}}, routes),
                           ({"critic_observations": True}, routes),
                           ({"on_goal": "next"}, lib.DRV_SCENE_LANE_GRAPH)):
        assert lib.drv_scene_parts_of(native_config(DriveConfig(**choices))) == parts


def test_the_reward_is_the_weight_times_the_progress():
    batch = placed([BEND], reward={"route_progress_per_m": 0.5}, trial_steps=2)
    place(batch, (10, 0), (30, 0))
    assert batch.metrics()["reward_route_progress"].value == pytest.approx(12.5, abs=0.01)
