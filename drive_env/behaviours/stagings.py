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

HALF_CAR_M = 1.05
"""Half the width of a broad car: where the centre of a parked one of any size is, beside `PARKED_M`."""

TOWN_MPS, STREET_MPS, ROAD_MPS = 13.9, 8.33, 25.0
"""Speed limits of 50 km/h in town and 30 km/h where cars park, and of 90 km/h on a two-way road outside towns."""

START_M = 20.0
"""The x of the subject at first: its whole box is on the street, with room behind it."""

CAR_M = 5.0
"""Length of a long car: with it, a headway between cars becomes a distance of their centres."""

BEFORE_LEAD_M = 25.0
"""Distance from the goal of the subject to the final position of the car ahead, so that the subject reaches its goal
while that car is ahead."""

PARKED_PITCH_M = 7.0
"""Distance of the centres of cars parked in a row: the room that each needs to get out, and that of a parking bay."""

FRONT_GAP_M = 12.0
"""How far in front of the other car, between the centres, overtaking ends: 7 m between the boxes."""

ONCOMING_MPS = 15.0
"""Speed of oncoming cars on the road on which others overtake: 54 km/h, well below its limit, `ROAD_MPS`."""

OVERTAKING_S = 16.0
"""Longer than the subject takes from frame 0 until it is back on its lane: in frame 0, oncoming cars are more than this
time away from the place where it is back."""

PASSING_MPS = 7.0
"""Speed of cars that drive past a row of parked ones: a little less than the limit."""


def hard_stop(rng: Rng) -> Scene:
    """A car ahead brakes hard, stands, and drives on."""
    frames, limit_mps = frames_of(20.0), TOWN_MPS
    speed_mps, headway_s, cruise_s, braking_mps2, wait_s = _draw(rng, (9, 13), (0.8, 1.4), (1, 3), (6, 8), (1, 3))
    # It brakes to rest, stands, and gathers speed again.
    braking_s, gathering_s, gain_mps2 = speed_mps / braking_mps2, 8.0, 1.5
    parts = [(cruise_s, 0.0), (braking_s + wait_s, -braking_mps2), (gathering_s, gain_mps2)]
    lead_mps = speeds(speed_mps, parts, frames, limit_mps)
    lead_m = driven(START_M + CAR_M + headway_s * speed_mps, lead_mps)
    goal_m = (float(lead_m[-1]) - BEFORE_LEAD_M, DRIVEN_M)
    subject = Actor("vehicle", size(rng), START_M, DRIVEN_M, speed_mps, goal_m=goal_m)
    others = [oncoming(rng, 100.0 + 60.0 * index, speed_mps, frames) for index in range(rng.below(3))]
    return staged("hard_stop", frames, 300.0, limit_mps, [subject, car(rng, lead_m, lead_mps, DRIVEN_M), *others])


def parked_cars(rng: Rng) -> Scene:
    """A row of parked cars, some of them partly on the lane, and oncoming traffic."""
    frames, limit_mps = frames_of(20.0), STREET_MPS
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
    frames, limit_mps = frames_of(20.0), TOWN_MPS
    speed_mps, walking_mps, ahead_m, early_s = _draw(rng, (7.0, 11.0), (1.1, 1.7), (35.0, 55.0), (0.0, 1.0))
    kerb_m, side = LANE_WIDTH_M + 1.0, 1 - 2 * rng.below(2)
    # It waits beside the road, walks across, and waits again.
    at_lane_s = ahead_m / speed_mps - early_s
    leaves_s = at_lane_s - (kerb_m + side * DRIVEN_M) / walking_mps
    times_s = FRAME_S * np.arange(frames)
    y_m = np.minimum(np.maximum(-kerb_m + walking_mps * (times_s - leaves_s), -kerb_m), kerb_m)
    walks = np.abs(y_m) < kerb_m
    walker = Actor("pedestrian", PEDESTRIAN_M, START_M + ahead_m, side * y_m, 0.0, side * walking_mps * walks,
                   heading_rad=side * np.pi / 2)
    subject = Actor("vehicle", size(rng), START_M, DRIVEN_M, speed_mps, goal_m=(START_M + ahead_m + 40.0, DRIVEN_M))
    return staged("pedestrian_crossing", frames, 200.0, limit_mps, [subject, walker])


def overtaking(rng: Rng) -> Scene:
    """The subject follows a slow car, passes it on the oncoming lane, which is free, and goes back."""
    frames, limit_mps = frames_of(20.0), ROAD_MPS
    slow_mps, gap_m, faster_mps, follow_s, shift_s = _draw(rng, (7, 11), (20, 28), (6, 8), (0.5, 2.0), (2.7, 3.3))
    shift_m = shift_s * (slow_mps + faster_mps)
    own_mps = speeds(slow_mps, [(follow_s, 0.0), (faster_mps / 2.0, 2.0)], frames)
    own_m, slow_m = driven(START_M, own_mps), driven(START_M + gap_m, np.full(frames, slow_mps))
    # It moves out when it begins to be faster, and in again in front of the other car.
    out_m = float(own_m[round(follow_s / FRAME_S)])
    back_m = float(own_m[int(np.argmax(own_m - slow_m >= FRONT_GAP_M))])
    shifts = [Shift(out_m, shift_m, ONCOMING_M), Shift(back_m, shift_m, DRIVEN_M)]
    # Oncoming cars pass before it moves out, or come after it is back.
    others = [oncoming(rng, START_M + 10.0 + 10.0 * index, ONCOMING_MPS, frames) for index in range(rng.below(2))]
    free_m = back_m + 60.0 + shift_m + ONCOMING_MPS * OVERTAKING_S
    others += [oncoming(rng, free_m + 40.0 * index, ONCOMING_MPS, frames) for index in range(rng.below(3))]
    return staged("overtaking", frames, 700.0, limit_mps, [
        car(rng, own_m, own_mps, DRIVEN_M, shifts), car(rng, slow_m, np.full(frames, slow_mps), DRIVEN_M), *others])


def pull_out(rng: Rng) -> Scene:
    """The subject stands between parked cars, lets a car pass, and drives onto the lane before the next one."""
    frames, limit_mps = frames_of(15.0), STREET_MPS
    wait_s, gain_mps2, shift_m, ahead_m, behind_m = _draw(rng, (2, 4), (1.2, 2), (20, 25), (25, 30), (6.5, 9))
    start_m, y_m = 60.0, PARKED_M - HALF_CAR_M
    own_mps = speeds(0.0, [(wait_s, 0.0), (limit_mps / gain_mps2, gain_mps2)], frames, limit_mps - 0.5)
    own_m = driven(start_m, own_mps)
    subject = car(rng, own_m, own_mps, y_m, [Shift(start_m, shift_m, DRIVEN_M)])
    # A car has passed by one length when the subject sets off; the next one would be there so much later.
    passed_m, next_s, passing_mps = 6.0, 7.0, np.full(frames, PASSING_MPS)
    passing_m = driven(start_m + passed_m - PASSING_MPS * wait_s, passing_mps)
    next_m = driven(start_m - PASSING_MPS * (wait_s + next_s), passing_mps)
    others = [car(rng, passing_m, passing_mps, DRIVEN_M), car(rng, next_m, passing_mps, DRIVEN_M)]
    # Parked cars behind it, and in front of it beyond where it moves out.
    others += [parked(rng, start_m - behind_m - PARKED_PITCH_M * index, y_m) for index in range(1 + rng.below(3))]
    others += [parked(rng, start_m + ahead_m + PARKED_PITCH_M * index, y_m) for index in range(rng.below(4))]
    return staged("pull_out", frames, 200.0, limit_mps, [subject, *others], KERB_M)


def _draw(rng, *ranges):
    """A number of each range."""
    return [float(rng.uniform(low, high, 1)[0]) for low, high in ranges]
