"""Do the arguments of a generated scene determine it, and are wrong ones errors?"""

from __future__ import annotations

import numpy as np
import pytest
from generated_scenes import LANE, NAMES, check_routes, check_spawns
from scene_hashes import digest_of

from drive_env.errors import ArgumentError, SceneError
from drive_env.scenes import generate_scene


def digest(scene):
    """SHA-256 of every array of a scene; heights, and headings of goals, only count in scenes that have them, as those
    of a release had not."""
    return digest_of((scene.objects, scene.roads, scene.lanes), ("z_m", "goal_z_m", "goal_heading_rad")).hexdigest()


def test_the_same_arguments_give_the_same_bytes():
    for name in NAMES:
        for seed in range(20):
            assert digest(generate_scene(name, seed=seed)) == digest(generate_scene(name, seed=seed))
    digests = {digest(generate_scene(name, seed=seed)) for name in NAMES for seed in range(100)}
    assert len(digests) == 200


@pytest.mark.parametrize(("name", "golden"), [
    ("town", "11e3f015be8dd9f5f74e72bc83236b8132d2ddc74d5eaa9517c3e80bfcd0b5e2"),
    ("intersection", "9918329f9e23375950ad161a70a00f708ffe2e5379b3e6b2829b52a1e567f1ba"),
])
def test_scenes_are_those_of_the_release(name, golden):
    """Published results name their scenes by seed: a changed scene needs a new name or a major version."""
    assert digest(generate_scene(name, seed=7)) == golden


def test_every_coordinate_is_exact_in_float32():
    for name in NAMES:
        scene = generate_scene(name, seed=3)
        roads, objects = scene.roads, scene.objects
        for array in (roads.x_m, roads.y_m, objects.x_m, objects.y_m, objects.goal_m):
            scaled = array.astype(np.float64) * 1024
            assert (scaled == np.round(scaled)).all()


def test_a_scene_names_its_source():
    scene = generate_scene("town", seed=5, agents=3, blocks=[3, np.int64(2)])
    assert (scene.name, scene.generated, scene.dt_s, scene.sdc) == ("town/5", True, 0.1, -1)
    assert scene.source == "generate_scene('town', seed=5, agents=3, blocks=(3, 2))"
    is_lane = scene.roads.kind == LANE
    assert (scene.roads.width_m[is_lane] == np.float32(3.5)).all() and not scene.roads.width_m[~is_lane].any()
    assert (scene.roads.speed_limit_mps[is_lane] == np.float32(13.9)).all()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("agents", [1, 2, 17, 63])
def test_any_number_of_agents_is_met_exactly(name, agents):
    for seed in range(0, 200, 20):
        check_spawns(generate_scene(name, seed=seed, agents=agents), agents)


@pytest.mark.parametrize("name", NAMES)
def test_too_many_agents_are_refused_with_the_number_that_fits(name):
    with pytest.raises(SceneError, match=r"agents is 4000; at most \d+ fit") as caught:
        generate_scene(name, seed=9, agents=4000)
    fitting = int(str(caught.value).split("at most ")[1].split()[0])
    assert fitting >= 64
    check_spawns(generate_scene(name, seed=9, agents=fitting), fitting)
    with pytest.raises(SceneError):
        generate_scene(name, seed=9, agents=fitting + 1)


@pytest.mark.parametrize(("arguments", "words"), [
    ({"name": "city"}, "generator is 'city'; it must be one of 'town', 'intersection'"),
    ({"name": ["town"]}, "it must be one of"),
    ({"name": "town", "seed": -1}, "seed is -1; it must be a whole number from 0 to"),
    ({"name": "town", "seed": 1.5}, "seed is 1.5"),
    ({"name": "town", "agents": 0}, "agents is 0; it must be a whole number from 1 to 4096"),
    ({"name": "town", "agents": True}, "agents is True"),
    ({"name": "town", "blocks": 3}, "blocks is 3; it must be a pair of whole numbers from 1 to 6"),
    ({"name": "town", "blocks": (0, 2)}, "blocks is (0, 2)"),
    ({"name": "town", "blocks": (2, 2, 2)}, "blocks is (2, 2, 2)"),
    ({"name": "town", "blocks": (2.0, 2)}, "blocks is (2.0, 2)"),
    ({"name": "town", "lane_width_m": 2.0}, "lane_width_m is 2.0; it must be a number from 3 to 4.5, in m"),
    ({"name": "town", "block_m": float("nan")}, "block_m is nan"),
    ({"name": "town", "block_m": "90"}, "block_m is '90'"),
    ({"name": "intersection", "arm_length_m": 10}, "arm_length_m is 10; it must be a number from 24 to 400"),
    ({"name": "intersection", "lanes": 4}, "lanes is 4; it must be a whole number from 1 to 3"),
    ({"name": "town", "lights": 1}, "lights is 1; it must be True or False"),
])
def test_an_unknown_argument_is_refused_with_the_known_ones(arguments, words):
    with pytest.raises(SceneError) as caught:
        generate_scene(**arguments)
    assert words in str(caught.value)


@pytest.mark.parametrize(("name", "words"), [
    ("arm_length_m", "^town has no parameter 'arm_length_m'; it has blocks, block_m, "),
    ("lane_widht_m", r"^town has no parameter 'lane_widht_m'; did you mean lane_width_m\?$"),
    ("agent", r"^town has no parameter 'agent'; did you mean the argument agents\?$"),
])
def test_an_unknown_parameter_is_an_error_with_those_of_similar_names(name, words):
    with pytest.raises(ArgumentError, match=words):
        generate_scene("town", **{name: 3})


@pytest.mark.parametrize("arguments", [
    {"name": "town", "seed": 2**64 - 1}, {"name": "town", "blocks": (6, 6), "block_m": 300, "agents": 100},
    {"name": "town", "blocks": (1, 6)},
    {"name": "town", "blocks": (1, 1), "block_m": 80, "lane_width_m": 4.5, "agents": 8},
    {"name": "intersection", "arm_length_m": 24, "agents": 16},
    {"name": "intersection", "arm_length_m": 400.0, "lanes": 3, "agents": 100},
])
def test_the_ends_of_every_range_make_scenes(arguments):
    scene = generate_scene(**arguments)
    check_spawns(scene, scene.objects.count)
    assert np.isfinite(check_routes(scene)).all()


@pytest.mark.parametrize("call", [
    lambda: generate_scene("x" * 5000), lambda: generate_scene("town", lane_width_m=10**5000),
    lambda: generate_scene("town", lane_width_m=np.zeros((9, 9)))])
def test_an_error_about_a_long_value_is_one_short_line(call):
    with pytest.raises(SceneError, match=r" is .{1,100}; it must be [^\\]{1,400}$"):
        call()
