"""Which scenes can be made from nothing but a seed?"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import SceneError, whole
from ..scene import Scene
from ..validate import validate_scene
from . import intersection, town
from .dice import Dice
from .parameters import fill_parameters

GENERATORS = {"town": town, "intersection": intersection}
"""Name to the module with its PARAMETERS and its build()."""

GENERATED_DT_S = 0.1
AGENT_LIMIT = 4096


def generate_scene(name: str, seed: int = 0, agents: int = 32, **parameters: Any) -> Scene:
    """A scene with `agents` vehicles on lane centres, each with a goal it can reach over the lane graph.

    The same arguments give the same bytes on every platform.

    Args:
        name: a key of `GENERATORS`.
        seed: from 0 to 2**64 - 1.
        agents: number of vehicles, exactly.
        **parameters: those of the generator, see its PARAMETERS.

    Raises:
        SceneError: an unknown name or parameter, a value out of range, or more agents than fit (it says how
            many do).
    """
    if not isinstance(name, str) or name not in GENERATORS:
        known = ", ".join(repr(known) for known in GENERATORS)
        raise SceneError(f"generator is {name!r}; it must be one of {known}")
    generator = GENERATORS[name]
    seed = whole("seed", seed, 0, 2**64 - 1, SceneError)
    agents = whole("agents", agents, 1, AGENT_LIMIT, SceneError)
    chosen = fill_parameters(name, generator.PARAMETERS, parameters)
    named = "".join(f", {key}={chosen[key]!r}" for key in parameters)
    source = f"generate_scene({name!r}, seed={seed}, agents={agents}{named})"
    try:
        roads, lanes, objects = generator.build(Dice(seed), agents, **chosen)
    except SceneError as error:
        raise SceneError(f"{source}: {error}") from None
    return validate_scene(Scene(
        name=f"{name}/{seed}", source=source, generated=True, dt_s=GENERATED_DT_S, origin_m=np.zeros(2),
        objects=objects, roads=roads, lanes=lanes))
