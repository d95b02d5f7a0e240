"""How far is a vehicle from the road edge? Negative on the road, positive where a corner is beyond the edge."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .nearest_segment import Segments, make_segments, nearest_segments

RING_GAP2_M2 = 1.0
"""A line is a ring if the squared distance between its ends is below this."""


class RoadEdges(NamedTuple):
    """The segments of all road edges, and the index of the segment before and after each, -1 where there is none."""

    segments: Segments
    before: np.ndarray
    after: np.ndarray


def make_road_edges(lines: Sequence[np.ndarray], published: bool = True) -> RoadEdges:
    """Road edges from polylines (p, 3), of which those of less than 2 points are left out.

    With `published`, only those rings are closed that have as many points as the longest line. The published
    implementation pads all others, and takes the padding for the neighbour of their ends.
    """
    lines = [np.asarray(line, np.float32) for line in lines if len(line) > 1]
    longest = max(map(len, lines))
    before, after, count = [], [], 0
    for line in lines:
        indices = np.arange(count, count + len(line) - 1)
        count += len(indices)
        before.append(np.concatenate([[-1], indices[:-1]]))
        after.append(np.concatenate([indices[1:], [-1]]))
        is_ring = np.sum((line[0] - line[-1]) ** 2) < RING_GAP2_M2
        if is_ring and (len(line) == longest or not published):
            before[-1][0], after[-1][-1] = indices[-1], indices[0]
    starts, ends = (np.concatenate([line[part] for line in lines]).T for part in (slice(-1), slice(1, None)))
    return RoadEdges(make_segments(np.ascontiguousarray(starts), np.ascontiguousarray(ends)), np.concatenate(before),
                     np.concatenate(after))


def signed_distance_to_edges(points_m: np.ndarray, edges: RoadEdges) -> np.ndarray:
    """(p,) metres in the plane to the nearest road edge, negative on its left, where the road is.

    Beyond the end of a segment, the neighbour there has a say: at a convex corner a point is off the road where it is
    right of one of the two, at a concave one where it is right of both.

    Args:
        points_m: (3, p) float32, x, y and z.
        edges: the road edges.
    """
    segments = edges.segments
    nearest = nearest_segments(points_m, segments)
    x, y, _ = points_m - segments.start_m[:, nearest]
    along_x, along_y, _ = segments.along_m[:, nearest]
    squared = along_x**2 + along_y**2
    share = np.divide(x * along_x + y * along_y, squared, out=np.zeros_like(x), where=squared > 0)
    foot = np.clip(share, 0, 1)
    distance = np.hypot(x - along_x * foot, y - along_y * foot)

    side = _side(points_m, segments, nearest)
    for neighbours, beyond, order in ((edges.before, share < 0, -1), (edges.after, share > 1, 1)):
        has_neighbour = np.flatnonzero(beyond & (neighbours[nearest] >= 0))
        own, neighbour = nearest[has_neighbour], neighbours[nearest[has_neighbour]]
        (own_x, own_y, _), (next_x, next_y, _) = segments.along_m[:, own], segments.along_m[:, neighbour]
        is_convex = order * (own_x * next_y - own_y * next_x) > 0
        other_side = _side(points_m[:, has_neighbour], segments, neighbour)
        own_side = side[has_neighbour]
        side[has_neighbour] = np.where(is_convex, np.maximum(own_side, other_side), np.minimum(own_side, other_side))
    return side * distance


def _side(points_m: np.ndarray, segments: Segments, chosen: np.ndarray) -> np.ndarray:
    """1 right of a segment, -1 left of it, 0 on its line."""
    x, y, _ = points_m - segments.start_m[:, chosen]
    along_x, along_y, _ = segments.along_m[:, chosen]
    return np.sign(x * along_y - y * along_x)
