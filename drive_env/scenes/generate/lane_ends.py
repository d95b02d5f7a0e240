"""How does a road lose lanes? The last one tapers into the one beside it, then that one, and so on."""

from __future__ import annotations

from collections.abc import Sequence

from .curves import Curve, Path, Taper
from .lane_map import LaneMap


def end_lanes(roads: LaneMap, paths: Sequence[Path], lanes: int, lane_width_m: float, speed_limit_mps: float, *,
              after: Sequence[int] = ()) -> tuple[list[int], list[int]]:
    """Adds parts of a road to the right of paths in a row, each with one lane less at its end.

    Args:
        paths: straight; at most as many as there are lanes.
        lanes: where the first part begins.
        after: lanes that lead into the first part.

    Returns:
        The lanes that go on beyond the last part, and the one that ends there in the last of these, if any.
    """
    # The lane that ends in a part also continues the one that ended in the part before.
    before, ends = list(after), list[int]()
    for count, path in zip(range(lanes - 1, -1, -1)[: len(paths)], paths, strict=True):
        curve = Curve(path, -(count + 0.5) * lane_width_m, (Taper(0.0, path.length_m, lane_width_m),))
        ends = [roads.lane(curve, lane_width_m, speed_limit_mps, after=[*before[count:], *ends])]
        before = roads.along(path, count, lane_width_m, speed_limit_mps, after=before)
    return before, ends
