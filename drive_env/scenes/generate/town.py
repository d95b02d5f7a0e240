"""What is a town? A grid of junctions with uneven blocks and some streets removed; every lane is on a cycle."""

from __future__ import annotations

import math

from ...errors import SceneError
from .lights import LIGHTS
from .parameters import Parameter
from .parts import Parts
from .priorities import junction_controls
from .ring_town import ring_town
from .rng import Rng
from .roadnet import EAST, NORTH, SOUTH, WEST, CrossSection, RoadNet
from .traffic import TrafficSpec, populate

DEFAULT_AGENTS = 32
"""So that a single agent has traffic."""

DIFFICULTY = "Turns at junctions without lights or signs, among cars whose paths cross."

PARAMETERS = {
    "blocks": Parameter((2, 2), "blocks", "blocks from west to east and from south to north", 1, 6),
    "block_m": Parameter(95.0, "m", "mean distance of neighbouring junctions", 80.0, 300.0),
    "lane_width_m": Parameter(3.5, "m", "width of every lane", 3.0, 4.5),
    "lights": LIGHTS,
    "light_probability": Parameter(0.0, "1", "probability that a junction of three or four arms has lights", 0.0, 1.0),
    "stop_probability": Parameter(0.0, "1", "probability that the minor road of one has stop signs", 0.0, 1.0),
    "roundabout_probability": Parameter(0.0, "1", "probability that such a junction is a roundabout", 0.0, 1.0),
}

TOWN_VARIATION = 0.1
"""The mean block of a town is up to this share longer or shorter than `block_m`."""

BLOCK_VARIATION = 0.22
"""Blocks differ from the mean of their town by about this share."""

ROUTE_RANGE_M = (40.0, 140.0)
"""At urban speeds most of these take less than the 20 s of a default trial."""

OUTSIDE = (-1, -1)


def build(rng: Rng, agents: int, blocks: tuple[int, int], block_m: float, lane_width_m: float, lights: bool,
          light_probability: float, stop_probability: float, roundabout_probability: float) -> Parts:
    """Junctions are numbered row by row from the south-west."""
    shares = {"roundabout": roundabout_probability, "lights": light_probability, "stop": stop_probability}
    if (total := math.fsum(shares.values())) > 1.0:
        raise SceneError(f"light_probability, stop_probability and roundabout_probability add up to {total:g}; "
                         "the sum must be at most 1")

    # Centres of the junctions, and the streets between them that are not removed.
    columns, rows = blocks
    xs, ys = _spread(rng, columns, block_m), _spread(rng, rows, block_m)
    removed = _removed_streets(rng, columns, rows)
    centres, arms = [], []
    for row in range(rows + 1):
        for column in range(columns + 1):
            at = row * (columns + 1) + column
            centres.append((xs[column], ys[row]))
            exits = {EAST: (column < columns, at + 1, (column, row, EAST)),
                     NORTH: (row < rows, at + columns + 1, (column, row, NORTH)),
                     WEST: (column > 0, at - 1, (column - 1, row, EAST)),
                     SOUTH: (row > 0, at - columns - 1, (column, row - 1, NORTH))}
            arms.append({arm: to for arm, (inside, to, street) in exits.items()
                         if inside and street not in removed})

    # The map, with cars: curved lanes if there are roundabouts.
    if roundabout_probability > 0:
        kinds = _draw_kinds(rng, arms, shares, lights)
        return ring_town(rng, agents, centres, arms, lane_width_m, kinds, ROUTE_RANGE_M)
    net = RoadNet(CrossSection(lane_width_m, lanes=1), centres, arms)
    lanes = set(range(len(net.lanes)))
    objects = populate(rng, net, agents, TrafficSpec(lanes, lanes, ROUTE_RANGE_M, far_goals=False))
    # Drawn last, so that lights and signs change nothing else of a scene.
    kinds = _draw_kinds(rng, arms, shares, lights)
    controls = junction_controls(rng, net, kinds) if kinds else None
    return Parts(net.roads(), net.graph(), objects, traffic_controls=controls)


def _draw_kinds(rng, arms, shares, lights):
    """What each junction of three or four arms is, by index; those without lights, signs or ring are left out."""
    found = {}
    for at in (at for at, own in enumerate(arms) if len(own) > 2):
        # Where all shares are 0, nothing is drawn: such scenes have the bytes of a town without these parameters.
        left = float(rng.uniform(0.0, 1.0, 1)[0]) if any(shares.values()) else 1.0
        for kind, share in shares.items():
            left -= share
            if left < 0:
                found[at] = kind
                break
        else:
            if lights:
                found[at] = "lights"
    return found


def _spread(rng, blocks, block_m):
    """Junction coordinates along one axis, centred on 0, in eighths of a metre."""
    mean_m = block_m * float(rng.uniform(1.0 - TOWN_VARIATION, 1.0 + TOWN_VARIATION, 1)[0])
    shares = rng.uniform(-BLOCK_VARIATION, BLOCK_VARIATION, blocks).tolist()
    # sum() rounds differently from Python 3.12 on.
    mean = math.fsum(shares) / blocks
    places = [0.0]
    for share in shares:
        places.append(places[-1] + round(mean_m * (1.0 + share - mean) * 8) / 8)
    return [place - places[-1] / 2 for place in places]


def _removed_streets(rng, columns, rows):
    """Streets to remove, as (column, row, direction) of their west or south junction.

    Removing a street merges the two blocks beside it. It must be the only street between them: another one would have
    the same block on both sides, so it would be a bridge of the graph, and a lane on a bridge is on no cycle.
    """
    # The two blocks beside every street.
    sides = {}
    for row in range(rows + 1):
        for column in range(columns):
            sides[column, row, EAST] = (column, row - 1), (column, row)
    for row in range(rows):
        for column in range(columns + 1):
            sides[column, row, NORTH] = (column - 1, row), (column, row)
    block_of = {block: block if 0 <= block[0] < columns and 0 <= block[1] < rows else OUTSIDE
                for pair in sides.values() for block in pair}
    # Remove streets in random order; `block_of` maps every block to the merged block that it is part of.
    removed: set = set()
    count = rng.below(columns * rows // 2 + 1)
    for street in rng.shuffled(list(sides)):
        if len(removed) == count:
            break
        pair = {block_of[block] for block in sides[street]}
        shared = [other for other in sides
                  if other not in removed and {block_of[block] for block in sides[other]} == pair]
        if shared == [street]:
            removed.add(street)
            merged, absorbed = (block_of[block] for block in sides[street])
            block_of = {block: merged if part == absorbed else part for block, part in block_of.items()}
    return removed
