"""Which drives do tests of scores use? An ego along x on straight lanes, with others at poses of their own."""

from __future__ import annotations

import numpy as np

from drive_env.evaluation.scores import DrivenMap, DrivenScene

DT_S = 0.1
LENGTH_M, WIDTH_M = 4.0, 2.0
LIMIT_MPS = 15.0


def line(*points):
    """A polyline on the ground."""
    return np.array([(*point, 0.0) for point in points], float)


def straight_map(edges_y_m=(-1.75, 5.25), lanes_y_m=(0.0, 3.5), limit_mps=LIMIT_MPS, **changes):
    """Lanes along +x, between a right and a left road edge."""
    lanes = [line((-500.0, y_m), (1000.0, y_m)) for y_m in lanes_y_m]
    right_m, left_m = edges_y_m
    fields = {"lanes": lanes, "speed_limit_mps": np.full(len(lanes), limit_mps),
              "road_edges": [line((-500.0, right_m), (1000.0, right_m)), line((1000.0, left_m), (-500.0, left_m))]}
    return DrivenMap(**(fields | changes))


def moving(x_m, y_m=0.0, heading_rad=0.0, speed_mps=0.0, kind=1, size_m=(LENGTH_M, WIDTH_M)):
    """Another object, which moves from a place at constant velocity."""
    return {"x_m": x_m, "y_m": y_m, "heading_rad": heading_rad, "speed_mps": speed_mps, "kind": kind, "size_m": size_m}


def driven(speed_mps=10.0, steps=151, y_m=0.0, heading_rad=0.0, others=(), expert_mps=10.0, start_m=0.0, **changes):
    """The drive of an ego along x; an expert drives along x, too, at `expert_mps`.

    Args:
        speed_mps: one, or one a step; negative in reverse.
        y_m, heading_rad: one, or one a step.
        expert_mps: None: there is no expert.
        others: of `moving`.
    """
    time_s = DT_S * np.arange(steps)
    speed_mps, y_m, heading_rad = (np.broadcast_to(np.asarray(one, float), steps)
                                   for one in (speed_mps, y_m, heading_rad))
    x_m = start_m + np.concatenate([[0.0], np.cumsum(0.5 * (speed_mps[1:] + speed_mps[:-1])) * DT_S])
    tracks = [(x_m, y_m, heading_rad, speed_mps)]
    for one in others:
        way_m = one["speed_mps"] * time_s
        tracks.append((one["x_m"] + way_m * np.cos(one["heading_rad"]), one["y_m"] + way_m * np.sin(one["heading_rad"]),
                       np.full(steps, one["heading_rad"]), np.full(steps, one["speed_mps"])))
    columns = [np.stack([track[index] for track in tracks], axis=1) for index in range(4)]
    expert_m = None if expert_mps is None else np.stack([start_m + expert_mps * time_s, 0.0 * time_s], axis=1)
    fields = dict(zip(("x_m", "y_m", "heading_rad", "speed_mps"), columns, strict=True)) | {
        "valid": np.ones(columns[0].shape, bool),
        "size_m": np.array([(LENGTH_M, WIDTH_M), *(one["size_m"] for one in others)], float),
        "kind": np.array([1, *(one["kind"] for one in others)]), "dt_s": DT_S, "road_map": straight_map(),
        "expert_m": expert_m}
    return DrivenScene(**(fields | changes))
