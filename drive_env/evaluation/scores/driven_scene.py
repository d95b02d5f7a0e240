"""What is scored? The poses of a drive step by step, the map around it, and what the expert drove, as plain arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import ConfigError, a_type, checked_int, value_text
from ...realism.logged_scene import check_coordinates, checked_array
from ...scenes.limits import SIZE_RANGE_M
from ...scenes.scene import OBJECT_KINDS

POSE = ("x_m", "y_m", "heading_rad", "speed_mps")

LONGEST_DT_S = 10.0

LEAST_STEPS = 2
"""Steps of the ego: a change of speed needs two."""


@dataclass(frozen=True, eq=False)
class DrivenMap:
    """The lanes and road edges around a drive. All arguments are optional: without lanes there are no limits of speed,
    and without lanes and road edges nothing is off the road.

    Attributes:
        lanes: centre lines of l lanes in the direction of travel, each (p, 3) float, x, y and z in metres.
        width_m: (l,) float, 0 where unknown, which counts as 3.5 m; None: all are unknown.
        speed_limit_mps: (l,) float, 0 where unknown; None: all are unknown.
        in_junction: (l,) bool, whether a lane leads through a junction; None: none does.
        successors: of each lane the indices of those that it leads to; empty: unknown.
        road_edges: polylines, each (p, 3) float. The road is on the left of their direction.

    Raises:
        ConfigError: an argument has another type, dtype or shape than allowed, or a value is out of its range.
    """

    lanes: Sequence[np.ndarray] = ()
    width_m: np.ndarray | None = None
    speed_limit_mps: np.ndarray | None = None
    in_junction: np.ndarray | None = None
    successors: Sequence[Sequence[int]] = ()
    road_edges: Sequence[np.ndarray] = ()

    def __post_init__(self) -> None:
        for name in ("lanes", "road_edges"):
            _check_lines(name, getattr(self, name))
        count = len(self.lanes)
        for name in ("width_m", "speed_limit_mps"):
            if getattr(self, name) is None:
                object.__setattr__(self, name, np.zeros(count))
            values = checked_array(name, getattr(self, name), "f", (count,))
            wrong = values[~(values >= 0)]
            if len(wrong):
                raise ConfigError(f"{name} has the value {wrong[0]}; each must be 0 or more")
        if self.in_junction is None:
            object.__setattr__(self, "in_junction", np.zeros(count, bool))
        checked_array("in_junction", self.in_junction, "b", (count,))
        if len(self.successors) not in (0, count):
            raise ConfigError(f"successors has {len(self.successors)} entries; it must have {count}, one a lane, or "
                              "none")
        for lane, after in enumerate(self.successors):
            for one in after:
                checked_int(f"successors[{lane}]", one, 0, count - 1)


@dataclass(frozen=True, eq=False)
class DrivenScene:
    """A drive of n objects over t steps, of which one, the ego, is scored.

    It is scored over the steps in which it is valid, which are one run without a gap.

    Attributes:
        x_m, y_m: (t, n) float, centre of the box. Where `valid` is False, values have no meaning and may be NaN.
        heading_rad: (t, n) float, counter-clockwise from +x.
        speed_mps: (t, n) float, along the heading; negative in reverse.
        valid: (t, n) bool, on the map.
        size_m: (n, 2) float, length and width.
        kind: (n,) of an integer type: 1 vehicle, 2 pedestrian, 3 cyclist, 4 other, such as a cone.
        dt_s: time between two steps.
        road_map: lanes and road edges.
        ego: index of the object that is scored.
        expert_m: (f, 2) float, where the expert, the ego of the log, was in each of f steps; NaN where it was not on
            the map. None: there is no log.
        route_m: (r, 2) float, the line that leads the ego to its goal; None: there is none.
        z_m: (t, n) float, height of the road under each object; None: all roads are on one level.
        red_lights, stop_signs: numbers of red lights that the ego ran, and of stop signs that it passed without a stop.

    Raises:
        ConfigError: an argument has another type, dtype or shape than allowed, or a value is out of its range; the ego
            is valid in fewer than 2 steps, or has a gap.
    """

    x_m: np.ndarray
    y_m: np.ndarray
    heading_rad: np.ndarray
    speed_mps: np.ndarray
    valid: np.ndarray
    size_m: np.ndarray
    kind: np.ndarray
    dt_s: float
    road_map: DrivenMap
    ego: int = 0
    expert_m: np.ndarray | None = None
    route_m: np.ndarray | None = None
    z_m: np.ndarray | None = None
    red_lights: int = 0
    stop_signs: int = 0

    def __post_init__(self) -> None:
        _check_tracks(self)
        _check_ego(self)
        if not isinstance(self.road_map, DrivenMap):
            raise ConfigError(f"road_map is {a_type(type(self.road_map))}; it must be a DrivenMap")
        if self.expert_m is not None:
            points = checked_array("expert_m", self.expert_m, "f", (None, 2))
            check_coordinates("expert_m", points[~np.isnan(points).any(axis=1)])
        if self.route_m is not None:
            check_coordinates("route_m", checked_array("route_m", self.route_m, "f", (None, 2)))
        for name in ("red_lights", "stop_signs"):
            checked_int(name, getattr(self, name), 0, 10**9)

    @property
    def ego_steps(self) -> slice:
        """The steps in which the ego is valid."""
        steps = np.flatnonzero(self.valid[:, self.ego])
        return slice(int(steps[0]), int(steps[-1]) + 1)


def check_step_time(dt_s: Any) -> None:
    """Rejects a time between two steps that is not above 0 and at most `LONGEST_DT_S`.

    Raises:
        ConfigError: it is no such number.
    """
    is_number = isinstance(dt_s, (int, float, np.number)) and not isinstance(dt_s, bool)
    if not is_number or not 0.0 < dt_s <= LONGEST_DT_S:
        raise ConfigError(f"dt_s is {value_text(dt_s)}; it must be above 0, at most {LONGEST_DT_S:g}")


def _check_lines(name: str, lines: Any) -> None:
    """Rejects anything but a sequence of polylines, (p, 3) float."""
    if not isinstance(lines, Sequence):
        raise ConfigError(f"{name} is {a_type(type(lines))}; it must be a sequence of lines")
    for index, line in enumerate(lines):
        check_coordinates(f"{name}[{index}]", checked_array(f"{name}[{index}]", line, "f", (None, 3)))


def _check_tracks(driven: DrivenScene) -> None:
    """Rejects tracks, sizes and kinds of wrong shapes, or with values out of range."""
    shape = checked_array("x_m", driven.x_m, "f", (None, None)).shape
    valid = checked_array("valid", driven.valid, "b", shape)
    if driven.z_m is None:
        object.__setattr__(driven, "z_m", np.zeros(shape))
    for name in (*POSE, "z_m"):
        check_coordinates(name, checked_array(name, getattr(driven, name), "f", shape)[valid])

    # Sizes of the objects that are ever on the map, and all kinds.
    present = valid.any(axis=0)
    size_m = checked_array("size_m", driven.size_m, "f", (shape[1], 2))
    low, high = SIZE_RANGE_M
    sizes = size_m[present].ravel()
    wrong = sizes[~((sizes >= low) & (sizes <= high))]
    if len(wrong):
        raise ConfigError(f"size_m has the value {wrong[0]}; each must be from {low} to {high}")
    kind = checked_array("kind", driven.kind, "iu", (shape[1],))
    unknown = kind[~np.isin(kind, list(OBJECT_KINDS))]
    if len(unknown):
        raise ConfigError(f"kind has the value {unknown[0]}; each must be from 1 to {max(OBJECT_KINDS)}")
    check_step_time(driven.dt_s)


def _check_ego(driven: DrivenScene) -> None:
    """Rejects an ego that cannot be scored."""
    ego = checked_int("ego", driven.ego, 0, driven.valid.shape[1] - 1)
    steps = np.flatnonzero(driven.valid[:, ego])
    if len(steps) < LEAST_STEPS:
        raise ConfigError(f"valid has {len(steps)} steps of the ego; it must have {LEAST_STEPS} or more")
    gaps = np.flatnonzero(np.diff(steps) > 1)
    if len(gaps):
        raise ConfigError(f"valid has a gap of the ego after step {steps[gaps[0]]}; its steps must be one run")
