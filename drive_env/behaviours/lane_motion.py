"""Which behaviours are changes from lane to lane? Lane changes, merges, cut-ins and overtaking."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..scenes.generate.trig import wrapped_rad
from .tracks import Track
from .trial import Trial, shared

SPACING_M = (2.5, 5.0)
"""Between the centres of lanes side by side: widths of 2.5 to 5 m."""

CENTRED_M, HALF_CHANGE_S = 0.75, 6.0
"""A lane change begins and ends within `CENTRED_M` of the centres of its two lanes, each at most `HALF_CHANGE_S` from
the time at which the line between them is crossed: Toledo and Zohar (2007) found changes of 1 to 13 s."""

MOVING_MPS = 2.0
"""Vehicles that are slower do not take part: they manoeuvre, or stand."""

PARALLEL_RAD, SAME_WAY_RAD = np.radians(20.0), np.radians(30.0)
"""Between lanes side by side, and between vehicles that drive the same way."""

JOIN_BACK_M, JOIN_BESIDE_M, JOIN_TURN_RAD = 30.0, 2.0, np.radians(45.0)
"""Where lanes join, a merging vehicle is, `JOIN_BACK_M` before the join, at least `JOIN_BESIDE_M` beside the lane that
it joins. From there to the join it turns by at most `JOIN_TURN_RAD`, less than at a junction."""

LEAST_HISTORY_M = 15.0
"""A track that begins nearer to the join does not show from where the vehicle came; one that begins between this and
`JOIN_BACK_M` is judged where it begins."""

ENDS_WITHIN_M, ENDS_EARLIER_M = 200.0, 30.0
"""A lane change is a merge if the lane joins the other one, or ends so much earlier, within this distance."""

MERGE_GAP_S, MERGE_GAP_M = 3.0, 20.0
"""To a vehicle ahead or behind on the lane that is joined: the largest time gap, and at low speeds the largest gap."""

CUT_IN_MPS, CUT_IN_GAP_S, CUT_IN_S = 5.0, 2.0, 4.0
"""The vehicle behind drives at `CUT_IN_MPS` or more. At most `CUT_IN_S` before the other one crosses the line between
the lanes, it is beside the path of the vehicle behind; at most `CUT_IN_S` after that, it is in that path, with a time
gap of at most `CUT_IN_GAP_S`."""

BESIDE_M, IN_PATH_M, STILL_IN_PATH_M = 2.5, 1.0, 1.5
"""From the path of a vehicle to the centre of another one that is beside it, of one that arrives in it, and of one that
stays in it.
"""

STAYS_S = 1.0
"""A vehicle that cuts in stays for so long."""

OTHER_ROAD_M = 30.0
"""A vehicle farther from all places of another one drives on another road, and does not overtake it."""

OVERTAKING_S, PASSING_M, SAME_LANE_M = 30.0, 1.8, 1.2
"""Longest duration of overtaking; least distance from the path of the other vehicle while beside it; largest one while
behind it and in front of it."""


class LaneChange(NamedTuple):
    """A change from one lane to one beside it: frames of the track at its start, at the line, and at its end."""

    start: int
    cross: int
    end: int
    from_lane: int
    to_lane: int


def lane_changes(trial: Trial, track: Track) -> list[LaneChange]:
    """All complete lane changes of a vehicle."""
    return trial.once(_lane_changes, track)


def _lane_changes(trial, track):
    places, lanes, found = trial.places(track), trial.lanes, []
    lane = places.lane.tolist()
    for frame in range(1, len(track)):
        old, new = lane[frame - 1], lane[frame]
        if old < 0 or new < 0 or lanes.leads_to(old, new) or abs(track.speed_mps[frame]) < MOVING_MPS:
            continue
        # The two lanes are side by side, and the vehicle is between their centres.
        old_left_m, old_heading_rad = lanes.beside(old, track.xy_m[frame])
        new_left_m = float(places.left_m[frame])
        is_between = old_left_m * new_left_m < 0.0
        is_beside = SPACING_M[0] <= abs(old_left_m - new_left_m) <= SPACING_M[1]
        angle_rad = abs(wrapped_rad(old_heading_rad - places.heading_rad[frame]))
        if not is_between or not is_beside or angle_rad > PARALLEL_RAD:
            continue
        start = _centred(lanes, places, frame - 1, -1, track.frames(HALF_CHANGE_S))
        end = _centred(lanes, places, frame, 1, track.frames(HALF_CHANGE_S))
        if start is not None and end is not None:
            found.append(LaneChange(start, frame, end, old, new))
    return found


def _centred(lanes, places, frame, step, limit):
    """The nearest frame before or after one, at the centre of the lane of that frame or of those that lead on."""
    for _ in range(limit):
        if abs(places.left_m[frame]) <= CENTRED_M:
            return frame
        following = frame + step
        if not 0 <= following < len(places.lane) or places.lane[following] < 0:
            return None
        pair = (frame, following) if step > 0 else (following, frame)
        if not lanes.leads_to(*(int(places.lane[one]) for one in pair)):
            return None
        frame = following
    return None


def lane_change(trial: Trial, track: Track) -> bool:
    """The vehicle changes from the middle of a lane to the middle of one beside it."""
    return bool(lane_changes(trial, track))


def merge(trial: Trial, track: Track) -> bool:
    """The vehicle leaves a lane that ends, or joins another one, in front of or behind a vehicle there."""
    frames = [change.cross for change in lane_changes(trial, track) if _ends_soon(trial, track, change)]
    return any(_has_traffic(trial, track, frame) for frame in frames + _joins(trial, track))


def _ends_soon(trial, track, change):
    """Whether the lane that is left ends soon, before the other one does, or joins it."""
    lanes, places = trial.lanes, trial.places(track)
    chains, left_m = [], []
    for frame, lane in ((change.cross - 1, change.from_lane), (change.cross, change.to_lane)):
        chains.append([lane, *lanes.chain(lane, ENDS_WITHIN_M)])
        left_m.append(sum(lanes.length_m[one] for one in chains[-1]) - places.along_m[frame])
    goes_on = bool(lanes.successors[chains[0][-1]])
    return not set(chains[0]).isdisjoint(chains[1]) or (
        not goes_on and left_m[0] <= ENDS_WITHIN_M and left_m[1] >= left_m[0] + ENDS_EARLIER_M)


def _joins(trial, track):
    """Frames in which the vehicle enters a lane in which another one ends as well, from its side."""
    places, lanes, found = trial.places(track), trial.lanes, []
    for frame in range(1, len(track)):
        old, new = int(places.lane[frame - 1]), int(places.lane[frame])
        if old < 0 or old == new or new not in lanes.successors[old] or len(lanes.predecessors[new]) < 2:
            continue
        before = int(np.searchsorted(track.driven_m, track.driven_m[frame] - JOIN_BACK_M))
        if track.driven_m[frame] - track.driven_m[before] < LEAST_HISTORY_M or track.speed_mps[frame] < MOVING_MPS:
            continue
        beside_m, _ = lanes.beside(new, track.xy_m[before])
        turn_rad = abs(track.heading_rad[frame] - track.heading_rad[before])
        if abs(beside_m) >= JOIN_BESIDE_M and turn_rad <= JOIN_TURN_RAD and new not in lanes.rings:
            found.append(frame)
    return found


def _has_traffic(trial, track, frame):
    """Whether a moving vehicle is ahead or behind, within the gaps of a merge, on the lane that is entered in a frame.
    """
    left, entered = (int(lane) for lane in trial.places(track).lane[frame - 1:frame + 1])
    on_lane = trial.lanes.around(entered) - {left}
    for other in trial.others(track, np.inf):  # the largest gap depends on the speed of the other one
        at = frame + track.first - other.first
        if not 0 <= at < len(other) or other.speed_mps[at] < MOVING_MPS:
            continue
        gap_m = float(np.linalg.norm(other.xy_m[at] - track.xy_m[frame])) - 0.5 * (track.length_m + other.length_m)
        limit_m = max(MERGE_GAP_M, MERGE_GAP_S * max(track.speed_mps[frame], other.speed_mps[at]))
        if gap_m <= limit_m and int(trial.places(other).lane[at]) in on_lane:
            return True
    return False


def cut_in(trial: Trial, track: Track) -> bool:
    """Another vehicle changes to the lane of this one, closely in front of it."""
    if track.speed_mps.max() < CUT_IN_MPS:
        return False
    own_changes = lane_changes(trial, track)
    back = track.frames(CUT_IN_S)
    for other in trial.others(track, CUT_IN_GAP_S * float(track.speed_mps.max()) + IN_PATH_M):
        for change in lane_changes(trial, other):
            cross = change.cross + other.first - track.first
            # A change of the vehicle's own at that time would move its path, not the other one.
            if any(abs(one.cross - cross) <= back for one in own_changes):
                continue
            if _arrives_in_front(track, other, cross, back):
                return True
    return False


def _arrives_in_front(track, other, cross, back):
    """Whether another vehicle that crosses a line between lanes in a frame was beside the path of this one before, and
    is then closely in front of it and stays there.
    """
    if (both := shared(track, other)) is None:
        return False
    own, theirs = both
    stays = track.frames(STAYS_S)
    first, end = max(own.start, cross - back), min(own.stop, cross + back + stays + 1)
    if not first < cross < end:
        return False
    frames = slice(first, end)
    others = slice(first + theirs.start - own.start, end + theirs.start - own.start)
    along_m, left_m = track.path.coordinates(other.xy_m[others])
    gap_m = along_m - track.path.coordinates(track.xy_m[frames])[0] - 0.5 * (track.length_m + other.length_m)
    turn_rad = np.abs(wrapped_rad(other.heading_rad[others] - track.heading_rad[frames]))
    speed_mps, beside_m, frame = track.speed_mps[frames], np.abs(left_m), np.arange(first, end)
    arrives = np.flatnonzero((beside_m <= IN_PATH_M) & (gap_m > 0.0) & (gap_m <= CUT_IN_GAP_S * speed_mps)
                             & (speed_mps >= CUT_IN_MPS) & (turn_rad <= SAME_WAY_RAD)
                             & (frame >= cross) & (frame <= cross + back))
    if not len(arrives) or int(arrives[0]) + stays >= len(frame):
        return False
    at = int(arrives[0])
    return bool((beside_m[:at] >= BESIDE_M).any() and (beside_m[at:at + stays + 1] <= STILL_IN_PATH_M).all())


def overtaking(trial: Trial, track: Track) -> bool:
    """The vehicle is behind a slower one on its lane, drives past it, and is in front of it on the lane."""
    return any(_overtakes(track, other) for other in trial.others(track, OTHER_ROAD_M) if _gets_ahead(track, other))


def _gets_ahead(track, other):
    """Whether a vehicle is behind another one, as that one sees it, and later ahead of it."""
    if (both := shared(track, other)) is None:
        return False
    own, theirs = both
    apart_m, heading_rad = track.xy_m[own] - other.xy_m[theirs], other.heading_rad[theirs]
    ahead_m = apart_m[:, 0] * np.cos(heading_rad) + apart_m[:, 1] * np.sin(heading_rad)
    behind = ahead_m < 0.0
    return bool(behind.any() and not behind[int(np.argmax(behind)):].all())


def _overtakes(track, other):
    """Whether a vehicle is at some time behind another one on its lane, and when it is next on that lane, in front."""
    own, theirs = shared(track, other)
    along_m, left_m = other.path.coordinates(track.xy_m[own])
    ahead_m = along_m - other.path.coordinates(other.xy_m[theirs])[0]
    both_m = 0.5 * (track.length_m + other.length_m)
    turn_rad = np.abs(wrapped_rad(other.heading_rad[theirs] - track.heading_rad[own]))
    on_lane = (np.abs(left_m) <= SAME_LANE_M) & (turn_rad <= SAME_WAY_RAD)
    behind, in_front = np.flatnonzero(on_lane & (ahead_m < -both_m)), np.flatnonzero(on_lane & (ahead_m > both_m))
    # From each last frame behind the other one to the next frame in front of it.
    frames_behind = np.searchsorted(behind, in_front)
    for at in np.flatnonzero(np.diff(frames_behind, prepend=0)).tolist():
        frames = slice(int(behind[frames_behind[at] - 1]), int(in_front[at]) + 1)
        beside = np.abs(ahead_m[frames]) <= both_m
        passes = beside.any() and (np.abs(left_m[frames])[beside] >= PASSING_M).all()
        moves = other.speed_mps[theirs][frames].min() >= MOVING_MPS
        if passes and moves and frames.stop - 1 - frames.start <= track.frames(OVERTAKING_S):
            return True
    return False
