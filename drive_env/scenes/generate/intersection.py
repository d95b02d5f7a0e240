"""What is an intersection? One four-way junction; cars enter on one arm and have their goals at the end of another."""

from __future__ import annotations

import math

from ...errors import SceneError
from .lights import LIGHTS
from .parameters import Parameter
from .parts import Parts
from .priorities import CONTROLS, junction_controls
from .rng import Rng
from .roadnet import EAST, NORTH, SOUTH, WEST, CrossSection, RoadNet
from .traffic import TrafficSpec, populate

DEFAULT_AGENTS = 32
"""So that a single agent has traffic."""

TRIAL_STEPS = 600
"""32 cars block each other for long; with lights, a cycle takes up to 55 s."""

DIFFICULTY = "All cars cross one junction without lights or signs, from four sides."

PARAMETERS = {
    "arm_length_m": Parameter(72.0, "m", "length of the lanes of every arm", 24.0, 400.0),
    "lanes": Parameter(2, "lanes", "lanes each way", 1, 3),
    "lane_width_m": Parameter(3.5, "m", "width of every lane", 3.0, 4.5),
    "lights": LIGHTS,
    "control": Parameter("none", "", "'lights': the same as `lights`; 'stop', 'yield': signs on one of the two roads, "
                         "drawn; 'all_way_stop': stop signs on all arms", choices=CONTROLS),
}


def build(rng: Rng, agents: int, arm_length_m: float, lanes: int, lane_width_m: float, lights: bool, control: str
          ) -> Parts:
    """Road edges close the arms: a car that misses its goal goes off-road."""
    if lights and control not in ("none", "lights"):
        raise SceneError(f"lights is True and control is {control!r}; with lights, control must be 'none' or 'lights'")
    net = RoadNet(CrossSection(lane_width_m, lanes), [(0.0, 0.0)],
                  [dict.fromkeys((EAST, NORTH, WEST, SOUTH))], arm_length_m)
    objects = populate(rng, net, agents,
                       TrafficSpec(net.entry_lanes(), net.exit_lanes(), (0.0, math.inf), far_goals=True))
    # Drawn last, so that lights and signs change nothing else of a scene.
    kind = "lights" if lights else control
    controls = None if kind == "none" else junction_controls(rng, net, {0: kind})
    return Parts(net.roads(), net.graph(), objects, traffic_controls=controls)
