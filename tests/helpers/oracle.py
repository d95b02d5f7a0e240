"""What must every channel of every step hold? The trial logic again, slow and plain, written from the contract.

The tests pass a `World` the *facts* of each step (onsets of goal, collision, off-road by agent) and receive all
channels that a batch must have. It contains no geometry, observations or choice of scenes, and shares no code with
the core.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NamedTuple

from oracle_metrics import Metrics

OUTCOMES = ("none", "goal", "collision", "offroad", "timeout", "other")
"""Names of the codes of `outcome`, in order."""

EVENTS = ("collision", "offroad", "goal")
"""Events in the order in which they decide the outcome."""

FLAGS = ("terminations", "truncations", "trial_ended", "truncation", "invalid_step", "first", "removed", "stopped",
         "waits")
CHANNELS = (*FLAGS, "trial_index", "outcome", "rewards")


class OutOfOrder(Exception):
    """A call that is an error by the contract."""


class Facts(NamedTuple):
    """Event onsets of one agent in one step, whether another goal follows the one that it reached, and whether its list
    of goals has an end."""

    goal: bool = False
    collision: bool = False
    offroad: bool = False
    goal_follows: bool = False
    has_last_goal: bool = False


NOTHING = Facts()


@dataclass(frozen=True)
class Rules:
    """The fields of a config that the trial logic depends on."""

    max_trials: int = 1
    trial_steps: int = 200
    on_goal: str = "remove"
    on_collision: str = "stop"
    on_offroad: str = "stop"
    stopped_share_limit: float | None = None
    goal_reward: float = 1.0
    collision_reward: float = -0.5
    offroad_reward: float = -0.2
    max_goals: int | None = None
    ema_alpha: float = 0.707
    restart: str = "auto"

    @classmethod
    def of(cls, config, trial_steps=None, restart="auto"):
        """The rules of a `DriveConfig`; `trial_steps` replaces a None of the config."""
        return cls(
            max_trials=config.max_trials,
            trial_steps=config.trial_steps if trial_steps is None else trial_steps,
            on_goal=config.on_goal,
            on_collision=config.on_collision,
            on_offroad=config.on_offroad,
            stopped_share_limit=config.stopped_share_limit,
            goal_reward=config.reward.goal,
            collision_reward=config.reward.collision,
            offroad_reward=config.reward.offroad,
            max_goals=config.max_goals,
            ema_alpha=config.log_ema_alpha,
            restart=restart,
        )

    def response(self, event, facts):
        response = getattr(self, f"on_{event}")
        if response == "next":
            return "ignore" if facts.goal_follows else "remove"
        return response

    def reward_of(self, event):
        return getattr(self, f"{event}_reward")


@dataclass
class Agent:
    """One agent: its state in the episode, and its events in the trial."""

    present: bool
    state: str = "driving"
    steps_driven: int = 0
    events: set = field(default_factory=set)
    event_rewards: dict = field(default_factory=lambda: dict.fromkeys(EVENTS, 0.0))
    goals: int = 0
    scored: bool = False
    ended_as: str = "none"
    last_reward: float = 0.0
    previous_outcome: str = "none"
    previous_share: float = 0.0

    @property
    def drives(self):
        return self.present and self.state == "driving"

    @property
    def on_map(self):
        return self.present and self.state != "removed"


class World:
    """One world; its agent 0 is agent `first_agent` of the batch that `metrics` belongs to."""

    def __init__(self, rules, num_agents, metrics=None, first_agent=0):
        self.rules = rules
        self.num_agents = num_agents
        self.metrics = Metrics(first_agent + num_agents, rules.ema_alpha) if metrics is None else metrics
        self.first_agent = first_agent
        self.agents = None

    # -- calls

    def reset(self, present, age=0):
        """Opens an episode. present: a bool an agent; age: steps already elapsed on the first clock."""
        if not any(present):
            raise OutOfOrder("no agent could drive")
        if not 0 <= age < self.rules.trial_steps:
            raise OutOfOrder(f"age {age}")
        self._open_episode(present, age)
        return self._channels(first=True)

    def step(self, facts, present=None):
        """One call. facts: one `Facts` an agent; present: agents of the next episode, if this call opens one."""
        if self.agents is None:
            raise OutOfOrder("step before reset")
        if not self.ended:
            return self._drive(facts)
        if not self.last_trial:
            self._open_trial(self.trial + 1)
            return self._channels(invalid_step=True)
        if self.rules.restart == "caller":
            raise OutOfOrder("the caller must reset this world")
        self._open_episode(self.present if present is None else present, 0)
        return self._channels(invalid_step=True, first=True)

    # -- read between calls

    @property
    def last_trial(self):
        return self.trial == self.rules.max_trials - 1

    @property
    def next_call_restarts(self):
        return self.ended

    @property
    def present(self):
        return [agent.present for agent in self.agents]

    @property
    def drives(self):
        return [agent.drives for agent in self.agents]

    @property
    def on_map(self):
        return [agent.on_map for agent in self.agents]

    @property
    def time_left(self):
        return (self.rules.trial_steps - self.clock) / self.rules.trial_steps

    def trial_features(self, r):
        """The trial features of agent r, unscaled; None while its observation is all zero."""
        agent = self.agents[r]
        if not agent.on_map:
            return None
        return self._features(self.trial, agent.last_reward, agent.previous_outcome, agent.previous_share)

    def restart_features(self, r):
        """The same after the next inner restart; None for agents without one ahead or that do not wait."""
        agent = self.agents[r]
        if not agent.present or self.last_trial or (agent.drives and not self.ended):
            return None
        return self._features(
            self.trial + 1, agent.last_reward, agent.ended_as, agent.steps_driven / self.rules.trial_steps
        )

    @staticmethod
    def _features(trial, reward, outcome, share):
        one_hot = {f"outcome_{name}": float(name == outcome) for name in OUTCOMES}
        return {"index": float(trial), "reward": reward, "steps_share": share, **one_hot}

    # -- transitions

    def _open_episode(self, present, age):
        self.agents = [Agent(present=bool(p)) for p in present]
        assert len(self.agents) == self.num_agents
        self._begin(trial=0, age=age)

    def _open_trial(self, trial):
        self.agents = [
            Agent(
                present=agent.present,
                last_reward=agent.last_reward,
                previous_outcome=agent.ended_as,
                previous_share=agent.steps_driven / self.rules.trial_steps,
            )
            for agent in self.agents
        ]
        self._begin(trial, age=0)

    def _begin(self, trial, age):
        self.trial = trial
        self.clock = age
        self.shortened = age > 0
        self.ended = False

    def _drive(self, facts):
        # channels before the step
        rules = self.rules
        waited = [not agent.drives for agent in self.agents]
        rewards = [0.0] * self.num_agents
        ended_by_event = [False] * self.num_agents
        outcomes = ["none"] * self.num_agents
        self.clock += 1

        # events, rewards and responses of every agent that drives
        for r, agent in enumerate(self.agents):
            if not agent.drives:
                continue
            agent.steps_driven += 1
            events = {event for event in EVENTS if getattr(facts[r], event)}
            if "goal" in agent.events and rules.on_goal != "next":
                events.discard("goal")
            agent.events |= events
            rewards[r] = math.fsum(rules.reward_of(event) for event in events)
            agent.last_reward = rewards[r]
            for event in events:
                agent.event_rewards[event] += rules.reward_of(event)
            # score: the goal, or the last of a limited number of goals, without a collision or off-road event
            ends = rules.on_goal == "next" and (rules.max_goals is not None or facts[r].has_last_goal)
            completes = "goal" in events and not (ends and facts[r].goal_follows)
            if completes and not agent.events & {"collision", "offroad"}:
                agent.scored = True
            agent.goals += "goal" in events
            # the response: removal is stronger than a stop, and the first of `EVENTS` is the outcome
            responses = {event: rules.response(event, facts[r]) for event in EVENTS if event in events}
            ending = [event for event, response in responses.items() if response != "ignore"]
            if ending:
                removes = "remove" in responses.values()
                agent.state = "removed" if removes else "stopped"
                ended_by_event[r] = True
                outcomes[r] = ending[0]

        # whether the trial ends, and the agents that still drive then
        had_vehicle = sum(agent.present for agent in self.agents)
        stopped = sum(agent.present and agent.state == "stopped" for agent in self.agents)
        limit = rules.stopped_share_limit
        self.ended = (
            not any(agent.drives for agent in self.agents)
            or self.clock == rules.trial_steps
            or (limit is not None and stopped / had_vehicle >= limit)
        )
        cut = [self.ended and agent.drives for agent in self.agents]
        for r, agent in enumerate(self.agents):
            if cut[r]:
                outcomes[r] = "timeout"
            if outcomes[r] != "none":
                agent.ended_as = outcomes[r]
        # metrics of whole trials
        if self.ended and not self.shortened:
            for r, agent in enumerate(self.agents):
                if agent.present:
                    self._record_trial(r)
        return self._channels(
            rewards=rewards,
            terminations=[e and self.last_trial for e in ended_by_event],
            truncations=[c and self.last_trial for c in cut],
            trial_ended=self.ended,
            truncation=cut,
            invalid_step=waited,
            outcome=[OUTCOMES.index(name) for name in outcomes],
        )

    def _record_trial(self, r):
        agent = self.agents[r]
        self.metrics.record(self.first_agent + r, self.trial, {
            "score": float(agent.scored),
            "goal": float("goal" in agent.events),
            "goals": float(agent.goals),
            "collision": float("collision" in agent.events),
            "offroad": float("offroad" in agent.events),
            "timeout": float(agent.ended_as == "timeout"),
            "trial_length": float(agent.steps_driven),
            "reward": math.fsum(agent.event_rewards.values()),
            **{f"reward_{event}": reward for event, reward in agent.event_rewards.items()},
        })

    def _channels(self, **values):
        """All channels, one list each. A channel that is not passed is 0; one value stands for all agents."""
        channels = {}
        for name in CHANNELS:
            value = values.get(name, 0.0 if name == "rewards" else 0 if name == "outcome" else False)
            channels[name] = list(value) if isinstance(value, list) else [value] * self.num_agents
        channels["trial_index"] = [self.trial] * self.num_agents
        channels["removed"] = [not agent.on_map for agent in self.agents]
        channels["stopped"] = [agent.present and agent.state == "stopped" for agent in self.agents]
        channels["waits"] = [
            removed or stopped or ended for removed, stopped, ended in
            zip(channels["removed"], channels["stopped"], channels["trial_ended"])]
        return channels
