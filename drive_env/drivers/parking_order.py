"""How far may each car of a parking lot drive, so that all reach their goals? Up to the way of those that go first.

Cars go in an order in which none starts on the way of one that goes earlier. None drives onto what is left of the way
of an earlier one, so the first never waits, and then the second: there is no deadlock.
"""

from __future__ import annotations

import math

import numpy as np

from .manoeuvres import Car
from .parking_path import DrivePath

PLACE_M = 0.5
"""Distance of the places of a path that are compared."""

DISCS = 5
"""Equal parts of a car's length, each within a disc: so many that cars in neighbouring bays do not touch."""

GAP_M = 0.15
"""Between the discs of two cars, at least."""



class Order:
    """The order of the agents of a scene, and where their ways meet.

    Args:
        cars, paths: of each agent; the path of one that stays where it is has one pose.

    Attributes:
        places: how many places the longest path has.
        remaining, there: (agents, agents, places, places / 8) uint8, bits: for agents i and j and a place of j, at
            which places of i it would be in the way of j, from that place to the goal of j, or just there. `remaining`
            has none where j does not go first.
    """

    def __init__(self, cars: list[Car], paths: list[DrivePath]) -> None:
        discs = [_discs(car, path) for car, path in zip(cars, paths, strict=True)]
        self.places = max(len(middles) for middles, _ in discs)
        shape = (len(cars), len(cars), self.places, -(-self.places // 8))
        self.remaining, self.there = np.zeros(shape, np.uint8), np.zeros(shape, np.uint8)
        meets = {(i, j): _meets(discs[i], discs[j], cars[i], cars[j]) for i in range(len(cars)) for j in range(i)}
        meets |= {(j, i): found.T for (i, j), found in meets.items()}
        rank = _ranks(len(cars), {(i, j) for (i, j), found in meets.items() if found[0].any()})
        for (i, j), found in meets.items():
            own, other = found.shape
            self.there[i, j, :other, : -(-own // 8)] = np.packbits(found.T, axis=1)
            if rank[j] < rank[i]:
                later = np.logical_or.accumulate(found.T[::-1], axis=0)[::-1]
                self.remaining[i, j, :other, : -(-own // 8)] = np.packbits(later, axis=1)


def places_of(path: DrivePath) -> np.ndarray:
    """(n,) the last place at or before each pose of a path."""
    return (arcs_m(path) / PLACE_M).astype(np.int64)


def arcs_m(path: DrivePath) -> np.ndarray:
    """(n,) metres that the car has driven at each pose, in both gears."""
    return np.concatenate([[0.0], np.cumsum(np.hypot(np.diff(path.x_m), np.diff(path.y_m)))])


def _discs(car, path):
    """(places, 2) middles of a car along its path, and (places, DISCS, 2) those of its discs."""
    first = np.unique(places_of(path), return_index=True)[1]
    ahead_m = -car.back_m + car.length_m * (np.arange(DISCS) + 0.5) / DISCS
    cosine, sine = np.cos(path.heading_rad[first])[:, None], np.sin(path.heading_rad[first])[:, None]
    discs = np.stack([path.x_m[first][:, None] + ahead_m * cosine, path.y_m[first][:, None] + ahead_m * sine], axis=2)
    return discs.mean(axis=1), discs


def _meets(one, other, one_car, other_car):
    """(places, places) bool: where on their paths two cars would touch, or nearly."""
    apart_m = np.hypot(*(one[0][:, None] - other[0]).transpose(2, 0, 1))
    far_m = math.fsum(car.length_m / 2 + car.half_m for car in (one_car, other_car)) + GAP_M
    near = np.argwhere(apart_m < far_m)
    found = np.zeros(apart_m.shape, bool)
    if len(near):
        reach_m = GAP_M + _disc_m(one_car) + _disc_m(other_car)
        step_m = one[1][near[:, 0]][:, :, None] - other[1][near[:, 1]][:, None]
        touch = ((step_m * step_m).sum(axis=3) < reach_m * reach_m).any(axis=(1, 2))
        found[tuple(near[touch].T)] = True
    return found


def _disc_m(car):
    return float(np.hypot(car.length_m / DISCS / 2, car.half_m))


def _ranks(count, on_way):
    """The rank of each agent: after those that start on its way; of several, the lowest index first.

    Args:
        on_way: pairs (i, j): i starts on the way of j.
    """
    rank, left = np.zeros(count, np.int64), list(range(count))
    for place in range(count):
        free = [j for j in left if not any((i, j) in on_way for i in left)]
        chosen = (free or left)[0]
        rank[chosen] = place
        left.remove(chosen)
    return rank
