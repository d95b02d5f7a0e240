"""Which area does a picture show, with which bars, and where is asphalt? Tested by pixels."""

import numpy as np
import pytest

REASON = 'drawing needs the extra: pip install "drive-env[render]"'
for package in ("cv2", "PIL"):
    pytest.importorskip(package, reason=REASON)

from bare_scene import LENGTH_M, WIDTH_M, bare_scene, started
from pixels import of_colour, places

from drive_env import ConfigError, generate_scene
from drive_env.render import SceneView, colours
from drive_env.scenes.generate import GENERATORS


@pytest.mark.parametrize("name", GENERATORS)
def test_no_road_of_a_generated_scene_is_cut_off(name):
    """No road edge touches the border of the picture."""
    with started(generate_scene(name, seed=2)) as batch:
        picture = SceneView(batch, size=(640, 480), bars=False).frame()
    edges = of_colour(picture, colours.EDGE, tolerance=30)
    assert edges.sum() > 500
    border = np.concatenate([edges[0], edges[-1], edges[:, 0], edges[:, -1]])
    assert not border.any()


def test_a_box_fills_the_picture():
    """20 m on 400 pixels: 20 pixels per metre."""
    with started(bare_scene([(3.0, 4.0, 0.0), (500.0, 300.0, 0.0)])) as batch:
        picture = SceneView(batch, size=(400, 400), box_m=(-7.0, -6.0, 13.0, 14.0), bars=False).frame()
    car = places(of_colour(picture, colours.STATE_COLOURS[colours.DRIVING], tolerance=90)
                 | of_colour(picture, colours.GLASS, tolerance=2))
    assert (car.min(axis=0) + car.max(axis=0)) / 2 == pytest.approx([200, 200], abs=3)
    assert np.ptp(car, axis=0) == pytest.approx([20 * LENGTH_M, 20 * WIDTH_M], abs=6)


def test_a_picture_without_bars_is_map_to_its_borders():
    with started(bare_scene([(0.0, 0.0, 0.0)])) as batch:
        plain, barred = (SceneView(batch, size=(320, 240), bars=bars).frame() for bars in (False, True))
        assert SceneView(batch, size=(32, 32), bars=False).frame().shape == (32, 32, 3)
        with pytest.raises(ConfigError, match="width is 31; it must be a whole number from 32 to 7680"):
            SceneView(batch, size=(31, 32), bars=False)
    for row in (0, -1):
        assert of_colour(plain[row:][:1], colours.LAND).all() and not of_colour(barred[row:][:1], colours.LAND).any()


@pytest.mark.parametrize("box_m", [(0, 0, 0, 10), (0, 10, 10, 0), (0, 0, float("nan"), 10), (0, 0, 10), 5, "here",
                                   (0, 0, 1e9, 10)])
def test_a_box_without_an_area_is_an_error(box_m):
    with started(bare_scene([(0.0, 0.0, 0.0)])) as batch, pytest.raises(ConfigError, match="^box_m is .*; it must be"):
        SceneView(batch, box_m=box_m)


def test_asphalt_reaches_into_the_corners_of_a_generated_road_and_not_beyond_its_edges():
    scene = generate_scene("highway")
    low_x, low_y = float(scene.roads.x_m.min()), float(scene.roads.y_m.min())
    with started(scene) as batch:
        box_m = (low_x - 5.0, low_y - 5.0, low_x + 5.0, low_y + 5.0)
        picture = SceneView(batch, size=(400, 400), box_m=box_m, bars=False).frame()
    # 40 pixels per metre; the corner is in the middle, and the road is north-east of it.
    inside, west, south = picture[200 - 40, 200 + 40], picture[200 - 40, 200 - 40], picture[200 + 40, 200 + 40]
    assert inside.tolist() == list(colours.ASPHALT)
    assert west.tolist() == south.tolist() == list(colours.LAND)


def test_a_splitter_island_is_not_asphalt():
    """Of a roundabout's edges, the island is the shortest; it lies inside two of them."""
    scene = generate_scene("roundabout")
    roads = scene.roads
    points = np.stack([roads.x_m, roads.y_m], axis=1)
    edges = [points[roads.start[i]:roads.start[i + 1]] for i in np.flatnonzero(roads.kind == 3)]
    island = min(edges, key=lambda edge: np.ptp(edge, axis=0).max())
    x, y = island[:-1].mean(axis=0)
    with started(scene) as batch:
        picture = SceneView(batch, size=(320, 320), box_m=(x - 4, y - 4, x + 4, y + 4), bars=False).frame()
    assert picture[160, 160].tolist() == list(colours.LAND)


def test_agents_with_one_goal_have_their_indices_side_by_side():
    def ink(agents):
        poses = [(0.0, 12.0 * i, 0.0) for i in range(agents)]
        with started(bare_scene(poses, goals=[(30.0, 0.0)] * agents)) as batch:
            picture = SceneView(batch, size=(600, 600), box_m=(26.0, -4.0, 34.0, 4.0), bars=False).frame()
        return np.ptp(places(of_colour(picture, colours.INK, tolerance=40))[:, 0])

    assert ink(2) > 2 * ink(1) > 0
