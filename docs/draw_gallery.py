"""How are the films and scores of gallery.md made? This writes docs/gallery, from which test_docs.py makes the tables.

    python docs/draw_gallery.py docs [--films] [SCENE ...] && python tests/test_docs.py

With --films, only the films are replaced; the scores of earlier runs stay.
"""

import datetime
import json
import sys
from pathlib import Path

from drive_env.gallery.cards import named_cards
from drive_env.gallery.films import film
from drive_env.gallery.scores import counts_of

SEEDS = range(20)
"""Seeds over which scores are measured."""

FILM_SEEDS = {"procedural": 5}
"""Seeds of the films that do not show seed 0. Procedural: a map with bends and a roundabout."""


def draw(folder, names, films_alone):
    """Replaces the films and scores of the scenes named, or of all; scores have the date of their measurement."""
    folder.mkdir(exist_ok=True)
    path = folder / "measured.json"
    measured = json.loads(path.read_text()) if path.exists() else {}
    for card in named_cards(names):
        filmed = film(card, folder / f"{card.name}.gif", FILM_SEEDS.get(card.name, 0))
        found = measured.setdefault(card.name, {})
        found["film"] = filmed._asdict()
        if not films_alone:
            found |= {"date": datetime.date.today().isoformat(), "counts": [counts_of(card, seed) for seed in SEEDS]}
        rows = ",\n".join(f"{json.dumps(name)}: {json.dumps(measured[name])}" for name in sorted(measured))
        path.write_text(f"{{\n{rows}\n}}\n")


if __name__ == "__main__":
    options = sys.argv[2:]
    draw(Path(sys.argv[1]) / "gallery", [name for name in options if name != "--films"], "--films" in options)
