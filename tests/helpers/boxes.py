"""How far are boxes from lines and from each other? Independent geometry to check scenes with."""

from __future__ import annotations

import numpy as np

UNIT_BOX = np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]]) / 2


def corners(xy_m, heading_rad, length_m, width_m):
    """(n, 4, 2) corners of n boxes, counter-clockwise from the front left one."""
    local = UNIT_BOX * np.stack(np.broadcast_arrays(length_m, width_m), axis=-1)[..., None, :]
    cos, sin = np.cos(heading_rad)[..., None], np.sin(heading_rad)[..., None]
    return np.stack([local[..., 0] * cos - local[..., 1] * sin, local[..., 0] * sin + local[..., 1] * cos],
                    axis=-1) + np.asarray(xy_m)[..., None, :]


def sides_of(boxes):
    """(..., 4, 2, 2) sides of boxes (..., 4, 2)."""
    return np.stack([boxes, np.roll(boxes, -1, axis=-2)], axis=-2)


def segments_of(roads, kinds):
    """(m, 2, 2) segments of the polylines whose kind code is in `kinds`."""
    points = np.stack([roads.x_m, roads.y_m], axis=1).astype(np.float64)
    lines = [points[roads.start[i]:roads.start[i + 1]] for i in range(roads.count) if roads.kind[i] in kinds]
    return np.concatenate([np.stack([line[:-1], line[1:]], axis=1) for line in lines])


def point_segment_m(points, segments):
    """(n, m) distances."""
    # Coordinates by themselves: sums over a last axis of two take most of the time.
    (a_x, a_y), (b_x, b_y) = segments[:, 0].T, segments[:, 1].T
    step_x, step_y = b_x - a_x, b_y - a_y
    away_x, away_y = points[:, :1] - a_x, points[:, 1:] - a_y
    share = np.clip((away_x * step_x + away_y * step_y) / np.maximum(step_x * step_x + step_y * step_y, 1e-12), 0, 1)
    away_x -= share * step_x
    away_y -= share * step_y
    return np.sqrt(away_x * away_x + away_y * away_y)


def box_segment_gap_m(box, segments):
    """Smallest distance between one (4, 2) box and (m, 2, 2) segments; 0 if they overlap."""
    radius_m = np.linalg.norm(box[0] - box[2])
    near = segments[point_segment_m(box.mean(axis=0)[None], segments)[0] < radius_m + 2.0]
    if not len(near):
        return np.inf
    sides = sides_of(box)
    if segments_cross(sides, near).any() or inside(near.reshape(-1, 2), box).any():
        return 0.0
    return min(point_segment_m(box, near).min(), point_segment_m(near.reshape(-1, 2), sides).min())


def segments_cross(first, second):
    """(n, m) bool: which segments cross."""
    a, b, c, d = first[:, None, 0], first[:, None, 1], second[None, :, 0], second[None, :, 1]
    return (orientation(a, b, c) * orientation(a, b, d) <= 0) & (orientation(c, d, a) * orientation(c, d, b) <= 0)


def orientation(a, b, c):
    """Twice the signed area of a triangle: above 0 if c is to the left of the line from a to b."""
    ahead, aside = b - a, c - a
    return ahead[..., 0] * aside[..., 1] - ahead[..., 1] * aside[..., 0]


def inside(points, box):
    """(n,) bool: which points are in the box."""
    sides = [orientation(box[i], box[(i + 1) % 4], points) for i in range(4)]
    return np.all(np.array(sides) >= 0, axis=0)


def on_road(points, edges):
    """(n,) bool: inside the curbs, for an odd number of them is east of the point."""
    y = points[:, None, 1]
    a, b = edges[None, :, 0], edges[None, :, 1]
    spans = (a[..., 1] > y) != (b[..., 1] > y)
    with np.errstate(divide="ignore", invalid="ignore"):
        x = a[..., 0] + (y - a[..., 1]) / (b[..., 1] - a[..., 1]) * (b[..., 0] - a[..., 0])
    return (spans & (x > points[:, None, 0])).sum(axis=1) % 2 == 1
