"""Which lanes does a stop sign apply to, if a file has only its position? Those that end in a fork beside it."""

from __future__ import annotations

import dataclasses

import numpy as np

from ..binding import lib
from .lane_links import lane_ends
from .limits import CONTROL_LIMIT, CONTROL_STATE_LIMIT
from .scene import CONTROL_KIND_CODES, ROAD_KIND_CODES, LaneGraph, Report, Roads, TrafficControls

LANE_WIDTH_M = lib.DRV_USUAL_LANE_CM / 100
"""Length of a stop line across one lane, where the file has no lane width."""

RIGHT_M = (0.5, 8.0)
"""A sign stands to the right of the nearest lane that it applies to, by so much from the centre line: traffic of these
formats drives on the right. In the samples it is 2.5 to 6.2 m."""

AHEAD_M = (-10.0, 4.0)
"""It stands so far beyond the end of that lane, which is where the paths over the junction fork. In the samples it is
5.4 m before the end to 3.2 m beyond it."""

SAME_COS = 0.94
"""Lanes that differ by less than 20 degrees lead to a junction from one side."""

NEXT_LANE_M, NEXT_AHEAD_M = 5.0, 6.0
"""A sign also applies to further lanes from that side: each at most `NEXT_LANE_M` from the lane before, with its end at
most `NEXT_AHEAD_M` ahead of or behind that of the nearest lane."""

AMBIGUOUS_M = 1.0
"""If lanes from two sides end beside a sign, and their distances to its right differ by less, it applies to none."""


def with_stop_signs(controls: TrafficControls, roads: Roads, lanes: LaneGraph, report: Report) -> TrafficControls:
    """The controls, and after them those of the stop signs among the roads; the report counts these, and the others.

    Args:
        controls: those that the file itself describes.
        roads, lanes: coordinates finite and within the limit of the validator.
    """
    # The ends of lanes that fork there.
    xy_m = np.stack([roads.x_m, roads.y_m], axis=1).astype(np.float64)
    lane, _, last, _, ahead = lane_ends(roads, xy_m)
    forks = np.diff(lanes.start)[lane] > 1
    ends = _Ends(lane[forks], xy_m[last[forks]], ahead[forks])

    # The stop line of each sign that has one.
    signs = np.flatnonzero(roads.kind == ROAD_KIND_CODES["stop_sign"])
    limit = min(CONTROL_LIMIT, CONTROL_STATE_LIMIT // max(1, len(controls.state)))
    found = [_placed(xy_m[roads.start[sign]], ends) for sign in signs[: max(0, limit - controls.count)]]
    placed = [place for place in found if place is not None]
    report.impute("stop lines of stop signs, across the lanes that end in a fork to the left of the sign", len(placed))
    if without := len(signs) - len(placed):
        report.notes.append(f"stop signs that no lane leads to, which have no effect: {without}")
    return _joined(controls, [lane for lane, _ in placed], [line_m for _, line_m in placed]) if placed else controls


@dataclasses.dataclass(frozen=True)
class _Ends:
    """(n,) road indices of lanes, (n, 2) where they end, m, and (n, 2) their directions there."""

    lane: np.ndarray
    at_m: np.ndarray
    ahead: np.ndarray


def _placed(sign_m, ends):
    """(k,) road indices of the lanes that a sign applies to, and (4,) its stop line, m; None if there are none."""
    # The lanes that end beside it, as the driver sees it.
    offset_m = sign_m - ends.at_m
    ahead_m = (offset_m * ends.ahead).sum(axis=1)
    right_m = offset_m[:, 0] * ends.ahead[:, 1] - offset_m[:, 1] * ends.ahead[:, 0]
    beside = (ahead_m >= AHEAD_M[0]) & (ahead_m <= AHEAD_M[1]) & (right_m >= RIGHT_M[0])
    near = np.flatnonzero(beside & (right_m <= RIGHT_M[1]))
    if not len(near):
        return None
    first = near[np.argmin(right_m[near])]
    same_side = ends.ahead @ ends.ahead[first] >= SAME_COS
    rivals = near[~same_side[near]]
    if len(rivals) and right_m[rivals].min() < right_m[first] + AMBIGUOUS_M:
        return None

    # That lane, and those to its left from the same side.
    along = np.flatnonzero(beside & same_side & (np.abs(ahead_m - ahead_m[first]) <= NEXT_AHEAD_M))
    along = along[np.argsort(right_m[along], kind="stable")]
    gaps_m = np.diff(right_m[along])
    guarded = along[: 1 + int(np.argmax(np.append(gaps_m > NEXT_LANE_M, True)))]

    # The line across them, beside the sign but no farther than the end of the nearest lane.
    forward, left = ends.ahead[first], np.array([-ends.ahead[first][1], ends.ahead[first][0]])
    base_m = ends.at_m[first] + min(0.0, ahead_m[first]) * forward
    half_m = LANE_WIDTH_M / 2
    far_m = right_m[guarded[-1]] - right_m[first]
    return ends.lane[guarded], np.concatenate([base_m + (far_m + half_m) * left, base_m - half_m * left])


def _joined(controls, lanes, lines_m):
    """The controls with stop signs after them."""
    count = len(lanes)

    def extended(array, more):
        return np.concatenate([array, np.asarray(more, array.dtype)])

    return TrafficControls(
        kind=extended(controls.kind, [CONTROL_KIND_CODES["stop"]] * count),
        line_m=extended(controls.line_m, lines_m),
        start=extended(controls.start, controls.start[-1] + np.cumsum([len(of_sign) for of_sign in lanes])),
        lane=extended(controls.lane, np.concatenate(lanes)),
        state=np.ascontiguousarray(np.pad(controls.state, ((0, 0), (0, count)))),
        phase_start=extended(controls.phase_start, [controls.phase_start[-1]] * count),
        phase_state=controls.phase_state, phase_s=controls.phase_s,
        offset_s=extended(controls.offset_s, [0.0] * count), junction=extended(controls.junction, [-1] * count))
