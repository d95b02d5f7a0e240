"""Where does the road end? At the outline of the areas of all lanes.

The area of a lane is a strip around its sampled centre. Between two samples, the centre is the parabola over the chord
that has their headings: for arcs that is exact to 0.1 mm, so two lanes on one curve have one boundary, wherever their
samples are. The outline consists of those parts of all boundaries that are inside of no other area.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...errors import SceneError
from .roadnet import END_CAP_M
from .trig import sine_cosine, wrapped_rad

SAME_M = 2e-3
"""Boundaries nearer to each other than this count as one: that of the lane with the lowest number."""

JOINT_M = 1e-6
"""Lanes that are linked have no gap between them."""

CELL_M = 4.0
"""Cell size of the grid in which strips are found; about their width."""

PIECE_M = 1.0
"""Boundaries are tested at least this often: shorter gaps between lanes are no gaps."""

BISECTIONS = 12
"""Halvings that narrow a cut down from a piece of 1 m to 0.25 mm."""

JOIN_M = 1.25
"""Largest gap between the end of a boundary and the start of the next that is closed. It is more than `PIECE_M`, since
a part shorter than a piece can be lost where a taper begins. The half widths of successive lanes may differ by up to
this."""

SMALLEST_ISLAND_M2 = 4.0
"""A smaller hole between lanes is paved."""


class Strips(NamedTuple):
    """Areas of lanes, cut at their samples into s segments.

    Attributes:
        a, b: (s, 2) start and end of each.
        a_ahead, b_ahead: (s, 2) unit vectors of the headings there.
        bend: (s,) rad, from the first heading to the second.
        half: (s,) m, from the centre to the boundary.
        owner: (s,) lane.
        is_first, is_last: (s,) bool, the lane has an open end at the start or end of the segment.
        lane_start: (lanes + 1,) first segment of each lane.
        cells: pairs of a cell of the grid and a segment whose bounding box touches it: keys of cells, ascending, and
            segments.
    """

    a: np.ndarray
    b: np.ndarray
    a_ahead: np.ndarray
    b_ahead: np.ndarray
    bend: np.ndarray
    half: np.ndarray
    owner: np.ndarray
    is_first: np.ndarray
    is_last: np.ndarray
    lane_start: np.ndarray
    cells: tuple[np.ndarray, np.ndarray]

    def inner_points(self, inset_m: float) -> tuple[np.ndarray, np.ndarray]:
        """(n, 2) points on the centre and near both boundaries, at most `PIECE_M` apart, and their lanes."""
        points, owners = [], []
        for side in (-1.0, 0.0, 1.0):
            left = side * (self.half - inset_m)[:, None]
            edges = Boundary(self.a + left * _left(self.a_ahead), self.b + left * _left(self.b_ahead), self.bend)
            edge, share = edges.pieces()
            points.append(edges.at(edge, share + 0.5 / edges.counts()[edge]))
            owners.append(self.owner[edge])
        return np.concatenate(points), np.concatenate(owners)


class Boundary(NamedTuple):
    """Edges of boundaries: from point to point, with the change of direction in between."""

    a: np.ndarray
    b: np.ndarray
    bend: np.ndarray

    def counts(self) -> np.ndarray:
        """(e,) into how many pieces each edge is divided."""
        return np.maximum(1, np.ceil(_length(self.b - self.a) / PIECE_M - 1e-6)).astype(np.int64)

    def pieces(self) -> tuple[np.ndarray, np.ndarray]:
        """The start of every piece: its edge, and the share of the edge before it."""
        counts = self.counts()
        edge = np.repeat(np.arange(len(counts)), counts)
        return edge, (np.arange(len(edge)) - np.repeat(np.cumsum(counts) - counts, counts)) / counts[edge]

    def at(self, edge: np.ndarray, share: np.ndarray) -> np.ndarray:
        """(n, 2) points of edges at these shares."""
        step = self.b[edge] - self.a[edge]
        bulge = (-0.5 * self.bend[edge] * share * (1.0 - share))[:, None]
        return self.a[edge] + share[:, None] * step + bulge * _left(step)


def strips_of(start: np.ndarray, xy_m: np.ndarray, heading_rad: np.ndarray, half_m: np.ndarray,
              opens: np.ndarray, closes: np.ndarray) -> Strips:
    """The areas of lanes.

    Args:
        start: (lanes + 1,) of the samples of each lane.
        xy_m, heading_rad: of the samples.
        half_m: (lanes,) from the centre to the boundary.
        opens, closes: (lanes,) bool, whether the area of a lane extends `END_CAP_M` beyond its start, and beyond its
            end, and has a boundary across it there.
    """
    sine, cosine = sine_cosine(heading_rad)
    ahead = np.stack([cosine, sine], axis=1)
    # One more sample at each open end.
    lanes = np.arange(len(half_m))
    first, last = start[:-1], start[1:] - 1
    order = np.concatenate([np.arange(len(xy_m)), first[opens], last[closes]])
    moved = np.concatenate([xy_m, xy_m[first[opens]] - END_CAP_M * ahead[first[opens]],
                            xy_m[last[closes]] + END_CAP_M * ahead[last[closes]]])
    owner = np.concatenate([np.repeat(lanes, np.diff(start)), lanes[opens], lanes[closes]])
    place = np.concatenate([np.ones(len(xy_m)), np.zeros(opens.sum()), np.full(closes.sum(), 2.0)])
    sort = np.lexsort((order, place, owner))
    xy, ahead, heading, owner = moved[sort], ahead[order][sort], heading_rad[order][sort], owner[sort]
    within = owner[1:] == owner[:-1]
    a, b = np.flatnonzero(within), np.flatnonzero(within) + 1
    segment_start = np.searchsorted(owner[a], np.arange(len(half_m) + 1))
    is_first, is_last = np.zeros(len(a), bool), np.zeros(len(a), bool)
    is_first[segment_start[:-1][opens]] = True
    is_last[segment_start[1:][closes] - 1] = True
    half = half_m[owner[a]]
    return Strips(xy[a], xy[b], ahead[a], ahead[b], wrapped_rad(heading[b] - heading[a]), half, owner[a],
                  is_first, is_last, segment_start, _cells(xy[a], xy[b], half))


def _cells(a, b, half):
    """The cells of the grid that the bounding box of each segment touches."""
    low = np.floor((np.minimum(a, b) - half[:, None] - SAME_M) / CELL_M).astype(np.int64)
    high = np.floor((np.maximum(a, b) + half[:, None] + SAME_M) / CELL_M).astype(np.int64)
    size = high - low + 1
    count = size[:, 0] * size[:, 1]
    segment = np.repeat(np.arange(len(count)), count)
    rank = np.arange(len(segment)) - np.repeat(np.cumsum(count) - count, count)
    keys = (low[segment, 0] + rank // size[segment, 1]) * 2**32 + low[segment, 1] + rank % size[segment, 1]
    order = np.argsort(keys, kind="stable")
    return keys[order], segment[order]


def covered(strips: Strips, points: np.ndarray, owner: np.ndarray, inset_m: float | None = None
            ) -> tuple[np.ndarray, np.ndarray]:
    """Which points are in the areas of other lanes: pairs of a point and a lane.

    Args:
        owner: (n,) lane of each point.
        inset_m: by how much a point must be inside. None: by `SAME_M`, except that a point is also in the area of a
            lane with a lower number than its own if it is at most `SAME_M` outside.
    """
    point, segment = _near(strips, points)
    apart = strips.owner[segment] != owner[point]
    point, segment = point[apart], segment[apart]
    # Only points between the ends, roughly.
    past = _along(points[point] - strips.a[segment], strips.a_ahead[segment])
    between = past >= -SAME_M
    point, segment, past = point[between], segment[between], past[between]
    before = _along(strips.b[segment] - points[point], strips.b_ahead[segment])
    between = before >= -SAME_M
    point, segment, past, before = point[between], segment[between], past[between], before[between]
    # How far the point is from both ends, along the headings there.
    if inset_m is None:
        margin = np.where(strips.owner[segment] < owner[point], -SAME_M, SAME_M)
    else:
        margin = np.full(len(point), inset_m)
    inside = ((past >= np.where(strips.is_first[segment], margin, -JOINT_M))
              & (before >= np.where(strips.is_last[segment], margin, -JOINT_M)))
    # And how far from the centre, which is a parabola over the chord; across its direction there.
    from_a, step = points[point] - strips.a[segment], strips.b[segment] - strips.a[segment]
    chord = _length(step)
    share = np.clip(past / np.where(past + before > 0, past + before, 1.0), 0.0, 1.0)
    left = _along(from_a, _left(step)) / chord + 0.5 * chord * strips.bend[segment] * share * (1.0 - share)
    slope = (share - 0.5) * strips.bend[segment]
    inside &= np.abs(left) / (1.0 - 0.5 * slope * slope) <= strips.half[segment] - margin
    return point[inside], strips.owner[segment[inside]]


def outline(strips: Strips, pavements: list[np.ndarray]) -> list[np.ndarray]:
    """The closed outlines, (n, 2) each, of all areas and of convex pavements, with the road on the left.

    Raises:
        SceneError: a boundary ends where no other begins.
    """
    boundary, chain, owner = _boundaries(strips, pavements)
    edge, share = boundary.pieces()
    # The end of a chain is a point of its own: share 1 of its last edge.
    is_end = np.append(chain[1:] != chain[:-1], True)
    at = np.concatenate([edge, np.flatnonzero(is_end)])
    share = np.concatenate([share, np.ones(is_end.sum())])
    order = np.lexsort((share, at))
    edge, share = at[order], share[order]
    is_outside = ~_is_covered(strips, pavements, boundary.at(edge, share), owner[edge])

    # Cut points, between a point outside and the next one inside, or the other way.
    follows = chain[edge[1:]] == chain[edge[:-1]]
    cut = np.flatnonzero(follows & (is_outside[1:] != is_outside[:-1]))
    cut_edge, low = edge[cut], share[cut]
    high = np.where(edge[cut + 1] == cut_edge, share[cut + 1], 1.0)
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        same = is_outside[cut] == ~_is_covered(strips, pavements, boundary.at(cut_edge, middle), owner[cut_edge])
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    cut_share = np.where(is_outside[cut], low, high)

    # What is outside, in the order of its chain: vertices and cut points.
    kept = is_outside & ((share == 0.0) | (share == 1.0))
    edges = np.concatenate([edge[kept], cut_edge])
    shares = np.concatenate([share[kept], cut_share])
    kind = np.concatenate([np.zeros(kept.sum(), np.int64), np.where(is_outside[cut], 1, -1)])
    order = np.lexsort((np.abs(kind), shares, edges))
    points, kind, chains = boundary.at(edges[order], shares[order]), kind[order], chain[edges[order]]
    begins = (kind == -1) | np.append(True, chains[1:] != chains[:-1]) | np.append(False, kind[:-1] == 1)
    runs = np.split(points, np.flatnonzero(begins)[1:])
    return [loop for loop in _loops(runs) if _area_m2(loop) > 0 or _area_m2(loop) < -SMALLEST_ISLAND_M2]


def _boundaries(strips, pavements):
    """All boundaries with their area on the left: edges, and the number of the chain and owner of each.

    The right boundary of a lane runs forward, an open end across to the left, the left boundary back.
    """
    # The right side, then the left one backwards, with the number of their edges within the lane.
    count, lanes = len(strips.owner), len(strips.lane_start) - 1
    off_a, off_b = strips.half[:, None] * _left(strips.a_ahead), strips.half[:, None] * _left(strips.b_ahead)
    a, b = [strips.a - off_a, strips.b + off_b], [strips.b - off_b, strips.a + off_a]
    bend, owner = [strips.bend, -strips.bend], [strips.owner, strips.owner]
    number = [np.arange(count), 3 * count - np.arange(count)]
    # Caps: after the last right edge, and after the last left one.
    for flags, left_first, at in ((strips.is_last, False, count), (strips.is_first, True, 3 * count + 1)):
        chosen = np.flatnonzero(flags)
        xy, off = (strips.a, off_a) if left_first else (strips.b, off_b)
        sides = [xy[chosen] + off[chosen], xy[chosen] - off[chosen]]
        a.append(sides[0] if left_first else sides[1])
        b.append(sides[1] if left_first else sides[0])
        bend.append(np.zeros(len(chosen)))
        owner.append(strips.owner[chosen])
        number.append(np.full(len(chosen), at))
    for i, corners in enumerate(pavements):
        a.append(corners)
        b.append(np.roll(corners, -1, axis=0))
        bend.append(np.zeros(len(corners)))
        owner.append(np.full(len(corners), lanes + i))
        number.append(np.arange(len(corners)))
    # One chain after another: a new one starts where an edge does not go on where the last one ends.
    owner, number = np.concatenate(owner), np.concatenate(number)
    order = np.lexsort((number, owner))
    found = Boundary(*(np.concatenate(parts)[order] for parts in (a, b, bend)))
    breaks = (_length(found.a[1:] - found.b[:-1]) > JOINT_M) | (owner[order][1:] != owner[order][:-1])
    return found, np.concatenate([[0], np.cumsum(breaks)]), owner[order]


def _is_covered(strips, pavements, points, owner):
    """(n,) bool: which points of boundaries are in another area."""
    found = np.zeros(len(points), bool)
    found[covered(strips, points, owner)[0]] = True
    lanes = len(strips.lane_start) - 1
    for i, corners in enumerate(pavements):
        step = np.roll(corners, -1, axis=0) - corners
        x_m, y_m = points.T[..., None] - corners.T[:, None]
        left = (x_m * -step[:, 1] + y_m * step[:, 0]) / _length(step)
        margin = np.where(lanes + i < owner, -SAME_M, SAME_M)
        found |= (left.min(axis=1) >= margin) & (owner != lanes + i)
    return found


def _loops(runs):
    """Runs, each joined to the one that starts nearest to its end, until they close."""
    starts, ends = np.array([run[0] for run in runs]), np.array([run[-1] for run in runs])
    gap_m = _length((ends[:, None] - starts[None]).reshape(-1, 2)).reshape(len(runs), -1)
    after = np.full(len(runs), -1)
    is_free = np.ones(len(runs), bool)
    end_of, start_of = np.nonzero(gap_m <= JOIN_M)
    for pair in np.argsort(gap_m[end_of, start_of], kind="stable"):
        end, start = end_of[pair], start_of[pair]
        if after[end] < 0 and is_free[start]:
            after[end], is_free[start] = start, False
    if (after < 0).any():
        end = ends[np.flatnonzero(after < 0)[0]]
        raise SceneError(f"a road edge ends at ({end[0]:g}, {end[1]:g}) m, more than {JOIN_M:g} m from all others")
    loops, unused = [], np.ones(len(runs), bool)
    for first in range(len(runs)):
        points, here = [], first
        while unused[here]:
            unused[here] = False
            points.append(runs[here])
            here = after[here]
        if points:
            loop = np.concatenate(points)
            loop = loop[_length(loop - np.roll(loop, 1, axis=0)) > 2 * SAME_M]
            loops.append(np.concatenate([loop, loop[:1]]))
    return loops


def _near(strips, points):
    """Pairs of a point and a segment whose bounding boxes share a cell of the grid."""
    keys, segment = strips.cells
    cell = np.floor(points / CELL_M).astype(np.int64)
    key = cell[:, 0] * 2**32 + cell[:, 1]
    first, last = np.searchsorted(keys, key, side="left"), np.searchsorted(keys, key, side="right")
    point = np.repeat(np.arange(len(points)), last - first)
    rank = np.arange(len(point)) - np.repeat(np.cumsum(last - first) - (last - first), last - first)
    return point, segment[first[point] + rank]


def _area_m2(loop):
    """Signed: above 0 if the loop runs counter-clockwise."""
    at = loop - loop[0]
    return 0.5 * float(np.cumsum(at[:-1, 0] * at[1:, 1] - at[1:, 0] * at[:-1, 1])[-1])


def _left(vectors):
    """The vectors, turned to the left."""
    return np.stack([-vectors[..., 1], vectors[..., 0]], axis=-1)


def _along(vectors, ahead):
    """Products of pairs of vectors."""
    return vectors[..., 0] * ahead[..., 0] + vectors[..., 1] * ahead[..., 1]


def _length(vectors):
    return np.sqrt(vectors[..., 0] * vectors[..., 0] + vectors[..., 1] * vectors[..., 1])
