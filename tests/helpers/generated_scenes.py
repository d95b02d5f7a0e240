"""Which generated scenes do tests check, and which properties must their vehicles and routes have?"""

from __future__ import annotations

import math

import numpy as np
import pytest
from boxes import box_segment_gap_m, corners, on_road, point_segment_m, segments_of, sides_of

LANE, LINE, EDGE = 1, 2, 3
NAMES = ("town", "intersection")
"""Generators of straight streets between square junctions, with traffic."""
SHAPES = [
    ("town", {}), ("town", {"blocks": (1, 1)}), ("town", {"blocks": (4, 3)}), ("town", {"lane_width_m": 3.0}),
    ("town", {"lane_width_m": 4.5, "block_m": 80.0}), ("intersection", {}), ("intersection", {"lanes": 1}),
    ("intersection", {"lanes": 3, "lane_width_m": 3.0}),
    ("intersection", {"arm_length_m": 150, "lane_width_m": 4.5}),
]


def lane_points(scene):
    """Road index to (k, 2) float64, of all lanes."""
    roads = scene.roads
    points = np.stack([roads.x_m, roads.y_m], axis=1).astype(np.float64)
    return {int(i): points[roads.start[i]:roads.start[i + 1]] for i in np.flatnonzero(roads.kind == LANE)}


class LaneTable:
    """All lane segments of a scene in one table, and the links between lanes."""

    def __init__(self, scene):
        lanes = lane_points(scene)
        self.points = lanes
        self.segments = np.concatenate([np.stack([line[:-1], line[1:]], axis=1) for line in lanes.values()])
        self.lane = np.concatenate([np.full(len(line) - 1, lane) for lane, line in lanes.items()])
        steps = [np.linalg.norm(np.diff(line, axis=0), axis=1) for line in lanes.values()]
        self.along = np.concatenate([np.cumsum(step) - step for step in steps])
        self.length = np.zeros(scene.roads.count)
        self.length[list(lanes)] = [step.sum() for step in steps]
        self.link_from = np.repeat(np.arange(scene.roads.count), np.diff(scene.lanes.start))
        self.link_to = scene.lanes.successor

    def lanes_at(self, xy):
        """Lanes whose centre line contains the point, as {lane: metres along it}."""
        away = point_segment_m(np.asarray(xy, np.float64)[None], self.segments)[0]
        return {int(self.lane[i]): self.along[i] + np.linalg.norm(xy - self.segments[i, 0])
                for i in np.flatnonzero(away < 2e-3)}

    def path_m(self, lane, along, goal, goal_along):
        """Length of the shortest path in the lane graph, by relaxing all links until nothing changes."""
        distance = np.full(len(self.length), np.inf)
        distance[self.link_to[self.link_from == lane]] = self.length[lane] - along
        while True:
            relaxed = distance.copy()
            np.minimum.at(relaxed, self.link_to, distance[self.link_from] + self.length[self.link_from])
            if (relaxed == distance).all():
                break
            distance = relaxed
        direct = goal_along - along if goal == lane and goal_along >= along else np.inf
        return min(direct, distance[goal] + goal_along)


def positions(scene):
    return np.stack([scene.objects.x_m[0], scene.objects.y_m[0]], axis=1).astype(np.float64)


def check_spawns(scene, agents):
    """Counts, boxes, roads, goals and speeds of the cars, by geometry alone."""
    # counts, kinds, sizes and headings
    objects, xy_m = scene.objects, positions(scene)
    heading_rad = objects.heading_rad[0].astype(np.float64)
    assert objects.count == agents and objects.frame_count == 1 and objects.valid.all()
    assert objects.id.tolist() == list(range(agents))
    assert (objects.kind == 1).all() and not objects.marked_expert.any()
    assert ((objects.length_m >= 4.0) & (objects.length_m <= 5.2)).all()
    assert ((objects.width_m >= 1.8) & (objects.width_m <= 2.1)).all()
    assert ((heading_rad >= -np.float32(math.pi)) & (heading_rad < math.pi)).all()

    # boxes are on the road and apart
    edges = segments_of(scene.roads, {EDGE})
    boxes = corners(xy_m, heading_rad, objects.length_m, objects.width_m)
    assert on_road(boxes.reshape(-1, 2), edges).all()
    assert min(box_segment_gap_m(box, edges) for box in boxes) >= 0.3
    # Boxes longer by 1 m at both ends do not overlap: the gaps are at least 2 m.
    grown = corners(xy_m, heading_rad, objects.length_m + 1.998, objects.width_m)
    sides = sides_of(grown)
    for car in range(agents):
        others = np.delete(sides, car, axis=0).reshape(-1, 2, 2)
        if len(others):
            assert box_segment_gap_m(grown[car], others) > 0

    # goals are on the road, away from the starts; cars move along their headings
    goals_m = objects.goal_m.astype(np.float64)
    assert on_road(goals_m, edges).all()
    assert np.linalg.norm(goals_m - xy_m, axis=1).min() >= 10.0
    if agents > 1:
        # No start is on a goal.
        assert np.linalg.norm(goals_m[:, None] - xy_m[None], axis=2).min() > 3.0
    ahead = np.stack([np.cos(heading_rad), np.sin(heading_rad)], axis=1)
    velocity_mps = np.stack([objects.vx_mps[0], objects.vy_mps[0]], axis=1)
    speed_mps = (velocity_mps * ahead).sum(axis=1)
    assert np.abs(velocity_mps - speed_mps[:, None] * ahead).max() < 1e-5
    assert speed_mps.min() >= -1e-9 and speed_mps.max() <= 6.0


def check_routes(scene):
    """Every car is on one straight lane along its heading; returns the lengths of the paths to the goals."""
    objects, table, xy_m = scene.objects, LaneTable(scene), positions(scene)
    routes_m = []
    for car in range(objects.count):
        (lane, along), = table.lanes_at(xy_m[car]).items()
        (goal, goal_along), = table.lanes_at(objects.goal_m[car].astype(np.float64)).items()
        assert len(table.points[lane]) == 2, "a car starts on a street, not in a junction"
        step = table.points[lane][1] - table.points[lane][0]
        heading_rad = float(objects.heading_rad[0, car])
        ahead = [math.cos(heading_rad), math.sin(heading_rad)]
        assert ahead == pytest.approx(step / np.linalg.norm(step), abs=1e-6)
        assert objects.length_m[car] / 2 <= along <= np.linalg.norm(step) - objects.length_m[car] / 2
        routes_m.append(table.path_m(lane, along, goal, goal_along))
    return np.array(routes_m)
