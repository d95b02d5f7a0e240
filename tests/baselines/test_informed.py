"""Is the informed policy's input the observation of an agent that observes its goal, and what does it change?"""

from dataclasses import replace

import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")

from small import ALONE, TINY, clone, make_collector

from baselines.config import EnvConfig, PPOConfig, TrainConfig
from baselines.informed import goal_columns, with_goal
from baselines.ppo import Learner, make_optimizer
from drive_env import Batch, ConfigError
from drive_env.tasks import hidden_exit

TASK = hidden_exit(seeds=range(3))
DRIVE = TASK.config.replace(critic_observations=True, trial_steps=8)
ENV = EnvConfig(scenes=("exits",), scene_count=3, num_worlds=6, drive=DRIVE)


@pytest.mark.parametrize("kind", ["float32", "float16"])
def test_a_hidden_goal_is_put_in_its_place_exactly(kind):
    """The informed observation equals that of a batch in which the goal is always observed, after every step."""
    hidden = DRIVE.replace(observation={"type": kind})
    shown = hidden.replace(observation={"goal_reveal_s": None})
    with Batch(TASK.scenes, 6, hidden, seed=4) as batch, Batch(TASK.scenes, 6, shown, seed=4) as wanted:
        batch.reset()
        wanted.reset()
        columns, of_critic = (goal_columns(batch, of, torch.device("cpu")) for of in ("ego", "critic"))
        for step in range(20):  # two trials and a half
            observations = torch.from_numpy(batch.observations)
            goal = torch.from_numpy(batch.critic_observations)[:, of_critic]
            assert not observations[:, columns].any() and goal.any()
            assert torch.equal(with_goal(observations, goal, columns), torch.from_numpy(wanted.observations)), step
            actions = [batch.single_action_space.n * i // 6 for i in range(6)]
            batch.step(actions)
            wanted.step(actions)


def learner_and_buffer(drive, weight=0.5):
    """A rollout of a policy whose output depends visibly on its observation, and the learner of its losses."""
    collector = make_collector(replace(ENV, drive=drive), TINY, informed=weight > 0)
    config = PPOConfig(rollout_steps=16, minibatches=1, informed_weight=weight, learning_rate=0.01)
    buffer = clone(collector.collect())
    return Learner(collector.policy, make_optimizer(collector.policy, config), config, ALONE, collector), buffer


def losses_of(learner, buffer):
    agents, zeros = torch.arange(len(buffer.first)), torch.zeros_like(buffer.rewards)
    return learner.losses(buffer, agents, zeros, zeros, int(buffer.loss_mask.sum()))[0]


def test_the_buffer_has_the_goals_that_critics_observe():
    learner, buffer = learner_and_buffer(DRIVE)
    assert buffer.goal.shape == (6, 16, 5) and buffer.goal[~buffer.waits].any(-1).all()
    assert not buffer.observations[..., learner.goal_columns].any()


@pytest.mark.parametrize("drive", [DRIVE, DRIVE.replace(critic_observations=False)], ids=["written", "not written"])
def test_critic_observations_that_no_loss_uses_are_neither_uploaded_nor_stored(drive):
    learner, buffer = learner_and_buffer(drive, weight=0.0)
    assert buffer.goal.shape == (6, 16, 0)
    assert losses_of(learner, buffer).informed == 0
    used = make_collector(replace(ENV, drive=DRIVE), TINY, informed=True)
    unused = make_collector(replace(ENV, drive=drive), TINY)
    assert set(used.groups[0].device_buffers.arrays) - set(unused.groups[0].device_buffers.arrays) == {
        "critic_observations"}


def test_the_loss_pulls_the_policy_towards_the_informed_one():
    learner, buffer = learner_and_buffer(DRIVE)
    before = losses_of(learner, buffer)
    assert before.informed > 0.001
    rest = before.policy + learner.config.value_weight * before.value - learner.config.entropy_weight * before.entropy
    assert torch.allclose(before.total, rest + 0.5 * before.informed)

    for _ in range(20):  # steps on this loss alone
        learner.optimizer.zero_grad()
        losses_of(learner, buffer).informed.backward()
        learner.optimizer.step()
    assert losses_of(learner, buffer).informed < 0.5 * before.informed


def test_a_goal_that_is_observed_adds_no_loss():
    learner, buffer = learner_and_buffer(DRIVE.replace(observation={"goal_reveal_share": 1.0}))
    assert buffer.observations[..., learner.goal_columns].any()
    assert losses_of(learner, buffer).informed == 0


@pytest.mark.parametrize("drive", [TASK.config, DRIVE.replace(observation={"goal_reveal_s": None})],
                         ids=["no critic_observations", "goal always observed"])
def test_a_weight_without_effect_is_an_error(drive):
    with pytest.raises(ConfigError, match=r"informed_weight is 0\.1; it must be 0 unless env\.drive has critic_obs"):
        TrainConfig(env=replace(ENV, drive=drive), ppo=PPOConfig(informed_weight=0.1))
    with pytest.raises(ConfigError, match="informed_weight is -1.0; it must be 0 or more"):
        PPOConfig(informed_weight=-1.0)
