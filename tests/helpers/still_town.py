"""Which valid scene has no possible agent?"""

from dataclasses import replace

import numpy as np

from drive_env import Scene, generate_scene


def still_town() -> Scene:
    """A town whose vehicles start at their goals."""
    town = generate_scene("town", agents=2)
    starts_m = np.stack([town.objects.x_m[0], town.objects.y_m[0]], axis=1)
    return replace(town, objects=replace(town.objects, goal_m=starts_m))
