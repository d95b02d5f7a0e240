"""Does a policy learn to take the expert's actions, where the expert drives and where it only labels the states?"""

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")

from small import ALONE, TINY, clone, make_collector, tiny_config

from baselines.bc import cloning
from baselines.config import EnvConfig, ExpertConfig, PPOConfig, TrainConfig
from baselines.losses import ExpertPart, ppo_losses
from baselines.ppo import Learner, make_optimizer, train
from baselines.rollout.collector import staggered_ages
from baselines.rollout.expert import expert_worlds
from drive_env import Batch, ConfigError, DriveConfig
from drive_env.policies import policy_maker

TOWNS = EnvConfig(scene_count=2, scene_agents=4, num_worlds=4,
                  drive=DriveConfig(max_trials=2, trial_steps=12, observation={"partners": 3, "roads": 8}))
LOGS = EnvConfig(scenes=("example_log",), num_worlds=2, drive=DriveConfig(
    max_trials=2, trial_steps=40, observation={"partners": 3, "roads": 8}))
STEPS = 30
"""Of a rollout in the towns: two trials of 12 steps and the start of a third."""


def rollout(env=TOWNS, steps=STEPS, **expert):
    collector = make_collector(env, TINY, steps, expert=ExpertConfig(**expert))
    return collector, clone(collector.collect())


# ---- collecting ----


@pytest.mark.parametrize("share", [0.0, 0.25, 0.5, 1.0])
def test_the_expert_drives_in_its_share_of_any_range_of_worlds(share):
    ids = np.arange(400, dtype=np.int64)
    found = expert_worlds(ids, share)
    assert found.sum() == 400 * share
    for start in range(0, 400, 40):
        assert found[start : start + 40].sum() == 40 * share


def test_the_expert_labels_the_states_of_the_policy():
    """Its actions are those that the rule-based driver has for the worlds in which the policy's actions are played."""
    collector, buffer = rollout(policy="lane")
    assert not buffer.expert_drives.any() and buffer.labelled.all()
    batch = collector.batches[0]
    with Batch(batch.scenes, batch.num_worlds, batch.config, seed=1) as again:
        again.reset(initial_ages=staggered_ages(again))
        act = policy_maker("lane")(again)
        for step in range(STEPS):
            wanted = torch.from_numpy(act(again)).view(-1, 1)
            assert torch.equal(buffer.expert_actions[:, step], wanted), step
            again.step(buffer.actions[:, step, 0].numpy())
    assert (buffer.expert_actions != buffer.actions).any()


def test_the_actions_of_an_expert_that_drives_are_performed_and_are_the_previous_ones():
    _, buffer = rollout(policy="lane", drives_share=0.5)
    drives = buffer.expert_drives
    assert drives.all(1).sum() == drives.any(1).sum() == len(drives) // 2
    assert torch.equal(buffer.actions[drives], buffer.expert_actions[drives])
    assert not torch.equal(buffer.actions[~drives], buffer.expert_actions[~drives])
    follows = (buffer.valid_token[:, :-1] & ~buffer.first[:, 1:])[..., None]
    assert torch.equal(torch.where(follows, buffer.previous_actions[:, 1:], 0),
                       torch.where(follows, buffer.actions[:, :-1], 0))
    assert torch.equal(buffer.on_policy, buffer.loss_mask & ~drives)


def test_the_expert_of_logs_has_the_actions_of_the_step_of_the_trial():
    collector, buffer = rollout(LOGS, 90, policy="replay", drives_share=1.0)
    expert = collector.batches[0].expert_actions()
    assert not buffer.labelled.all() and buffer.labelled.any()
    # The first trial of every agent, from its first step on.
    actions, valid = torch.from_numpy(expert.actions), torch.from_numpy(expert.valid)
    steps = 38  # no trial can have ended
    assert torch.equal(buffer.labelled[:, :steps], valid[:steps].T)
    assert torch.equal(buffer.expert_actions[:, :steps, 0], actions[:steps].T)
    # The second trial begins with the first action again.
    second = (buffer.trial_index == 1).int().argmax(1)
    for agent in torch.nonzero(buffer.trial_index.amax(1) == 1).flatten().tolist():
        start = int(second[agent])
        count = min(10, 90 - start)
        assert torch.equal(buffer.expert_actions[agent, start : start + count, 0], actions[:count, agent])
    assert (buffer.trial_index == 1).any()


# ---- losses ----


def test_the_losses_count_the_steps_that_each_is_about():
    """Against sums by hand: the surrogate has the policy's own steps, the imitation the labelled ones."""
    shape = (3, 5)
    generator = torch.Generator().manual_seed(0)
    random = lambda: torch.randn(shape, generator=generator)
    flags = lambda: torch.rand(shape, generator=generator) < 0.6
    log_probs, old, values, advantage, returns = (random() for _ in range(5))
    mask, drives, labelled = flags(), flags(), flags()
    expert_log_probs = torch.where(labelled, random(), torch.nan)
    own, count = mask & ~drives, int(mask.sum())
    config = PPOConfig(imitation_weight=0.3, value_weight=0.5, entropy_weight=0.0)
    part = ExpertPart(torch.where(mask & labelled, expert_log_probs, 0.0), labelled, own, own)
    found = ppo_losses(log_probs, torch.zeros(shape), values, old, advantage, returns, mask, count, config, expert=part)
    ratio = (log_probs - old).exp()
    surrogate = torch.minimum(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage)
    torch.testing.assert_close(found.policy, -surrogate[own].sum() / count)
    torch.testing.assert_close(found.value, 0.5 * (values - returns)[own].square().sum() / count)
    torch.testing.assert_close(found.imitation, -expert_log_probs[mask & labelled].sum() / count)
    torch.testing.assert_close(found.total, found.policy + 0.5 * found.value + 0.3 * found.imitation)
    torch.testing.assert_close(found.clipped, ((ratio - 1).abs() > 0.2)[own].sum() / count)


def test_only_advantages_of_own_steps_are_normalised():
    collector, buffer = rollout(policy="lane", drives_share=0.5)
    config = PPOConfig(rollout_steps=STEPS, minibatches=1, imitation_weight=1.0)
    learner = Learner(collector.policy, make_optimizer(collector.policy, config), config, ALONE, collector)
    normal, _ = learner.normalise(torch.where(buffer.expert_drives, 1e6, torch.randn(buffer.rewards.shape)), buffer)
    own = normal[buffer.on_policy]
    assert abs(float(own.mean())) < 1e-4 and abs(float(own.std(correction=0)) - 1) < 1e-3
    assert not normal[~buffer.on_policy].any()


def test_the_critic_learns_returns_of_the_expert_only_where_it_drives_everywhere():
    for share, own in ((1.0, False), (0.5, True)):
        collector, buffer = rollout(policy="lane", drives_share=share)
        config = PPOConfig(rollout_steps=STEPS, minibatches=1, imitation_weight=1.0)
        learner = Learner(collector.policy, make_optimizer(collector.policy, config), config, ALONE, collector)
        part = learner.expert_part(buffer, collector.policy.actor(torch.zeros(*buffer.rewards.shape, TINY.width)))
        assert torch.equal(part.valued, buffer.on_policy if own else buffer.loss_mask)


# ---- training ----


@pytest.mark.parametrize(("action_type", "least"), [("discrete", 2.0), ("continuous", 0.2)])
def test_cloning_learns_the_actions_of_the_expert(tmp_path, action_type, least):
    """The negative log-probability of the expert's actions falls, and PPO can go on from the checkpoint."""
    env = replace(LOGS, drive=LOGS.drive.replace(action_type=action_type))
    config = cloning(tiny_config(tmp_path / "run", env=env, ppo=PPOConfig(
        agent_steps=8000, rollout_steps=40, epochs=6, minibatches=1, learning_rate=5e-3)))
    result = train(config)
    losses = [line["imitation_loss"] for line in result.lines if line["kind"] == "update"]
    last = [line for line in result.lines if line["kind"] == "update"][-1]
    assert losses[-1] < losses[0] - least and last["expert_drives_share"] == 1
    assert 0.5 < last["labelled_share"] <= 1 and last["policy_loss"] == 0 and last["parity_gap"] < 1e-3
    on = tiny_config(tmp_path / "on", env=env, ppo=PPOConfig(agent_steps=1500, rollout_steps=40, minibatches=1),
                     run={"start_from": str(tmp_path / "run_cloned")})
    train(on)


def test_a_cloned_policy_as_the_expert_samples_its_actions(tmp_path):
    """A checkpoint is an expert; its samples differ from its most probable actions."""
    first = tiny_config(tmp_path / "first", env=TOWNS, ppo=PPOConfig(agent_steps=400, rollout_steps=24, minibatches=1))
    train(first)
    _, sampled = rollout(policy=str(tmp_path / "first"))
    _, probable = rollout(policy=str(tmp_path / "first"), deterministic=True)
    assert not torch.equal(sampled.expert_actions, probable.expert_actions)
    assert probable.expert_actions.float().std() < sampled.expert_actions.float().std()


# ---- errors ----


@pytest.mark.parametrize(("parts", "message"), [
    ({"ppo": {"imitation_weight": 0.1}}, r"imitation_weight is 0\.1; it must be 0 where expert\.policy is None"),
    ({"expert": {"policy": "lane"}}, r"imitation_weight is 0\.0; it must be above 0 where expert\.policy is set"),
    ({"expert": {"drives_share": 0.5}}, r"drives_share is 0\.5; it must be 0 where expert\.policy is None"),
    ({"expert": {"policy": "lane", "drives_share": 1.5}}, r"drives_share is 1\.5; it must be from 0 to 1"),
])
def test_a_wrong_config_names_field_value_and_range(parts, message):
    with pytest.raises(ConfigError, match=message):
        TrainConfig().changed(**parts)


@pytest.mark.parametrize(("policy", "message"), [
    ("replay", r"expert\.policy is 'replay'; it needs scenes with logs, and env\.scenes has none"),
    ("nobody", r"policy is 'nobody'; it must be"),
])
def test_an_expert_that_does_not_fit_is_an_error_before_training(tmp_path, policy, message):
    config = tiny_config(tmp_path / "run", env=TOWNS, ppo=PPOConfig(imitation_weight=1.0, rollout_steps=24),
                         expert=ExpertConfig(policy=policy))
    with pytest.raises(ConfigError, match=message):
        train(config)
    assert not (tmp_path / "run" / "metrics.jsonl").exists()
