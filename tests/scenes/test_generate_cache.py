"""Are generated scenes cached, and does a change to a returned scene leave the cache and other scenes as they are?"""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from generated_scenes import SHAPES

from drive_env.errors import SceneError
from drive_env.scenes import generate_scene
from drive_env.scenes.generate import CACHED_SCENES, _generated


def bytes_of(scene):
    """Every field of a scene."""
    parts = (scene.objects, scene.roads, scene.lanes)
    arrays = [(name, array.dtype, array.shape, array.tobytes()) for part in parts for name, array in vars(part).items()]
    return scene.name, scene.source, scene.dt_s, scene.origin_m.tobytes(), arrays


def arrays_of(scene):
    return [scene.origin_m, *(array for part in (scene.objects, scene.roads, scene.lanes)
                              for array in vars(part).values())]


@pytest.mark.parametrize(("name", "parameters"), [*SHAPES, ("town", {"blocks": (2, 2)})])
def test_a_cached_scene_equals_one_generated_anew(name, parameters):
    for seed, agents in ((0, 4), (1, 4), (1, 5)):
        _generated.cache_clear()
        anew = generate_scene(name, seed, agents, **parameters)
        assert _generated.cache_info().misses == 1
        kept = generate_scene(name, np.int64(seed), np.uint8(agents), **parameters)
        assert _generated.cache_info().hits == 1
        assert bytes_of(anew) == bytes_of(kept)


def test_another_seed_number_of_agents_or_parameter_is_another_scene():
    asked = [("town", 0, 4, {}), ("intersection", 0, 4, {}), ("town", 1, 4, {}), ("town", 0, 5, {}),
             ("town", 0, 4, {"lane_width_m": 3.6}), ("town", 0, 4, {"blocks": (1, 2)}),
             ("town", 0, 4, {"blocks": (2, 1)})]
    for _ in range(2):
        assert len({str(bytes_of(generate_scene(name, seed, agents, **parameters))[4])
                    for name, seed, agents, parameters in asked}) == len(asked)


@pytest.mark.parametrize("name", ["town", "intersection"])
def test_what_a_user_does_to_a_scene_reaches_no_other(name):
    scene, before = generate_scene(name, agents=4), bytes_of(generate_scene(name, agents=4))
    other = generate_scene(name, agents=4)
    for array in arrays_of(scene):
        address = ctypes.c_uint8 * array.nbytes
        ctypes.memset(address.from_address(array.ctypes.data), 1, array.nbytes)  # as torch.from_numpy can write
    vars(scene.objects)["x_m"] = np.zeros(3)
    assert bytes_of(scene)[4] != before[4]
    assert bytes_of(other) == bytes_of(generate_scene(name, agents=4)) == before


def test_every_call_returns_its_own_report():
    generate_scene("town", agents=4).report.drop("by its user")
    assert generate_scene("town", agents=4).report.dropped == {}


def test_the_cache_has_its_limit():
    for seed in range(CACHED_SCENES + 3):
        generate_scene("intersection", seed, 1)
    assert _generated.cache_info().currsize == CACHED_SCENES


def test_an_error_is_the_same_each_time():
    for _ in range(2):
        with pytest.raises(SceneError, match=r"^generate_scene\('town', seed=1, agents=500\): .*at most"):
            generate_scene("town", 1, 500)
