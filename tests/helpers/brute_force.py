"""What must an agent observe? Its whole observation vector in float64, from the poses and the map, by brute force.

Names, offsets and scales come from `observation_layout()`. Which vehicles and segments must be observed, and where,
follows from `vehicles()`, the scene and the contract alone.
"""

import graphlib
import itertools
import math

import numpy as np
import pytest
from boxes import corners
from oracle import OUTCOMES
from scripted_scenes import STEERINGS_RAD, discrete

from drive_env.scenes.scene import ROAD_KIND_CODES

SEGMENT_M = 10.0
TIE_M = 1e-4
"""Distances that differ by less are equal in float32."""
OBSERVED_TOLERANCE = 1e-5
"""Of scaled values: a millimetre of a hundred metres."""

PARTNERS = ("x", "y", "direction_x", "direction_y", "length", "width", "speed", "kind")
ROADS = ("x", "y", "direction_x", "direction_y", "half_length", "width", "speed_limit", "kind")


# ---- the map, split independently of the core ----


def split(roads):
    """Segments of at most 10 m in file order: one array a column, in the scene's frame.

    The number of pieces follows the float32 length: rounding must not split a line of exactly 10 m.
    """
    segments = []
    for road in range(roads.count):
        place = slice(roads.start[road], roads.start[road + 1])
        points = np.stack([roads.x_m[place], roads.y_m[place]], axis=1)
        about = float(roads.width_m[road]), float(roads.speed_limit_mps[road]), int(roads.kind[road])
        before = len(segments)
        for a, b in itertools.pairwise(points):
            dx, dy = b - a
            length = np.sqrt(dx * dx + dy * dy)
            if length < np.float32(1e-4):
                continue
            a, b = a.astype(float), b.astype(float)
            pieces = math.ceil(length / np.float32(SEGMENT_M))
            whole = math.dist(a, b)
            for piece in range(pieces):
                middle = a + (b - a) * (piece + 0.5) / pieces
                segments.append((*middle, *(b - a) / whole, whole / pieces / 2, *about))
        if len(segments) == before:
            segments.append((*points[0].astype(float), 0.0, 0.0, 0.0, *about))
    return np.array(segments).reshape(-1, 8)


def edge_lines(roads):
    """All pieces between two points of road edges, unsplit: (n, 4) x, y, x, y."""
    lines = []
    for road in np.flatnonzero(roads.kind == ROAD_KIND_CODES["edge"]):
        place = slice(roads.start[road], roads.start[road + 1])
        points = np.stack([roads.x_m[place], roads.y_m[place]], axis=1).astype(float)
        lines += [(*a, *b) for a, b in itertools.pairwise(points)] or [(*points[0], *points[0])]
    return np.array(lines).reshape(-1, 4)


# ---- geometry by another method ----


def gap_between(a, b):
    """Gap of two convex polygons along the axis that separates them best; negative: they overlap."""
    widest = -math.inf
    for shape in (a, b):
        for side in np.roll(shape, -1, axis=0) - shape:
            size = math.hypot(*side)
            if size > 0:
                across = np.array([-side[1], side[0]]) / size
                projection_a, projection_b = a @ across, b @ across
                widest = max(widest, projection_b.min() - projection_a.max(), projection_a.min() - projection_b.max())
    return widest


def certain(gap):
    """True or False where float32 must agree, None where it may differ."""
    return None if abs(gap) < 2e-3 else gap < 0


# ---- one world ----


class BruteForce:
    """Expected observations of one world, with the history that an agent's own features depend on."""

    def __init__(self, batch, world=0):
        self.batch, self.world = batch, world
        self.layout = batch.observation_layout()
        self.shows_time_left = batch.config.observation.time_left == "actor"
        self.order = {}
        self.checked = 0

    def open(self):
        """Begins an episode: reads its scene, and clears the history."""
        roles = self.batch.roles[self.batch.scene_index[self.world]]
        self.scene, self.roles = roles.scene, roles
        self.segments, self.edges = split(self.scene.roads), edge_lines(self.scene.roads)
        _, first, counts = np.unique(self.segments, axis=0, return_index=True, return_counts=True)
        self.duplicates = set(np.flatnonzero(~np.isin(np.arange(len(self.segments)), first[counts == 1])))
        self.before = self.batch.vehicles(self.world)
        self.steering = np.zeros(self.batch.agents_per_world)
        self.reward = np.zeros(self.batch.agents_per_world)
        self.previous = [("none", 0.0)] * self.batch.agents_per_world
        self.outcome = [("none", 0)] * self.batch.agents_per_world
        self.driven = np.zeros(self.batch.agents_per_world, int)
        self.clock = 0

    def agents(self):
        first = self.world * self.batch.agents_per_world
        return range(first, first + self.batch.agents_per_world)

    def step(self, push, turn):
        """Steps every agent with its bins of acceleration and steering, and updates the history."""
        batch = self.batch
        self.before = batch.vehicles(self.world)
        batch.step(discrete(batch, push, turn))
        acted = ~batch.invalid_step[self.agents()]
        if batch.first[self.agents()[0]]:
            self.open()
        elif batch.invalid_step[self.agents()].all():
            self.before = batch.vehicles(self.world)
            self.previous = [(name, driven / self.roles.trial_steps) for name, driven in self.outcome]
            self.steering[:], self.driven[:], self.clock = 0, 0, 0
        else:
            self.clock += 1
        self.steering[acted] = STEERINGS_RAD[np.asarray(turn)[acted]]
        self.driven[acted] += 1
        self.reward[acted] = batch.rewards[self.agents()][acted]
        for agent, code in enumerate(batch.outcome[self.agents()]):
            if code:
                self.outcome[agent] = OUTCOMES[code], self.driven[agent]
        self.acted = acted

    def check(self):
        """Compares the observation of every agent but those whose last one stays, since they waited in the step."""
        batch = self.batch
        now = batch.vehicles(self.world)
        for agent, index in enumerate(self.agents()):
            observation = batch.observations[index]
            if batch.removed[index]:
                assert not observation.any(), f"agent {index} is removed and its observation is not zero"
            elif not batch.stopped[index] or self.acted[agent]:
                self.check_agent(agent, observation, now, bool(batch.stopped[index]))
                self.checked += 1

    def check_agent(self, agent, observation, now, stopped):
        pose = tuple(float(now[name][agent]) for name in ("x_m", "y_m", "heading_rad"))
        self.check_ego(agent, observation, now, pose, stopped)
        self.check_trial(agent, observation)
        self.check_contacts(agent, observation, now)
        self.check_partners(agent, observation, now, pose)
        self.check_roads(observation, pose)

    # -- blocks of the vector

    def value(self, observation, name):
        return float(observation[self.layout[name].slice][0])

    def check_value(self, observation, name, quantity):
        feature = self.layout[name]
        wanted = min(max(quantity * feature.scale, feature.low), 1.0)
        # Rates divide a difference of float32 angles or speeds by the step.
        tolerance = 2e-4 if name in ("ego/yaw_rate", "ego/acceleration") else OBSERVED_TOLERANCE
        assert self.value(observation, name) == pytest.approx(wanted, abs=tolerance), name

    def check_ego(self, agent, observation, now, pose, stopped):
        goal = self.scene.objects.goal_m[self.roles.objects[agent]].astype(float)
        ahead, left = to_frame(goal - pose[:2], pose[2])
        away = math.hypot(ahead, left)
        speed, dt_s = float(now["speed_mps"][agent]), self.roles.dt_s
        drives = self.acted[agent] and not stopped
        turned = math.remainder(pose[2] - float(self.before["heading_rad"][agent]), 2 * math.pi)
        quantities = {
            "present": 1.0, "speed": 0.0 if stopped else speed,
            "length": float(now["length_m"][agent]), "width": float(now["width_m"][agent]),
            "steering": self.steering[agent] if self.acted[agent] else 0.0,
            "acceleration": (speed - float(self.before["speed_mps"][agent])) / dt_s if drives else 0.0,
            "yaw_rate": turned / dt_s if drives else 0.0,
            "goal_x": ahead, "goal_y": left, "goal_distance": away,
            "goal_direction_x": ahead / away if away else 0.0,
            "goal_direction_y": left / away if away else 0.0,
            "time_left": 1.0 - self.clock / self.roles.trial_steps if self.shows_time_left else 0.0,
        }
        for name, quantity in quantities.items():
            self.check_value(observation, f"ego/{name}", quantity)

    def check_trial(self, agent, observation):
        outcome, share = self.previous[agent]
        self.check_value(observation, "trial/index", float(self.batch.trial_index[self.agents()[agent]]))
        self.check_value(observation, "trial/reward", float(self.reward[agent]))
        self.check_value(observation, "trial/steps_share", share)
        for name in OUTCOMES:
            assert self.value(observation, f"trial/outcome_{name}") == (name == outcome), name

    def check_contacts(self, agent, observation, now):
        own = self.box_of(agent, now)
        pose = own.mean(axis=0)
        sizes = np.hypot(now["length_m"], now["width_m"]) / 2
        away = np.hypot(now["x_m"] - pose[0], now["y_m"] - pose[1])
        close = now["present"] & (away < sizes + sizes[agent] + 0.1)
        close[agent] = False
        gaps = [gap_between(own, self.box_of(other, now)) for other in np.flatnonzero(close)]
        middles, halves = (self.edges[:, :2] + self.edges[:, 2:]) / 2, self.edges[:, :2] - self.edges[:, 2:]
        reach = np.hypot(*halves.T) / 2 + sizes[agent] + 0.1
        lines = self.edges[np.hypot(*(middles - pose).T) < reach].reshape(-1, 2, 2)
        for name, gap in (("in_contact", min(gaps, default=math.inf)),
                          ("on_road_edge", min((gap_between(own, line) for line in lines), default=math.inf))):
            if certain(gap) is not None:
                assert self.value(observation, f"ego/{name}") == certain(gap), f"{name} of agent {agent}: {gap} m apart"

    def box_of(self, vehicle, now):
        names = ("x_m", "y_m", "heading_rad", "length_m", "width_m")
        x_m, y_m, heading_rad, length_m, width_m = (np.float64(now[name][vehicle]) for name in names)
        return corners([x_m, y_m], heading_rad, length_m, width_m)

    def check_partners(self, agent, observation, now, pose):
        others = np.flatnonzero(now["present"] & (np.arange(len(now["x_m"])) != agent))
        heading = now["heading_rad"].astype(float)
        objects = np.stack([now["x_m"], now["y_m"], np.cos(heading), np.sin(heading), now["length_m"],
                            now["width_m"], now["speed_mps"], now["kind"]], axis=1).astype(float)[others]
        slots = self.slots(observation, "partners", PARTNERS)
        expected = self.transformed(objects, pose, "partners", PARTNERS)
        found = match(slots, expected, ascending=True)
        check_nearest(found, distances(objects, pose), self.batch.config.observation.partners,
                      self.batch.config.observation.view_radius_m)

    def check_roads(self, observation, pose):
        slots = self.slots(observation, "roads", ROADS)
        away = distances(self.segments, pose)
        near = np.flatnonzero(away <= np.sort(away)[: len(slots) + 1].max(initial=0.0) + 1.0)
        found = near[match(slots, self.transformed(self.segments[near], pose, "roads", ROADS))]
        check_nearest(found, away, self.batch.config.observation.roads, self.batch.config.observation.view_radius_m)
        alone = [segment for segment in found if segment not in self.duplicates]
        for first, then in itertools.pairwise(alone):
            self.order.setdefault(int(then), set()).add(int(first))

    def slots(self, observation, block, names):
        """The filled slots of a block, (n, 8); the rest must be zero, and filled ones come first."""
        table = np.stack([observation[self.layout[f"{block}/{name}"].slice] for name in names], axis=1)
        filled = table[:, -1] > 0
        assert not table[~filled].any(), f"an empty slot of {block} is not zero"
        assert not filled[1:][~filled[:-1]].any(), f"a filled slot of {block} comes after an empty one"
        return table[filled].astype(float)

    def transformed(self, records, pose, block, names):
        """Records of (x, y, direction, four numbers) in the scene's frame, as the agent must observe them."""
        x, y = to_frame((records[:, :2] - pose[:2]).T, pose[2])
        dx, dy = to_frame(records[:, 2:4].T, pose[2])
        quantities = np.stack([x, y, dx, dy, *records[:, 4:].T], axis=1)
        features = [self.layout[f"{block}/{name}"] for name in names]
        scales, lows = ([getattr(feature, part) for feature in features] for part in ("scale", "low"))
        return np.clip(quantities * scales, lows, 1.0)

    def check_order(self):
        """All agents observe segments in one order, in all steps."""
        tuple(graphlib.TopologicalSorter(self.order).static_order())


def to_frame(offset, heading):
    x, y = offset
    return x * math.cos(heading) + y * math.sin(heading), y * math.cos(heading) - x * math.sin(heading)


def distances(records, pose):
    return np.hypot(records[:, 0] - pose[0], records[:, 1] - pose[1])


def match(slots, expected, ascending=False):
    """The index of the expected record in each slot, none twice; with `ascending` in ascending order."""
    found, used = [], set()
    for slot, values in enumerate(slots):
        fits = np.flatnonzero(np.abs(expected - values).max(axis=1, initial=0.0) < OBSERVED_TOLERANCE)
        fits = [int(record) for record in fits if record not in used
                and (not ascending or not found or record > found[-1])]
        assert fits, f"slot {slot} has {values}, which is no record, or one of an earlier slot"
        found.append(fits[0])
        used.add(fits[0])
    return np.array(found, int)


def check_nearest(found, away, slots, radius_m):
    """The records found are the k nearest within the radius, k = `slots`; ties at the largest distance may differ."""
    others = np.delete(away, found)
    assert len(found) <= slots
    assert (away[found] <= radius_m + TIE_M).all(), "a record beyond the view radius is observed"
    if len(found) < slots:
        assert (others >= radius_m - TIE_M).all(), f"{len(found)} of {slots} slots filled, but one is missing"
    else:
        nearest_other = others.min(initial=math.inf)
        assert away[found].max(initial=0.0) <= nearest_other + TIE_M, "a nearer record is missing"
