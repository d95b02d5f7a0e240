"""Does a batch have the channels that the oracle expects? All arrays are compared after each call of both."""

import math

import laws
import numpy as np
import rollouts
from contract_batches import same_bits
from integer_scenes import COAST, FULL_BRAKE, FULL_THROTTLE, LANE_GAP_M, NOTCH_M, actions_for
from oracle import CHANNELS
from oracle_batch import OracleBatch
from oracle_metrics import METRICS

import drive_env


class Lockstep:
    """A `Batch` and an `OracleBatch` that make the same calls; all arrays are compared after each."""

    def __init__(self, stages, config, num_worlds=1, *, seed=0, threads=1, restart="auto"):
        self.config = config
        self.batch = drive_env.Batch(scenes=[stage.scene() for stage in stages], num_worlds=num_worlds, config=config,
                                     seed=seed, threads=threads, restart=restart)
        self.expected = OracleBatch(stages, config, num_worlds, self.batch.agents_per_world, restart)
        self.record = rollouts.Record.of(self.batch, config, restart=restart)
        self.garbage = np.random.default_rng(seed)
        self.expected_restarts = [[] for _ in range(num_worlds)]

    def reset(self, worlds=None, ages=None, **seed):
        self.batch.reset(worlds=worlds, initial_ages=ages, **seed)
        self.expected.reset(worlds, ages, self.batch.scene_index)
        self.record.after_reset(self.batch, worlds, ages)
        for w in range(len(self.expected_restarts)):
            if worlds is None or worlds[w]:
                self.expected_restarts[w] = []
        self._compare()

    def step(self, pushes):
        actions = actions_for(self.config.action_type, pushes)
        actions = rollouts.with_garbage_where_agents_wait(self.batch, actions, self.garbage)
        restarts = [world.next_call_restarts for world in self.expected.worlds]
        self.batch.step(actions)
        self.expected.step(actions_for("discrete", pushes), self.batch.scene_index)
        self.record.after_step(self.batch)
        for w, restarted in enumerate(restarts):
            if restarted:
                self._check_restart(w)
        self._compare()

    @property
    def worlds_at_their_end(self):
        return np.array([world.next_call_restarts and world.last_trial for world in self.expected.worlds])

    def _agents(self, w):
        return slice(w * self.batch.agents_per_world, (w + 1) * self.batch.agents_per_world)

    def _check_restart(self, w):
        for agents, expected_restarts in self.expected_restarts[w]:
            assert same_bits(self.batch.observations[agents], expected_restarts), (
                f"world {w}: restart_observations showed another restart"
            )
        self.expected_restarts[w] = []

    def _compare(self):
        for name in CHANNELS:
            actual, expected = getattr(self.batch, name), getattr(self.expected, name)
            assert actual.dtype == expected.dtype, name
            if name == "rewards":
                assert np.abs(actual - expected).max() < 1e-6, f"rewards {actual}, expected {expected}"
                assert (actual[expected == 0] == 0).all()
            else:
                assert np.array_equal(actual, expected), f"{name} {actual.astype(int)}, expected {expected.astype(int)}"
        # The code has a bit for each of these flags, then the outcome.
        bits = ("trial_ended", "truncation", "removed", "invalid_step", "stopped", "first")
        code = sum(getattr(self.batch, name).astype(np.uint16) << bit for bit, name in enumerate(bits))
        assert np.array_equal(self.batch.code, code + (self.batch.outcome.astype(np.uint16) << len(bits)))
        self._compare_features()
        self._compare_positions()
        self._compare_restart_observations()

    def _compare_features(self):
        layout = self.record.layout
        for agent in range(self.batch.num_agents):
            features = self.expected.trial_features(agent)
            if features is None:
                assert not self.batch.observations[agent].any(), f"agent {agent} is removed but observes"
                continue
            self._check_features(self.batch.observations[agent], features, layout)
            world = self.expected.worlds[self.batch.world_of_agent[agent]]
            waited = self.batch.stopped[agent] and self.batch.invalid_step[agent]
            if self.config.observation.time_left == "actor" and not waited:
                actual = self.batch.observations[agent, layout["ego/time_left"].offset]
                assert abs(actual - world.time_left * layout["ego/time_left"].scale) < 1e-6, "ego/time_left"

    @staticmethod
    def _check_features(observation, features, layout):
        for name, value in features.items():
            entry = layout[f"trial/{name}"]
            expected = min(max(value * entry.scale, entry.low), 1.0)
            assert abs(observation[entry.offset] - expected) < 1e-6, f"trial/{name}"

    def _compare_positions(self):
        for w, motion in enumerate(self.expected.motions):
            vehicles = self.batch.vehicles(w)
            for r, car in enumerate(motion.stage.agents):
                if not self.expected.worlds[w].agents[r].on_map:
                    continue
                x, y = motion.stage.place(motion.at[r] * NOTCH_M, car.lane * LANE_GAP_M)
                assert math.hypot(vehicles["x_m"][r] - x, vehicles["y_m"][r] - y) < 1e-3, (
                    f"world {w}, agent {r}"
                )

    def _compare_restart_observations(self):
        expected_restarts = self.batch.restart_observations()
        layout = self.record.layout
        for w in range(len(self.expected_restarts)):
            agents = self._agents(w)
            waiting = [
                agent for agent in range(agents.start, agents.stop) if self.expected.restart_features(agent) is not None
            ]
            for agent in range(agents.start, agents.stop):
                if agent in waiting:
                    self._check_features(expected_restarts[agent], self.expected.restart_features(agent), layout)
                else:
                    assert not expected_restarts[agent].any(), f"agent {agent} has no inner restart ahead"
            if waiting:
                self.expected_restarts[w].append((waiting, expected_restarts[waiting].copy()))

    def compare_metrics(self):
        actual, expected = self.batch.metrics(), self.expected.metrics
        names = [*METRICS, "goals"] if self.config.on_goal == "next" else METRICS
        pairs = {name: expected.metric(name) for name in names}
        for k in range(self.config.max_trials):
            pairs[f"trial_{k}_score"] = expected.metric("score", k)
            if k:
                pairs[f"ada_delta_trial_{k}_minus_0"] = expected.adaptation(k)
        for name, (value, n) in pairs.items():
            assert actual[name].n == n, f"{name} is of {actual[name].n} agents, expected {n}"
            equal = math.isnan(actual[name].value) if math.isnan(value) else abs(actual[name].value - value) < 1e-5
            assert equal, f"{name} is {actual[name].value}, expected {value}"
        assert actual["trials"].value == expected.trials

    def close(self):
        """Tests the whole rollout against the laws and the metrics against the oracle's."""
        laws.check(self.record)
        self.compare_metrics()
        self.batch.close()


def drive(lockstep, calls, choose_pushes, rng=None, reset_share=0.0):
    """Makes `calls` steps; resets worlds at random and, with `restart="caller"`, at their end."""
    count = len(lockstep.expected_restarts)
    for _ in range(calls):
        if rng is not None and rng.random() < reset_share:
            ages = rng.integers(0, lockstep.config.trial_steps, count) if rng.random() < 0.5 else None
            lockstep.reset(rng.random(count) < 0.5, ages)
        if lockstep.record.restart == "caller" and lockstep.worlds_at_their_end.any():
            lockstep.reset(lockstep.worlds_at_their_end)
        lockstep.step(choose_pushes(lockstep.batch.num_agents))


pushes = {
    "coast": lambda rng: lambda agents: np.full(agents, COAST),
    "throttle": lambda rng: lambda agents: np.full(agents, FULL_THROTTLE),
    "brake": lambda rng: lambda agents: np.full(agents, FULL_BRAKE),
    "any": lambda rng: lambda agents: rng.integers(0, FULL_THROTTLE + 1, agents),
    "forward": lambda rng: lambda agents: rng.choice([COAST, COAST, COAST + 1, FULL_THROTTLE], agents),
}
