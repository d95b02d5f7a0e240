"""Which bytes do scenes of lane maps have? The same on every platform, so that a change of them is a decision.

`python tests/helpers/scene_hashes.py` writes scene_hashes.json again, after a change that is meant to change scenes;
the commit states the reason. Published results name their scenes by seed.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from lane_map_scenes import NAMES

from drive_env import generate_scene

FILE = Path(__file__).resolve().parents[1] / "scene_hashes.json"
SEEDS = range(4)


def hash_of(scene) -> str:
    """SHA-256 over every array of a scene."""
    total = hashlib.sha256()
    for part in (scene.objects, scene.roads, scene.lanes, scene.traffic_controls, scene.scripts):
        for name, array in vars(part).items():
            total.update(f"{name} {array.dtype.str} {array.shape}".encode() + array.tobytes())
    total.update(scene.candidate_goals_m.tobytes())
    return total.hexdigest()


def hashes() -> dict[str, list[str]]:
    """Of each generator with its defaults, by seed."""
    return {name: [hash_of(generate_scene(name, seed=seed)) for seed in SEEDS] for name in NAMES}


if __name__ == "__main__":
    FILE.write_text(json.dumps(hashes(), indent=2) + "\n")
