"""How are the pictures of a town made? `town.gif` moves in the README, `looking.png` stands in looking.md.

    python docs/draw_town.py docs
"""

import sys
from pathlib import Path

import numpy as np

from drive_env import Batch, DriveConfig, generate_scene
from drive_env.drivers import LaneDriver, RandomDriver
from drive_env.render import SceneView, write_picture, write_video

GAP_PX = 4


def beside(views):
    """The views' frames side by side, with a grey line between them."""
    left, right = (view.frame() for view in views)
    return np.hstack([left, np.full((len(left), GAP_PX, 3), 128, np.uint8), right])


def draw_film(path, steps=144, steps_per_frame=4, size=(400, 400)):
    """All agents driven by `LaneDriver`; beside them agent 14 with its observation.

    Every step is drawn, since trails are made of earlier frames; every fourth frame is kept.
    """
    with Batch(generate_scene("town", seed=3, agents=40), config=DriveConfig(trial_steps=200)) as batch:
        batch.reset()
        driver = LaneDriver(batch)
        views = [SceneView(batch, size=size), SceneView(batch, size=size, view="follow", agent=14, span_m=70.0)]

        def frames():
            for step in range(steps):
                frame = beside(views)
                if step % steps_per_frame == 0:
                    yield frame
                batch.step(driver.act_all())

        write_video(frames(), path, fps=8)


def draw_picture(path, steps=90, size=(760, 640), agent=22):
    """A moment of the second trial, in which every third agent acts at random."""
    with Batch(generate_scene("town", seed=3, agents=32), config=DriveConfig(max_trials=4)) as batch:
        batch.reset()
        lane, random = LaneDriver(batch), RandomDriver(batch)
        views = [SceneView(batch, size=size), SceneView(batch, size=size, view="follow", agent=agent)]
        taken = 0
        while taken < steps:
            actions = lane.act_all().copy()
            if batch.trial_index[0] == 1:
                actions[::3] = random.act_all()[::3]
                taken += 1
            batch.step(actions)
            frame = beside(views)
        write_picture(frame, path)


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    draw_film(folder / "town.gif")
    draw_picture(folder / "looking.png")
