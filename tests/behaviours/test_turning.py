"""Are turns across traffic, U-turns and roundabouts found on both sides of each threshold?"""

import numpy as np
import pytest
from staged_tracks import FRAME_S, Moving, along, arc, scene_of, shows, straight

from drive_env.behaviours import classify

LANES = [[(-60.0, -1.75), (60.0, -1.75)], [(60.0, 1.75), (-60.0, 1.75)]]
LEFT = np.concatenate([[(-60.0, -1.75)], arc((-6.0, 8.25), 10.0, -90.0, 0.0), [(4.0, 60.0)]])
"""East, then north; it crosses y = 1.75 at x = 1.6 m, 68.2 m from its start."""

RIGHT = np.concatenate([[(-60.0, -1.75)], arc((-6.0, -9.75), 8.0, 90.0, 0.0), [(2.0, -60.0)]])
"""East, then south; it is on x = 2 from y = -9.75 m on."""


def passing(points_m, at_m, time_s, speed_mps=8.0):
    """A vehicle that is `at_m` along a polyline at a time; it is absent before its start and beyond its end."""
    points_m = np.asarray(points_m, float)
    length_m = np.linalg.norm(np.diff(points_m, axis=0), axis=1).sum()
    first = max(0, round((time_s - at_m / speed_mps) / FRAME_S))
    whole = along(points_m, speed_mps, length_m / speed_mps)
    early = max(0, -round((time_s - at_m / speed_mps) / FRAME_S))
    return Moving(whole.x_m[early:], whole.y_m[early:], whole.heading_rad[0], first=first)


def turns(name, path, other):
    """The objects that show a turn: object 0 drives the path at 8 m/s and is 68.2 m along it at 8.525 s."""
    return shows(name, LANES, [passing(path, 68.2, 8.525), other])


ONCOMING = [(60.0, 1.75), (-60.0, 1.75)]


@pytest.mark.parametrize("later_s, is_found", [(5.8, True), (8.0, False), (-5.8, True), (-8.0, False)])
def test_a_left_turn_is_unprotected_where_oncoming_traffic_is_within_6_5_s(later_s, is_found):
    """The oncoming vehicle is so much later at (1.6, 1.75), where the paths cross; it is near for 1 s before."""
    assert turns("unprotected_left", LEFT, passing(ONCOMING, 58.4, 8.525 + later_s)) == [0] * is_found


@pytest.mark.parametrize("speed_mps, is_found", [(2.3, True), (1.7, False)])
def test_a_left_turn_is_unprotected_where_the_other_one_moves(speed_mps, is_found):
    assert turns("unprotected_left", LEFT, passing(ONCOMING[:1] + [(-20.0, 1.75)], 58.4, 8.525 + 3.0, speed_mps)
                 ) == [0] * is_found


def test_traffic_that_does_not_cross_the_path_is_no_conflict():
    assert turns("unprotected_left", LEFT, passing([(6.35, 60.0), (6.35, -60.0)], 55.0, 8.5)) == []
    assert turns("unprotected_left", LEFT, passing(LEFT, 68.2, 10.5)) == []
    assert turns("unprotected_left", LEFT, passing([(-60.0, -1.75), (60.0, -1.75)], 60.0, 10.5)) == []


def test_a_right_turn_is_unprotected_where_traffic_comes_onto_its_path():
    from_north, from_south = [(2.0, 60.0), (2.0, -60.0)], [(5.5, -60.0), (5.5, 60.0)]
    assert turns("unprotected_right", RIGHT, passing(from_north, 72.0, 10.5)) == [0]
    assert turns("unprotected_right", RIGHT, passing(from_south, 50.0, 9.0)) == []
    assert turns("unprotected_left", RIGHT, passing(from_north, 72.0, 10.5)) == []


@pytest.mark.parametrize("x_m, is_found", [(3.8, True), (4.3, False)])
def test_vehicles_in_conflict_pass_within_2_m(x_m, is_found):
    """One that drives south beside the path of a right turn, which ends on x = 2 m."""
    assert turns("unprotected_right", RIGHT, passing([(x_m, 60.0), (x_m, -60.0)], 72.0, 10.5)) == [0] * is_found


@pytest.mark.parametrize("angle_deg, is_found", [(56.0, True), (50.0, False)])
def test_vehicles_in_conflict_come_from_other_directions(angle_deg, is_found):
    """One that crosses the path of a left turn at (1.6, 1.75), from the south-west. Where a tenth of that turn is done,
    the heading is 9 degrees.
    """
    ahead = 60.0 * np.array([np.cos(np.radians(angle_deg)), np.sin(np.radians(angle_deg))])
    place = np.array([1.6, 1.75])
    assert turns("unprotected_left", LEFT, passing([place - ahead, place + ahead], 60.0, 9.5)) == [0] * is_found


@pytest.mark.parametrize("turn_deg, is_found", [(62.0, True), (58.0, False), (118.0, True), (122.0, False)])
def test_a_turn_at_a_junction_is_of_60_to_120_degrees(turn_deg, is_found):
    bend = arc((-6.0, 8.25), 10.0, -90.0, -90.0 + turn_deg)
    end = bend[-1] + 40.0 * np.array([np.cos(np.radians(turn_deg)), np.sin(np.radians(turn_deg))])
    path = np.concatenate([[(-60.0, -1.75)], bend, [end]])
    assert turns("unprotected_left", path, passing(ONCOMING, 58.4, 9.5)) == [0] * is_found


@pytest.mark.parametrize("radius_m, is_found", [(41.0, True), (45.0, False)])
def test_a_turn_at_a_junction_is_within_45_m(radius_m, is_found):
    """On these radii, 45 m turn by 63 and by 57 degrees."""
    bend = arc((-20.0, radius_m - 1.75), radius_m, -90.0, -25.0)
    ahead = 40.0 * np.array([np.cos(np.radians(65.0)), np.sin(np.radians(65.0))])
    path = np.concatenate([[(-60.0, -1.75)], bend, [bend[-1] + ahead]])
    assert turns("unprotected_left", path, passing(ONCOMING, 63.0, 8.0)) == [0] * is_found


def test_a_car_on_the_same_bend_is_no_conflict():
    """Cars that follow each other on a circle come from other directions than those in which they are now."""
    circle = arc((0.0, 20.0), 20.0, -90.0, 400.0)
    objects = [along(circle, 8.0, 12.0), along(circle[20:], 8.0, 12.0), along(circle[40:], 8.0, 12.0)]
    found = classify(scene_of([circle[:170]], objects))
    assert found["unprotected_left"] == found["u_turn"] == []


# ---- U-turns ----


def u_turning(turn_deg=180.0, radius_m=6.0, straight_m=0.0, side=1.0):
    """A vehicle that turns round by two arcs, with a straight between them."""
    half = arc((0.0, radius_m), radius_m, -90.0, -90.0 + turn_deg / 2)
    more = arc((0.0, radius_m), radius_m, -90.0 + turn_deg / 2, -90.0 + turn_deg)
    ahead = np.array([np.cos(np.radians(turn_deg / 2)), np.sin(np.radians(turn_deg / 2))])
    end = np.array([np.cos(np.radians(turn_deg)), np.sin(np.radians(turn_deg))])
    path = np.concatenate([[(-40.0, 0.0)], half, more[1:] + straight_m * ahead])
    path = np.concatenate([path, [path[-1] + 30.0 * end]]) * (1.0, side)
    return along(path, 4.0, 30.0)


@pytest.mark.parametrize("turn_deg, is_found", [(152.0, True), (148.0, False), (208.0, True), (212.0, False)])
def test_a_u_turn_is_of_150_to_210_degrees(turn_deg, is_found):
    assert shows("u_turn", LANES, [u_turning(turn_deg)]) == [0] * is_found


@pytest.mark.parametrize("radius_m, straight_m, is_found", [
    (11.0, 0.0, True), (15.0, 0.0, False), (6.0, 12.0, True), (6.0, 14.0, False), (2.8, 0.0, True), (2.4, 0.0, False)])
def test_a_u_turn_is_short_and_narrow(radius_m, straight_m, is_found):
    """At most 45 m long, with ends at most 25 m apart; and 5 m or more, which are 1.9 radii without its first and last
    tenth.
    """
    assert shows("u_turn", LANES, [u_turning(180.0, radius_m, straight_m)]) == [0] * is_found


def test_a_u_turn_to_the_right_is_one_and_one_in_reverse_is_not():
    assert shows("u_turn", LANES, [u_turning(side=-1.0)]) == [0]
    car = u_turning()
    car.heading_rad = car.heading_rad % (2 * np.pi) - np.pi
    assert shows("u_turn", LANES, [car]) == []


# ---- roundabouts ----


def ring(radius_m, stretch=1.0):
    """Four arcs of a ring, an entry to the first and an exit from the second; and their links."""
    arcs = [arc((0.0, 0.0), radius_m, start, start + 90.0) * (1.0, stretch) for start in (-90.0, 0.0, 90.0, 180.0)]
    down = np.array([0.0, -radius_m * stretch])
    entry = np.stack([down, down + (-20.0, -20.0)])[::-1]
    exit_lane = np.stack([arcs[1][-1], arcs[1][-1] + (20.0, 20.0)])
    return [*arcs, entry, exit_lane], [(0, 1), (1, 2), (2, 3), (3, 0), (4, 0), (1, 5)]


def around(radius_m, turn_deg, stretch=1.0):
    """A vehicle that enters such a ring, drives along it, and leaves it straight on."""
    on_ring = arc((0.0, 0.0), radius_m, -90.0, -90.0 + turn_deg) * (1.0, stretch)
    ahead = (on_ring[-1] - on_ring[-2]) / np.linalg.norm(on_ring[-1] - on_ring[-2])
    return along(np.concatenate([[on_ring[0] + (-20.0, -20.0)], on_ring, [on_ring[-1] + 20.0 * ahead]]), 6.0, 40.0)


@pytest.mark.parametrize("radius_m, is_found", [(7.5, False), (9.0, True), (39.0, True), (41.0, False)])
def test_a_ring_is_50_to_250_m_long(radius_m, is_found):
    lanes, links = ring(radius_m)
    assert shows("roundabout", lanes, [around(radius_m, 175.0)], links=links) == [0] * is_found


@pytest.mark.parametrize("turn_deg, is_found", [(70.0, True), (45.0, False)])
def test_a_path_along_a_ring_turns_by_60_degrees(turn_deg, is_found):
    lanes, links = ring(16.0)
    assert shows("roundabout", lanes, [around(16.0, turn_deg)], links=links) == [0] * is_found


def test_a_ring_is_round_and_closed_and_left_or_entered():
    for stretch, is_found in ((0.6, True), (0.5, False)):
        lanes, links = ring(20.0, stretch)
        assert shows("roundabout", lanes, [around(20.0, 175.0, stretch)], links=links) == [0] * is_found
    lanes, links = ring(16.0)
    assert shows("roundabout", lanes, [around(16.0, 175.0)], links=links[1:]) == []
    assert shows("roundabout", lanes, [along(arc((0.0, 0.0), 16.0, 0.0, 300.0), 6.0, 10.0)], links=links) == []


def test_a_path_through_a_roundabout_is_neither_a_left_turn_nor_a_u_turn():
    lanes, links = ring(10.0)
    objects = [around(10.0, 175.0), straight(6.0, 40.0, start_m=-60.0, y_m=8.0)]
    found = classify(scene_of(lanes, objects, links=links))
    assert found["roundabout"] == [0] and found["u_turn"] == found["unprotected_left"] == []


@pytest.mark.parametrize("frames, is_found", [(4, True), (14, False)])
def test_speeds_of_a_log_that_are_wrong_for_a_few_frames_are_no_reverse(frames, is_found):
    car = u_turning()
    for speed_mps in (car.vx_mps, car.vy_mps):
        speed_mps[40:40 + frames] *= -1.0
    assert shows("u_turn", LANES, [car]) == [0] * is_found
