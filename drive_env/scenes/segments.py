"""Which segments do the roads of a kind have?"""

from __future__ import annotations

import numpy as np

from .scene import ROAD_KIND_CODES, Roads


def segments_of(roads: Roads, kind: str) -> tuple[np.ndarray, np.ndarray]:
    """The segments between successive points of a road.

    Args:
        kind: of the roads, one of `ROAD_KIND_CODES`.

    Returns:
        (n,) indices of their roads, ascending, and of their first points; each ends at the point after that.
    """
    road = np.repeat(np.arange(roads.count), np.diff(roads.start))
    first = np.flatnonzero((road[:-1] == road[1:]) & (roads.kind[road[:-1]] == ROAD_KIND_CODES[kind]))
    return road[first], first
