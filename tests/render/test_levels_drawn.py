"""Are lower roads, and the vehicles on them, drawn below higher roads?"""

from __future__ import annotations

import numpy as np
import pytest
from overpass import BELOW, overpass
from pixels import of_colour
from scripted_scenes import IGNORE_ALL, batch_of, driver
from small_scene import roads_of

from drive_env.render import SceneView, colours
from drive_env.scenes.levels import road_pieces

CARS = [driver(0.0, 0.0, 0.0, goal_m=(30.0, 30.0)), driver(0.0, 20.0, np.pi / 2, goal_m=(30.0, -30.0))]
"""One car where the roads cross, on the first road, and one aside, on the second."""


@pytest.mark.parametrize("view", ["scene", "follow"])
@pytest.mark.parametrize(("height_m", "hidden"), [(0.0, False), (6.0, True), (-6.0, False)])
def test_a_bridge_hides_the_car_below_it(view, height_m, hidden):
    batch = batch_of(overpass(height_m, CARS), **IGNORE_ALL, observation={"partners": 0, "roads": 0})
    both = of_colour(SceneView(batch, view=view, agent=1, size=(800, 600)).frame(), colours.GLASS, tolerance=2).sum()
    batch = batch_of(overpass(height_m, CARS[1:], on_bridge=(True,)), **IGNORE_ALL,
                     observation={"partners": 0, "roads": 0})
    alone = of_colour(SceneView(batch, view=view, agent=0, size=(800, 600)).frame(), colours.GLASS, tolerance=2).sum()
    assert alone > 10 and (both > 1.3 * alone) == (not hidden)


def test_the_curbs_of_the_higher_road_are_not_interrupted():
    """Those of the road along x, which is the lower one at a height above 0 and the higher one below 0."""
    for height_m in (6.0, -6.0):
        batch = batch_of(overpass(height_m, CARS), **IGNORE_ALL)
        ground = SceneView(batch, size=(800, 600))
        picture = ground.frame()
        camera = ground._backdrop.camera
        x_m, y_m = 0.0, BELOW[1][1][0][1]
        column, row = camera.to_pixels(np.array([[x_m, y_m]]))[0].round().astype(int)
        is_curb = of_colour(picture[row - 2 : row + 3, column - 1 : column + 2], colours.EDGE, tolerance=30).any()
        assert is_curb == (height_m < 0)


def test_roads_are_cut_where_their_level_changes():
    """A ramp of 100 m up to 12 m beside a bridge: points of neighbouring pieces are shared, and levels ascend."""
    roads = roads_of([(1, [(x_m, 0) for x_m in range(0, 101, 5)]), (1, [(50, -20), (50, 20)])])
    roads.z_m[:21] = np.linspace(0, 12, 21)
    roads.z_m[21:] = 12.0
    pieces = road_pieces(roads)
    ramp = pieces.road == 0
    assert pieces.level[ramp].tolist() == [0, 1, 2, 3]
    assert pieces.first[ramp][0] == 0 and pieces.end[ramp][-1] == 21
    assert (pieces.first[ramp][1:] == pieces.end[ramp][:-1] - 1).all()
    assert pieces.level[~ramp].tolist() == [4]


def test_flat_roads_are_whole_and_on_one_level():
    roads = roads_of([(1, [(0, 0), (10, 0)]), (3, [(0, 3), (10, 3)])])
    roads.z_m[2:] = 2.5
    pieces = road_pieces(roads)
    assert pieces.level.tolist() == [0, 0] and pieces.first.tolist() == [0, 2] and pieces.end.tolist() == [2, 4]
