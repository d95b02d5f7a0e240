"""Which classes are there, and what do they find in scenes without one, and in real logs?"""

import copy
import dataclasses

import numpy as np
import pytest
from samples import sample
from staged_tracks import Moving, scene_of, shows, straight, times

from drive_env import generate_scene, load_scene
from drive_env.behaviours import BEHAVIOURS, behaviour_scenes, classify
from drive_env.behaviours.tracks import Path, tracks_of
from drive_env.errors import SceneError

SIXTEEN = ("hard_stop", "highway_straight", "lane_change", "unprotected_left", "unprotected_right", "merge",
           "roundabout", "stop_sign", "traffic_light", "parked_cars", "pedestrian_crossing", "cut_in", "overtaking",
           "narrow_passage", "u_turn", "pull_out")
LANE = [(-100.0, 0.0), (300.0, 0.0)]


def test_there_are_sixteen_classes():
    assert tuple(BEHAVIOURS) == SIXTEEN
    for name, behaviour in BEHAVIOURS.items():
        assert behaviour.predicate.__name__ == name and behaviour.meaning.startswith(("The vehicle ", "Another "))
        assert any(letter.isdigit() for letter in behaviour.definition)


def test_a_scene_without_a_log_shows_nothing():
    assert set(map(tuple, classify(generate_scene("town", agents=8)).values())) == {()}


def test_a_car_that_drives_on_alone_shows_nothing():
    assert set(map(tuple, classify(scene_of([LANE], [straight(10.0, 10.0)])).values())) == {()}


def test_a_map_without_lanes_shows_what_needs_none():
    speed_mps = np.maximum(10.0 - 4.0 * np.maximum(times(8.0) - 2.0, 0.0), 0.0)
    found = classify(scene_of([], [straight(speed_mps, 8.0)], edges=[[(0.0, 9.0), (9.0, 9.0)]]))
    assert {name: objects for name, objects in found.items() if objects} == {"hard_stop": [0]}


def test_what_is_no_vehicle_shows_nothing():
    assert shows("highway_straight", [LANE], [straight(25.0, 6.0, kind="cyclist")]) == []


def test_what_is_no_scene_is_refused():
    with pytest.raises(SceneError, match="scene is 'town'; it must be a Scene"):
        classify("town")


# ---- tracks ----


def hide(scene, frames, index=0):
    """Takes an object out of frames of a log."""
    scene.objects.valid[frames, index] = False
    for name in ("x_m", "y_m", "heading_rad", "vx_mps", "vy_mps"):
        getattr(scene.objects, name)[frames, index] = 0.0
    return scene


def test_a_log_with_long_gaps_is_several_tracks_and_short_ones_are_none():
    scene = scene_of([LANE], [straight(10.0, 10.0), straight(10.0, 0.8, y_m=9.0)])
    for frames, expected in ((slice(40, 60), [(0, 0, 101)]), (slice(40, 61), [(0, 0, 40), (0, 61, 40)])):
        hide(scene, frames)
        assert [(track.object, track.first, len(track)) for track in tracks_of(scene)] == expected


def test_in_a_short_gap_a_vehicle_goes_on_along_its_arc_with_changing_speed():
    """On a circle of 20 m, from 5 to 10 m/s, over 11 s and two gaps of 1 s."""
    time_s = times(11.0)
    angle = (5.0 * time_s + 0.5 * (5.0 / 11.0) * time_s**2) / 20.0
    car = Moving(20 * np.cos(angle), 20 * np.sin(angle), np.pi / 2)
    whole, = tracks_of(scene_of([LANE], [car]))
    track, = tracks_of(hide(hide(scene_of([LANE], [car]), slice(30, 40)), slice(80, 90)))
    assert np.abs(track.xy_m - whole.xy_m).max() < 0.02
    assert np.abs(track.heading_rad - whole.heading_rad).max() < 0.02
    assert np.abs(track.speed_mps - whole.speed_mps).max() < 0.05
    shown = np.r_[0:30, 40:80, 90:111]
    assert (track.xy_m[shown] == whole.xy_m[shown]).all(), "what is in the log stays"


@pytest.mark.parametrize("jump_m, heading_rad, parts", [(0.0, 0.0, 1), (2.0, 0.0, 1), (4.0, 0.0, 2), (0.0, 1.2, 2)])
def test_a_vehicle_that_is_elsewhere_after_a_gap_is_another_track(jump_m, heading_rad, parts):
    """Over 1.1 s; 2.5 m/s are 2.75 m."""
    car = straight(10.0, 10.0)
    car.y_m = car.y_m + jump_m * (np.arange(101) >= 50)
    car.heading_rad[50:] = heading_rad
    if heading_rad:  # so slow that the velocities alone would do
        car.x_m, car.vx_mps = 0.05 * car.x_m, 0.05 * car.vx_mps
    assert len(tracks_of(hide(scene_of([LANE], [car]), slice(40, 50)))) == parts


@pytest.mark.parametrize("name", ["lane_change", "roundabout", "traffic_light", "overtaking"])
def test_a_behaviour_is_found_in_a_log_with_gaps(name):
    """Each object is missing for 0.8 s of every 3 s."""
    for scene in behaviour_scenes(name, range(2)):
        scene = dataclasses.replace(scene, objects=copy.deepcopy(scene.objects))
        for index in range(scene.objects.count):
            for first in range(4 + 5 * index % 20, scene.objects.frame_count - 10, 30):
                hide(scene, slice(first, first + 8), index)
        assert scene.sdc in classify(scene)[name]


def test_a_heading_goes_on_beyond_a_half_turn_and_reverse_is_negative():
    angle = np.linspace(0.0, 4 * np.pi, 201)
    circle = scene_of([LANE], [Moving(20 * np.cos(angle), 20 * np.sin(angle), np.pi / 2)])
    heading_rad = tracks_of(circle)[0].heading_rad
    assert heading_rad[-1] - heading_rad[0] == pytest.approx(4 * np.pi, abs=0.1)
    backwards = straight(-3.0, 5.0)
    backwards.heading_rad[:] = 0.0
    assert tracks_of(scene_of([LANE], [backwards]))[0].speed_mps == pytest.approx(-3.0, abs=1e-4)


def test_a_path_goes_on_straight_at_both_ends():
    path = Path(np.array([(0.0, 0.0), (10.0, 0.0), (10.0, 10.0)]), np.array([0.0, 0.0, np.pi / 2]))
    along_m, left_m = path.coordinates(np.array([(-5.0, 2.0), (4.0, -1.0), (12.0, 5.0), (9.0, 30.0)]))
    assert along_m == pytest.approx([-5.0, 4.0, 15.0, 40.0]) and left_m == pytest.approx([2.0, -1.0, -2.0, 1.0])
    assert path.length_m == pytest.approx(20.0)


# ---- real logs ----


@pytest.mark.parametrize("name, expected", [
    ("gpudrive/test.json", {"unprotected_left": [24]}),
    ("gpudrive/tfrecord-00000-of-01000_325.json", {"parked_cars": [3, 49]}),
    ("pufferdrive/map_942.bin", {"unprotected_right": [78]}),
    ("pufferdrive/map_000.bin", {"parked_cars": [32]})])
def test_real_logs_show_what_their_pictures_do(name, expected):
    """Looked at: a left turn in front of a car from the right; cars past others at the kerb; a right turn into a road
    that a car from the other side enters as well. In `map_000.bin` the box of a parked car jumps: that is no hard stop.
    """
    assert {found: objects for found, objects in classify(load_scene(sample(name))).items() if objects} == expected
