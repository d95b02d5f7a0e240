"""Where do the cars of a `LaneMap` start, at which speed, and where are their goals?

A car starts on the centre of a lane, with a time headway to the next one; its goal is on a lane to which the graph
leads, or beside one, with lane changes. `cars_at` makes cars of given starts and goals, `place` draws them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ...errors import SceneError
from ..scene import OBJECT_KIND_CODES, Objects
from .lane_map import LaneMap
from .outline import covered
from .rng import Rng
from .roadnet import on_grid
from .trig import sine_cosine, wrapped_rad

LENGTH_RANGE_M = (4.0, 5.2)
WIDTH_RANGE_M = (1.8, 2.1)
HEIGHT_RANGE_M = (1.4, 1.9)

PITCH_M = 8.0
"""Least distance of the centres of two cars on a lane, and of two goals."""

INSET_M = 3.6
"""From a lane's end to the first place on it: a car is entirely on its lane."""

FILLED_SHARE = 0.95
"""Largest share of a lane that gaps fill: if they filled all of it, its first car would always be at its start, beside
those of other full lanes."""

CLEAR_HALF_M, CLEAR_M = 2.4, 4.0
"""A place on a lane is clear if it is `CLEAR_M` along the lane from all points that are within `CLEAR_HALF_M` of the
centre of another lane. Cars of up to 1.1 times the largest size at clear places of different lanes do not touch."""

GOAL_DISTANCE_M = 20.0
"""Least straight-line distance from a start to its goal: a goal across the street, a long drive away, could be reached
by accident."""

GOAL_CLEAR_M = 6.0
"""Least distance from a goal to every start."""

CHANGE_M = 50.0
"""Least route to a goal on another lane of the same street, for a lane change."""

BRAKING_MPS2, STANDING_GAP_M = 2.0, 1.0
"""A car can stop, at this rate, before the end of its lane, and with this gap behind one that brakes as hard."""

LATERAL_MPS2 = 2.0
"""Lateral acceleration that is comfortable in a bend."""


class Span(NamedTuple):
    """A part of a lane, by default all of it but `INSET_M` at both ends."""

    lane: int
    from_m: float = INSET_M
    to_m: float = math.inf


class PlacingSpec(NamedTuple):
    """Requirements of a generator on its traffic.

    Attributes:
        starts, goals: where cars start, and have their goals. Starts keep clear of places where lanes meet.
        route_range_m: of the length of the route to a goal.
        speed_share: of the speed limit, from which speeds are drawn.
        headway_s: to the next car on the lane, from which gaps are drawn, as far as all cars fit.
        lane_changes: whether a goal may be on another lane than the one to which the graph leads: a lane beside it.
        goal_lanes: by the lane of a start, the lanes that its goal may be on; None: all.
    """

    starts: Sequence[Span]
    goals: Sequence[Span]
    route_range_m: tuple[float, float] = (GOAL_DISTANCE_M, math.inf)
    speed_share: tuple[float, float] = (0.0, 0.6)
    headway_s: tuple[float, float] = (1.0, 3.0)
    lane_changes: bool = False
    goal_lanes: Mapping[int, frozenset[int]] | None = None


class Places(NamedTuple):
    """Places on lanes: (n,) int lanes, and metres along them."""

    lane: np.ndarray
    along_m: np.ndarray


# ---- shared with generators that place their cars on their own ----


def draw_sizes(rng: Rng, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Lengths, widths and heights of cars, (count,) float32 each."""
    length_m, width_m, height_m = (rng.uniform(*size_range_m, count).astype(np.float32)
                                   for size_range_m in (LENGTH_RANGE_M, WIDTH_RANGE_M, HEIGHT_RANGE_M))
    return length_m, width_m, height_m


def in_eighths(speed_mps: np.ndarray) -> np.ndarray:
    """Speeds in eighths of a m/s, which are exact in float32; rounded down, so that a car that could stop still can."""
    return np.floor(speed_mps * 8) / 8


def cars_of(sizes_m: tuple[np.ndarray, np.ndarray, np.ndarray], xy_m: np.ndarray, heading_rad: np.ndarray,
            velocity_mps: np.ndarray, goal_m: np.ndarray) -> Objects:
    """Cars with these sizes, positions, headings, velocities and goals, without a log."""
    count, (length_m, width_m, height_m) = len(xy_m), sizes_m
    return Objects(
        id=np.arange(count, dtype=np.int64), kind=np.full(count, OBJECT_KIND_CODES["vehicle"], np.uint8),
        length_m=length_m, width_m=width_m, height_m=height_m,
        goal_m=goal_m.astype(np.float32), marked_expert=np.zeros(count, bool),
        x_m=_one_frame(xy_m[:, 0]), y_m=_one_frame(xy_m[:, 1]), heading_rad=_one_frame(heading_rad),
        vx_mps=_one_frame(velocity_mps[:, 0] + 0.0), vy_mps=_one_frame(velocity_mps[:, 1] + 0.0),
        valid=np.ones((1, count), bool))


def draw_goal(rng: Rng, route_m: np.ndarray, is_far: np.ndarray, free: np.ndarray, route_range_m: tuple[float, float],
              car: int) -> tuple[int, np.ndarray]:
    """The goal of one car, and all those among which it was drawn.

    It is a free goal with a route in the range, if there is one, else one that other cars have, too, else any that can
    be reached.

    Args:
        route_m: (goals,) length of the route to each, infinite where there is none.
        is_far: (goals,) bool, those that are not too near.
        free: (goals,) bool, those that no other car has.

    Raises:
        SceneError: the car can reach none.
    """
    low_m, high_m = route_range_m
    reachable = is_far & np.isfinite(route_m)
    in_range = reachable & (route_m >= low_m) & (route_m <= high_m)
    for candidates in (free & in_range, in_range, reachable):
        if candidates.any():
            break
    else:
        raise SceneError(f"car {car} reaches no goal at least {GOAL_DISTANCE_M:g} m away; "
                         "these roads are too short")
    indices = np.flatnonzero(candidates)
    return int(indices[rng.below(len(indices))]), indices


# ---- on lane maps ----


def place(rng: Rng, roads: LaneMap, agents: int, spec: PlacingSpec) -> Objects:
    """`agents` cars on lane centres.

    Raises:
        SceneError: they do not fit; names the number that does.
    """
    starts, speed_mps, _ = draw_starts(rng, roads, agents, [spec])
    return place_from(rng, roads, starts, speed_mps, [spec] * agents)


def most_cars(roads: LaneMap, spec: PlacingSpec) -> int:
    """How many cars fit."""
    return len(_slots(clear_spans(roads, spec.starts), spec))


def draw_starts(rng: Rng, roads: LaneMap, agents: int, specs: Sequence[PlacingSpec]
                ) -> tuple[Places, np.ndarray, np.ndarray]:
    """Where `agents` cars start, the speeds they would like to have, and the index of the spec of each.

    The cars are divided equally among the specs, as far as they fit; a draw decides which specs have one more. The
    starts of two specs must be on different lanes, or `PITCH_M` apart.

    Raises:
        SceneError: they do not fit; names the number that does.
    """
    spans = [clear_spans(roads, spec.starts) for spec in specs]
    counts = _shares(rng, agents, [len(_slots(own, spec)) for own, spec in zip(spans, specs, strict=True)])
    drawn = [_queues(rng, roads, own, count, spec) for own, count, spec in zip(spans, counts, specs, strict=True)]
    lanes, alongs, speeds = (np.concatenate(parts) for parts in zip(*drawn, strict=True))
    return Places(lanes.astype(np.int64), alongs), speeds, np.repeat(np.arange(len(specs)), counts)


def place_from(rng: Rng, roads: LaneMap, starts: Places, speed_mps: np.ndarray, specs: Sequence[PlacingSpec]
               ) -> Objects:
    """Cars with these starts, with goals by the spec of each car.

    Args:
        speed_mps: (n,), lowered for a car that could not stop in time otherwise.
    """
    speed_mps = _safe_speed_mps(roads, starts, speed_mps, np.array([spec.headway_s[0] for spec in specs]))
    return cars_at(rng, roads, starts, speed_mps, _draw_goals(rng, roads, starts, specs))


def cars_at(rng: Rng, roads: LaneMap, starts: Places, speed_mps: np.ndarray, goals: Places) -> Objects:
    """Cars of random sizes with these starts, speeds and goals."""
    sizes_m = draw_sizes(rng, len(starts.lane))
    xy_m, heading_rad = poses_at(roads, starts)
    sine, cosine = sine_cosine(heading_rad)
    heading = wrapped_rad(heading_rad).astype(np.float32)
    heading[heading >= math.pi] = -math.pi  # the nearest float32 to an angle just below pi is above it
    speed_mps = in_eighths(speed_mps)
    return cars_of(sizes_m, xy_m, heading, np.stack([speed_mps * cosine, speed_mps * sine], axis=1),
                   poses_at(roads, goals)[0])


def poses_at(roads: LaneMap, places: Places) -> tuple[np.ndarray, np.ndarray]:
    """(n, 2) positions on the grid, on the sampled lanes, and (n,) headings of their curves."""
    samples = roads.samples
    at = _sample_before(samples, places)
    share = (places.along_m - samples.along_m[at]) / np.maximum(samples.along_m[at + 1] - samples.along_m[at], 1e-9)
    points = samples.points_m
    bend = wrapped_rad(samples.heading_rad[at + 1] - samples.heading_rad[at])
    return (on_grid(points[at] + share[:, None] * (points[at + 1] - points[at])),
            samples.heading_rad[at] + share * bend)


def routes_m(roads: LaneMap, starts: Places, goals: Places, lane_changes: bool = False) -> np.ndarray:
    """(starts, goals) lengths of the shortest routes along lanes, infinite where there is none."""
    lanes, index = np.unique(starts.lane, return_inverse=True)
    around_m = _ways_m(roads, lanes, lane_changes)[index][:, goals.lane]
    ahead_m = goals.along_m[None] - starts.along_m[:, None]
    route_m = roads.samples.length_m[starts.lane][:, None] + around_m + ahead_m
    same = goals.lane[None] == starts.lane[:, None]
    route_m = np.where(same & (ahead_m > 0), ahead_m, route_m)
    if lane_changes:
        street = _streets(roads)
        beside = (street[goals.lane][None] == street[starts.lane][:, None]) & ~same
        route_m = np.where(beside & (ahead_m >= CHANGE_M), ahead_m, route_m)
    return route_m


def clear_spans(roads: LaneMap, spans: Sequence[Span]) -> list[Span]:
    """The parts of spans where no car can touch one on another lane: not where lanes cross, merge or split."""
    return roads.once("clear spans", lambda: _clear_spans(roads, spans), list(spans))


def _clear_spans(roads, spans):
    # Points every metre, and which of them are too near to the centre of another lane.
    length_m = roads.samples.length_m
    ends_m = [min(span.to_m, float(length_m[span.lane]) - INSET_M) for span in spans]
    counts = [max(0, math.floor(end_m - span.from_m) + 1) for span, end_m in zip(spans, ends_m, strict=True)]
    span = np.repeat(np.arange(len(spans)), counts)
    lane = np.array([own.lane for own in spans], np.int64)[span]
    along_m = np.array([own.from_m for own in spans])[span] + (
        np.arange(len(span)) - np.repeat(np.cumsum(counts) - counts, counts))
    near, _ = covered(roads.strips(np.full(len(roads.lanes), CLEAR_HALF_M)), poses_at(roads, Places(lane, along_m))[0],
                      lane, 0.0)
    is_near = np.zeros(len(span), bool)
    is_near[near] = True
    # What is left on both sides of these, `CLEAR_M` from them.
    found = []
    for i, (own, end_m) in enumerate(zip(spans, ends_m, strict=True)):
        blocked_m = along_m[(span == i) & is_near]
        starts_m = [own.from_m, *(blocked_m + CLEAR_M).tolist()]
        for from_m, to_m in zip(starts_m, [*(blocked_m - CLEAR_M).tolist(), end_m], strict=True):
            if to_m > from_m or (to_m == from_m and not len(blocked_m)):
                found.append(Span(own.lane, from_m, to_m))
    return found


def _shares(rng, agents, fitting):
    """The number of cars of each group; `fitting` is the largest number that fits in each."""
    most = int(np.sum(fitting))
    if agents > most:
        raise SceneError(f"agents is {agents}; at most {most} fit on these roads")
    if len(fitting) == 1:
        return [agents]
    order, counts = rng.shuffled(list(range(len(fitting)))), [0] * len(fitting)
    while agents:
        for group in order:
            if agents and counts[group] < fitting[group]:
                counts[group] += 1
                agents -= 1
    return counts


def _slots(spans, spec):
    """The index of each span, once for every car that fits on it; for half of these on lanes that also have goals."""
    goals, slots = {span.lane for span in spec.goals}, []
    for i, span in enumerate(spans):
        places = max(0, math.floor((span.to_m - span.from_m) / PITCH_M) + 1)
        slots += [i] * ((places + 1) // 2 if span.lane in goals else places)
    return slots


def _queues(rng, roads, spans, agents, spec):
    """Lanes, metres along them, and desired speeds of cars on clear spans."""
    # Draw a span for each car; more cars are on longer spans.
    slots = _slots(spans, spec)
    counts = np.bincount(np.array(rng.shuffled(slots)[:agents], np.int64), minlength=len(spans))

    # Along each span: gaps of the headway, shorter where they do not fit, else with the rest spread among them.
    lanes, alongs, speeds = [np.zeros(0, np.int64)], [np.zeros(0)], [np.zeros(0)]
    for span, count in zip(spans, counts.tolist(), strict=True):
        if count == 0:
            continue
        limit_mps = roads.lanes[span.lane].speed_limit_mps
        speed_mps = limit_mps * rng.uniform(*spec.speed_share, count)
        gap_m = np.maximum(PITCH_M, speed_mps * rng.uniform(*spec.headway_s, count) + LENGTH_RANGE_M[1])[:-1]
        # cumsum adds in order, sum does not
        needed_m = float(np.cumsum(gap_m)[-1]) if count > 1 else 0.0
        room_m, least_m = span.to_m - span.from_m, (count - 1) * PITCH_M
        most_m = max(FILLED_SHARE * room_m, least_m)
        if needed_m > most_m:
            gap_m = PITCH_M + (gap_m - PITCH_M) * ((most_m - least_m) / (needed_m - least_m))
            needed_m = most_m
        spread_m = np.sort(rng.uniform(0.0, room_m - needed_m, count))
        lanes.append(np.full(count, span.lane))
        alongs.append(span.from_m + np.concatenate([[0.0], np.cumsum(gap_m)]) + spread_m)
        speeds.append(speed_mps)
    return np.concatenate(lanes), np.concatenate(alongs), np.concatenate(speeds)


def _draw_goals(rng, roads, starts, specs):
    """Places within the range of route lengths of each car's spec, different for all cars as far as possible."""
    start_xy, pools, routes, found = poses_at(roads, starts)[0], {}, {}, []
    for spec in specs:
        spans = tuple(spec.goals)
        if spans not in pools:
            pools[spans] = _goal_pool(rng, roads, start_xy, spans)
        if (spans, spec.lane_changes) not in routes:
            routes[spans, spec.lane_changes] = routes_m(roads, starts, pools[spans][0], spec.lane_changes)
    for car, spec in enumerate(specs):
        goals, is_far, free = pools[tuple(spec.goals)]
        route_m = routes[tuple(spec.goals), spec.lane_changes][car]
        if spec.goal_lanes is not None:
            allowed = sorted(spec.goal_lanes[int(starts.lane[car])])
            route_m = np.where(np.isin(goals.lane, allowed), route_m, np.inf)
        goal, _ = draw_goal(rng, route_m, is_far[car], free, spec.route_range_m, car)
        free[goal] = False
        found.append((goals.lane[goal], goals.along_m[goal]))
    lanes, alongs = zip(*found, strict=True)
    return Places(np.array(lanes), np.array(alongs))


def _goal_pool(rng, roads, start_xy, spans):
    """Possible goals, clear of all starts; (cars, goals) bool, far from a car's start; (goals,) bool, no car's yet."""
    length_m, lanes, alongs = roads.samples.length_m, [np.zeros(0, np.int64)], [np.zeros(0)]
    for span in spans:
        room_m = min(span.to_m, length_m[span.lane] - INSET_M) - span.from_m
        count = max(0, math.floor(room_m / PITCH_M) + 1)
        first_m = span.from_m + float(rng.uniform(0.0, max(room_m - (count - 1) * PITCH_M, 0.0), 1)[0])
        lanes.append(np.full(count, span.lane))
        alongs.append(first_m + PITCH_M * np.arange(count))
    goals = Places(np.concatenate(lanes), np.concatenate(alongs))
    step = poses_at(roads, goals)[0][None] - start_xy[:, None]
    square = step[..., 0] * step[..., 0] + step[..., 1] * step[..., 1]
    clear = square.min(axis=0) >= GOAL_CLEAR_M**2
    return (Places(goals.lane[clear], goals.along_m[clear]), square[:, clear] >= GOAL_DISTANCE_M**2,
            np.ones(int(clear.sum()), bool))


def _ways_m(roads, sources, lane_changes):
    """(sources, lanes) metres from the end of a lane to the start of another, by relaxing all links."""
    length_m = roads.samples.length_m
    way_m = np.full((len(sources), len(roads.lanes)), np.inf)
    links = np.array(roads.links, np.int64).reshape(-1, 2)
    street = _streets(roads) if lane_changes else np.arange(len(roads.lanes))
    for row, source in enumerate(sources):
        way_m[row, links[street[links[:, 0]] == street[source], 1]] = 0.0
    if not len(links):
        return way_m
    links = links[np.argsort(links[:, 1], kind="stable")]
    targets, first = np.unique(links[:, 1], return_index=True)
    while True:
        through_m = np.minimum.reduceat((way_m + length_m)[:, links[:, 0]], first, axis=1)
        relaxed_m = way_m.copy()
        relaxed_m[:, targets] = np.minimum(way_m[:, targets], through_m)
        if lane_changes:
            for left, right in roads.neighbours:
                nearest_m = np.minimum(relaxed_m[:, left], relaxed_m[:, right])
                relaxed_m[:, left] = relaxed_m[:, right] = nearest_m
        if (relaxed_m == way_m).all():
            return way_m
        way_m = relaxed_m


def _streets(roads):
    """(lanes,) the lowest lane of those side by side with each lane."""
    street = np.arange(len(roads.lanes))
    for left, right in roads.neighbours:
        low, high = sorted((street[left], street[right]))
        street[street == high] = low
    return street


def _safe_speed_mps(roads, places, speed_mps, headway_s):
    """The speeds, lowered so that every car can brake for what is ahead: bends, ends of lanes, stop lines, cars."""
    square = np.minimum(speed_mps * speed_mps, _profile(roads, places))
    ahead, gap_m = _cars_ahead(roads, places)
    clear_m = np.maximum(np.where(ahead < 0, 0.0, gap_m) - LENGTH_RANGE_M[1] - STANDING_GAP_M, 0.0)
    square = np.where(ahead < 0, square, np.minimum(square, clear_m / headway_s * (clear_m / headway_s)))
    speed_mps = in_eighths(np.sqrt(square))
    while True:
        square = np.where(ahead < 0, np.inf, speed_mps[ahead] * speed_mps[ahead] + 2 * BRAKING_MPS2 * clear_m)
        lowered_mps = np.minimum(speed_mps, in_eighths(np.sqrt(square)))
        if (lowered_mps == speed_mps).all():
            return speed_mps
        speed_mps = lowered_mps


def _profile(roads, places):
    """(n,) squares of the speeds from which cars can brake for bends, ends of lanes and stop lines."""
    samples, stops = roads.samples, {lane for stop in roads.stop_lines for lane in stop.lanes}
    bound = roads.once("bounds", lambda: _bounds(roads, stops), sorted(stops))
    at = _sample_before(samples, places)
    to_next_m = samples.along_m[at + 1] - places.along_m
    front_m = LENGTH_RANGE_M[1] / 2
    here = np.minimum(bound[at], bound[at + 1] + 2 * BRAKING_MPS2 * np.maximum(to_next_m - front_m, 0.0))
    return np.maximum(here, 0.0)


def _bounds(roads, stops):
    """Squares of the largest speeds at all samples, from which cars can brake for what is ahead."""
    # Bounds at every sample: the limit, and the lateral acceleration in bends.
    samples, count = roads.samples, len(roads.lanes)
    owner = np.repeat(np.arange(count), np.diff(samples.start))
    limit = np.array([lane.speed_limit_mps for lane in roads.lanes])[owner]
    bound = np.minimum(limit * limit, LATERAL_MPS2 / np.maximum(np.abs(samples.curvature_per_m), 1e-9))
    # Bounds at the ends of lanes: 0, or those of the lanes that follow.
    end = np.full(count, np.inf)
    follows = {before for before, _ in roads.links}
    end[[lane for lane in range(count) if lane in stops or lane not in follows]] = 0.0
    while True:
        for lane in range(count):
            own = slice(samples.start[lane], samples.start[lane + 1])
            reach = 2 * BRAKING_MPS2 * samples.along_m[own]
            total = np.append(bound[own][:-1], min(bound[own][-1], end[lane])) + reach
            bound[own] = np.minimum.accumulate(total[::-1])[::-1] - reach
        before, after = np.array(roads.links, np.int64).reshape(-1, 2).T
        lower = end.copy()
        np.minimum.at(lower, before, bound[samples.start[after]])
        if (lower >= end).all():
            break
        end = lower
    return bound


def _cars_ahead(roads, places):
    """(n,) the next car along the lanes, -1 without one, and the distance of the centres."""
    lanes, index = np.unique(places.lane, return_inverse=True)
    # The distance along lanes from each car to each other one, also to one behind it on its own lane.
    ways_m = _ways_m(roads, lanes, lane_changes=False)[index][:, places.lane]
    gap_m = places.along_m[None] - places.along_m[:, None]
    around_m = roads.samples.length_m[places.lane][:, None] + ways_m + gap_m
    gap_m = np.where((places.lane[None] == places.lane[:, None]) & (gap_m > 0), gap_m, around_m)
    np.fill_diagonal(gap_m, np.inf)
    ahead = np.argmin(gap_m, axis=1)
    nearest_m = gap_m[np.arange(len(ahead)), ahead]
    return np.where(np.isfinite(nearest_m), ahead, -1), nearest_m


def _sample_before(samples, places):
    """(n,) the last sample at or before each place that has another one after it."""
    first, last = samples.start[places.lane], samples.start[places.lane + 1] - 2
    key = places.lane * 1e6 + places.along_m  # lanes are shorter than 1000 km
    owner = np.repeat(np.arange(len(samples.start) - 1), np.diff(samples.start))
    return np.clip(np.searchsorted(owner * 1e6 + samples.along_m, key, side="right") - 1, first, last)


def _one_frame(values):
    return values.astype(np.float32)[None]
