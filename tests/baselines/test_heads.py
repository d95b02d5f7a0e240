"""Do the heads sample from the distributions whose log-probabilities they compute?"""

import math

import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")

from gymnasium import spaces

from baselines.policy.heads import action_head


def test_an_action_is_sampled_as_often_as_its_probability():
    torch.manual_seed(0)
    head = action_head(spaces.MultiDiscrete([3, 2]), 8)
    features = torch.randn(1, 8) * 100
    parameters = head(features).detach().expand(100_000, -1)
    sampled = head.sample(parameters)
    for component, logits in enumerate(parameters[0].split([3, 2])):
        shares = sampled[:, component].bincount(minlength=len(logits)) / len(sampled)
        assert torch.allclose(shares, logits.exp(), atol=0.01)
        assert logits.exp().sum() == pytest.approx(1.0)


def test_probabilities_and_entropies_are_those_of_independent_components():
    head = action_head(spaces.MultiDiscrete([3, 2]), 8)
    parameters = head(torch.randn(5, 8) * 100).detach()
    parts = [torch.distributions.Categorical(logits=part) for part in parameters.split([3, 2], -1)]
    actions = torch.stack([part.sample() for part in parts], -1)
    wanted = sum(part.log_prob(actions[:, i]) for i, part in enumerate(parts))
    assert torch.allclose(head.log_prob(parameters, actions), wanted, atol=1e-5)
    assert torch.allclose(head.entropy(parameters), sum(part.entropy() for part in parts), atol=1e-5)
    best = torch.stack([part.logits.argmax(-1) for part in parts], -1)
    assert torch.equal(head.mode(parameters), best)


def test_continuous_actions_are_gaussian_and_clipped_for_the_env():
    torch.manual_seed(0)
    head = action_head(spaces.Box(-1.0, 1.0, (2,)), 8)
    parameters = head(torch.randn(1, 8) * 50).detach().expand(100_000, -1)
    normal = torch.distributions.Normal(parameters[:, :2], parameters[:, 2:].exp())
    sampled = head.sample(parameters)
    assert torch.allclose(sampled.mean(0), parameters[0, :2], atol=0.01)
    assert torch.allclose(sampled.std(0), torch.full((2,), math.exp(-0.5)), atol=0.01)
    assert torch.allclose(head.log_prob(parameters, sampled), normal.log_prob(sampled).sum(-1), atol=1e-5)
    assert torch.allclose(head.entropy(parameters), normal.entropy().sum(-1), atol=1e-5)
    clipped = head.to_env(sampled)
    assert clipped.abs().max() == 1.0 and sampled.abs().max() > 1.0


@pytest.mark.parametrize("space", [spaces.MultiDiscrete([3, 2]), spaces.Box(-1.0, 1.0, (2,))], ids=["discrete", "box"])
def test_the_divergence_is_that_of_the_distributions(space):
    torch.manual_seed(0)
    head = action_head(space, 8)
    target, parameters = (head(torch.randn(5, 8) * 50).detach() for _ in range(2))
    if isinstance(space, spaces.Box):
        parameters[:, 2:] += 0.3  # another standard deviation
        parts = [[torch.distributions.Normal(x[:, i], x[:, 2 + i].exp()) for i in range(2)]
                 for x in (target, parameters)]
    else:
        parts = [[torch.distributions.Categorical(logits=part) for part in x.split([3, 2], -1)]
                 for x in (target, parameters)]
    wanted = sum(map(torch.distributions.kl_divergence, *parts))
    assert torch.allclose(head.divergence(target, parameters), wanted, atol=1e-5) and (wanted > 0.01).all()
    assert torch.allclose(head.divergence(target, target), torch.zeros(5), atol=1e-6)


def test_the_features_of_a_waiting_agent_may_be_nan():
    head = action_head(spaces.Discrete(7), 8)
    sampled = head.sample(head(torch.full((3, 8), torch.nan)))
    assert sampled.shape == (3, 1) and (0 <= sampled).all() and (sampled < 7).all()
    assert head.to_env(sampled).shape == (3,)


def test_another_action_space_is_an_error():
    with pytest.raises(ValueError, match="it must be Discrete, MultiDiscrete or a one-dimensional Box"):
        action_head(spaces.Box(0.0, 1.0, (2, 2)), 8)
