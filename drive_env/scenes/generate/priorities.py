"""Who goes first at a junction? Whom lights or signs let go; without these, nobody has priority."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from ..scene import TrafficControls
from .lights import Control, controls_of, light_programs
from .rng import Rng
from .roadnet import SPEED_LIMIT_MPS, RoadNet

CONTROLS = ("none", "lights", "stop", "yield", "all_way_stop")
"""Of a junction: nothing; a light at each arm, each with its own green; signs at the minor road; stop signs at all
arms."""


def junction_controls(rng: Rng, net: RoadNet, kinds: Mapping[int, str]) -> TrafficControls:
    """The lights and signs of junctions, by the index of the junction and one of `CONTROLS`."""
    controls, lit = [], 0
    for at, kind in kinds.items():
        approaches = dict(zip(sorted(net.arms[at]), net.approaches(at), strict=True))
        if kind == "lights":
            programs = light_programs(rng, len(approaches), SPEED_LIMIT_MPS, 2 * net.section.half_box_m)
            controls += [Control("light", approach.line_m, approach.lanes, phases, offset_s, lit)
                         for approach, (phases, offset_s) in zip(approaches.values(), programs, strict=True)]
            lit += 1
        else:
            controls += [Control(sign, approaches[arm].line_m, approaches[arm].lanes)
                         for arm, sign in signs_of(rng, kind, approaches)]
    return controls_of(controls)


def signs_of(rng: Rng, kind: str, arms: Collection[int]) -> list[tuple[int, str]]:
    """Arms with a sign, and its kind.

    The minor road is the arm that has no other one opposite, or one of two pairs, which is drawn.

    Args:
        kind: one of `CONTROLS`; lights and none have no signs.
        arms: three or four directions of roadnet.py.
    """
    if kind == "all_way_stop":
        return [(arm, "stop") for arm in sorted(arms)]
    if kind not in ("stop", "yield"):
        return []
    minor = [arm for arm in arms if (arm + 2) % 4 not in arms]
    if not minor:
        side = rng.below(2)
        minor = [side, side + 2]
    return [(arm, kind) for arm in minor]
