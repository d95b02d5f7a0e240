"""What of a scene and its rollouts is compared? Log, map and lights in the form of `drive_env.realism`, and poses."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ..batch import Batch
from ..errors import SceneError
from ..realism import LoggedScene, Poses, Signals
from ..roles import Roles
from ..scenes import Scene
from ..scenes.scene import CONTROL_KIND_CODES, LIGHT_STATE_CODES, ROAD_KIND_CODES
from .scores.scene_map import driven_map, has_levels

POINT_SPACING_M = 0.5
"""Largest distance between two points of a lane: with a larger one, the published search finds wrong nearest lanes."""

SIGNAL_CODES = {"off": 0, "red": 4, "yellow": 5, "green": 6}
"""Codes of the Waymo Open Motion Dataset, by what a light shows."""

POSE = ("x_m", "y_m", "heading_rad")


def evaluated_agents(roles: Roles) -> npt.NDArray[np.intp]:
    """Indices of the agents whose motion is scored: the recording vehicle and the tracks to predict.

    All agents, if none of these is an agent.
    """
    scene, agents = roles.scene, roles.objects[: roles.num_agents]
    named = np.isin(agents, [scene.sdc, *scene.tracks_to_predict])
    return np.flatnonzero(named if named.any() else np.ones_like(named))


def frame_origin_m(scene: Scene, published: bool) -> npt.NDArray[np.float64]:
    """(2,) m, added to the coordinates of a scene: with `published`, the scene's origin in the source, else 0.

    The origin of the coordinates changes nothing but the errors of the published implementation (docs/realism.md).
    """
    return np.asarray(scene.origin_m, np.float64) if published else np.zeros(2)


def check_frames(scene: Scene, current_step: int) -> None:
    """Raises a `SceneError` unless the log of a scene has a frame after `current_step`."""
    if (frames := scene.objects.frame_count) < current_step + 2:
        raise SceneError(f"scene {scene.name} has {frames} frames of {scene.dt_s:g} s; with eval.current_step "
                         f"{current_step} it must have {current_step + 2} or more")


def check_logged(roles: Roles, current_step: int, simulated_steps: int) -> None:
    """Checks that rollouts of a scene can be compared with its log.

    Args:
        roles, current_step, simulated_steps: as for `logged_scene`.

    Raises:
        SceneError: the log ends at `current_step`, it has no evaluated object after it, or the map has no road edge.
    """
    scene = roles.scene
    check_frames(scene, current_step)
    compared = slice(current_step + 1, current_step + 1 + simulated_steps)
    if not scene.objects.valid[compared, roles.objects[evaluated_agents(roles)]].any():
        raise SceneError(f"scene {scene.name} has no evaluated object that is valid after step {current_step}; it must "
                         "have one")
    if not any(len(line) > 1 for line in driven_map(scene).road_edges):
        raise SceneError(f"scene {scene.name} has no road edge; realism needs one")


def logged_scene(roles: Roles, current_step: int, simulated_steps: int, published: bool = False) -> LoggedScene:
    """The log of a scene up to `simulated_steps` after `current_step`, or to its end, with its map and its lights.

    Heights count only where roads lie above each other; elsewhere all are 0. Lights count where their states are
    logged; the state of one with a program differs from episode to episode.

    Args:
        roles: in a scene whose time step is that of the rollouts; checked by `check_logged`.
        current_step: frame at which the rollouts begin.
        simulated_steps: number of their steps.
        published: whether coordinates are those of the source, see `frame_origin_m`.
    """
    # The log, until the rollouts or the log end.
    scene, objects = roles.scene, roles.scene.objects
    steps = min(current_step + 1 + simulated_steps, objects.frame_count)
    evaluated = np.zeros(objects.count, bool)
    evaluated[roles.objects[evaluated_agents(roles)]] = True
    track, origin_m = lambda name: getattr(objects, name)[:steps].T, frame_origin_m(scene, published)
    z_m = track("z_m") if has_levels(scene) else np.zeros_like(track("z_m"))

    # The map. Signals refer to lanes by their index among the lanes.
    road_map = driven_map(scene)
    shift_m = np.array([*origin_m, 0.0])
    return LoggedScene(
        poses=Poses(track("x_m") + origin_m[0], track("y_m") + origin_m[1], z_m, track("heading_rad")),
        valid=track("valid"), kind=objects.kind,
        size_m=np.stack([objects.length_m, objects.width_m, objects.height_m], axis=1), evaluated=evaluated,
        road_edges=[line + shift_m for line in road_map.road_edges],
        lanes={lane: resampled_line(line) + shift_m for lane, line in enumerate(road_map.lanes)},
        signals=_signals(scene, steps, road_map.lanes, origin_m), current_step=current_step)


def _signals(scene: Scene, steps: int, lanes: Sequence[np.ndarray], origin_m: np.ndarray) -> Signals | None:
    """One signal for each lane of each logged light; its stop point is where the stop line crosses the lane."""
    # Lights with logged states, and their lanes.
    controls, lane_roads = scene.traffic_controls, np.flatnonzero(scene.roads.kind == ROAD_KIND_CODES["lane"])
    is_logged = (controls.kind == CONTROL_KIND_CODES["light"]) & (np.diff(controls.phase_start) == 0)
    owner = np.repeat(np.arange(controls.count), np.diff(controls.start))
    used = is_logged[owner]
    if not used.any():
        return None
    owner, lane = owner[used], np.searchsorted(lane_roads, controls.lane[used])

    # Their codes in each step, and their stop points.
    code_of = np.zeros(max(LIGHT_STATE_CODES.values()) + 1, np.int64)
    for name, code in LIGHT_STATE_CODES.items():
        code_of[code] = SIGNAL_CODES[name]
    points_m = origin_m + np.array([_stop_point_m(lanes[one], controls.line_m[control].astype(np.float64))
                                    for one, control in zip(lane.tolist(), owner.tolist(), strict=True)])
    return Signals(lane, code_of[controls.state[:steps, owner]], np.broadcast_to(points_m, (steps, *points_m.shape)))


def _stop_point_m(lane_m: np.ndarray, line_m: np.ndarray) -> np.ndarray:
    """(2,) where a stop line crosses the centre line of a lane; where it does not, the middle of the stop line."""
    left, along = line_m[:2], line_m[2:] - line_m[:2]
    start, step = lane_m[:-1, :2], np.diff(lane_m[:, :2], axis=0)
    across = step[:, 0] * along[1] - step[:, 1] * along[0]
    crosses = np.abs(across) > 0.0
    across = np.where(crosses, across, 1.0)
    to_left = left - start
    share = (to_left[:, 0] * along[1] - to_left[:, 1] * along[0]) / across
    at = (to_left[:, 0] * step[:, 1] - to_left[:, 1] * step[:, 0]) / across
    found = np.flatnonzero(crosses & (share >= 0.0) & (share <= 1.0) & (at >= 0.0) & (at <= 1.0))
    return start[found[0]] + share[found[0]] * step[found[0]] if len(found) else left + 0.5 * along


def resampled_line(line_m: np.ndarray, spacing_m: float = POINT_SPACING_M) -> np.ndarray:
    """A polyline (p, 3) with points in between, so that neighbours are at most `spacing_m` apart."""
    if len(line_m) < 2:
        return line_m
    lengths_m = np.hypot(*np.diff(line_m[:, :2], axis=0).T)
    pieces = np.maximum(np.ceil(lengths_m / spacing_m).astype(int), 1)
    at = np.concatenate([[0.0], *(index + np.arange(1, count + 1) / count for index, count in enumerate(pieces))])
    return np.stack([np.interp(at, np.arange(len(line_m)), values) for values in line_m.T], axis=1)


class RolloutCapture:
    """The poses of all objects of one scene in all worlds of a batch, step by step.

    An object that is not on the map, whose log has ended or has a gap, keeps its last pose, as in the core.

    Args:
        batch: all of its worlds play the same scene.
    """

    def __init__(self, batch: Batch) -> None:
        self._batch = batch
        self.roles = batch.roles[int(batch.scene_index[0])]
        self._frames: list[dict[str, np.ndarray]] = []

    def capture(self) -> None:
        """Adds the current poses."""
        state, count = self._batch._core.state, len(self.roles.objects)
        names = (*POSE, "z_m") if state["z_m"].shape[1] else POSE
        self._frames.append({name: state[name][:, :count].copy() for name in names})

    def poses(self, steps: int, published: bool = False) -> Poses:
        """The poses of (worlds, objects, steps), from the step after the first capture on.

        Args:
            published: as of `logged_scene`.
        """
        roles, frames = self.roles, self._frames[1 : steps + 1]
        objects = roles.scene.objects
        found = {name: np.zeros((self._batch.num_worlds, objects.count, steps), np.float32)
                 for name in (*POSE, "z_m")}
        for name in frames[0]:
            found[name][:, roles.objects] = np.stack([frame[name] for frame in frames], axis=-1)
        if "z_m" in frames[0]:  # heights of the core are those of the road, poses those of centres
            found["z_m"][:, roles.objects] += 0.5 * objects.height_m[roles.objects, None]
        for name, origin_m in zip(("x_m", "y_m"), frame_origin_m(roles.scene, published), strict=True):
            found[name] = found[name] + origin_m
        return Poses(**found)
