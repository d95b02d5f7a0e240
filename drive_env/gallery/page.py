"""What does the page of the gallery contain? One card per scene, in one HTML file beside the films."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import NamedTuple

from .cards import Card
from .films import Filmed
from .scores import Counts, score_text

TITLE = "Scenes of drive-env"

STYLE = """
body { font: 15px/1.4 system-ui, sans-serif; margin: 2rem auto; max-width: 80rem; padding: 0 1rem;
  color: #1c2026; background: #fff; }
main { display: grid; grid-template-columns: repeat(auto-fill, minmax(22rem, 1fr)); gap: 1.5rem; }
article { border: 1px solid #d4d8de; border-radius: 6px; padding: 1rem; }
h2 { margin: 0 0 .5rem; font-size: 1.1rem; }
img { width: 100%; border-radius: 3px; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; margin: .5rem 0 0; }
dt { color: #60666e; }
dd { margin: 0; overflow-wrap: anywhere; }
@media (prefers-color-scheme: dark) {
  body { color: #e4e7eb; background: #16191d; }
  article { border-color: #3a4048; }
  dt { color: #a0a6ae; }
}
"""


class Shown(NamedTuple):
    """A card with its film, and the counts of its reference driver for each seed."""

    card: Card
    filmed: Filmed
    counts: Sequence[Counts]


def facts(shown: Shown) -> dict[str, str]:
    """The facts of a card as texts, by their labels."""
    card = shown.card
    return {"envs": ", ".join(card.envs) or f"drive_env.tasks.{card.task}()", "cars": str(card.agents),
            "horizon": horizon_text(card), "actions": card.config.action_type, "hard": card.difficulty,
            "reference": f"{card.driver}: {score_text(card, shown.counts)}",
            "film": film_text(shown.filmed)}


def horizon_text(card: Card) -> str:
    """The time limit of a trial in seconds and steps, and the number of trials if there are several."""
    trials = f", {card.trials} trials" if card.trials > 1 else ""
    return f"{card.horizon_s:g} s ({card.steps} steps){trials}"


def film_text(filmed: Filmed) -> str:
    """The simulated time that a film shows, and how fast."""
    speed = "in real time" if filmed.speed == 1 else f"shown {filmed.speed:.2g} times as fast"
    return f"{filmed.shown_s:.3g} s {speed}"


def gallery_page(shown: Sequence[Shown]) -> str:
    """The page; the film of a card is NAME.gif in the same folder."""
    cards = "".join(_card_html(one) for one in shown)
    return (f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>{TITLE}</title>\n'
            f"<style>{STYLE}</style>\n</head>\n<body>\n<h1>{TITLE}</h1>\n<p>The reference driver drives the cars of a "
            "scene. Blue cars drive to their goals, the rings; green discs are goals that were reached.</p>\n"
            f"<main>\n{cards}</main>\n</body>\n</html>\n")


def _card_html(shown):
    name = html.escape(shown.card.name)
    rows = "".join(f"<dt>{html.escape(key)}</dt><dd>{html.escape(value)}</dd>\n" for key, value in facts(shown).items())
    return (f'<article id="{name}">\n<h2>{name}</h2>\n<img src="{name}.gif" alt="Film of {name}" loading="lazy">\n'
            f"<dl>\n{rows}</dl>\n</article>\n")
