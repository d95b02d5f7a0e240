"""What do several scores need of a drive? The ego and the others step by step, and what is derived from them once."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from ...binding import lib
from ...errors import ConfigError, a_type
from ...realism.boxes import Boxes
from ...realism.road_edges import make_road_edges, signed_distance_to_edges
from .boxes import boxes_overlap, corners
from .comfort import ComfortSignals, comfort_signals
from .driven_scene import DrivenScene
from .lane_places import (
    CLEARANCE_M, LanePlaces, Segments, by_line, chunks, half_width_m, lane_places, segments_of_lines)
from .progress import places_along, reference_path_of

AXLE_SHARE = 0.5 * lib.DRV_WHEELBASE_PERCENT / 100
"""From the centre of a vehicle to its rear axle, as a share of its length: that of the core's vehicle models."""

SLOW_MPS = 0.6
"""Below it the motion of a vehicle does not show its wheel angle: wheel angle and curvature count as 0."""

TOUCHING_M = 1e-4
"""Boxes that are nearer to each other count as overlapping: positions in float32 have errors of this size."""


class Drive:
    """The steps of a scene in which the ego is on the map, t of them, and the m other objects.

    Attributes:
        scene: the driven scene.
        x_m, y_m, z_m, heading_rad, speed_mps, cos, sin: (t,) float64 of the ego.
        length_m, width_m: of the ego.
        others: boxes of the others, (t, m) arrays.
        other_index: (m,) indices of the others in the scene.
        other_z_m, other_heading_rad, other_speed_mps, other_valid: (t, m).

    Raises:
        ConfigError: `scene` is no `DrivenScene`.
    """

    def __init__(self, scene: DrivenScene) -> None:
        if not isinstance(scene, DrivenScene):
            raise ConfigError(f"scene is {a_type(type(scene))}; it must be a DrivenScene")
        self.scene, steps = scene, scene.ego_steps
        own = scene.ego
        self.x_m, self.y_m, self.z_m, self.heading_rad, self.speed_mps = (
            np.asarray(getattr(scene, name)[steps, own], np.float64)
            for name in ("x_m", "y_m", "z_m", "heading_rad", "speed_mps"))
        self.cos, self.sin = np.cos(self.heading_rad), np.sin(self.heading_rad)
        self.length_m, self.width_m = (float(size) for size in scene.size_m[own])

        # The others, with zeros where they are not valid.
        self.other_index = np.delete(np.arange(scene.valid.shape[1]), own)
        self.other_valid = scene.valid[steps][:, self.other_index]
        x_m, y_m, self.other_z_m, self.other_heading_rad, self.other_speed_mps = (
            np.where(self.other_valid, getattr(scene, name)[steps][:, self.other_index], 0.0).astype(np.float64)
            for name in ("x_m", "y_m", "z_m", "heading_rad", "speed_mps"))
        half_m = np.broadcast_to(0.5 * np.asarray(scene.size_m, np.float64)[self.other_index],
                                 (*self.other_valid.shape, 2))
        self.others = Boxes(x_m, y_m, np.cos(self.other_heading_rad), np.sin(self.other_heading_rad), half_m[..., 0],
                            half_m[..., 1])

    @property
    def dt_s(self) -> float:
        """Time of a step."""
        return float(self.scene.dt_s)

    @property
    def duration_s(self) -> float:
        """Time from the first step to the last one."""
        return (len(self.x_m) - 1) * self.dt_s

    @cached_property
    def reference_path_m(self) -> np.ndarray | None:
        """(p, 2) the reference path, along which progress counts; None without one."""
        return reference_path_of(self.scene)

    @cached_property
    def along_path_m(self) -> np.ndarray:
        """(t,) metres along the reference path; NaN where the ego is too far from it, and without one."""
        if self.reference_path_m is None:
            return np.full(len(self.x_m), np.nan)
        return places_along(self.reference_path_m, self.x_m, self.y_m)

    @cached_property
    def comfort(self) -> ComfortSignals:
        """Accelerations, jerks, yaw rates and yaw accelerations."""
        return comfort_signals(self.speed_mps, self.heading_rad, self.dt_s)

    @cached_property
    def box(self) -> Boxes:
        """The box of the ego in each step, (t,) arrays."""
        size = np.ones_like(self.x_m)
        return Boxes(self.x_m, self.y_m, self.cos, self.sin, 0.5 * self.length_m * size, 0.5 * self.width_m * size)

    @cached_property
    def same_level(self) -> np.ndarray:
        """(t, m) bool, whether another object is on the map, and on the same level as the ego."""
        return self.other_valid & (np.abs(self.other_z_m - self.z_m[:, None]) <= CLEARANCE_M)

    @cached_property
    def overlaps(self) -> np.ndarray:
        """(t, m) bool, whether the box of another object overlaps that of the ego."""
        return boxes_overlap(*self._boxes_of(slice(None))) & self.same_level

    @cached_property
    def overlap_onsets(self) -> np.ndarray:
        """(t, m) bool, whether an overlap begins in a step, including one that ends within it. Boxes that overlap as an
        object appears have an onset only after they have been apart."""
        # The displacement of the ego in the step, relative to the other object.
        path_x, path_y = (np.diff(own)[:, None] - np.diff(theirs, axis=0)
                          for own, theirs in ((self.x_m, self.others.x_m), (self.y_m, self.others.y_m)))
        before, after = (self._boxes_of(steps) for steps in (slice(None, -1), slice(1, None)))
        # Both turn in the step: the headings at its start and at its end bound what they cover.
        sweeps = (boxes_overlap(*after, path_x, path_y) & boxes_overlap(*before, -path_x, -path_y)
                  & self.same_level[1:])
        onsets = np.zeros_like(self.overlaps)
        onsets[1:] = (self.overlaps[1:] | sweeps) & ~self.overlaps[:-1] & self.other_valid[:-1]
        return onsets

    def _boxes_of(self, steps: slice) -> tuple[Boxes, Boxes]:
        """The boxes of the ego, (t, 1), grown by `TOUCHING_M`, and of the others in these steps."""
        own = self.box.of(steps).of(np.s_[:, None])
        grown = own._replace(half_length_m=own.half_length_m + TOUCHING_M, half_width_m=own.half_width_m + TOUCHING_M)
        return grown, self.others.of(steps)

    def axle_m(self, axle_share: float = AXLE_SHARE) -> np.ndarray:
        """(t, 2) the middle of the rear axle, `axle_share` lengths behind the centre."""
        behind_m = axle_share * self.length_m
        return np.stack([self.x_m - behind_m * self.cos, self.y_m - behind_m * self.sin], axis=1)

    def bearing_cos(self, axle_share: float = AXLE_SHARE) -> np.ndarray:
        """(t, m) cosine of the bearing of the centre of each other object, as seen from the rear axle."""
        axle_m = self.axle_m(axle_share)
        shift_x = self.others.x_m - axle_m[:, None, 0]
        shift_y = self.others.y_m - axle_m[:, None, 1]
        distance_m = np.hypot(shift_x, shift_y)
        ahead_m = shift_x * self.cos[:, None] + shift_y * self.sin[:, None]
        return np.divide(ahead_m, distance_m, out=np.ones_like(ahead_m), where=distance_m > 0.0)

    @cached_property
    def places(self) -> LanePlaces:
        """The lane of the ego, (t,)."""
        return lane_places(self.scene.road_map, self.x_m, self.y_m, self.z_m, self.cos, self.sin)

    @cached_property
    def over_border(self) -> np.ndarray:
        """(t,) bool, whether the box crosses a border of its lane; False on no lane."""
        return self.reaches_beyond(half_width_m(self.scene.road_map, self.places.lane))

    def reaches_beyond(self, half_m: np.ndarray | float) -> np.ndarray:
        """(t,) bool, whether a corner is farther than `half_m` from the centre line of the lane; False on no lane."""
        places = self.places
        reach_m = 0.5 * (self.width_m * np.abs(places.cos_error) + self.length_m * np.abs(places.sin_error))
        return (places.lane >= 0) & (np.abs(places.left_m) + reach_m > half_m)

    @cached_property
    def in_junction(self) -> np.ndarray:
        """(t,) bool, whether its lane leads through a junction."""
        return np.append(np.asarray(self.scene.road_map.in_junction), False)[self.places.lane]

    @cached_property
    def limit_mps(self) -> np.ndarray:
        """(t,) the speed limit of its lane; 0 where there is no lane or no known limit."""
        return np.append(np.asarray(self.scene.road_map.speed_limit_mps, np.float64), 0.0)[self.places.lane]

    @cached_property
    def over_speed_mps(self) -> np.ndarray:
        """(t,) speed above the limit of its lane; 0 where no limit is known."""
        return np.where(self.limit_mps > 0.0, np.maximum(np.abs(self.speed_mps) - self.limit_mps, 0.0), 0.0)

    @cached_property
    def corners_m(self) -> np.ndarray:
        """(t, 4, 2) corners of the box."""
        return corners(self.box)

    @cached_property
    def edges(self) -> Segments:
        """Segments of the road edges near the drive."""
        reach_m = float(np.hypot(self.length_m, self.width_m))
        return segments_of_lines(self.scene.road_map.road_edges).near(self.x_m, self.y_m, reach_m)

    @cached_property
    def on_edge(self) -> np.ndarray:
        """(t,) bool, whether the box overlaps a road edge on its level."""
        edges, found = self.edges, np.zeros(len(self.x_m), bool)
        if not len(edges.line):
            return found
        half_m = 0.5 * edges.length_m
        line = Boxes(edges.x_m + half_m * edges.ahead_x, edges.y_m + half_m * edges.ahead_y, edges.ahead_x,
                     edges.ahead_y, half_m, np.zeros_like(half_m))
        for part in chunks(len(found)):
            rise_m = by_line(self.x_m[part], self.y_m[part], self.z_m[part], edges).rise_m
            hits = boxes_overlap(self.box.of(part).of(np.s_[:, None]), line) & (np.abs(rise_m) <= CLEARANCE_M)
            found[part] = hits.any(axis=1)
        return found

    @cached_property
    def beyond_edge_m(self) -> np.ndarray:
        """(t, 4) by how much each corner is beyond the nearest road edge, negative on the road; minus infinity in a map
        without road edges."""
        lines = [line for line in self.scene.road_map.road_edges if len(line) > 1]
        if not lines:
            return np.full((len(self.x_m), 4), -np.inf)
        points_m = np.concatenate([self.corners_m, np.repeat(self.z_m[:, None, None], 4, axis=1)], axis=2)
        edges = make_road_edges(lines, published=False)
        return signed_distance_to_edges(points_m.reshape(-1, 3).T.astype(np.float32), edges).reshape(-1, 4)
