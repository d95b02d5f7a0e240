"""Do rollouts that are cut in a wait have the values and advantages of the whole one?"""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")

from small import make_collector

from baselines.gae import advantages


def whole_and_cut():
    """A rollout of 128 steps, and a collector that collects the same in rollouts of 8."""
    whole, cut = make_collector(steps=128), make_collector(steps=8)
    torch.manual_seed(0)
    long = whole.collect()
    torch.manual_seed(0)  # torch's generator is global
    return long, cut


def test_the_prefix_is_finite_whatever_masked_slots_hold():
    """0 * NaN is NaN, so NaN must not even be multiplied by a weight of 0."""
    collector = make_collector()
    collector.collect()
    cache = collector.cache
    known = cache.position.clamp(max=cache.context - 1)
    ages = (cache.written[:, None] - 1 - torch.arange(cache.slots)) % cache.slots
    cache.keys.masked_fill_((ages >= known[:, None])[None, :, None, :, None], np.nan)
    keys, _ = cache.prefix(torch.arange(len(known)), cache.written, cache.position).of_layer(0)
    assert keys.isfinite().all()
    filled = keys.abs().sum((1, 3)) > 0
    assert torch.equal(filled.sum(1), known), "every token of the context is present"


def test_the_restart_value_is_the_value_after_the_wait():
    """At equal weights, the `restart_value` of a rollout cut in a wait is the value at which the agent acts next."""
    long, cut = whole_and_cut()
    checked = 0
    for part in range(15):
        short = cut.collect()
        end = 8 * (part + 1)
        assert torch.equal(short.observations, long.observations[:, end - 8 : end])
        for agent in short.last_waits.nonzero()[:, 0].tolist():
            after = (long.loss_mask[agent, end:]).nonzero()
            if not len(after):
                continue
            follower = end + after[0, 0]
            if long.first[agent, end : follower + 1].any():
                continue  # the wait was that of the last trial
            assert short.restart_value[agent] == pytest.approx(long.values[agent, follower].item(), abs=1e-6)
            assert not torch.equal(short.restart_value[agent], short.last_value[agent])
            checked += 1
    assert checked > 12


def test_advantages_of_a_rollout_cut_in_a_wait_equal_those_of_the_whole_at_lambda_0():
    long, cut = whole_and_cut()
    wanted = advantages(long.steps(), 0.9, 0.0)[0]
    for part in range(16):
        found = advantages(cut.collect().steps(), 0.9, 0.0)[0]
        assert torch.allclose(found, wanted[:, 8 * part : 8 * part + 8], atol=1e-5)
