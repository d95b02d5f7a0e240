"""What are the planning problems of a CommonRoad scenario? Vehicles that are to be driven, each with a goal."""

from __future__ import annotations

import math
from typing import NamedTuple
from xml.etree.ElementTree import Element

import numpy as np

from ....errors import SceneError
from ...scene import Report
from .elements import children, id_of, interval_of
from .lanelets import Lanelet
from .obstacles import ANGLE_LIMIT_RAD, Pose, place_of, read_state

CONDITIONS = (("time", "steps"), ("velocity", "m/s"))
"""Quantities of goals that a scene does not have, with their units."""


class Problem(NamedTuple):
    """A planning problem.

    Attributes:
        id: its id.
        start: its initial state.
        goal_m: (2,) its goal.
        goal_heading_rad: with which the goal is to be reached; NaN if any will do.
    """

    id: int
    start: Pose
    goal_m: np.ndarray
    goal_heading_rad: float


def read_problems(root: Element, lanelets: list[Lanelet], report: Report) -> list[Problem]:
    """The planning problems of a scenario.

    Raises:
        SceneError: names the planning problem and the reason.
    """
    problems = []
    for number, element in enumerate(root.iterfind("planningProblem"), 1):
        name = f"planning problem {id_of(element, f'planning problem {number}')}"
        starts = list(children(element, "initialState", name))
        if not starts:
            raise SceneError(f"{name} has no initialState")
        start = read_state(starts[0][1], starts[0][0], 0, report)
        if math.isnan(start.vx_mps):
            report.impute("initial velocities 0, absent from the file")
            start = start._replace(vx_mps=0.0, vy_mps=0.0)
        goals = list(children(element, "goalState", name))
        report.drop("goals of planning problems after their first one", max(0, len(goals) - 1))
        problems.append(Problem(id_of(element, name), start, *_goal(goals, start, lanelets, name, report)))
    return problems


def _goal(goals, start, lanelets, name, report):
    """(2,) the goal, and the heading with which it is to be reached."""
    heading_rad = math.nan
    if goals:
        place, goal = goals[0]
        for quantity, unit in CONDITIONS:
            interval = interval_of(goal, quantity, place)
            if interval is not None:
                report.notes.append(f"{name}: the {quantity} at the goal, {interval[0]:g} to {interval[1]:g} {unit}, "
                                    "is not kept")
        turn_rad = interval_of(goal, "orientation", place, -ANGLE_LIMIT_RAD, ANGLE_LIMIT_RAD)
        if turn_rad is not None and abs(turn_rad[1] - turn_rad[0]) < math.pi:
            heading_rad = (turn_rad[0] + turn_rad[1]) / 2
        position = goal.find("position")
        if position is not None:
            return _goal_place_m(position, f"{place}: position", lanelets, report), heading_rad
    report.impute("goals: the end of the nearest lanelet")
    start_m = np.array([start.x_m, start.y_m])
    if not lanelets:
        return start_m, heading_rad
    nearest = min(lanelets, key=lambda lanelet: np.hypot(*(lanelet.middle_m - start_m).T).min())
    return nearest.middle_m[-1], heading_rad


def _goal_place_m(position, place, lanelets, report):
    references = [id_of(found, f"{place}: lanelet", "ref") for found in position.iterfind("lanelet")]
    if not references:
        return np.array(place_of(position, place, report))
    of_id = {lanelet.id: lanelet for lanelet in lanelets}
    known = [of_id[reference] for reference in references if reference in of_id]
    if not known:
        raise SceneError(f"{place}: lanelet {references[0]} is not in the file")
    report.impute("goals: the end of a lanelet, in place of all of it")
    return known[0].middle_m[-1]
