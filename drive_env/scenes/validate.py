"""When is a scene valid? One check for readers, generators and scenes made by hand."""

from __future__ import annotations

import numpy as np

from ..binding import lib
from ..errors import SceneError, a_type, bound_text, outside_text, value_text
from .coordinates import first_index
from .file_layout import KINDS
from .limits import (
    CANDIDATE_LIMIT,
    CONTROL_LIMIT,
    COORDINATE_LIMIT_M,
    DT_RANGE_S,
    FRAME_LIMIT,
    LISTED_GOAL_LIMIT,
    OBJECT_LIMIT,
    POINT_LIMIT,
    SPEED_LIMIT_MPS,
)
from .metadata import encode_metadata
from .scene import (
    CONTROL_KINDS,
    LIGHT_STATES,
    OBJECT_KINDS,
    ROAD_KIND_CODES,
    ROAD_KINDS,
    GoalLists,
    LaneGraph,
    Objects,
    Provenance,
    Report,
    Roads,
    Scene,
    Scripts,
    TrafficControls,
)

CODES = {"objects.kind": OBJECT_KINDS, "roads.kind": ROAD_KINDS, "traffic_controls.kind": CONTROL_KINDS,
         "traffic_controls.state": LIGHT_STATES, "traffic_controls.phase_state": LIGHT_STATES}

KNOWN_CODES = {name: np.isin(np.arange(256), list(table)) for name, table in CODES.items()}
"""Name of an array of codes, which are bytes, to whether each byte is one of its codes."""

FLAGS = ("objects.marked_expert", "objects.valid")
"""Arrays of bool, which files store as bits or bytes."""

KINDS_OF = {part: tuple(kind for kind in KINDS if kind.name.startswith(f"{part}."))
            for part in dict.fromkeys(kind.name.partition(".")[0] for kind in KINDS)}
"""Part of a scene to the rows of the core's table that are its arrays."""

TRACKS = tuple(kind.name.partition(".")[2] for kind in KINDS
               if (kind.rows, kind.columns) == ("frame_count", "object_count"))

SEGMENT_LIMIT, SEGMENTS_PER_POINT = 1 << 19, 4
"""Limit of segments: the larger of a constant and a multiple of the points; two points can be 10,000 segments apart.
Points of real maps are closer than a segment is long."""

SQUARE_M = float(lib.DRV_SEGMENT_LIMIT_M)
"""Side of the squares in which road segments are counted, and length above which the core splits them."""

SQUARES_ACROSS = int(2 * COORDINATE_LIMIT_M / SQUARE_M) + 1
"""Squares in a line through the space of coordinates; the index of a square fits int32."""

BLOCK_SEGMENTS = 1 << 17
"""Segments whose squares are computed at a time, so that temporary arrays stay small."""

SQUARE_SEGMENT_LIMIT = 10_000
"""Segments in one square. The densest real maps have about 200; each agent scans all segments near it in every step."""


def validate_scene(scene: Scene) -> Scene:
    """Returns `scene`, unchanged, if everything holds that the core relies on.

    Raises:
        SceneError: names the scene, the place of the first fault, the value and the range.
    """
    if not isinstance(scene, Scene):
        raise SceneError(f"scene is {a_type(type(scene))}; it must be a Scene")
    try:
        _check_head(scene)
        _check_objects(scene.objects)
        _check_roads(scene.roads)
        _check_segment_density(scene.roads)
        _check_lanes(scene.lanes, scene.roads)
        _check_controls(scene.traffic_controls, scene.roads, scene.objects.frame_count)
        _check_scripts(scene.scripts, scene.objects.count)
        _check_goal_lists(scene.goal_lists, scene.objects.count, len(scene.candidate_goals_m))
        _check_references(scene)
    except SceneError as error:
        raise SceneError(f"scene {value_text(scene.name)}: {error}") from None
    return scene


def _check_head(scene):
    _check_type("name", scene.name, str)
    _check_type("source", scene.source, str)
    _check_type("scenario_id", scene.scenario_id, str)
    _check_type("generated", scene.generated, bool)
    _check_type("objects", scene.objects, Objects)
    _check_type("roads", scene.roads, Roads)
    _check_type("lanes", scene.lanes, LaneGraph)
    _check_type("traffic_controls", scene.traffic_controls, TrafficControls)
    _check_type("scripts", scene.scripts, Scripts)
    _check_type("goal_lists", scene.goal_lists, GoalLists)
    _check_type("report", scene.report, Report)
    _check_type("provenance", scene.provenance, Provenance)
    low, high = DT_RANGE_S
    is_number = isinstance(scene.dt_s, (int, float)) and not isinstance(scene.dt_s, bool)
    if not is_number or not low <= scene.dt_s <= high:
        raise SceneError(f"dt_s is {scene.dt_s!r}; it must be a number from {low:g} to {high:g}")
    _check_array("origin_m", scene.origin_m, np.float64, (2,))
    if not np.isfinite(scene.origin_m).all():
        raise SceneError(f"origin_m is {scene.origin_m.tolist()}; it must be finite")
    _check_array("candidate_goals_m", scene.candidate_goals_m, np.float32, (None, 2))
    _check_count("candidate goals", len(scene.candidate_goals_m), 0, CANDIDATE_LIMIT)
    _check_range("candidate_goals_m", scene.candidate_goals_m, -COORDINATE_LIMIT_M, COORDINATE_LIMIT_M)
    encode_metadata(scene)  # raises unless a file can hold its texts


def _check_arrays(part_name, part, sizes):
    """Type, shape and range of each array of a part of the scene, as the core's table of sections has them.

    Args:
        sizes: the lengths of axes, by their names in the table.
    """
    for kind in KINDS_OF[part_name]:
        if kind.name == "objects.valid":  # a file packs it; the caller checks it
            continue
        array = getattr(part, kind.name.partition(".")[2])
        shape = tuple(sizes[axis] for axis in (kind.rows, kind.columns) if axis)
        _check_array(kind.name, array, np.bool_ if kind.name in FLAGS else np.dtype(kind.type), shape)
        if kind.name in CODES:
            _check_codes(kind.name, array)
        elif array.dtype.kind == "f":
            _check_range(kind.name, array, kind.low, kind.high, kind.may_be_nan)


def _check_objects(objects):
    # Sizes, then every array.
    _check_array("objects.id", objects.id, np.int64, (None,))
    _check_array("objects.valid", objects.valid, np.bool_, (None, objects.count))
    _check_count("objects", objects.count, 0, OBJECT_LIMIT)
    _check_count("frames", objects.frame_count, 1, FRAME_LIMIT)
    _check_arrays("objects", objects, {
        "object_count": objects.count, "frame_count": objects.frame_count, "2": 2})

    # Ids are unique; states that are not valid are 0.
    ids, counts = np.unique(objects.id, return_counts=True)
    if (counts > 1).any():
        raise SceneError(f"objects.id {ids[counts > 1][0]} occurs {counts.max()} times; each must be unique")
    for name in TRACKS:
        values = getattr(objects, name)
        stale = (values != 0) & ~objects.valid
        if stale.any():
            at = first_index(stale)
            raise SceneError(f"objects.{name}{list(at)} is {values[at]:g} where valid is False; it must be 0 there")
    # Speeds, from both components.
    speed_mps = np.hypot(objects.vx_mps, objects.vy_mps)
    if (speed_mps > SPEED_LIMIT_MPS).any():
        at = first_index(speed_mps > SPEED_LIMIT_MPS)
        raise SceneError(f"objects.vx_mps and vy_mps{list(at)} are a speed of "
                         f"{outside_text(speed_mps[at], 0.0, SPEED_LIMIT_MPS)} m/s; it must be at most "
                         f"{SPEED_LIMIT_MPS:g}")


def _check_roads(roads):
    _check_array("roads.id", roads.id, np.int64, (None,))
    _check_array("roads.x_m", roads.x_m, np.float32, (None,))
    _check_count("roads", roads.count, 0, POINT_LIMIT)
    _check_count("road points", len(roads.x_m), 0, POINT_LIMIT)
    _check_arrays("roads", roads, {
        "road_count": roads.count, "road_count + 1": roads.count + 1, "point_count": len(roads.x_m)})
    _check_starts("roads.start", roads.start, len(roads.x_m), fewest=1)


def _check_segment_density(roads):
    """Limits the segments of at most `SQUARE_M` into which the roads are split, in total and in one square."""
    # A road of one point and a repeated point count as a segment each: a slightly high count does no harm.
    pieces = _pieces_of_steps(roads)
    alone = roads.start[:-1][np.diff(roads.start) == 1]
    total, points = int(pieces.sum(dtype=np.int64)) + len(alone), len(roads.x_m)
    limit = min(POINT_LIMIT, max(SEGMENT_LIMIT, SEGMENTS_PER_POINT * points))
    if total > limit:
        raise SceneError(f"its roads have {total} segments of at most {SQUARE_M:g} m, from {points} points; "
                         f"at most {limit} are allowed")
    if total <= SQUARE_SEGMENT_LIMIT:
        return
    ends = np.cumsum(pieces, dtype=np.int32)
    # The square of every segment, block by block to save memory.
    squares = np.concatenate([np.empty(total - len(alone), np.int32), _squares(roads.x_m[alone], roads.y_m[alone])])
    for first in range(0, total - len(alone), BLOCK_SEGMENTS):
        block = squares[first : min(first + BLOCK_SEGMENTS, total - len(alone))]
        block[:] = _squares(*_middles_m(roads, pieces, ends, first, len(block)))
    # In sorted order, an entry that equals the one `SQUARE_SEGMENT_LIMIT` further on is a square above the limit.
    squares.sort()
    over_limit = squares[SQUARE_SEGMENT_LIMIT:][squares[SQUARE_SEGMENT_LIMIT:] == squares[:-SQUARE_SEGMENT_LIMIT]]
    if len(over_limit):
        found, counts = np.unique(over_limit, return_counts=True)
        column, row = divmod(int(found[np.argmax(counts)]), SQUARES_ACROSS)
        raise SceneError(f"its roads have {counts.max() + SQUARE_SEGMENT_LIMIT} segments in the square of "
                         f"{SQUARE_M:g} m at ({column * SQUARE_M - COORDINATE_LIMIT_M:g}, "
                         f"{row * SQUARE_M - COORDINATE_LIMIT_M:g}) m; at most {SQUARE_SEGMENT_LIMIT} are allowed")


def _pieces_of_steps(roads):
    """(p - 1,) int32, segments between every point and the next; 0 where a road ends."""
    if len(roads.x_m) < 2:
        return np.zeros(0, np.int32)
    step_m = np.subtract(roads.x_m[1:], roads.x_m[:-1], dtype=np.float64)
    np.hypot(step_m, np.subtract(roads.y_m[1:], roads.y_m[:-1], dtype=np.float64), out=step_m)
    step_m /= SQUARE_M
    pieces = np.ceil(step_m, out=step_m).astype(np.int32).clip(1)
    pieces[roads.start[1:-1] - 1] = 0
    return pieces


def _middles_m(roads, pieces, ends, first, count):
    """x and y of the middles of so many segments in a row."""
    segment = np.arange(first, first + count)
    step = np.searchsorted(ends, segment, side="right")
    share = (segment - ends[step] + pieces[step] + 0.5) / pieces[step]
    return tuple(at_m[step] + share * (at_m[step + 1].astype(np.float64) - at_m[step])
                 for at_m in (roads.x_m, roads.y_m))


def _squares(x_m, y_m):
    """(n,) int32, the index of the square of every place."""
    column, row = (np.floor((at_m + COORDINATE_LIMIT_M) / SQUARE_M).astype(np.int32) for at_m in (x_m, y_m))
    return column * SQUARES_ACROSS + row


def _check_lanes(lanes, roads):
    _check_array("lanes.successor", lanes.successor, np.int32, (None,))
    _check_count("links of lanes", len(lanes.successor), 0, POINT_LIMIT)
    _check_arrays("lanes", lanes, {"road_count + 1": roads.count + 1, "link_count": len(lanes.successor)})
    _check_starts("lanes.start", lanes.start, len(lanes.successor), fewest=0)
    _check_lane_indices("lanes.successor", lanes.successor, roads)
    own = np.repeat(np.arange(roads.count), np.diff(lanes.start)) == lanes.successor
    if own.any():
        at = first_index(own)[0]
        raise SceneError(f"lanes.successor[{at}] is road {lanes.successor[at]}, the lane itself; "
                         "it must be another lane")
    has_successors = np.diff(lanes.start) > 0
    is_lane = roads.kind == ROAD_KIND_CODES["lane"]
    if (has_successors & ~is_lane).any():
        road = first_index(has_successors & ~is_lane)[0]
        raise SceneError(f"road {road} is of kind {ROAD_KINDS[int(roads.kind[road])]} and has successors; "
                         "only lanes have them")


def _check_lane_indices(name, index, roads):
    _check_range(name, index, 0, roads.count - 1)
    is_lane = roads.kind == ROAD_KIND_CODES["lane"]
    if not is_lane[index].all():
        at = first_index(~is_lane[index])[0]
        road = index[at]
        raise SceneError(f"{name}[{at}] is road {road} of kind {ROAD_KINDS[int(roads.kind[road])]}; it must be a lane")


def _check_controls(controls, roads, frame_count):
    _check_array("traffic_controls.kind", controls.kind, np.uint8, (None,))
    _check_array("traffic_controls.lane", controls.lane, np.int32, (None,))
    _check_array("traffic_controls.phase_state", controls.phase_state, np.uint8, (None,))
    _check_count("traffic_controls", controls.count, 0, CONTROL_LIMIT)
    _check_count("lanes of controls", len(controls.lane), 0, POINT_LIMIT)
    _check_count("phases of lights", len(controls.phase_state), 0, POINT_LIMIT)
    _check_arrays("traffic_controls", controls, {
        "control_count": controls.count, "control_count + 1": controls.count + 1, "4": 4, "frame_count": frame_count,
        "controlled_count": len(controls.lane), "phase_count": len(controls.phase_state)})
    _check_starts("traffic_controls.start", controls.start, len(controls.lane), fewest=0)
    _check_starts("traffic_controls.phase_start", controls.phase_start, len(controls.phase_state), fewest=0)
    _check_lane_indices("traffic_controls.lane", controls.lane, roads)
    _check_range("traffic_controls.junction", controls.junction, -1, controls.count - 1)


def _check_scripts(scripts, object_count):
    _check_array("scripts.object", scripts.object, np.int32, (None,))
    _check_arrays("scripts", scripts, {"script_count": scripts.count, "4": 4})
    _check_objects_in_order("scripts.object", scripts.object, object_count, step=1)
    for name in ("group", "option"):
        _check_range(f"scripts.{name}", getattr(scripts, name), 0, scripts.count - 1)


def _check_goal_lists(lists, object_count, candidate_count):
    _check_array("goal_lists.object", lists.object, np.int32, (None,))
    _check_array("goal_lists.repeating", lists.repeating, np.int32, (None,))
    _check_count("goals in lists", lists.count, 0, LISTED_GOAL_LIMIT)
    _check_arrays("goal_lists", lists, {
        "listed_count": lists.count, "2": 2, "repeating_count": len(lists.repeating)})
    _check_objects_in_order("goal_lists.object", lists.object, object_count, step=0)
    _check_objects_in_order("goal_lists.repeating", lists.repeating, object_count, step=1)
    without = ~np.isin(lists.repeating, lists.object)
    if without.any():
        at = first_index(without)[0]
        raise SceneError(f"goal_lists.repeating[{at}] is {lists.repeating[at]}; it must be an object in "
                         "goal_lists.object")
    if candidate_count and lists.count:
        raise SceneError(f"it has {candidate_count} candidate goals and {lists.count} goals in lists; it must have "
                         "only one of the two")


def _check_objects_in_order(name, index, object_count, step):
    """Indices of objects, each at least `step` above the one before."""
    _check_range(name, index, 0, object_count - 1)
    low = np.diff(index) < step
    if low.any():
        at = first_index(low)[0]
        raise SceneError(f"{name}[{at + 1}] is {index[at + 1]} after {index[at]}; "
                         f"objects must {'ascend' if step else 'not descend'}")


def _check_references(scene):
    count = scene.objects.count
    if isinstance(scene.sdc, bool) or not isinstance(scene.sdc, int) or not -1 <= scene.sdc < count:
        raise SceneError(f"sdc is {scene.sdc!r}; it must be an object index from 0 to {count - 1}, "
                         "or -1 (unknown)")
    for name in ("tracks_to_predict", "objects_of_interest"):
        _check_type(name, getattr(scene, name), tuple)
        _check_count(f"entries in {name}", len(getattr(scene, name)), 0, OBJECT_LIMIT)
        for index in getattr(scene, name):
            if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < count:
                raise SceneError(f"{name} holds {index!r}; it must hold object indices from 0 to {count - 1}")


def _check_type(name, value, kind):
    if not isinstance(value, kind):
        raise SceneError(f"{name} is {a_type(type(value))}; it must be {a_type(kind)}")


def _check_array(name, array, dtype, shape):
    """None in `shape` allows any length."""
    _check_type(name, array, np.ndarray)
    if array.dtype != dtype:
        raise SceneError(f"{name} is {array.dtype}; it must be {np.dtype(dtype)}")
    fits = array.ndim == len(shape) and all(
        allowed is None or found == allowed for found, allowed in zip(array.shape, shape, strict=True))
    if not fits:
        allowed = "(" + ", ".join("any" if size is None else str(size) for size in shape) + ")"
        raise SceneError(f"{name} has shape {array.shape}; it must have shape {allowed}")


def _check_count(name, found, low, high):
    if not low <= found <= high:
        raise SceneError(f"it has {found} {name}; it must have {low} to {high}")


def _check_range(name, values, low, high, may_be_nan=False):
    # NaN compares as False, so it is out of every range.
    fits = (values >= low) & (values <= high)
    if may_be_nan:
        fits |= np.isnan(values)
    if not fits.all():
        at = first_index(~fits)
        raise SceneError(f"{name}{list(at)} is {outside_text(values[at], low, high)}; "
                         f"it must be from {bound_text(low)} to {bound_text(high)}{', or nan' if may_be_nan else ''}")


def _check_codes(name, codes):
    known = KNOWN_CODES[name][codes]
    if not known.all():
        at = first_index(~known)
        allowed = ", ".join(f"{code} {kind}" for code, kind in CODES[name].items())
        raise SceneError(f"{name}{list(at)} is {codes[at]}; it must be one of {allowed}")


def _check_starts(name, start, total, fewest):
    if start[0] != 0 or start[-1] != total:
        raise SceneError(f"{name} runs from {start[0]} to {start[-1]}; it must run from 0 to {total}")
    short = start[1:] < start[:-1].astype(np.int64) + fewest
    if short.any():
        at = first_index(short)[0]
        raise SceneError(f"{name}[{at + 1}] is {start[at + 1]} after {start[at]}; "
                         f"it must be at least {fewest} above it")
