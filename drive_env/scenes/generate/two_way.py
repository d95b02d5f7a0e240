"""What is a two-way road? One lane each way: to pass a slow vehicle, a car needs a gap in the oncoming traffic."""

from __future__ import annotations

import dataclasses

import numpy as np

from ..coordinates import last_frames
from ..scene import OBJECT_KIND_CODES, Objects
from .curves import Path, Pose, line
from .forks import FRAME_S
from .lane_map import LaneMap
from .parameters import Parameter
from .parts import Parts
from .placing import INSET_M, PlacingSpec, Span, draw_sizes, draw_starts, place_from
from .rng import Rng
from .roadnet import on_grid

DEFAULT_AGENTS = 2

DIFFICULTY = "Overtaking on the oncoming lane, before the oncoming cars arrive."

PARAMETERS = {
    "length_m": Parameter(800.0, "m", "length of the road", 700.0, 1500.0),
    "slow": Parameter(1, "vehicles", "slow vehicles in front of the agents", 1, 3),
    "lane_width_m": Parameter(3.5, "m", "width of every lane", 3.0, 4.0),
    "speed_limit_mps": Parameter(25.0, "m/s", "speed limit of both lanes", 15.0, 25.0),
    "must_overtake": Parameter(False, "", "whether the goals are too far for a car that stays behind the slow "
                               "vehicles for 20 s", False, True),
}

LOG_S = 20.0
"""Duration of the logs of the slow and the oncoming vehicles: that of a trial of the default 200 steps."""

START_M = 40.0
"""Road for each agent to start on; at most `START_LIMIT_M` for all."""

START_LIMIT_M = 100.0

SPEED_SHARE, HEADWAY_S = (0.5, 0.7), (1.0, 2.0)

SLOW_SHARE, SLOW_AHEAD_M, SLOW_GAP_M = (0.4, 0.45), (60.0, 75.0), (25.0, 30.0)
"""Speed of all slow vehicles as a share of the limit, how far the last is ahead of the first agent, and their
distances: a car fits between two."""

ONCOMING_SHARE, FIRST_S, GAP_S = (0.8, 1.0), (2.0, 8.0), (8.0, 14.0)
"""Speed of all oncoming vehicles as a share of the limit; when the first of them passes an agent that drives at the
limit, and after which times the next ones do. At 25 m/s, passing a vehicle of 10 to 11 m/s takes about 5 s."""

BEHIND_S, BEHIND_M, QUEUE_M = 16.0, 25.0, 9.0
"""After `BEHIND_S`, an agent that follows the slow vehicles is at most `BEHIND_M` behind the last of them, and
`QUEUE_M` more for each agent ahead of it."""

BEYOND_M = 5.0
"""From where the last slow vehicle is after `LOG_S` to the first goal that needs overtaking: agents have to pass it."""

GOAL_ROOM_M = 8.0
"""Length of road in which a goal is drawn."""


def build(rng: Rng, agents: int, length_m: float, slow: int, lane_width_m: float, speed_limit_mps: float,
          must_overtake: bool) -> Parts:
    """The agents drive east. Slow and oncoming vehicles have logs of constant speed."""
    roads, middle = LaneMap(), Path(Pose(0.0, 0.0, 0.0), (line(length_m),))
    east, = roads.along(middle, 1, lane_width_m, speed_limit_mps)
    roads.along(middle.reversed(), 1, lane_width_m, speed_limit_mps)
    roads.line(middle)
    begin = PlacingSpec([Span(east, to_m=INSET_M + min(START_M * agents, START_LIMIT_M))], [],
                        speed_share=SPEED_SHARE, headway_s=HEADWAY_S)
    starts, speed_mps, _ = draw_starts(rng, roads, agents, [begin])
    first_m = float(starts.along_m.max())

    # Slow vehicles, and the oncoming ones that are on the road within the logs.
    number = lambda low, high: float(rng.uniform(low, high, 1)[0])
    slow_mps, oncoming_mps = speed_limit_mps * number(*SLOW_SHARE), speed_limit_mps * number(*ONCOMING_SHARE)
    slow_m = [first_m + number(*SLOW_AHEAD_M)]
    for _ in range(slow - 1):
        slow_m.append(slow_m[-1] + number(*SLOW_GAP_M))
    closing_mps = speed_limit_mps + oncoming_mps
    oncoming_m = [first_m + closing_mps * number(*FIRST_S)]
    while oncoming_m[-1] < length_m + oncoming_mps * LOG_S:
        oncoming_m.append(oncoming_m[-1] + closing_mps * number(*GAP_S))

    # Goals by the number of agents before each.
    rank = np.argsort(np.argsort(-starts.along_m, kind="stable"), kind="stable")
    if must_overtake:
        goal_m = np.full(agents, slow_m[0] + slow_mps * LOG_S + BEYOND_M)
    else:
        goal_m = slow_m[0] + slow_mps * BEHIND_S - BEHIND_M - QUEUE_M * rank
    specs = [begin._replace(goals=[Span(east, at_m, at_m + GOAL_ROOM_M)]) for at_m in goal_m.tolist()]
    cars = place_from(rng, roads, starts, speed_mps, specs)
    half_m = lane_width_m / 2
    poses = [(at_m, -half_m, slow_mps) for at_m in slow_m] + [(at_m, half_m, -oncoming_mps) for at_m in oncoming_m]
    return roads.parts(_with_logs(rng, cars, np.array(poses), length_m))


def _with_logs(rng, cars, poses, length_m):
    """The cars of the agents, and vehicles with logs of constant speed along x that end where the road does.

    Args:
        poses: (n, 3) x and y of each vehicle in frame 0, where it may not be on the road yet, and its speed along x.
    """
    # Tracks of the others, (frames, n).
    frames, agents = round(LOG_S / FRAME_S) + 1, len(cars.id)
    speed_mps = on_grid(poses[:, 2])
    x_m = on_grid(poses[:, 0] + np.arange(frames)[:, None] * FRAME_S * speed_mps)
    valid = (x_m >= INSET_M) & (x_m <= length_m - INSET_M)
    on_map = valid.any(axis=0)
    others = int(on_map.sum())
    x_m, valid, speed_mps, y_m = x_m[:, on_map], valid[:, on_map], speed_mps[on_map], poses[on_map, 1]
    heading_rad = np.where(speed_mps > 0, 0.0, -np.pi)
    last = last_frames(valid)
    goal_m = np.stack([x_m[last, np.arange(others)], on_grid(y_m)], axis=1)

    # Both in one table; agents are on the map in frame 0 alone.
    def tracks(name, values):
        own = np.zeros((frames, agents), np.float32)
        own[0] = getattr(cars, name)[0]
        return np.concatenate([own, np.where(valid, values, 0.0).astype(np.float32)], axis=1)

    sizes_m = draw_sizes(rng, others)
    sizes = {name: np.concatenate([getattr(cars, name), size_m])
             for name, size_m in zip(("length_m", "width_m", "height_m"), sizes_m, strict=True)}
    return dataclasses.replace(
        cars, **sizes, id=np.arange(agents + others, dtype=np.int64),
        kind=np.full(agents + others, OBJECT_KIND_CODES["vehicle"], np.uint8),
        goal_m=np.concatenate([cars.goal_m, goal_m.astype(np.float32)]),
        marked_expert=np.arange(agents + others) >= agents,
        x_m=tracks("x_m", x_m), y_m=tracks("y_m", on_grid(y_m)), heading_rad=tracks("heading_rad", heading_rad),
        vx_mps=tracks("vx_mps", speed_mps), vy_mps=tracks("vy_mps", 0.0),
        valid=np.concatenate([np.arange(frames)[:, None] == np.zeros(agents), valid], axis=1))
