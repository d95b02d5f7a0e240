"""How is a scene made by hand? Of roads along polylines, and of vehicles with a start and a goal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import SceneError, a_type, plain, value_text
from ..names import named_arguments
from .generate.roadnet import on_grid
from .generate.trig import sine_cosine, wrapped_rad
from .road import Road
from .road_network import Network
from .runs import part_of
from .scene import OBJECT_KIND_CODES, Objects, Scene
from .validate import validate_scene


@dataclass(frozen=True)
class Vehicle:
    """A vehicle of a scene that `build_scene` makes.

    Attributes:
        start: x_m, y_m and heading_rad of its centre, and z_m, the height of the road, as `Road.pose` returns them.
            Without z_m, or without heading_rad and z_m, the nearest lane has them.
        goal: 2 to 4 numbers in the same order. Without heading_rad, the heading at the goal is that of the lane there;
            it counts with `goal_heading_tolerance_rad` only. None: the vehicle is parked, that is, marked for log
            replay, and stands.
        speed_mps: at the start, along its heading.
        length_m, width_m, height_m: its size.
    """

    start: Sequence[float]
    goal: Sequence[float] | None = None
    speed_mps: float = 0.0
    length_m: float = 4.5
    width_m: float = 2.0
    height_m: float = 1.5


@named_arguments
def build_scene(roads: Sequence[Road], vehicles: Sequence[Vehicle], name: str = "by hand", dt_s: float = 0.1) -> Scene:
    """Makes a scene of roads along polylines, without a log. The same arguments give the same bytes on every platform.

    A lane leads into each lane that starts where it ends, in its direction. Where roads overlap, as at a crossing, no
    road edge separates them.

    Args:
        roads: at least one.
        vehicles: those with a goal become agents by default.
        name: of the scene.
        dt_s: duration of a step.

    Raises:
        SceneError: a value out of its range; two roads whose ends are nearer than 1 m without a lane that leads from
            one into the other; or roads above each other that are joined, or have too little clearance.
    """
    _check_items("roads", roads, Road)
    _check_items("vehicles", vehicles, Vehicle)
    if not roads:
        raise SceneError("roads has 0 roads; it must have at least 1")
    network = Network(roads)
    network.check_ends()
    parts = network.lanes.parts_of(network.as_roads(), _objects(vehicles, network))
    return validate_scene(Scene(name=name, source="build_scene", generated=False, dt_s=dt_s, origin_m=np.zeros(2),
                                **parts._asdict()))


def _check_items(name, items, kind):
    if not isinstance(items, (list, tuple)):
        raise SceneError(f"{name} is {a_type(type(items))}; it must be a list")
    for i, item in enumerate(items):
        if not isinstance(item, kind):
            raise SceneError(f"{name}[{i}] is {a_type(type(item))}; it must be {a_type(kind)}")


def _objects(vehicles, network):
    """The vehicles, in one frame."""
    # Starts and goals, (n, 4) x, y, heading, z each; of a parked vehicle the goal is the start.
    starts = np.array([_start(f"vehicles[{i}].start", vehicle.start, network) for i, vehicle in enumerate(vehicles)])
    poses = starts.reshape(-1, 4)
    goals = np.array([(*poses[i, :2], math.nan, poses[i, 3]) if vehicle.goal is None
                      else _goal(f"vehicles[{i}].goal", vehicle.goal, network)
                      for i, vehicle in enumerate(vehicles)]).reshape(-1, 4)
    # Speeds and sizes.
    numbers = {name: np.array([_number(f"vehicles[{i}].{name}", getattr(vehicle, name))
                               for i, vehicle in enumerate(vehicles)])
               for name in ("speed_mps", "length_m", "width_m", "height_m")}
    sine, cosine = sine_cosine(poses[:, 2])
    # Heights are those of the centre of the box, and 0 where the roads have none.
    half_m = numbers["height_m"] / 2
    z_m, goal_z_m = (on_grid(at[:, 3] + half_m) if network.has_heights else np.zeros(len(at)) for at in (poses, goals))
    # The one frame of the tracks; + 0.0 turns -0.0 into 0.0.
    tracks = {"x_m": on_grid(poses[:, 0]), "y_m": on_grid(poses[:, 1]), "heading_rad": _float32_rad(poses[:, 2]),
              "vx_mps": numbers["speed_mps"] * cosine + 0.0, "vy_mps": numbers["speed_mps"] * sine + 0.0,
              "z_m": z_m}
    count = len(vehicles)
    return Objects(
        id=np.arange(count, dtype=np.int64), kind=np.full(count, OBJECT_KIND_CODES["vehicle"], np.uint8),
        goal_m=on_grid(goals[:, :2]).astype(np.float32), goal_heading_rad=_float32_rad(goals[:, 2]),
        goal_z_m=goal_z_m.astype(np.float32),
        marked_expert=np.array([vehicle.goal is None for vehicle in vehicles], bool), valid=np.ones((1, count), bool),
        **{name: values.astype(np.float32) for name, values in numbers.items() if name != "speed_mps"},
        **{name: values.astype(np.float32)[None] for name, values in tracks.items()})


def _start(name, place, network):
    """x, y, heading and z of a start; what is not given is that of the lane there."""
    x_m, y_m, heading_rad, z_m = _place(name, place)
    if not (math.isnan(heading_rad) or math.isnan(z_m)):
        return x_m, y_m, heading_rad, z_m
    off_m, half_m, lane_rad, lane_z_m = _lane_at(network, x_m, y_m)
    if math.isnan(heading_rad) and off_m > half_m:
        raise SceneError(f"{name} is {off_m:.3g} m from the centre of the nearest lane; without a heading, its third "
                         f"number, it must be at most {half_m:g} m")
    return x_m, y_m, lane_rad if math.isnan(heading_rad) else heading_rad, lane_z_m if math.isnan(z_m) else z_m


def _goal(name, place, network):
    """x, y, heading and z of a goal; NaN for a heading that is not given."""
    x_m, y_m, heading_rad, z_m = _place(name, place)
    return x_m, y_m, heading_rad, _lane_at(network, x_m, y_m)[3] if math.isnan(z_m) else z_m


def _lane_at(network, x_m, y_m):
    """The distance of the nearest lane, half its width, and its direction and height there."""
    # The nearest segment of all lanes; the first of several.
    lanes, samples, z_m = network.lanes, network.lanes.samples, network.lane_heights_m()
    first = np.delete(np.arange(len(samples.xy_m)), samples.start[1:] - 1)
    a, step = samples.xy_m[first], samples.xy_m[first + 1] - samples.xy_m[first]
    from_a = np.array([x_m, y_m]) - a
    share = np.clip((from_a * step).sum(axis=1) / (step * step).sum(axis=1), 0.0, 1.0)
    off = from_a - share[:, None] * step
    nearest = int(np.argmin(off[:, 0] * off[:, 0] + off[:, 1] * off[:, 1]))
    off_m = math.sqrt(off[nearest, 0] * off[nearest, 0] + off[nearest, 1] * off[nearest, 1])
    before, part = int(first[nearest]), float(share[nearest])
    lane = part_of(samples.start, before)
    bend_rad = wrapped_rad(samples.heading_rad[before + 1] - samples.heading_rad[before])
    return (off_m, lanes.lanes[lane].width_m / 2, float(samples.heading_rad[before] + part * bend_rad),
            float(z_m[before] + part * (z_m[before + 1] - z_m[before])))


def _place(name, place):
    """x, y, heading and z of a start or goal; NaN for what is not given."""
    try:
        found = [plain(value) for value in place]
    except TypeError:
        found = []
    if not 2 <= len(found) <= 4:
        raise SceneError(f"{name} is {value_text(place)}; it must be 2 to 4 numbers: x_m, y_m, heading_rad, z_m")
    values = [_number(f"{name}[{at}]", value) for at, value in enumerate(found)]
    return (*values, *[math.nan] * (4 - len(values)))


def _number(name, value):
    found = plain(value)
    if isinstance(found, bool) or not isinstance(found, (int, float)) or not math.isfinite(found):
        raise SceneError(f"{name} is {value_text(value)}; it must be a finite number")
    return float(found)


def _float32_rad(angle_rad):
    """Angles in [-pi, pi) as float32; the nearest float32 to an angle just below pi is above it."""
    found = wrapped_rad(angle_rad).astype(np.float32)
    return np.where(found >= math.pi, np.float32(-math.pi), found)
