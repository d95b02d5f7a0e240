"""Which generated scenes are made of lane maps, and which maps are they made of?"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from golden import bits

from drive_env.errors import SceneError
from drive_env.scenes import generate_scene
from drive_env.scenes.generate import GENERATORS
from drive_env.scenes.generate.lane_map import LaneMap

WITHOUT_MAP = ("town", "intersection", "exits", "gates", "occluded", "closures")
"""Generators with roads of their own; tests/scenes/test_generate.py and tests/tasks check theirs."""

NAMES = tuple(name for name in GENERATORS if name not in WITHOUT_MAP)
"""A new generator is tested by being in `GENERATORS`."""


class Made(NamedTuple):
    """A scene and the map that it was made of."""

    scene: object
    map: LaneMap
    call: str


def made(name, seed, agents=None, **parameters) -> Made:
    """The scene of a call, generated anew, with its map."""
    from drive_env.scenes.generate import _generated

    maps, parts = [], LaneMap.parts

    def recorded(self, *arguments, **further):
        maps.append(self)
        return parts(self, *arguments, **further)

    _generated.cache_clear()
    LaneMap.parts = recorded
    try:
        scene = generate_scene(name, seed=seed, agents=agents, **parameters)
    finally:
        LaneMap.parts = parts
    assert len(maps) == 1, "a scene is made of one map; a scene without map stands in WITHOUT_MAP"
    return Made(scene, maps[0], scene.source)


def drawn_parameters(name, seed):
    """Parameters anywhere in their ranges: half of the draws are at an end of the range, either one equally likely."""
    found = {}
    for index, (key, parameter) in enumerate(GENERATORS[name].PARAMETERS.items()):
        where = int(bits(seed, index, 1)) % 4
        share = (0.0, 1.0)[where] if where < 2 else (int(bits(seed, index, 2)) >> 11) * 2.0**-53
        draw = lambda low=parameter.low, high=parameter.high, share=share: low + share * (high - low)
        if isinstance(parameter.default, bool):
            found[key] = share >= 0.5
        elif parameter.choices:
            found[key] = parameter.choices[int(bits(seed, index, 2)) % len(parameter.choices)]
        elif isinstance(parameter.default, int):
            found[key] = round(draw())
        elif isinstance(parameter.default, tuple):
            found[key] = (round(draw()), round(parameter.low + (1 - share) * (parameter.high - parameter.low)))
        else:
            found[key] = float(draw())
    return found


@lru_cache(maxsize=len(NAMES))
def scenes_of(name, seeds):
    """One scene a seed of a range: half with the defaults, half with drawn parameters and a few agents.

    Not all combinations of parameters make a scene; those that do not must be refused with a sentence, and be few.
    """
    scenes, refused = [], 0
    for seed in seeds:
        if seed % 2 == 0:
            scenes.append(made(name, seed))
            continue
        parameters = drawn_parameters(name, seed)
        try:
            scenes.append(made(name, seed, agents=min(4, GENERATORS[name].DEFAULT_AGENTS), **parameters))
        except SceneError as error:
            assert "; " in str(error), error
            refused += 1
    assert refused <= 2 + len(seeds) / 4
    return scenes


@lru_cache(maxsize=len(NAMES))
def maps_of(name, seeds):
    """Those of `scenes_of` whose roads are not those of an earlier one."""
    found = {}
    for scene in scenes_of(name, seeds):
        roads = scene.scene.roads
        found.setdefault(roads.x_m.tobytes() + roads.y_m.tobytes(), scene)
    return list(found.values())


def polylines(roads, kind):
    """(k, 2) float64 of every polyline of a kind code."""
    points = np.stack([roads.x_m, roads.y_m], axis=1).astype(np.float64)
    return [points[roads.start[i]:roads.start[i + 1]] for i in np.flatnonzero(roads.kind == kind)]
