"""Is the entropy of choices that of the candidate goals that agents drive to?"""

import math

import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")

from eliminator import Eliminator, open_field
from small import BUSY, tiny_config

from baselines.adaptation.choices import Choices
from baselines.config import EnvConfig
from baselines.evaluate import PolicyRunner, evaluate
from baselines.ppo import train
from baselines.rollout.batches import scenes_of
from drive_env import Batch
from drive_env.policies import policy_maker
from drive_env.tasks import hidden_exit


def test_the_entropy_of_a_policy_that_tries_exit_after_exit_follows_from_its_scores():
    """Its first trial is always the first exit; later ones repeat an exit that was the goal, or try the next one."""
    scenes, drive = open_field(seeds=range(12))
    with Batch(scenes, num_worlds=1, config=drive) as batch:
        runner = PolicyRunner(Eliminator(batch.observation_layout()), torch.device("cpu"))
    choices = Choices()
    metrics = evaluate(choices.recorded(runner), scenes, drive, seed=3)
    first, second = (metrics[f"trial_{trial}_score"].value for trial in (0, 1))
    assert 0 < first < second < 1
    entropy = lambda *shares: -sum(share * math.log(share) for share in shares)
    found = choices.entropies()
    for trial, shares in enumerate([[1.0], [first, 1 - first], [first, second - first, 1 - second]]):
        assert found[f"choice_entropy_trial_{trial}"].value == pytest.approx(entropy(*shares))
        assert found[f"choice_entropy_trial_{trial}"].n == len(scenes)
    assert len(found) == 3


def test_recording_changes_no_evaluation_and_without_candidates_records_nothing():
    scenes, choices = scenes_of(BUSY), Choices()
    assert evaluate(choices.recorded(policy_maker("random")), scenes, BUSY.drive) == evaluate(
        policy_maker("random"), scenes, BUSY.drive)
    assert choices.entropies() == {}


def test_evaluations_of_a_run_log_the_entropy(tmp_path):
    env = EnvConfig(scenes=("exits",), scene_count=3, num_worlds=4, drive=hidden_exit(seeds=range(1)).config)
    lines = train(tiny_config(tmp_path, env=env.__dict__, ppo={"agent_steps": 1})).lines
    for line in (line for line in lines if line["kind"] in ("random_policy", "evaluation")):
        assert [line[f"choice_entropy_trial_{trial}_n"] for trial in range(3)] == [3, 3, 3]
        assert all(0 <= line[f"choice_entropy_trial_{trial}"] <= math.log(3) for trial in range(3))
