"""Which arrays must a batch of integer_scenes.py have? Integer motion gives the facts, the oracle the channels."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
from integer_motion import Motion
from integer_scenes import COAST, FASTEST
from oracle import CHANNELS, NOTHING, OUTCOMES, Rules, World
from oracle_metrics import Metrics


class OracleBatch:
    """The arrays that a `Batch` must have, with the names, shapes and types of the batch's.

    `scene_index` passes the scenes that the batch drew; without it the episodes of world w have scenes w, w + 1, ....
    Observations hold the car's position, its speed and its trial features, enough to test the laws on.
    """

    def __init__(self, stages, config, num_worlds, agents_per_world=None, restart="auto"):
        self.stages = stages
        self.config = config
        self.agents_per_world = agents_per_world or max(len(stage.agents) for stage in stages)
        self.num_agents = num_worlds * self.agents_per_world
        self.world_of_agent = np.repeat(np.arange(num_worlds), self.agents_per_world)
        rules = Rules.of(config, restart=restart)
        self.metrics = Metrics(self.num_agents, rules.ema_alpha)
        self.worlds = [World(rules, self.agents_per_world, self.metrics, w * self.agents_per_world)
                       for w in range(num_worlds)]
        self.motions = [None] * num_worlds
        self.scene_index = np.full(num_worlds, -1, np.int32)
        self.episodes = np.full(num_worlds, -1)
        self.actions = np.zeros(self.num_agents, np.int64)
        self._empty_arrays()

    # -- calls

    def reset(self, worlds=None, initial_ages=None, scene_index=None):
        for w in range(len(self.worlds)):
            if worlds is None or worlds[w]:
                self._choose_scene(w, scene_index)
                age = 0 if initial_ages is None else int(initial_ages[w])
                self._store(w, self.worlds[w].reset(self._present(w), age))

    def step(self, actions, scene_index=None):
        """actions: discrete ones; those of agents that wait are not read."""
        for world in self.worlds:
            if world.agents is None or (
                    world.next_call_restarts and world.last_trial and world.rules.restart == "caller"):
                world.step(None)
        for w, world in enumerate(self.worlds):
            if not world.next_call_restarts:
                first = w * self.agents_per_world
                pushes = [
                    int(actions[first + r]) // 13 if drives else COAST
                    for r, drives in enumerate(world.drives)
                ]
                facts = self.motions[w].advance(pushes, world.drives, world.on_map)
                facts += [NOTHING] * (self.agents_per_world - len(facts))
                self._store(w, world.step(facts))
                continue
            if world.last_trial:
                self._choose_scene(w, scene_index)
            self.motions[w].restart()
            self._store(w, world.step(None, self._present(w)))

    def trial_features(self, agent):
        return self.worlds[agent // self.agents_per_world].trial_features(agent % self.agents_per_world)

    def restart_features(self, agent):
        return self.worlds[agent // self.agents_per_world].restart_features(agent % self.agents_per_world)

    # -- what the law checks read of a batch

    def observation_layout(self):
        return self.layout

    # -- internal

    def _choose_scene(self, w, scene_index):
        self.episodes[w] += 1
        chosen = (w + self.episodes[w]) % len(self.stages) if scene_index is None else scene_index[w]
        self.scene_index[w] = chosen
        max_goals = (self.config.max_goals or math.inf) if self.config.on_goal == "next" else 1
        self.motions[w] = Motion(self.stages[chosen], max_goals)

    def _present(self, w):
        count = len(self.stages[self.scene_index[w]].agents)
        return [r < count for r in range(self.agents_per_world)]

    def _empty_arrays(self):
        for name in CHANNELS:
            dtype = {"rewards": np.float32, "trial_index": np.int32, "outcome": np.uint8}.get(name, bool)
            setattr(self, name, np.zeros(self.num_agents, dtype))
        names = ["ego/at", "ego/speed", "trial/index", "trial/reward", "trial/steps_share",
                 *(f"trial/outcome_{name}" for name in OUTCOMES)]
        scales = {"ego/at": 1e-4, "ego/speed": 1 / FASTEST, "trial/index": 1 / self.config.max_trials}
        self.layout = {
            name: SimpleNamespace(offset=i, slots=1, stride=0, scale=scales.get(name, 1.0), low=-1.0)
            for i, name in enumerate(names)}
        self.observations = np.zeros((self.num_agents, len(names)), np.float32)
        self.single_observation_space = SimpleNamespace(low=np.float32(-1), high=np.float32(1))

    def _store(self, w, channels):
        agents = slice(w * self.agents_per_world, (w + 1) * self.agents_per_world)
        for name, values in channels.items():
            getattr(self, name)[agents] = values
        for r in range(self.agents_per_world):
            features = self.worlds[w].trial_features(r)
            observation = self.observations[w * self.agents_per_world + r]
            observation[:] = 0
            if features is None:
                continue
            raw = {f"trial/{name}": value for name, value in features.items()}
            raw |= {"ego/at": self.motions[w].at[r], "ego/speed": self.motions[w].speed[r]}
            for name, entry in self.layout.items():
                observation[entry.offset] = min(max(raw[name] * entry.scale, entry.low), 1.0)
