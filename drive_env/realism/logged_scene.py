"""What is a drive to be compared with? Logged tracks, road edges, lanes and signals, as plain arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import ConfigError, a_type, bound_text, checked_int, outside_text, value_text
from ..scenes.limits import COORDINATE_LIMIT_M, SIZE_RANGE_M
from ..scenes.scene import OBJECT_KINDS

CURRENT_STEP = 10
"""Last step of the history in the Waymo Open Motion Dataset: 1 s, followed by 8 s that are simulated."""

POSE = ("x_m", "y_m", "z_m", "heading_rad")

DTYPES = {"f": "float32 or float64", "iu": "of an integer type", "b": "bool"}
"""Kinds of dtypes that an argument may have, and how a message calls them."""


def checked_array(name: str, value: Any, kinds: str, shape: tuple[int | None, ...] | None = None) -> np.ndarray:
    """The array itself.

    Args:
        name: of the argument, for the message.
        kinds: one of `DTYPES`.
        shape: that it must have; None in place of a length allows any; None in place of all, any shape.

    Raises:
        ConfigError: it is no array, or has another dtype or shape.
    """
    if not isinstance(value, np.ndarray):
        raise ConfigError(f"{name} is {a_type(type(value))}; it must be a numpy array")
    if value.dtype.kind not in kinds:
        raise ConfigError(f"{name} has the dtype {value.dtype}; it must be {DTYPES[kinds]}")
    if shape is not None and (value.ndim != len(shape) or any(
            want not in (None, found) for want, found in zip(shape, value.shape, strict=True))):
        wanted = ", ".join("any" if length is None else str(length) for length in shape)
        raise ConfigError(f"{name} has the shape {value.shape}; it must be ({wanted}{',' * (len(shape) == 1)})")
    return value


def check_coordinates(name: str, values: np.ndarray) -> None:
    """Rejects what is not finite or so far away that float32 would not resolve it.

    Raises:
        ConfigError: as said.
    """
    bad = values[~(np.abs(values) <= COORDINATE_LIMIT_M)]
    if bad.size:
        raise _outside(name, bad[0], -COORDINATE_LIMIT_M, COORDINATE_LIMIT_M)


def _outside(name: str, value: float, low: float, high: float) -> ConfigError:
    """The error of an array that holds a value out of its range."""
    return ConfigError(f"{name} has the value {outside_text(value, low, high)}; each must be from {bound_text(low)} to "
                       f"{bound_text(high)}")


@dataclass(frozen=True, eq=False)
class Poses:
    """Where objects are over time: four arrays of one shape, the last two axes of which are objects and steps.

    Steps are 0.1 s apart. Headings of successive steps may differ by whole turns. Whether one vehicle follows another
    depends on the difference of their headings as they are given, so give all of them in one range, such as -pi to pi.

    Attributes:
        x_m, y_m, z_m: centre of the box; float32 or float64.
        heading_rad: counter-clockwise from +x; float32 or float64.

    Raises:
        ConfigError: an array has another dtype or shape than allowed.
    """

    x_m: np.ndarray
    y_m: np.ndarray
    z_m: np.ndarray
    heading_rad: np.ndarray

    def __post_init__(self) -> None:
        shape = checked_array("x_m", self.x_m, "f").shape
        if len(shape) not in (2, 3):
            raise ConfigError(f"x_m has the shape {shape}; it must be (objects, steps) or (rollouts, objects, steps)")
        for name in POSE[1:]:
            checked_array(name, getattr(self, name), "f", shape)

    @property
    def shape(self) -> tuple[int, ...]:
        """Of each array."""
        return self.x_m.shape


@dataclass(frozen=True, eq=False)
class Signals:
    """What the traffic lights of s lanes showed in each of t steps.

    Attributes:
        lane: (s,) of an integer type, ids of the lanes.
        state: (t, s) of an integer type, codes of the Waymo Open Motion Dataset: 4 is stop, 1 is the stop of an arrow,
            which count as red; the others do not, such as 7, flashing stop, and 0, unknown or absent.
        stop_point_m: (t, s, 2) float, x and y of the point before which vehicles stop; 0, 0 where absent.

    Raises:
        ConfigError: an array has another dtype or shape than allowed, or a coordinate is out of its range.
    """

    lane: np.ndarray
    state: np.ndarray
    stop_point_m: np.ndarray

    def __post_init__(self) -> None:
        lanes = len(checked_array("lane", self.lane, "iu", (None,)))
        steps = len(checked_array("state", self.state, "iu", (None, lanes)))
        check_coordinates("stop_point_m", checked_array("stop_point_m", self.stop_point_m, "f", (steps, lanes, 2)))


@dataclass(frozen=True, eq=False)
class LoggedScene:
    """A logged drive of n objects over t steps, with which rollouts are compared.

    The log up to `current_step` is the history, which rollouts share. They simulate the t - 1 - `current_step` steps
    after it, of every object that is valid at `current_step`; the other objects are left out.

    Attributes:
        poses: `Poses` of (n, t). Where `valid` is False, their values have no meaning and may be NaN.
        valid: (n, t) bool, the object was tracked in this step.
        kind: (n,) of an integer type: 1 vehicle, 2 pedestrian, 3 cyclist, 4 other.
        size_m: (n, 3) float, length, width and height of the box at `current_step`.
        evaluated: (n,) bool, objects whose motion is scored: in the Waymo challenge, the recording vehicle and the
            tracks to predict. The others only matter as objects near them.
        road_edges: polylines, each (p, 3) float, x, y and z in metres, at least one of two points or more. The road
            is on the left of their direction.
        lanes: centre lines of surface-street lanes by id, each (p, 3) float in the direction of travel. Give them with
            points at most 0.5 m apart (see docs/realism.md).
        signals: traffic lights of t steps; None: there are none.
        current_step: index of the last step of the history.

    Raises:
        ConfigError: an argument has another type, dtype or shape than allowed or is out of its range, no object is
            evaluated, or one that is evaluated is not valid at `current_step`.
    """

    poses: Poses
    valid: np.ndarray
    kind: np.ndarray
    size_m: np.ndarray
    evaluated: np.ndarray
    road_edges: Sequence[np.ndarray]
    lanes: Mapping[int, np.ndarray] = field(default_factory=dict)
    signals: Signals | None = None
    current_step: int = CURRENT_STEP

    def __post_init__(self) -> None:
        _check_tracks(self)
        _check_map(self)

    @property
    def simulated_steps(self) -> int:
        """Number of steps after the history."""
        return self.poses.shape[1] - 1 - self.current_step

    @property
    def present(self) -> np.ndarray:
        """(p,) indices of the objects that are valid at `current_step`."""
        return np.flatnonzero(self.valid[:, self.current_step])


def _check_tracks(scene: LoggedScene) -> None:
    """Rejects tracks that do not fit each other, or of which none can be scored."""
    if not isinstance(scene.poses, Poses):
        raise ConfigError(f"poses is {a_type(type(scene.poses))}; it must be a Poses")
    if len(scene.poses.shape) != 2:
        raise ConfigError(f"poses has the shape {scene.poses.shape}; it must be (objects, steps)")
    objects, steps = scene.poses.shape
    if steps < 2:
        raise ConfigError(f"poses has {steps} steps; it must have 2 or more")
    checked_int("current_step", scene.current_step, 0, steps - 2)
    valid = checked_array("valid", scene.valid, "b", (objects, steps))
    for name in POSE:
        check_coordinates(name, getattr(scene.poses, name)[valid])

    kind = checked_array("kind", scene.kind, "iu", (objects,))
    if not np.isin(kind, list(OBJECT_KINDS)).all():
        raise ConfigError(f"kind has the value {kind[~np.isin(kind, list(OBJECT_KINDS))][0]}; each must be from 1 to "
                          f"{max(OBJECT_KINDS)}")
    size_m = checked_array("size_m", scene.size_m, "f", (objects, 3))
    low, high = SIZE_RANGE_M
    wrong = ~((size_m >= low) & (size_m <= high)) & valid[:, scene.current_step, None]
    if wrong.any():
        raise _outside("size_m", size_m[wrong][0], low, high)

    evaluated = checked_array("evaluated", scene.evaluated, "b", (objects,))
    if not evaluated.any():
        raise ConfigError(f"evaluated is False for all of {objects} objects; it must be True for at least one")
    absent = np.flatnonzero(evaluated & ~valid[:, scene.current_step])
    if len(absent):
        raise ConfigError(f"evaluated is True for the object {absent[0]}, which is not valid at step "
                          f"{scene.current_step}; it must be")


def _check_map(scene: LoggedScene) -> None:
    """Rejects lines that are no polylines, a map without road edges, and signals of another time."""
    if not isinstance(scene.road_edges, Sequence):
        raise ConfigError(f"road_edges is {a_type(type(scene.road_edges))}; it must be a sequence of lines")
    for index, line in enumerate(scene.road_edges):
        check_coordinates(f"road_edges[{index}]", checked_array(f"road_edges[{index}]", line, "f", (None, 3)))
    if not any(len(line) > 1 for line in scene.road_edges):
        raise ConfigError(f"road_edges has {len(scene.road_edges)} lines and none of 2 points or more; it must have "
                          "one")
    if not isinstance(scene.lanes, Mapping):
        raise ConfigError(f"lanes is {a_type(type(scene.lanes))}; it must be a mapping of ids to lines")
    for name, line in scene.lanes.items():
        if isinstance(name, bool) or not isinstance(name, (int, np.integer)):
            raise ConfigError(f"lanes has the id {value_text(name)}; each must be a whole number")
        title = f"lanes[{value_text(name)}]"
        check_coordinates(title, checked_array(title, line, "f", (None, 3)))
    if scene.signals is not None:
        if not isinstance(scene.signals, Signals):
            raise ConfigError(f"signals is {a_type(type(scene.signals))}; it must be a Signals or None")
        steps = scene.poses.shape[1]
        if len(scene.signals.state) != steps:
            raise ConfigError(f"signals has {len(scene.signals.state)} steps; it must have {steps}, as poses")


def checked_rollouts(scene: LoggedScene, simulated: Any) -> Poses:
    """`simulated` itself.

    Raises:
        ConfigError: it is no `Poses`, has no rollout, other objects or steps than the scene, or a value out of its
            range.
    """
    if not isinstance(simulated, Poses):
        raise ConfigError(f"simulated is {a_type(type(simulated))}; it must be a Poses")
    objects, steps = len(scene.valid), scene.simulated_steps
    shape = simulated.shape
    if len(shape) != 3 or shape[0] < 1 or shape[1:] != (objects, steps):
        raise ConfigError(f"simulated has the shape {shape}; it must be (rollouts, {objects}, {steps}), with one "
                          "rollout or more")
    for name in POSE:
        check_coordinates(name, getattr(simulated, name)[:, scene.present])
    return simulated
