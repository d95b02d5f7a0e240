"""How is the packaged scene `example_log` made? A map, scripts of pedestrians and cyclists, cars driven by rule.

`python tests/helpers/example_log.py` writes the file of the package again.

A crossing with traffic lights lies 110 m west of a T-junction with a stop sign. Pedestrians and cyclists follow
scripts, cars are driven by `LaneDriver`, which reacts to them. What happens in 20 s is captured as the log.
"""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np

from drive_env import Batch, DriveConfig, Scene, save_scene
from drive_env.behaviours import TrialLog
from drive_env.behaviours.street import driven, frames_of, speeds
from drive_env.drivers import LaneDriver
from drive_env.scenes import LaneGraph, Objects, Provenance, Roads, TrafficControls
from drive_env.scenes.generate.forks import FRAME_S
from drive_env.scenes.generate.lights import Control, controls_of
from drive_env.scenes.generate.placing import draw_sizes
from drive_env.scenes.generate.rng import Rng
from drive_env.scenes.generate.roadnet import (
    AHEAD, EAST, HEADING_RAD, NORTH, SOUTH, WEST, CrossSection, RoadNet, on_grid, roads_of)
from drive_env.scenes.packaged import PACKAGED
from drive_env.scenes.scene import LIGHT_STATE_CODES, OBJECT_KIND_CODES
from drive_env.scenes.validate import validate_scene

NAME = "example_log"
DURATION_S = 20.0
FRAMES = frames_of(DURATION_S)

SECTION = CrossSection(lane_width_m=3.5, lanes=1)
CENTRES_M = [(0.0, 0.0), (110.0, 0.0)]
"""Of the crossing with lights and of the T-junction."""

ARM_M = 60.0
"""Length of the lanes of streets that end."""

RIGHT_M = SECTION.offset_m(0)
"""From the middle of a street to the centres of its lanes."""

WEST_END, NORTH_END, SOUTH_END = (-65.0, RIGHT_M), (RIGHT_M, 65.0), (-RIGHT_M, -65.0)
EAST_END, SIDE_END = (175.0, -RIGHT_M), (CENTRES_M[1][0] - RIGHT_M, -65.0)
"""Goals of cars: near the ends of the streets that lead away from both junctions, SIDE_END on the minor road."""


class Car(NamedTuple):
    """A car that is driven to a goal, from `along_m` on a street: x of one that runs east or west, else y."""

    heading: int
    along_m: float
    speed_mps: float
    goal_m: tuple[float, float]
    street_m: float = 0.0
    """The other coordinate of the middle of the street."""


SIDE_STREET_M = CENTRES_M[1][0]

CARS = (
    Car(SOUTH, 52.0, 8.0, EAST_END),                    # the sdc: waits at a red light, then turns left
    Car(NORTH, -32.0, 7.0, NORTH_END),                  # the oncoming car, first at its light
    Car(NORTH, -48.0, 8.0, EAST_END),                   # behind it, turns right after the sdc
    Car(SOUTH, 36.0, 7.0, SOUTH_END),                   # in front of the sdc
    Car(EAST, -30.0, 7.0, EAST_END),                    # follows a cyclist at green
    Car(EAST, -44.0, 7.0, SOUTH_END),                   # turns right, for which it lets a pedestrian pass
    Car(EAST, -60.0, 8.0, EAST_END),
    Car(WEST, 36.0, 9.0, WEST_END),                     # passes the light at green
    Car(WEST, 72.0, 9.0, SOUTH_END),                    # stops at red, behind a cyclist
    Car(WEST, 150.0, 10.0, WEST_END),
    Car(WEST, 170.0, 10.0, SIDE_END),                   # turns left into the minor road
    Car(EAST, 88.0, 9.0, EAST_END),
    Car(NORTH, -30.0, 7.0, WEST_END, SIDE_STREET_M),    # stops at the stop sign, then turns left
    Car(NORTH, -48.0, 7.0, EAST_END, SIDE_STREET_M),
)


class Script(NamedTuple):
    """An object that moves along a straight line: each part of its motion has a duration in s and an acceleration."""

    kind: str
    start_m: tuple[float, float]
    heading: int
    start_mps: float
    parts: tuple[tuple[float, float], ...]
    limit_mps: float


SIZES_M = {"pedestrian": (0.6, 0.6, 1.75), "cyclist": (1.8, 0.7, 1.75)}
"""Length, width and height."""

CROSSWALK_M, CROSSWALK_WIDTH_M = 7.5, 2.5
"""From the centre of a junction to the middle of a crosswalk, inside of the stop line; and its width."""

KERB_M = 6.5
"""From the middle of a street to where a pedestrian waits beside a crosswalk."""

WALK_MPS, WALKED_M = 1.4, 2 * KERB_M


def _walker(start_m: tuple[float, float], heading: int, leaves_s: float, walked_m: float = WALKED_M) -> Script:
    """A pedestrian who waits until `leaves_s`, walks, and waits again; speeds change within one frame."""
    gain_mps2 = WALK_MPS / FRAME_S
    parts = ((leaves_s, 0.0), (FRAME_S, gain_mps2), (walked_m / WALK_MPS, 0.0), (FRAME_S, -gain_mps2))
    return Script("pedestrian", start_m, heading, 0.0, parts, WALK_MPS)


CYCLIST_RIGHT_M = RIGHT_M + 1.0
"""From the middle of a street to a cyclist: right of the centre of the lane."""

SCRIPTS = (
    _walker((-KERB_M, -CROSSWALK_M), EAST, 1.5),             # with green for west and east
    _walker((KERB_M, CROSSWALK_M), WEST, 2.0),
    _walker((CROSSWALK_M, -KERB_M), NORTH, 10.5),            # with green for north and south
    _walker((-CROSSWALK_M, KERB_M), SOUTH, 11.5),
    _walker((60.0, KERB_M), WEST, 0.0, 40.0),                # along the street
    _walker((CENTRES_M[1][0] - KERB_M, -CROSSWALK_M), EAST, 3.0),
    Script("cyclist", (-8.0, -CYCLIST_RIGHT_M), EAST, 5.0, (), 5.0),
    Script("cyclist", (55.0, CYCLIST_RIGHT_M), WEST, 5.0, ((6.0, 0.0), (5.0, -1.0)), 5.0),     # stops at red
)

GREEN_S, YELLOW_S, ALL_RED_S = 6.5, 3.5, 1.5
"""Of the lights of west and east, before those of north and south have green for the rest of the log."""

SDC = 0
PREDICTED = (0, 1, 5, 10, 12, 14, 20)
"""Cars that turn, one that the sdc lets pass, a pedestrian and a cyclist who cross."""

INTERACTING = (0, 1)


def example_log() -> Scene:
    """The scene, whose goals are the last logged positions."""
    played = _played(_staged())
    objects = played.objects
    # Cars that reached their goals were removed there; all others are still on their way when the log ends.
    last = objects.frame_count - 1 - np.argmax(objects.valid[::-1], axis=0)
    each = np.arange(objects.count)
    goal_m = np.stack([objects.x_m[last, each], objects.y_m[last, each]], axis=1)
    return validate_scene(dataclasses.replace(
        played, name=NAME, source=NAME, scenario_id=NAME,
        objects=dataclasses.replace(objects, goal_m=goal_m, marked_expert=np.zeros(objects.count, bool)),
        provenance=Provenance("drive-env", "MIT", converter="tests/helpers/example_log.py of drive-env")))


def _played(scene: Scene) -> Scene:
    """The scene with what happens in it as its log."""
    config = DriveConfig(action_type="continuous", traffic_controls=True, trial_steps=FRAMES - 1)
    with Batch(scene, config=config, threads=1) as batch:
        batch.reset(seed=0)
        driver, log = LaneDriver(batch, overtakes=False), TrialLog(batch)
        log.capture()
        for _ in range(FRAMES - 1):
            batch.step(driver.act_all())
            log.capture()
    return log.scene()


def _staged() -> Scene:
    """The map with all objects: the cars in frame 0 alone, the others in all frames."""
    net = RoadNet(SECTION, CENTRES_M, [{EAST: 1, NORTH: None, WEST: None, SOUTH: None},
                                       {WEST: 0, EAST: None, SOUTH: None}], ARM_M)
    roads, graph = _with_markings(net)
    return validate_scene(Scene(
        name=NAME, source=NAME, generated=True, dt_s=FRAME_S, origin_m=np.zeros(2), objects=_objects(), roads=roads,
        lanes=graph, sdc=SDC, tracks_to_predict=PREDICTED, objects_of_interest=INTERACTING,
        traffic_controls=_controls(net)))


def _with_markings(net: RoadNet) -> tuple[Roads, LaneGraph]:
    """The roads of the net, with crosswalks and the post of the stop sign."""
    arms = [(centre_m, arm) for centre_m, arms in ((CENTRES_M[0], range(4)), (CENTRES_M[1], (SOUTH,))) for arm in arms]
    post_m = _beside(CENTRES_M[1], SOUTH, SECTION.half_box_m, SECTION.half_road_m + 0.5)
    markings = [*(("crosswalk", _crosswalk(*arm)) for arm in arms), ("stop_sign", [post_m])]
    own, more = net.roads(), roads_of(markings, 0.0)
    joined = {name: np.concatenate([getattr(own, name), getattr(more, name)])
              for name in ("kind", "x_m", "y_m", "width_m", "speed_limit_mps")}
    roads = Roads(id=np.arange(own.count + more.count, dtype=np.int64),
                  start=np.concatenate([own.start, own.start[-1] + more.start[1:]]).astype(np.int32), **joined)
    graph = net.graph()
    links = np.full(more.count, graph.start[-1], np.int32)
    return roads, LaneGraph(np.concatenate([graph.start, links]), graph.successor)


def _crosswalk(centre_m, arm):
    """The outline of a crosswalk across an arm, closed."""
    near_m, far_m = (CROSSWALK_M + side * CROSSWALK_WIDTH_M / 2 for side in (-1, 1))
    half_m = SECTION.half_road_m
    corners = [(near_m, -half_m), (far_m, -half_m), (far_m, half_m), (near_m, half_m), (near_m, -half_m)]
    return [_beside(centre_m, arm, *corner) for corner in corners]


def _beside(centre_m, arm, out_m, left_m):
    """The point `out_m` from a centre along an arm, then `left_m` to the left."""
    (x, y), (ux, uy), (lx, ly) = centre_m, AHEAD[arm], AHEAD[(arm + 1) % 4]
    return x + out_m * ux + left_m * lx, y + out_m * uy + left_m * ly


def _controls(net: RoadNet) -> TrafficControls:
    """The logged lights of the crossing and the stop sign of the minor road."""
    at_lights = dict(zip((EAST, NORTH, WEST, SOUTH), net.approaches(0), strict=True))
    sign = net.approaches(1)[-1]
    controls = controls_of([*(Control("light", one.line_m, one.lanes) for one in at_lights.values()),
                            Control("stop", sign.line_m, sign.lanes)])
    # East and west have green first, then north and south.
    times_s = FRAME_S * np.arange(FRAMES)
    first = np.select([times_s < GREEN_S, times_s < GREEN_S + YELLOW_S], ["green", "yellow"], "red")
    second = np.where(times_s < GREEN_S + YELLOW_S + ALL_RED_S, "red", "green")
    shown = [[LIGHT_STATE_CODES[str(state)] for state in states] for states in (first, second)]
    state = np.zeros((FRAMES, controls.count), np.uint8)
    for light, arm in enumerate(at_lights):
        state[:, light] = shown[arm in (NORTH, SOUTH)]
    return dataclasses.replace(controls, state=state)


def _objects() -> Objects:
    """Cars, then pedestrians and cyclists."""
    cars, scripts, count = len(CARS), len(SCRIPTS), len(CARS) + len(SCRIPTS)
    x_m, y_m, vx_mps, vy_mps, heading_rad = np.zeros((5, FRAMES, count))
    # Where cars begin: on the right of the middle of their street.
    for index, car in enumerate(CARS):
        (ux, uy), (rx, ry) = AHEAD[car.heading], AHEAD[(car.heading + 3) % 4]
        x_m[:, index] = abs(ux) * car.along_m + abs(uy) * car.street_m + RIGHT_M * rx
        y_m[:, index] = abs(uy) * car.along_m + abs(ux) * car.street_m + RIGHT_M * ry
        vx_mps[:, index], vy_mps[:, index] = ux * car.speed_mps, uy * car.speed_mps
    # The motion of the others in every frame.
    for index, script in enumerate(SCRIPTS, cars):
        (ux, uy), speed_mps = AHEAD[script.heading], speeds(script.start_mps, script.parts, FRAMES, script.limit_mps)
        moved_m = driven(0.0, speed_mps)
        x_m[:, index], y_m[:, index] = script.start_m[0] + ux * moved_m, script.start_m[1] + uy * moved_m
        vx_mps[:, index], vy_mps[:, index] = ux * speed_mps, uy * speed_mps
    heading_rad[:] = [HEADING_RAD[one.heading] for one in (*CARS, *SCRIPTS)]
    valid = np.ones((FRAMES, count), bool)
    valid[1:, :cars] = False

    def track(values):
        return np.where(valid, values, 0.0).astype(np.float32)

    # Sizes of cars are drawn, as in generated scenes.
    sizes_m = np.concatenate([np.stack(draw_sizes(Rng(0), cars), axis=1),
                              np.array([SIZES_M[script.kind] for script in SCRIPTS], np.float32)])
    goal_m = np.stack([x_m[-1], y_m[-1]], axis=1)
    goal_m[:cars] = [car.goal_m for car in CARS]
    kinds = [OBJECT_KIND_CODES[kind] for kind in ["vehicle"] * cars + [script.kind for script in SCRIPTS]]
    return Objects(
        id=np.arange(1, count + 1, dtype=np.int64), kind=np.array(kinds, np.uint8),
        length_m=sizes_m[:, 0].copy(), width_m=sizes_m[:, 1].copy(), height_m=sizes_m[:, 2].copy(),
        goal_m=on_grid(goal_m).astype(np.float32), marked_expert=np.arange(count) >= cars, x_m=track(on_grid(x_m)),
        y_m=track(on_grid(y_m)), heading_rad=track(heading_rad), vx_mps=track(vx_mps), vy_mps=track(vy_mps),
        valid=valid)


def main() -> None:
    save_scene(example_log(), PACKAGED[NAME])


if __name__ == "__main__":
    main()
