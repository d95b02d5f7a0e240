"""Which goals of speed did a run reach? A table of docs/performance.md, made from the measured part of the page."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from pages import measured_part, put_measured, table

FACTORS = {"M": 1e6, "k": 1e3}
"""Of rates; all other figures have one unit each."""

RATE, RATIO = 0, 1
"""Columns of the table of cases."""


class Figure(NamedTuple):
    """A figure that is compared with its goal.

    Attributes:
        row: beginning of the name of its row in the measured tables.
        goal: the least value, or the most where `at_most`; in the unit of the row, or in agent-steps/s.
        column: of the row, behind its name.
        over: if not empty, the row by whose figure it is divided.
        at_most: whether less is better.
    """

    row: str
    goal: float
    column: int = 0
    over: str = ""
    at_most: bool = False


EXACT = "31 + 128 slots, float32"

GOALS: list[tuple[str, tuple[Figure, ...]]] = [
    ("exact roads: 4.8 times the plain reference", (Figure(EXACT, 4.8, RATIO),)),
    ("near roads: 10 times", (Figure("near roads", 10, RATIO),)),
    ("63 + 200 slots on a Zen 4 of 3.7 GHz: 1.1 M agent-steps/s, with near roads 2.0 M",
     (Figure("63 + 200 slots ", 1.1e6), Figure("63 + 200 slots, near roads", 2.0e6))),
    ("index observations on that Zen 4: 2.1 M", (Figure("index observations ", 2.1e6),)),
    ("400 scenes on that Zen 4: 1.0 M", (Figure("400 distinct scenes, 400 worlds", 1.0e6),)),
    ("two threads: 1.8 times one", (Figure("two threads", 1.8, RATE, over=EXACT),)),
    ("a step from Python beyond the core: 0.3 us, with another array of actions 0.6 us",
     (Figure("`batch.step(batch.actions)`", 0.3, at_most=True),
      Figure("`batch.step(other_array)`", 0.6, at_most=True))),
    ("PettingZoo's dicts for 64 agents: 15 us", (Figure("PettingZoo's dicts for 64 agents", 15, at_most=True),)),
    ("1,024 worlds on 1,000 scenes: 1,000 MB", (Figure("memory of 1,024 worlds", 1000, at_most=True),)),
    ("1,000 scenes opened: 2 s", (Figure("1,000 `.drv` scenes", 2, at_most=True),)),
    ("a restart in a step: 50 us", (Figure("a step in which the one world restarts", 50, at_most=True),)),
]
"""Each goal as text, and the figures that must reach it."""


def goals_table(measured: str) -> str:
    """The table of goals, from the text of the measured part.

    Raises:
        ValueError: a row is missing, or several begin alike.
    """
    rows = [re.split(r" *\| *", line.strip("| ")) for line in measured.splitlines() if line.startswith("|")]
    lines = []
    for text, figures in GOALS:
        found = [_found(rows, figure) for figure in figures]
        reached = [value <= one.goal if one.at_most else value >= one.goal
                   for one, (value, _) in zip(figures, found)]
        lines.append((text, " and ".join(shown for _, shown in found) + _verdict(reached)))
    return table(("goal", "measured in the run above"), lines)


def put_goals(page: Path) -> None:
    """Writes the table of goals of a page anew, from its measured part."""
    put_measured(page, goals_table(measured_part(page)), "goals")


def _found(rows: list[list[str]], figure: Figure) -> tuple[float, str]:
    """The value of a figure, and its text."""
    shown = _cell(rows, figure.row, figure.column)
    if not figure.over:
        return _number(shown), shown
    quotient = _number(shown) / _number(_cell(rows, figure.over, figure.column))
    return quotient, f"{quotient:.2f}"


def _cell(rows: list[list[str]], name: str, column: int) -> str:
    cells = [row[1 + column] for row in rows if f"{row[0]} ".startswith(name)]
    if len(cells) != 1:
        raise ValueError(f"{len(cells)} measured rows begin with {name!r}; there must be one")
    return cells[0]


def _number(text: str) -> float:
    number, _, unit = text.partition(" ")
    return float(number) * FACTORS.get(unit, 1.0)


def _verdict(reached: list[bool]) -> str:
    if all(reached):
        return ""
    if not any(reached):
        return ", not reached"
    return f"; the {'second' if reached[0] else 'first'} not reached"
