"""Which goals does an agent have where its scene lists them, and which headings have goals of their own?"""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest
from overpass import SPEED_MPS, overpass
from scripted_scenes import COAST_ACTION, IGNORE_ALL, batch_of, changed, driver, listed, play_randomly, stage

from drive_env import Batch, CallError, DriveConfig, SceneError, generate_scene
from drive_env.roles import listed_goal
from drive_env.scenes import GoalLists

NEXT = {"on_goal": "next", "on_offroad": "ignore", "on_collision": "ignore"}
LANE = [("lane", [(-20.0, 0.0), (200.0, 0.0)])]
CORNERS_M = [(40.0, 0.0), (40.0, 40.0), (0.0, 40.0), (0.0, 0.0)]
"""The gates of a lap."""


def straight(goals_m, roads=LANE, **options):
    """A batch of one car at 10 m/s along x, with the first goal at 10 m and further ones at these x."""
    scene = stage([driver(0.0, speed_mps=10.0, goal_m=(10.0, 0.0))], roads)
    return batch_of(listed(scene, {0: [(x_m, 0.0) for x_m in goals_m]}),
                    **{**NEXT, "goal_radius_m": 2.5, **options})


def coast(batch, steps):
    """(steps,) each: the x of the first agent's goal after every step, and whether it reached a goal in it."""
    found = []
    for _ in range(steps):
        batch.step(np.full(batch.num_agents, COAST_ACTION))
        found.append((batch.trial_state()["goal_m"][0, 0], batch.step_events()["goal"][0]))
    return np.array(found).T


def visit(batch, poses):
    """Puts the only agent of a batch with the vehicle model "state" at each (x_m, y_m, heading_rad), at rest."""
    for x_m, y_m, heading_rad in poses:
        batch.step(np.array([[x_m / 65536, y_m / 65536, heading_rad / 4, 0.0]], np.float32))
        yield


def placed(scene, **options):
    return batch_of(scene, **{**NEXT, "action_type": "continuous", "dynamics": "state", **options})


# ---- lists ----


@pytest.mark.parametrize("roads", [[], LANE])
def test_goals_follow_in_the_order_of_the_list_and_its_last_one_ends_the_agent(roads):
    """With and without lanes. The car comes within 2.5 m of goals at 10, 20, 60 and 70 m."""
    batch = straight([20.0, 60.0, 70.0], roads)
    goal_m, reached = coast(batch, 68)
    assert (np.flatnonzero(reached) + 1).tolist() == [8, 18, 58, 68]
    assert goal_m[[0, 7, 16, 17, 57, 67]].tolist() == [10, 20, 20, 60, 70, 70]
    assert batch.removed[0] and batch.outcome[0] == 1 and batch.terminations[0] and batch.trial_ended[0]
    report = batch.metrics()
    assert [report[name].value for name in ("score", "goal", "goals")] == [1, 1, 4]


def test_a_part_of_a_list_makes_no_score():
    batch = straight([20.0, 60.0], trial_steps=50)
    coast(batch, 50)
    report = batch.metrics()
    assert [report[name].value for name in ("score", "goal", "goals", "timeout")] == [0, 1, 2, 1]


def test_an_infraction_before_the_last_goal_of_a_list_makes_no_score():
    batch = straight([20.0, 60.0], [*LANE, ("edge", [(30.0, -5.0), (30.0, 5.0)])])
    coast(batch, 58)
    report = batch.metrics()
    assert [report[name].value for name in ("score", "goals", "offroad")] == [0, 3, 1]


@pytest.mark.parametrize(("max_goals", "reached"), [(2, [8, 18]), (3, [8, 18, 58]), (9, [8, 18, 58])])
def test_an_agent_has_no_more_goals_than_the_config_allows(max_goals, reached):
    batch = straight([20.0, 60.0], max_goals=max_goals)
    _, onsets = coast(batch, reached[-1])
    assert (np.flatnonzero(onsets) + 1).tolist() == reached and batch.terminations[0]
    assert batch.metrics()["score"].value == 1


def test_the_list_begins_again_in_every_trial():
    batch = straight([20.0, 60.0], max_trials=3, trial_steps=30)
    goal_m, reached = coast(batch, 3 * 31 - 1)
    assert (np.flatnonzero(reached) + 1).tolist() == [8, 18, 39, 49, 70, 80]
    assert goal_m[30] == goal_m[61] == 10.0 and batch.trial_ended[0]


def test_a_list_that_repeats_gives_laps_until_the_trial_ends():
    """The agent's own goal follows the last one of its list. A score needs only the first goal: none is the last."""
    scene = listed(stage([driver(20.0, 0.0, goal_m=CORNERS_M[0])], []), {0: CORNERS_M[1:]}, repeating=[0])
    batch, goals_m = placed(scene, trial_steps=14), []
    for _ in visit(batch, [(*CORNERS_M[step % 4], 0.0) for step in range(14)]):
        goals_m.append(tuple(batch.trial_state()["goal_m"][0].tolist()))
        assert batch.step_events()["goal"][0]
    assert goals_m == [CORNERS_M[(step + 1) % 4] for step in range(14)]
    assert batch.truncations[0] and batch.trial_state()["goals_reached"][0] == 14
    report = batch.metrics()
    assert [report[name].value for name in ("score", "goals")] == [1, 14]


def test_laps_of_a_limited_number_of_goals_have_an_end():
    scene = listed(stage([driver(20.0, 0.0, goal_m=CORNERS_M[0])], []), {0: CORNERS_M[1:]}, repeating=[0])
    batch = placed(scene, max_goals=8)
    for step, _ in enumerate(visit(batch, [(*CORNERS_M[step % 4], 0.0) for step in range(8)]), 1):
        assert batch.terminations[0] == (step == 8)
    assert [batch.metrics()[name].value for name in ("score", "goals")] == [1, 8]


def test_goals_of_a_list_are_reached_in_their_order_only():
    scene = listed(stage([driver(20.0, 0.0, goal_m=CORNERS_M[0])], []), {0: CORNERS_M[1:]})
    batch, found = placed(scene), []
    for _ in visit(batch, [(*CORNERS_M[corner], 0.0) for corner in (2, 1, 0, 2, 3, 1, 2, 0, 3)]):
        found.append(bool(batch.step_events()["goal"][0]))
    assert found == [False, False, True, False, False, True, True, False, True]


def test_lists_belong_to_objects_whatever_their_roles():
    """Of three objects, 1 and 2 are agents 0 and 1. Object 0, which is no agent, has a list, too."""
    cars = [driver(0.0, 20.0 * i, goal_m=(10.0, 20.0 * i), id=i) for i in range(3)]
    scene = listed(stage(cars, []), {0: [(1.0, 1.0)], 1: [(2.0, 2.0), (3.0, 3.0)], 2: [(4.0, 4.0)]}, repeating=[0, 2])
    batch = batch_of(scene, control=(1, 2), goal_radius_m=0.5, **NEXT)
    lists = batch.roles[0].goal_lists
    assert lists.start.tolist() == [0, 2, 4] and lists.repeats.tolist() == [False, True]
    assert lists.goal_m.tolist() == [[2, 2], [3, 3], [4, 4], [10, 40]]
    assert [listed_goal(lists, 1, number) for number in range(5)] == [-1, 2, 3, 2, 3]
    assert [listed_goal(lists, 0, number) for number in range(5)] == [-1, 0, 1, 1, 1]


def test_an_agent_without_a_list_drives_as_if_no_other_had_one():
    """Two cars on parallel lanes, of which the other one has a list: goals along the lanes stay, bit for bit."""
    lanes = [[(0.0, y_m), (200.0, y_m)] for y_m in (0.0, 300.0)]
    scene = stage([driver(0.0, y_m, speed_mps=10.0, goal_m=(10.0, y_m)) for y_m in (0.0, 300.0)],
                  [("lane", lane) for lane in lanes])
    arrays = []
    for each in (scene, listed(scene, {1: [(20.0, 300.0), (30.0, 300.0)]})):
        batch, seen = batch_of(each, **NEXT, goal_spacing_m=25.0, observation={"goals": 3}), []
        for _ in play_randomly(batch, 100):
            seen.append((batch.observations[0].copy(), batch.rewards[0], batch.trial_state()["goal_m"][0]))
        arrays.append([np.array(values) for values in zip(*seen)])
    assert all((one == other).all() for one, other in zip(*arrays))


@pytest.mark.parametrize("on_goal", ["ignore", "stop", "remove", "respawn"])
def test_lists_have_no_effect_on_other_responses(on_goal):
    scene = generate_scene("town", seed=1, agents=6)
    own_m = scene.objects.goal_m
    arrays = []
    for each in (scene, listed(scene, {item: [own_m[item - 1]] for item in range(6)}, repeating=[1])):
        with Batch([each], config=DriveConfig(**IGNORE_ALL | {"on_goal": on_goal}, goal_radius_m=40.0)) as batch:
            batch.reset()
            arrays.append(np.array([(batch.observations.copy(), batch.rewards[:, None] + 0 * batch.observations)
                                    for _ in play_randomly(batch, 60)]))
    assert (arrays[0] == arrays[1]).all() and arrays[0][:, 1].any()


def test_a_scene_has_candidate_goals_or_lists():
    scene = listed(stage([driver()], []), {0: [(1.0, 1.0)]})
    with pytest.raises(SceneError, match="it has 1 candidate goals and 1 goals in lists; it must have only one"):
        batch_of(replace(scene, candidate_goals_m=np.zeros((1, 2), np.float32)))


def test_a_goal_of_a_list_is_reached_on_its_own_level_only():
    cars = [driver(-20.0, 0.0, 0.0, SPEED_MPS, goal_m=(-10.0, 0.0))]
    for listed_z_m, reached in ((0.75, 2), (6.75, 1)):  # half the height of the car above a road
        lists = GoalLists(np.zeros(1, np.int32), np.zeros((1, 2), np.float32), np.float32([listed_z_m]))
        batch = batch_of(replace(overpass(6.0, cars, on_bridge=(False,)), goal_lists=lists), **NEXT,
                         goal_radius_m=2.5, trial_steps=18)
        for _ in range(18):
            batch.step([COAST_ACTION])
        assert batch.trial_state()["goals_reached"][0] == reached


# ---- what shows them ----


def observed(batch):
    """(goals, 4): x_m and y_m in the scene's frame and the direction there, of the only agent, which has heading 0."""
    layout, vehicle = batch.observation_layout(), batch.vehicles()
    found = np.stack([batch.observations[0, layout[f"goals/{name}"].slice] / layout[f"goals/{name}"].scale
                      for name in ("x", "y", "direction_x", "direction_y", "kind")], axis=1)
    found = found[found[:, 4] > 0, :4]
    found[:, :2] += [vehicle["x_m"][0], vehicle["y_m"][0]]
    return found


def test_observed_goals_are_those_of_the_list_with_their_directions():
    """That of its heading, of the lane under it, or none. A goal with a heading of its own ignores the lane."""
    scene = stage([driver(0.0, speed_mps=10.0, goal_m=(10.0, 0.0))],
                  [*LANE, ("lane", [(30.0, 30.0), (30.0, 60.0)])])
    lists = {0: [(20.0, 0.0), (31.0, 40.0), (70.0, 70.0), (50.0, 0.0)]}
    batch = batch_of(listed(scene, lists, {0: [np.pi / 2, np.nan, np.nan, np.pi]}), **NEXT, observation={"goals": 6})
    expected = np.array([(10, 0, 1, 0), (20, 0, 0, 1), (31, 40, 0, 1), (70, 70, 0, 0), (50, 0, -1, 0)])
    assert observed(batch) == pytest.approx(expected, abs=1e-3)
    coast(batch, 15)
    assert observed(batch) == pytest.approx(expected[1:], abs=1e-3)


def test_a_list_that_repeats_fills_every_slot():
    scene = listed(stage([driver(20.0, 0.0, goal_m=CORNERS_M[0])], []), {0: CORNERS_M[1:]}, repeating=[0])
    assert observed(batch_of(scene, **NEXT, observation={"goals": 7}))[:, :2] == pytest.approx(
        np.array([CORNERS_M[i % 4] for i in range(7)]), abs=1e-3)
    assert len(observed(batch_of(scene, **NEXT, max_goals=6, observation={"goals": 7}))) == 6


def test_progress_is_the_mean_of_the_shares_of_all_goals_of_a_list():
    """Goals at 10, 30 and 110 m, reached 2.5 m before. The trial ends at 69 m, halfway from 28 m to the last goal."""
    batch = straight([30.0, 110.0], trial_steps=69, detailed_metrics=True)
    coast(batch, 69)
    report, way_m = batch.metrics(), 110.0 - 28.0  # it is at 28 m when it gets the last goal
    expected = (2 + (69.0 - 28.0) / way_m) / 3
    assert report["progress"].value == pytest.approx(expected, rel=1e-4)
    assert report["max_progress"].value == pytest.approx(expected, rel=1e-4)
    assert report["goals_per_km"].value == pytest.approx(2 / 0.069, rel=1e-4)
    assert report["time_per_goal_s"].value == pytest.approx(6.9 / 2, rel=1e-5)
    batch = straight([30.0], trial_steps=69, detailed_metrics=True)
    coast(batch, 28)
    assert batch.metrics()["progress"].value == 1


def brute_lane(scene, at_m):
    """The lane nearest to a point within 5 m, and the length along it there, in float64; (-1, 0) without one."""
    best = (5.0, -1, 0.0)
    for road in np.flatnonzero(scene.roads.kind == 1):
        part = slice(scene.roads.start[road], scene.roads.start[road + 1])
        points = np.stack([scene.roads.x_m[part], scene.roads.y_m[part]], 1).astype(float)
        arc_m = 0.0
        for one, other in zip(points, points[1:]):
            step, length_m = other - one, np.hypot(*(other - one))
            share = np.clip((at_m - one) @ step / length_m**2, 0, 1) if length_m else 0.0
            away_m = np.hypot(*(at_m - one - share * step))
            if away_m < best[0] - 1e-4:
                best = (away_m, int(road), arc_m + share * length_m)
            arc_m += length_m
    return best[1:]


def test_the_lane_of_a_goal_is_the_nearest_of_the_map():
    """Of 40 points in a town. An agent's own goal has its lane at the start, a listed goal when it becomes current."""
    scene = generate_scene("town", seed=3, agents=40)
    rng = np.random.default_rng(0)
    points = np.stack([scene.roads.x_m, scene.roads.y_m], 1)
    at_m = (points[rng.integers(0, len(points), 40)] + rng.uniform(-7, 7, (40, 2))).astype(np.float32)
    first = changed(scene, goal_m=at_m)
    start_m = np.stack([scene.objects.x_m[0], scene.objects.y_m[0]], 1)
    start_m += np.stack([scene.objects.vx_mps[0], scene.objects.vy_mps[0]], 1)
    second = listed(changed(scene, goal_m=start_m.astype(np.float32)), {item: [at_m[item]] for item in range(40)})
    found = []
    for each, radius_m in ((first, 2.0), (second, 100.0)):
        batch = batch_of(each, **NEXT, control="all", goal_radius_m=radius_m)
        if radius_m == 100.0:  # leave the first goal, which is near the start
            batch._core.state["in_goal_since_start"][:] = 0
            batch.step(np.full(40, COAST_ACTION))
        state = batch._core.state
        found.append((state["goal_lane"][0].copy(), state["goal_along_m"][0].copy()))
        assert batch.trial_state()["goal_m"] == pytest.approx(at_m)
    assert all((one == other).all() for one, other in zip(*found))
    expected = np.array([brute_lane(scene, point.astype(float)) for point in at_m])
    assert (found[0][0] == -1).any() and (found[0][0] >= 0).sum() > 20
    sure = np.abs(found[0][1] - expected[:, 1]) < 1e-2
    assert ((found[0][0] == expected[:, 0]) & sure).sum() >= 38  # where lanes overlap, rounding decides


def test_the_core_lists_the_upcoming_goals():
    """As many as there are: those of a list, of which one repeats, and those that follow along a lane."""
    along, beside = [(x_m, 0.0) for x_m in (20.0, 60.0)], [(5.0, 30.0)]
    cars = [driver(0.0, goal_m=(10.0, 0.0)), driver(0.0, 30.0, goal_m=(9.0, 30.0)), driver(-15.0, goal_m=(-10.0, 0.0))]
    scene = listed(stage(cars, LANE), {0: along, 1: beside}, repeating=[1])
    with batch_of(scene, **NEXT, goal_spacing_m=50.0) as batch:
        goals_m, counts = batch._core.goals(0, 4)
        assert counts.tolist() == [3, 4, 4] and np.isnan(goals_m[0, :3, 2]).all()
        assert goals_m[0, :3, :2].tolist() == [[10.0, 0.0], [20.0, 0.0], [60.0, 0.0]]
        assert goals_m[1, :, 0].tolist() == [9.0, 5.0, 9.0, 5.0]
        assert goals_m[2, :, 0] == pytest.approx([-10.0, 40.0, 90.0, 140.0], abs=1e-4)
        assert batch._core.goals(0, 1)[1].tolist() == [1, 1, 1] and "next_goals_m" not in batch.trial_state()
        with pytest.raises(CallError, match="world is 1 and capacity 4; they must be 0 to 0, and at least 0"):
            batch._core.goals(1, 4)
    with batch_of(scene, **NEXT, goal_spacing_m=50.0, observation={"goals": 4}) as batch:
        next_m = batch.trial_state()["next_goals_m"]
        assert next_m.shape == (3, 3, 2) and np.isnan(next_m[0, 2]).all()
        assert (next_m[1] == goals_m[1, 1:, :2]).all() and (next_m[0, :2] == goals_m[0, 1:3, :2]).all()
    batch = straight([20.0, 60.0, 70.0])
    announced_m = batch._core.goals(0, 9)[0][0, :, 0].tolist()
    goal_m, _ = coast(batch, 60)
    assert announced_m[:4] == [10.0, 20.0, 60.0, 70.0] == sorted({10.0, *goal_m.tolist()})


# ---- headings ----


def pose_of(goal_heading_rad, roads=LANE, **options):
    """A batch with one agent whose goal, a parking place at (10, 0), has a heading."""
    scene = changed(stage([driver(0.0, goal_m=(10.0, 0.0))], roads), goal_heading_rad=np.float32([goal_heading_rad]))
    return placed(scene, **{"goal_heading_tolerance_rad": 0.15, "observation": {"goals": 1}, "on_goal": "ignore",
                            **options})


@pytest.mark.parametrize("roads", [[], LANE])
@pytest.mark.parametrize("goal_heading_rad", [np.pi / 2, -2.0, 3.1, 0.0])
def test_a_goal_is_reached_with_its_own_heading_whatever_the_lane_there(goal_heading_rad, roads):
    for error_rad, reached in ((0.14, True), (-0.14, True), (0.16, False), (-0.16, False), (np.pi, False)):
        batch = pose_of(goal_heading_rad, roads)
        heading_rad = np.remainder(goal_heading_rad + error_rad + np.pi, 2 * np.pi) - np.pi
        next(visit(batch, [(10.0, 0.0, heading_rad)]))
        assert batch.step_events()["goal"][0] == reached
        assert batch.trial_state()["goal_heading_rad"][0] == pytest.approx(goal_heading_rad)


def test_a_goal_without_a_heading_has_that_of_its_lane():
    batch = pose_of(np.nan, [("lane", [(10.0, -20.0), (10.0, 20.0)])])
    assert batch.trial_state()["goal_heading_rad"][0] == pytest.approx(np.pi / 2)
    found = [bool(batch.step_events()["goal"][0]) for _ in visit(batch, [(10.0, 0.0, 0.0), (10.0, 0.0, np.pi / 2)])]
    assert found == [False, True]


def test_headings_have_no_effect_without_a_tolerance():
    batch = pose_of(1.0, goal_heading_tolerance_rad=None)
    next(visit(batch, [(10.0, 0.0, -2.0)]))
    assert batch.step_events()["goal"][0] and "goal_heading_rad" not in batch.trial_state()


def test_parking_needs_place_heading_and_rest_in_one_step():
    """Within 0.5 m, 0.15 rad and 0.3 m/s, as the scenes of parking lots need it."""
    batch = pose_of(np.pi / 2, goal_radius_m=0.5, goal_max_speed_mps=0.3, on_goal="remove")
    for pose in [(10.6, 0.0, np.pi / 2), (10.4, 0.0, np.pi / 2 + 0.2), (10.4, 0.0, np.pi / 2 + 0.1)]:
        assert not batch.removed[0]
        next(visit(batch, [pose]))
    assert batch.removed[0] and batch.terminations[0] and batch.metrics()["score"].value == 1


def test_each_goal_of_a_list_has_its_own_heading():
    headings_rad = [0.0, np.pi / 2, -3.0, -np.pi / 2]
    scene = listed(stage([driver(20.0, 0.0, goal_m=CORNERS_M[0])], []), {0: CORNERS_M[1:]}, {0: headings_rad[1:]}, [0])
    scene = changed(scene, goal_heading_rad=np.float32([headings_rad[0]]))
    batch = placed(scene, goal_heading_tolerance_rad=0.1, observation={"goals": 2})
    for step in range(9):
        corner = step % 4
        assert batch.trial_state()["goal_heading_rad"][0] == pytest.approx(headings_rad[corner], abs=1e-6)
        wrong, right = headings_rad[(corner + 1) % 4], headings_rad[corner]
        found = [bool(batch.step_events()["goal"][0]) for _ in visit(
            batch, [(*CORNERS_M[corner], wrong), (*CORNERS_M[corner], right)])]
        assert found == [False, True]


@pytest.mark.parametrize("max_goals", [1, 2, 3, None])
def test_an_agent_that_has_finished_keeps_the_heading_of_its_last_goal(max_goals):
    headings_rad = [0.1, 0.2, 0.3]
    scene = listed(stage([driver(20.0, 0.0, goal_m=CORNERS_M[0])], []), {0: CORNERS_M[1:3]}, {0: headings_rad[1:]})
    batch = placed(changed(scene, goal_heading_rad=np.float32(headings_rad[:1])), max_goals=max_goals,
                   goal_heading_tolerance_rad=0.5, observation={"goals": 1})
    last = (max_goals or 3) - 1
    for _ in visit(batch, [(*corner_m, 0.0) for corner_m in CORNERS_M[: last + 1]]):
        pass
    assert batch.removed[0] and tuple(batch.trial_state()["goal_m"][0]) == CORNERS_M[last]
    assert batch.trial_state()["goal_heading_rad"][0] == pytest.approx(headings_rad[last])


def test_an_agent_that_respawns_has_the_heading_of_the_goal_of_its_start():
    cars = [driver(0.0, 40.0 * i, speed_mps=10.0, goal_m=(10.0, 40.0 * i)) for i in range(4)]
    scene = changed(stage(cars, []), goal_heading_rad=np.float32([0.0, 0.01, 0.02, 0.03]))
    batch = batch_of(scene, on_goal="respawn", on_collision="ignore", goal_heading_tolerance_rad=0.1,
                     observation={"goals": 1})
    seen = set()
    for _ in range(60):
        batch.step(np.full(4, COAST_ACTION))
        state = batch.trial_state()
        assert state["goal_heading_rad"] == pytest.approx(0.01 * state["start_of"])
        seen |= set(state["start_of"][state["respawns"] > 0].tolist())
    assert len(seen) > 1


def test_a_drawn_candidate_has_no_heading_of_its_own():
    scene = changed(stage([driver(0.0, goal_m=(10.0, 0.0))], LANE), goal_heading_rad=np.float32([1.0]))
    scene = replace(scene, candidate_goals_m=np.float32([[20.0, 0.0]]))
    batch = batch_of(scene, **IGNORE_ALL, goal_heading_tolerance_rad=0.1, observation={"goals": 1})
    assert batch.trial_state()["goal_heading_rad"][0] == 0.0 and observed(batch)[0, 2:] == pytest.approx([1.0, 0.0])


# ---- copies ----


def test_a_restored_state_and_a_pickled_scene_play_on_bit_for_bit():
    cars = [driver(0.0, 20.0 * i, speed_mps=10.0, goal_m=(10.0, 20.0 * i)) for i in range(4)]
    scene = listed(stage(cars, LANE), {item: [(20.0, 20.0 * item), (35.0, 20.0 * item)] for item in range(4)},
                   {item: [0.2, np.nan] for item in range(4)}, repeating=[0, 3])
    config = {**NEXT, "goal_radius_m": 5.0, "goal_heading_tolerance_rad": 1.5, "observation": {"goals": 3}}
    batch, twin = batch_of(scene, **config), batch_of(pickle.loads(pickle.dumps(scene)), **config)
    coast(batch, 10)
    assert batch.trial_state()["goals_reached"].any()
    twin.load_state_dict(batch.state_dict())
    for _ in zip(play_randomly(batch, 60, seed=1), play_randomly(twin, 60, seed=1), strict=True):
        assert (batch.observations == twin.observations).all() and (batch.rewards == twin.rewards).all()


def test_a_state_of_another_list_is_refused():
    batch, other = straight([20.0, 60.0]), straight([20.0, 61.0])
    with pytest.raises(CallError, match=r"state\['scenes'\] is the hash of other scenes"):
        other.load_state_dict(batch.state_dict())


def test_any_number_of_reached_goals_in_a_state_is_safe():
    """Beyond the end of the list, the goal is the last one."""
    batch = straight([20.0, 60.0], goal_heading_tolerance_rad=1.0, observation={"goals": 3})
    state = batch.state_dict()
    state["state/goals_reached"][:] = 10_000
    batch.load_state_dict(state)
    _, reached = coast(batch, 8)
    assert reached[7] and batch.removed[0]
