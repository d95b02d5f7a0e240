"""Which blocks have several roads that lead on? A crossing, a T-junction and a roundabout."""

from __future__ import annotations

from ..curves import Path, Pose, line
from ..junction import Junction, add_controls
from ..lane_map import LaneMap
from ..nodes import Node, axis, open_arms
from ..parameters import Parameter
from ..priorities import CONTROLS
from ..ring import Ring
from ..rng import Rng
from ..roadnet import EAST, HEADING_RAD, NORTH, SOUTH, WEST
from ..roundabout import RING_LIMIT_MPS
from .block import START, Block, BlockKind, Choice, RoadKind, Socket, add_street

ARM_M = Choice(Parameter(35.0, "m", "length of every road", 35.0, 200.0))
"""By default that of MetaDrive."""

ARMS = {"left": NORTH, "ahead": EAST, "right": SOUTH}
"""By where they are for a car that comes from the block before."""


def crossing(rng: Rng, lanes: int, road: RoadKind, turn_radius_m: float, arm_m: float, control: str) -> Block:
    """Roads in all four directions."""
    return _junction(rng, lanes, road, (WEST, *ARMS.values()), turn_radius_m, arm_m, control)


def t_junction(rng: Rng, lanes: int, road: RoadKind, missing: str, turn_radius_m: float, arm_m: float, control: str
               ) -> Block:
    """Roads in three directions."""
    arms = [arm for side, arm in ARMS.items() if side != missing]
    return _junction(rng, lanes, road, (WEST, *arms), turn_radius_m, arm_m, control)


def roundabout(rng: Rng, lanes: int, road: RoadKind, radius_m: float, entry_radius_m: float, exit_radius_m: float,
               arm_m: float) -> Block:
    """Roads in all four directions."""
    headings = {arm: HEADING_RAD[arm] for arm in (WEST, *ARMS.values())}
    roads, node = LaneMap(), Ring(START, headings, road.lane_width_m, radius_m, entry_radius_m, exit_radius_m, 1,
                                  road.limit(RING_LIMIT_MPS))
    entries, exits = open_arms(roads, node, arm_m, road.speed_limit_mps)
    node.connect(roads, entries, exits)
    sockets = [Socket(_end(node, arm, node.entry_reach_m + arm_m), (exits[arm],), (entries[arm],)) for arm in entries]
    return Block(roads, sockets, [*entries.values(), *exits.values()])


def _junction(rng, lanes, road, arms, turn_radius_m, arm_m, control):
    """A block of these arms."""
    width_m = road.lane_width_m
    roads, node = LaneMap(), Junction(START, {arm: HEADING_RAD[arm] for arm in arms}, width_m,
                                      turn_radius_m + (lanes - 0.5) * width_m, road.speed_limit_mps)
    exits, entries = {}, {}
    for arm in arms:
        path = Path(axis(node, arm).moved(node.half_box_m), (line(arm_m),))
        exits[arm], entries[arm] = add_street(roads, path, lanes, road)
    node.connect_lanes(roads, entries, exits)
    add_controls(rng, roads, node, control, entries, 0)
    sockets = [Socket(_end(node, arm, node.half_box_m + arm_m), exits[arm], entries[arm]) for arm in arms]
    return Block(roads, sockets, [lane for ends in (entries, exits) for of in ends.values() for lane in of])


def _end(node: Node, arm: int, away_m: float) -> Pose:
    """In the middle of the road at an arm, heading away from the node."""
    return axis(node, arm).moved(away_m)


def _control(default):
    return Choice(Parameter(default, "", "lights, each road its own green; signs on one road; or on all of them",
                            choices=CONTROLS))


TURN_RADIUS_M = Choice(Parameter(10.0, "m", "radius of the lane centre in right turns", 8.0, 14.0))

KINDS = {
    "X": BlockKind("crossing", crossing, {
        "turn_radius_m": TURN_RADIUS_M, "arm_m": ARM_M, "control": _control("none")}, 0.15),
    "T": BlockKind("t_junction", t_junction, {
        "missing": Choice(Parameter("ahead", "", "where no road leads on", choices=tuple(ARMS)), tuple(ARMS)),
        "turn_radius_m": TURN_RADIUS_M, "arm_m": ARM_M, "control": _control("stop")}, 0.15),
    "O": BlockKind("roundabout", roundabout, {
        "radius_m": Choice(Parameter(20.0, "m", "radius of the lane centre of the ring", 15.0, 30.0), (15.0, 30.0)),
        "entry_radius_m": Choice(Parameter(12.0, "m", "radius of the lane onto the ring", 10.0, 20.0), (10.0, 15.0)),
        "exit_radius_m": Choice(Parameter(12.0, "m", "radius of the lane off the ring", 10.0, 20.0), (10.0, 15.0)),
        "arm_m": ARM_M}, 0.1, single=True),
}
