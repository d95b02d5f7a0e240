"""How does a car without a policy get to its goal? Along its lane, behind whom it follows, after whom it gives way to."""

from __future__ import annotations

import math

import numpy as np

from .batch import Batch
from .cast import Cast
from .core import lib
from .scenes.routes import lane_route

# ---- the car ----

WHEELBASE_SHARE = 0.6
"""Of the length, as in the core's vehicle model."""

# ---- its path ----

PITCH_M = 1.0
"""Paths are points this far apart: half a car's width is a bend's finest detail that matters."""

SIGHT_M = 45.0
"""Far enough to stop from 15 m/s at `BRAKING_MPS2`, reaction included."""

OFF_PATH_M = 1.0
"""A goal this far from the end of its lane is driven to straight on."""

RUN_OUT_M = 70.0
"""Paths go on straight behind the goal, so that there is always something to aim at: sight and lookahead fit in."""

AIM_S, NEAREST_AIM_M, FARTHEST_AIM_M = 0.6, 4.0, 12.0
"""Pure pursuit aims this much time ahead. Nearer than 4 m a 13 bin steering wheel wavers, farther it cuts bends."""

WRONG_WAY_M = 6.0
"""What pointing against the path costs, in metres, when the place on a path that crosses itself is looked for."""

# ---- its speed ----

CRUISE_MPS = 9.0
FASTEST_MPS = 25.0
HASTE = 1.15
"""Logs go to their goals at their own speed: cruise leaves this much more than the time a trial needs."""

SIDE_MPS2 = 3.0
"""Comfortable in a bend: 4.9 m/s at the radius of 8 m of a right turn."""

PULL_MPS2, BRAKING_MPS2 = 2.5, 2.5
SETTLE_S = 0.5
"""A speed that is off is corrected within this time."""

GAP_M, HEADWAY_S = 1.5, 0.8
"""Bumper to bumper at rest, and the time kept behind a car that moves (IDM, Treiber et al. 2000)."""

# ---- the others ----

FORESIGHT_S = np.arange(0.0, 4.01, 0.5, dtype=np.float32)
ROOM_M = 0.4
"""Free on both sides of a car's body for a path to count as clear."""

AFTER_S = 0.5
"""A crossing is free this long after the one who went first has left it."""

BEHIND_COS = math.cos(math.radians(45.0))


class LaneDriver:
    """Drives the rows of a batch by rule: a lane's centre, a speed that suits the bend, a gap to whoever is ahead.

    The way is `lane_route`; where no lanes lead to the goal, the object's own logged track; where it has none, the
    straight line. Where two ways cross, whoever gets there first goes first. The driver reads the state of the world
    and keeps none: the same state gives the same actions.

    Args:
        batch: any batch; `env.batch` for an env.
    """

    def __init__(self, batch: Batch):
        self.batch = batch
        self._ways: dict[int, _Ways] = {}

    def act(self, world: int = 0) -> np.ndarray:
        """Actions for the rows of one world, in the form of `batch.actions`; those of rows that wait mean nothing."""
        batch = self.batch
        scene_index = int(batch.scene_index[world])
        if scene_index not in self._ways:
            self._ways[scene_index] = _Ways(batch.casts[scene_index], batch.config)
        ways = self._ways[scene_index]
        cars = batch.vehicles(world)
        waits = batch.waits[world * batch.rows_per_world :][: ways.count]
        acceleration_mps2, steering_rad = _decide(ways, cars, ~waits)
        actions = np.zeros((batch.rows_per_world, *batch.actions.shape[1:]), batch.actions.dtype)
        actions[: ways.count] = _as_actions(acceleration_mps2, steering_rad, batch.config)
        return actions

    def act_all(self) -> np.ndarray:
        """Actions for every row of the batch."""
        return np.concatenate([self.act(world) for world in range(self.batch.world_count)])


class RandomDriver:
    """Draws every action evenly from the action space; the same seed draws the same actions."""

    def __init__(self, batch: Batch, seed: int = 0):
        self.batch = batch
        self._dice = np.random.default_rng(seed)

    def act(self, world: int = 0) -> np.ndarray:
        """Actions for the rows of one world, in the form of `batch.actions`."""
        return self._draw(self.batch.rows_per_world)

    def act_all(self) -> np.ndarray:
        """Actions for every row of the batch."""
        return self._draw(self.batch.row_count)

    def _draw(self, count):
        action_type, dice = self.batch.config.action_type, self._dice
        if action_type == "continuous":
            return dice.uniform(-1.0, 1.0, (count, 2)).astype(np.float32)
        if action_type == "multi_discrete":
            return dice.integers(0, [lib.DRV_ACCELERATION_BINS, lib.DRV_STEERING_BINS], (count, 2))
        return dice.integers(0, lib.DRV_ACCELERATION_BINS * lib.DRV_STEERING_BINS, count)


def _as_actions(acceleration_mps2, steering_rad, config):
    """The nearest thing to these controls that the action type can say."""
    throttle = np.clip(acceleration_mps2 / config.max_acceleration_mps2, -1.0, 1.0)
    steering = np.clip(steering_rad / config.max_steering_rad, -1.0, 1.0)
    if config.action_type == "continuous":
        return np.stack([throttle, steering], axis=1)
    half_bins = lib.DRV_ACCELERATION_BINS // 2, lib.DRV_STEERING_BINS // 2
    bins = [np.rint((share + 1.0) * half).astype(np.int64)
            for share, half in zip((throttle, steering), half_bins, strict=True)]
    if config.action_type == "multi_discrete":
        return np.stack(bins, axis=1)
    return bins[0] * lib.DRV_STEERING_BINS + bins[1]


# ---- ways ----


class _Ways:
    """The paths of the rows of one scene, as points `PITCH_M` apart, all of one length.

    Attributes:
        xy_m: (rows, points, 2). heading_rad: (rows, points). speed_mps: (rows, points), what suits the bends to come.
    """

    def __init__(self, cast: Cast, config):
        self.count, self.dt_s = cast.row_count, cast.dt_s
        polylines = [_way(cast, row) for row in range(cast.row_count)]
        lengths_m = [float(np.hypot(*np.diff(line, axis=0).T).sum()) for line in polylines]
        points = int((max(lengths_m) + RUN_OUT_M) / PITCH_M) + 1
        self.xy_m = np.stack([_resampled(line, points) for line in polylines])
        step = np.diff(self.xy_m, axis=1, append=2 * self.xy_m[:, -1:] - self.xy_m[:, -2:-1])
        self.heading_rad = np.arctan2(step[..., 1], step[..., 0])
        trial_s = cast.trial_steps * cast.dt_s
        cruise_mps = np.clip(HASTE * np.array(lengths_m) / trial_s, CRUISE_MPS, FASTEST_MPS)
        self.speed_mps = _suitable_speed(self.heading_rad, cruise_mps, np.array(lengths_m), config)


def _way(cast, row):
    """(n, 2) float64, n at least 2: from where a row starts to its goal."""
    scene, item = cast.scene, cast.objects[row]
    frames, goal_m = cast.frames, scene.objects.goal_m[item].astype(np.float64)
    start_m = np.array([frames.x_m[0, item], frames.y_m[0, item]], np.float64)
    line = lane_route(scene, start_m, float(frames.heading_rad[0, item]), goal_m)
    if line is None:
        valid = frames.valid[:, item]
        line = np.stack([frames.x_m[valid, item], frames.y_m[valid, item]], axis=1)
    line = line.astype(np.float64)
    if np.linalg.norm(line[-1] - goal_m) > OFF_PATH_M:
        line = np.concatenate([line, goal_m[None]])
    # Logged cars that stand still jitter; points closer than this tell no direction.
    kept = [line[0]]
    for point in line[1:]:
        if np.linalg.norm(point - kept[-1]) >= 0.5 * PITCH_M:
            kept.append(point)
    if len(kept) == 1:
        heading_rad = float(frames.heading_rad[0, item])
        kept.append(line[0] + [math.cos(heading_rad), math.sin(heading_rad)])
    return np.array(kept)


def _resampled(line, points):
    """`points` points `PITCH_M` apart along the line and straight on behind it."""
    ahead = (line[-1] - line[-2]) / np.linalg.norm(line[-1] - line[-2])
    line = np.concatenate([line, line[-1:] + ahead * points * PITCH_M])
    along_m = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(line, axis=0).T))])
    at_m = np.arange(points) * PITCH_M
    return np.stack([np.interp(at_m, along_m, line[:, axis]) for axis in (0, 1)], axis=1)


def _suitable_speed(heading_rad, cruise_mps, length_m, config):
    """(rows, points): cruise, less in a bend, and less before it than braking in time asks for."""
    reach = 3
    turn = np.zeros_like(heading_rad)
    turn[:, reach:-reach] = _wrapped(heading_rad[:, 2 * reach :] - heading_rad[:, : -2 * reach]) / (2 * reach * PITCH_M)
    speed_mps = np.minimum(cruise_mps[:, None], np.sqrt(SIDE_MPS2 / np.maximum(np.abs(turn), 1e-3)))
    if config.goal_max_speed_mps is not None:
        at_goal = np.arange(heading_rad.shape[1]) * PITCH_M >= length_m[:, None] - config.goal_radius_m
        speed_mps = np.where(at_goal, np.minimum(speed_mps, max(0.8 * config.goal_max_speed_mps, 0.1)), speed_mps)
    for point in range(speed_mps.shape[1] - 2, -1, -1):
        in_time = np.sqrt(speed_mps[:, point + 1] ** 2 + 2 * BRAKING_MPS2 * PITCH_M)
        speed_mps[:, point] = np.minimum(speed_mps[:, point], in_time)
    return np.minimum(speed_mps, config.max_speed_mps)


# ---- decisions ----


def _decide(ways, cars, drives):
    """(rows,) acceleration, m/s2, and steering, rad."""
    rows = np.arange(ways.count)
    at = _places(ways, cars)
    speed_mps = cars["speed_mps"][rows]
    steering_rad = _pursuit(ways, cars, at)
    wanted_mps = ways.speed_mps[rows, at + 1]
    free_mps2 = np.clip((wanted_mps - speed_mps) / SETTLE_S, -2 * BRAKING_MPS2, PULL_MPS2)
    acceleration_mps2 = np.minimum(free_mps2, _room_for_others(ways, cars, drives, at, wanted_mps))
    # Braking ends at rest, also where the config lets cars reverse.
    return np.maximum(acceleration_mps2, -speed_mps / ways.dt_s), steering_rad


def _places(ways, cars):
    """(rows,) index of the point of its path that each row is at."""
    x_m, y_m, heading_rad = (cars[name][: ways.count, None] for name in ("x_m", "y_m", "heading_rad"))
    away_m = np.hypot(ways.xy_m[..., 0] - x_m, ways.xy_m[..., 1] - y_m)
    away_m = away_m + WRONG_WAY_M * (1.0 - np.cos(ways.heading_rad - heading_rad))
    last = ways.xy_m.shape[1] - 1 - int(RUN_OUT_M / PITCH_M) // 2
    return np.minimum(np.argmin(away_m, axis=1), last)


def _pursuit(ways, cars, at):
    """(rows,) steering that leads through the aim: the arc of a bicycle about its middle (Coulter 1992)."""
    rows = np.arange(ways.count)
    aim_m = np.clip(AIM_S * cars["speed_mps"][rows], NEAREST_AIM_M, FARTHEST_AIM_M)
    aim = ways.xy_m[rows, at + np.rint(aim_m / PITCH_M).astype(np.int64)]
    dx_m, dy_m = aim[:, 0] - cars["x_m"][rows], aim[:, 1] - cars["y_m"][rows]
    bearing_rad = np.arctan2(dy_m, dx_m) - cars["heading_rad"][rows]
    wheelbase_m = WHEELBASE_SHARE * cars["length_m"][rows]
    # The middle sets out at the slip angle, tan(slip) = tan(steering) / 2, on an arc of curvature
    # 2 sin(slip) / wheelbase; it meets the aim where sin(bearing - slip) = distance sin(slip) / wheelbase.
    ahead_m = np.maximum(np.hypot(dx_m, dy_m) + wheelbase_m * np.cos(bearing_rad), 0.1)
    return np.arctan2(2 * wheelbase_m * np.sin(bearing_rad), ahead_m)


def _room_for_others(ways, cars, drives, at, wanted_mps):
    """(rows,) acceleration that keeps clear of whoever is, or will first be, on the path ahead."""
    rows, count = np.arange(ways.count), ways.count
    sight = np.arange(int(SIGHT_M / PITCH_M))
    path_xy = ways.xy_m[rows[:, None], at[:, None] + sight]
    half_length_m, half_width_m = 0.5 * cars["length_m"], 0.5 * cars["width_m"]
    speed_mps = cars["speed_mps"]

    near = np.hypot(cars["x_m"][:count, None] - cars["x_m"], cars["y_m"][:count, None] - cars["y_m"])
    own, other = np.nonzero((near < 2 * SIGHT_M) & cars["present"] & drives[:, None])
    own, other = own[own != other], other[own != other]
    if len(own) == 0:
        return np.full(count, np.inf)
    heading_gap = cars["heading_rad"][other] - cars["heading_rad"][own]
    dx_m, dy_m = cars["x_m"][other] - cars["x_m"][own], cars["y_m"][other] - cars["y_m"][own]
    own_heading = cars["heading_rad"][own]
    ahead_m = dx_m * np.cos(own_heading) + dy_m * np.sin(own_heading)

    xy, heading = _foreseen(ways, cars, drives, at, wanted_mps)
    offset = path_xy[own][:, :, None, :] - xy[other][:, None, :, :]
    cosine, sine = np.cos(heading[other])[:, None, :], np.sin(heading[other])[:, None, :]
    along = np.abs(offset[..., 0] * cosine + offset[..., 1] * sine)
    across = np.abs(offset[..., 1] * cosine - offset[..., 0] * sine)
    taken = (along < half_length_m[other][:, None, None] + ROOM_M) & (
        across < (half_width_m[other] + half_width_m[own] + ROOM_M)[:, None, None])

    least = np.full(count, np.inf)
    # Whoever is on the path now is followed.
    now = taken[:, :, 0]
    follows = now.any(axis=1) & (ahead_m > 0)
    gap_m = np.argmax(now, axis=1) * PITCH_M - half_length_m[own]
    lead_mps = np.maximum(speed_mps[other] * np.cos(heading_gap), 0.0)
    np.minimum.at(least, own[follows], _idm(speed_mps[own], lead_mps, gap_m)[follows])

    # Whoever will be on it is given way to, if he is there first.
    later = taken[:, :, 1:] & ~now[:, :, None]
    crosses = later.any(axis=(1, 2)) & ~((ahead_m < 0) & (np.cos(heading_gap) > BEHIND_COS)) & ~follows
    first_point = np.argmax(later.any(axis=2), axis=1)
    times = later.any(axis=1)
    enters_s = FORESIGHT_S[1:][np.argmax(times, axis=1)]
    leaves_s = FORESIGHT_S[::-1][np.argmax(times[:, ::-1], axis=1)]
    leaves_s = np.where(times[:, -1], np.inf, leaves_s)
    gap_m = first_point * PITCH_M - half_length_m[own]
    arrival_s = _arrival(speed_mps[own], wanted_mps[own], np.maximum(gap_m, 0.0))
    table = np.full((count, len(speed_mps)), np.nan)
    table[own, other] = np.where(crosses, arrival_s, np.nan)
    is_row = other < count
    mutual = np.where(is_row, table[np.where(is_row, other, 0), own], np.nan)
    enters_s = np.where(np.isnan(mutual), enters_s, mutual)
    later_than = (enters_s < arrival_s) | ((enters_s == arrival_s) & (other < own))
    yields = crosses & later_than & (arrival_s < leaves_s + AFTER_S)
    np.minimum.at(least, own[yields], _idm(speed_mps[own], 0.0, gap_m)[yields])
    return least


def _foreseen(ways, cars, drives, at, wanted_mps):
    """Where every vehicle will be at the times of `FORESIGHT_S`: (vehicles, times, 2) and headings."""
    speed = cars["speed_mps"][:, None]
    heading = np.repeat(cars["heading_rad"][:, None], len(FORESIGHT_S), axis=1)
    xy = np.stack([cars["x_m"][:, None] + speed * np.cos(heading) * FORESIGHT_S,
                   cars["y_m"][:, None] + speed * np.sin(heading) * FORESIGHT_S], axis=2)
    rows = np.flatnonzero(drives)
    reach_m = _reach(cars["speed_mps"][rows, None], wanted_mps[rows, None], FORESIGHT_S[1:])
    point = np.minimum(at[rows, None] + np.rint(reach_m / PITCH_M).astype(np.int64), ways.xy_m.shape[1] - 1)
    xy[rows, 1:] = ways.xy_m[rows[:, None], point]
    heading[rows, 1:] = ways.heading_rad[rows[:, None], point]
    return xy, heading


def _reach(speed_mps, wanted_mps, time_s):
    """Metres driven in a time, pulling up to the wanted speed."""
    rise_s = np.maximum(wanted_mps - speed_mps, 0.0) / PULL_MPS2
    pull_s = np.minimum(time_s, rise_s)
    top_mps = np.maximum(speed_mps, wanted_mps)
    return speed_mps * pull_s + 0.5 * PULL_MPS2 * pull_s**2 + top_mps * (time_s - pull_s)


def _arrival(speed_mps, wanted_mps, way_m):
    """The time that `_reach` needs for a way."""
    top_mps = np.maximum(np.maximum(speed_mps, wanted_mps), 0.1)
    rise_m = np.maximum(top_mps**2 - speed_mps**2, 0.0) / (2 * PULL_MPS2)
    pull_s = (np.sqrt(speed_mps**2 + 2 * PULL_MPS2 * np.minimum(way_m, rise_m)) - speed_mps) / PULL_MPS2
    return pull_s + np.maximum(way_m - rise_m, 0.0) / top_mps


def _idm(speed_mps, lead_mps, gap_m):
    """The gap term of the intelligent driver model (Treiber et al. 2000)."""
    closing_mps = speed_mps - lead_mps
    wished_m = GAP_M + np.maximum(
        HEADWAY_S * speed_mps + speed_mps * closing_mps / (2 * math.sqrt(PULL_MPS2 * BRAKING_MPS2)), 0.0)
    return PULL_MPS2 * (1.0 - (wished_m / np.maximum(gap_m, 0.1)) ** 2)


def _wrapped(angle_rad):
    return (angle_rad + math.pi) % (2 * math.pi) - math.pi
