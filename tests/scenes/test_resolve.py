"""Does `scenes` take a name, a path, a Scene or a list, and refuse anything else?"""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np
import pytest
from bin_writer import small_file
from small_scene import changed, small_scene
from town_paths import TownPath, TownText

from drive_env import Batch, generate_scene, parallel_env, tasks
from drive_env.errors import ArgumentError, ConfigError, SceneError
from drive_env.scenes import resolve_scenes
from drive_env.scenes.generate import TASK_OF
from drive_env.tasks.recognition import TASKS


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "small.bin"
    path.write_bytes(small_file())
    return path


@pytest.mark.parametrize("name", ["town", "intersection"])
def test_a_name_stands_for_64_seeds(name):
    scenes = resolve_scenes(name)
    assert [scene.name for scene in scenes] == [f"{name}/{seed}" for seed in range(64)]
    assert {scene.objects.count for scene in scenes} == {32}


@pytest.mark.parametrize(("agents", "count"), [(None, 32), (1, 32), (32, 32), (33, 33), (64, 64)])
def test_named_scenes_have_at_least_32_vehicles(agents, count):
    assert {scene.objects.count for scene in resolve_scenes("intersection", agents)} == {count}


def test_more_agents_than_a_named_scene_holds_is_an_error_with_the_number():
    with pytest.raises(SceneError, match="at most"):
        resolve_scenes("town", 500)


def test_a_path_a_scene_and_a_list_of_them_keep_their_order(path):
    scene = small_scene()
    assert [found.source for found in resolve_scenes(str(path))] == [str(path)]
    assert [found.source for found in resolve_scenes(path)] == [str(path)]
    assert resolve_scenes(scene) == (scene,)
    names = [found.name for found in resolve_scenes([scene, path, "town", scene])]
    assert names == ["small", "small", *(f"town/{seed}" for seed in range(64)), "small"]
    assert resolve_scenes((scene,)) == (scene,)


def test_a_folder_stands_for_its_visible_files_sorted_by_name(path, tmp_path):
    folder = tmp_path / "scenes"
    (folder / "deeper").mkdir(parents=True)
    for name in ("b.bin", "a.bin", ".hidden", "deeper/c.bin"):
        (folder / name).write_bytes(path.read_bytes())
    for scenes in (folder, str(folder), [folder]):
        assert [scene.source for scene in resolve_scenes(scenes)] == [str(folder / "a.bin"), str(folder / "b.bin")]
    (folder / "gone.bin").symlink_to(tmp_path / "nowhere")
    with pytest.raises(SceneError, match=r"gone\.bin.* neither a file nor one of"):
        resolve_scenes(folder)


@pytest.mark.parametrize("as_folder", [True, False], ids=["folder", "file"])
def test_a_generators_name_means_the_generator_even_if_there_is_such_a_path(
        path, tmp_path, monkeypatch, as_folder):
    monkeypatch.chdir(tmp_path)
    if as_folder:
        (tmp_path / "town").mkdir()
        path.rename("town/small.bin")
    else:
        path.rename("town")
    file = os.path.join("town", "small.bin") if as_folder else "town"
    for apis in (lambda source: resolve_scenes(source, seeds=range(2)), lambda source: Batch(source).scenes[:2],
                 lambda source: parallel_env(source).batch.scenes[:2]):
        assert [scene.name for scene in apis("town")] == ["town/0", "town/1"]
        for source, read in (("./town", f"./{file}"), (Path("town"), file), (tmp_path / "town", tmp_path / file),
                             (TownPath(), file), (TownText("town"), file)):
            assert [scene.source for scene in apis(source)] == [str(read)]


def test_seeds_agents_and_parameters_are_those_of_the_arguments():
    scenes = resolve_scenes(["intersection", "town"], 40, seeds=(3, 5), agents=4)
    assert [scene.name for scene in scenes] == ["intersection/3", "intersection/5", "town/3", "town/5"]
    assert {scene.objects.count for scene in scenes} == {4}
    scene, = resolve_scenes("intersection", seeds=[1], parameters={"arm_length_m": 90.0})
    assert scene.source == generate_scene("intersection", seed=1, arm_length_m=90.0).source


def test_every_generator_reads_all_seeds_of_an_iterator():
    scenes = resolve_scenes(["intersection", "town"], seeds=iter((3, 5)), agents=4)
    assert [scene.name for scene in scenes] == ["intersection/3", "intersection/5", "town/3", "town/5"]


@pytest.mark.parametrize("argument, value", [
    *(("agents_per_world", value) for value in ("4", -1, 1.5, [4])),
    *(("seeds", value) for value in (5, None, np.array(5))),
    *(("parameters", value) for value in (5, "ab", [1], [("lanes", 1)]))])
def test_an_argument_of_another_type_is_an_error_that_names_it(argument, value):
    with pytest.raises(SceneError, match=f"^{argument} is {re.escape(repr(value))}; it must be "):
        resolve_scenes("town", **{argument: value})


@pytest.mark.parametrize("parameters", [{"seed": 1}, {"agents": 4}, {"name": "town"}, {1: 2}])
def test_a_parameter_that_a_generator_does_not_have_is_an_error_with_those_it_has(parameters):
    name, = parameters
    with pytest.raises(ArgumentError, match=f"intersection has no parameter {name!r}; it has .*arm_length_m"):
        resolve_scenes("intersection", parameters=parameters)


def test_a_scene_made_by_hand_is_validated():
    with pytest.raises(SceneError, match="dt_s is 0"):
        resolve_scenes([changed(small_scene(), dt_s=0.0)])


def test_a_string_that_is_neither_file_nor_name_is_an_error_with_the_names():
    with pytest.raises(SceneError, match="'twon'; it is neither a file nor one of 'town', 'intersection'"):
        resolve_scenes("twon")


@pytest.mark.parametrize("open_with", [
    resolve_scenes, Batch, parallel_env, lambda scenes: Batch([scenes]), lambda scenes: Batch(["town", scenes])])
@pytest.mark.parametrize(("scenes", "instead"), [
    ("hidden_exit", r"tasks\.hidden_exit\(\), or 'exits' for"),
    (tasks.hidden_closure, r"tasks\.hidden_closure\(\), or 'closures'"),
    (tasks.gates, r"tasks\.gates\(\), or 'gates'"), (tasks.occluded_crossing(), "; pass its scenes and its config$")])
def test_a_task_in_place_of_scenes_is_an_error_with_what_to_pass_instead(open_with, scenes, instead):
    with pytest.raises(SceneError, match=instead):
        open_with(scenes)


def test_the_names_of_tasks_and_of_their_generators_lead_to_each_other():
    with pytest.raises(SceneError, match="hidden_exit is a task: .* or 'exits' for scenes of its generator"):
        generate_scene("hidden_exit")
    with pytest.raises(AttributeError, match="the task on scenes of the generator 'exits' is hidden_exit"):
        tasks.exits()
    with pytest.raises(AttributeError, match="its tasks are hidden_exit, gates, occluded_crossing, hidden_closure"):
        tasks.town()
    with pytest.raises(ConfigError, match="config is a Task; .*; pass its config"):
        Batch("gates", config=tasks.gates(seeds=[0]))
    assert {generator: make.__name__ for generator, (make, _) in TASKS.items()} == TASK_OF


def test_an_unreadable_file_is_an_error_with_the_reason(tmp_path):
    with pytest.raises(SceneError, match=f"{tmp_path}: the folder holds no files"):
        resolve_scenes(str(tmp_path))
    with pytest.raises(SceneError, match="No such file"):
        resolve_scenes(tmp_path / "gone.bin")
    with pytest.raises(SceneError, match="too long"):
        resolve_scenes("x" * 300)


@pytest.mark.parametrize("scenes", [[], ()])
def test_an_empty_list_is_refused(scenes):
    with pytest.raises(SceneError, match="at least one scene"):
        resolve_scenes(scenes)


@pytest.mark.parametrize("scenes", [None, 3, {"town": 1}, [["town"]], ["town", None], b"town"])
def test_other_types_are_refused_with_those_allowed(scenes):
    with pytest.raises(SceneError, match="a path, a Scene, or a list of these"):
        resolve_scenes(scenes)


@pytest.mark.parametrize("none", [(), [], iter(()), range(0), np.zeros(0, int)])
def test_a_generator_without_seeds_is_an_error(none):
    with pytest.raises(SceneError, match="^seeds is empty; for the scenes of a generator it must hold at least one$"):
        resolve_scenes("intersection", seeds=none)


@pytest.mark.parametrize("task", [tasks.gates, tasks.hidden_closure, tasks.hidden_exit, tasks.occluded_crossing])
def test_a_task_without_seeds_is_an_error(task):
    with pytest.raises(SceneError, match="^seeds is empty; "):
        task(seeds=())
