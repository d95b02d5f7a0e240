"""Is an observation decoded as what is there, and does the follow view show exactly that?"""

import dataclasses

import numpy as np
import pytest

REASON = 'drawing needs the extra: pip install "drive-env[render]"'
for package in ("cv2", "PIL"):
    pytest.importorskip(package, reason=REASON)

from bare_scene import bare_scene, drive, started
from pixels import of_colour
from staged_controls import STOP, controls_of

from drive_env import Batch, DriveConfig, generate_scene
from drive_env.render import SceneView, colours, overlay
from drive_env.render.observation import decode_observation, to_scene_frame
from drive_env.render.panel import panel_sizes

SIZE = (900, 900)
SPAN_M = 90.0


def observation_of(batch, agent):
    return decode_observation(batch.observations[agent], batch.observation_layout())


def pose_of(batch, agent):
    cars = batch.vehicles()
    return tuple(float(cars[name][agent]) for name in ("x_m", "y_m", "heading_rad"))


def test_partners_are_the_nearest_vehicles_where_they_are():
    with started(generate_scene("town", agents=20), observation={"partners": 5}) as batch:
        drive(batch, 20)
        cars = batch.vehicles()
        xy = np.stack([cars["x_m"], cars["y_m"]], axis=1)
        for agent in np.flatnonzero(~batch.removed):
            observation = observation_of(batch, agent)
            away = np.where(cars["present"], np.hypot(*(xy - xy[agent]).T), np.inf)
            away[agent] = np.inf
            nearest = np.sort(np.argsort(away)[:5])
            nearest = nearest[away[nearest] <= batch.config.observation.view_radius_m]
            pose, partners = pose_of(batch, agent), observation.partners
            found = to_scene_frame(np.stack([partners["x"], partners["y"]], axis=1), pose)
            assert np.allclose(found, xy[nearest], atol=0.01)
            turn = np.arctan2(partners["direction_y"], partners["direction_x"])
            assert np.allclose(np.cos(pose[2] + turn - cars["heading_rad"][nearest]), 1.0, atol=1e-4)
            for name, unit in (("length", "m"), ("width", "m"), ("speed", "mps")):
                assert np.allclose(partners[name], cars[f"{name}_{unit}"][nearest], atol=0.01)


def test_the_goal_is_read_also_where_it_is_far():
    goals = [(250.0, -20.0), (30.0, 40.0)]
    with started(bare_scene([(0.0, 0.0, 1.0), (0.0, 8.0, -2.0)], goals=goals)) as batch:
        for agent, goal in enumerate(goals):
            found = to_scene_frame(observation_of(batch, agent).goal_m, pose_of(batch, agent))
            assert found == pytest.approx(goal, abs=0.02)


def test_segments_lie_on_the_map():
    line = [(-40.0, 6.0), (0.0, 6.0), (40.0, -14.0)]
    with started(bare_scene([(0.0, 0.0, 0.3)], goals=[(60.0, 0.0)], roads=[("edge", line)])) as batch:
        roads = observation_of(batch, 0).roads
        middle = np.stack([roads["x"], roads["y"]], axis=1)
        half = np.stack([roads["direction_x"], roads["direction_y"]], axis=1) * roads["half_length"][:, None]
        ends = to_scene_frame(np.stack([middle - half, middle + half], axis=1), pose_of(batch, 0))
    for x, y in ends.reshape(-1, 2):
        assert y == pytest.approx(6.0 if x <= 0 else 6.0 - x / 2, abs=0.02)
    assert 2 * roads["half_length"].sum() == pytest.approx(40.0 + np.hypot(40.0, 20.0), abs=0.05)
    assert set(roads["kind"].round()) == {3.0}


def test_the_follow_view_writes_disturbances_that_are_on_and_hidden_values(monkeypatch):
    """The lines of the text are those that the canvas is asked to draw."""
    written = []
    draw = overlay.Canvas.text
    monkeypatch.setattr(overlay.Canvas, "text", lambda canvas, x, y, text, *more, **named: (
        written.append(text), draw(canvas, x, y, text, *more, **named))[1])
    disturbances = {"partner_blindness": 1.0, "trigger_probability": 0.2, "duration_s": 0.3}
    with started(generate_scene("town", agents=6), disturbances=disturbances,
                 hidden={"throttle_gain": (0.5, 1.5)}) as batch:
        seen = set()
        for _ in range(30):
            for agent in range(6):
                written.clear()
                SceneView(batch, size=(400, 400), view="follow", agent=agent).frame()
                is_blind = bool(batch._core.state["blind_steps"][0, agent])
                assert ("partner_blindness is on" in written) == is_blind
                assert f"throttle_gain {batch.hidden['throttle_gain'][agent]:.2f}, hidden" in written
                seen.add(is_blind)
            drive(batch)
    assert seen == {True, False}


def test_a_removed_agent_observes_nothing():
    scene = bare_scene([(0.0, 0.0, 0.0), (0.0, 8.0, 0.0)], goals=[(4.0, 0.0), (90.0, 8.0)], speeds=[9.0, 0.0])
    with started(scene, trial_steps=20) as batch:
        drive(batch, 5)
        assert batch.removed.tolist() == [True, False]
        observation = observation_of(batch, 0)
        assert not observation.present and not any(map(len, observation.slots.values()))
        picture = SceneView(batch, size=SIZE, view="follow", agent=0).frame()
        assert observed(picture).sum() == 0


# ---- the picture ----


def observed(picture):
    """Pixels of observed vehicles and road segments."""
    return of_colour(picture, colours.OBSERVED, tolerance=8) | of_colour(picture, colours.OBSERVED_ROAD, tolerance=8)


def place_of(point, pose):
    """Where the follow view shows a point: the agent 62% down between the bars, its heading up."""
    bars = panel_sizes(*SIZE)
    free = SIZE[1] - bars.top - bars.bottom
    cosine, sine = np.cos(pose[2]), np.sin(pose[2])
    dx, dy = point[0] - pose[0], point[1] - pose[1]
    ahead, left = dx * cosine + dy * sine, dy * cosine - dx * sine
    scale = free / SPAN_M
    return SIZE[0] / 2 - left * scale, bars.top + 0.62 * free - ahead * scale


def near(mask, place, reach):
    x, y = (round(value) for value in place)
    return bool(mask[max(y - reach, 0) : y + reach + 1, max(x - reach, 0) : x + reach + 1].any())


@pytest.mark.parametrize("agent, expected", [(0, {1, 2, 3}), (5, {0, 1, 3})])
def test_the_follow_view_frames_exactly_the_partners_that_are_observed(agent, expected):
    poses = [(0.0, 0.0, 0.8), (9.0, 3.0, 0.0), (-9.0, 6.0, 2.0), (16.0, -12.0, 1.0), (-20.0, -14.0, 0.4),
             (26.0, 14.0, 3.0)]
    with started(bare_scene(poses, goals=[(-40.0, 40.0)] * 6), observation={"partners": 3}) as batch:
        picture = SceneView(batch, size=SIZE, view="follow", agent=agent, span_m=SPAN_M).frame()
        away = [np.hypot(x - poses[agent][0], y - poses[agent][1]) for x, y, _ in poses]
        assert {int(car) for car in np.argsort(away)[1:4]} == expected
        mask = of_colour(picture, colours.OBSERVED, tolerance=8)
        others = set(range(6)) - {agent}
        assert {car for car in others if near(mask, place_of(poses[car][:2], poses[agent]), 24)} == expected


def test_the_follow_view_draws_exactly_the_segments_that_are_observed():
    middles = [(8.0, 10.0), (-8.0, 10.0), (20.0, -4.0), (-26.0, -6.0), (4.0, -24.0), (30.0, 14.0),
               (-4.0, 34.0)]
    roads = [("line", [(x - 2.0, y), (x + 2.0, y)]) for x, y in middles]
    with started(bare_scene([(0.0, 0.0, 2.5)], goals=[(0.0, -45.0)], roads=roads), observation={"roads": 4}) as batch:
        picture = SceneView(batch, size=SIZE, view="follow", span_m=SPAN_M).frame()
    expected = {int(road) for road in np.argsort([np.hypot(*middle) for middle in middles])[:4]}
    mask = of_colour(picture, colours.OBSERVED_ROAD, tolerance=8)
    drawn = {road for road, middle in enumerate(middles) if near(mask, place_of(middle, (0.0, 0.0, 2.5)), 3)}
    assert drawn == expected


def test_the_follow_view_frames_exactly_the_lights_and_signs_that_are_observed():
    lines_m = [(12.0, 8.0, 12.0, 4.0), (-20.0, 10.0, -16.0, 10.0), (24.0, -14.0, 24.0, -18.0)]
    scene = bare_scene([(0.0, 0.0, 0.6)], goals=[(-40.0, 40.0)], roads=[("lane", [(-30.0, 0.0), (30.0, 0.0)])])
    scene = dataclasses.replace(scene, traffic_controls=controls_of(
        [STOP] * 3, lines_m, [[0] * 3] * scene.objects.frame_count, lanes=[0] * 3))
    with started(scene, traffic_controls=True, observation={"controls": 2, "partners": 0}) as batch:
        picture = SceneView(batch, size=SIZE, view="follow", span_m=SPAN_M).frame()
        count = len(observation_of(batch, 0).slots["controls"])
    mask = of_colour(picture, colours.OBSERVED, tolerance=8)
    middles = [((left_x + right_x) / 2, (left_y + right_y) / 2) for left_x, left_y, right_x, right_y in lines_m]
    framed = {index for index, middle in enumerate(middles) if near(mask, place_of(middle, (0.0, 0.0, 0.6)), 16)}
    assert count == 2 and framed == {0, 1}


def test_the_follow_view_rings_the_observed_candidate_goals_and_no_hidden_goal():
    candidates = [(20.0, 14.0), (30.0, -12.0), (-12.0, -16.0)]
    scene = dataclasses.replace(bare_scene([(0.0, 0.0, 0.6)]), candidate_goals_m=np.array(candidates, np.float32))
    for reveal_s, lines in ((0.0, 0), (None, 1)):
        with started(scene, observation={"candidates": 3, "goal_reveal_s": reveal_s}, goal_radius_m=3.0) as batch:
            picture = SceneView(batch, size=SIZE, view="follow", span_m=SPAN_M).frame()
            goal = batch.trial_state()["goal_m"][0]
        mask = of_colour(picture, colours.OBSERVED, tolerance=40)
        assert all(near(mask, place_of((x + 3.0, y), (0.0, 0.0, 0.6)), 2) for x, y in candidates)
        # The straight line to the goal, halfway.
        assert near(mask, place_of(goal / 2, (0.0, 0.0, 0.6)), 3) == lines


def test_the_follow_view_rings_the_goals_that_follow_the_current_one():
    scene = bare_scene([(0.0, 0.0, 0.0)], goals=[(10.0, 0.0)], roads=[("lane", [(0.0, 0.0), (90.0, 0.0)])])
    config = {"on_goal": "next", "goal_spacing_m": 12.0, "goal_radius_m": 2.0, "observation": {"goals": 3, "roads": 0}}
    with started(scene, **config) as batch:
        mask = of_colour(SceneView(batch, size=SIZE, view="follow", span_m=SPAN_M).frame(), colours.OBSERVED, 40)
    for x_m, drawn in ((10.0, True), (22.0, True), (34.0, True), (46.0, False)):
        assert near(mask, place_of((x_m, 2.0), (0.0, 0.0, 0.0)), 2) == drawn


def test_the_speeds_of_partners_are_written():
    pictures = []
    for speed in (0.0, 7.0):
        scene = bare_scene([(0.0, 0.0, 0.0), (12.0, 3.0, 0.0)], goals=[(40.0, 0.0)] * 2, speeds=[5.0, speed])
        with started(scene) as batch:
            pictures.append(of_colour(SceneView(batch, size=SIZE, view="follow").frame(), colours.OBSERVED, 60))
    changed = np.argwhere(pictures[0] != pictures[1])
    x, y = place_of((12.0, 3.0), (0.0, 0.0, 0.0))
    assert len(changed) > 5 and np.abs(changed - [y, x]).max() < 60  # beside the car whose speed it is


def test_the_follow_view_is_of_its_world_and_agent():
    scenes = [generate_scene("town", seed=seed, agents=6) for seed in range(2)]
    with Batch(scenes, num_worlds=2, config=DriveConfig(scene_order="cycle"), threads=1) as both:
        both.reset()
        with started(scenes[1], trial_steps=None) as alone:
            for agent in (1, 4):
                pictures = [SceneView(batch, world=world, size=SIZE, view="follow", agent=agent).frame()
                            for batch, world in ((both, 1), (alone, 0))]
                below_bar = slice(panel_sizes(*SIZE).top, None)
                assert np.array_equal(pictures[0][below_bar], pictures[1][below_bar])


def test_the_follow_view_keeps_its_agent_in_place_and_turns_the_world():
    with started(bare_scene([(0.0, 0.0, 0.0)], goals=[(60.0, 0.0)], speeds=[10.0])) as batch:
        look, middles = SceneView(batch, size=SIZE, view="follow", span_m=SPAN_M), []
        for _ in range(6):
            mask = of_colour(look.frame(), colours.STATE_COLOURS[colours.DRIVING])[200:-60]
            middles.append(np.argwhere(mask).mean(axis=0))
            drive(batch, action=3 * 13 + 9)
    # The trail behind the car moves the mean a little.
    assert np.ptp(np.array(middles), axis=0).max() < 12


def test_an_agent_that_stopped_shows_its_last_observation():
    scene = bare_scene([(0.0, 0.0, 0.0), (9.0, 0.0, 0.0), (0.0, 9.0, 0.0)],
                       goals=[(90.0, 0.0), (90.0, 0.0), (90.0, 9.0)], speeds=[12.0, 0.0, 3.0])
    with started(scene) as batch:
        drive(batch, 6)
        assert batch.stopped.tolist() == [True, True, False]
        look = SceneView(batch, size=SIZE, view="follow", agent=0)
        mask = of_colour(look.frame(), colours.OBSERVED, tolerance=8)
        drive(batch, 4)
        later = of_colour(look.frame(), colours.OBSERVED, tolerance=8)
        # Its last observation stays in place, though agent 2 drives on.
        assert (mask & later).sum() > 0.8 * mask.sum() > 50
