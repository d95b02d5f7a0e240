"""How does a played trial become a scene with a log? One world is captured frame by frame, as it is stepped."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np

from ..batch import Batch
from ..errors import CallError, checked_int
from ..roles import Roles
from ..scenes import Scene
from ..scenes.generate.trig import sine_cosine
from ..scenes.limits import SPEED_LIMIT_MPS
from ..scenes.scene import logged_traffic_controls, no_goal_lists, no_scripts
from ..scenes.validate import validate_scene
from ..sub_batch import check_is_whole

MOVING = ("x_m", "y_m", "z_m", "heading_rad", "speed_mps", "present")
"""Arrays of the core's state, one value a vehicle. `z_m` is empty unless roads lie above each other."""

DRIVING = 0
"""Value of the core's `status` of an agent that drives: DRV_DRIVING."""


class TrialMotion(NamedTuple):
    """What was captured of the v vehicles of a world, those of `Batch.vehicles`, over t frames.

    Attributes:
        x_m, y_m, z_m, heading_rad, speed_mps: (t, v) float32; z_m, the height of the road, is NaN where no roads lie
            above each other.
        present: (t, v) bool, on the map.
        driving: (t, agents) bool, whether an agent still drives. In the first frame in which an event has stopped or
            removed it, its pose is that of the event, even if it is no longer on the map, and its speed is 0.
        light: (t, c) uint8, what the lights showed; 0 without `traffic_controls`.
    """

    x_m: np.ndarray
    y_m: np.ndarray
    z_m: np.ndarray
    heading_rad: np.ndarray
    speed_mps: np.ndarray
    present: np.ndarray
    driving: np.ndarray
    light: np.ndarray


class TrialLog:
    """Logs one world of a batch, for `classify`, which finds the behaviours of its vehicles, and for `driven_trial`.

    Call `capture()` after `reset`, or after the step that begins a trial, and then after every step of this trial. A
    log holds one trial; the next one needs a new log. It does not change the batch.

    Args:
        batch: any batch; `env.batch` for an env.
        world: index of the world.

    Raises:
        ConfigError: the batch has no such world.
    """

    def __init__(self, batch: Batch, world: int = 0) -> None:
        check_is_whole(batch)
        self.batch, self.world = batch, checked_int("world", world, 0, batch.num_worlds - 1)
        self._frames: list[dict[str, np.ndarray]] = []
        self._trial = -1, -1

    def capture(self) -> None:
        """Adds the current state of the world as the next frame.

        Raises:
            CallError: before `reset`, in another trial than the first capture, or the batch is closed.
        """
        state = self.batch._world(self.world)  # once: each of the public methods copies the world
        now = int(state["episode"][0]), int(state["trial"][0])
        if now[0] < 0:
            raise CallError("capture was called before reset; call reset first")
        if self._frames and now != self._trial:
            raise CallError(f"trial is {_trial_text(now)}; capture logs {_trial_text(self._trial)}: make a new log for "
                            "another trial")
        if not self._frames:
            self._trial = now
            self._roles = self.batch.roles[int(state["scene_index"][0])]
            self._goal_m = np.stack([state["goal_x_m"], state["goal_y_m"]], axis=1)[:self._roles.num_agents]
        vehicles = len(self._roles.objects)
        frame = {name: state[name][:vehicles] for name in MOVING if name != "z_m"}
        frame["z_m"] = state["z_m"][:vehicles] if len(state["z_m"]) else np.full(vehicles, np.nan)
        count = self._roles.scene.traffic_controls.count
        is_shown = self.batch.config.traffic_controls
        self._frames.append(frame | {
            "light": state["light_state"][:count] if is_shown else np.zeros(count, np.uint8),
            "driving": state["status"][:self._roles.num_agents] == DRIVING})

    @property
    def roles(self) -> Roles:
        """The roles in the scene that was played.

        Raises:
            CallError: nothing was captured yet.
        """
        if not self._frames:
            raise CallError("roles was read before capture; call capture first")
        return self._roles

    def motion(self) -> TrialMotion:
        """What was captured, as arrays.

        Raises:
            CallError: nothing was captured yet.
        """
        if not self._frames:
            raise CallError("motion was called before capture; call capture first")
        arrays = {name: np.stack([frame[name] for frame in self._frames]) for name in TrialMotion._fields}
        return TrialMotion(**arrays | {"present": arrays["present"].astype(bool)})

    def scene(self) -> Scene:
        """The scene with what was captured as its log.

        It has the objects that were on the map, with the goals of the first frame. Lights have the states that they
        showed; without `traffic_controls` they are off.

        Raises:
            CallError: nothing was captured yet.
        """
        if not self._frames:
            raise CallError("scene was called before capture; call capture first")
        roles, scene = self._roles, self._roles.scene
        moving = {name: np.stack([frame[name] for frame in self._frames]) for name in self._frames[0]}
        # Those vehicles of the world that were on the map, in the order of their objects.
        was_present = np.any(moving["present"], axis=0)
        order = np.argsort(roles.objects, kind="stable")
        order = order[was_present[order]]
        kept = roles.objects[order]
        goal_m = scene.objects.goal_m.copy()
        goal_m[roles.objects[:roles.num_agents]] = self._goal_m
        index_of = {int(one): index for index, one in enumerate(kept)}
        predicted, interesting = (tuple(index_of[one] for one in named if one in index_of)
                                  for named in (scene.tracks_to_predict, scene.objects_of_interest))
        return validate_scene(dataclasses.replace(
            scene, source=f"{scene.source}, played", generated=False, dt_s=roles.dt_s,
            objects=_objects(scene.objects, kept, goal_m[kept], {name: moving[name][:, order] for name in MOVING}),
            sdc=index_of.get(scene.sdc, -1), tracks_to_predict=predicted, objects_of_interest=interesting,
            candidate_goals_m=np.zeros((0, 2), np.float32), scripts=no_scripts(), goal_lists=no_goal_lists(),
            traffic_controls=self._controls(scene.traffic_controls)))

    def _controls(self, controls):
        """The traffic controls with the captured states in place of programs."""
        return logged_traffic_controls(
            controls.kind, controls.line_m, controls.start, controls.lane,
            np.stack([frame["light"] for frame in self._frames]).astype(np.uint8))


def _trial_text(of):
    """A trial, by its index and that of its episode."""
    episode, trial = of
    return f"index {trial} of episode index {episode}"


def _objects(objects, kept, goal_m, moving):
    """These objects, with these goals and tracks."""
    valid = moving["present"].astype(bool)
    x_m, y_m, z_m, heading_rad, speed_mps = (np.where(valid, moving[name], 0.0) for name in MOVING[:-1])
    sine, cosine = sine_cosine(heading_rad)
    half_m = 0.5 * objects.height_m[kept]  # the core's heights are those of the road
    vx_mps, vy_mps = ((speed_mps * part).astype(np.float32) for part in (cosine, sine))
    for part in (vx_mps, vy_mps):  # rounded, a speed at the limit of scenes can be above it
        part[np.hypot(vx_mps, vy_mps) > SPEED_LIMIT_MPS] *= np.float32(1.0) - np.finfo(np.float32).eps
    tracks = {"x_m": x_m, "y_m": y_m, "heading_rad": heading_rad, "vx_mps": vx_mps, "vy_mps": vy_mps,
              "z_m": np.where(np.isnan(z_m), 0.0, z_m + half_m) * valid}
    fixed = {name: getattr(objects, name)[kept]
             for name in ("id", "kind", "length_m", "width_m", "height_m", "marked_expert", "goal_z_m",
                          "goal_heading_rad")}
    return dataclasses.replace(objects, **fixed, goal_m=goal_m, valid=valid,
                               **{name: track.astype(np.float32) for name, track in tracks.items()})
