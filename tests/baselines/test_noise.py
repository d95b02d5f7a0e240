"""Is each action sampled from the policy's distribution, and how long is its noise kept?"""

import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")

from gymnasium import spaces
from small import make_collector

from baselines.policy.heads import action_head
from baselines.rollout.noise import CorrelatedNoise

CORRELATION = 0.8
AGENTS, STEPS = 20_000, 8
TOLERANCE = 4 * 0.5 * AGENTS**-0.5
"""Of a share of the agents: four standard errors."""


def sampled(space, restarted=0):
    """(steps, agents, components) actions of agents for which a policy returns the same in every step; and that output.

    Args:
        restarted: so many agents start a trial in the last step.
    """
    torch.manual_seed(0)
    head = action_head(space, 8)
    parameters = head(torch.randn(1, 8) * 100).detach().expand(AGENTS, -1)
    noise = CorrelatedNoise(CORRELATION, AGENTS, head.noise_size, torch.device("cpu"))
    agents, actions = torch.arange(AGENTS), []
    for step in range(STEPS):
        starts = agents < (AGENTS if step == 0 else restarted if step == STEPS - 1 else 0)
        actions.append(head.sample(parameters, noise.advance(head.noise(parameters), starts)))
    return torch.stack(actions), parameters[0]


def of_pairs(parameters):
    """(6,) probabilities of the pairs of two independent components."""
    return (parameters[:3, None] + parameters[None, 3:]).exp().flatten()


def test_each_step_has_the_distribution_of_the_policy():
    """Chi-square with five degrees of freedom, over agents, which are independent; 20.5 is its 99.9% quantile."""
    actions, parameters = sampled(spaces.MultiDiscrete([3, 2]))
    expected = AGENTS * of_pairs(parameters)
    for of_step in actions:
        count = (2 * of_step[:, 0] + of_step[:, 1]).bincount(minlength=6)
        assert ((count - expected).square() / expected).sum() < 20.5


def test_actions_repeat_as_often_as_their_noise_is_kept():
    """After k steps, noise is the same with probability p^k, else independent; for all components together."""
    actions, parameters = sampled(spaces.MultiDiscrete([3, 2]))
    by_chance = of_pairs(parameters).square().sum().item()
    for lag in range(1, STEPS):
        same = (actions[0] == actions[lag]).all(-1).float().mean().item()
        assert same == pytest.approx(CORRELATION**lag + (1 - CORRELATION**lag) * by_chance, abs=TOLERANCE)


def test_continuous_actions_have_the_correlation():
    actions, _ = sampled(spaces.Box(-1.0, 1.0, (2,)))
    for lag in range(1, STEPS):
        found = torch.corrcoef(torch.stack([actions[0, :, 0], actions[lag, :, 0]]))[0, 1].item()
        assert found == pytest.approx(CORRELATION**lag, abs=2 * TOLERANCE)


def test_noise_is_independent_where_a_trial_starts():
    restarted = AGENTS // 2
    actions, parameters = sampled(spaces.MultiDiscrete([3, 2]), restarted)
    same = (actions[-1] == actions[-2]).all(-1).float()
    by_chance = of_pairs(parameters).square().sum().item()
    assert same[:restarted].mean().item() == pytest.approx(by_chance, abs=2 * TOLERANCE)
    assert same[restarted:].mean().item() > CORRELATION


def assert_noise_is_kept_within_trials_alone(collector):
    """For a collector with the correlation."""
    group = collector.groups[0]
    infer, noise = group.infer, []
    group.infer = lambda: (infer(), noise.append(group.noise.current.clone()))
    agents = torch.arange(group.batch.num_agents)
    rollouts = [collector.collect().select(agents) for _ in range(6)]
    trial = torch.cat([buffer.trial_index for buffer in rollouts], 1)
    starts = torch.cat([buffer.first for buffer in rollouts], 1)[:, 1:] | (trial[:, 1:] != trial[:, :-1])
    kept = torch.stack([(one == other).all(-1) for one, other in zip(noise, noise[1:])], 1)
    assert starts.sum() > 50 and not kept[starts].any()
    assert kept[~starts].float().mean().item() == pytest.approx(CORRELATION, abs=0.03)


def test_the_collector_keeps_noise_within_trials_alone():
    assert_noise_is_kept_within_trials_alone(make_collector(noise_correlation=CORRELATION))


def test_without_correlation_there_is_no_noise_to_store():
    assert not [name for name in make_collector().state() if name.endswith("noise")]
    correlated = make_collector(noise_correlation=CORRELATION)
    assert [name for name in correlated.state() if name.endswith("noise")] == ["group0.noise"]
