"""Does the trainer resolve the scenes of its config by the rule of every API?"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")

from small import BUSY
from town_paths import TownPath, TownText

from baselines.rollout.batches import scenes_of
from drive_env import Batch, SceneError, generate_scene, save_scene


def names_of(*scenes, **options):
    return [scene.name for scene in scenes_of(replace(BUSY, scenes=scenes, **options))]


def test_the_name_of_a_generator_is_the_generator_even_where_a_file_has_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "town").mkdir()
    for name in ("town/b.drv", "town/a.drv", "intersection"):
        save_scene(generate_scene("intersection", seed=7, agents=4), "made.drv", overwrite=True)
        (tmp_path / "made.drv").rename(name)
    assert names_of("town", scene_count=2) == ["town/0", "town/1"]
    assert names_of("intersection", scene_count=2) == ["intersection/0", "intersection/1"]
    assert names_of("./town") == ["intersection/7"] * 2 == [scene.name for scene in Batch("./town").scenes]
    assert names_of("./intersection") == names_of(str(tmp_path / "intersection")) == ["intersection/7"]
    assert names_of(Path("town")) == ["intersection/7"] * 2 and names_of(Path("town/a.drv")) == ["intersection/7"]
    assert names_of(TownPath()) == names_of(TownText("town")) == ["intersection/7"] * 2
    assert names_of("town", "./town", scene_count=1) == ["town/0", "intersection/7", "intersection/7"]


def test_generated_scenes_have_the_agents_and_parameters_of_the_config():
    scene, = scenes_of(replace(BUSY, scene_count=1, scene_agents=3, scene_parameters={"arm_length_m": 90.0}))
    assert scene.source == generate_scene("intersection", seed=0, agents=3, arm_length_m=90.0).source
    drive = BUSY.drive.replace(agents_per_world=40)
    assert scenes_of(replace(BUSY, scene_count=1, scene_agents=None, drive=drive))[0].objects.count == 40
    assert scenes_of(replace(BUSY, scene_count=1, scene_agents=None))[0].objects.count == 32


def test_a_folder_without_files_is_an_error(tmp_path):
    with pytest.raises(SceneError, match="the folder holds no files"):
        names_of(str(tmp_path))
