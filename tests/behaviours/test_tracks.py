"""Is the path of an object, and a place along it, found in the noise of a log?"""

import numpy as np
import pytest
from staged_tracks import Moving, resting, scene_of, straight

from drive_env.behaviours.tracks import tracks_of

LANE = [(-100.0, 0.0), (300.0, 0.0)]


def path_of(car):
    track, = tracks_of(scene_of([LANE], [car]))
    return track.path


def test_a_box_that_jitters_has_the_path_of_one_that_stands():
    """0.5 m forth and back: the distance driven is long, and no two places are 1 m apart."""
    jitters = resting(10.0, 0.0, 5.0)
    jitters.x_m = jitters.x_m + np.resize([0.0, 0.5], len(jitters.x_m))
    points_m = np.array([[10.0, 2.0], [50.0, -1.0], [-40.0, 0.0]])
    for one, other in zip(*(path_of(car).coordinates(points_m) for car in (jitters, resting(10.0, 0.0, 5.0))),
                          strict=True):
        assert np.isfinite(one).all() and (one == other).all()
    assert path_of(jitters).length_m == 0.0


def test_a_vehicle_that_goes_on_after_jitter_has_the_path_of_its_way():
    wait = np.resize([0.0, 0.5], 31)
    car = Moving(np.concatenate([wait, 0.5 * np.arange(1, 81)]), 0.0)
    along_m, left_m = path_of(car).coordinates(np.array([[20.0, 3.0], [35.0, -2.0]]))
    assert along_m == pytest.approx([20.0, 35.0]) and left_m == pytest.approx([3.0, -2.0])
    assert path_of(straight(10.0, 5.0)).length_m == pytest.approx(50.0)
