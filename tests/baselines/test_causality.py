"""Does no output depend on later steps, other episodes or masked slots?"""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")

from small import clone, make_collector
from test_parity import collected, replayed


def outputs(collector, buffer, observations):
    with torch.no_grad():
        return torch.stack(replayed(collector, buffer, buffer.used, observations))


def test_a_later_observation_changes_no_earlier_output():
    collector, buffer = collected()
    before = outputs(collector, buffer, buffer.observations)
    for step in (1, 7, 15):
        changed = buffer.observations.clone()
        changed[:, step:] = torch.rand_like(changed[:, step:])
        after = outputs(collector, buffer, changed)
        assert torch.equal(before[:, :, :step], after[:, :, :step])
        assert not torch.equal(before[:, :, step:], after[:, :, step:])


def test_another_episode_changes_no_output():
    """Of the same agent, before its `first`; and of any other agent."""
    collector = make_collector()
    checked = 0
    for _ in range(8):
        buffer = clone(collector.collect())
        before = outputs(collector, buffer, buffer.observations)
        for agent, step in buffer.first[:, 1:].nonzero().tolist():
            changed = buffer.observations.clone()
            changed[agent, : step + 1] = torch.rand_like(changed[agent, : step + 1])
            others = torch.arange(len(changed)) != agent
            changed[others] = torch.rand_like(changed[others])
            after = outputs(collector, buffer, changed)
            assert torch.equal(before[:, agent, step + 1 :], after[:, agent, step + 1 :])
            moved = (before != after).any(0)
            assert moved[others].any() and bool(moved[agent].any()) == bool(buffer.used[agent, : step + 1].any())
            checked += 1
    assert checked > 20


def test_masked_slots_of_the_ring_are_never_used():
    """NaN there changes no bit of the rollout, nor of training."""
    plain, spoiled = make_collector(), make_collector()
    for _ in range(4):
        cache = spoiled.cache
        ages = (cache.written[:, None] - 1 - torch.arange(cache.slots)) % cache.slots
        masked = (ages >= cache.position.clamp(max=cache.context - 1)[:, None])[None, :, None, :, None]
        cache.keys.masked_fill_(masked, np.nan)
        cache.values.masked_fill_(masked, np.nan)
        torch.manual_seed(0)
        buffer = plain.collect()
        torch.manual_seed(0)  # torch's generator is global
        other = spoiled.collect()
        for name in ("actions", "log_probs", "values", "last_value", "restart_value"):
            assert torch.equal(getattr(buffer, name), getattr(other, name)), name
        with torch.no_grad():
            for one, two in zip(replayed(plain, buffer), replayed(spoiled, other)):
                assert torch.equal(one, two)
