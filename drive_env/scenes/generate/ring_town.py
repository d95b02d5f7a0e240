"""What is a town with roundabouts? The streets of a town, on a lane map, with a ring in place of some junctions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .curves import Path, Pose, between, line
from .junction import LINE_BACK_M, Junction, add_controls
from .lane_map import LaneMap
from .nodes import Node, axis, street
from .parts import Parts
from .placing import INSET_M, PlacingSpec, Span, place
from .ring import Ring
from .rng import Rng
from .roadnet import EAST, HEADING_RAD, NORTH, RIGHT_TURN_M, SPEED_LIMIT_MPS
from .traffic import START_SPEED_MPS

RING_RADIUS_M, ARC_RADIUS_M = 12.0, 10.0
"""Those of the smallest roundabout, since two of them must fit between junctions that are 43 m apart."""

RING_LIMIT_MPS = 6.0
"""At 12 m the lateral acceleration is 3 m/s2."""

SPEED_SHARE, HEADWAY_S = (0.0, START_SPEED_MPS / SPEED_LIMIT_MPS), (1.0, 3.0)


def ring_town(rng: Rng, agents: int, centres: Sequence[tuple[float, float]], arms: Sequence[Mapping[int, int]],
              lane_width_m: float, kinds: Mapping[int, str], route_range_m: tuple[float, float]) -> Parts:
    """The parts of a town.

    Args:
        centres, arms: as of `RoadNet`.
        kinds: of junctions, by index: "roundabout", or a key of `CONTROLS`.
    """
    roads, nodes = LaneMap(), [_node(centres[at], arms[at], lane_width_m, kinds.get(at, "none"))
                               for at in range(len(centres))]

    # The lanes of each street, in both directions.
    entries: list[dict[int, int]] = [{} for _ in nodes]
    exits: list[dict[int, int]] = [{} for _ in nodes]
    for at, node in enumerate(nodes):
        for arm in (arm for arm in arms[at] if arm in (EAST, NORTH)):
            to, back = arms[at][arm], (arm + 2) % 4
            ends = ((node, at, arm, nodes[to], to, back), (nodes[to], to, back, node, at, arm))
            for here, from_index, from_arm, there, to_index, to_arm in ends:
                lane = street(roads, here, from_arm, there, _straight_m(here, there), SPEED_LIMIT_MPS)
                exits[from_index][from_arm] = entries[to_index][to_arm] = lane
            # The centre line, where both lanes are straight.
            start_m, end_m = (max(end.entry_reach_m, end.exit_reach_m) for end in (node, nodes[to]))
            roads.line(Path(axis(node, arm).moved(start_m), (line(_apart_m(node, nodes[to]) - start_m - end_m),)))

    # The lanes through each node, its lights or signs, and the spans where cars start.
    starts, lit = [], 0
    for at, node in enumerate(nodes):
        own = {arm: entries[at][arm] for arm in sorted(entries[at])}
        node.connect(roads, own, exits[at])
        if isinstance(node, Junction):
            kind = kinds.get(at, "none")
            add_controls(rng, roads, node, kind, {arm: (lane,) for arm, lane in own.items()}, lit)
            lit += kind == "lights"
            if len(own) == 2:
                one, other = sorted(own)
                roads.line(between(axis(node, one).moved(node.half_box_m).reversed(),
                                   axis(node, other).moved(node.half_box_m)))
        starts += [Span(lane, to_m=roads.lanes[lane].curve.length_m - INSET_M - LINE_BACK_M) for lane in own.values()]
    spec = PlacingSpec(starts, [Span(span.lane) for span in starts], route_range_m, SPEED_SHARE, HEADWAY_S)
    return roads.parts(place(rng, roads, agents, spec))


def _node(centre_m, arms, lane_width_m, kind) -> Node:
    """The node of a kind."""
    centre, headings = Pose(centre_m[0], centre_m[1], 0.0), {arm: HEADING_RAD[arm] for arm in sorted(arms)}
    if kind == "roundabout":
        return Ring(centre, headings, lane_width_m, RING_RADIUS_M, ARC_RADIUS_M, ARC_RADIUS_M, 1, RING_LIMIT_MPS)
    return Junction(centre, headings, lane_width_m, RIGHT_TURN_M + lane_width_m / 2, SPEED_LIMIT_MPS)


def _apart_m(one, other):
    """From the centre of a node to that of the next one."""
    return abs(one.centre.x_m - other.centre.x_m) + abs(one.centre.y_m - other.centre.y_m)


def _straight_m(here, there):
    """Of the lane between two nodes, from exit to entry."""
    return _apart_m(here, there) - here.exit_reach_m - there.entry_reach_m
