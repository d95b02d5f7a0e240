"""Are the lines of scripts and the candidate goals in a picture, where they are and in the right state?"""

import dataclasses

import numpy as np
import pytest

REASON = 'drawing needs the extra: pip install "drive-env[render]"'
for package in ("cv2", "PIL"):
    pytest.importorskip(package, reason=REASON)

from bare_scene import bare_scene, drive, started
from pixels import blobs, of_colour, places
from views import BAR_PX, SIZE

from drive_env import Batch
from drive_env.render import SceneView, colours
from drive_env.scenes import Scripts

CANDIDATES_M = np.array([(30.0, 20.0), (30.0, 0.0), (30.0, -20.0)], np.float32)


def scripted(option=0):
    """A car at 10 m/s, a line 1.5 m ahead of it, and a vehicle whose log waits for a crossing."""
    start, waits = (0.0, 0.0, 0.0), (20.0, 15.0, 0.0)
    scene = bare_scene([start, waits, waits], goals=[(30.0, 0.0), waits[:2], waits[:2]], speeds=[10.0, 0.0, 0.0],
                       logs=[[start] + [None] * 9, [waits] * 10, [waits] * 10])
    scripts = np.array([[1, 2], [0, 1], [option, 0]], np.int32)[:, : 1 + option]
    line_m = np.array([[1.5, 6.0, 1.5, -6.0], [9.0, 99.0, 9.0, 98.0]], np.float32)[: 1 + option]
    return dataclasses.replace(scene, scripts=Scripts(*scripts, line_m))


def drawn(picture):
    """Pixels of scripts and candidates, without those of the panel."""
    mask = of_colour(picture, colours.SCRIPT)
    mask[: BAR_PX.top] = mask[-BAR_PX.bottom :] = False
    return mask


def pixels_across(mask):
    """Extent of a mask along x and y."""
    return np.ptp(places(mask), axis=0)


def test_a_line_is_dashed_until_an_agent_has_crossed_it():
    """A car at 10 m/s crosses the line at 1.5 m in its second step; the log runs from the third one on."""
    parts = []
    with started(scripted()) as batch:
        look = SceneView(batch, size=SIZE)
        for _ in range(4):
            mask = drawn(look.frame())
            width, height = pixels_across(mask)
            assert height > 10 * width  # a line across the road
            parts.append(len(blobs(mask)))
            drive(batch)
    assert min(parts[:3]) > 8 and parts[3] == 2  # under the car there is none


def test_the_line_of_an_option_that_is_not_drawn_is_not_in_the_picture():
    seen = set()
    with Batch(scripted(option=1), num_worlds=12) as batch:
        batch.reset()
        for world in range(12):
            exists = bool(batch.trial_state(world)["script_frame"][0] == 0)
            assert drawn(SceneView(batch, world, size=SIZE).frame()).any() == exists
            seen.add(exists)
    assert seen == {True, False}


def test_each_candidate_goal_has_a_dashed_circle():
    """The ring of the goal, one of them, covers the circle of that one."""
    scene = dataclasses.replace(bare_scene([(0.0, 0.0, 0.0)], goals=[(30.0, 0.0)]), candidate_goals_m=CANDIDATES_M)
    with started(scene, observation={"candidates": 3}, goal_radius_m=4.0) as batch:
        found = places(drawn(SceneView(batch, size=SIZE).frame()))
        goal_m = batch.trial_state()["goal_m"][0]
    others_m = CANDIDATES_M[(CANDIDATES_M != goal_m).any(axis=1)]
    assert len(others_m) == 2

    # north is up: the split of the rows between the two circles
    others_m = others_m[np.argsort(-others_m[:, 1])]
    gap = found[:, 1].min() + np.ptp(found[:, 1]) / 2
    circles = found[found[:, 1] < gap], found[found[:, 1] > gap]
    middles = [(circle.min(axis=0) + circle.max(axis=0)) / 2 for circle in circles]
    pixels_per_m = (middles[1][1] - middles[0][1]) / (others_m[0, 1] - others_m[1, 1])
    for circle, middle in zip(circles, middles):
        radius_px = np.hypot(*(circle - middle).T)
        assert radius_px == pytest.approx(4.0 * pixels_per_m, abs=2.5)
        turns = np.diff(np.sort(np.arctan2(*(circle - middle).T)))
        assert (turns * radius_px.mean() > 2.5).sum() > 5  # gaps
