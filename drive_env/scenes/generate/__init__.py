"""Which scenes can be generated from a seed? One module per scene, and one line in `GENERATORS`."""

from __future__ import annotations

import copy
import dataclasses
from functools import lru_cache
from typing import Any

import numpy as np

from ...errors import SceneError, checked_int, value_text
from ..packaged import is_packaged
from ..scene import Scene
from ..validate import validate_scene
from . import (
    block_map, bottleneck, closures, exit, exits, gates, highway, intersection, merge, narrow, occluded, oval, parking,
    procedural, racetrack, racetrack_large, roundabout, t_junction, town, two_way, u_turn)
from .forks import FRAME_S as GENERATED_DT_S
from .parameters import fill_parameters
from .rng import Rng

GENERATORS = {"town": town, "intersection": intersection, "exits": exits, "gates": gates, "occluded": occluded,
              "closures": closures, "highway": highway, "oval": oval, "racetrack": racetrack,
              "racetrack_large": racetrack_large, "merge": merge, "exit": exit, "bottleneck": bottleneck,
              "two_way": two_way, "narrow": narrow, "t_junction": t_junction, "roundabout": roundabout,
              "u_turn": u_turn, "procedural": procedural, "parking": parking}
"""The module of each generator, with `PARAMETERS`, `DEFAULT_AGENTS`, `DIFFICULTY` and `build`."""

DIFFICULTY: dict[str, str] = {name: module.DIFFICULTY for name, module in GENERATORS.items()}
"""By generator: what is hard about its scenes, a sentence."""

TRIAL_STEPS: dict[str, int | None] = {
    name: getattr(module, "TRIAL_STEPS", None) for name, module in GENERATORS.items()}
"""By generator: how long a trial has to be for all cars to reach their goals; None where the default suffices."""

CONFIG_OF: dict[str, dict[str, Any]] = {name: getattr(module, "CONFIG", {}) for name, module in GENERATORS.items()}
"""By generator: the fields of `DriveConfig` without which it has another task; none where the defaults suffice."""

LANE_POLICY = "lane"
"""The policy of scenes in which lanes lead to the goals; those of other scenes have modules with a `POLICY`."""

POLICY_OF: dict[str, str] = {name: getattr(module, "POLICY", LANE_POLICY) for name, module in GENERATORS.items()}
"""By generator: the rule-based policy that drives to its goals, by its name in `play`, `record` and `write_replay`."""

TASK_OF = {"exits": "hidden_exit", "gates": "gates", "occluded": "occluded_crossing", "closures": "hidden_closure"}
"""The task of `drive_env.tasks` on the scenes of each generator, for errors where one is passed for the other."""

COMPOSED = "compose"
"""In the names of scenes of `compose`; no generator's name."""

AGENT_LIMIT = 4096

CACHED_SCENES = 256
"""Size of the cache, for envs made one after another: 7 kB for a town of 32 vehicles, some 100 kB for the largest."""


def generate_scene(name: str, seed: int = 0, agents: int | None = None, **parameters: Any) -> Scene:
    """A scene with `agents` vehicles on lane centres, each with a goal that it can reach along lanes.

    On a "highway" and at an "exit", some goals are reached only with lane changes, which the lane graph does not have.

    The same arguments give the same bytes on every platform. A process caches the last `CACHED_SCENES` scenes; every
    call returns arrays of its own.

    Args:
        name: a key of `GENERATORS`.
        seed: from 0 to 2**64 - 1.
        agents: number of vehicles, exactly; None: `DEFAULT_AGENTS` of the generator, 32 in a town; the scenes of
            `drive_env.tasks` allow only 1.
        **parameters: of the generator, see its `PARAMETERS`.

    Raises:
        ArgumentError: the generator has no such parameter.
        SceneError: an unknown generator, a value out of its range, or more agents than fit, with the number that does.
    """
    if not isinstance(name, str) or name not in GENERATORS:
        known = ", ".join(repr(known) for known in GENERATORS)
        raise SceneError(f"generator is {value_text(name)}; it must be one of {known}{task_hint(name)}")
    seed = checked_int("seed", seed, 0, 2**64 - 1, SceneError)
    agents = checked_int("agents", GENERATORS[name].DEFAULT_AGENTS if agents is None else agents, 1, AGENT_LIMIT,
                         SceneError)
    chosen = fill_parameters(name, GENERATORS[name].PARAMETERS, parameters, ("seed", "agents"))
    named = "".join(f", {key}={chosen[key]!r}" for key in parameters)
    return _copy_of(f"generate_scene({name!r}, seed={seed}, agents={agents}{named})", name, seed, agents, chosen)


def compose(blocks: Any, seed: int = 0, agents: int | None = None, **parameters: Any) -> Scene:
    """A scene whose map consists of blocks, such as "SXrO": a road of 50 m, and one block a letter at its end.

    Each block is joined to one of the roads that lead on from the block before it. What is not given is drawn from the
    seed: the parameters of blocks, and where several roads lead on, which of them. The letters are those of MetaDrive.

    Args:
        blocks: a string of letters, or a list of letters, names ("straight") and pairs of one of these and a mapping of
            its parameters, such as `("curve", {"radius_m": 30.0, "side": "left"})`. Every block has the parameter
            `socket`: index of the previous block's road at which it begins, 0 for the leftmost.
        seed: from 0 to 2**64 - 1.
        agents: number of vehicles, exactly; None: 10, or as many as fit where these are fewer.
        **parameters: `lanes`, `lane_width_m` and `speed_limit_mps`, as of `generate_scene("procedural")`.

    Raises:
        ArgumentError: there is no such parameter.
        SceneError: an unknown letter, a value out of its range, more agents than fit, or a block that overlaps earlier
            ones in every try; names the block.
    """
    specs = block_map.block_specs(blocks)
    seed = checked_int("seed", seed, 0, 2**64 - 1, SceneError)
    if agents is not None:
        agents = checked_int("agents", agents, 1, AGENT_LIMIT, SceneError)
    chosen = fill_parameters("compose", block_map.PARAMETERS, parameters, ("blocks", "seed", "agents"))
    named = "".join(f", {key}={chosen[key]!r}" for key in parameters)
    return _copy_of(f"compose({block_map.text_of(specs)}, seed={seed}, agents={agents}{named})", COMPOSED, seed,
                    agents, {"specs": specs, **chosen})


def task_hint(value: Any) -> str:
    """The end of an error about scenes: what to call or pass instead, where `value` is a packaged scene or a task, its
    name or its function.
    """
    name = getattr(value, "__name__", value)
    if is_packaged(value):
        return f"; {value} is a scene of the package, which load_scene({value!r}) reads"
    of_name = {task: generator for generator, task in TASK_OF.items()}
    if isinstance(name, str) and name in of_name:
        return (f"; {name} is a task: pass the scenes and config of drive_env.tasks.{name}(), or {of_name[name]!r} for "
                "scenes of its generator")
    return "; pass its scenes and its config" if hasattr(value, "scenes") and hasattr(value, "config") else ""


def _copy_of(source: str, name: str, seed: int, agents: int | None, chosen: dict[str, Any]) -> Scene:
    """A scene of checked arguments with this source, which also begins its error."""
    try:
        scene = _generated(name, seed, agents, tuple(chosen.items()))
    except SceneError as error:
        raise SceneError(f"{source}: {error}") from None
    # Copied: a read-only array can be made writeable again, and torch.from_numpy ignores the flag.
    return dataclasses.replace(_deep_copy(scene), source=source)


def _deep_copy(value):
    """As of `copy.deepcopy`, which takes as long as the rest of a call: scenes are arrays in dataclasses."""
    if isinstance(value, np.ndarray):
        return value.copy(order="K")
    if not dataclasses.is_dataclass(value):
        return copy.deepcopy(value)
    found = copy.copy(value)
    vars(found).update({name: _deep_copy(held) for name, held in vars(value).items()})
    return found


@lru_cache(maxsize=CACHED_SCENES)
def _generated(name: str, seed: int, agents: int | None, chosen: tuple[tuple[str, Any], ...]) -> Scene:
    """The validated scene of checked arguments, which never leaves this module."""
    module = block_map if name == COMPOSED else GENERATORS[name]
    parts = module.build(Rng(seed), agents, **dict(chosen))
    return validate_scene(Scene(
        name=f"{name}/{seed}", source=name, generated=True, dt_s=GENERATED_DT_S, origin_m=np.zeros(2),
        **parts._asdict()))
