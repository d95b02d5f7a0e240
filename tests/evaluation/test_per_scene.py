"""Are the scores of each scene the means of its rows, trial by trial?"""

import json

import numpy as np
import pytest

from drive_env.evaluation import MultiScenario, TrafficMatrix, load_result, merge
from drive_env.evaluation.per_scene import SceneScores, scores_by_scene


def rows_of(*lines):
    """Rows of (group, scene key, trial, score); the scene of key 3 is "s3"."""
    group, key, trial, score = zip(*lines, strict=True)
    names = np.array([f"s{one}" for one in key], object)
    return {"group": np.array(group, object), "scene_key": np.array(key), "trial": np.array(trial, np.int32),
            "score": np.array(score, np.float32), "scene": names, "source": names, "world": np.array(key)}


def test_a_scene_has_the_mean_of_each_trial_and_what_later_trials_gain():
    found = scores_by_scene(rows_of(
        ("", 7, 0, 0.0), ("", 7, 1, 1.0), ("", 7, 0, 0.5), ("", 7, 1, 0.5), ("", 2, 0, 1.0), ("", 2, 1, 0.25)))
    assert found == [SceneScores("s2", "s2", "", 2, 0.625, (1.0, 0.25), (-0.75,)),
                     SceneScores("s7", "s7", "", 4, 0.5, (0.25, 0.75), (0.5,))]
    assert scores_by_scene({name: column[:0] for name, column in rows_of(("", 0, 0, 1.0)).items()}) == []


def test_groups_are_apart_and_a_trial_without_rows_has_no_value():
    found = scores_by_scene(rows_of(("b", 0, 0, 1.0), ("a", 0, 2, 0.5), ("a", 0, 0, 0.25)))
    assert [(one.group, one.trial_scores, one.ada_deltas) for one in found] == [
        ("a", (0.25, None, 0.5), (None, 0.25)), ("b", (1.0, None, None), (None, None))]


def test_scores_of_scenes_are_in_the_file_and_the_same_after_a_merge(tmp_path):
    evaluator = MultiScenario("scenes", {"scenes": ["intersection"], "scene_count": 3, "scene_agents": 3, "env": {
        "trial_steps": 150, "max_trials": 2, "goal_radius_m": 20.0}})
    whole = evaluator.rollout("lane")
    assert [one.scene for one in whole.by_scene] == [f"intersection/{10_000_000 + seed}" for seed in range(3)]
    assert sum(one.trials for one in whole.by_scene) == len(whole.rows["world"])
    means = [np.mean([one.trial_scores[trial] for one in whole.by_scene]) for trial in range(2)]  # 3 agents in each
    assert means == pytest.approx([whole.metrics[f"trial_{trial}_score"].value for trial in range(2)])
    assert np.mean([one.ada_deltas[0] for one in whole.by_scene]) == pytest.approx(
        whole.metrics["ada_delta_trial_1_minus_0"].value, abs=1e-9)
    for shard in range(2):
        evaluator.rollout("lane", (shard, 2)).save(tmp_path / f"{shard}.json")
    merged = merge(load_result(tmp_path / f"{shard}.json") for shard in range(2))
    assert merged.by_scene == whole.by_scene
    merged.save(tmp_path / "merged.json")
    saved = json.loads((tmp_path / "merged.json").read_text())["scenes"]
    assert saved == [one.to_dict() for one in whole.by_scene] and saved[0]["trials"] == 6


def test_each_kind_of_traffic_has_its_scenes():
    found = TrafficMatrix("matrix", {"scenes": ["intersection"], "scene_count": 2, "scene_agents": 2, "env": {
        "trial_steps": 5}}).rollout("constant")
    assert [(one.group, one.trials) for one in found.by_scene] == [
        (group, 1) for group in sorted(found.groups) for _ in range(2)]
