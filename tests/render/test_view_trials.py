"""Do pictures follow trials, episodes and scenes?"""

from itertools import pairwise

import numpy as np
import pytest

REASON = 'drawing needs the extra: pip install "drive-env[render]"'
for package in ("cv2", "PIL"):
    pytest.importorskip(package, reason=REASON)

from bare_scene import bare_scene, drive, started
from pixels import of_colour
from views import BAR_PX, SIZE, crash

from drive_env import Batch, DriveConfig, generate_scene
from drive_env.render import SceneView, colours
from drive_env.render.canvas import Canvas


def test_a_restart_shows_the_first_picture_again_and_counts_the_trial():
    with started(crash(), max_trials=2, trial_steps=12) as batch:
        look = SceneView(batch, size=SIZE)
        first = look.frame()
        for _ in range(12):
            drive(batch)
            last = look.frame()
        assert batch.trial_ended.all()
        drive(batch)
        again = look.frame()
        scene, top = slice(BAR_PX.top, None), slice(0, BAR_PX.top)
        assert np.array_equal(again[scene], first[scene]) and not np.array_equal(last[scene], first[scene])
        assert not np.array_equal(again[top], first[top])
        fresh = SceneView(batch, size=SIZE).frame()
        assert not np.array_equal(fresh[top], again[top])  # a view made after trial 0 does not fill its box


def test_the_boxes_of_trials_fill_with_the_share_of_agents_at_their_goal():
    def green(picture):
        return int(of_colour(picture[: BAR_PX.top], colours.STATE_COLOURS[colours.GOAL]).sum())

    scene = bare_scene([(0.0, 0.0, 0.0), (0.0, 8.0, 0.0)], goals=[(5.0, 0.0), (90.0, 8.0)],
                       speeds=[10.0, 10.0])
    with started(scene, max_trials=3, trial_steps=10) as batch:
        look, shares = SceneView(batch, size=SIZE), []
        for _ in range(3):
            shares.append(green(look.frame()))
            for _ in range(11):
                drive(batch)
                picture = look.frame()
                if batch.trial_ended.all():
                    shares.append(green(picture))
        full = shares[1]
        assert shares[0] == 0 and full > 0
        # One agent of two, in one, two and three trials; the restart keeps the boxes of trials that are over.
        assert shares == [0, full, full, 2 * full, 2 * full, 3 * full]


def longest_run(flags):
    """Length of the longest run of True."""
    return max(len(run) for run in "".join("x" if flag else " " for flag in flags).split(" "))


def test_the_clock_goes_on_within_a_trial():
    with started(crash(), trial_steps=10) as batch:
        look = SceneView(batch, size=SIZE)
        tops = []
        for _ in range(11):
            tops.append(look.frame()[: BAR_PX.top])
            drive(batch)
        seconds = [top[:, -6 * BAR_PX.text :] for top in tops]
        assert not any(np.array_equal(a, b) for a, b in pairwise(seconds))
        bar = [longest_run(of_colour(top, colours.INK)[BAR_PX.top // 2]) for top in tops]
        assert bar[5] == pytest.approx(bar[10] / 2, abs=1.5) and bar[10] > 40


def test_the_trial_is_written_if_trials_have_no_boxes():
    with started(crash(), max_trials=100, trial_steps=2) as batch:
        look = SceneView(batch, size=SIZE)
        tops = []
        for _ in range(4):
            tops.append(look.frame()[: BAR_PX.top])
            drive(batch, 3)
        assert batch.trial_index[0] == 4
        assert not any(np.array_equal(a, b) for a, b in pairwise(tops))  # the clock stands at 0 in each


def test_a_picture_counts_trials_from_one(monkeypatch):
    written = []
    monkeypatch.setattr(Canvas, "text", lambda self, x, y, text, *rest, **more: written.append(text) or x)
    with started(crash(), max_trials=3, trial_steps=2) as batch:
        look = SceneView(batch, size=SIZE)
        for _ in range(3):
            look.frame()
            drive(batch, 3)
    assert [text for text in written if text.startswith("trial ")] == ["trial 1 of 3", "trial 2 of 3", "trial 3 of 3"]


def test_trails_are_of_this_trial_only():
    scene = bare_scene([(0.0, 0.0, 0.0)], goals=[(60.0, 0.0)], speeds=[12.0])
    with started(scene, max_trials=2, trial_steps=20) as batch:
        look = SceneView(batch, size=SIZE)
        background = [look.frame()]
        for _ in range(20):
            drive(batch)
            moving = look.frame()
        behind = (moving != SceneView(batch, size=SIZE).frame()).any(axis=2)
        trail = moving[BAR_PX.top : -BAR_PX.bottom][behind[BAR_PX.top : -BAR_PX.bottom]].astype(int)
        # The trail is all that a fresh view lacks, and it is of the car's own hue.
        assert len(trail) > 100 and np.median(trail[:, 2] - trail[:, 0]) > 30
        drive(batch)
        assert np.array_equal(look.frame()[BAR_PX.top :], background[0][BAR_PX.top :])
        for _ in range(5):
            drive(batch)
            look.frame()
        batch.reset(seed=batch.seed)
        assert np.array_equal(look.frame(), background[0])


def test_a_new_scene_has_its_own_map():
    scenes = [generate_scene("town", seed=seed, agents=4) for seed in range(2)]
    config = DriveConfig(scene_order="cycle", trial_steps=2)
    with Batch(scenes, config=config, threads=1) as batch:
        batch.reset()
        look = SceneView(batch, size=SIZE)
        pictures = []
        for _ in range(2):
            pictures.append(look.frame())
            drive(batch, 3)
        assert batch.scene_index[0] == 0 and not np.array_equal(pictures[0], pictures[1])
        roads = [of_colour(picture, colours.ASPHALT)[BAR_PX.top : -BAR_PX.bottom] for picture in pictures]
        assert (roads[0] != roads[1]).sum() > 1000


def test_another_seed_may_start_on_another_scene():
    scenes = [generate_scene("town", agents=4), bare_scene([(0.0, 0.0, 0.0)], goals=[(30.0, 0.0)])]
    with Batch(scenes, threads=1) as batch:
        looks, found = [], set()
        batch.reset(seed=0)
        look = SceneView(batch, size=SIZE)
        for seed in range(12):
            batch.reset(seed=seed)
            looks.append(look.frame())
            found.add(int(batch.scene_index[0]))
            assert np.array_equal(looks[-1], SceneView(batch, size=SIZE).frame())
        assert found == {0, 1}
