"""Which scenes show a behaviour for sure? Those of a fixed list, played by rule, in which its predicate holds.

The recipe of a class makes a scene from random numbers. `LaneDriver` plays it, and the trial becomes the log of the
scene; or the scene has a log already. `sample` draws scenes until enough show the behaviour, which takes minutes;
`DRAWS` has what it found.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Sequence
from typing import NamedTuple, SupportsIndex

import numpy as np

from ..batch import Batch
from ..config import DriveConfig
from ..drivers import LaneDriver
from ..errors import ConfigError, checked_int, value_text
from ..names import named_arguments, names_hint
from ..scenes import Scene
from ..scenes.generate.rng import Rng
from ..scenes.validate import validate_scene
from .classify import subjects
from .draws import DRAWS
from .registry import BEHAVIOURS
from .trial_log import TrialLog

SCENES = 50
"""Of a class."""

WORLDS = 25
"""Scenes that are played at a time."""

SEED_BYTES = 8


class Trials(NamedTuple):
    """What was played, one trial of each scene.

    Attributes:
        scenes: with their logs.
        clean: of each, the agents' objects that reached their goals without an infraction.
    """

    scenes: list[Scene]
    clean: list[list[int]]


@named_arguments
def behaviour_scenes(name: str, indices: Sequence[SupportsIndex] | None = None) -> list[Scene]:
    """Scenes in whose logs a vehicle shows a behaviour: `Scene.sdc`, the subject, which also reaches its goal there.

    With `control="sdc"` a policy drives the subject and all others replay their logs; other values of `control` let it
    drive others as well. The same arguments give the same bytes wherever `LaneDriver` takes the same actions, see
    docs/determinism.md.

    Args:
        name: of a class, see `BEHAVIOURS`.
        indices: which scenes, from 0 to 49; None: all of them, which takes some seconds.

    Raises:
        ConfigError: there is no such class, or no such scene.
    """
    draws = DRAWS[checked_class(name)]
    if indices is None:
        indices = range(len(draws))
    if not isinstance(indices, Sequence) or isinstance(indices, str):
        raise ConfigError(f"indices is {value_text(indices)}; it must be a list of whole numbers from 0 to "
                          f"{len(draws) - 1}")
    chosen = [checked_int("an entry of indices", index, 0, len(draws) - 1) for index in indices]
    found: list[Scene] = []
    for first in range(0, len(chosen), WORLDS):
        block = chosen[first:first + WORLDS]
        scenes = logged(name, [draws[index][0] for index in block]).scenes
        found += [_with_subject(scene, draws[index][1], name, index)
                  for scene, index in zip(scenes, block, strict=True)]
    return found


def checked_class(name: str) -> str:
    """The name of a class.

    Raises:
        ConfigError: it is none.
    """
    if not isinstance(name, str) or name not in BEHAVIOURS:
        raise ConfigError(f"name is {value_text(name)}, which is no class of behaviour; "
                          + names_hint(name, {one: one for one in BEHAVIOURS}))
    return name


def sample(name: str, count: int = SCENES) -> list[tuple[int, int]]:
    """The first draws that show a behaviour, with the object that does. `DRAWS` holds what it returns."""
    found: list[tuple[int, int]] = []
    first = 0
    while len(found) < count:
        draws = range(first, first + WORLDS)
        trials = logged(name, draws)
        for draw, scene, clean in zip(draws, trials.scenes, trials.clean, strict=True):
            shown = [one for one in subjects(scene, name) if one in clean]
            if shown:
                found.append((draw, shown[draw % len(shown)]))
        first += WORLDS
    return found[:count]


def logged(name: str, draws: Sequence[int]) -> Trials:
    """The scenes of some draws of a class, with their logs."""
    recipe = BEHAVIOURS[name].recipe
    scenes = [_made(recipe, _rng(name, draw)) for draw in draws]
    has_script = [scene.objects.frame_count > 1 and bool(scene.objects.valid[1:, 0].any()) for scene in scenes]
    steps = recipe.steps or max(scene.objects.frame_count for scene in scenes) - 1
    if all(has_script):
        scenes = [dataclasses.replace(scene, generated=False) for scene in scenes]
        return Trials(scenes, _played(scenes, steps, has_script=True).clean)
    trials = _played(scenes, steps)
    if recipe.steps:
        return trials
    return Trials([_in_script(*pair) for pair in zip(scenes, trials.scenes, strict=True)], trials.clean)


def _rng(name, draw):
    digest = hashlib.sha256(f"{name}/{draw}".encode()).digest()
    return Rng(int.from_bytes(digest[:SEED_BYTES], "little"))


def _made(recipe, rng):
    """A scene whose lights begin their programs at a time of its own, not at one that each world draws."""
    scene = recipe.make(rng)
    controls = scene.traffic_controls
    if not (controls.junction >= 0).any():
        return scene
    ends = np.concatenate([[0.0], np.cumsum(controls.phase_s.astype(np.float64))])[controls.phase_start]
    cycle_s = ends[1:] - ends[:-1]
    share = rng.uniform(0.0, 1.0, controls.count)[np.maximum(controls.junction, 0)]
    offset_s = np.where(controls.junction >= 0, controls.offset_s + share * cycle_s, controls.offset_s)
    offset_s = offset_s - np.where(offset_s >= cycle_s, cycle_s, 0.0)
    return dataclasses.replace(scene, traffic_controls=dataclasses.replace(
        controls, offset_s=offset_s.astype(np.float32), junction=np.full(controls.count, -1, np.int32)))


def _played(scenes, steps, has_script=False):
    """One trial of each scene, in a world of its own. Agents that have scripts follow them, others drive by rule."""
    config = DriveConfig(action_type="continuous", traffic_controls=True, trial_steps=steps, scene_order="cycle",
                         dynamics="state" if has_script else "bicycle")
    with Batch(scenes, num_worlds=len(scenes), config=config, threads=1, trial_records=1) as batch:
        batch.reset(seed=0)
        act = _scripted(batch) if has_script else LaneDriver(batch, overtakes=False).act_all
        logs = [TrialLog(batch, world) for world in range(len(scenes))]
        for log in logs:
            log.capture()
        is_over, clean = np.zeros(len(scenes), bool), [[] for _ in scenes]
        while not is_over.all():
            batch.step(act())
            for world in np.flatnonzero(~is_over).tolist():
                logs[world].capture()
            if not batch.trial_ended.any():
                continue
            # Worlds that are through begin another episode, whose records are dropped.
            records = batch.trial_records()
            for world in np.flatnonzero(~is_over).tolist():
                own = records[records["world"] == world]
                if len(own):
                    reached = own["agent"][own["score"] == 1.0] - world * batch.agents_per_world
                    clean[world] = batch.roles[world].objects[reached].tolist()
                    is_over[world] = True
    return Trials([log.scene() for log in logs], clean)


def _scripted(batch):
    """A function that returns the actions of step after step by which all agents follow their logs."""
    steps = iter(batch.expert_actions().actions)
    return lambda: next(steps)


def _in_script(scene, played):
    """A scene with scripts in which object 0, which had none, moves as it was played; beyond its goal it is absent."""
    objects, own = scene.objects, played.objects
    frames = min(objects.frame_count, own.frame_count)
    tracks = {}
    for name in ("x_m", "y_m", "heading_rad", "vx_mps", "vy_mps", "valid"):
        tracks[name] = getattr(objects, name).copy()
        tracks[name][:frames, 0] = getattr(own, name)[:frames, 0]
    return validate_scene(dataclasses.replace(scene, generated=False, source=f"{scene.source}, played",
                                              objects=dataclasses.replace(objects, **tracks)))


def _with_subject(scene, subject, name, index):
    """A scene of a class, with its subject."""
    return dataclasses.replace(scene, name=f"{name}/{index}", source=f"behaviour_scenes({name!r}, [{index}])",
                               sdc=subject, objects_of_interest=(subject,))
