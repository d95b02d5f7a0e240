"""Does a lane open and leave the highway as designed, and can every car that has to leave do so?"""

from __future__ import annotations

import numpy as np
import pytest
from generated_scenes import lane_points, positions
from lane_map_scenes import made
from played_scenes import agents_of, ahead_on, goal_share, played, towards

from drive_env import generate_scene
from drive_env.errors import SceneError


def exit_lanes(scene):
    """The lane that opens, the one beside the highway, and the ramp: they have the last numbers."""
    return list(lane_points(scene).values())[-3:]


def leaves(scene):
    """(cars,) bool, whose goals are on the ramp."""
    return scene.objects.goal_m[:, 1] < -11.0


def test_the_exit_lane_opens_as_a_cubic():
    """W 3.6 m over 50 m: 0.00432 s2 - 0.0000576 s3 to the right of the last lane."""
    opening, beside, _ = exit_lanes(generate_scene("exit"))
    s, right_m = opening[:, 0] - 150.0, -9.0 - opening[:, 1]
    assert np.abs(right_m - (0.00432 * s**2 - 0.0000576 * s**3)).max() < 1.5e-3
    assert (s[0], s[-1]) == (0.0, 50.0) and right_m[-1] == pytest.approx(3.6, abs=1e-3)
    assert np.ptp(beside[:, 1]) == 0.0 and beside[-1, 0] == pytest.approx(150 + 50 + 80)


def test_the_ramp_leaves_at_10_degrees_and_turns_away():
    *_, ramp = exit_lanes(generate_scene("exit"))
    step = np.diff(ramp, axis=0)
    heading = np.degrees(np.arctan2(step[:, 1], step[:, 0]))
    assert np.linalg.norm(step[np.abs(heading + 10.0) < 0.05], axis=1).sum() == pytest.approx(40.0, abs=1e-2)
    assert heading[-1] == pytest.approx(-60.0, abs=0.05) and (np.diff(heading) < 0.05).all()


@pytest.mark.parametrize("lanes", [1, 3, 6])
def test_lanes_that_part_are_in_no_conflict(lanes):
    assert not made("exit", 1, lanes=lanes, exit_after_m=300.0).map.conflicts().any()


def test_half_of_the_cars_leave_and_start_where_they_still_can():
    for agents, expected in ((12, {6}), (5, {2, 3}), (1, {0, 1})):
        counts = set()
        for seed in range(24):
            scene = generate_scene("exit", seed=seed, agents=agents)
            counts.add(int(leaves(scene).sum()))
            assert (positions(scene)[:, 0] <= 100.0).all()
        assert counts == expected


def test_leaving_cars_start_on_every_lane():
    lanes = {round((-positions(scene)[car, 1] - 1.8) / 3.6)
             for scene in (generate_scene("exit", seed=seed) for seed in range(8))
             for car in np.flatnonzero(leaves(scene))}
    assert lanes == {0, 1, 2}


def test_more_cars_than_fit_are_an_error_with_the_number_that_fits():
    """13 places of 8 m on 100 m less 3.6 m, on each of three lanes."""
    with pytest.raises(SceneError, match="agents is 40; at most 39 fit on these roads"):
        generate_scene("exit", agents=40)
    assert generate_scene("exit", agents=39).objects.count == 39


def ways(scenes):
    """For one car each: to its goal, with a change of lanes over the 90 m after its start."""
    for scene in scenes:
        (x_m, y_m), (goal_x_m, goal_y_m) = positions(scene)[0], scene.objects.goal_m[0]
        end_y_m = -9.0 if leaves(scene)[0] else goal_y_m
        change = [(x_m, y_m), (x_m + 10.0, y_m), (x_m + 90.0, end_y_m)]
        rest = [line[line[:, 0] > x_m + 92.0] for line in exit_lanes(scene)] if leaves(scene)[0] else [
            [(goal_x_m + 30.0, goal_y_m)]]
        yield np.concatenate([change, *rest])


def changes_lanes(batch):
    lines = list(ways([roles.scene for roles in batch.roles]))

    def act():
        xy_m = np.stack(agents_of(batch)[:2], axis=1)
        target_m = np.array([ahead_on(line, place, 10.0) for line, place in zip(lines, xy_m, strict=True)])
        return towards(batch, target_m, np.where(xy_m[:, 1] < -14.5, 14.0, 20.0))
    return act


def test_a_car_alone_can_reach_its_goal_from_every_lane():
    assert goal_share("exit", range(24), changes_lanes, agents=1) == 1.0


def test_without_steering_no_car_leaves():
    records = played("exit", range(16), "constant", agents=1)
    has_to = np.array([leaves(generate_scene("exit", seed=seed, agents=1))[0] for seed in range(16)])
    assert not records["goal"][has_to[records["world"]]].any()
    assert goal_share("exit", range(16), "random") < 0.05
