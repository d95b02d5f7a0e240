"""Which policy of the hidden exit is optimal? One written by hand, that remembers every exit that it has tried."""

from dataclasses import replace

import torch

from baselines.policy.kv_cache import KVCache
from drive_env.scenes.scene import ROAD_KIND_CODES
from drive_env.tasks import hidden_exit

STRAIGHT, STEERINGS, ACCELERATE = 6, 13, 5
"""Of the default discrete actions: of 13 bins of steering the middle one, and the bin of two thirds of the largest
acceleration."""

STEERING_GAIN = 10
"""Steering bins per radian of the exit's bearing: full steering from 0.6 rad on."""

CONTEXT = 200
"""Tokens: more than an episode has."""


def open_field(exits=3, seeds=range(4)):
    """Scenes and config of the hidden exit, without road edges, so that an agent reaches an exit by steering to it."""
    task = hidden_exit(exits, seeds=seeds)
    return [without_edge(scene) for scene in task.scenes], task.config.replace(observation={"time_left": "actor"})


def without_edge(scene):
    """The scene without its last road, which is the edge."""
    roads, lanes = scene.roads, len(scene.roads.id) - 1
    assert (roads.kind == ROAD_KIND_CODES["edge"]).nonzero()[0].tolist() == [lanes]
    points = roads.start[lanes]
    return replace(scene, lanes=replace(scene.lanes, start=scene.lanes.start[: lanes + 1]), roads=replace(
        roads, start=roads.start[: lanes + 1], x_m=roads.x_m[:points], y_m=roads.y_m[:points], **{
            name: getattr(roads, name)[:lanes] for name in ("id", "kind", "width_m", "speed_limit_mps")}))


class Actor:
    """Its parameters are the actions."""

    components, dtype = 1, torch.int64

    def mode(self, parameters):
        return parameters

    def sample(self, parameters):
        return parameters

    def to_env(self, actions):
        return actions[:, 0]


class Eliminator:
    """Tries three exits in their order, and repeats one that was the goal.

    Its memory holds for every step the exit that it drove to (key) and the time that was left (value), which grows
    where a trial starts. With an empty memory it follows a convention that needs the trial features alone: after a
    success the first exit, after a failure the exit with the number of the trial.
    """

    def __init__(self, layout):
        self.layout, self.actor = layout, Actor()

    def make_cache(self, agents, rollout_steps, device):
        return KVCache(1, agents, 1, 1, CONTEXT, rollout_steps, torch.float32, device)

    def step(self, observations, previous_actions, valid_token, cache):
        named = lambda name: observations[:, self.layout[name].slice]
        left, index, goal, none = (named(name)[:, 0] for name in (
            "ego/time_left", "trial/index", "trial/outcome_goal", "trial/outcome_none"))
        trial = (index / self.layout["trial/index"].scale).round().long().tolist()
        exits = torch.tensor([
            self.choose(*self.tokens(cache, agent), left[agent], trial[agent], bool(goal[agent] > 0),
                        bool(none[agent] > 0)) for agent in range(len(observations))])
        cache.write(0, exits[:, None, None].float(), left[:, None, None])
        cache.advance(valid_token)
        return self.steer(named("candidates/x"), named("candidates/y"), exits), None

    def tokens(self, cache, agent):
        """The exits and times of an agent's earlier steps, oldest first."""
        length, written = int(cache.length[agent]), int(cache.written[agent])
        slots = torch.arange(written - length, written) % cache.slots
        return cache.keys[0, agent, 0, slots, 0].int().tolist(), cache.values[0, agent, 0, slots, 0].tolist()

    def choose(self, exits, times, left, trial, succeeded, is_first):
        """The exit to drive to."""
        if times and times[-1] > left:  # within a trial
            return exits[-1]
        if exits:
            return exits[-1] if succeeded else min({0, 1, 2} - set(exits))
        return 0 if is_first or succeeded else trial

    def steer(self, x, y, exits):
        """Actions that drive to exits at (x, y) in the agents' frames."""
        chosen = exits[:, None]
        bearing = torch.atan2(y.gather(1, chosen), x.gather(1, chosen))
        return ACCELERATE * STEERINGS + (STRAIGHT + (STEERING_GAIN * bearing).round().clamp(-6, 6)).long()
