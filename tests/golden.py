"""Which bytes does a seeded play give? The same on every machine, so that a change of them is a decision.

`python tests/golden.py` writes golden.json anew; do so after a change that is meant to change what is
simulated or seen, and say so in the commit. `python tests/golden.py --core LIBRARY [PLAY ...]` prints the
hashes that another build of the core gives, as JSON.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from pathlib import Path
from types import ModuleType

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
FILE = Path(__file__).with_name("golden.json")

SCENES = ("town", "intersection", "map_942")
ACTION_TYPES = ("discrete", "multi_discrete", "continuous")
PLAYS = tuple(f"{scene}/{action_type}" for scene in SCENES for action_type in ACTION_TYPES)

WORLD_IDS = (0, 1, 2, 3)
STEPS = 100
SEED = 20

SHOWN = ("observations", "rewards", "terminations", "truncations", "trial_ended", "truncation",
         "invalid_step", "first", "trial_index", "removed", "stopped", "waits", "outcome", "code",
         "scene_index")


def use_core(library: str) -> None:
    """Puts another build of the core in the place of the package's, before the package is imported."""
    from cffi import FFI

    header = (ROOT / "c" / "include" / "drive.h").read_text()
    ffi = FFI()
    ffi.cdef(header.split("/* --- cffi begins --- */")[1].split("/* --- cffi ends --- */")[0])
    core = ModuleType("drive_env._core")
    core.ffi, core.lib = ffi, ffi.dlopen(library)
    sys.modules["drive_env._core"] = core


def bits(*numbers) -> np.ndarray:
    """64 random bits for each combination of the numbers (arrays broadcast), by SplitMix64.

    numpy's own generators may draw differently in a later version; this one will not.
    """
    with np.errstate(over="ignore"):
        mixed = np.uint64(0)
        for number in numbers:
            mixed = mixed + np.uint64(0x9E3779B97F4A7C15) * (np.asarray(number, np.uint64) + np.uint64(1))
            mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            mixed = mixed ^ (mixed >> np.uint64(31))
    return mixed


def draw(batch, step: int) -> np.ndarray:
    """Actions by (world id, step, row of the world): any throttle, and gentle steering, to get somewhere."""
    ids = batch.world_ids[batch.world_of_row]
    rows = np.arange(batch.row_count) % batch.rows_per_world
    push = bits(ids, step, rows, 1) % np.uint64(7)
    turn = np.uint64(3) + bits(ids, step, rows, 2) % np.uint64(7)
    if batch.config.action_type == "discrete":
        return (push * np.uint64(13) + turn).astype(np.int64)
    if batch.config.action_type == "multi_discrete":
        return np.stack([push, turn], axis=1).astype(np.int64)
    shares = bits(ids[:, None], step, rows[:, None], np.array([3, 4]))
    # 24 bits fit a float32 exactly: all of this is exact.
    whole = (shares >> np.uint64(40)).astype(np.float32)
    return (whole * np.float32(2**-23) - np.float32(1)) * np.float32(0.5)


def begin(play: str, world_ids=WORLD_IDS, threads=1, seed=SEED):
    """The batch of a play, not reset yet; None where its real file is not at hand."""
    from drive_env import Batch, DriveConfig, generate_scene, load_scene

    scene, action_type = play.split("/")
    if scene == "map_942":
        from samples import FOLDER

        path = FOLDER / "pufferdrive" / "map_942.bin"
        if not path.is_file():
            return None
        scenes = [load_scene(path)]
    else:
        scenes = [generate_scene(scene, seed=number, agents=12) for number in range(3)]
    config = DriveConfig(max_trials=2, trial_steps=45, min_speed_mps=-5.0, time_left="actor",
                         action_type=action_type)
    return Batch(scenes=scenes, worlds=len(world_ids), config=config, seed=seed, threads=threads,
                 world_ids=world_ids)


def hashes_of(batch, steps: int = STEPS) -> dict[int, str]:
    """Drives a batch that was just reset and hashes all it shows at every step, one hash a world id."""
    digests = [hashlib.sha256() for _ in batch.world_ids]
    for step in range(steps + 1):
        if step:
            batch.step(draw(batch, step))
        for name in SHOWN:
            worlds = getattr(batch, name).reshape(batch.world_count, -1)
            for digest, shown in zip(digests, worlds, strict=True):
                digest.update(shown.tobytes())
    return {int(world): digest.hexdigest() for world, digest in zip(batch.world_ids, digests, strict=True)}


def hash_of(play: str) -> str | None:
    """One hash of a whole play."""
    batch = begin(play)
    if batch is None:
        return None
    batch.reset()
    worlds = hashes_of(batch)
    return hashlib.sha256("".join(worlds[world] for world in WORLD_IDS).encode()).hexdigest()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--core", metavar="LIBRARY")
    parser.add_argument("plays", nargs="*", metavar="PLAY", help="default: all")
    chosen = parser.parse_args()
    if chosen.core:
        use_core(chosen.core)
    found = {play: hash_of(play) for play in chosen.plays or PLAYS}
    if chosen.core:
        print(json.dumps(found))
        return
    kept = json.loads(FILE.read_text()) if FILE.exists() else {}
    kept.update({play: known for play, known in found.items() if known})
    FILE.write_text(json.dumps(kept, indent=2) + "\n")


if __name__ == "__main__":
    main()
