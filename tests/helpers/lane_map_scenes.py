"""Which generated scenes are made of lane maps, and which maps are they made of?"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from golden import bits

from drive_env.errors import SceneError
from drive_env.scenes import generate_scene
from drive_env.scenes.generate import GENERATORS, roadnet
from drive_env.scenes.generate.lane_map import LaneMap

WITHOUT_MAP = ("town", "intersection", "exits", "gates", "occluded", "closures")
"""Generators with roads of their own; tests/scenes/test_generate.py and tests/tasks check theirs."""

NAMES = tuple(name for name in GENERATORS if name not in WITHOUT_MAP)
"""A new generator is tested by being in `GENERATORS`."""

DRAWN_SHARE = 0.5
"""Of the seeds whose scenes have drawn parameters in place of the defaults."""


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
    """Parameters anywhere in their ranges, each end of one as likely as all between."""
    found = {}
    for index, (key, parameter) in enumerate(GENERATORS[name].PARAMETERS.items()):
        where = int(bits(seed, index, 1)) % 4
        share = (0.0, 1.0)[where] if where < 2 else (int(bits(seed, index, 2)) >> 11) * 2.0**-53
        draw = lambda low=parameter.low, high=parameter.high, share=share: low + share * (high - low)
        if isinstance(parameter.default, bool):
            found[key] = share >= 0.5
        elif isinstance(parameter.default, int):
            found[key] = round(draw())
        elif isinstance(parameter.default, tuple):
            found[key] = (round(draw()), round(parameter.low + (1 - share) * (parameter.high - parameter.low)))
        else:
            found[key] = float(draw())
    return found


def scenes_of(name, seeds):
    """Scenes of these seeds: half with the defaults, half with drawn parameters and a few agents.

    Not all combinations of parameters make a scene; those that do not must be refused with a sentence, and be few.
    """
    refused = drawn = 0
    for seed in seeds:
        if seed % 2 == 0:
            yield made(name, seed)
            continue
        drawn += 1
        parameters = drawn_parameters(name, seed)
        try:
            found = made(name, seed, agents=min(4, GENERATORS[name].DEFAULT_AGENTS), **parameters)
        except SceneError as error:
            assert "; " in str(error), error
            refused += 1
            continue
        yield found
    assert refused <= drawn / 2


def new_maps(name, seeds):
    """Like `scenes_of`, without scenes whose roads equal those of an earlier one."""
    seen = set()
    for found in scenes_of(name, seeds):
        roads = found.scene.roads
        key = roads.x_m.tobytes() + roads.y_m.tobytes()
        if key not in seen:
            seen.add(key)
            yield found


def polylines(roads, kind):
    """(k, 2) float64 of every polyline of a kind code."""
    points = np.stack([roads.x_m, roads.y_m], axis=1).astype(np.float64)
    return [points[roads.start[i]:roads.start[i + 1]] for i in np.flatnonzero(roads.kind == kind)]


GRID_M = 1.0 / roadnet.GRID_PER_M
