"""How are the obstacles of a CommonRoad scenario read? Each has a shape, an initial state and maybe a trajectory.

In 2018b all are `obstacle` with a `role`; in 2020a they are `staticObstacle` and `dynamicObstacle`.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import NamedTuple
from xml.etree.ElementTree import Element

import numpy as np

from ....errors import SceneError, value_text
from ...limits import FRAME_LIMIT, OBJECT_LIMIT, SIZE_RANGE_M, SPEED_LIMIT_MPS
from ...scene import Report
from .elements import child, children, id_of, number_of, points_of, text_of, value_of

KINDS = {
    **dict.fromkeys(("car", "truck", "bus", "motorcycle", "priorityVehicle", "train", "taxi", "parkedVehicle"),
                    "vehicle"),
    "bicycle": "cyclist", "pedestrian": "pedestrian",
    **dict.fromkeys(("constructionZone", "roadBoundary", "unknown", "building", "pillar", "median_strip"), "other")}
"""Kind of an object by the type of the obstacle."""

SKIPPED = {"phantomObstacle": "phantom obstacles, which are sets of places", "environmentObstacle":
           "environment obstacles, such as buildings"}

ANGLE_LIMIT_RAD = 1000.0
"""Of orientations, which need not be wrapped."""


class Pose(NamedTuple):
    """A state of an object at a frame."""

    frame: int
    x_m: float
    y_m: float
    heading_rad: float
    vx_mps: float
    vy_mps: float


class Track(NamedTuple):
    """An object as in the file.

    Attributes:
        id: its id.
        kind: by the words of `OBJECT_KINDS`.
        length_m, width_m: of its box.
        stands: whether its one state is that of every frame.
        poses: of the centre of its box, by frame.
    """

    id: int
    kind: str
    length_m: float
    width_m: float
    stands: bool
    poses: list[Pose]


class Shape(NamedTuple):
    """A box in the frame of an obstacle: its size, its centre and its direction."""

    length_m: float
    width_m: float
    x_m: float = 0.0
    y_m: float = 0.0
    turn_rad: float = 0.0


def read_obstacles(root: Element, dt_s: float, report: Report) -> list[Track]:
    """The obstacles that have states, in the order of the file.

    Raises:
        SceneError: names the obstacle and the reason.
    """
    tracks = []
    for number, element in enumerate(root, 1):
        if element.tag in SKIPPED:
            report.drop(SKIPPED[element.tag])
        if element.tag not in ("obstacle", "staticObstacle", "dynamicObstacle"):
            continue
        name = f"obstacle {id_of(element, f'the document: element {number}, {element.tag}')}"
        role = text_of(child(element, "role", name)) if element.tag == "obstacle" else element.tag[: -len("Obstacle")]
        if role not in ("static", "dynamic"):
            raise SceneError(f"{name}: role is {value_text(role)}; it must be static or dynamic")
        if element.find("occupancySet") is not None:
            report.drop("obstacles with sets of occupied places in place of a trajectory")
            continue
        tracks.append(_read_obstacle(element, name, role == "static", dt_s, report))
    if len(tracks) > OBJECT_LIMIT:
        raise SceneError(f"obstacles: there are {len(tracks)}; there must be at most {OBJECT_LIMIT}")
    return tracks


def _read_obstacle(element, name, is_static, dt_s, report):
    kind = text_of(child(element, "type", name))
    if kind not in KINDS:
        report.drop(f"types of obstacles that are not known, read as other: {value_text(kind)}")
    shape = read_shape(child(element, "shape", name), f"{name}: shape", report)
    first = read_state(child(element, "initialState", name), f"{name}: initialState", 0, report)
    states = [first]
    if not is_static:
        trajectory = element.find("trajectory")
        for place, state in children(trajectory, "state", name) if trajectory is not None else ():
            states.append(read_state(state, place, None, report))
    frames = [state.frame for state in states]
    if len(set(frames)) < len(frames):
        twice = next(frame for frame, count in Counter(frames).items() if count > 1)
        raise SceneError(f"{name}: it has two states at time {twice}; it must have one")
    states = _with_velocities(sorted(states, key=lambda state: state.frame), dt_s, is_static, report)
    return Track(id_of(element, name), KINDS.get(kind, "other"), shape.length_m, shape.width_m, is_static,
                 [_of_box(state, shape) for state in states])


def read_state(element: Element, place: str, default_frame: int | None, report: Report) -> Pose:
    """A state; NaN where it has no velocity.

    Args:
        default_frame: of a state without a time; None if it must have one.

    Raises:
        SceneError: names the quantity and the reason.
    """
    time = value_of(element, "time", place, 0, FRAME_LIMIT - 1)
    if time is None and default_frame is None:
        raise SceneError(f"{place} has no time")
    if time is not None and time != int(time):
        raise SceneError(f"{place}: time is {time:g}; it must be a whole number of steps")
    frame = int(time) if time is not None else default_frame or 0
    x_m, y_m = place_of(child(element, "position", place), f"{place}: position", report)
    heading_rad = value_of(element, "orientation", place, -ANGLE_LIMIT_RAD, ANGLE_LIMIT_RAD)
    speed_mps = value_of(element, "velocity", place, -SPEED_LIMIT_MPS, SPEED_LIMIT_MPS)
    if heading_rad is None:
        report.impute("orientations 0, absent from the file")
    heading_rad = heading_rad or 0.0
    if speed_mps is None:
        return Pose(frame, x_m, y_m, heading_rad, math.nan, math.nan)
    return Pose(frame, x_m, y_m, heading_rad, speed_mps * math.cos(heading_rad), speed_mps * math.sin(heading_rad))


def place_of(position: Element, place: str, report: Report) -> tuple[float, float]:
    """x and y of a point, or the centre of a region.

    Raises:
        SceneError: it has none.
    """
    points_m = points_of(position, place)
    if points_m:
        return points_m[0]
    centre = _region_centre(position, place)
    if centre is None:
        raise SceneError(f"{place} has no point, rectangle, circle or polygon")
    report.impute("positions: the centres of regions")
    return centre


def _region_centre(position, place):
    for tag in ("rectangle", "circle"):
        for at, region in children(position, tag, place):
            return _centre(region, at)
    for at, polygon in children(position, "polygon", place):
        points_m = np.array(points_of(polygon, at)).reshape(-1, 2)
        if len(points_m):
            middle_m = (points_m.min(axis=0) + points_m.max(axis=0)) / 2
            return float(middle_m[0]), float(middle_m[1])
    return None


def read_shape(element: Element, place: str, report: Report) -> Shape:
    """The box of a shape; that around a circle, a polygon, or several shapes, along the direction of the obstacle.

    Raises:
        SceneError: it is empty, or a size is out of range.
    """
    rectangles = list(children(element, "rectangle", place))
    corners_m = []
    for at, rectangle in rectangles:
        length_m, width_m = (number_of(child(rectangle, name, at), f"{at}: {name}", 0.0, SIZE_RANGE_M[1])
                             for name in ("length", "width"))
        x_m, y_m = _centre(rectangle, at)
        turn = rectangle.find("orientation")
        turn_rad = 0.0 if turn is None else number_of(turn, f"{at}: orientation", -ANGLE_LIMIT_RAD, ANGLE_LIMIT_RAD)
        if len(rectangles) == 1 and element.find("circle") is None and element.find("polygon") is None:
            return _checked(Shape(length_m, width_m, x_m, y_m, turn_rad), place)
        along = np.array([math.cos(turn_rad), math.sin(turn_rad)]) * length_m / 2
        across = np.array([-math.sin(turn_rad), math.cos(turn_rad)]) * width_m / 2
        corners_m += [np.array([x_m, y_m]) + a * along + b * across for a in (-1, 1) for b in (-1, 1)]
    for at, circle in children(element, "circle", place):
        radius_m = number_of(child(circle, "radius", at), f"{at}: radius", 0.0, SIZE_RANGE_M[1])
        corners_m += [np.array(_centre(circle, at)) + radius_m * np.array(corner) for corner in ((-1, -1), (1, 1))]
    for at, polygon in children(element, "polygon", place):
        corners_m += [np.array(point) for point in points_of(polygon, at)]
    if not corners_m:
        raise SceneError(f"{place} has no rectangle, circle or polygon")
    report.impute("boxes of obstacles: those around circles, polygons, or several shapes")
    low_m, high_m = np.min(corners_m, axis=0), np.max(corners_m, axis=0)
    size_m, middle_m = high_m - low_m, (high_m + low_m) / 2
    return _checked(Shape(*size_m.tolist(), *middle_m.tolist()), place)


def _centre(element, place):
    """x and y of the centre of a rectangle or circle, which is the origin where the file has none."""
    centre = element.find("center")
    if centre is None:
        return 0.0, 0.0
    return number_of(child(centre, "x", place), f"{place}: x"), number_of(child(centre, "y", place), f"{place}: y")


def _checked(shape, place):
    low, high = SIZE_RANGE_M
    for name, size_m in (("length", shape.length_m), ("width", shape.width_m)):
        if not low <= size_m <= high:
            raise SceneError(f"{place}: its {name} is {size_m:g}; it must be {low:g} to {high:g}")
    return shape


def _with_velocities(states, dt_s, is_static, report):
    """The states; velocities that are absent are those between successive positions, 0 where there are none."""
    if is_static:
        return [state._replace(vx_mps=0.0, vy_mps=0.0) for state in states]
    lacking = [at for at, state in enumerate(states) if math.isnan(state.vx_mps)]
    report.impute("velocities, from successive positions", len(lacking))
    found = list(states)
    for at in lacking:
        one, other = states[max(0, at - 1)], states[min(len(states) - 1, at + 1)]
        time_s = (other.frame - one.frame) * dt_s
        vx_mps, vy_mps = ((b - a) / time_s if time_s else 0.0 for a, b in ((one.x_m, other.x_m), (one.y_m, other.y_m)))
        found[at] = states[at]._replace(vx_mps=vx_mps, vy_mps=vy_mps)
    return found


def _of_box(state, shape):
    """The state of the centre of the box."""
    sine, cosine = math.sin(state.heading_rad), math.cos(state.heading_rad)
    return state._replace(x_m=state.x_m + cosine * shape.x_m - sine * shape.y_m,
                          y_m=state.y_m + sine * shape.x_m + cosine * shape.y_m,
                          heading_rad=state.heading_rad + shape.turn_rad)
