"""How is a gallery of generated scenes written? One film per scene and a page with facts, in one folder."""

from __future__ import annotations

from pathlib import Path

from ..errors import ConfigError
from ..gallery.cards import named_cards
from ..gallery.films import film
from ..gallery.page import Shown, gallery_page
from ..gallery.scores import counts_of, score_text
from . import show, visuals

PAGE = "index.html"


def run(out: Path, scenes: list[str] | None, seed: int, seeds: int, size: int) -> None:
    """Writes a film for each scene, and the page again after every film; prints the scores."""
    try:
        cards = named_cards(scenes)
    except ConfigError as error:
        raise ConfigError(str(error).replace("scenes has", "--scenes is", 1)) from None
    films = {card.name: f"{card.name}.gif" for card in cards}
    visuals.check_folder(out, [PAGE, *films.values()])
    out.mkdir(parents=True, exist_ok=True)
    shown: list[Shown] = []
    (out / PAGE).write_text(gallery_page(shown), encoding="utf-8")
    with show.progress() as bars:
        bar = bars.add_task("", total=len(cards))
        for card in cards:
            bars.update(bar, description=card.name)
            filmed = film(card, out / films[card.name], seed, size)
            shown.append(Shown(card, filmed, [counts_of(card, seed + offset) for offset in range(seeds)]))
            (out / PAGE).write_text(gallery_page(shown), encoding="utf-8")
            bars.advance(bar)
    show.table(f"reference drivers, {show.plural(seeds, 'seed')} from {seed} on", ["", "score"],
               [[one.card.name, score_text(one.card, one.counts)] for one in shown])
    show.lines(f"\n{out / PAGE}: {show.plural(len(shown), 'film')}, open it in a browser")
