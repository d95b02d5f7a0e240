"""Do learning rate and entropy weight follow their schedules?"""

import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")

from baselines.config import PPOConfig
from baselines.schedules import jump, scheduled


def at(config, agent_steps, update=10):
    now = scheduled(config, {"agent_steps": agent_steps, "update": update})
    return now.learning_rate, now.entropy_weight


def test_the_entropy_weight_changes_linearly_and_is_constant_by_default():
    config = PPOConfig(agent_steps=1000, entropy_weight=0.04, final_entropy_weight=0.01)
    assert [at(config, steps)[1] for steps in (0, 500, 1000, 2000)] == pytest.approx([0.04, 0.025, 0.01, 0.01])
    assert {at(PPOConfig(agent_steps=1000, entropy_weight=0.1), steps)[1] for steps in (0, 333, 1000)} == {0.1}
    assert at(PPOConfig(agent_steps=1000, entropy_weight=0.1, final_entropy_weight=0.0), 1000)[1] == 0


def test_the_learning_rate_warms_up_over_updates_and_is_annealed_over_agent_steps():
    config = PPOConfig(agent_steps=1000, learning_rate=0.1, warmup_updates=4)
    assert at(config, 0, update=0)[0] == pytest.approx(0.025)
    assert at(config, 100, update=1)[0] == pytest.approx(0.1 * 0.9 * 0.5)
    assert [at(config, steps)[0] for steps in (500, 1000, 2000)] == [0.05, 0, 0]
    assert at(PPOConfig(agent_steps=1000, learning_rate=0.1, anneal=False), 999)[0] == 0.1


def test_another_total_that_changes_the_learning_rate_of_a_resumed_run_is_reported():
    then, counters = PPOConfig(agent_steps=1000, learning_rate=0.1), {"agent_steps": 500, "update": 5}
    assert jump(then, PPOConfig(agent_steps=2000, learning_rate=0.1), counters) == (
        "ppo.agent_steps is 2000, 1000 before; the learning rate, which is annealed over them, continues with 0.075 "
        "instead of 0.05")
    assert jump(then, then, counters) is None
    assert jump(then, PPOConfig(agent_steps=1000, learning_rate=0.2), counters) is None
    constant = PPOConfig(agent_steps=1000, learning_rate=0.1, anneal=False)
    assert jump(constant, PPOConfig(agent_steps=2000, learning_rate=0.1, anneal=False), counters) is None
