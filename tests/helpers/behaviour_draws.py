"""Which draws show the behaviours? As a program, it samples all classes and writes their table.

    python tests/helpers/behaviour_draws.py [CLASS ...]
"""

from __future__ import annotations

import sys
from pathlib import Path

from drive_env.behaviours import BEHAVIOURS, sampling
from drive_env.behaviours.draws import DRAWS

TABLE = Path(sampling.__file__).with_name("draws.py")

ROW = 10
"""Pairs in a line of the table."""

HEAD = '''"""Which scenes does each class of behaviour have? Pairs: index of the draw, index of an object that shows it.

Written by `python tests/helpers/behaviour_draws.py`.
"""

DRAWS: dict[str, tuple[tuple[int, int], ...]] = {
'''


def text_of(draws):
    """The module with the table of these draws."""
    lines = [HEAD]
    for name, pairs in draws.items():
        rows = [", ".join(map(str, pairs[first:first + ROW])) for first in range(0, len(pairs), ROW)]
        lines.append(f'    "{name}": (\n        ' + ",\n        ".join(rows) + "),\n")
    return "".join(lines) + '}\n"""By the name of the class."""\n'


def main(names):
    found = {name: tuple(sampling.sample(name)) if name in names else DRAWS.get(name, ()) for name in BEHAVIOURS}
    TABLE.write_text(text_of(found))


if __name__ == "__main__":
    main(sys.argv[1:] or list(BEHAVIOURS))
