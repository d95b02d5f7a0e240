"""Which generated scenes are made of lane maps, and which maps are they made of?"""

from __future__ import annotations

from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np
from golden import bits

from drive_env.errors import SceneError
from drive_env.scenes import compose, generate_scene
from drive_env.scenes.generate import GENERATORS
from drive_env.scenes.generate.block_map import PARAMETERS as MAP_PARAMETERS
from drive_env.scenes.generate.blocks import BLOCKS
from drive_env.scenes.generate.lane_map import LaneMap

WITHOUT_MAP = ("town", "intersection", "exits", "gates", "occluded", "closures")
"""Generators with roads of their own; tests/scenes/test_generate.py and tests/tasks check theirs."""

NAMES = tuple(name for name in GENERATORS if name not in WITHOUT_MAP)
"""A new generator is tested by being in `GENERATORS`."""

COMPOSED = "compose"
"""Maps of one or two blocks that are named, beside those of generators."""


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
        make = compose if name == COMPOSED else partial(generate_scene, name)
        scene = make(seed=seed, agents=agents, **parameters)
    finally:
        LaneMap.parts = parts
    assert len(maps) == 1, "a scene is made of one map; a scene without map stands in WITHOUT_MAP"
    return Made(scene, maps[0], scene.source)


def drawn_parameters(name, seed):
    """Parameters anywhere in their ranges."""
    if name != COMPOSED:
        return drawn(GENERATORS[name].PARAMETERS, seed)
    letters = [list(BLOCKS)[int(bits(seed, place, 3)) % len(BLOCKS)] for place in range(1 + seed % 2)]
    return drawn(MAP_PARAMETERS, seed) | {"blocks": [
        (letter, drawn({key: choice.parameter for key, choice in BLOCKS[letter].choices.items()}, seed + 1))
        for letter in letters]}


def drawn(parameters, seed):
    """Values of parameters: a quarter of the draws at each end of the range, half anywhere in it."""
    found = {}
    for index, (key, parameter) in enumerate(parameters.items()):
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


@lru_cache(maxsize=len(NAMES) + 1)
def scenes_of(name, seeds):
    """One scene a seed of a range: half with the defaults, half with drawn parameters and a few agents; of composed
    maps, all with drawn parameters.

    Not all combinations of parameters make a scene; those that do not must be refused with a sentence, and be few.
    """
    scenes, drawn_count, refused = [], 0, 0
    for seed in seeds:
        if seed % 2 == 0 and name != COMPOSED:
            scenes.append(made(name, seed))
            continue
        parameters, drawn_count = drawn_parameters(name, seed), drawn_count + 1
        try:
            agents = None if name == COMPOSED else min(4, GENERATORS[name].DEFAULT_AGENTS)
            scenes.append(made(name, seed, agents=agents, **parameters))
        except SceneError as error:
            assert "; " in str(error), error
            refused += 1
    assert refused <= max(1, drawn_count // 2)
    return scenes


@lru_cache(maxsize=len(NAMES) + 1)
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
