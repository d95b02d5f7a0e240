"""Which bytes do scenes of lane maps have? The same on every platform, so that a change of them is a decision.

`python tests/helpers/scene_hashes.py` writes scene_hashes.json again, after a change that is meant to change scenes;
the commit states the reason. Published results name their scenes by seed.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
from lane_map_scenes import NAMES

from drive_env import generate_scene

FILE = Path(__file__).resolve().parents[1] / "scene_hashes.json"
SEEDS = range(4)

PRESETS = {"roundabout, street_lanes": ("roundabout", {"lanes": 2, "street_lanes": 2, "radius_m": 20.0})}
"""Generators with parameters that change the lanes."""


def digest_of(parts, optional=()):
    """SHA-256 over every array of some parts of a scene.

    Args:
        optional: names of arrays that only count where they hold something else than zeros and NaN.
    """
    total = hashlib.sha256()
    for part in parts:
        for name, array in vars(part).items():
            if name not in optional or np.nan_to_num(array).any():
                total.update(f"{name} {array.dtype.str} {array.shape}".encode() + array.tobytes())
    return total


def hash_of(scene) -> str:
    """That of every array of a scene."""
    total = digest_of((scene.objects, scene.roads, scene.lanes, scene.traffic_controls, scene.scripts))
    total.update(scene.candidate_goals_m.tobytes())
    return total.hexdigest()


def hashes() -> dict[str, list[str]]:
    """Of each generator with its defaults and of those in `PRESETS`, by seed."""
    presets = {name: (name, {}) for name in NAMES} | PRESETS
    return {key: [hash_of(generate_scene(name, seed=seed, **parameters)) for seed in SEEDS]
            for key, (name, parameters) in presets.items()}


if __name__ == "__main__":
    FILE.write_text(json.dumps(hashes(), indent=2) + "\n")
