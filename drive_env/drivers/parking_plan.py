"""How does a car follow its path through a parking lot, in both gears? By its place on the path, speed and curvature.

Everything is computed for all agents at once: arrays are (worlds, agents).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from ..scenes.generate.trig import wrapped_rad
from .manoeuvres import Car
from .parking_order import PLACE_M, Order, arcs_m
from .parking_path import STEP_M, DrivePath

FEEDBACK_PER_M = 0.8
"""Errors decay over 1.25 m of path, without overshoot."""

COMFORTABLE_BRAKING_MPS2, THROTTLE_MPS2 = 1.0, 1.5
"""Before places where the car has to be slower, and from rest."""

STILL_MPS, FULL_BRAKING_MPS2 = 0.1, 4.0
"""A car that is to be slower than this brakes with this deceleration until it stands."""

CREEP_MPS = 0.45
"""Speed towards the end of a part in one gear. It is above the speed at which a goal counts as reached, so that the car
arrives in the middle of its bay."""

STOP_M, HOLD_M = 0.06, 0.5
"""From the end of such a part, and from the way of another car, to where the car brakes fully."""

REACH_SPARE = 3
"""Poses ahead, beyond those that its speed leads to, among which the place of a car is searched for: it may speed up in
a step, and be off its path."""

HEADING_M = 2.0
"""Metres by which a place with a heading of 1 rad more is farther away, in a search over a whole path."""


class Plan(NamedTuple):
    """The paths of all agents of scenes, end to end, after one pose for agents without a path.

    Attributes:
        x_m, y_m, heading_rad, curvature_per_m, gear: (n,) see `DrivePath`.
        speed_mps: (n,) highest speed from which the car can still brake for all that follows.
        arc_m: (n,) metres driven on the path in both gears.
        end: (n,) the last pose in the same gear.
        first, last: (scenes, agents) of each path; 0 for an agent without one.
        rear_m, wheelbase_m, length_m: (scenes, agents) from the middle of a car to its rear axle; its wheelbase; its
            length.
        orders: by scene.
    """

    x_m: np.ndarray
    y_m: np.ndarray
    heading_rad: np.ndarray
    curvature_per_m: np.ndarray
    gear: np.ndarray
    speed_mps: np.ndarray
    arc_m: np.ndarray
    end: np.ndarray
    first: np.ndarray
    last: np.ndarray
    rear_m: np.ndarray
    wheelbase_m: np.ndarray
    length_m: np.ndarray
    orders: dict[int, Order]


class Planned(NamedTuple):
    """The agents of a scene."""

    cars: list[Car]
    paths: list[DrivePath | None]
    order: Order


class Axles(NamedTuple):
    """Rear axles of cars, and the speeds of the cars; negative in reverse."""

    x_m: np.ndarray
    y_m: np.ndarray
    heading_rad: np.ndarray
    speed_mps: np.ndarray


def plan_of(planned: Mapping[int, Planned], scenes: int, agents: int, reverse_mps: float) -> Plan:
    """The plan of those scenes that are planned.

    Args:
        scenes, agents: how many the batch has, and in each world.
        reverse_mps: highest speed in reverse.
    """
    # Paths end to end.
    pose = {name: [np.zeros(1)] for name in ("x_m", "y_m", "heading_rad", "curvature_per_m", "gear", "speed_mps",
                                             "arc_m", "end")}
    first, last = np.zeros((2, scenes, agents), np.int64)
    rear_m, wheelbase_m, length_m = np.zeros((scenes, agents)), *np.ones((2, scenes, agents))
    count = 1
    for scene, of_scene in planned.items():
        for agent, (car, path) in enumerate(zip(of_scene.cars, of_scene.paths, strict=True)):
            rear_m[scene, agent], wheelbase_m[scene, agent] = car.front_m - car.length_m / 2, car.wheelbase_m
            length_m[scene, agent] = car.length_m
            if path is None:
                continue
            first[scene, agent], last[scene, agent] = count, count + len(path.x_m) - 1
            arc_m, end = arcs_m(path), _ends(path)
            for name, values in (path._asdict() | {"arc_m": arc_m, "end": count + end,
                                                   "speed_mps": _speeds(path, arc_m, end, reverse_mps)}).items():
                pose[name].append(values)
            count += len(path.x_m)

    joined = {name: np.concatenate(parts) for name, parts in pose.items()}
    joined["end"] = joined["end"].astype(np.int64)
    return Plan(**joined, first=first, last=last, rear_m=rear_m, wheelbase_m=wheelbase_m, length_m=length_m,
                orders={scene: of_scene.order for scene, of_scene in planned.items()})


def _ends(path):
    """(n,) for each pose the last one in its gear."""
    changes = np.flatnonzero(np.append(np.diff(path.gear) != 0, True))
    return changes[np.searchsorted(changes, np.arange(len(path.gear)))]


def _speeds(path, arc_m, end, reverse_mps):
    """(n,) highest speeds from which the car can brake for all lower ones that follow, and to creep at each end."""
    limit_mps = np.where(path.gear > 0, path.speed_mps, np.minimum(path.speed_mps, reverse_mps))
    limit_mps = np.where(end == np.arange(len(end)), np.minimum(limit_mps, CREEP_MPS), limit_mps)
    braking = 2.0 * COMFORTABLE_BRAKING_MPS2 * arc_m
    total = limit_mps * limit_mps + braking
    return np.sqrt(np.maximum(np.minimum.accumulate(total[::-1])[::-1] - braking, 0.0))


# ---- places ----


def rear_axles(plan: Plan, scenes: np.ndarray, state: Mapping[str, np.ndarray], agents: int) -> Axles:
    """Those of the agents.

    Args:
        scenes: (worlds,) of each world.
        state: of these worlds, by the core's names.
    """
    x_m, y_m, heading_rad, speed_mps = (state[name][:, :agents].astype(np.float64)
                                        for name in ("x_m", "y_m", "heading_rad", "speed_mps"))
    back_m = plan.rear_m[scenes]
    return Axles(x_m - back_m * np.cos(heading_rad), y_m - back_m * np.sin(heading_rad), heading_rad, speed_mps)


def nearest(plan: Plan, axles: Axles, scenes: np.ndarray, worlds: np.ndarray) -> np.ndarray:
    """The nearest pose in all of each path, the first one of several; 0 in other worlds than those given."""
    found = np.zeros(axles.x_m.shape, np.int64)
    for world in worlds.tolist():
        for agent in range(axles.x_m.shape[1]):
            first, last = plan.first[scenes[world], agent], plan.last[scenes[world], agent]
            own, here = slice(first, last + 1), [float(values[world, agent]) for values in axles]
            turn_rad = np.abs(wrapped_rad(plan.heading_rad[own] - here[2]))
            away_m = np.hypot(plan.x_m[own] - here[0], plan.y_m[own] - here[1]) + HEADING_M * turn_rad
            # A car that drives is on a part in its gear.
            away_m += np.where(plan.gear[own] * here[3] < 0.0, HEADING_M, 0.0)
            found[world, agent] = first + int(away_m.argmin())
    return found


def advanced(plan: Plan, axles: Axles, at: np.ndarray, dt_s: np.ndarray) -> np.ndarray:
    """The poses where the cars are now, if a step before they were at `at`: the nearest, no farther than they drive.

    From the end of a part in one gear they go on to the next one.
    """
    # One window for all, as long as the fastest car needs; each car is searched in its own part of it.
    reach = np.ceil(np.abs(axles.speed_mps) * dt_s / STEP_M).astype(np.int64) + REACH_SPARE
    steps = np.arange(reach.max())
    ahead = np.minimum(at[..., None] + steps, plan.end[at][..., None])
    away_m = np.hypot(plan.x_m[ahead] - axles.x_m[..., None], plan.y_m[ahead] - axles.y_m[..., None])
    away_m = np.where(steps < reach[..., None], away_m, np.inf)
    at = np.take_along_axis(ahead, away_m.argmin(axis=-1)[..., None], axis=-1)[..., 0]
    following = np.minimum(plan.end[at] + 1, len(plan.end) - 1)
    is_same_path = plan.arc_m[following] > 0.0
    return np.where(is_same_path & (remaining_m(plan, axles, at) < STOP_M), following, at)


def remaining_m(plan: Plan, axles: Axles, at: np.ndarray) -> np.ndarray:
    """Metres to the end of the part in one gear; below 0 behind it."""
    heading_rad, gear = plan.heading_rad[at], plan.gear[at]
    past_m = (axles.x_m - plan.x_m[at]) * np.cos(heading_rad) + (axles.y_m - plan.y_m[at]) * np.sin(heading_rad)
    return plan.arc_m[plan.end[at]] - plan.arc_m[at] - gear * past_m


def clear_m(plan: Plan, at: np.ndarray, scenes: np.ndarray, is_there: np.ndarray, is_stopped: np.ndarray) -> np.ndarray:
    """Metres that each car may drive before it is in the way of those that go first, or of one that stands."""
    first_m = np.full(at.shape, np.inf)
    for scene in np.unique(scenes).tolist():
        worlds, order = np.flatnonzero(scenes == scene), plan.orders[scene]
        count = len(order.there)
        place = np.minimum((plan.arc_m[at[worlds, :count]] / PLACE_M).astype(np.int64), order.places - 1)
        index = (np.arange(count)[:, None], np.arange(count), place[:, None, :])
        stands, drives = is_there[worlds, :count], (is_there & ~is_stopped)[worlds, :count]
        in_way = order.there[index] * stands[:, None, :, None] | order.remaining[index] * drives[:, None, :, None]
        blocked = np.unpackbits(np.bitwise_or.reduce(in_way, axis=2), axis=-1).astype(bool)
        blocked &= np.arange(blocked.shape[-1]) > place[..., None]
        first_m[worlds, :count] = np.where(blocked.any(axis=-1), PLACE_M * blocked.argmax(axis=-1), np.inf)
    return first_m - plan.arc_m[at] - HOLD_M


# ---- control ----


def acceleration_mps2(plan: Plan, axles: Axles, at: np.ndarray, free_m: np.ndarray, dt_s: np.ndarray) -> np.ndarray:
    """Towards the highest speed at which the car can still stop where it has to.

    Args:
        free_m: what it may drive before it is in the way of others.
    """
    gear, speed_mps = plan.gear[at], axles.speed_mps * plan.gear[at]
    soon = np.minimum(at + np.ceil(np.abs(speed_mps) * dt_s / STEP_M).astype(np.int64), plan.end[at])
    wanted_mps = np.minimum(plan.speed_mps[at], plan.speed_mps[soon])
    room_m = np.maximum(free_m - np.abs(speed_mps) * dt_s, 0.0)
    wanted_mps = np.minimum(wanted_mps, np.sqrt(2.0 * COMFORTABLE_BRAKING_MPS2 * room_m))
    wanted_mps = np.where(remaining_m(plan, axles, at) < STOP_M, 0.0, wanted_mps)
    # Brakes may be full, also before a change of gear. A car that is to stand brakes fully, since with few bins the
    # acceleration nearest to a slight braking can be 0; a step does not pass through rest.
    change_mps2 = np.where(wanted_mps < STILL_MPS, -FULL_BRAKING_MPS2, (wanted_mps - speed_mps) / dt_s)
    change_mps2 = np.where((wanted_mps < STILL_MPS) & (speed_mps <= 0.0), -speed_mps / dt_s, change_mps2)
    return gear * np.where(speed_mps >= 0.0, np.minimum(change_mps2, THROTTLE_MPS2), change_mps2)


def curvature_per_m(plan: Plan, axles: Axles, at: np.ndarray, dt_s: np.ndarray) -> np.ndarray:
    """That of the path in the middle of the coming step, with feedback of the errors of place and heading."""
    heading_rad, gear = plan.heading_rad[at], plan.gear[at]
    off_left_m = ((axles.y_m - plan.y_m[at]) * np.cos(heading_rad) - (axles.x_m - plan.x_m[at]) * np.sin(heading_rad))
    off_rad = wrapped_rad(axles.heading_rad - heading_rad)
    middle = np.minimum(at + np.rint(0.5 * np.abs(axles.speed_mps) * dt_s / STEP_M).astype(np.int64), plan.end[at])
    # In reverse, an error of heading has the opposite effect on that of place.
    return (plan.curvature_per_m[middle] - FEEDBACK_PER_M * FEEDBACK_PER_M * off_left_m
            - 2.0 * FEEDBACK_PER_M * gear * off_rad)
