"""From which scenes are those of a class drawn? From generated ones with parameters that are drawn, or staged ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ..scenes import Scene, generate_scene
from ..scenes.generate.rng import Rng
from . import stagings


class Recipe(NamedTuple):
    """How scenes of a class are made.

    Attributes:
        make: makes a scene from random numbers.
        steps: at most so many are played; 0 for a staged scene, which is played to the end of its scripts.
        scenes: which ones, for the docs.
    """

    make: Callable[..., Scene]
    steps: int
    scenes: str


def _of(steps: int, *calls: tuple[str, dict[str, tuple[Any, ...]]]) -> Recipe:
    """A recipe that draws one of some generators, each with the values of which its parameters are drawn."""
    def make(rng: Rng) -> Scene:
        name, choices = calls[rng.below(len(calls))]
        values = {key: allowed[rng.below(len(allowed))] for key, allowed in choices.items()}
        return generate_scene(name, seed=rng.below(2**32), **values)

    return Recipe(make, steps, " or ".join(_call_text(*call) for call in calls))


def _call_text(name, choices):
    """A generator and the values of its parameters, for the docs."""
    values = [f"{key} {', '.join(map(str, allowed))}" for key, allowed in choices.items()]
    return f"`{name}` with {'; '.join(values)}"


def _staged(stage: Callable[[Rng], Scene], scenes: str) -> Recipe:
    return Recipe(stage, 0, scenes)


_WITHOUT_LIGHTS = _of(300, ("t_junction", {"control": ("none", "yield", "stop")}),
                      ("intersection", {"agents": (8,), "lanes": (1,), "control": ("none", "yield", "stop")}))

RECIPES = {
    "hard_stop": _staged(stagings.hard_stop, "a street on which the car ahead brakes with 6 to 8 m/s2"),
    "highway_straight": _of(200, ("highway", {"agents": (8, 16, 24), "lanes": (2, 3, 4)})),
    "lane_change": _of(200, ("highway", {"agents": (8, 16), "lanes": (2, 3, 4)})),
    "unprotected_left": _WITHOUT_LIGHTS,
    "unprotected_right": _WITHOUT_LIGHTS,
    "merge": _of(200, ("merge", {"lanes": (1, 2, 3)})),
    "roundabout": _of(200, ("roundabout", {"arms": (3, 4, 5)}), ("roundabout", {"arms": (3, 4), "lanes": (2,)})),
    "stop_sign": _of(300, ("t_junction", {"control": ("stop", "all_way_stop")}),
                     ("intersection", {"agents": (6,), "lanes": (1,), "control": ("stop", "all_way_stop")})),
    "traffic_light": _of(400, ("t_junction", {"control": ("lights",)}),
                         ("intersection", {"agents": (8,), "lanes": (1, 2), "control": ("lights",)})),
    "parked_cars": _staged(stagings.parked_cars, "a street with 3 to 8 parked cars, up to 0.3 m on the lane"),
    "pedestrian_crossing": _staged(stagings.pedestrian_crossing, "a street that a pedestrian crosses"),
    "cut_in": _of(200, ("highway", {"agents": (12, 24), "lanes": (2, 3)}), ("exit", {"lanes": (2, 3)})),
    "overtaking": _staged(stagings.overtaking, "a two-way road with a slow car; the subject has a script"),
    "narrow_passage": _of(200, ("narrow", {"priority": (False, True), "neck_m": (10.0, 20.0, 30.0)})),
    "u_turn": _of(200, ("u_turn", {"lanes": (1, 2)})),
    "pull_out": _staged(stagings.pull_out, "a street with parked cars, and traffic; the subject has a script"),
}
"""By the name of the class."""
