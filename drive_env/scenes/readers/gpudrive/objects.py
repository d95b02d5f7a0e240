"""How are the objects of a GPUDrive JSON read? Every field is checked; missing ones are imputed and reported.

`position[{x, y, z}]`, `heading[]`, `velocity[{x, y}]`, `valid[]`, one entry per frame, and `width length height
goalPosition{x, y, z} type id mark_as_expert`. Old files have no ids, z, height or mark_as_expert. A map has no objects.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import chain

import numpy as np

from ....errors import SceneError, outside_text
from ...coordinates import (
    RAW_LIMIT_M,
    SENTINEL_M,
    UNWRAPPED_LIMIT_RAD,
    bounded_float32,
    first_index,
    last_frames,
    time_major,
    wrapped,
)
from ...json_text import column, expected, member, numbers, one_of, whole_number
from ...limits import COORDINATE_LIMIT_M, FRAME_LIMIT, OBJECT_LIMIT, SIZE_RANGE_M, SPEED_LIMIT_MPS
from ...scene import OBJECT_KIND_CODES, Objects, Report
from ...sizes import imputed_sizes, is_absent, note_wide_vehicles

OBJECT_TYPES = {"vehicle": "vehicle", "pedestrian": "pedestrian", "cyclist": "cyclist", "other": "other",
                "unset": "other"}
OBJECT_FIELDS = ("position", "heading", "velocity", "valid", "width", "length", "height", "goalPosition", "type", "id",
                 "mark_as_expert")

HEADING_LIMIT_DEG = 720.0
"""Old files are in degrees and not normalised; beyond two turns a heading is a fault."""

TRACK_FIELDS = ("position", "heading", "velocity", "valid")
"""The lists with one entry per frame."""

ID_RANGE = (-(2**63), 2**63 - 1)


@dataclass(frozen=True, eq=False)
class Tracks:
    """The n objects of a file over t frames, unchanged; float64, NaN where an optional field is missing."""

    kind: list[str]
    id: list[int]
    has_ids: bool
    width_m: np.ndarray
    length_m: np.ndarray
    height_m: np.ndarray
    goal_m: np.ndarray
    goal_z_m: np.ndarray
    marked_expert: np.ndarray
    x_m: np.ndarray
    y_m: np.ndarray
    z_m: np.ndarray
    heading: np.ndarray
    vx_mps: np.ndarray
    vy_mps: np.ndarray
    valid: np.ndarray


def read_tracks(entries: list, is_old: bool, report: Report) -> Tracks:
    """The objects of a file, each field checked. A file without objects has one frame.

    Args:
        is_old: whether the file may have headings in degrees.

    Raises:
        SceneError: names the place, as in `objects[3].position[17].x`, and the reason.
    """
    if len(entries) > OBJECT_LIMIT:
        raise SceneError(f"objects has {len(entries)} entries; it must have 0 to {OBJECT_LIMIT}")
    for index, entry in enumerate(entries):
        expected(entry, dict, f"objects[{index}]")
    frames = _frame_count(entries, report)

    def flat(name):
        return list(chain.from_iterable(entry[name][:frames] for entry in entries))

    def place(name):
        return lambda at: f"objects[{at // frames}].{name}[{at % frames}]"

    def matrix(values):
        return values.reshape(-1, frames)

    # Concatenate the states of all objects, one list per field; check kinds and ids.
    positions, velocities = flat("position"), flat("velocity")
    kinds = [one_of(_field(entries, index, "type"), OBJECT_TYPES, f"objects[{index}].type")
             for index in range(len(entries))]
    report.impute("kind other of objects whose type is unset", kinds.count("unset"))
    ids = _ids(entries)
    if ids is None:
        report.impute("object ids: the index in the file", len(entries))
    goal_m, goal_z_m = _goals(entries)

    # Check every number while the lists become (n, t) arrays, then ranges of valid states.
    tracks = Tracks(
        kind=[OBJECT_TYPES[kind] for kind in kinds], id=ids or list(range(len(entries))), has_ids=ids is not None,
        width_m=_sizes(entries, "width", "needed"), length_m=_sizes(entries, "length", "needed"),
        height_m=_sizes(entries, "height", "optional"), goal_m=goal_m, goal_z_m=goal_z_m,
        marked_expert=_expert_marks(entries, report),
        x_m=matrix(column(positions, "x", place("position"))), y_m=matrix(column(positions, "y", place("position"))),
        z_m=matrix(column(positions, "z", place("position"), default=0.0)),
        heading=matrix(numbers(flat("heading"), place("heading"))),
        vx_mps=matrix(column(velocities, "x", place("velocity"))),
        vy_mps=matrix(column(velocities, "y", place("velocity"))), valid=matrix(_flags(flat("valid"), place("valid"))))
    _check_valid_states(tracks, is_old)
    _check_sizes(tracks)
    return tracks


def as_objects(tracks: Tracks, kept: np.ndarray, heading_rad: np.ndarray, origin_m: np.ndarray,
               report: Report) -> Objects:
    """The kept objects, those valid at some frame, relative to the origin.

    Raises:
        SceneError: a position or a goal lies too far from the origin.
    """
    valid = tracks.valid[kept]

    def track(values, offset=0.0):
        return np.where(valid, np.where(valid, values[kept], 0.0) - offset, 0.0)

    def position(values, axis, offset_m):
        def place(at):
            return f"objects[{kept[at[0]]}].position[{at[1]}].{axis}"

        return time_major(bounded_float32(track(values, offset_m), place))

    # Check positions first: a faulty one has moved the origin away from everything else.
    x_m, y_m = position(tracks.x_m, "x", origin_m[0]), position(tracks.y_m, "y", origin_m[1])
    goal_m, goal_z_m = _goals_near(tracks, kept, origin_m, report)
    kinds = [tracks.kind[index] for index in kept]
    length_m, width_m, height_m = (imputed_sizes(name, getattr(tracks, f"{name}_m")[kept], kinds, report)
                                   for name in ("length", "width", "height"))
    note_wide_vehicles(length_m, width_m, kinds, report, lambda at: f"objects[{kept[at]}]")
    return Objects(
        id=np.array([tracks.id[index] for index in kept], np.int64),
        kind=np.array([OBJECT_KIND_CODES[kind] for kind in kinds], np.uint8),
        length_m=length_m, width_m=width_m, height_m=height_m,
        goal_m=goal_m, goal_z_m=goal_z_m, marked_expert=tracks.marked_expert[kept],
        x_m=x_m, y_m=y_m, z_m=position(tracks.z_m, "z", 0.0), heading_rad=time_major(wrapped(track(heading_rad))),
        vx_mps=time_major(track(tracks.vx_mps)), vy_mps=time_major(track(tracks.vy_mps)),
        valid=np.ascontiguousarray(valid.T))


def report_sentinels(tracks: Tracks, report: Report) -> None:
    """Notes how many valid states have the position that marks invalid ones."""
    marked = tracks.valid & (tracks.x_m == SENTINEL_M) & (tracks.y_m == SENTINEL_M)
    if marked.any():
        report.notes.append(f"valid states at the position of invalid ones, ({SENTINEL_M:g}, {SENTINEL_M:g}): "
                            f"{int(marked.sum())}")


# ---- fields ----


def _field(entries, index, name):
    if name not in entries[index]:
        raise SceneError(f"objects[{index}] has no {name!r}")
    return entries[index][name]


def _frame_count(entries, report):
    """The length of most tracks, the smaller of two that are equally frequent. A list may have one entry more."""
    if not entries:
        return 1
    lengths = [[len(member(entry, name, list, f"objects[{index}]")) for name in TRACK_FIELDS]
               for index, entry in enumerate(entries)]
    counts = Counter(of_object[0] for of_object in lengths)
    frames = min(counts, key=lambda length: (-counts[length], length))
    if not 1 <= frames <= FRAME_LIMIT:
        index = next(index for index, of_object in enumerate(lengths) if of_object[0] == frames)
        raise SceneError(f"objects[{index}].position has {frames} entries; it must have 1 to {FRAME_LIMIT}")
    for index, of_object in enumerate(lengths):
        for name, found in zip(TRACK_FIELDS, of_object, strict=True):
            if found not in (frames, frames + 1):
                raise SceneError(f"objects[{index}].{name} has {found} entries; it must have {frames}, as most "
                                 f"tracks, or {frames + 1}, of which the last is dropped")
    report.drop("last frames of tracks that are one frame longer than the others",
                sum(max(of_object) > frames for of_object in lengths))
    return frames


def _flags(values, place):
    if not set(map(type, values)) <= {bool}:
        at = next(at for at, value in enumerate(values) if type(value) is not bool)
        expected(values[at], bool, place(at))
    return np.array(values, bool)


def _sizes(entries, name, needed):
    """(n,) float64; NaN where an optional size is missing."""
    sizes = np.full(len(entries), np.nan)
    for index, entry in enumerate(entries):
        if needed == "needed" or name in entry:
            value = _field(entries, index, name)
            sizes[index] = numbers([value], lambda _, index=index: f"objects[{index}].{name}")[0]
    return sizes


def _goals(entries):
    """(n, 2) and (n,) float64, the goals and their heights; NaN where there is none."""
    goals_m, goals_z_m = np.full((len(entries), 2), np.nan), np.full(len(entries), np.nan)
    having = [index for index, entry in enumerate(entries) if "goalPosition" in entry]
    if having:
        goals = [entries[index]["goalPosition"] for index in having]

        def place(at):
            return f"objects[{having[at]}].goalPosition"

        goals_z_m[having] = column(goals, "z", place, default=0.0)
        goals_z_m[[index for index, goal in zip(having, goals, strict=True) if "z" not in goal]] = np.nan
        goals_m[having] = np.stack([column(goals, "x", place), column(goals, "y", place)], axis=1)
    goals_m[(goals_m == SENTINEL_M).all(axis=1)] = np.nan
    return goals_m, goals_z_m


def _expert_marks(entries, report):
    marks = [member(entry, "mark_as_expert", bool, f"objects[{index}]") if "mark_as_expert" in entry else None
             for index, entry in enumerate(entries)]
    report.impute("mark_as_expert false, absent from the file", marks.count(None))
    return np.array([mark is True for mark in marks], bool)


def _ids(entries):
    """One integer per object, all different; None if no object has one."""
    if not any("id" in entry for entry in entries):
        return None
    first_of = {}
    for index in range(len(entries)):
        found = whole_number(_field(entries, index, "id"), *ID_RANGE, f"objects[{index}].id")
        if found in first_of:
            raise SceneError(f"objects[{index}].id is {found}, as is objects[{first_of[found]}].id; each must be "
                             "unique")
        first_of[found] = index
    return list(first_of)


# ---- ranges ----


def _check_valid_states(tracks, is_old):
    """Valid states must be in range; invalid ones hold the sentinel, or any other number."""
    heading_limit, unit = (HEADING_LIMIT_DEG, "") if is_old else (
        UNWRAPPED_LIMIT_RAD, ", in radians, as in every file with metadata, ids or heights")
    for name, values, limit in (
            ("position[{}].x", tracks.x_m, RAW_LIMIT_M), ("position[{}].y", tracks.y_m, RAW_LIMIT_M),
            ("position[{}].z", tracks.z_m, COORDINATE_LIMIT_M),
            ("heading[{}]", tracks.heading, heading_limit),
            ("velocity[{}].x", tracks.vx_mps, SPEED_LIMIT_MPS), ("velocity[{}].y", tracks.vy_mps, SPEED_LIMIT_MPS)):
        wrong = tracks.valid & (np.abs(values) > limit)
        if wrong.any():
            index, frame = first_index(wrong)
            raise SceneError(f"objects[{index}].{name.format(frame)} is "
                             f"{outside_text(values[index, frame], -limit, limit)}; where valid it must be {-limit:g} "
                             f"to {limit:g}{unit if values is tracks.heading else ''}")
    speed_mps = np.zeros(tracks.valid.shape)
    speed_mps[tracks.valid] = np.hypot(tracks.vx_mps[tracks.valid], tracks.vy_mps[tracks.valid])
    if (speed_mps > SPEED_LIMIT_MPS).any():
        index, frame = first_index(speed_mps > SPEED_LIMIT_MPS)
        raise SceneError(f"objects[{index}].velocity[{frame}] is a speed of "
                         f"{outside_text(speed_mps[index, frame], 0.0, SPEED_LIMIT_MPS)}; where valid it must be at "
                         f"most {SPEED_LIMIT_MPS:g}")


def _check_sizes(tracks):
    """Sizes of objects that are valid at some frame; an absent size is imputed."""
    low, high = SIZE_RANGE_M
    ever_valid = tracks.valid.any(axis=1)
    for name in ("width", "length", "height"):
        sizes = getattr(tracks, f"{name}_m")
        wrong = ever_valid & ~is_absent(sizes) & ((sizes < low) | (sizes > high))
        if wrong.any():
            index = int(np.argmax(wrong))
            raise SceneError(f"objects[{index}].{name} is {outside_text(sizes[index], low, high)}; it must be "
                             f"{low:g} to {high:g}")


# ---- imputed fields ----


def _goals_near(tracks, kept, origin_m, report):
    """(k, 2) and (k,) float32, the goals relative to the origin and their heights; missing ones are imputed."""
    goals_m = tracks.goal_m[kept]
    missing = np.isnan(goals_m[:, 0])
    report.impute("goals: the last valid position", missing.sum())
    last = last_frames(tracks.valid[kept].T)
    ends_m = np.stack([tracks.x_m[kept, last], tracks.y_m[kept, last]], axis=1)
    goals_z_m = tracks.goal_z_m[kept]
    goals_z_m = np.where(missing | np.isnan(goals_z_m), tracks.z_m[kept, last], goals_z_m)
    return (bounded_float32(np.where(missing[:, None], ends_m, goals_m) - origin_m,
                            lambda at: f"objects[{kept[at[0]]}].goalPosition.{'xy'[at[1]]}"),
            bounded_float32(goals_z_m, lambda at: f"objects[{kept[at[0]]}].goalPosition.z"))
