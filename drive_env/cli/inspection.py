"""What does a scene hold? Its arrays by kind, the differences from its source, the agent roles."""

from __future__ import annotations

import os

import numpy as np

from ..batch import Batch
from ..errors import ConfigError, DriveError, printable
from ..scenes import Scene, generate_scene
from ..scenes.file_layout import KINDS
from ..scenes.readers.drv import describe_drv, has_signature
from ..scenes.resolve import is_generator, is_name, read_scenes
from ..scenes.scene import OBJECT_KINDS, ROAD_KIND_CODES, ROAD_KINDS, control_counts
from . import show

SPAN_LIMIT = 12
"""Spans of ids in one line; real files have a few, a hostile one can have one per object."""


def run(name: str, seed: int, agents: int | None, index: int) -> Scene:
    """Prints what a scene holds and returns it; the arguments are those of `find`."""
    scene, data = find(name, seed, agents, index)
    show_choice(name, index, scene)
    show.facts(facts(scene))
    if has_signature(data):
        describe_file(data, scene)
    show.table("objects", ["", "total", "valid at frame 0", "marked expert"], objects_by_kind(scene))
    show.table("roads", ["", "polylines", "points", "length"], roads_by_kind(scene))
    show.heading("differences from the source")
    show.lines(str(scene.report))
    show.heading("agent roles, with the default config")
    show.lines(roles_report(scene))
    return scene


def find(name: str, seed: int, agents: int | None, index: int) -> tuple[Scene, bytes]:
    """The scene of a file, or of that index in a folder, and the decompressed bytes of its file; or the scene of a
    generator's name, with so many vehicles (None: its default), and no bytes.
    """
    if is_generator(name):
        if index:
            raise ConfigError(f"--index is {index}; {name} is a generator, whose scenes --seed selects")
        return generate_scene(name, seed=seed, agents=agents), b""
    count = 0
    for count, (source, scene) in enumerate(read_scenes(name), 1):
        if count == index + 1:
            return scene, source.data
    raise ConfigError(f"--index is {index}; {name} holds {show.plural(count, 'scene')}, so it must be from 0 to "
                      f"{count - 1}")


def find_scene(name: str, seed: int, agents: int | None, index: int) -> Scene:
    """The scene of a file or of a generator's name, or of that index in a folder, which is then printed."""
    scene = find(name, seed, agents, index)[0]
    show_choice(name, index, scene)
    return scene


def show_choice(name: str, index: int, scene: Scene) -> None:
    """Prints which scene of a folder is taken."""
    if not is_name(name) and os.path.isdir(name):
        show.lines(printable(f"{name}: scene {index}, {scene.source}"))


def describe_file(data: bytes, scene: Scene) -> None:
    """Shows what a `.drv` file holds besides the scene."""
    header, sections = describe_drv(data)
    names = {kind.code: kind.name for kind in KINDS}
    show.heading(f".drv {header['major']}.{header['minor']}, {len(data):,} bytes")
    show.facts([(key.replace("_", " "), text.splitlines()[0] if text else "not stated")
                for key, text in vars(scene.provenance).items()])
    show.table("sections", ["", "at byte", "elements", "bytes", "CRC-32"], [
        [names.get(int(section["code"]), f"code {section['code']}, skipped"), str(section["offset"]),
         str(section["count"]), str(section["bytes"]), f"{section['crc']:08x}"] for section in sections])
    if len(scene.provenance.licence.splitlines()) > 1:
        show.heading("licence")
        show.lines(scene.provenance.licence)


def facts(scene: Scene) -> list[tuple[str, str]]:
    """What a scene is: its source, log, map, lane graph, and objects with a special part."""
    objects, roads = scene.objects, scene.roads
    frames = objects.frame_count
    log = (f"{frames} frames of {scene.dt_s:g} s, from 0 to {(frames - 1) * scene.dt_s:g} s" if frames > 1
           else f"none; steps of {scene.dt_s:g} s")
    lane_count = int((roads.kind == ROAD_KIND_CODES["lane"]).sum())
    found = [("scene", scene.name), ("source", scene.source)]
    if scene.scenario_id:
        found.append(("scenario id", scene.scenario_id))
    found.append(("log", log))
    if len(roads.x_m):
        found.append(("map", extent(roads.x_m, roads.y_m, scene.origin_m)))
    if objects.valid.any():
        found.append(("traffic", extent(objects.x_m[objects.valid], objects.y_m[objects.valid], scene.origin_m)))
    x_m, y_m = scene.origin_m
    found += [("origin", f"({x_m:.12g}, {y_m:.12g}) m, subtracted from all coordinates"),
              ("lane graph", f"{show.plural(lane_count, 'lane')}, {show.plural(len(scene.lanes.successor), 'link')}"),
              ("object ids", spans(objects.id))]
    if scene.sdc >= 0:
        found.append(("recording vehicle", f"object {scene.sdc}, id {objects.id[scene.sdc]}"))
    for name, chosen in (("tracks to predict", scene.tracks_to_predict),
                         ("objects of interest", scene.objects_of_interest)):
        if chosen:
            found.append((name, f"{len(chosen)}: ids {spans(objects.id[list(chosen)])}"))
    found += [(word, str(count)) for word, count in control_counts(scene).items()]
    if scene.scripts.count:
        found.append(("scripts", f"{scene.scripts.count}: ids {spans(objects.id[scene.scripts.object])}"))
    return found + facts_of_goals(scene)


def facts_of_goals(scene: Scene) -> list[tuple[str, str]]:
    """The goals beyond one position per object, of a scene that has any."""
    objects, lists = scene.objects, scene.goal_lists
    found = []
    if len(scene.candidate_goals_m):
        found.append(("candidate goals", str(len(scene.candidate_goals_m))))
    if lists.count:
        found.append(("goal lists", f"{show.plural(lists.count, 'goal')} of ids {spans(objects.id[lists.object])}"))
    if len(lists.repeating):
        found.append(("repeating lists", f"ids {spans(objects.id[lists.repeating])}"))
    headings = int((~np.isnan(np.concatenate([objects.goal_heading_rad, lists.goal_heading_rad]))).sum())
    if headings:
        found.append(("goal headings", show.plural(headings, "goal")))
    return found


def extent(x_m, y_m, origin_m) -> str:
    """Size, and range in the coordinates of the source."""
    (west, east), (south, north) = ((values.min() + offset, values.max() + offset)
                                    for values, offset in ((x_m, origin_m[0]), (y_m, origin_m[1])))
    return f"{np.ptp(x_m):.0f} m x {np.ptp(y_m):.0f} m, x {west:.1f} to {east:.1f}, y {south:.1f} to {north:.1f}"


def spans(ids) -> str:
    """Integers in ascending order, consecutive ones as a span: 3, 5-8."""
    ids = np.unique(ids)
    if not len(ids):
        return "none"
    first = np.flatnonzero(np.concatenate([[True], ids[1:] != ids[:-1] + 1]))
    last = np.append(first[1:], len(ids)) - 1
    texts = [str(ids[a]) if a == b else f"{ids[a]}-{ids[b]}" for a, b in zip(first, last, strict=True)]
    more = [f"and {len(ids) - first[SPAN_LIMIT]} more"] if len(texts) > SPAN_LIMIT else []
    return ", ".join(texts[:SPAN_LIMIT] + more)


def objects_by_kind(scene: Scene) -> list[list[str]]:
    """Rows of a table: objects of each kind that occurs."""
    objects = scene.objects
    return [[name, str(of_kind.sum()), str((of_kind & objects.valid[0]).sum()),
             str((of_kind & objects.marked_expert).sum())]
            for code, name in OBJECT_KINDS.items() if (of_kind := objects.kind == code).any()]


def roads_by_kind(scene: Scene) -> list[list[str]]:
    """Rows of a table: polylines, points and length of each kind that occurs."""
    roads = scene.roads
    step_m = np.hypot(np.diff(roads.x_m), np.diff(roads.y_m))
    travelled_m = np.concatenate([[0.0], np.cumsum(step_m, dtype=np.float64)])
    length_m = travelled_m[roads.start[1:] - 1] - travelled_m[roads.start[:-1]]
    points = np.diff(roads.start)
    return [[name.replace("_", " "), str(of_kind.sum()), str(points[of_kind].sum()),
             f"{length_m[of_kind].sum():,.0f} m"]
            for code, name in ROAD_KINDS.items() if (of_kind := roads.kind == code).any()]


def roles_report(scene: Scene) -> str:
    """The agent roles; for a scene in which nothing could drive, the error that a batch raises."""
    try:
        with Batch(scenes=[scene]) as batch:
            return f"{batch.scene_report()}\ntrial: {batch.roles[0].trial_steps} driving steps"
    except DriveError as error:
        return str(error)
