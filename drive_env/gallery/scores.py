"""How well does the reference driver do on each scene? Counts of one episode for each seed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction

from ..batch import Batch
from ..playing import actor, play_trials
from ..scenes import generate_scene
from .cards import Card

Counts = dict[str, int]
"""Of one seed: `trials` of all cars, how many of them had each of `OUTCOMES`, and the number of `goals` reached."""

OUTCOMES = ("score", "collision", "offroad", "timeout")
"""Metrics that are counted over trials; `score` is 1 for a goal without an infraction."""


def counts_of(card: Card, seed: int) -> Counts:
    """Plays an episode of the scene of a seed with the reference driver, and counts its outcomes."""
    with Batch(generate_scene(card.name, seed=seed), config=card.config, seed=seed, threads=1,
               trial_records=card.trials) as batch:
        act = actor(batch, card.policy, seed)
        batch.reset()
        for _ in play_trials(batch, act, card.trials):
            pass
        records = batch.trial_records()
    counts = {name: round(records[name].sum()) for name in OUTCOMES}
    return {"trials": len(records), **counts, "goals": round(records["goals" if card.laps else "goal"].sum())}


def total(counts: Iterable[Counts]) -> Counts:
    """The sum of each count over seeds."""
    rows = list(counts)
    return {name: sum(row[name] for row in rows) for name in rows[0]}


def score_text(card: Card, counts: Sequence[Counts]) -> str:
    """The mean score over all cars and seeds; on circuits also a car's goals per minute, for tasks also the optimum."""
    found = total(counts)
    text = percent(found["score"], found["trials"])
    if card.laps:
        return f"{text}, {60.0 * found['goals'] / (found['trials'] * card.horizon_s):.1f} goals a minute"
    if card.optimum:
        shares = ", ".join(str(Fraction(score).limit_denominator(60)) for score in card.optimum)
        return f"{text}; optimum with memory: {shares}"
    return text


def percent(part: int, whole: int) -> str:
    """A share with one decimal; 0% and 100% are exact, other shares are not rounded to them."""
    if part in (0, whole):
        return f"{100 * part // whole}%"
    return f"{min(max(100 * part / whole, 0.1), math.floor(1000 * (whole - 1) / whole) / 10):.1f}%"
