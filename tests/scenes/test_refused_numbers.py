"""Does an error show a refused number with enough digits to be outside of the range beside it?"""

from __future__ import annotations

import dataclasses
import math
import re

import numpy as np
import pytest
from bin_writer import file_bytes, object_bytes
from drv_writer import drv_file, full_scene
from json_writer import car, json_bytes, small_document
from scripted_scenes import batch_of, driver, stage
from small_scene import changed, small_scene

from drive_env import ActionError, DriveConfig, ObservationConfig, generate_scene
from drive_env.errors import ConfigError, SceneError, bound_text, outside_text
from drive_env.scenes.load import only_scene
from drive_env.scenes.readers.source import Source
from drive_env.scenes.limits import HEADING_LIMIT_RAD
from drive_env.scenes.validate import validate_scene

NUMBER = r"(-?[\d.]+(?:e[+-]?\d+)?)"
FOUND = rf" (?:is|of) (?:a speed of )?{NUMBER}(?: m/s)?(?: m from the scene's origin)?; (?:where valid )?it must be "
RANGE = re.compile(rf"{FOUND}(?:a number )?(?:from |in |\[)*{NUMBER}(?: to |, ){NUMBER}")
MOST = re.compile(rf"{FOUND}(?:at most|within) {NUMBER}")


def check_sentence(sentence):
    """The number in the error is outside of the bounds in the error."""
    if found := MOST.search(sentence):
        assert abs(float(found[1])) > float(found[2]), sentence
    else:
        found = RANGE.search(sentence)
        assert found, sentence
        assert not float(found[2]) <= float(found[1]) <= float(found[3]), sentence


def just_beyond(bound, kind=np.float64):
    """The nearest number of a type beyond a bound."""
    at = kind(bound)
    if bound > 0 and float(at) > bound or bound < 0 and float(at) < bound:
        return at
    return np.nextafter(at, kind(math.copysign(math.inf, bound)), dtype=kind)


def just_below(bound, kind=np.float64):
    at = kind(bound)
    return at if float(at) < bound else np.nextafter(at, kind(-math.inf), dtype=kind)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("high", [1.0, 200.0, 50_000.0, 1e9, 0.707106781, 2 * math.pi, HEADING_LIMIT_RAD, 1 / 3])
def test_the_written_digits_differ_from_those_of_the_bound(high, kind):
    value = just_beyond(high, kind)
    assert float(bound_text(high)) == high
    assert float(outside_text(value, -high, high)) > high and float(outside_text(-value, -high, high)) < -high
    value = just_below(high, kind)
    assert float(outside_text(value, high, 2 * high)) < high


def test_redundant_digits_are_not_written():
    assert [outside_text(value, 0, 200) for value in (300.0, math.nan, math.inf)] == ["300", "nan", "inf"]
    assert (bound_text(0.1), bound_text(-50_000.0), bound_text(math.pi)) == ("0.1", "-50000", "3.141592653589793")


@pytest.mark.parametrize("side", [-1, 1])
def test_an_action_a_digit_beyond_its_range_is_written_so(side):
    batch = batch_of(stage([driver()]), action_type="continuous")
    beyond = just_beyond(side, np.float32)
    with pytest.raises(ActionError) as caught:
        batch.step(np.array([[beyond, 0.0]], np.float32))
    found = re.search(rf"is \({NUMBER}, {NUMBER}\); both must be finite and in -1 to 1", str(caught.value))
    assert np.float32(found[1]) == beyond and abs(float(found[1])) > 1


@pytest.mark.parametrize("name, bound", [
    ("length_m", 200.0), ("goal_m", 50_000.0), ("x_m", -50_000.0), ("heading_rad", HEADING_LIMIT_RAD),
    ("vx_mps", 200.0)])
def test_a_scene_a_digit_beyond_its_range_is_written_so(name, bound):
    scene = small_scene()
    array = getattr(scene.objects, name).copy()
    array[0] = just_beyond(bound, np.float32)
    with pytest.raises(SceneError) as caught:
        validate_scene(changed(scene, objects={name: array}))
    check_sentence(str(caught.value))


def test_a_size_a_digit_too_small_and_a_speed_too_high_are_written_so():
    scene = small_scene()
    small, fast = np.nextafter(np.float32([0.01]), np.float32(0)), np.full((2, 1), 141.42137, np.float32)
    for objects in ({"width_m": small}, {"vx_mps": fast, "vy_mps": fast}):
        with pytest.raises(SceneError) as caught:
            validate_scene(changed(scene, objects=objects))
        check_sentence(str(caught.value))


JSON_FAULTS = [{"width": just_beyond(200.0)}, {"height": just_below(0.01)},
               {"velocity": [{"x": just_beyond(200.0), "y": 0.0}] * 4},
               {"velocity": [{"x": 141.4213562373096, "y": 141.4213562373096}] * 4},
               {"heading": [just_beyond(720.0)] * 4}, {"position": [{"x": just_beyond(1e9), "y": 0.0}] * 4},
               {"goalPosition": {"x": 58_030.0 + 1e-6, "y": 0.0}}]


@pytest.mark.parametrize("fault", JSON_FAULTS, ids=lambda fault: next(iter(fault)))
def test_a_json_a_digit_beyond_its_range_is_written_so(fault):
    document = small_document()
    document["objects"] = [{**car(), **fault, "position": fault.get("position", [{"x": 8030.0, "y": 0.0}] * 4)}]
    with pytest.raises(SceneError) as caught:
        only_scene(Source("file", json_bytes(document)))
    check_sentence(str(caught.value))


@pytest.mark.parametrize("fields", [
    {"size": (just_beyond(200.0, np.float32), 4.5, 1.5)},
    {"size": (2.0, np.nextafter(np.float32(0.01), np.float32(0)), 1.5)},
    {"heading": just_beyond(50.0, np.float32)}, {"speed": just_beyond(200.0, np.float32)}])
def test_a_bin_a_digit_beyond_its_range_is_written_so(fields):
    with pytest.raises(SceneError) as caught:
        only_scene(Source("file", file_bytes([object_bytes(**fields)], [])))
    check_sentence(str(caught.value))


@pytest.mark.parametrize("change", [
    {"dt_s": float(just_beyond(2.0))}, {"dt_s": float(just_below(1e-4))}, {"length_m": just_beyond(200.0, np.float32)},
    {"heading_rad": just_beyond(HEADING_LIMIT_RAD, np.float32)}, {"vx_mps": just_beyond(200.0, np.float32)}])
def test_a_drv_a_digit_beyond_its_range_is_written_so(change):
    scene = full_scene()
    if "dt_s" in change:
        scene = dataclasses.replace(scene, **change)
    else:
        (name, value), = change.items()
        array = getattr(scene.objects, name).copy()
        array[-1] = np.where(array[-1] != 0, value, 0)
        scene = changed(scene, objects={name: array})
    with pytest.raises(SceneError) as caught:
        only_scene(Source("file", drv_file(scene)))
    check_sentence(str(caught.value))


@pytest.mark.parametrize("kind, name, value", [
    (DriveConfig, "dt_s", just_beyond(2.0)), (DriveConfig, "log_ema_alpha", just_beyond(0.999999)),
    (ObservationConfig, "view_radius_m", just_beyond(1000.0))])
def test_a_config_a_digit_beyond_its_range_is_written_so(kind, name, value):
    with pytest.raises(ConfigError) as caught:
        kind(**{name: float(value)})
    check_sentence(str(caught.value))


def test_a_parameter_of_a_generator_a_digit_beyond_its_range_is_written_so():
    with pytest.raises(SceneError) as caught:
        generate_scene("town", lane_width_m=float(just_beyond(4.5)))
    check_sentence(str(caught.value))
