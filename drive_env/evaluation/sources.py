"""Which scenes does an evaluation play? A list of sources, which are read one by one, or a fixed sample of them.

A source is a file, a seed of a generator, or a scene. Its place in the list depends on the list alone, so a shard reads
only its own sources, and a source that cannot be read does not change the places of the others.
"""

from __future__ import annotations

import hashlib
import os
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import ConfigError, SceneError, checked_int, value_text
from ..per_world import SEED_LIMIT
from ..scenes import Scene, SceneSource, generate_scene
from ..scenes.generate import GENERATORS
from ..scenes.generate.parameters import fill_parameters
from ..scenes.load import scenes_of
from ..scenes.packaged import is_packaged
from ..scenes.resolve import NAMES, files_of, find_source, is_generator, vehicle_count
from ..scenes.validate import validate_scene

HELD_OUT_SEED = 10_000_000
"""Default of the first seed of a generator's scenes. `Batch("town")`, with which policies train, begins at seed 0."""

SEEDS = 64
"""Default number of scenes of a generator."""

SHARD_LIMIT = 100_000


@dataclass(frozen=True)
class Source:
    """One or more scenes that are read together.

    Attributes:
        name: of the file or scene.
        read: reads and returns the scenes; raises a `DriveError` if they cannot be read.
        group: name of the group in whose figures the scenes count, too; "" for none.
    """

    name: str
    read: Callable[[], Sequence[Scene]]
    group: str = ""


def sources_of(scenes: SceneSource | Sequence[SceneSource], first_seed: int = HELD_OUT_SEED, seeds: int = SEEDS,
               agents: int | None = None, parameters: Mapping[str, Any] | None = None,
               agents_per_world: int | None = None) -> list[Source]:
    """The sources of generators' names, files, folders and scenes, in their order.

    Args:
        scenes: as for `Batch`. first_seed, seeds: first seed and number of seeds for each generator's name.
        agents: number of vehicles of generated scenes; None: the generator's default, or `agents_per_world` if larger.
        parameters: further parameters of the generators.
        agents_per_world: of the worlds' config.

    Raises:
        SceneError: a folder cannot be listed, an entry is not a generator's name, a path or a scene, one is listed
            twice, or a parameter is out of its range.
        ConfigError: a seed is out of its range, or a generator does not have one of the parameters.
    """
    first_seed = checked_int("first_seed", first_seed, 0, SEED_LIMIT)
    seeds = checked_int("scene_count", seeds, 1, SEED_LIMIT - first_seed + 1)
    found: list[Source] = []
    listed: set[Any] = set()
    given = scenes if isinstance(scenes, (list, tuple)) else [scenes]
    if not given:
        raise SceneError("scenes is an empty list; it must hold at least one scene")
    for one in given:
        if isinstance(one, Scene):
            list_once(one.name, id(one), listed)
            found.append(Source(one.name, _checked(one)))
        elif isinstance(one, str) and is_generator(one):
            list_once(one, one, listed)
            fill_parameters(one, GENERATORS[one].PARAMETERS, dict(parameters or {}))  # checks them before any is read
            count = vehicle_count(one, agents_per_world) if agents is None else agents
            found += [Source(f"{one}/{seed}", _generated(one, seed, count, parameters or {}))
                      for seed in range(first_seed, first_seed + seeds)]
        elif isinstance(one, str) or hasattr(one, "__fspath__"):
            for file in files_of(one):
                list_once(str(file), file if is_packaged(file) else os.path.realpath(file), listed)
                found.append(Source(str(file), _file(file)))
        else:
            raise SceneError(f"scenes holds {value_text(one)}; it must be one of {NAMES}, a path, a Scene, or a "
                             "list of these")
    return found


def list_once(name: str, identity: Any, listed: set[Any]) -> None:
    """Adds an entry of a list of scenes to those before it, which it must differ from: a scene that is listed twice
    would count as two independent ones in intervals.

    Args:
        name: of the entry, for the message. identity: equal for equal entries. listed: the entries before.

    Raises:
        SceneError: it is one of them.
    """
    if identity in listed:
        raise SceneError(f"scenes has {name!r} twice; each scene may be listed once, and `episodes` sets how often it "
                         "is played")
    listed.add(identity)


def sample_of(sources: Sequence[Source], name: str, count: int | None, seed: int) -> list[Source]:
    """A sample of `count` sources, which depends on the evaluator's name and the seed alone; None: the whole list.

    Raises:
        ConfigError: there are fewer sources than `count`.
    """
    if count is None:
        return list(sources)
    count = checked_int("sample", count, 1, len(sources))
    draw = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "little") + seed
    chosen = random.Random(draw).sample(range(len(sources)), count)
    return [sources[index] for index in sorted(chosen)]


def _checked(scene: Scene) -> Callable[[], Sequence[Scene]]:
    return lambda: [validate_scene(scene)]


def _generated(name: str, seed: int, agents: int, parameters: Mapping[str, Any]) -> Callable[[], Sequence[Scene]]:
    return lambda: [generate_scene(name, seed=seed, agents=agents, **parameters)]


def _file(path: Any) -> Callable[[], Sequence[Scene]]:
    return lambda: list(scenes_of(find_source(path)))


def part_of(count: int, shard: tuple[int, int]) -> range:
    """The places in a list of `count` sources that shard i of n plays: i, i + n, i + 2 n, ...

    Raises:
        ConfigError: `shard` is not a pair (i, n) with 0 <= i < n.
    """
    if not (isinstance(shard, tuple) and len(shard) == 2):
        raise ConfigError(f"shard is {value_text(shard)}; it must be a pair (i, n)")
    shards = checked_int("the number of shards", shard[1], 1, SHARD_LIMIT)
    return range(checked_int("shard", shard[0], 0, shards - 1), count, shards)
