"""Which classes of behaviour are there? The meaning of each, its definition with sources, and its recipe."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from . import lane_motion, lanes, roadside, speed, stopping, trial, turning
from .recipes import RECIPES, Recipe
from .tracks import SLOPE_S, Track
from .trial import Trial

Predicate = Callable[[Trial, Track], bool]
"""Returns whether a vehicle shows a behaviour in a trial."""


@dataclass(frozen=True)
class Behaviour:
    """A class of behaviour.

    Attributes:
        meaning: what a vehicle that shows it does.
        definition: the exact conditions, in numbers.
        source: of those numbers that are not our own; empty if all are.
        predicate: whether one track of a trial shows it.
        recipe: makes the scenes of the class.
    """

    meaning: str
    definition: str
    source: str
    predicate: Callable[..., bool]
    recipe: Recipe


def _degrees(*angles_rad: float) -> str:
    """Angles in whole degrees, two of them as a range."""
    return " to ".join(f"{round(math.degrees(angle_rad))}" for angle_rad in angles_rad) + " degrees"


def _metres(span_m: tuple[float, float]) -> str:
    return f"{span_m[0]:g} to {span_m[1]:g} m"


_TURN = (
    f"by {_degrees(*turning.TURN_RAD)} within {turning.TURN_M:g} m, not on a ring; the centre of another vehicle, at "
    f"{turning.CONFLICT_MPS:g} m/s or more, is within {turning.CONFLICT_M:g} m of that way and within "
    f"{turning.CONFLICT_S:g} s; {turning.APPROACH_M:g} m before, it was {turning.APPROACH_BESIDE_M:g} m or more from "
    f"the vehicle's way, with a heading that differed by {_degrees(turning.APPROACH_RAD)} or more from that before "
    "the turn")

_TURN_SOURCE = "6.5 s: critical gaps of the Highway Capacity Manual are 4.1 to 7.1 s"

_DEFINITIONS: dict[Predicate, tuple[str, str]] = {
    speed.hard_stop: (
        f"has {speed.STOP_FROM_MPS:g} m/s or more, at most {speed.BEFORE_BRAKING_S:g} s later decelerates by "
        f"{speed.HARD_MPS2:g} m/s2 or more over {SLOPE_S:g} s, and stands (below {trial.STANDING_MPS:g} m/s) within "
        f"{speed.STOP_S:g} s after that",
        "deceleration: stopping sight distance of AASHTO"),
    speed.highway_straight: (
        f"for {speed.HIGHWAY_S:g} s has {speed.HIGHWAY_MPS:g} m/s or more, is at most {speed.KEEPS_LANE_M:g} m from "
        f"the centre of one lane and those that follow it, and turns by at most {_degrees(speed.STRAIGHT_RAD)}",
        "speed: reward of HighwayEnv"),
    lane_motion.lane_change: (
        f"goes over to a parallel lane {_metres(lane_motion.SPACING_M)} beside, at {lane_motion.MOVING_MPS:g} m/s or "
        f"more; at most {lane_motion.HALF_CHANGE_S:g} s before and after, it is within {lane_motion.CENTRED_M:g} m "
        "of the centre of each",
        "durations: Toledo and Zohar 2007"),
    turning.unprotected_left: (f"turns left {_TURN}", _TURN_SOURCE),
    turning.unprotected_right: (f"turns right {_TURN}", _TURN_SOURCE),
    lane_motion.merge: (
        f"changes from a lane that within {lane_motion.ENDS_WITHIN_M:g} m joins the other one, or ends "
        f"{lane_motion.ENDS_EARLIER_M:g} m or more before it; or enters, at {lane_motion.MOVING_MPS:g} m/s or more, a "
        f"lane that is not on a ring and in which two lanes end. In the second case it was "
        f"{lane_motion.JOIN_BESIDE_M:g} m or more beside that lane {lane_motion.JOIN_BACK_M:g} m before it entered (or "
        f"at the start of its track, if that is {lane_motion.LEAST_HISTORY_M:g} m or more before), and has turned by "
        f"at most {_degrees(lane_motion.JOIN_TURN_RAD)} since. In both cases, a vehicle at "
        f"{lane_motion.MOVING_MPS:g} m/s or more is on the lane ahead or behind with a gap of at most "
        f"{lane_motion.MERGE_GAP_S:g} s or {lane_motion.MERGE_GAP_M:g} m",
        ""),
    turning.roundabout: (
        f"turns left by {_degrees(turning.RING_RAD)} or more on a ring, and enters or leaves it; a ring is a closed "
        f"circle of lanes, {_metres(lanes.RING_LENGTH_M)} long, whose distance from its middle varies by at most "
        f"{100 * lanes.RING_SHARE:g}%",
        ""),
    stopping.stop_sign: (
        f"is slower than {stopping.SIGN_MPS:g} m/s with the front bumper at most {stopping.SIGN_ZONE_M:g} m before "
        "the line of a stop sign, and then crosses the line",
        "as violations are judged in a trial"),
    stopping.traffic_light: (
        f"stands (below {trial.STANDING_MPS:g} m/s) for {stopping.RED_S:g} s or more in which a light is red, at "
        f"most {stopping.QUEUE_M:g} m before its line; crosses the line at green, and then has {stopping.GO_MPS:g} "
        f"m/s or more within {stopping.GO_S:g} s",
        ""),
    roadside.parked_cars: (
        f"passes {roadside.PARKED_COUNT} or more parked cars with {roadside.PASSING_MPS:g} m/s or more and gaps "
        f"between the boxes of at most {roadside.PARKED_GAP_M:g} m; a parked car stands all the time, for "
        f"{trial.PARKED_S:g} s or more, {trial.PARKED_BESIDE_M:g} m or more from the centres of all lanes",
        ""),
    roadside.pedestrian_crossing: (
        f"reaches a place at most {roadside.WALKING_S:g} s after a pedestrian has crossed its way there; between "
        f"{roadside.WALKING_S:g} s before that crossing and its own arrival it has slowed down from "
        f"{roadside.YIELD_MPS:g} m/s or more to {roadside.YIELD_MPS:g} m/s or less, and by "
        f"{100 * roadside.YIELD_SHARE:g}% or more",
        ""),
    lane_motion.cut_in: (
        f"another vehicle changes lanes to its path, while this one changes none: at most {lane_motion.CUT_IN_S:g} s "
        f"before it crosses the line between the lanes, the other one is {lane_motion.BESIDE_M:g} m or more beside the "
        f"path; at most {lane_motion.CUT_IN_S:g} s after that, it is {lane_motion.IN_PATH_M:g} m or less from the "
        f"path, with a gap of at most {lane_motion.CUT_IN_GAP_S:g} s at {lane_motion.CUT_IN_MPS:g} m/s or more and "
        f"headings that differ by at most "
        f"{_degrees(lane_motion.SAME_WAY_RAD)}; it stays within {lane_motion.STILL_IN_PATH_M:g} m for "
        f"{lane_motion.STAYS_S:g} s",
        ""),
    lane_motion.overtaking: (
        f"is behind a vehicle within {lane_motion.SAME_LANE_M:g} m of its path, with headings that differ by at most "
        f"{_degrees(lane_motion.SAME_WAY_RAD)}, then beside it at a distance of "
        f"{lane_motion.PASSING_M:g} m or more, and then in front of it, as it was behind; within "
        f"{lane_motion.OVERTAKING_S:g} s, and the other one at {lane_motion.MOVING_MPS:g} m/s or more",
        ""),
    roadside.narrow_passage: (
        f"drives {roadside.NARROW_LENGTH_M:g} m or more through a passage at most {roadside.NARROW_M:g} m wide between "
        f"road edges or parked cars (gaps up to {roadside.GAP_M:g} m long count as passage), with a place "
        f"{roadside.WIDE_M:g} m or more wide in the {roadside.WIDE_BEFORE_M:g} m before it, and has "
        f"{roadside.PASSING_MPS:g} m/s or more at some time; within {roadside.ONCOMING_S:g} s before or after, a "
        f"vehicle whose heading differs by {_degrees(roadside.ONCOMING_RAD)} or more is within "
        f"{roadside.SAME_PLACE_M:g} m of a place there",
        ""),
    turning.u_turn: (
        f"turns by {_degrees(*turning.U_TURN_RAD)} within {turning.U_TURN_M:g} m, from a place "
        f"{_metres(turning.U_TURN_APART_M)} away, not in reverse and not on a ring",
        ""),
    roadside.pull_out: (
        f"stands (below {trial.STANDING_MPS:g} m/s) for {roadside.WAIT_S:g} s or more, {_metres(roadside.KERB_M)} "
        f"beside the centre of a lane and within {_degrees(roadside.KERB_RAD)} of its direction; at most "
        f"{roadside.PULL_OUT_S:g} s later it is within {roadside.IN_LANE_M:g} m and "
        f"{_degrees(roadside.IN_LANE_RAD)}, at {roadside.IN_LANE_MPS:g} m/s or more",
        ""),
}

BEHAVIOURS: Mapping[str, Behaviour] = MappingProxyType({
    predicate.__name__: Behaviour(inspect.getdoc(predicate) or "", definition, source, predicate,
                                  RECIPES[predicate.__name__])
    for predicate, (definition, source) in _DEFINITIONS.items()})
"""By the name of the class."""
