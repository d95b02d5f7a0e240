"""What is a town? A grid of junctions, uneven blocks, some streets left out; every lane lies on a loop."""

from __future__ import annotations

import math

from ..scene import LaneGraph, Objects, Roads
from .parameters import Parameter
from .rng import Rng
from .roadnet import EAST, NORTH, SOUTH, WEST, CrossSection, RoadNet
from .traffic import TrafficSpec, populate

PARAMETERS = {
    "blocks": Parameter((2, 2), "blocks", "blocks from west to east and from south to north", 1, 6),
    "block_m": Parameter(95.0, "m", "mean distance of neighbouring junctions", 80.0, 300.0),
    "lane_width_m": Parameter(3.5, "m", "width of every lane", 3.0, 4.5),
}

STRETCH = 0.1
"""A town is up to this share longer or wider than its blocks ask for."""

UNEVENNESS = 0.22
"""Blocks of one town differ from their mean by about this share of it."""

ROUTE_RANGE_M = (40.0, 140.0)
"""At town speeds most of these take less than the 20 s of a default trial."""

OUTSIDE = (-1, -1)


def build(rng: Rng, agents: int, blocks: tuple[int, int], block_m: float,
          lane_width_m: float) -> tuple[Roads, LaneGraph, Objects]:
    columns, rows = blocks
    xs, ys = _spread(rng, columns, block_m), _spread(rng, rows, block_m)
    left_out = _left_out(rng, columns, rows)
    centres, arms = [], []
    for row in range(rows + 1):
        for column in range(columns + 1):
            at = row * (columns + 1) + column
            centres.append((xs[column], ys[row]))
            ways = {EAST: (column < columns, at + 1, (column, row, EAST)),
                    NORTH: (row < rows, at + columns + 1, (column, row, NORTH)),
                    WEST: (column > 0, at - 1, (column - 1, row, EAST)),
                    SOUTH: (row > 0, at - columns - 1, (column, row - 1, NORTH))}
            arms.append({way: to for way, (inside, to, street) in ways.items()
                         if inside and street not in left_out})
    net = RoadNet(CrossSection(lane_width_m, lanes=1), centres, arms)
    lanes = set(range(len(net.lanes)))
    objects = populate(rng, net, agents, TrafficSpec(lanes, lanes, ROUTE_RANGE_M, far_goals=False))
    return net.roads(), net.graph(), objects


def _spread(rng, blocks, block_m):
    """Junction coordinates along one axis, centred on 0, in eighths of a metre."""
    mean_m = block_m * float(rng.uniform(1.0 - STRETCH, 1.0 + STRETCH, 1)[0])
    uneven = rng.uniform(-UNEVENNESS, UNEVENNESS, blocks).tolist()
    # Not sum(), which rounds otherwise from Python 3.12 on.
    mean = math.fsum(uneven) / blocks
    places = [0.0]
    for share in uneven:
        places.append(places[-1] + round(mean_m * (1.0 + share - mean) * 8) / 8)
    return [place - places[-1] / 2 for place in places]


def _left_out(rng, columns, rows):
    """Streets to leave out, as (column, row, direction) of their west or south junction.

    Leaving a street out makes one block of the two beside it. That is allowed while it is the only street
    the two share: a street with one block on both its sides would be a bridge, and a lane over a bridge lies
    on no loop.
    """
    sides = {}
    for row in range(rows + 1):
        for column in range(columns):
            sides[column, row, EAST] = (column, row - 1), (column, row)
    for row in range(rows):
        for column in range(columns + 1):
            sides[column, row, NORTH] = (column - 1, row), (column, row)
    block_of = {block: block if 0 <= block[0] < columns and 0 <= block[1] < rows else OUTSIDE
                for pair in sides.values() for block in pair}
    left_out: set = set()
    wanted = rng.below(columns * rows // 2 + 1)
    for street in rng.shuffled(list(sides)):
        if len(left_out) == wanted:
            break
        pair = {block_of[block] for block in sides[street]}
        shared = [other for other in sides
                  if other not in left_out and {block_of[block] for block in sides[other]} == pair]
        if shared == [street]:
            left_out.add(street)
            merged = block_of[sides[street][0]]
            gone = block_of[sides[street][1]]
            block_of = {block: merged if now == gone else now for block, now in block_of.items()}
    return left_out
