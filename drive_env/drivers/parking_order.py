"""How far may each car of a parking lot drive, so that all reach their goals? Up to the paths of those that go first.

Cars go in an order in which none starts on the path of one that goes earlier. None drives onto the remaining path of an
earlier one, so the first never waits, and once it has arrived neither does the second: there is no deadlock.
"""

from __future__ import annotations

import numpy as np

from .manoeuvres import Boxes, Car, Poses, overlapping
from .parking_path import DrivePath

PLACE_M = 0.5
"""Distance of the places of a path that are compared."""

GAP_M, STANDING_GAP_M = 0.3, 0.08
"""Least gap between two cars that drive, and from a driving car to one that stands at its start or goal. Paths keep a
margin wider than `STANDING_GAP_M` from the bays of others, so that no car is on the path of another one before it
leaves its bay."""


class Order:
    """The order of the agents of a scene, and where their paths meet.

    Args:
        cars, paths: of each agent; the path of one that stays where it is has one pose.

    Attributes:
        places: how many places the longest path has.
        remaining, there: (agents, agents, places, places / 8) uint8. For agents i and j and a place of j, bits of the
            places of i at which i would be in the way of j: in `there`, of j at that place; in `remaining`, of j
            anywhere from that place to its goal. `remaining` has none where j does not go first.
    """

    def __init__(self, cars: list[Car], paths: list[DrivePath]) -> None:
        poses = [_places(path) for path in paths]
        self.places = max(len(of_path.x_m) for of_path in poses)
        shape = (len(cars), len(cars), self.places, -(-self.places // 8))
        self.remaining, self.there = np.zeros(shape, np.uint8), np.zeros(shape, np.uint8)
        meets = {(i, j): _meets(poses[i], poses[j], cars[i], cars[j]) for i in range(len(cars)) for j in range(i)}
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


def _places(path):
    """The poses of a path at its places."""
    first = np.unique(places_of(path), return_index=True)[1]
    return Poses(path.x_m[first], path.y_m[first], path.heading_rad[first])


def _meets(one, other, one_car, other_car):
    """(places, places) bool: where on their paths two cars would touch, or nearly."""
    middle_m = (other_car.front_m - other_car.back_m) / 2
    halves_m = np.broadcast_to([[other_car.length_m / 2], [other_car.half_m]], (2, len(other.x_m)))
    boxes = Boxes(other.x_m + middle_m * np.cos(other.heading_rad), other.y_m + middle_m * np.sin(other.heading_rad),
                  other.heading_rad, *halves_m)
    found = overlapping(one_car, one, boxes, GAP_M)
    for end in (0, -1):
        found[end] = overlapping(one_car, one.at([end]), boxes, STANDING_GAP_M)[0]
        found[:, end] = overlapping(one_car, one, boxes.at([end]), STANDING_GAP_M)[:, 0]
    return found


def _ranks(count, on_way):
    """The rank of each agent: after those that start on its path; of several, the lowest index first.

    Args:
        on_way: pairs (i, j): i starts on the path of j.
    """
    rank, left = np.zeros(count, np.int64), list(range(count))
    for place in range(count):
        free = [j for j in left if not any((i, j) in on_way for i in left)]
        chosen = (free or left)[0]
        rank[chosen] = place
        left.remove(chosen)
    return rank
