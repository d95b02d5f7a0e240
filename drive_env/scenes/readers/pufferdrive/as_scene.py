"""How do the contents of a PufferDrive `.bin` become a scene? Checked, relative to an origin, missing parts imputed."""

from __future__ import annotations

import math
from pathlib import PurePath

import numpy as np

from ....errors import SceneError, bound_text, outside_text
from ...coordinates import (
    SENTINEL_M,
    UNWRAPPED_LIMIT_RAD,
    bounded_float32,
    first_index,
    last_frames,
    note_unwrapped,
    origin_of,
    origin_of_map,
    relative,
    time_major,
    wrapped,
)
from ...lane_links import graph_of, link_lanes
from ...levels import report_levels
from ...limits import COORDINATE_LIMIT_M, SIZE_RANGE_M, SPEED_LIMIT_MPS
from ...runs import part_of, starts_of
from ...scene import OBJECT_KIND_CODES, ROAD_KIND_CODES, Objects, Provenance, Report, Roads, Scene
from ...sizes import imputed_sizes, is_absent, note_wide_vehicles
from ...stop_signs import with_stop_signs
from ..source import WAYMO_DT_S
from .contents import Contents
from .controls import as_controls


def as_scene(contents: Contents, source: str) -> Scene:
    """The scene that a file holds, unvalidated.

    Coordinates are relative to the rounded mean of the valid positions, of a map to that of the points of its roads,
    subtracted in float64.

    Raises:
        SceneError: names the entity, its byte and the reason.
    """
    report = Report()
    if contents.dt_s is None:
        report.impute(f"dt_s {WAYMO_DT_S:g}, absent from the file")
    ids = _ids(contents, report)
    for reason, count in contents.dropped.items():
        report.drop(reason, count)
    for reason, count in contents.imputed.items():
        report.impute(reason, count)

    # Keep the objects that are valid at some frame.
    kept = np.flatnonzero(contents.valid.any(axis=1))
    report.drop("objects valid at no frame", len(contents.valid) - len(kept))
    _check_states(contents, kept)
    tracks = contents.tracks
    origin_m = (origin_of(tracks["x"][kept], tracks["y"][kept], contents.valid[kept]) if len(kept)
                else origin_of_map(*(relative(contents.points(contents.roads, axis), 0.0) for axis in range(2))))
    objects = _objects(contents, kept, ids, origin_m, report)
    roads, index_of_road = _roads(contents, origin_m, report)
    report_levels(roads, report)
    lanes = _lanes(contents, roads, index_of_road, report)
    frames = objects.frame_count
    controls = with_stop_signs(as_controls(contents, roads, index_of_road, frames, origin_m, report), roads, lanes,
                               report)
    return Scene(
        name=PurePath(source).stem, source=source, generated=False, dt_s=contents.dt_s or WAYMO_DT_S, origin_m=origin_m,
        objects=objects, roads=roads, lanes=lanes, traffic_controls=controls, scenario_id=contents.scenario_id,
        report=report, provenance=Provenance(dataset=contents.dataset), **_references(contents, kept, report))


def _ids(contents, report):
    """(n,) int64, all different: those of the file, or else the indices in it."""
    if contents.id is not None and len(np.unique(contents.id)) == len(contents.id):
        return contents.id
    if contents.id is not None:
        report.notes.append("some objects have the same id: the index in the file stands for all ids")
    report.impute("object ids: the index in the file", len(contents.kind))
    return np.arange(len(contents.kind), dtype=np.int64)


def _references(contents, kept, report):
    """The fields of a `Scene` that hold object indices."""
    index_of = {int(old): new for new, old in enumerate(kept)}

    def kept_of(indices, name):
        found = list(dict.fromkeys(index for index in indices if index >= 0))
        report.drop(f"{name} outside the objects of the file, or valid at no frame",
                    sum(index not in index_of for index in found))
        return tuple(index_of[index] for index in found if index in index_of)

    return {"sdc": next(iter(kept_of([-1 if contents.sdc is None else contents.sdc], "sdc_track_index")), -1),
            "tracks_to_predict": kept_of(contents.predicted or (), "tracks_to_predict"),
            "objects_of_interest": kept_of(contents.of_interest or (), "objects_of_interest")}


# ---- objects ----


def _place(contents, index):
    return f"object {index} at byte {contents.object_at[index]}"


def _check_states(contents, kept):
    """Valid states and sizes of the kept objects must be in range."""
    valid = contents.valid[kept]
    for name, limit in (("x", math.inf), ("y", math.inf), ("z", COORDINATE_LIMIT_M),
                        ("vx", SPEED_LIMIT_MPS), ("vy", SPEED_LIMIT_MPS),
                        ("heading", UNWRAPPED_LIMIT_RAD)):
        values = contents.tracks[name][kept]
        wrong = valid & ~(np.isfinite(values) & (np.abs(values) <= limit))
        if wrong.any():
            index, frame = first_index(wrong)
            allowed = "finite" if limit == math.inf else f"from {bound_text(-limit)} to {bound_text(limit)}"
            raise SceneError(f"{_place(contents, kept[index])}: {name} at frame {frame} is "
                             f"{outside_text(values[index, frame], -limit, limit)}; where valid it must be "
                             f"{allowed}")
    speed_mps = np.zeros(valid.shape)
    speed_mps[valid] = np.hypot(contents.tracks["vx"][kept][valid], contents.tracks["vy"][kept][valid])
    if (speed_mps > SPEED_LIMIT_MPS).any():
        index, frame = first_index(speed_mps > SPEED_LIMIT_MPS)
        raise SceneError(f"{_place(contents, kept[index])}: vx and vy at frame {frame} are a speed of "
                         f"{outside_text(speed_mps[index, frame], 0.0, SPEED_LIMIT_MPS)}; where valid it must be at "
                         f"most {SPEED_LIMIT_MPS:g}")
    low, high = SIZE_RANGE_M
    for name, sizes_m in contents.sizes.items():
        # NaN compares as False; an absent size is imputed.
        fits = is_absent(sizes_m[kept]) | ((sizes_m[kept] >= low) & (sizes_m[kept] <= high))
        if not fits.all():
            index = kept[first_index(~fits)[0]]
            raise SceneError(f"{_place(contents, index)}: {name} is {outside_text(sizes_m[index], low, high)}; it must "
                             f"be {low:g} to {high:g}")


def _objects(contents, kept, ids, origin_m, report):
    valid = contents.valid[kept]

    def track(name, offset=0.0):
        values = np.zeros(valid.shape)
        values[valid] = contents.tracks[name][kept][valid].astype(np.float64) - offset
        return values

    def position_place(at):
        return f"{_place(contents, kept[at[0]])}: its position at frame {at[1]}"

    # Positions first: a faulty one has moved the origin away from everything else.
    x_m = bounded_float32(track("x", origin_m[0]), position_place)
    y_m = bounded_float32(track("y", origin_m[1]), position_place)
    kinds = [contents.kind[index] for index in kept]
    length_m, width_m, height_m = (imputed_sizes(name, contents.sizes[name][kept], kinds, report)
                                   for name in ("length", "width", "height"))
    note_wide_vehicles(length_m, width_m, kinds, report, lambda at: f"object {kept[at]}")
    note_unwrapped(track("heading"), valid, report)
    goal_m, goal_z_m = _goals(contents, kept, origin_m, report)
    return Objects(
        id=ids[kept], kind=np.array([OBJECT_KIND_CODES[kind] for kind in kinds], np.uint8),
        length_m=length_m, width_m=width_m, height_m=height_m, goal_m=goal_m, goal_z_m=goal_z_m,
        marked_expert=contents.marked_expert[kept],
        x_m=time_major(x_m), y_m=time_major(y_m), z_m=time_major(track("z")),
        heading_rad=time_major(wrapped(track("heading"))), vx_mps=time_major(track("vx")),
        vy_mps=time_major(track("vy")), valid=np.ascontiguousarray(valid.T))


def _goals(contents, kept, origin_m, report):
    """(k, 2) and (k,) float32, goals relative to the origin and their heights; missing ones are imputed."""
    goal = contents.goal[kept]
    missing = (goal[:, :2] == SENTINEL_M).all(axis=1)
    if missing.any():
        report.impute("goals: the last valid position", missing.sum())
        last = last_frames(contents.valid[kept].T)
        ends = np.stack([contents.tracks[name][kept, last] for name in "xyz"], axis=1)
        goal = np.where(missing[:, None], ends, goal)

    def goal_place(at):
        return f"{_place(contents, kept[at[0]])}: its goal"

    return (bounded_float32(relative(goal[:, :2], origin_m), goal_place),
            bounded_float32(relative(goal[:, 2], 0.0), goal_place))


# ---- map ----


def _roads(contents, origin_m, report):
    """The roads that have points and a known kind, and the index of each among these by that in the file, or -1."""
    parts = contents.roads
    known = [index for index, road in enumerate(parts) if road.kind]
    report.drop("roads of an unknown kind", len(parts) - len(known))
    kept = [index for index in known if parts[index].point_count]
    report.drop("roads without points", len(known) - len(kept))
    if not contents.has_road_ids:
        report.impute("road ids: the index in the file", len(kept))
    start = starts_of([parts[index].point_count for index in kept])
    chosen = [parts[index] for index in kept]

    def points(axis, offset_m):
        def point_place(at):
            road = part_of(start, at[0])
            return f"road {kept[road]} at byte {chosen[road].at}: point {at[0] - start[road]}"

        return bounded_float32(relative(contents.points(chosen, axis), offset_m), point_place)

    roads = Roads(
        id=np.array([road.id for road in chosen], np.int64),
        kind=np.array([ROAD_KIND_CODES[road.kind] for road in chosen], np.uint8),
        start=start, x_m=points(0, origin_m[0]), y_m=points(1, origin_m[1]), z_m=points(2, 0.0),
        width_m=np.array([road.width for road in chosen], np.float32),
        speed_limit_mps=np.array([max(0.0, road.speed_limit) for road in chosen], np.float32))
    index_of = np.full(len(parts), -1, np.int32)
    index_of[kept] = np.arange(len(kept))
    return roads, index_of


def _lanes(contents, roads, index_of_road, report):
    """The lane graph of the file; if it has none, that of lanes that end where another starts."""
    if all(road.exits is None for road in contents.roads):
        lanes = link_lanes(roads)
        report.impute("lane successors, from lanes that end where another starts", len(lanes.successor))
        return lanes
    is_lane = roads.kind == ROAD_KIND_CODES["lane"]
    pairs, listed = {}, 0
    for index, road in enumerate(contents.roads):
        for after in () if road.exits is None else road.exits.tolist():
            listed += 1
            before, behind = index_of_road[index], index_of_road[after] if 0 <= after < len(contents.roads) else -1
            if before >= 0 and behind >= 0 and before != behind and is_lane[behind]:
                pairs[int(before), int(behind)] = True
    report.drop("exits of lanes that are no other lane, or are repeated", listed - len(pairs))
    return graph_of([before for before, _ in pairs], [after for _, after in pairs], roads.count)
