"""A driver for streets with forks: at full speed along a route that is chosen for each fork in advance."""

from __future__ import annotations

import numpy as np

PITCH_M, AIM_M, WHEELBASE_M = 0.25, 4.0, 0.6 * 4.5


def lanes_of(scene):
    """The points of every lane, by road index."""
    points = np.stack([scene.roads.x_m, scene.roads.y_m], axis=1).astype(np.float64)
    ends = zip(scene.roads.start[:-1], scene.roads.start[1:], scene.roads.kind, strict=True)
    return [points[start:end] for start, end, kind in ends if kind == 1]


def path_of(scene, routes):
    """(n, 2) points `PITCH_M` apart: of route `routes[i]` of fork i, in the order of the lane graph."""
    lanes, lane = lanes_of(scene), 0
    lines = [lanes[0]]
    for route in routes:
        chosen = int(scene.lanes.after(lane)[route])
        lane = int(scene.lanes.after(chosen)[0])
        lines += [lanes[chosen], lanes[lane]]
    line = np.concatenate(lines)
    line = np.concatenate([line, line[-1:] + (50.0, 0.0)])  # to aim at beyond the goal
    along = np.concatenate([[0], np.cumsum(np.hypot(*np.diff(line, axis=0).T))])
    at = np.arange(0, along[-1], PITCH_M)
    return np.stack([np.interp(at, along, line[:, axis]) for axis in (0, 1)], axis=1)


class ForkDriver:
    """Drives one trial of every world of a batch; `choices` has the routes of each world, one per fork."""

    def __init__(self, batch, choices):
        self.batch = batch
        scenes = [batch.roles[index].scene for index in batch.scene_index]
        self.paths = [path_of(scene, routes) for scene, routes in zip(scenes, choices, strict=True)]
        self.places = np.zeros(len(self.paths), int)

    def act(self):
        """(worlds, 2) continuous actions: full throttle, and pure pursuit of a point of the path ahead."""
        actions = np.zeros((len(self.paths), 2), np.float32)
        for world, path in enumerate(self.paths):
            car = {name: float(values[0]) for name, values in self.batch.vehicles(world).items()}
            here = np.array([car["x_m"], car["y_m"]])
            near = path[self.places[world]:self.places[world] + 40]
            self.places[world] += int(np.argmin(((near - here) ** 2).sum(axis=1)))
            ahead = path[min(self.places[world] + round(AIM_M / PITCH_M), len(path) - 1)] - here
            bearing = np.arctan2(ahead[1], ahead[0]) - car["heading_rad"]
            curvature = 2 * np.sin(bearing) / np.hypot(*ahead)
            steering = np.arctan(WHEELBASE_M * curvature)
            actions[world] = 1.0, np.clip(steering / self.batch.config.dynamics.max_steering_rad, -1, 1)
        return actions


def play_trial(batch, choices):
    """(worlds,) outcomes of the trial at whose start every world is, played with these routes. Worlds whose trial ends
    early have begun another one when this returns."""
    driver, outcome = ForkDriver(batch, choices), np.zeros(batch.num_worlds, int)
    ended = np.zeros(batch.num_worlds, bool)
    for _ in range(batch.config.trial_steps):
        if ended.all():
            break
        batch.step(driver.act())
        ends = batch.trial_ended & ~ended
        outcome[ends] = batch.outcome[ends]
        ended |= ends
    return outcome
