"""How is the current state of a world drawn? The whole scene, or one agent with its observation."""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..batch import Batch
from ..config import varied_parameters
from ..errors import CallError, ConfigError, checked_int, plain, value_text
from ..names import named_arguments
from ..sub_batch import check_is_whole
from . import colours
from .box import Box, box_of, checked_box
from .camera import Camera, fitted
from .canvas import Canvas
from .controls import draw_controls
from .drawn import draw_candidates, draw_scripts
from .ground import Ground
from .observation import decode_observation
from .overlay import (
    draw_ego_text,
    draw_observed_controls,
    draw_observed_goal,
    draw_observed_goals,
    draw_observed_roads,
    draw_observed_vehicles,
)
from .panel import NO_BARS, draw_bottom, draw_top, panel_sizes
from .snapshot import Snapshot, take_snapshot
from .traffic import (
    draw_agent_indices,
    draw_goal_indices,
    draw_goals,
    draw_next_goals,
    draw_trails,
    draw_vehicles,
)

VIEWS = ("scene", "follow")
"""The whole scene, or the surroundings of one agent."""

SIDE_LIMITS_PX = (160, 7680)
BARE_SIDE_PX = 32
"""Smallest side of a picture without bars; the text of bars needs `SIDE_LIMITS_PX`."""

SPAN_LIMITS_M = (5.0, 2000.0)
"""Height of the "follow" view: from about one car to a small town."""

TRAIL_S = 3.0
"""Long enough to show a turn; longer trails tangle."""


class _Backdrop(NamedTuple):
    """What all frames of a scene share: the map, the initial picture, and the camera of the whole scene."""

    ground: Ground
    picture: np.ndarray
    camera: Camera


class SceneView:
    """Draws one world of a batch without changing it; steps cost the same as without a view.

    Trails, and the boxes of past trials, are made from earlier calls of `frame`.

    Args:
        batch: any batch.
        world: index of the world.
        size: width and height of the picture, pixels; each at least 160, or at least 32 without bars.
        view: "scene", north up; or "follow", the agent's heading up, with its observation as an overlay.
        agent: index in the world of the agent that "follow" shows.
        span_m: height of the "follow" view, m.
        box_m: low x, low y, high x and high y of the area that "scene" shows, m; the picture can show more on two
            sides. None: all starts, logs and goals, and of a generated scene the whole map.
        bars: whether the picture has the bars with trial and clock above, and legend and scale below.
        agent_colours: whether in "scene" each driving agent, its trail and its goal have one of six colours, by its
            index, in place of that of the state "driving".

    Raises:
        MissingExtraError: the packages of the extra `render` are not installed.
        ConfigError: an argument is out of its range.
    """

    @named_arguments
    def __init__(self, batch: Batch, world: int = 0, size: tuple[int, int] = (1280, 720), view: str = "scene",
                 agent: int = 0, span_m: float = 90.0, box_m: Box | None = None, bars: bool = True,
                 agent_colours: bool = False) -> None:
        check_is_whole(batch)
        if view not in VIEWS:
            raise ConfigError(f"view is {value_text(view)}; it must be one of {', '.join(map(repr, VIEWS))}")
        if not isinstance(size, (tuple, list)) or len(size) != 2:
            raise ConfigError(f"size is {value_text(size)}; it must be a pair: width and height in pixels")
        self.bars, self._by_agent = bool(bars), bool(agent_colours) and view == "scene"
        low_px, high_px = SIDE_LIMITS_PX
        self.width, self.height = (checked_int(name, side, low_px if self.bars else BARE_SIDE_PX, high_px)
                                   for name, side in zip(("width", "height"), size, strict=True))
        self.batch, self.view = batch, view
        self.world = checked_int("world", world, 0, batch.num_worlds - 1)
        self.agent = checked_int("agent", agent, 0, batch.agents_per_world - 1)
        span_m = plain(span_m)
        least_m, most_m = SPAN_LIMITS_M
        if isinstance(span_m, bool) or not isinstance(span_m, (int, float)) or not least_m <= span_m <= most_m:
            raise ConfigError(f"span_m is {value_text(span_m)}; it must be a number from {least_m:g} to {most_m:g}")
        self.span_m = float(span_m)
        self.box_m = None if box_m is None else checked_box(box_m)
        sizes = panel_sizes(self.width, self.height, coplayers=batch.config.coplayers > 0)
        self._sizes = sizes if self.bars else replace(sizes, **NO_BARS)
        self._layout = batch.observation_layout()
        self._backdrop: _Backdrop | None = None
        self._last_time = (-1, -1, -1)
        self._past_xy_m: deque[np.ndarray] = deque()
        self._respawns = np.zeros(0, np.int32)
        self._goal_shares: list[float | None] = []
        self._followed_pose = (0.0, 0.0, 0.0)

    def frame(self, out: np.ndarray | None = None) -> np.ndarray:
        """A picture of the current state.

        Args:
            out: a C-contiguous uint8 array (height, width, 3) to draw into; None allocates one.

        Returns:
            The picture, (height, width, 3) uint8, RGB.

        Raises:
            CallError: before `reset`, the batch is closed, or `out` has another type or shape.
        """
        shape = (self.height, self.width, 3)
        if out is None:
            out = np.empty(shape, np.uint8)
        if not (isinstance(out, np.ndarray) and out.dtype == np.uint8 and out.shape == shape
                and out.flags.c_contiguous and out.flags.writeable):
            raise CallError(f"out must be a writeable C-contiguous uint8 array of shape {shape}")
        snapshot = take_snapshot(self.batch, self.world)
        backdrop = self._updated_backdrop(snapshot)
        np.copyto(out, backdrop.picture)
        canvas = Canvas(out)
        if self.view == "scene":
            self._draw_scene(canvas, backdrop, snapshot)
        else:
            self._draw_followed(canvas, backdrop.ground, snapshot)
        return out

    # ---- the two views ----

    def _draw_scene(self, canvas: Canvas, backdrop: _Backdrop, snapshot: Snapshot) -> None:
        camera = backdrop.camera
        self._draw_lower_levels(canvas, camera, backdrop.ground, snapshot)
        draw_controls(canvas, camera, snapshot)
        draw_scripts(canvas, camera, snapshot)
        draw_candidates(canvas, camera, snapshot, self.batch.config.goal_radius_m)
        draw_next_goals(canvas, camera, snapshot, self.batch.config.goal_radius_m, self._sizes.text)
        draw_goals(canvas, camera, snapshot, self.batch.config.goal_radius_m, self._by_agent)
        draw_goal_indices(canvas, camera, snapshot, self._sizes.text)
        self._draw_vehicles(canvas, camera, backdrop.ground, snapshot)
        self._draw_panel(canvas, camera, snapshot)

    def _draw_followed(self, canvas: Canvas, ground: Ground, snapshot: Snapshot) -> None:
        if self.agent < snapshot.roles.num_agents and snapshot.present[self.agent]:
            self._followed_pose = (*snapshot.xy_m[self.agent].tolist(), float(snapshot.heading_rad[self.agent]))
        x_m, y_m, heading_rad = self._followed_pose
        free = self.height - self._sizes.top - self._sizes.bottom
        camera = Camera(
            centre_m=(x_m, y_m), pixels_per_m=free / self.span_m, up_rad=heading_rad,
            # Below the middle, to show more of the area ahead than of the area behind.
            middle_px=(self.width / 2, self._sizes.top + 0.62 * free))
        index = self.world * self.batch.agents_per_world + self.agent
        observation = decode_observation(self.batch.float_observations(index), self._layout)
        ground.draw(canvas, camera, smooth=False)
        self._draw_lower_levels(canvas, camera, ground, snapshot)
        draw_observed_roads(canvas, camera, observation, self._followed_pose)
        draw_controls(canvas, camera, snapshot)
        draw_observed_controls(canvas, camera, observation, self._followed_pose)
        self._draw_vehicles(canvas, camera, ground, snapshot)
        draw_observed_vehicles(canvas, camera, observation, self._followed_pose, self._sizes.text)
        radius_m = self.batch.config.goal_radius_m
        draw_observed_goals(canvas, camera, observation, self._followed_pose, radius_m, self._sizes.text)
        draw_observed_goal(canvas, camera, observation, self._followed_pose, radius_m)
        self._draw_panel(canvas, camera, snapshot)
        if self.agent < snapshot.roles.num_agents:
            draw_ego_text(canvas, self._sizes, observation, f"agent {self.agent}", int(snapshot.state[self.agent]),
                          bool(self.batch.waits[index]), self._notes(snapshot, index))

    def _notes(self, snapshot, index):
        """Lines about what the followed agent does not observe: its disturbances that are on, and its hidden values."""
        disturbances = {"blind": "partner_blindness is on", "braking": "phantom_braking is on"}
        notes = [text for name, text in disturbances.items() if getattr(snapshot, name)[self.agent]]
        varied = varied_parameters(self.batch.config.hidden)
        hidden = self.batch.hidden if varied else {}
        return notes + [f"{name} {hidden[name][index]:.2f}, hidden" for name in varied]

    def _draw_lower_levels(self, canvas, camera, ground, snapshot):
        """Draws the vehicles below the highest level of the roads, each level covered by the roads of the next."""
        for level in range(len(ground.levels) - 1):
            self._draw_vehicles_of(canvas, camera, ground, snapshot, level)
            ground.draw_level(canvas, camera, level + 1, smooth=False)

    def _draw_vehicles(self, canvas, camera, ground, snapshot):
        """Draws the vehicles on the highest level of the roads, and the indices of all."""
        self._draw_vehicles_of(canvas, camera, ground, snapshot, len(ground.levels) - 1)
        draw_agent_indices(canvas, camera, snapshot, self._sizes.text)

    def _draw_vehicles_of(self, canvas, camera, ground, snapshot, level):
        shown = replace(snapshot, present=snapshot.present & (ground.level_index(snapshot.z_m) == level))
        draw_trails(canvas, camera, shown, np.stack(self._past_xy_m), self._by_agent)
        draw_vehicles(canvas, camera, shown, self._by_agent)

    def _draw_panel(self, canvas, camera, snapshot):
        if not self.bars:
            return
        title = f"{snapshot.roles.scene.name}  world {self.world}  episode {snapshot.episode + 1}"
        draw_top(canvas, self._sizes, snapshot, title, self._goal_shares)
        draw_bottom(canvas, self._sizes, snapshot, camera.pixels_per_m)

    # ---- state between frames ----

    def _updated_backdrop(self, snapshot: Snapshot) -> _Backdrop:
        backdrop, is_new_scene = self._backdrop, False
        if backdrop is None or backdrop.ground.scene is not snapshot.roles.scene:
            self._backdrop = backdrop = self._new_backdrop(snapshot)
            is_new_scene = True
        time = (snapshot.episode, snapshot.trial, snapshot.steps)
        if is_new_scene or time[:2] != self._last_time[:2] or time < self._last_time:
            self._past_xy_m = deque(maxlen=max(2, round(TRAIL_S / snapshot.roles.dt_s) + 1))
        if is_new_scene or snapshot.episode != self._last_time[0]:
            self._goal_shares = []
            self._respawns = snapshot.respawns
        self._last_time = time
        # No trail leads from a goal to the start at which its agent appeared.
        for xy_m in self._past_xy_m:
            xy_m[snapshot.respawns != self._respawns] = np.nan
        self._respawns = snapshot.respawns
        self._past_xy_m.append(np.where(snapshot.present[:, None], snapshot.xy_m, np.nan))
        # Trials without a frame have no share. Later trials are dropped: a state that was loaded can be an earlier one.
        shares = self._goal_shares[: snapshot.trial]
        shares += [None] * (snapshot.trial - len(shares))
        self._goal_shares = [*shares, float(snapshot.had_goal.mean())]
        return backdrop

    def _new_backdrop(self, snapshot: Snapshot) -> _Backdrop:
        """The map as the initial picture of "scene", plain land for "follow"."""
        ground = Ground(snapshot.roles.scene)
        picture = np.full((self.height, self.width, 3), colours.LAND, np.uint8)
        area = (0, self._sizes.top, self.width, self.height - self._sizes.bottom)
        camera = fitted(self.box_m or box_of(snapshot.roles), area)
        if self.view == "scene":
            ground.draw(Canvas(picture), camera)
        return _Backdrop(ground, picture, camera)
