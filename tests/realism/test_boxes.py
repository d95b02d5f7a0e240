"""How far apart are rounded boxes? Vectors of the published implementation, and a polygon clipped by hand."""

import numpy as np
import pytest

from drive_env.realism.boxes import Boxes, signed_distance
from drive_env.realism.frames import Frames
from drive_env.realism.nearest_object import NO_OBJECT_M, nearest_object_distance

CAR = (0, 0, 4.8, 2, 0)


def boxes(rows):
    x_m, y_m, length_m, width_m, heading_rad = np.array(rows, np.float32).T
    return Boxes(x_m, y_m, np.cos(heading_rad), np.sin(heading_rad), length_m / 2, width_m / 2)


def distance(one, other, **rounding):
    return float(signed_distance(boxes([one]), boxes([other]), **rounding)[0])


@pytest.mark.parametrize("rounding, wanted", [(0.0, 0.0), (0.5, 0.62132), (0.7, 0.8698486), (1.0, 1.2426405)])
def test_rounder_corners_are_farther_apart(rounding, wanted):
    assert distance((0, 0, 2, 2, 0), (4, 3, 6, 4, 0), rounding=rounding) == pytest.approx(wanted, abs=1e-6)


@pytest.mark.parametrize("other, wanted", [
    ((4.9, 2.1, 4.8, 2, 0.3), 0.54756), ((3, 1, 4.8, 2, 0.3), -1.4889853), ((0.5, 0.2, 4.8, 2, 1.2), -2.999626),
    (CAR, -2.0), ((6, 0, 4.8, 2, 0), 1.2)])
def test_distances_of_cars_are_the_published_ones(other, wanted):
    assert distance(CAR, other) == pytest.approx(wanted, abs=1e-5)
    assert distance(other, CAR) == pytest.approx(wanted, abs=1e-5)


@pytest.mark.parametrize("x_m, heading_rad, wanted", [(3, 0, 0), (13, 0, 10), (13, np.pi, 10)])
def test_boxes_behind_each_other_are_apart_by_their_gap(x_m, heading_rad, wanted):
    assert distance((0, 0, 2, 2, 0), (x_m, 0, 4, 2, heading_rad)) == pytest.approx(wanted, abs=1e-5)


def frames_of(rng, frames, objects, evaluated):
    x_m, y_m = rng.uniform(-25, 25, (2, frames, objects)).astype(np.float32)
    heading_rad = rng.uniform(-3, 3, (frames, objects)).astype(np.float32)
    half_length_m, half_width_m = rng.uniform(0.2, 5.0, (2, objects)).astype(np.float32)
    return Frames(x_m, y_m, heading_rad, np.cos(heading_rad), np.sin(heading_rad), np.zeros_like(x_m),
                  rng.random((frames, objects)) < 0.8, half_length_m, half_width_m, evaluated)


def test_no_nearer_object_is_left_out():
    """Against the distances of all pairs."""
    frames = frames_of(np.random.default_rng(1), 40, 12, np.array([0, 3, 11]))
    found = nearest_object_distance(frames)
    for frame in range(40):
        for slot, own in enumerate(frames.evaluated):
            others = np.array([other for other in range(12) if other != own and frames.valid[frame, other]])
            here = np.full(len(others), frame)
            wanted = signed_distance(frames.boxes(here, np.full(len(others), own)), frames.boxes(here, others)).min()
            assert found[frame, slot] == (wanted if frames.valid[frame, own] else NO_OBJECT_M)
    assert (found < 0).any() and (found > 0).any()


def test_an_object_alone_is_far_from_everything():
    frames = frames_of(np.random.default_rng(2), 3, 1, np.array([0]))._replace(valid=np.ones((3, 1), bool))
    assert (nearest_object_distance(frames) == NO_OBJECT_M).all()
