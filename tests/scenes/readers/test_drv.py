"""Does a `.drv` hold a scene bit for bit, in the documented layout?"""

from __future__ import annotations

import dataclasses
import operator
import os
import struct

import golden
import numpy as np
import pytest
from drv_writer import (
    bare_scene,
    controlled_scene,
    drv_file,
    file_of,
    full_scene,
    listed_scene,
    parts_of,
    raised_scene,
    sections_of,
)
from small_scene import changed, small_scene

import drive_env
from drive_env import Batch, ConfigError, SceneError, generate_scene, load_scene, save_scene
from drive_env.scenes import GoalLists, Provenance, Report, Scripts
from drive_env.scenes.metadata import LIMIT_BYTES, encode_metadata
from drive_env.scenes.readers.drv import read_drv
from drive_env.scenes.file_layout import KINDS, VERSION
from drive_env.scenes.readers.drv.write import drv_bytes
from drive_env.scenes.validate import validate_scene


def assert_same(left, right):
    """Every array bit for bit, every other field equal."""
    for part in ("objects", "roads", "lanes", "traffic_controls", "scripts", "goal_lists"):
        for name, array in vars(getattr(left, part)).items():
            other = getattr(getattr(right, part), name)
            assert (array.dtype, array.shape) == (other.dtype, other.shape), f"{part}.{name}"
            assert array.tobytes() == other.tobytes(), f"{part}.{name}"
    assert left.origin_m.tobytes() == right.origin_m.tobytes()
    assert left.candidate_goals_m.tobytes() == right.candidate_goals_m.tobytes()
    for name in ("name", "source", "generated", "dt_s", "sdc", "tracks_to_predict", "objects_of_interest",
                 "scenario_id", "report"):
        assert getattr(left, name) == getattr(right, name), name


SCENES = {
    "full": full_scene, "controlled": controlled_scene, "raised": raised_scene, "listed": listed_scene,
    "bare": bare_scene,
    "a log without objects": lambda: bare_scene(frames=9), "small": small_scene,
    "town": lambda: generate_scene("town", seed=2, agents=48),
    "intersection": lambda: generate_scene("intersection", seed=5, agents=6), "exits": lambda: generate_scene("exits"),
    "gates": lambda: generate_scene("gates"),
}


@pytest.mark.parametrize("name", SCENES)
def test_a_scene_is_loaded_bit_for_bit(name, tmp_path):
    scene = SCENES[name]()
    save_scene(scene, tmp_path / "scene.drv")
    found = load_scene(tmp_path / "scene.drv")
    assert_same(scene, found)
    known = dataclasses.asdict(scene.provenance)
    assert dataclasses.asdict(found.provenance) == known | {"converter": known["converter"] or converter()}


def converter():
    return f"drive-env {drive_env.__version__}"


@pytest.mark.parametrize("name", SCENES)
def test_the_file_is_as_documented(name):
    scene = SCENES[name]()
    named = dataclasses.replace(scene, provenance=dataclasses.replace(scene.provenance, converter="x"))
    assert drv_bytes(named) == drv_file(named)
    assert_same(scene, read_drv(drv_file(named)))


@pytest.mark.parametrize("name", SCENES)
def test_equal_scenes_give_equal_bytes_also_after_loading(name):
    scene = SCENES[name]()
    data = drv_bytes(scene)
    assert data == drv_bytes(SCENES[name]()) == drv_bytes(read_drv(data))


PLAYED = ("town/discrete", "town/goals", "town/route", "town/idm", "town/laps", "town/obeyed", "intersection/discrete",
          "intersection/respawn", "intersection/lane_changes", "intersection/signs", "map_942/discrete", "map_942/idm",
          "map_942/handed_back", "exits/delayed", "gates/scripts", "occluded/scripts", "overpass/detailed",
          "overpass/idm")
"""Rollouts with every scene of the others, and every array of a scene in use. The others differ in the config."""


def test_a_rollout_of_every_kind_of_scene_is_played():
    kinds = [{name.partition("/")[0] for name in names} for names in (PLAYED, golden.ROLLOUTS)]
    assert kinds[0] == kinds[1]


@pytest.mark.parametrize("rollout", PLAYED)
def test_a_loaded_scene_plays_bit_for_bit_like_the_scene(rollout, tmp_path):
    batch = golden.begin(rollout)
    if batch is None:
        pytest.skip("the real sample map_942.bin is missing; DRIVE_SAMPLES may name its folder")
    loaded = []
    for place, scene in enumerate(batch.scenes):
        save_scene(scene, tmp_path / f"{place}.drv")
        loaded.append(load_scene(tmp_path / f"{place}.drv"))
    batch.close()
    again = Batch(loaded, num_worlds=batch.num_worlds, config=batch.config, seed=batch.seed, world_ids=batch.world_ids)
    again.reset()
    assert golden.hashes_of(again).combined() == golden.hash_of(rollout)


@pytest.mark.parametrize("name", ["map_942.bin", "map_000.bin"])
def test_a_real_scene_is_loaded_bit_for_bit(name, tmp_path, sample_path):
    scene = load_scene(sample_path(f"pufferdrive/{name}"))
    save_scene(scene, tmp_path / "real.drv")
    assert_same(scene, load_scene(tmp_path / "real.drv"))


def test_a_negative_zero_keeps_its_sign():
    scene = full_scene()
    scene.objects.x_m[0, 0] = scene.roads.x_m[0] = -0.0
    assert_same(scene, read_drv(drv_bytes(scene)))


def test_the_documented_ranges_are_those_of_the_validator():
    """Each float section allows both ends of its range; file and validator refuse the next number."""
    for kind in KINDS:
        if kind.type != "f4":
            continue
        name = kind.name.rpartition(".")[2]
        for end, beyond in ((kind.low, -np.inf), (kind.high, np.inf)):
            scene = raised_scene() if kind.name == "candidate_goals_m" else listed_scene()
            scene.objects.vx_mps[:] = scene.objects.vy_mps[:] = 0
            array = operator.attrgetter(kind.name)(scene)
            array.flat[0] = end
            assert_same(scene, read_drv(drv_file(validate_scene(scene))))
            array.flat[0] = np.nextafter(np.float32(end), np.float32(beyond))
            with pytest.raises(SceneError, match=name):
                validate_scene(scene)
            with pytest.raises(SceneError, match=name):
                read_drv(drv_file(scene))


def test_arrays_of_a_loaded_scene_are_its_own_and_may_be_changed():
    data = drv_bytes(full_scene())
    first, second = read_drv(data), read_drv(data)
    first.objects.goal_m[:] = 0
    first.roads.x_m[:] = 0
    assert_same(second, full_scene())


def test_sections_begin_on_a_cache_line():
    scene = read_drv(drv_bytes(full_scene()))
    for array in (scene.objects.x_m, scene.roads.x_m, scene.roads.start, scene.objects.id):
        assert array.ctypes.data % 64 == 0


def test_any_memory_order_can_be_written():
    scene = full_scene()
    x_m = np.asfortranarray(scene.objects.x_m)
    valid = np.repeat(scene.objects.valid, 2, axis=1)[:, ::2]
    assert not x_m.flags.c_contiguous and not valid.flags.c_contiguous
    assert drv_bytes(changed(scene, objects={"x_m": x_m, "valid": valid})) == drv_bytes(scene)


# ---- versions ----


@pytest.mark.parametrize("name", SCENES)
def test_a_file_has_the_lowest_minor_version_that_holds_its_scene(name):
    data = drv_bytes(SCENES[name]())
    minor, section_count = struct.unpack_from("<HI", data, 10)
    versions = {"controlled": (1, 36), "exits": (1, 36), "raised": (2, 43), "gates": (2, 43),
                "listed": (3, 49)}
    assert (minor, section_count) == versions.get(name, (0, 25))


def test_sections_of_a_later_minor_version_are_skipped():
    header, sections = parts_of(listed_scene())
    later = {(90, 4): b"abcd" * 5, (3, 1): b"x", (2**32 - 1, 4096): b""}
    file = file_of(header, sections | later, minor=VERSION[1] + 1)
    assert_same(read_drv(file), listed_scene())


def test_sections_that_an_earlier_minor_version_lacks_are_zeros():
    """As this version reads a file of 1.0, so will the next one read a file of this version."""
    header, sections = parts_of(full_scene())
    found = read_drv(file_of(header, sections, minor=0))
    assert_same(found, full_scene())
    assert found.traffic_controls.count == 0
    assert found.traffic_controls.state.shape == (full_scene().objects.frame_count, 0)
    header, sections = parts_of(controlled_scene())
    assert_same(read_drv(file_of(header, sections, minor=1)), controlled_scene())
    header, sections = parts_of(raised_scene())
    found = read_drv(file_of(header, sections, minor=2))
    assert_same(found, raised_scene())
    assert np.isnan(found.objects.goal_heading_rad).all() and found.goal_lists.count == 0


def test_one_candidate_goal_at_the_origin_is_not_none():
    scene = dataclasses.replace(full_scene(), candidate_goals_m=np.zeros((1, 2), np.float32))
    assert read_drv(drv_bytes(scene)).candidate_goals_m.shape == (1, 2)
    assert read_drv(drv_bytes(full_scene())).candidate_goals_m.shape == (0, 2)


def test_a_script_of_zeros_is_not_none():
    zeros = Scripts(*np.zeros((3, 1), np.int32), np.zeros((1, 4), np.float32))
    assert read_drv(drv_bytes(dataclasses.replace(full_scene(), scripts=zeros))).scripts.count == 1
    assert read_drv(drv_bytes(full_scene())).scripts.count == 0


def test_a_list_of_zeros_is_not_none():
    zeros = GoalLists(np.zeros(1, np.int32), np.zeros((1, 2), np.float32))
    assert read_drv(drv_bytes(dataclasses.replace(full_scene(), goal_lists=zeros))).goal_lists.count == 1
    assert read_drv(drv_bytes(full_scene())).goal_lists.count == 0


def test_one_heading_of_0_is_not_none():
    scene = changed(full_scene(), objects={"goal_heading_rad": np.array([np.nan, 0, np.nan], np.float32)})
    assert_same(read_drv(drv_bytes(scene)), scene)


def test_a_section_of_a_later_minor_version_in_a_file_of_an_earlier_one_is_refused():
    header, sections = parts_of(controlled_scene())
    with pytest.raises(SceneError, match=r"code at byte \d+ is 96; version 1.0 has no such section"):
        read_drv(file_of(header, sections, minor=0))


def test_a_section_that_the_minor_version_has_is_required():
    header, sections = parts_of(raised_scene())
    fewer = {name: data for name, data in sections.items() if name != "scripts.line_m"}
    with pytest.raises(SceneError, match=r"it has no section scripts.line_m, code 123"):
        read_drv(file_of(header, fewer))


def test_keys_of_a_later_minor_version_are_skipped():
    header, sections = parts_of(listed_scene())
    data = b'{"author":["x"],' + sections["metadata"][1:]
    file = file_of(header | {"metadata_bytes": len(data)}, sections | {"metadata": data}, minor=VERSION[1] + 1)
    assert_same(read_drv(file), listed_scene())


def test_an_unknown_section_of_this_version_is_refused():
    header, sections = parts_of(full_scene())
    with pytest.raises(SceneError, match=r"code at byte \d+ is 90; version 1.0 has no such section"):
        read_drv(file_of(header, sections | {(90, 4): b"abcd"}))


def test_another_major_version_is_refused_before_anything_else_is_read():
    data = bytearray(drv_bytes(full_scene())[:100])
    struct.pack_into("<H", data, 8, 2)
    with pytest.raises(SceneError, match="major at byte 8 is 2; this version of drive-env reads 1"):
        read_drv(bytes(data))


# ---- metadata ----


def test_the_converter_of_the_first_file_is_kept():
    scene = dataclasses.replace(small_scene(), provenance=Provenance(converter="drive-env 0.0.1"))
    assert read_drv(drv_bytes(scene)).provenance.converter == "drive-env 0.0.1"
    assert read_drv(drv_bytes(small_scene())).provenance.converter == converter()


@pytest.mark.parametrize(("changes", "words"), [
    ({"name": "a\x1b[31mb"}, "metadata name holds the control character U+001B at 1"),
    ({"name": "a\0"}, "metadata name holds the control character U+0000 at 1; only tab and line feed are allowed"),
    ({"source": "a\udcffb"},
     "metadata source holds U+DCFF at 1, which is half of a character; only whole characters are allowed"),
    ({"scenario_id": "\ud800"}, "metadata scenario_id holds U+D800 at 0, which is half of a character"),
    ({"name": "x" * 70_000}, " bytes, 70002 of them name, 'xxx"),
    ({"report": Report(notes=["ä" * 40_000])}, " of them notes, ['äää"),
    ({"report": Report(dropped={"\udc80": 1})}, "a reason of metadata dropped holds U+DC80 at 0"),
    ({"report": Report(dropped={3: 1})}, "a reason of metadata dropped is 3; it must be text"),
    ({"report": Report(dropped={"a": 0})}, "metadata dropped['a'] is 0; it must be a whole number from 1"),
    ({"report": Report(dropped={"a": np.int64(1)})}, "metadata dropped['a'] is np.int64(1)"),
    ({"report": Report(imputed={"a": 1.5})}, "metadata imputed['a'] is 1.5"),
    ({"report": Report(notes=[3])}, "metadata notes[0] is 3; it must be text"),
    ({"report": Report(notes="all")}, "metadata notes is 'all'; it must be a list"),
    ({"provenance": Provenance(source_sha256="0F" * 32)}, "metadata source_sha256 is '0F0F"),
    ({"provenance": Provenance(licence=None)}, "metadata licence is None; it must be text"),
    ({"provenance": "x"}, "provenance is a str; it must be a Provenance"),
    ({"dt_s": 0.0}, "dt_s is 0"),
])
def test_text_that_a_file_cannot_hold_is_refused_by_the_validator(changes, words, tmp_path):
    scene = changed(small_scene(), **changes)
    for refuses in (validate_scene, lambda scene: save_scene(scene, tmp_path / "scene.drv")):
        with pytest.raises(SceneError) as caught:
            refuses(scene)
        assert words in str(caught.value) and len(str(caught.value)) < 400
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("room_bytes", [0, 5, 300])
def test_a_file_can_hold_the_text_of_every_valid_scene(room_bytes):
    """To the last byte: the name of the converting program is left out where it does not fit."""
    bare = changed(small_scene(), provenance=Provenance())
    scene = changed(bare, source='"\t' * 20, scenario_id="x" * (LIMIT_BYTES - room_bytes))
    scene = changed(scene, scenario_id=scene.scenario_id[len(encode_metadata(changed(scene, scenario_id=""))):])
    assert len(encode_metadata(scene)) == LIMIT_BYTES - room_bytes
    found = read_drv(drv_bytes(validate_scene(scene)))
    assert (found.scenario_id, found.source) == (scene.scenario_id, scene.source)
    assert found.provenance.converter == (converter() if room_bytes == 300 else "")
    with pytest.raises(SceneError, match=f"metadata takes {LIMIT_BYTES + 1} bytes"):
        validate_scene(changed(scene, name=scene.name + "x" * (room_bytes + 1)))


def test_a_damaged_drv_gets_one_reason(tmp_path):
    path = tmp_path / "cut.drv"
    path.write_bytes(drv_bytes(small_scene())[:-1])
    with pytest.raises(SceneError) as caught:
        load_scene(path)
    size = len(drv_bytes(small_scene()))
    assert str(caught.value) == (
        f"{path}: read as drive-env .drv: header: file_bytes at byte 16 is {size}; the file has {size - 1}")


def test_a_batch_takes_the_path_of_a_drv(tmp_path):
    save_scene(generate_scene("intersection", agents=3), tmp_path / "scene.drv")
    with Batch(str(tmp_path / "scene.drv")) as batch:
        batch.reset()
        assert batch.num_agents == 3
        assert batch.scenes[0].source == "generate_scene('intersection', seed=0, agents=3)"


def test_the_list_of_sections_is_the_cores():
    assert {kind.name: (kind.code, kind.dtype.itemsize) for kind in KINDS} == sections_of(VERSION[1])


def test_a_name_may_be_long_and_must_be_encodable(tmp_path):
    long = tmp_path / ("\u754c" * 80 + ".drv")
    save_scene(small_scene(), long)
    assert load_scene(long).objects.count > 0
    with pytest.raises(ConfigError, match="no file name can have"):
        save_scene(small_scene(), "\ud800.drv")
