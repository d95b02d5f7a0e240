"""How are behaviours staged that no generated scene has? By a subject, and objects whose scripts call for it.

Object 0 is the subject. In some stagings `LaneDriver` drives it, in others it has a script as well.
"""

from __future__ import annotations

import numpy as np

from ..scenes import Scene
from ..scenes.generate.forks import FRAME_S
from ..scenes.generate.rng import Rng
from .street import (
    DRIVEN_M, LANE_WIDTH_M, ONCOMING_M, PEDESTRIAN_M, Actor, Shift, car, driven, frames_of, oncoming, parked,
    size, speeds, staged)

KERB_M = 2.6
"""Beside a lane, where cars park."""

PARKED_M = -LANE_WIDTH_M - 0.25
"""The y of the left sides of parked cars."""


def hard_stop(rng: Rng) -> Scene:
    """A car ahead brakes hard, stands, and drives on."""
    frames, limit_mps = frames_of(20.0), 13.9
    speed_mps, headway_s, cruise_s, braking_mps2, wait_s = _draw(rng, (9, 13), (0.8, 1.4), (1, 3), (6, 8), (1, 3))
    start_m = 20.0
    lead_mps = speeds(speed_mps, [(cruise_s, 0.0), (speed_mps / braking_mps2 + wait_s, -braking_mps2), (8.0, 1.5)],
                      frames, limit_mps)
    lead_m = driven(start_m + 5.0 + headway_s * speed_mps, lead_mps)
    subject = Actor("vehicle", size(rng), start_m, DRIVEN_M, speed_mps, goal_m=(float(lead_m[-1]) - 25.0, DRIVEN_M))
    others = [oncoming(rng, 100.0 + 60.0 * index, speed_mps, frames) for index in range(rng.below(3))]
    return staged("hard_stop", frames, 300.0, limit_mps, [subject, car(rng, lead_m, lead_mps, DRIVEN_M), *others])


def parked_cars(rng: Rng) -> Scene:
    """A row of parked cars, some of them partly on the lane, and oncoming traffic."""
    frames, limit_mps = frames_of(20.0), 8.33
    speed_mps, = _draw(rng, (5.0, 8.0))
    actors = [Actor("vehicle", size(rng), 15.0, DRIVEN_M, speed_mps)]
    x_m = 35.0
    for _ in range(3 + rng.below(6)):
        into_lane_m, gap_m = _draw(rng, (0.0, 0.3), (6.0, 9.0))
        one = parked(rng, x_m, 0.0)
        actors.append(one._replace(y_m=PARKED_M - one.size_m[1] / 2 + into_lane_m))
        x_m += gap_m
    actors[0] = actors[0]._replace(goal_m=(x_m + 10.0, DRIVEN_M))
    others = [oncoming(rng, 70.0 + 50.0 * index, speed_mps, frames) for index in range(rng.below(4))]
    return staged("parked_cars", frames, 250.0, limit_mps, actors + others, KERB_M)


def pedestrian_crossing(rng: Rng) -> Scene:
    """A pedestrian crosses the street shortly before a car at constant speed would be there."""
    frames, limit_mps = frames_of(20.0), 13.9
    speed_mps, walking_mps, ahead_m, early_s = _draw(rng, (7.0, 11.0), (1.1, 1.7), (35.0, 55.0), (0.0, 1.0))
    start_m, kerb_m, side = 20.0, LANE_WIDTH_M + 1.0, 1 - 2 * rng.below(2)
    # It waits beside the road, walks across, and waits again.
    at_lane_s = ahead_m / speed_mps - early_s
    leaves_s = at_lane_s - (kerb_m + side * DRIVEN_M) / walking_mps
    times_s = FRAME_S * np.arange(frames)
    y_m = np.minimum(np.maximum(-kerb_m + walking_mps * (times_s - leaves_s), -kerb_m), kerb_m)
    walks = np.abs(y_m) < kerb_m
    walker = Actor("pedestrian", PEDESTRIAN_M, start_m + ahead_m, side * y_m, 0.0, side * walking_mps * walks,
                   heading_rad=side * np.pi / 2)
    subject = Actor("vehicle", size(rng), start_m, DRIVEN_M, speed_mps, goal_m=(start_m + ahead_m + 40.0, DRIVEN_M))
    return staged("pedestrian_crossing", frames, 200.0, limit_mps, [subject, walker])


def overtaking(rng: Rng) -> Scene:
    """The subject follows a slow car, passes it on the oncoming lane, which is free, and goes back."""
    frames, limit_mps = frames_of(20.0), 25.0
    slow_mps, gap_m, faster_mps, follow_s, shift_s = _draw(rng, (7, 11), (20, 28), (6, 8), (0.5, 2.0), (2.7, 3.3))
    start_m, shift_m = 20.0, shift_s * (slow_mps + faster_mps)
    own_mps = speeds(slow_mps, [(follow_s, 0.0), (faster_mps / 2.0, 2.0)], frames)
    own_m, slow_m = driven(start_m, own_mps), driven(start_m + gap_m, np.full(frames, slow_mps))
    # It moves out when it begins to be faster, and in again 12 m in front of the other car.
    out_m = float(own_m[round(follow_s / FRAME_S)])
    back_m = float(own_m[int(np.argmax(own_m - slow_m >= 12.0))])
    shifts = [Shift(out_m, shift_m, ONCOMING_M), Shift(back_m, shift_m, DRIVEN_M)]
    others = [oncoming(rng, start_m + 10.0 + 10.0 * index, 15.0, frames) for index in range(rng.below(2))]
    others += [oncoming(rng, back_m + 60.0 + shift_m + 15.0 * 16.0 + 40.0 * index, 15.0, frames)
               for index in range(rng.below(3))]
    return staged("overtaking", frames, 700.0, limit_mps, [
        car(rng, own_m, own_mps, DRIVEN_M, shifts), car(rng, slow_m, np.full(frames, slow_mps), DRIVEN_M), *others])


def pull_out(rng: Rng) -> Scene:
    """The subject stands between parked cars, lets a car pass, and drives onto the lane before the next one."""
    frames, limit_mps = frames_of(15.0), 8.33
    wait_s, gain_mps2, shift_m, ahead_m, behind_m = _draw(rng, (2, 4), (1.2, 2), (20, 25), (25, 30), (6.5, 9))
    start_m, y_m = 60.0, PARKED_M - 1.05
    own_mps = speeds(0.0, [(wait_s, 0.0), (limit_mps / gain_mps2, gain_mps2)], frames, limit_mps - 0.5)
    own_m = driven(start_m, own_mps)
    subject = car(rng, own_m, own_mps, y_m, [Shift(start_m, shift_m, DRIVEN_M)])
    passing_m = driven(start_m + 6.0 - 7.0 * wait_s, np.full(frames, 7.0))
    next_m = driven(start_m - 7.0 * (wait_s + 7.0), np.full(frames, 7.0))
    others = [car(rng, passing_m, np.full(frames, 7.0), DRIVEN_M), car(rng, next_m, np.full(frames, 7.0), DRIVEN_M)]
    others += [parked(rng, start_m - behind_m - 7.0 * index, y_m) for index in range(1 + rng.below(3))]
    others += [parked(rng, start_m + ahead_m + 7.0 * index, y_m) for index in range(rng.below(4))]
    return staged("pull_out", frames, 200.0, limit_mps, [subject, *others], KERB_M)


def _draw(rng, *ranges):
    """A number of each range."""
    return [float(rng.uniform(low, high, 1)[0]) for low, high in ranges]
