"""Does the evaluator of adaptation show what a memory is worth, by the same agents with and without it?"""

import numpy as np
import pytest
from still_town import still_town

from drive_env import ConfigError, DriveConfig, generate_scene
from drive_env.evaluation import Adaptation, episodes, load_result, merge
from drive_env.policies import TrainedPolicy, policy_maker

CONFIG = {"scenes": ["intersection"], "scene_count": 4, "scene_agents": 3,
          "env": {"max_trials": 2, "trial_steps": 200, "goal_radius_m": 20.0}}


def forgetful(batch):
    """The lane driver in the first trial; brakes later."""
    act = policy_maker("lane")(batch)
    return lambda batch: np.where(batch.trial_index > 0, 0, act(batch))


POLICY = TrainedPolicy(policy_maker("lane"), {"path": "", "sha256": "", "update": 0, "steps": 0}, DriveConfig(),
                       ablated={"wiped": forgetful})


@pytest.fixture(scope="module")
def result():
    return Adaptation("memory", CONFIG).rollout(POLICY)


def test_the_gain_of_a_memory_is_that_of_the_same_agents_in_the_last_trial(result):
    rows = [dict(zip(result.rows, values, strict=True)) for values in zip(*result.rows.values(), strict=True)]
    scores = {(row["group"], row["world"], row["agent"]): float(row["score"]) for row in rows if row["trial"] == 1}
    gains = [score - scores["wiped", world, agent] for (group, world, agent), score in scores.items()
             if group == "full"]
    figure = result.metrics["score_over_wiped"]
    assert figure.value == pytest.approx(np.mean(gains)) and figure.n == len(gains) == 12
    assert figure.value > 0.5 and figure.ci95[0] <= figure.value <= figure.ci95[1]
    first = {group: result.groups[group]["trial_0_score"].value for group in ("full", "wiped")}
    assert first["full"] == first["wiped"] and set(result.groups) == {"full", "wiped"}


def test_shards_with_ablations_are_merged_to_the_whole(result, tmp_path):
    parts = []
    for shard in range(2):
        Adaptation("memory", CONFIG).rollout(POLICY, (shard, 2)).save(tmp_path / f"{shard}.json")
        parts.append(load_result(tmp_path / f"{shard}.json"))
    assert merge(parts).metrics == result.metrics


def redrawn(seen):
    """A policy whose ablation "redrawn" records the scenes of each batch."""
    def for_batch(batch):
        act, is_first = policy_maker("constant")(batch), [True]

        def watched(batch):
            if is_first:
                seen.append([id(batch.scenes[index]) for index in batch.scene_index.tolist()])
                is_first.clear()
            return act(batch)

        return watched

    return TrainedPolicy(policy_maker("constant"), POLICY.checkpoint, DriveConfig(), ablated={"redrawn": for_batch})


@pytest.mark.parametrize("count, worlds, sizes", [(3, 7, [6, 6, 3]), (3, 64, [15]), (5, 2, [5] * 5), (2, 6, [6, 4])])
def test_all_episodes_of_a_scene_are_in_one_batch(count, worlds, sizes, monkeypatch):
    monkeypatch.setattr(episodes, "WORLDS_AT_ONCE", worlds)
    seen, config = [], {**CONFIG, "scene_count": 5, "episodes": count, "env": {"max_trials": 2, "trial_steps": 3}}
    Adaptation("memory", config).rollout(redrawn(seen))
    assert [len(scenes) for scenes in seen] == sizes
    assert all(scenes.count(one) == count for scenes in seen for one in scenes)


def test_they_still_are_where_a_scene_among_them_cannot_be_played():
    """A batch that cannot be made is parted between scenes."""
    seen, scenes = [], [generate_scene("intersection", seed=seed, agents=2) for seed in range(3)]
    config = {**CONFIG, "scenes": [*scenes[:2], still_town(), scenes[2]], "episodes": 3,
              "env": {"max_trials": 2, "trial_steps": 3}}
    found = Adaptation("memory", config).rollout(redrawn(seen))
    assert all(scenes.count(one) == 3 for scenes in seen for one in scenes) and sum(map(len, seen)) == 9
    assert found.coverage.played == 18 and len(found.failures) == 6


def test_the_memory_of_another_episode_needs_one():
    seen = []
    found = Adaptation("memory", CONFIG).rollout(redrawn(seen))
    assert not seen and set(found.groups) == {"full"}
    evaluator = Adaptation("memory", {**CONFIG, "episodes": 2})
    assert list(evaluator.conditions_of(redrawn(seen))) == ["full", "redrawn"]
    with pytest.raises(ConfigError, match="group is 'redrawn'; its episodes need the memory of others"):
        evaluator.open_episode(redrawn(seen), 0, "redrawn")


def test_a_policy_without_ablations_is_played_as_it_is():
    found = Adaptation("memory", CONFIG).rollout("constant")
    assert set(found.groups) == {"full"} and "ada_delta_trial_1_minus_0" in found.metrics
    assert not [name for name in found.metrics if name.startswith("score_over")]


def test_an_episode_of_one_trial_shows_no_adaptation():
    with pytest.raises(ConfigError, match="env.max_trials is 1; an evaluator of type 'adaptation' needs 2 or more"):
        Adaptation("memory", {**CONFIG, "env": {"max_trials": 1}})
