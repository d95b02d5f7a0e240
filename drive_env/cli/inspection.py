"""What does a scene hold? What the file or generator gave, what became of it, who would drive."""

from __future__ import annotations

import numpy as np

from ..batch import Batch
from ..errors import DriveError
from ..scenes import Scene, generate_scene, resolve_scenes
from ..scenes.generate import GENERATORS
from ..scenes.scene import OBJECT_KINDS, ROAD_KIND_CODES, ROAD_KINDS
from . import show


def run(name: str, seed: int, agents: int) -> Scene:
    scene = find_scene(name, seed, agents)
    show.facts(facts(scene))
    show.table("objects", ["", "in all", "valid at frame 0", "marked expert"], objects_by_kind(scene))
    show.table("roads", ["", "polylines", "points", "length"], roads_by_kind(scene))
    show.heading("on its way into the scene")
    show.lines(str(scene.report))
    show.heading("who plays which part, with the default config")
    show.lines(cast_report(scene))
    return scene


def find_scene(name: str, seed: int, agents: int) -> Scene:
    """The file, or the generated scene where `name` is a generator's."""
    if name in GENERATORS:
        return generate_scene(name, seed=seed, agents=agents)
    return resolve_scenes(name)[0]


def facts(scene: Scene) -> list[tuple[str, str]]:
    objects, roads = scene.objects, scene.roads
    frames = objects.frame_count
    log = f"{frames} frames of {scene.dt_s:g} s" if frames > 1 else f"none; steps of {scene.dt_s:g} s"
    lane_count = int((roads.kind == ROAD_KIND_CODES["lane"]).sum())
    found = [("scene", scene.name), ("source", scene.source), ("log", log)]
    if len(roads.x_m):
        found.append(("map", f"{np.ptp(roads.x_m):.0f} m x {np.ptp(roads.y_m):.0f} m"))
    x_m, y_m = scene.origin_m
    found += [("origin", f"({x_m:.12g}, {y_m:.12g}) m, taken off all coordinates"),
              ("lane graph", f"{lane_count} lanes, {len(scene.lanes.successor)} links")]
    if scene.sdc >= 0:
        found.append(("recording vehicle", f"object {scene.sdc}, id {objects.id[scene.sdc]}"))
    if scene.tracks_to_predict:
        found.append(("tracks to predict", str(len(scene.tracks_to_predict))))
    return found


def objects_by_kind(scene: Scene) -> list[list[str]]:
    objects = scene.objects
    return [[name, str(of_kind.sum()), str((of_kind & objects.valid[0]).sum()),
             str((of_kind & objects.marked_expert).sum())]
            for code, name in OBJECT_KINDS.items() if (of_kind := objects.kind == code).any()]


def roads_by_kind(scene: Scene) -> list[list[str]]:
    roads = scene.roads
    step_m = np.hypot(np.diff(roads.x_m), np.diff(roads.y_m))
    travelled_m = np.concatenate([[0.0], np.cumsum(step_m, dtype=np.float64)])
    length_m = travelled_m[roads.start[1:] - 1] - travelled_m[roads.start[:-1]]
    points = np.diff(roads.start)
    return [[name.replace("_", " "), str(of_kind.sum()), str(points[of_kind].sum()),
             f"{length_m[of_kind].sum():,.0f} m"]
            for code, name in ROAD_KINDS.items() if (of_kind := roads.kind == code).any()]


def cast_report(scene: Scene) -> str:
    """Who would drive; a scene that has nobody is still worth looking at."""
    try:
        with Batch(scenes=[scene]) as batch:
            return f"{batch.scene_report()}\ntrial: {batch.casts[0].trial_steps} driving steps"
    except DriveError as error:
        return str(error)
