"""How is a CommonRoad scenario read, the XML of versions 2018b and 2020a? Lanelets, obstacles and planning problems.

The vehicles of planning problems are to be driven; obstacles follow their trajectories.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import PurePath

import numpy as np

from ....errors import SceneError, value_text
from ...coordinates import bounded_float32, last_frames, origin_of, wrapped
from ...limits import DT_RANGE_S
from ...metadata import as_text, check_text
from ...scene import OBJECT_KIND_CODES, Objects, Provenance, Report, Scene
from ...sizes import imputed_sizes
from ..foreign import root_element
from ..source import Source
from .elements import parsed
from .goals import read_problems
from .lanelets import as_network, read_lanelets
from .obstacles import Track, read_obstacles
from .signals import as_controls, read_lights, read_signs, speed_limits_mps

VERSIONS = ("2018b", "2020a")

READ_TAGS = ("lanelet", "obstacle", "staticObstacle", "dynamicObstacle", "phantomObstacle", "environmentObstacle",
             "planningProblem", "trafficLight", "trafficSign", "location", "scenarioTags")

ORIGIN_CHARACTERS = 300
"""Of author, affiliation and source in the report."""

STATE_LIMIT = 1 << 22
"""States of all objects over all frames, 168 MB: a small file can claim a product that memory cannot hold."""


def has_signature(data: bytes) -> bool:
    """Whether the first element is that of a scenario."""
    return root_element(data) == "commonRoad"


def open(source: Source) -> Iterator[Scene]:
    """The one scene of a file."""
    yield read_commonroad(source.data, source.name, len(source.stored))


def read_commonroad(data: bytes, source: str, stored_bytes: int) -> Scene:
    """The scene in `data`, relative to the rounded mean of the valid positions; of a map, of the bounds of lanelets.

    Raises:
        SceneError: names the place, as in `lanelet 31: leftBound: point 3: x`, and the reason.
    """
    # The document, its version and its time step.
    root = parsed(data, stored_bytes)
    version = root.get("commonRoadVersion", "")
    if version not in VERSIONS:
        raise SceneError(f"the document: commonRoadVersion is {value_text(version)}; it must be one of "
                         f"{', '.join(VERSIONS)}")
    dt_s = _time_step_s(root)
    benchmark = root.get("benchmarkID", "")
    check_text("the document: benchmarkID", benchmark)
    report = Report(notes=[f"{name} of the scenario: {as_text(root.get(name, ''))[:ORIGIN_CHARACTERS]}"
                           for name in ("author", "affiliation", "source") if root.get(name)])

    # Its parts.
    lanelets = read_lanelets(root, report)
    tracks = read_obstacles(root, dt_s, report)
    problems = read_problems(root, lanelets, report)
    lights, signs = read_lights(root, dt_s), read_signs(root, benchmark.removeprefix("C-")[:3])
    for tag, count in Counter(element.tag for element in root if element.tag not in READ_TAGS).items():
        report.drop(f"elements {value_text(tag)}, which are not read", count)
    if not lanelets and not tracks and not problems:
        raise SceneError("the document has no lanelet, obstacle or planning problem; it must have one")

    # As a scene. The vehicles of planning problems come after the obstacles.
    everything = tracks + [Track(problem.id, "vehicle", np.nan, np.nan, False, [problem.start]) for problem in problems]
    frames = 1 + max((pose.frame for track in everything for pose in track.poses), default=0)
    if frames * len(everything) > STATE_LIMIT:
        raise SceneError(f"obstacles: {len(everything)} objects over {frames} frames; at most {STATE_LIMIT} states are "
                         "allowed")
    origin_m = _origin_m(everything, lanelets)
    objects = _objects(everything, problems, frames, origin_m, report)
    network = as_network(lanelets, speed_limits_mps(lanelets, signs), origin_m, report)
    controls = as_controls(lanelets, network.lane_of, lights, signs, frames, origin_m, report)
    return Scene(
        name=PurePath(source).stem, source=source, generated=False, dt_s=dt_s, origin_m=origin_m, objects=objects,
        roads=network.roads, lanes=network.lanes, traffic_controls=controls, scenario_id=benchmark, report=report,
        sdc=len(tracks) if problems else -1, provenance=Provenance(dataset="CommonRoad"))


def _time_step_s(root):
    text = root.get("timeStepSize", "")
    low, high = DT_RANGE_S
    try:
        found = float(text)
    except ValueError:
        found = np.nan
    if not low <= found <= high:
        raise SceneError(f"the document: timeStepSize is {value_text(text)}; it must be a number from {low:g} to "
                         f"{high:g}")
    return found


def _origin_m(tracks, lanelets):
    """(2,) float64, whole metres."""
    points_m = [[(pose.x_m, pose.y_m) for track in tracks for pose in track.poses]]
    if not points_m[0]:
        points_m = [lanelet.middle_m for lanelet in lanelets]
    x_m, y_m = np.concatenate([np.asarray(part, np.float64).reshape(-1, 2) for part in points_m]).T
    return origin_of(x_m, y_m, np.ones(len(x_m), bool))


def _objects(tracks, problems, frames, origin_m, report):
    """Obstacles, which are marked for log replay, then the vehicles of planning problems."""
    count = len(tracks)
    states = np.zeros((5, frames, count))
    valid = np.zeros((frames, count), bool)
    for index, track in enumerate(tracks):
        for pose in track.poses:
            at = slice(None) if track.stands else pose.frame
            valid[at, index] = True
            states[:, at, index] = np.reshape(
                [pose.x_m - origin_m[0], pose.y_m - origin_m[1], pose.heading_rad, pose.vx_mps, pose.vy_mps],
                (5, 1) if track.stands else 5)

    def place(axis):
        return lambda at: f"obstacle {tracks[at[1]].id}: {axis} at time {at[0]}"

    # Positions first: a faulty one has moved the origin away from everything else.
    x_m, y_m = bounded_float32(states[0], place("x")), bounded_float32(states[1], place("y"))
    kinds = [track.kind for track in tracks]
    length_m, width_m, height_m = (imputed_sizes(name, np.array(sizes, np.float64), kinds, report) for name, sizes in (
        ("length", [track.length_m for track in tracks]), ("width", [track.width_m for track in tracks]),
        ("height", [np.nan] * count)))
    # The goal of an obstacle is its last position.
    last = last_frames(valid)
    goal_m = np.stack([x_m[last, range(count)], y_m[last, range(count)]], axis=1).reshape(count, 2)
    goal_heading_rad = np.full(count, np.nan, np.float32)
    first = count - len(problems)
    for index, problem in enumerate(problems):
        goal_m[first + index] = bounded_float32(
            problem.goal_m - origin_m, lambda _, problem=problem: f"planning problem {problem.id}: its goal")
        goal_heading_rad[first + index] = wrapped(np.float64(problem.goal_heading_rad))
    return Objects(
        id=_ids(tracks, report), kind=np.array([OBJECT_KIND_CODES[kind] for kind in kinds], np.uint8),
        length_m=length_m, width_m=width_m, height_m=height_m, goal_m=goal_m.astype(np.float32),
        goal_heading_rad=goal_heading_rad, marked_expert=np.arange(count) < first, x_m=x_m, y_m=y_m,
        heading_rad=wrapped(states[2]).astype(np.float32), vx_mps=states[3].astype(np.float32),
        vy_mps=states[4].astype(np.float32), valid=valid)


def _ids(tracks, report):
    ids = np.array([track.id for track in tracks], np.int64)
    if len(np.unique(ids)) == len(ids):
        return ids
    report.notes.append("some obstacles and planning problems have the same id: the index stands for all ids")
    return np.arange(len(ids), dtype=np.int64)
