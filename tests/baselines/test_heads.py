"""Do the heads draw from what they say they draw from?"""

import math

import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")

from gymnasium import spaces

from baselines.policy.heads import action_head


def test_an_index_is_drawn_as_often_as_its_probability_says():
    torch.manual_seed(0)
    head = action_head(spaces.MultiDiscrete([3, 2]), 8)
    features = torch.randn(1, 8) * 100
    parameters = head(features).detach().expand(100_000, -1)
    drawn = head.sample(parameters)
    for component, logits in enumerate(parameters[0].split([3, 2])):
        shares = drawn[:, component].bincount(minlength=len(logits)) / len(drawn)
        assert torch.allclose(shares, logits.exp(), atol=0.01)
        assert logits.exp().sum() == pytest.approx(1.0)


def test_probabilities_and_entropies_are_those_of_independent_parts():
    head = action_head(spaces.MultiDiscrete([3, 2]), 8)
    parameters = head(torch.randn(5, 8) * 100).detach()
    parts = [torch.distributions.Categorical(logits=part) for part in parameters.split([3, 2], -1)]
    actions = torch.stack([part.sample() for part in parts], -1)
    wanted = sum(part.log_prob(actions[:, i]) for i, part in enumerate(parts))
    assert torch.allclose(head.log_prob(parameters, actions), wanted, atol=1e-5)
    assert torch.allclose(head.entropy(parameters), sum(part.entropy() for part in parts), atol=1e-5)
    best = torch.stack([part.logits.argmax(-1) for part in parts], -1)
    assert torch.equal(head.mode(parameters), best)


def test_throttle_and_steering_are_drawn_from_a_gaussian_and_given_within_bounds():
    torch.manual_seed(0)
    head = action_head(spaces.Box(-1.0, 1.0, (2,)), 8)
    parameters = head(torch.randn(1, 8) * 50).detach().expand(100_000, -1)
    normal = torch.distributions.Normal(parameters[:, :2], parameters[:, 2:].exp())
    drawn = head.sample(parameters)
    assert torch.allclose(drawn.mean(0), parameters[0, :2], atol=0.01)
    assert torch.allclose(drawn.std(0), torch.full((2,), math.exp(-0.5)), atol=0.01)
    assert torch.allclose(head.log_prob(parameters, drawn), normal.log_prob(drawn).sum(-1), atol=1e-5)
    assert torch.allclose(head.entropy(parameters), normal.entropy().sum(-1), atol=1e-5)
    given = head.to_env(drawn)
    assert given.abs().max() == 1.0 and drawn.abs().max() > 1.0


def test_an_agent_that_waits_may_hold_anything():
    head = action_head(spaces.Discrete(7), 8)
    drawn = head.sample(head(torch.full((3, 8), torch.nan)))
    assert drawn.shape == (3, 1) and (0 <= drawn).all() and (drawn < 7).all()
    assert head.to_env(drawn).shape == (3,)


def test_other_spaces_are_told():
    with pytest.raises(ValueError, match="it must be Discrete, MultiDiscrete or a one-dimensional Box"):
        action_head(spaces.Box(0.0, 1.0, (2, 2)), 8)
