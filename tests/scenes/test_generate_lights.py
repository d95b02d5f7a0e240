"""Are the lights of generated junctions safe, and those of the formula?"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from generated_scenes import lane_points

from drive_env.scenes import generate_scene
from drive_env.scenes.generate.lights import all_red_s, yellow_s

LIMIT_MPS = 13.9
RED, YELLOW, GREEN = 1, 2, 3
SHAPES = [("town", {}), ("town", {"blocks": (4, 3)}), ("intersection", {}), ("intersection", {"lanes": 1}),
          ("intersection", {"lanes": 3, "lane_width_m": 4.5})]


def with_lights(name, seed=3, **shape):
    return generate_scene(name, seed=seed, agents=4, lights=True, **shape)


def shown(controls, control, time_s, shift_s=0.0):
    """What a light shows, from the durations of its phases."""
    phases = slice(controls.phase_start[control], controls.phase_start[control + 1])
    ends_s = np.cumsum(controls.phase_s[phases].astype(float))
    at_s = (float(controls.offset_s[control]) + time_s + shift_s) % ends_s[-1]
    return int(controls.phase_state[phases][np.searchsorted(ends_s, at_s, side="right")])


def cycle_s(controls, control):
    return float(controls.phase_s[controls.phase_start[control]:controls.phase_start[control + 1]].sum())


def connectors(scene, control):
    """The lanes through the junction that begin at a control's stop line."""
    lanes = scene.traffic_controls.lane[scene.traffic_controls.start[control]:scene.traffic_controls.start[control + 1]]
    return [int(after) for lane in lanes for after in scene.lanes.after(lane)]


def cross(one, other):
    """Whether two polylines meet: their segments' ends are on both sides of each other, and their boxes overlap."""
    def side(a, b, c):
        return np.sign((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))

    def meet(a, b, c, d):
        apart = (np.maximum(a, b) < np.minimum(c, d)).any() or (np.maximum(c, d) < np.minimum(a, b)).any()
        return not apart and side(a, b, c) * side(a, b, d) <= 0 and side(c, d, a) * side(c, d, b) <= 0

    return any(meet(*first, *second) for first in pairwise(one) for second in pairwise(other))


def conflicts(scene):
    """Pairs of controls of which some paths through the junction meet."""
    lanes, controls = lane_points(scene), scene.traffic_controls
    paths = [[lanes[lane] for lane in connectors(scene, control)] for control in range(controls.count)]
    return [(a, b) for a in range(controls.count) for b in range(a)
            if any(cross(one, other) for one in paths[a] for other in paths[b])]


@pytest.mark.parametrize(("speed_mps", "yellow", "red"), [
    (8.94, 2.467, 2.919), (11.18, 2.834, 2.334), (13.41, 3.2, 1.946), (15.65, 3.567, 1.667), (17.88, 3.933, 1.46),
    (20.12, 4.301, 1.297)])
def test_yellow_and_all_red_are_those_of_the_formula(speed_mps, yellow, red):
    """At 20 to 45 mph and 20 m from line to line; yellow is at least 3 s."""
    assert yellow_s(speed_mps) == pytest.approx(max(yellow, 3.0), abs=1e-3)
    assert all_red_s(speed_mps, 20.0) == pytest.approx(red, abs=1e-3)


@pytest.mark.parametrize(("name", "shape"), SHAPES)
def test_lights_whose_paths_cross_never_open_together(name, shape):
    scene = with_lights(name, **shape)
    controls, pairs = scene.traffic_controls, conflicts(scene)
    # All arms of a junction conflict: each can turn left.
    arms = np.bincount(controls.junction)
    assert len(pairs) == sum(count * (count - 1) // 2 for count in arms)
    for a, b in pairs:
        assert controls.junction[a] == controls.junction[b] and cycle_s(controls, a) == cycle_s(controls, b)
        for time_s in np.arange(0.05, cycle_s(controls, a), 0.1):
            assert RED in (shown(controls, a, time_s), shown(controls, b, time_s))


@pytest.mark.parametrize(("name", "shape"), SHAPES)
def test_every_light_has_green_yellow_and_red_in_each_cycle(name, shape):
    controls = with_lights(name, **shape).traffic_controls
    for control in range(controls.count):
        states = [shown(controls, control, time_s) for time_s in np.arange(0.05, cycle_s(controls, control), 0.1)]
        changes = {pair for pair in zip(states, states[1:] + states[:1], strict=True) if pair[0] != pair[1]}
        assert changes == {(GREEN, YELLOW), (YELLOW, RED), (RED, GREEN)}
        assert 5.0 <= states.count(GREEN) / 10 <= 8.2


@pytest.mark.parametrize(("name", "shape"), SHAPES)
def test_a_car_at_the_limit_stops_or_clears_before_a_crossing_green(name, shape):
    """At the onset of yellow: one that cannot stop from where it is, with a second to react, drives on."""
    scene = with_lights(name, **shape)
    controls = scene.traffic_controls
    stopping_m = LIMIT_MPS + LIMIT_MPS**2 / (2 * 3.048)
    onset_s = {control: next(time_s for time_s in np.arange(0, 200, 0.125)
                             if shown(controls, control, time_s) == YELLOW) for control in range(controls.count)}
    lanes = lane_points(scene)
    for a, b in conflicts(scene) + [(b, a) for a, b in conflicts(scene)]:
        green_s = next(time_s for time_s in np.arange(onset_s[a], onset_s[a] + 200, 0.125)
                       if shown(controls, b, time_s) == GREEN) - onset_s[a]
        for lane in connectors(scene, a):
            through_m = np.linalg.norm(np.diff(lanes[lane], axis=0), axis=1).sum()
            assert (stopping_m + through_m + 6.1) / LIMIT_MPS <= green_s + 1e-9
        assert shown(controls, a, onset_s[a] + stopping_m / LIMIT_MPS - 1e-6) == YELLOW  # it passes the line on yellow


@pytest.mark.parametrize("name", ["town", "intersection"])
def test_stop_lines_are_across_the_ends_of_their_lanes(name):
    scene = with_lights(name)
    lanes, controls = lane_points(scene), scene.traffic_controls
    for control in range(controls.count):
        left, right = controls.line_m[control].reshape(2, 2).astype(float)
        for lane in controls.lane[controls.start[control]:controls.start[control + 1]]:
            before, end = lanes[int(lane)][-2:]
            assert abs((right - left) @ (end - before)) < 1e-6
            share = (end - left) @ (right - left) / np.linalg.norm(right - left)**2
            assert 0 < share < 1 and np.allclose(left + share * (right - left), end, atol=1e-3)
            ahead = end - before
            assert ahead[0] * (left - end)[1] - ahead[1] * (left - end)[0] > 0


def test_every_junction_of_three_arms_or_more_has_lights():
    for seed in range(20):
        scene = with_lights("town", seed=seed)
        controlled = set(scene.traffic_controls.lane.tolist())
        lanes = [lane for lane in lane_points(scene) if len(scene.lanes.after(lane)) > 1]
        assert controlled == set(lanes)  # lanes at a junction of three arms or more have a choice


@pytest.mark.parametrize("name", ["town", "intersection"])
def test_lights_change_nothing_else_of_a_scene(name):
    for seed in range(5):
        plain, lit = generate_scene(name, seed=seed, agents=9), generate_scene(name, seed=seed, agents=9, lights=True)
        assert plain.traffic_controls.count == 0 and lit.traffic_controls.count > 0
        for part in ("objects", "roads", "lanes"):
            for key, array in vars(getattr(plain, part)).items():
                assert array.tobytes() == getattr(getattr(lit, part), key).tobytes()


def test_programs_follow_from_the_seed():
    def program(seed):
        controls = with_lights("intersection", seed=seed).traffic_controls
        return controls.phase_s.tobytes() + controls.offset_s.tobytes()

    assert program(4) == program(4)
    assert len({program(seed) for seed in range(50)}) == 50


def test_phases_are_eighths_of_a_second():
    """Sums of eighths are exact, so the lights of a junction never drift apart."""
    for name in ("town", "intersection"):
        controls = with_lights(name).traffic_controls
        assert (controls.phase_s * 8 % 1 == 0).all() and (controls.offset_s * 8 % 1 == 0).all()
        assert math.isclose(controls.phase_s[1], 3.375)  # 1 s + 13.9 m/s / (2 x 3.048 m/s2), rounded up
