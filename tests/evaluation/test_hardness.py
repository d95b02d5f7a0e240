"""Is the hardness of a scene the mean over results of what its scores lack, and are hard scenes hard?"""

import json
import os

import numpy as np
import pytest
from command import run

from drive_env import Batch, ConfigError, SceneError, generate_scene, load_scene, save_scene
from drive_env.behaviours import behaviour_scenes
from drive_env.evaluation import (
    BehaviourClass, HumanReplay, MultiScenario, hard_scenes, load_hardness, load_result, save_hardness,
    scene_hardness)

CROSSING = {"scenes": ["intersection"], "scene_count": 4, "scene_agents": 4, "env": {"trial_steps": 60}}


@pytest.fixture(scope="module")
def results():
    evaluator = MultiScenario("crossing", CROSSING)
    return [evaluator.rollout(policy) for policy in ("lane", "random")]


@pytest.fixture
def path(results, tmp_path):
    save_hardness(scene_hardness(results), tmp_path / "hard.json")
    return tmp_path / "hard.json"


def test_hardness_is_the_mean_over_results_of_what_the_scores_lack(results):
    rows = scene_hardness(results)
    assert [row.hardness for row in rows] == sorted((row.hardness for row in rows), reverse=True)
    for row in rows:
        means = [result.rows["score"][result.rows["scene"] == row.scene].mean() for result in results]
        assert row.hardness == pytest.approx(1 - np.mean(means)) and (row.results, row.trials) == (2, 8)
    assert sorted(row.source for row in rows) == [f"intersection/{10_000_000 + seed}" for seed in range(4)]


def test_each_result_has_the_same_weight(results):
    """One with four times as many trials counts once."""
    often = MultiScenario("crossing", {**CROSSING, "episodes": 4}).rollout("random")
    for one in scene_hardness([results[0], often]):
        means = [result.rows["score"][result.rows["scene"] == one.scene].mean() for result in (results[0], often)]
        assert one.hardness == pytest.approx(1 - np.mean(means)) and one.trials == 4 + 16


def test_a_saved_list_is_read_back(results, path):
    assert load_hardness(path) == scene_hardness(results)


def test_hard_scenes_of_a_generator_are_made_again(results, path):
    rows, scenes = scene_hardness(results), hard_scenes(2, path)
    for row, scene in zip(rows[:2], scenes, strict=True):
        again = generate_scene("intersection", seed=int(row.source.partition("/")[2]), agents=4)
        assert scene.name == again.name == row.scene
        assert scene.objects.x_m.tobytes() == again.objects.x_m.tobytes()
    with Batch(scenes) as batch:
        batch.reset(seed=0)


@pytest.mark.parametrize("settings, agents, parameters", [
    ({"scene_agents": 3, "scene_parameters": {"arm_length_m": 70.0}}, 3, {"arm_length_m": 70.0}),
    ({"scene_agents": None, "env": {"agents_per_world": 40, "trial_steps": 5}}, 40, {})])
def test_hard_scenes_have_the_vehicles_and_parameters_of_the_evaluation(tmp_path, settings, agents, parameters):
    found = MultiScenario("crossing", {**CROSSING, "scene_count": 1, **settings}).rollout("random")
    save_hardness(scene_hardness([found]), tmp_path / "hard.json")
    scene, = hard_scenes(1, tmp_path / "hard.json")
    again = generate_scene("intersection", seed=10_000_000, agents=agents, **parameters)
    assert scene.objects.x_m.tobytes() == again.objects.x_m.tobytes()


def test_hard_scenes_of_files_and_classes_are_read_again(tmp_path):
    logged = behaviour_scenes("cut_in", (0, 1))
    for index, scene in enumerate(logged):
        save_scene(scene, tmp_path / f"{index}.drv")
    files = HumanReplay("logs", {"scenes": [str(tmp_path)], "options": {"scores": False}}).rollout("random")
    classes = BehaviourClass("classes", {"scenes": ["cut_in"], "scene_count": 2}).rollout("random")
    for found in (files, classes):
        save_hardness(scene_hardness([found]), tmp_path / "hard.json")
        scenes = hard_scenes(2, tmp_path / "hard.json")
        assert sorted(scene.name for scene in scenes) == sorted(scene.name for scene in logged)
    (tmp_path / "0.drv").unlink()
    save_scene(generate_scene("town", agents=1), tmp_path / "1.drv")
    save_hardness(scene_hardness([files]), tmp_path / "hard.json")
    with pytest.raises(SceneError):
        hard_scenes(2, tmp_path / "hard.json")


def test_a_scene_is_found_again_whatever_the_name_of_its_file(tmp_path):
    """Names with control characters were once stored as escapes, under which there is no file."""
    names = ["a b.drv", "\u00fcn\u00ef.c\u00f4de.drv", "\u65e5\u672c.drv", "'q', \"r\".drv", "-dash.drv", " lead.drv"]
    if os.name == "posix":
        names += ["new\nline.drv", "cr\rtab\t.drv", "soft\u00ad.drv", "no utf-8 \udcff.drv"]
    for seed, name in enumerate(names):
        save_scene(generate_scene("town", seed=seed, agents=1), tmp_path / name)
    found = MultiScenario("names", {"scenes": str(tmp_path), "env": {"trial_steps": 2}}).rollout("constant")
    found.save(tmp_path / "result.json")
    read = load_result(tmp_path / "result.json")
    assert read.rows["source"].tolist() == found.rows["source"].tolist() and read.coverage.played == len(names)
    save_hardness(scene_hardness([read]), tmp_path / "hard.json")
    assert {scene.name for scene in hard_scenes(len(names), tmp_path / "hard.json")} == {
        f"town/{seed}" for seed in range(len(names))}


def test_a_policy_is_worse_on_hard_scenes_than_on_all_with_other_seeds_of_the_episodes():
    """Actuators that differ from car to car are drawn anew for every episode."""
    env = {"trial_steps": 120, "hidden": {"steering_gain": (0.6, 1.4), "throttle_gain": (0.6, 1.4)}}
    config = {"scenes": ["intersection"], "scene_count": 24, "scene_agents": 8, "env": env}
    first = MultiScenario("crossing", {**config, "episodes": 3}).rollout("idm")
    hardest = {row.scene for row in scene_hardness([first])[:6]}
    later = MultiScenario("crossing", {**config, "seed": 1, "episodes": 3}).rollout("idm").rows
    is_hard = np.isin(later["scene"].astype(str), sorted(hardest))
    assert len(hardest) == 6 and is_hard.sum() == 6 * 8 * 3
    assert later["score"][is_hard].mean() < later["score"].mean() - 0.05


def test_the_command_writes_the_list_and_the_hardest_scenes(results, tmp_path):
    for index, result in enumerate(results):
        result.save(tmp_path / f"{index}.json")
    files = [str(tmp_path / f"{index}.json") for index in range(2)]
    output = run("hardness", *files, "--out", str(tmp_path / "hard.json"), "--count", "2", "--save",
                 str(tmp_path / "hard"))
    rows = scene_hardness(results)
    assert load_hardness(tmp_path / "hard.json") == rows and "hardness of 4 scenes" in output
    saved = [load_scene(one) for one in sorted((tmp_path / "hard").iterdir())]
    assert [scene.name for scene in saved] == [row.scene for row in rows[:2]] and saved[0].generated
    with pytest.raises(ConfigError, match="--save is '.*hard'; it must be a new or an empty folder"):
        run("hardness", *files, "--out", str(tmp_path / "hard.json"), "--save", str(tmp_path / "hard"))
    with pytest.raises(ConfigError, match="--count is 5; the results have 4 scenes, so it must be from 1 to 4"):
        run("hardness", *files, "--out", str(tmp_path / "hard.json"), "--count", "5")
    with pytest.raises(ConfigError, match="RESULT is '.*0.json' twice; each result must be passed once"):
        run("hardness", *files, files[0], "--out", str(tmp_path / "hard.json"))


@pytest.mark.parametrize("text, sentence", [
    ("{", "Expecting property name"), ('{"schema": 2, "scenes": []}', "it must have the schema 1 and a list of scenes"),
    ('{"schema": 1, "scenes": [{"source": 1}]}', r"a scene is \{'source': 1\}; it must have source, scene, agents")])
def test_a_file_that_is_no_list_is_one_sentence(text, sentence, tmp_path):
    (tmp_path / "hard.json").write_text(text)
    with pytest.raises(ConfigError, match=f"hard.json: the hardness of scenes cannot be read: .*{sentence}"):
        load_hardness(tmp_path / "hard.json")


def test_a_count_that_the_list_does_not_have_is_one_sentence(path):
    with pytest.raises(ConfigError, match="count is 5; it must be a whole number from 1 to 4"):
        hard_scenes(5, path)
    with pytest.raises(ConfigError, match="results is empty; it must hold at least one result"):
        scene_hardness([])
    assert json.loads(path.read_text())["schema"] == 1
    with pytest.raises(ConfigError, match="nowhere.json: the hardness of scenes cannot be read: No such file or direc"):
        hard_scenes(1, path.with_name("nowhere.json"))


def test_results_without_a_trial_have_no_hardness(tmp_path):
    """Of a shard with no scene; the command once wrote an empty list."""
    MultiScenario("crossing", {**CROSSING, "scene_count": 1}).rollout("constant", (1, 2)).save(tmp_path / "1.json")
    with pytest.raises(ConfigError, match="the results have no trial, so no scene has a hardness"):
        run("hardness", str(tmp_path / "1.json"), "--out", str(tmp_path / "hard.json"))
    assert not (tmp_path / "hard.json").exists()
    with pytest.raises(ConfigError, match="results is 3; it must hold an EvalResult or more"):
        scene_hardness(3)


@pytest.mark.parametrize("load", [load_hardness, load_result])
def test_deep_nesting_is_one_sentence(load, tmp_path):
    (tmp_path / "deep.json").write_text("[" * 100_000)
    with pytest.raises(ConfigError, match="deep.json: .*maximum recursion depth"):
        load(tmp_path / "deep.json")


def test_a_hardness_outside_of_its_range_and_an_empty_list_are_refused(path):
    data = json.loads(path.read_text())
    data["scenes"][0]["hardness"] = float("nan")
    path.write_text(json.dumps(data))
    with pytest.raises(ConfigError, match="a hardness is nan; it must be from 0 to 1"):
        load_hardness(path)
    save_hardness([], path)
    with pytest.raises(ConfigError, match="it has no scene$"):
        hard_scenes(1, path)
