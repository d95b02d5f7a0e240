"""What should every channel of every step say? The trial logic once more, slow and plain, written from the
contract.

The tests feed a `World` the *facts* of each step (which row met its goal, a vehicle, a road edge) and get
back all channels the product must show. It knows nothing of geometry, observations or the choice of scenes,
and shares nothing with the core.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NamedTuple

OUTCOMES = ("none", "goal", "collision", "offroad", "timeout", "other")
"""Names of the codes of `outcome`, in order."""

EVENTS = ("collision", "offroad", "goal")
"""Events in the order in which they lend their name to an outcome."""

FLAGS = (
    "terminations",
    "truncations",
    "trial_ended",
    "truncation",
    "invalid_step",
    "first",
    "removed",
    "stopped",
    "waits",
)
CHANNELS = (*FLAGS, "trial_index", "outcome", "rewards")

FIGURES = (
    "score", "goal", "collision", "offroad", "timeout", "trial_length",
    "reward", "reward_goal", "reward_collision", "reward_offroad",
)
"""What a trial of an agent enters into the metrics."""


class OutOfOrder(Exception):
    """A call the contract calls an error."""


class Facts(NamedTuple):
    """What met one row in one step: onsets, true in the step in which they begin."""

    goal: bool = False
    collision: bool = False
    offroad: bool = False


NOTHING = Facts()


@dataclass(frozen=True)
class Rules:
    """The part of a configuration that decides about trials."""

    max_trials: int = 1
    trial_steps: int = 200
    on_goal: str = "remove"
    on_collision: str = "stop"
    on_offroad: str = "stop"
    stopped_share_limit: float | None = None
    goal_reward: float = 1.0
    collision_reward: float = -0.5
    offroad_reward: float = -0.2
    ema_alpha: float = 0.707
    restart: str = "auto"

    @classmethod
    def of(cls, config, trial_steps=None, restart="auto"):
        """The rules of a `DriveConfig`; `trial_steps` where the config leaves it to the scene."""
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
            ema_alpha=config.log_ema_alpha,
            restart=restart,
        )

    def answer(self, event):
        return getattr(self, f"on_{event}")

    def worth(self, event):
        return getattr(self, f"{event}_reward")


class Figure(NamedTuple):
    value: float
    n: int


class Metrics:
    """Moving averages per row and trial index, of whole trials of a world; a report is a mean, one weight a row."""

    def __init__(self, row_count, ema_alpha):
        self.row_count = row_count
        self.ema_alpha = ema_alpha
        self.averages = {}
        self.trials = 0

    def book(self, row, trial, figures):
        self.trials += 1
        for name, value in figures.items():
            key = (name, row, trial)
            past = self.averages.get(key)
            self.averages[key] = (
                value if past is None else self.ema_alpha * past + (1.0 - self.ema_alpha) * value)

    def _of_row(self, name, row):
        return {trial: value for (n, r, trial), value in self.averages.items() if (n, r) == (name, row)}

    @staticmethod
    def _mean(values):
        return Figure(math.fsum(values) / len(values) if values else math.nan, len(values))

    def figure(self, name, trial=None):
        """Over all trial indices of a row, or over one."""
        values = []
        for row in range(self.row_count):
            of_trials = self._of_row(name, row)
            if trial is not None:
                of_trials = {k: value for k, value in of_trials.items() if k == trial}
            if of_trials:
                values.append(math.fsum(of_trials.values()) / len(of_trials))
        return self._mean(values)

    def adaptation(self, trial):
        """Score in `trial` minus score in trial 0, over the rows that have both."""
        differences = []
        for row in range(self.row_count):
            of_trials = self._of_row("score", row)
            if 0 in of_trials and trial in of_trials:
                differences.append(of_trials[trial] - of_trials[0])
        return self._mean(differences)


@dataclass
class Row:
    """One row: what it is in its episode, and what has happened to it in its trial."""

    present: bool
    state: str = "driving"
    steps_driven: int = 0
    events: set = field(default_factory=set)
    paid: dict = field(default_factory=lambda: dict.fromkeys(EVENTS, 0.0))
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
    """One world; its row 0 is row `first_row` of the batch that `metrics` belongs to."""

    def __init__(self, rules, row_count, metrics=None, first_row=0):
        self.rules = rules
        self.row_count = row_count
        self.metrics = Metrics(first_row + row_count, rules.ema_alpha) if metrics is None else metrics
        self.first_row = first_row
        self.rows = None

    # -- calls

    def reset(self, present, age=0):
        """Opens an episode. present: a bool a row; age: steps its first clock has behind it."""
        if not any(present):
            raise OutOfOrder("no row could drive")
        if not 0 <= age < self.rules.trial_steps:
            raise OutOfOrder(f"age {age}")
        self._open_episode(present, age)
        return self._channels(first=True)

    def step(self, facts, present=None):
        """One call. facts: one `Facts` a row; present: rows of the next episode, if this call opens one."""
        if self.rows is None:
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

    # -- what the tests ask between calls

    @property
    def last_trial(self):
        return self.trial == self.rules.max_trials - 1

    @property
    def next_call_restarts(self):
        return self.ended

    @property
    def present(self):
        return [row.present for row in self.rows]

    @property
    def drives(self):
        return [row.drives for row in self.rows]

    @property
    def on_map(self):
        return [row.on_map for row in self.rows]

    @property
    def time_left(self):
        return (self.rules.trial_steps - self.clock) / self.rules.trial_steps

    def trial_features(self, r):
        """What row r is shown of its trials, unscaled; None while its observation is all zero."""
        row = self.rows[r]
        if not row.on_map:
            return None
        return self._features(self.trial, row.last_reward, row.previous_outcome, row.previous_share)

    def restart_features(self, r):
        """The same after the next inner restart; None for rows that will not meet one or do not wait."""
        row = self.rows[r]
        if not row.present or self.last_trial or (row.drives and not self.ended):
            return None
        return self._features(
            self.trial + 1, row.last_reward, row.ended_as, row.steps_driven / self.rules.trial_steps
        )

    @staticmethod
    def _features(trial, reward, outcome, share):
        one_hot = {f"outcome_{name}": float(name == outcome) for name in OUTCOMES}
        return {"index": float(trial), "reward": reward, "steps_share": share, **one_hot}

    # -- how it goes on

    def _open_episode(self, present, age):
        self.rows = [Row(present=bool(p)) for p in present]
        assert len(self.rows) == self.row_count
        self._begin(trial=0, age=age)

    def _open_trial(self, trial):
        self.rows = [
            Row(
                present=row.present,
                last_reward=row.last_reward,
                previous_outcome=row.ended_as,
                previous_share=row.steps_driven / self.rules.trial_steps,
            )
            for row in self.rows
        ]
        self._begin(trial, age=0)

    def _begin(self, trial, age):
        self.trial = trial
        self.clock = age
        self.shortened = age > 0
        self.ended = False

    def _drive(self, facts):
        rules = self.rules
        waited = [not row.drives for row in self.rows]
        rewards = [0.0] * self.row_count
        ended_by_event = [False] * self.row_count
        outcomes = ["none"] * self.row_count
        self.clock += 1

        for r, row in enumerate(self.rows):
            if not row.drives:
                continue
            row.steps_driven += 1
            events = {event for event in EVENTS if getattr(facts[r], event)}
            if "goal" in row.events:
                events.discard("goal")
            row.events |= events
            rewards[r] = math.fsum(rules.worth(event) for event in events)
            row.last_reward = rewards[r]
            for event in events:
                row.paid[event] += rules.worth(event)
            if "goal" in events and not row.events & {"collision", "offroad"}:
                row.scored = True
            ending = [event for event in EVENTS if event in events and rules.answer(event) != "ignore"]
            if ending:
                removes = any(rules.answer(event) == "remove" for event in ending)
                row.state = "removed" if removes else "stopped"
                ended_by_event[r] = True
                outcomes[r] = ending[0]

        had_vehicle = sum(row.present for row in self.rows)
        stopped = sum(row.present and row.state == "stopped" for row in self.rows)
        limit = rules.stopped_share_limit
        self.ended = (
            not any(row.drives for row in self.rows)
            or self.clock == rules.trial_steps
            or (limit is not None and stopped / had_vehicle >= limit)
        )
        cut = [self.ended and row.drives for row in self.rows]
        for r, row in enumerate(self.rows):
            if cut[r]:
                outcomes[r] = "timeout"
            if outcomes[r] != "none":
                row.ended_as = outcomes[r]
        if self.ended and not self.shortened:
            for r, row in enumerate(self.rows):
                if row.present:
                    self._book(r)
        return self._channels(
            rewards=rewards,
            terminations=[e and self.last_trial for e in ended_by_event],
            truncations=[c and self.last_trial for c in cut],
            trial_ended=self.ended,
            truncation=cut,
            invalid_step=waited,
            outcome=[OUTCOMES.index(name) for name in outcomes],
        )

    def _book(self, r):
        row = self.rows[r]
        self.metrics.book(self.first_row + r, self.trial, {
            "score": float(row.scored),
            "goal": float("goal" in row.events),
            "collision": float("collision" in row.events),
            "offroad": float("offroad" in row.events),
            "timeout": float(row.ended_as == "timeout"),
            "trial_length": float(row.steps_driven),
            "reward": math.fsum(row.paid.values()),
            **{f"reward_{event}": paid for event, paid in row.paid.items()},
        })

    def _channels(self, **said):
        """All channels, one list each. What is not said is 0; one value stands for all rows."""
        channels = {}
        for name in CHANNELS:
            value = said.get(name, 0.0 if name == "rewards" else 0 if name == "outcome" else False)
            channels[name] = list(value) if isinstance(value, list) else [value] * self.row_count
        channels["trial_index"] = [self.trial] * self.row_count
        channels["removed"] = [not row.on_map for row in self.rows]
        channels["stopped"] = [row.present and row.state == "stopped" for row in self.rows]
        channels["waits"] = [
            removed or stopped or ended for removed, stopped, ended in
            zip(channels["removed"], channels["stopped"], channels["trial_ended"])]
        return channels
