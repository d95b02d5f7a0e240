"""Does the evaluator of adaptation show what a memory is worth, by the same agents with and without it?"""

import numpy as np
import pytest

from drive_env import ConfigError, DriveConfig
from drive_env.evaluation import Adaptation, load_result, merge
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


def test_a_policy_without_ablations_is_played_as_it_is():
    found = Adaptation("memory", CONFIG).rollout("constant")
    assert set(found.groups) == {"full"} and "ada_delta_trial_1_minus_0" in found.metrics
    assert not [name for name in found.metrics if name.startswith("score_over")]


def test_an_episode_of_one_trial_shows_no_adaptation():
    with pytest.raises(ConfigError, match="env.max_trials is 1; an evaluator of type 'adaptation' needs 2 or more"):
        Adaptation("memory", {**CONFIG, "env": {"max_trials": 1}})
