"""How do cars without a policy get on? Along a lane, behind who is ahead, after who is first."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .action_space import action_dimensions, index_of_bins
from .batch import Batch
from .config import DriveConfig
from .errors import checked_int
from .per_world import SEED_LIMIT
from .roles import Roles
from .scenes.routes import lane_route
from .sub_batch import check_is_whole

__all__ = ["LaneDriver", "RandomDriver"]

# ---- ways and paths ----

PITCH_M = 1.0
"""Ways are points this far apart: fine enough for the sharpest bend a car can drive."""

RUN_OUT_M = 80.0
"""Ways go on straight behind the goal, so that an agent which misses it still has something to look along."""

OFF_LANE_M = 1.0
"""A goal farther than this from the end of its lane is driven to straight on from there."""

SIGHT_POINTS = 60
"""60 m: at the fastest of generated scenes a car stops in half of it."""

WRONG_WAY_M = 6.0
"""What it costs to point against the way, when a car's place on a way that crosses itself is looked for."""

BEND_POINTS = 6
"""Curvature is measured over so many points: less would see the corners of polylines."""

STRAIGHT_PER_M = 1e-4
"""Curvature that is none; it keeps a division from 0."""

# ---- speed and steering ----

WHEELBASE_SHARE = 0.6
"""Of the length, as in the core's vehicle model."""

CRUISE_MPS, FASTEST_MPS = 9.0, 25.0
HASTE = 1.15
"""A way that `CRUISE_MPS` does not finish within a trial is driven this much faster than just in time."""

SIDE_MPS2 = 3.0
"""Comfortable in a bend: 4.9 m/s at the radius of 8 m of a right turn."""

GOAL_SPEED_SHARE, CREEP_MPS = 0.8, 0.1
"""Of the speed below which a goal counts, where the config sets one; never quite a standstill before it."""

PULL_MPS2, BRAKING_MPS2, HARDEST_BRAKING_MPS2 = 2.5, 2.5, 5.0

SETTLE_S = 0.5
"""A speed that is off is corrected within this time."""

AIM_S, NEAREST_AIM_M, FARTHEST_AIM_M = 0.6, 4.0, 20.0
"""Steering aims this much time ahead. Nearer than 4 m, 13 steering bins make a car waver; far off, it cuts
bends."""

# ---- others ----

GAP_M, HEADWAY_S = 1.5, 0.8
"""Kept to whoever is ahead: at rest from bumper to bumper, and in time."""

FORESIGHT_S = np.arange(0.0, 4.01, 0.5, dtype=np.float32)
"""Times for which everybody's place is foreseen."""

LOOK_STEP = 2
LOOK_PITCH_M = LOOK_STEP * PITCH_M
"""Others are looked for at every second point of a path, which halves the work."""

ROOM_M = 0.4
"""A path is clear where this much is free on both sides of the car."""

AFTER_S = 0.5
"""Who gives way waits until the other has been gone for this long."""

ALONG_COS = math.cos(math.radians(45.0))
"""Headings closer than 45 degrees are those of one direction of traffic."""

RESTING_MPS = 0.3

PASSING_ROOM_M, PASSING_RAMP_M, PASSING_POINTS = 0.6, 10.0, 15
"""Whoever will never drive on is passed on the left with this much room, moving over within the ramp; what
lies up to so many points behind a car's middle still counts."""


class Path(NamedTuple):
    """The next `SIGHT_POINTS` points of every agent, (agents, points, 2), and their headings, (agents, points)."""

    xy_m: np.ndarray
    heading_rad: np.ndarray


class Pairs(NamedTuple):
    """A driving agent and a vehicle near it, (pairs,) each."""

    own: np.ndarray
    other: np.ndarray
    ahead_m: np.ndarray
    """How far ahead of the agent the vehicle is."""
    turn_cos: np.ndarray
    """Cosine of the angle between their headings."""


class LaneDriver:
    """Drives the agents of a batch by rule: on a lane's centre, at a speed that suits the bend and with a gap.

    The way is the shortest one along lanes; where no lanes lead to the goal, the object's own logged track;
    where it has none, the straight line. Where two ways cross, who gets there first goes first. The driver
    reads the world and remembers nothing of it: the same state gives the same actions.

    Args:
        batch: any batch; `env.batch` for an env.
    """

    def __init__(self, batch: Batch) -> None:
        check_is_whole(batch)
        self.batch = batch
        self._ways: dict[int, _Ways] = {}

    def act(self, world: int = 0) -> np.ndarray:
        """Actions for the agents of one world, in the form of `batch.actions`; agents that wait get any.

        Raises:
            ConfigError: there is no such world.
            CallError: the batch is closed.
        """
        batch, cars = self.batch, self.batch.vehicles(world)
        scene_index = int(batch.scene_index[world])
        if scene_index not in self._ways:
            self._ways[scene_index] = _Ways(batch.roles[scene_index], batch.config)
        ways = self._ways[scene_index]
        waits = batch.waits[world * batch.agents_per_world :][: ways.count]
        acceleration_mps2, steering_rad = _decide(ways, cars, ~waits)
        actions = np.zeros((batch.agents_per_world, *batch.actions.shape[1:]), batch.actions.dtype)
        actions[: ways.count] = _as_actions(acceleration_mps2, steering_rad, batch.config)
        return actions

    def act_all(self) -> np.ndarray:
        """Actions for every agent of the batch, in the form of `batch.actions`.

        Raises:
            CallError: the batch is closed.
        """
        return np.concatenate([self.act(world) for world in range(self.batch.num_worlds)])


class RandomDriver:
    """Draws every action evenly from the action space; the same seed draws the same actions.

    Args:
        batch: any batch; `env.batch` for an env.
        seed: from 0 to 2**64 - 1.

    Raises:
        ConfigError: the seed is out of its range.
    """

    def __init__(self, batch: Batch, seed: int = 0) -> None:
        self.batch = batch
        self._rng = np.random.default_rng(checked_int("seed", seed, 0, SEED_LIMIT))

    def act(self, world: int = 0) -> np.ndarray:
        """Actions for the agents of one world, in the form of `batch.actions`; which world makes no difference.

        Raises:
            ConfigError: there is no such world.
        """
        checked_int("world", world, 0, self.batch.num_worlds - 1)
        return self._draw(self.batch.agents_per_world)

    def act_all(self) -> np.ndarray:
        """Actions for every agent of the batch, in the form of `batch.actions`."""
        return self._draw(self.batch.num_agents)

    def _draw(self, count):
        action_type, rng = self.batch.config.action_type, self._rng
        if action_type == "continuous":
            return rng.uniform(-1.0, 1.0, (count, 2)).astype(np.float32)
        if action_type == "multi_discrete":
            return rng.integers(0, self.batch.single_action_space.nvec, (count, 2))
        return rng.integers(0, self.batch.single_action_space.n, count)


def _as_actions(acceleration_mps2, steering_rad, config):
    """The nearest thing to these controls that the action type can say."""
    throttle = np.clip(acceleration_mps2 / config.max_acceleration_mps2, -1.0, 1.0)
    steering = np.clip(steering_rad / config.max_steering_rad, -1.0, 1.0)
    if config.action_type == "continuous":
        return np.stack([throttle, steering], axis=1)
    dimensions = action_dimensions(config)
    bins = np.stack([np.rint((share + 1.0) * (dimension.bins // 2)).astype(np.int64)
                     for share, dimension in zip((throttle, steering), dimensions, strict=True)], axis=1)
    return bins if config.action_type == "multi_discrete" else index_of_bins(bins, dimensions)


# ---- ways ----


class _Ways:
    """The paths of the agents of one scene, as points `PITCH_M` apart, all of one length.

    Attributes:
        xy_m: (agents, points, 2).
        heading_rad: (agents, points), to the next point.
        speed_mps: (agents, points), what suits the bends to come.
    """

    def __init__(self, roles: Roles, config: DriveConfig):
        self.count, self.log_replay_count, self.dt_s = roles.num_agents, roles.log_replay_count, roles.dt_s
        polylines = [_way(roles, agent) for agent in range(roles.num_agents)]
        lengths_m = [float(np.hypot(*np.diff(line, axis=0).T).sum()) for line in polylines]
        points = int((max(lengths_m) + RUN_OUT_M) / PITCH_M) + 1
        self.xy_m = np.stack([_resampled(line, points) for line in polylines])
        self.heading_rad = _headings(self.xy_m)
        trial_s = roles.trial_steps * roles.dt_s
        cruise_mps = np.clip(HASTE * np.array(lengths_m) / trial_s, CRUISE_MPS, FASTEST_MPS)
        self.speed_mps = _suitable_speed(self.heading_rad, cruise_mps, np.array(lengths_m), config)


def _way(roles, agent):
    """(n, 2) float64, n at least 2: from where an agent starts to its goal."""
    scene, item = roles.scene, roles.objects[agent]
    frames, goal_m = roles.frames, scene.objects.goal_m[item].astype(np.float64)
    start_m = np.array([frames.x_m[0, item], frames.y_m[0, item]], np.float64)
    line = lane_route(scene, start_m, float(frames.heading_rad[0, item]), goal_m)
    if line is None:
        valid = frames.valid[:, item]
        line = np.stack([frames.x_m[valid, item], frames.y_m[valid, item]], axis=1)
    line = line.astype(np.float64)
    if np.linalg.norm(line[-1] - goal_m) > OFF_LANE_M:
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


def _headings(xy_m):
    """(agents, points) directions from each point to the next."""
    step_m = np.diff(xy_m, axis=1, append=2 * xy_m[:, -1:] - xy_m[:, -2:-1])
    return np.arctan2(step_m[..., 1], step_m[..., 0])


def _resampled(line, points):
    """`points` points `PITCH_M` apart along the line and straight on behind it."""
    ahead = (line[-1] - line[-2]) / np.linalg.norm(line[-1] - line[-2])
    line = np.concatenate([line, line[-1:] + ahead * points * PITCH_M])
    along_m = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(line, axis=0).T))])
    at_m = np.arange(points) * PITCH_M
    return np.stack([np.interp(at_m, along_m, line[:, axis]) for axis in (0, 1)], axis=1)


def _suitable_speed(heading_rad, cruise_mps, length_m, config):
    """(agents, points): cruise, less in a bend, and less before it than braking in time asks for."""
    reach = BEND_POINTS // 2
    curvature = np.full_like(heading_rad, STRAIGHT_PER_M)
    turn_rad = _wrapped(heading_rad[:, 2 * reach :] - heading_rad[:, : -2 * reach])
    curvature[:, reach:-reach] += np.abs(turn_rad) / (2 * reach * PITCH_M)
    speed_mps = np.minimum(cruise_mps[:, None], np.sqrt(SIDE_MPS2 / curvature))
    if config.goal_max_speed_mps is not None:
        at_goal = np.arange(heading_rad.shape[1]) * PITCH_M >= length_m[:, None] - config.goal_radius_m
        slow_mps = max(GOAL_SPEED_SHARE * config.goal_max_speed_mps, CREEP_MPS)
        speed_mps = np.where(at_goal, np.minimum(speed_mps, slow_mps), speed_mps)
    for point in range(speed_mps.shape[1] - 2, -1, -1):
        in_time = np.sqrt(speed_mps[:, point + 1] ** 2 + 2 * BRAKING_MPS2 * PITCH_M)
        speed_mps[:, point] = np.minimum(speed_mps[:, point], in_time)
    return np.minimum(speed_mps, config.max_speed_mps)


# ---- decisions ----


def _decide(ways, cars, drives):
    """(agents,) acceleration, m/s2, and steering, rad; `drives` tells the agents that are not waiting."""
    agents = np.arange(ways.count)
    speed_mps = cars["speed_mps"][agents]
    at = _places(ways, cars)
    path = _path_ahead(ways, cars, drives, at)
    wanted_mps = ways.speed_mps[agents, at + 1]
    acceleration_mps2 = np.clip(
        (wanted_mps - speed_mps) / max(SETTLE_S, ways.dt_s), -HARDEST_BRAKING_MPS2, PULL_MPS2)
    pairs = _pairs(cars, drives, ways.count)
    if len(pairs.own):
        taken = _taken(path, cars, drives, wanted_mps, pairs)
        for limit_mps2 in (_follow(cars, pairs, taken), _give_way(cars, wanted_mps, pairs, taken)):
            np.minimum.at(acceleration_mps2, pairs.own, limit_mps2)
    # Braking ends at rest, also where the config lets cars reverse.
    return np.maximum(acceleration_mps2, -speed_mps / ways.dt_s), _pursuit(path, cars, ways.dt_s)


def _places(ways, cars):
    """(agents,) index of the point of its way that each agent is at."""
    x_m, y_m, heading_rad = (cars[name][: ways.count, None] for name in ("x_m", "y_m", "heading_rad"))
    away_m = np.hypot(ways.xy_m[..., 0] - x_m, ways.xy_m[..., 1] - y_m)
    away_m = away_m + WRONG_WAY_M * (1.0 - np.cos(ways.heading_rad - heading_rad))
    return np.argmin(away_m[:, :-SIGHT_POINTS], axis=1)


def _path_ahead(ways, cars, drives, at):
    """The ways from the agents' places on, moved to the left round whoever will never drive on."""
    agents, points = np.arange(ways.count)[:, None], np.arange(SIGHT_POINTS)
    here = at[:, None] + points
    xy_m, heading_rad = ways.xy_m[agents, here], ways.heading_rad[agents, here]
    stands = cars["present"].copy()
    stands[: ways.count] &= ~drives
    stands[ways.count : ways.count + ways.log_replay_count] = False
    if not stands.any():
        return Path(xy_m, heading_rad)
    moved_m = _passing_shift(ways, cars, at, np.flatnonzero(stands))
    xy_m = xy_m + moved_m[..., None] * np.stack([-np.sin(heading_rad), np.cos(heading_rad)], axis=2)
    return Path(xy_m, _headings(xy_m))


def _passing_shift(ways, cars, at, stands):
    """(agents, points) metres to the left that clear the vehicles of index `stands`."""
    agents, points = np.arange(ways.count)[:, None], np.arange(SIGHT_POINTS)
    around = np.maximum(at[:, None] + np.arange(-PASSING_POINTS, SIGHT_POINTS), 0)
    dx_m = cars["x_m"][stands][:, None] - ways.xy_m[agents, around, 0][:, None]
    dy_m = cars["y_m"][stands][:, None] - ways.xy_m[agents, around, 1][:, None]
    nearest = np.argmin(dx_m * dx_m + dy_m * dy_m, axis=2)[..., None]
    dx_m, dy_m = (np.take_along_axis(offset, nearest, axis=2)[..., 0] for offset in (dx_m, dy_m))
    facing_rad = ways.heading_rad[agents, around[agents, nearest[..., 0]]]
    left_m = dy_m * np.cos(facing_rad) - dx_m * np.sin(facing_rad)
    ahead_m = dx_m * np.cos(facing_rad) + dy_m * np.sin(facing_rad)

    apart_m = 0.5 * (cars["width_m"][: ways.count, None] + cars["width_m"][stands]) + PASSING_ROOM_M
    beside_m = 0.5 * (cars["length_m"][: ways.count, None] + cars["length_m"][stands])
    in_the_way = (np.abs(left_m) < apart_m) & (np.abs(ahead_m) < LOOK_PITCH_M)
    place_m = (nearest[..., 0] - PASSING_POINTS) * PITCH_M + ahead_m
    away_m = np.abs(place_m[..., None] - points * PITCH_M) - beside_m[..., None]
    share = np.clip(1.0 - away_m / PASSING_RAMP_M, 0.0, 1.0)
    smooth = share * share * (3.0 - 2.0 * share)
    return (np.where(in_the_way, left_m + apart_m, 0.0)[..., None] * smooth).max(axis=1)


def _pursuit(path, cars, dt_s):
    """(agents,) steering that leads through the aim: pure pursuit (Coulter 1992) with the bicycle's own arc."""
    agents = np.arange(len(path.xy_m))
    aim_m = np.clip(max(AIM_S, 2 * dt_s) * cars["speed_mps"][agents], NEAREST_AIM_M, FARTHEST_AIM_M)
    aim = path.xy_m[agents, np.rint(aim_m / PITCH_M).astype(np.int64)]
    dx_m, dy_m = aim[:, 0] - cars["x_m"][agents], aim[:, 1] - cars["y_m"][agents]
    bearing_rad = np.arctan2(dy_m, dx_m) - cars["heading_rad"][agents]
    wheelbase_m = WHEELBASE_SHARE * cars["length_m"][agents]
    # The middle sets out at the slip angle, tan(slip) = tan(steering) / 2, on an arc of curvature
    # 2 sin(slip) / wheelbase; it meets the aim where sin(bearing - slip) = distance sin(slip) / wheelbase.
    ahead_m = np.maximum(np.hypot(dx_m, dy_m) + wheelbase_m * np.cos(bearing_rad), 0.1)
    return np.arctan2(2 * wheelbase_m * np.sin(bearing_rad), ahead_m)


# ---- others ----


def _pairs(cars, drives, count):
    x_m, y_m, heading_rad = cars["x_m"], cars["y_m"], cars["heading_rad"]
    near = np.hypot(x_m[:count, None] - x_m, y_m[:count, None] - y_m) < SIGHT_POINTS * PITCH_M
    near[np.arange(count), np.arange(count)] = False
    own, other = np.nonzero(near & cars["present"] & drives[:, None])
    ahead_m = ((x_m[other] - x_m[own]) * np.cos(heading_rad[own])
               + (y_m[other] - y_m[own]) * np.sin(heading_rad[own]))
    return Pairs(own, other, ahead_m, np.cos(heading_rad[other] - heading_rad[own]))


def _taken(path, cars, drives, wanted_mps, pairs):
    """(pairs, points, times) bool: the other's box at that time covers that point of the agent's path."""
    xy_m, heading_rad = _foreseen(path, cars, drives, wanted_mps)
    points_m = path.xy_m[:, ::LOOK_STEP].astype(np.float32)[pairs.own]
    dx_m = points_m[:, :, None, 0] - xy_m[pairs.other][:, None, :, 0]
    dy_m = points_m[:, :, None, 1] - xy_m[pairs.other][:, None, :, 1]
    cosine, sine = np.cos(heading_rad)[pairs.other][:, None], np.sin(heading_rad)[pairs.other][:, None]
    half_length_m = 0.5 * (cars["length_m"][pairs.other] + LOOK_PITCH_M)
    half_width_m = 0.5 * (cars["width_m"][pairs.other] + cars["width_m"][pairs.own]) + ROOM_M
    return ((np.abs(dx_m * cosine + dy_m * sine) < half_length_m[:, None, None])
            & (np.abs(dy_m * cosine - dx_m * sine) < half_width_m[:, None, None]))


def _foreseen(path, cars, drives, wanted_mps):
    """Where every vehicle will be at the times of `FORESIGHT_S`: (vehicles, times, 2) and headings, float32.

    Agents that drive pull up to their speed along their paths, all others go straight on.
    """
    heading_rad = np.repeat(cars["heading_rad"][:, None], len(FORESIGHT_S), axis=1)
    way_m = cars["speed_mps"][:, None] * FORESIGHT_S
    xy_m = np.stack([cars["x_m"][:, None] + way_m * np.cos(heading_rad),
                     cars["y_m"][:, None] + way_m * np.sin(heading_rad)], axis=2)
    agents, later = np.flatnonzero(drives)[:, None], np.arange(1, len(FORESIGHT_S))
    reach_m = _reach(cars["speed_mps"][agents], wanted_mps[agents], FORESIGHT_S[later])
    # Who reverses is taken to stand: a path has nothing behind its start.
    point = np.clip(np.rint(reach_m / PITCH_M), 0, SIGHT_POINTS - 1).astype(np.int64)
    xy_m[agents, later], heading_rad[agents, later] = path.xy_m[agents, point], path.heading_rad[agents, point]
    return xy_m, heading_rad


def _is_ahead(cars, pairs, taken):
    """(pairs,) bool: the other is on the agent's path already and does not come the other way."""
    comes = (pairs.turn_cos < -ALONG_COS) & (cars["speed_mps"][pairs.other] > RESTING_MPS)
    return taken[:, :, 0].any(axis=1) & (pairs.ahead_m > 0) & ~comes


def _follow(cars, pairs, taken):
    """(pairs,) acceleration that keeps the gap to whoever is ahead; infinite where the other is not."""
    gap_m = np.argmax(taken[:, :, 0], axis=1) * LOOK_PITCH_M - 0.5 * cars["length_m"][pairs.own]
    lead_mps = np.maximum(cars["speed_mps"][pairs.other] * pairs.turn_cos, 0.0)
    kept_mps2 = _gap_term(cars["speed_mps"][pairs.own], lead_mps, gap_m)
    return np.where(_is_ahead(cars, pairs, taken), kept_mps2, np.inf)


def _give_way(cars, wanted_mps, pairs, taken):
    """(pairs,) acceleration that lets pass who is there first; infinite where that is the agent."""
    own, other = pairs.own, pairs.other
    follows_the_agent = (pairs.ahead_m < 0) & (pairs.turn_cos > ALONG_COS)
    meets = taken.any(axis=(1, 2)) & ~_is_ahead(cars, pairs, taken) & ~follows_the_agent

    times, point = taken.any(axis=1), np.argmax(taken.any(axis=2), axis=1)
    leaves_s = np.where(times[:, -1], np.inf, FORESIGHT_S[::-1][np.argmax(times[:, ::-1], axis=1)])
    gap_m = point * LOOK_PITCH_M - 0.5 * cars["length_m"][own]
    arrives_s = _arrival(cars["speed_mps"][own], wanted_mps[own], np.maximum(gap_m, 0.0))

    # Two agents compare the arrivals that both foresee, so that exactly one of them goes first.
    count = len(wanted_mps)
    arrivals_s = np.full((count, len(cars["x_m"])), np.nan)
    arrivals_s[own[meets], other[meets]] = arrives_s[meets]
    mutual_s = np.where(other < count, arrivals_s[np.minimum(other, count - 1), own], np.nan)
    other_s = np.where(np.isnan(mutual_s), FORESIGHT_S[np.argmax(times, axis=1)], mutual_s)
    is_second = (other_s < arrives_s) | ((other_s == arrives_s) & (other < own))
    still_there = arrives_s < leaves_s + AFTER_S
    stopped_mps2 = _gap_term(cars["speed_mps"][own], 0.0, gap_m)
    return np.where(meets & is_second & still_there, stopped_mps2, np.inf)


# ---- along a line ----


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


def _gap_term(speed_mps, lead_mps, gap_m):
    """The intelligent driver model (Treiber et al. 2000) without its wish for speed, m/s2."""
    closing_mps = speed_mps - lead_mps
    wished_m = GAP_M + np.maximum(
        HEADWAY_S * speed_mps + speed_mps * closing_mps / (2 * math.sqrt(PULL_MPS2 * BRAKING_MPS2)), 0.0)
    return PULL_MPS2 * (1.0 - (wished_m / np.maximum(gap_m, 0.1)) ** 2)


def _wrapped(angle_rad):
    return (angle_rad + math.pi) % (2 * math.pi) - math.pi
