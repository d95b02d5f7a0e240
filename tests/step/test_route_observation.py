"""Are the observed points of a route where the lanes lead?"""

import math

import numpy as np
import pytest
from bare_scene import bare_scene

from drive_env import Batch, ConfigError, DriveConfig, generate_scene

STREET = [("lane", [(-20.0, 0.0), (60.0, 0.0)])]


def points(batch, agent=0):
    """(slots, features) of the agent's route, positions in m."""
    layout = batch.observation_layout()
    names = ("x", "y", "bearing_x", "bearing_y", "direction_x", "direction_y", "kind")
    return np.stack([batch.observations[agent, layout[f"route/{name}"].slice] / layout[f"route/{name}"].scale
                     for name in names], axis=1)


def observed(pose, goal, roads=STREET, **config):
    settings = {"observation": {"route": 3, "route_spacing_m": 5.0, **config.pop("observation", {})}, **config}
    with Batch(bare_scene([pose], goals=[goal], roads=roads), config=DriveConfig(**settings)) as batch:
        batch.reset()
        return points(batch)


def test_points_follow_the_lane_at_their_spacing_from_the_agent_s_place():
    """A car 1 m to the left of the lane, turned to the left by 0.3 rad."""
    turn, found = 0.3, observed((0.0, 1.0, 0.3), (40.0, 0.0))
    for slot, ahead in enumerate((5.0, 10.0, 15.0)):
        x, y = ahead * math.cos(turn) - math.sin(turn), -ahead * math.sin(turn) - math.cos(turn)
        distance = math.hypot(ahead, 1.0)
        expected = [x, y, x / distance, y / distance, math.cos(turn), -math.sin(turn), 1.0]
        np.testing.assert_allclose(found[slot], expected, atol=1e-4)


@pytest.mark.parametrize("pose, goal, roads, config, filled", [
    ((0.0, 0.0, 0.0), (12.0, 0.0), STREET, {}, 2),  # the route ends
    ((0.0, 0.0, 0.0), (40.0, 0.0), [], {}, 0),  # no lanes
    ((0.0, 0.0, 0.0), (-10.0, 0.0), STREET, {}, 0),  # no lane leads back
    ((0.0, 0.0, 0.0), (40.0, 0.0), STREET, {"observation": {"goal_reveal_s": 0.0}}, 0),  # a hidden goal
])
def test_slots_without_a_point_are_zero(pose, goal, roads, config, filled):
    found = observed(pose, goal, roads, **config)
    assert (found[:filled, 6] == 1.0).all() and (found[filled:] == 0.0).all()


def test_points_move_on_with_the_agent_and_bend_with_the_road():
    """In a town, each point lies its spacing further along the route, which is never shorter than the straight way."""
    scene = generate_scene("town", seed=3, agents=4)
    config = DriveConfig(on_offroad="ignore", on_collision="ignore", observation={"route": 6, "route_spacing_m": 3.0})
    compared = 0
    with Batch(scene, config=config) as batch:
        batch.reset()
        for _ in range(20):
            for agent in np.flatnonzero(~batch.removed & ~batch.stopped):
                found = points(batch, agent)
                found = found[found[:, 6] > 0.0]
                steps_m = np.linalg.norm(np.diff(found[:, :2], axis=0), axis=1)
                assert np.all((steps_m > 2.5) & (steps_m < 3.001))
                compared += len(steps_m)
                np.testing.assert_allclose(np.linalg.norm(found[:, 4:6], axis=1), 1.0, atol=1e-5)
            batch.step(np.full(batch.num_agents, 45))
    assert compared


def test_a_route_needs_floats_and_a_spacing_needs_a_route():
    with pytest.raises(ConfigError, match="observation.route is 3; with observation.type 'index' it must be 0"):
        DriveConfig(observation={"route": 3, "type": "index"})
    with pytest.raises(ConfigError, match="route_spacing_m is 2.0; with observation.route 0 it must be 5.0"):
        DriveConfig(observation={"route_spacing_m": 2.0})
