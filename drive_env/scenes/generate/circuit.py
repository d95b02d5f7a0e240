"""What is a circuit? Lanes side by side along a closed path, on which cars drive round and round."""

from __future__ import annotations

import math

from .curves import Curve, Path
from .lane_map import LaneMap
from .parts import Parts
from .placing import PlacingSpec, Span, place
from .rng import Rng
from .trig import direction_rad

ROUTE_RANGE_M = (100.0, 200.0)
"""At racing speeds most of these take less than the 20 s of a default trial."""

SPEED_SHARE, HEADWAY_S = (0.3, 1.0), (1.0, 3.0)


def circuit(rng: Rng, agents: int, path: Path, lanes: int, lane_width_m: float, speed_limit_mps: float) -> Parts:
    """A circuit with cars.

    Args:
        path: closed; the middle of the leftmost lane.
    """
    roads, curve = LaneMap(), Curve(path, lane_width_m / 2)
    # No lane leads into itself: two halves lead into each other.
    half_m = path.length_m / 2
    first = roads.along(curve.part(0.0, half_m), lanes, lane_width_m, speed_limit_mps)
    second = roads.along(curve.part(half_m, path.length_m), lanes, lane_width_m, speed_limit_mps, after=first)
    for before, after in zip(second, first, strict=True):
        roads.link(before, after)
    spans = [Span(lane) for lane in first + second]
    objects = place(rng, roads, agents, PlacingSpec(spans, spans, ROUTE_RANGE_M, SPEED_SHARE, HEADWAY_S))
    return roads.parts(objects)


def closing_arc_m(centre_m: tuple[float, float], radius_m: float, closing_radius_m: float) -> float:
    """Where a right turn of `closing_radius_m` that comes from a left turn meets the x axis, heading along it.

    Both circles touch from outside; the centre of the right turn is below the axis.

    Args:
        centre_m, radius_m: of the left turn.
    """
    reach_m, below_m = radius_m + closing_radius_m, centre_m[1] + closing_radius_m
    return centre_m[0] + math.sqrt(reach_m * reach_m - below_m * below_m)


def tangent(centre_m: tuple[float, float], radius_m: float, next_centre_m: tuple[float, float], next_radius_m: float
            ) -> tuple[float, float]:
    """The line from a left turn to the next one, which touches both circles: its heading, 0 to 2 pi, and its length.

    Args:
        centre_m, radius_m: of the first turn.
        next_centre_m, next_radius_m: of the next one.
    """
    dx, dy = next_centre_m[0] - centre_m[0], next_centre_m[1] - centre_m[1]
    nearer_m = radius_m - next_radius_m
    length_m = math.sqrt(dx * dx + dy * dy - nearer_m * nearer_m)
    # Seen along the line, the next centre is to the right by as much as its circle is smaller.
    heading_rad = float(direction_rad(dy * length_m + dx * nearer_m, dx * length_m - dy * nearer_m))
    return heading_rad % (2 * math.pi), length_m
