"""On which side of the road edge is a point, and how far away? Vectors of the published tests, and all segments."""

import numpy as np
import pytest

from drive_env.realism.nearest_segment import make_segments, nearest_segments
from drive_env.realism.road_edges import make_road_edges, signed_distance_to_edges

LEFT_TURN = [(0, 0), (10, 0), (10, 10)]
RIGHT_TURN = [(0, 0), (10, 0), (10, -10)]
SQUARE = [(1, 1), (-1, 1), (-1, -1), (1, -1), (1, 1)]


def line(points):
    return np.array([(*point, 0)[:3] for point in points], float)


def distance(point, *lines, **published):
    edges = make_road_edges([line(points) for points in lines], **published)
    return float(signed_distance_to_edges(np.array([(*point, 0)[:3]], np.float32).T, edges)[0])


@pytest.mark.parametrize("point, wanted", [
    ((12, -2), 2.828427), ((11, -0.5), 1.118034), ((9, 1), -1), ((5, -1), 1), ((5, 2), -2), ((-3, 1), -3.162278),
    ((-3, -1), 3.162278), ((12, 5), 2)])
def test_a_point_is_off_the_road_right_of_either_leg_of_a_left_turn(point, wanted):
    assert distance(point, LEFT_TURN) == pytest.approx(wanted, abs=1e-6)


@pytest.mark.parametrize("point, wanted", [
    ((12, 2), -2.828427), ((11, 0.5), -1.118034), ((9, -1), 1), ((5, -1), 1), ((5, 2), -2), ((8, -5), 2)])
def test_a_point_is_off_the_road_right_of_both_legs_of_a_right_turn(point, wanted):
    assert distance(point, RIGHT_TURN) == pytest.approx(wanted, abs=1e-6)


@pytest.mark.parametrize("z_m, wanted", [(0, -2), (1, -2), (2.4, -2), (2.6, 1), (5, 1)])
def test_a_road_edge_of_another_level_does_not_count(z_m, wanted):
    lower, upper = [(0, 0, 0), (10, 0, 0)], [(0, 3, 5), (10, 3, 5)]
    assert distance((5, 2, z_m), lower, upper) == pytest.approx(wanted, abs=1e-6)


def test_heights_count_three_times_in_the_search_but_not_in_the_distance():
    along_x, along_y = [(-10, 0, 3), (10, 0, 3)], [(0, -10, -3), (0, 10, -3)]
    assert distance((3, 2, 1), along_x, along_y) == pytest.approx(-2)
    assert distance((3, 2, -1), along_x, along_y) == pytest.approx(3)


@pytest.mark.parametrize("point, wanted", [
    ((0, 0), -1), ((2, 2), 1.414214), ((1.5, 1.2), 0.538516), ((0.9, 0.9), -0.1), ((1.2, 1.5), 0.538516)])
def test_the_ends_of_a_ring_are_neighbours(point, wanted):
    assert distance(point, SQUARE) == pytest.approx(wanted, abs=1e-6)


def test_a_ring_that_is_not_the_longest_line_is_open_as_published():
    """Beyond the tip of a triangle, the nearer segment has the point on its left, its neighbour on its right."""
    triangle, far = [(10, 0), (0, 1), (0, -1), (10, 0)], [(1000 + index, 1000) for index in range(10)]
    assert distance((11, -0.5), triangle) == pytest.approx(np.sqrt(1.25))
    assert distance((11, -0.5), triangle, far) == pytest.approx(-np.sqrt(1.25))
    assert distance((11, -0.5), triangle, far, published=False) == pytest.approx(np.sqrt(1.25))


def test_lines_of_one_point_are_left_out():
    assert distance((5, 2), [(5, 2)], LEFT_TURN) == pytest.approx(-2)


@pytest.mark.parametrize("foot_sign", [-1, 1])
def test_no_nearer_segment_is_left_out(foot_sign):
    """Against all segments, on slopes and with segments without a length."""
    rng = np.random.default_rng(3)
    start_m = rng.uniform(-150, 150, (3, 700)).astype(np.float32)
    start_m[2] /= 15
    along_m = rng.uniform(-9, 9, (3, 700)).astype(np.float32)
    along_m[2] /= rng.choice([3, 30], 700)
    along_m[:2, :20] = 0
    points_m = rng.uniform(-180, 180, (3, 2000)).astype(np.float32) * np.float32([[1], [1], [0.1]])
    segments = make_segments(start_m, start_m + along_m, foot_sign)
    along_m = segments.along_m
    offset = points_m[:, :, None] - start_m[:, None, :]
    squared = along_m[0] ** 2 + along_m[1] ** 2
    share = np.clip((offset[0] * along_m[0] + offset[1] * along_m[1]) / np.where(squared > 0, squared, np.inf), 0, 1)
    x, y, z = offset + foot_sign * share * along_m[:, None, :]
    wanted = np.sqrt(x**2 + y**2 + (3 * z) ** 2)
    found = nearest_segments(points_m, segments)
    np.testing.assert_allclose(wanted[np.arange(2000), found], wanted.min(axis=1), rtol=1e-4, atol=1e-4)


def test_the_first_of_two_segments_at_one_distance_is_the_nearest():
    ends = np.zeros((2, 3, 3), np.float32)
    ends[1, 0] = 4
    assert nearest_segments(np.float32([[1], [2], [0]]), make_segments(*ends)).tolist() == [0]
