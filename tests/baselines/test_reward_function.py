"""Does the trainer learn from the rewards of a function that its config names, and record which one it was?"""

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")

from small import BUSY, make_collector, tiny_config

from baselines.config import TrainConfig
from baselines.ppo import train
from baselines.tools.checkpoint import CheckpointError
from baselines.tools.log_file import read_lines
from drive_env import ConfigError

FUNCTION = """
import numpy as np


def eighth(batch):
    return np.full(batch.num_agents, 0.125)
"""


@pytest.fixture
def named(tmp_path, monkeypatch):
    """The path of a function that rewards every step with 1/8, in the working directory."""
    (tmp_path / "rewards_of_a_run.py").write_text(FUNCTION)
    monkeypatch.chdir(tmp_path)
    yield "rewards_of_a_run:eighth"
    sys.modules.pop("rewards_of_a_run", None)


def test_the_rollout_holds_the_rewards_of_the_function(named):
    collector = make_collector(replace(BUSY, env_groups=2, reward_function=named), steps=40)
    buffer = collector.collect()
    assert torch.equal(buffer.rewards, torch.where(buffer.invalid, 0.0, 0.125))
    assert buffer.invalid.any() and not buffer.invalid.all()
    plain = make_collector(replace(BUSY, env_groups=2), steps=40).collect()
    assert torch.equal(plain.actions, buffer.actions) and not torch.equal(plain.rewards, buffer.rewards)


def test_the_log_and_the_checkpoint_have_it_and_a_run_resumes_with_it_alone(named, tmp_path):
    config = tiny_config(tmp_path / "run", env={"reward_function": named})
    result = train(config)
    updates = [line for line in read_lines(tmp_path / "run/metrics.jsonl") if line["kind"] == "update"]
    assert updates[-1]["reward"] == pytest.approx(updates[-1]["trial_length"] / 8, rel=1e-6)
    about = json.loads((Path(result.checkpoint) / "config.json").read_text())
    assert about["config"]["env"]["reward_function"] == named
    longer = {"agent_steps": config.ppo.agent_steps + 1000}
    with pytest.raises(CheckpointError, match="env.reward_function 'rewards_of_a_run:eighth', this config None"):
        train(config.changed(env={"reward_function": None}, run={"resume": True}, ppo=longer))
    train(config.changed(run={"resume": True}, ppo=longer))


def test_a_function_that_does_not_exist_is_one_sentence(tmp_path):
    with pytest.raises(ConfigError, match="^reward is 'no_such_module:reward', which cannot be imported"):
        train(tiny_config(tmp_path / "run", env={"reward_function": "no_such_module:reward"}))
    assert TrainConfig().env.reward_function is None
