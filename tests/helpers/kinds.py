"""How many objects or roads of each kind has a scene?"""

from __future__ import annotations

import numpy as np


def kind_counts(codes, names) -> dict[str, int]:
    """Counts by name, of the kinds that occur; `names` by code."""
    found, counts = np.unique(codes, return_counts=True)
    return {names[code]: int(count) for code, count in zip(found, counts, strict=True)}
