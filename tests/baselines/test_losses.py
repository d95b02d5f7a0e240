"""Do waiting agents influence what is learned? And are means those over the loss mask?"""

from dataclasses import replace

import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")

from small import ALONE, LONG, TINY, clone, make_collector

from baselines.config import PPOConfig
from baselines.gae import advantages
from baselines.losses import masked_mean, normalised, normalised_by_trial, ppo_losses
from baselines.ppo import Learner, make_optimizer
from baselines.tools.dist import Ranks
from baselines.tools.metrics import rollout_metrics

NAN = float("nan")
CONFIG = PPOConfig(rollout_steps=16, minibatches=1)
CONTINUOUS = replace(LONG, drive=LONG.drive.replace(action_type="continuous"))


def learner_and_segment(model=TINY, env=LONG):
    """A rollout in which agents drive, wait, reach time limits and restart, after longer episodes than the context."""
    collector = make_collector(env, model)
    for _ in range(12):
        buffer = clone(collector.collect())
        waits = buffer.invalid & ~buffer.used
        if waits.sum() > 20 and buffer.truncation[:, :-1].any() and buffer.start_position.max() > TINY.context:
            break
    else:
        pytest.fail("no rollout had all of it")
    with torch.no_grad():  # otherwise every ratio is 1 and none is clipped
        for parameter in collector.policy.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.05)
    return Learner(collector.policy, make_optimizer(collector.policy, CONFIG), CONFIG, ALONE, collector), buffer


def learned(learner, buffer):
    """Every loss, statistic and gradient of an update, by name."""
    advantage, returns = advantages(buffer.steps(), 0.97, 0.9)
    figures = rollout_metrics(buffer, returns, 2, ALONE)
    scaled, mean, spread = normalised(advantage, buffer.loss_mask, ALONE)
    agents = torch.arange(len(buffer.first))
    learner.optimizer.zero_grad()
    losses, log_ratio, entropy = learner.losses(buffer, agents, scaled, returns, int(buffer.loss_mask.sum()))
    losses.total.backward()
    gradients = {name: p.grad.clone() for name, p in learner.policy.named_parameters() if p.grad is not None}
    return {**figures, **losses._asdict(), **gradients, "mean": mean, "spread": spread, "log_ratio": log_ratio,
            "entropy_of_step": entropy, "advantage": scaled, "returns": returns}


def differing(one, other):
    assert one.keys() == other.keys()
    return [name for name in one if not torch.equal(one[name].nan_to_num(7), other[name].nan_to_num(7))]


def spoiled(buffer, fill, only=None):
    """The buffer with the entries of waiting agents replaced, except for those right after a `truncation`."""
    where = buffer.invalid & ~buffer.used if only is None else only
    names = ["observations", "values", "log_probs", "rewards"]
    names += ["actions", "previous_actions", "trial_index", "steps_left"] * (only is None)

    def filled(name):
        old = getattr(buffer, name)
        new = fill(old) if old.is_floating_point() else torch.full_like(old, torch.iinfo(old.dtype).max)
        # The first step of an episode has no previous action either.
        chosen = where | buffer.first if name == "previous_actions" else where
        return torch.where(chosen.view(*chosen.shape, *[1] * (old.ndim - 2)), new, old)

    return replace(buffer, **{name: filled(name) for name in names})


@pytest.mark.parametrize("fill", [torch.randn_like, lambda x: torch.full_like(x, NAN)], ids=["noise", "NaN"])
@pytest.mark.parametrize("critic, env", [("shared", LONG), ("separate", LONG), ("shared", CONTINUOUS)],
                         ids=["shared", "separate", "continuous"])
def test_a_waiting_agent_changes_no_loss_no_statistic_and_no_gradient(critic, env, fill):
    learner, buffer = learner_and_segment(replace(TINY, critic=critic), env)
    before = learned(learner, buffer)
    assert before["clipped"] > 0 and (spoiled(buffer, fill).values != buffer.values).sum() > 20
    assert not differing(before, learned(learner, spoiled(buffer, fill)))
    # The test can fail: entries inside the loss mask do change them.
    assert len(differing(before, learned(learner, spoiled(buffer, torch.randn_like, only=buffer.loss_mask)))) > 20


def test_a_co_player_changes_no_loss_no_statistic_and_no_gradient():
    """Its own returns and entropies may change; nothing that is learned from does."""
    learner, buffer = learner_and_segment(env=replace(LONG, drive=LONG.drive.replace(coplayers=2)))
    of_coplayers = buffer.coplayer & ~buffer.invalid
    assert 0.1 < of_coplayers.float().mean() < 0.5 and not (buffer.loss_mask & buffer.coplayer).any()
    before, per_step = learned(learner, buffer), {"returns", "log_ratio", "entropy_of_step"}
    assert set(differing(before, learned(learner, spoiled(buffer, torch.randn_like, only=of_coplayers)))) <= per_step
    everyone = replace(buffer, coplayer=torch.zeros_like(buffer.coplayer))
    assert len(differing(before, learned(learner, everyone))) > 20


@pytest.mark.parametrize("fill", [NAN, float("inf"), -float("inf"), 1e30])
def test_no_input_of_a_loss_counts_outside_the_loss_mask(fill):
    """Each input alone and all together: losses and gradients equal those of another fill, masked gradients are 0."""
    torch.manual_seed(3)
    loss_mask = torch.rand(6, 9) < 0.6
    inputs = [torch.randn(6, 9) for _ in range(7)]
    config = PPOConfig(value_weight=0.7, entropy_weight=0.3, informed_weight=0.2)

    def found(*spoiled):
        leaves = [torch.where(loss_mask, x, fill if index in spoiled else 0.5).requires_grad_()
                  for index, x in enumerate(inputs)]
        losses = ppo_losses(*leaves[:6], loss_mask, int(loss_mask.sum()), config, divergence=leaves[6])
        return losses, torch.autograd.grad(losses.total, leaves)

    losses, gradients = found()
    assert all(gradient[loss_mask].any() and not gradient[~loss_mask].any() for gradient in gradients)
    for spoiled in (*((index,) for index in range(7)), range(7)):
        others, other_gradients = found(*spoiled)
        assert all(map(torch.equal, losses, others)), f"inputs {spoiled}"
        assert all(map(torch.equal, gradients, other_gradients)), f"inputs {spoiled}"


def test_the_observation_after_a_truncation_counts_by_its_value_alone():
    learner, buffer = learner_and_segment()
    before = learned(learner, buffer)
    after = buffer.used & ~buffer.loss_mask
    assert after.any()
    observed = torch.where(after[..., None], torch.randn_like(buffer.observations), buffer.observations)
    assert not differing(before, learned(learner, replace(buffer, observations=observed)))
    valued = torch.where(after, buffer.values + 1, buffer.values)
    # Credit flows through the end of an inner trial; at that of the episode, the value is the bootstrap.
    bootstraps = torch.nn.functional.pad(buffer.truncations[:, :-1], (1, 0))
    changed = replace(buffer, values=torch.where(bootstraps, valued, buffer.values))
    assert ("returns" in differing(before, learned(learner, changed))) == bool(bootstraps.any())


def test_observations_of_waiting_agents_have_no_gradient():
    """Also where all are used as inputs and keys."""
    learner, buffer = learner_and_segment()
    observations = buffer.observations.clone().requires_grad_()
    agents = torch.arange(len(buffer.first))
    prefix = learner.collector.cache.prefix(agents, buffer.start_written, buffer.start_position)
    parameters, values = learner.policy(observations, buffer.previous_actions, buffer.first, ~buffer.waits, prefix)
    log_probs = learner.policy.actor.log_prob(parameters, buffer.actions)
    advantage, returns = advantages(buffer.steps(), 0.97, 0.9)
    losses = ppo_losses(log_probs, learner.policy.actor.entropy(parameters), values, buffer.log_probs, advantage,
                        returns, buffer.loss_mask, int(buffer.loss_mask.sum()), CONFIG)
    losses.total.backward()
    assert not observations.grad[buffer.invalid].any()
    assert observations.grad[buffer.loss_mask].abs().sum(-1).gt(0).float().mean() > 0.99


def test_losses_are_means_over_the_loss_mask():
    """Computed again by a loop over the steps of the mask."""
    torch.manual_seed(0)
    draw = lambda: torch.randn(5, 7)
    log_probs, old, advantage, returns, values, entropy = (draw() for _ in range(6))
    loss_mask = torch.rand(5, 7) < 0.6
    found = ppo_losses(log_probs, entropy, values, old, advantage, returns, loss_mask, int(loss_mask.sum()),
                       PPOConfig(clip=0.2, value_weight=0.7, entropy_weight=0.3))
    policy = value = kl = clipped = spread = 0.0
    places = loss_mask.nonzero().tolist()
    for i, j in places:
        ratio = (log_probs[i, j] - old[i, j]).exp().item()
        a = advantage[i, j].item()
        policy -= min(ratio * a, max(0.8, min(1.2, ratio)) * a)
        value += 0.5 * (values[i, j] - returns[i, j]).item() ** 2
        kl += ratio - 1 - (log_probs[i, j] - old[i, j]).item()
        clipped += abs(ratio - 1) > 0.2
        spread += entropy[i, j].item()
    n = len(places)
    assert found.policy == pytest.approx(policy / n, rel=1e-5)
    assert found.value == pytest.approx(value / n, rel=1e-5)
    assert found.kl == pytest.approx(kl / n, rel=1e-5)
    assert found.clipped == pytest.approx(clipped / n)
    assert found.total == pytest.approx(policy / n + 0.7 * value / n - 0.3 * spread / n, rel=1e-5)


def test_the_parts_of_ranks_sum_to_the_global_mean():
    x, loss_mask = torch.randn(8, 3), torch.rand(8, 3) < 0.5
    whole = masked_mean(x, loss_mask, loss_mask.sum())
    parts = sum(masked_mean(x[some], loss_mask[some], loss_mask.sum()) for some in (slice(0, 1), slice(1, 8)))
    assert parts == pytest.approx(whole.item(), abs=1e-6)  # values of either sign cancel
    assert whole == pytest.approx(x[loss_mask].mean().item(), abs=1e-6)


def test_advantages_are_normalised_over_the_loss_masks_of_all_ranks():
    class Two(Ranks):
        """Two ranks in one process: `sum` adds the other's part."""

        def sum(self, tensor):
            return tensor.add_(others.pop(0))

    torch.manual_seed(1)
    x, loss_mask = torch.randn(10, 4) * 3 + 2, torch.rand(10, 4) < 0.7
    x[~loss_mask] = NAN
    wanted = (x[loss_mask] - x[loss_mask].mean()) / x[loss_mask].std(correction=0)
    scaled, mean, _spread = normalised(x, loss_mask, ALONE)
    assert torch.allclose(scaled[loss_mask], wanted, atol=1e-5) and not scaled[~loss_mask].any()
    assert mean == pytest.approx(x[loss_mask].mean().item(), rel=1e-5)

    one, other = (slice(0, 3), slice(3, 10))
    part = x[other][loss_mask[other]].double()
    others = [torch.tensor([part.numel(), part.sum()]), (part - x[loss_mask].double().mean()).square().sum()]
    found, _, _ = normalised(x[one], loss_mask[one], Two(0, 2, torch.device("cpu")))
    assert torch.allclose(found, scaled[one], atol=1e-5)


def test_advantages_of_each_trial_are_normalised_like_a_batch_of_that_trial_alone():
    torch.manual_seed(1)
    x, loss_mask = torch.randn(10, 8), torch.rand(10, 8) < 0.7
    trial = torch.randint(0, 3, (10, 8), dtype=torch.int32)
    x = torch.where(loss_mask, x * (1 + trial) + 2 * trial, NAN)
    trial[~loss_mask] = torch.iinfo(torch.int32).max
    scaled, mean, std = normalised_by_trial(x, loss_mask, trial, 4, ALONE)
    assert not scaled[~loss_mask].any()
    for index in range(3):
        chosen = loss_mask & (trial == index)
        alone, alone_mean, alone_std = normalised(x, chosen, ALONE)
        assert torch.allclose(scaled[chosen], alone[chosen], atol=1e-6)
        assert (mean[index], std[index]) == (pytest.approx(alone_mean.item()), pytest.approx(alone_std.item()))
    assert mean[3].isnan() and std[3].isnan(), "there is no step of that trial"


def test_an_update_reports_the_spread_of_advantages_and_the_entropy_of_each_trial():
    """Together they are those of the whole loss mask: the mean entropy, and the total variance."""
    learner, buffer = learner_and_segment()
    advantage, returns = advantages(buffer.steps(), 0.97, 0.9)
    figures = rollout_metrics(buffer, returns, 2, ALONE)
    normal, spread = learner.normalise(advantage, buffer)
    assert torch.equal(normal, normalised(advantage, buffer.loss_mask, ALONE)[0])
    learner.set_schedules({"agent_steps": 0, "update": 0})
    order, counts = [torch.arange(len(buffer.first))], [[int(buffer.loss_mask.sum())]]
    learned = learner.learn(buffer, normal, returns, order, counts)
    count = torch.stack([figures[f"value_trial_{trial}_count"] for trial in range(2)])
    each = lambda found, name: torch.stack([found[name.format(trial)].double() for trial in range(2)])
    entropy = (count * each(learned, "entropy_trial_{}")).sum() / count.sum()
    assert count.min() > 50 and entropy.item() == pytest.approx(learned["entropy"].item(), rel=1e-5)
    mean, std = each(spread, "advantage_trial_{}_mean"), each(spread, "advantage_trial_{}_std")
    variance = (count * (std**2 + (mean - spread["advantage_mean"])**2)).sum() / count.sum()
    assert variance.sqrt().item() == pytest.approx(spread["advantage_std"].item(), rel=1e-5)


def test_normalising_by_trial_is_an_option():
    learner, buffer = learner_and_segment()
    advantage, _ = advantages(buffer.steps(), 0.97, 0.9)
    config = replace(CONFIG, normalise_advantages="trial")
    learner = Learner(learner.policy, learner.optimizer, config, ALONE, learner.collector)
    normal, _ = learner.normalise(advantage, buffer)
    for trial in range(2):
        chosen = normal[buffer.loss_mask & (buffer.trial_index == trial)]
        assert chosen.mean().item() == pytest.approx(0, abs=1e-5)
        assert chosen.std(correction=0).item() == pytest.approx(1, rel=1e-4)


def test_an_optimiser_step_with_an_empty_loss_mask_is_skipped():
    """Also where the optimiser has momentum."""
    learner, buffer = learner_and_segment()
    empty = replace(buffer, invalid=torch.ones_like(buffer.invalid))
    zeros = torch.zeros_like(buffer.values)
    order = [torch.arange(len(buffer.first))]
    learner.set_schedules({"agent_steps": 0, "update": 0})
    learner.learn(buffer, zeros + 1, zeros, order, [[int(buffer.loss_mask.sum())]])
    before = {name: p.clone() for name, p in learner.policy.named_parameters()}
    figures = learner.learn(empty, zeros, zeros, order, [[0]])
    assert figures["optimizer_steps"] == 0
    assert all(torch.equal(before[name], p) for name, p in learner.policy.named_parameters())


@pytest.mark.parametrize("full", [1, 2, 4], ids="{} of 4 minibatches hold data".format)
def test_target_kl_is_compared_with_the_mean_over_the_minibatches_that_hold_data(full):
    """An absent agent has an empty loss mask; minibatches of such agents alone neither dilute the KL nor count."""
    learner, buffer = learner_and_segment()
    agents = len(buffer.first)
    driven = torch.arange(agents)[:, None] < agents * full // 4
    buffer = replace(buffer, invalid=buffer.invalid | ~driven)
    advantage, returns = advantages(buffer.steps(), 0.97, 0.9)
    order = [torch.arange(agents)] * 3
    counts = [buffer.loss_mask.view(4, -1).sum(1).tolist()] * 3
    assert sum(count > 0 for count in counts[0]) == full
    weights = {name: value.clone() for name, value in learner.policy.state_dict().items()}

    def learn(epochs, target_kl):
        learner.policy.load_state_dict(weights)
        config = replace(CONFIG, minibatches=4, epochs=epochs, target_kl=target_kl, learning_rate=1e-6)
        again = Learner(learner.policy, make_optimizer(learner.policy, config), config, ALONE, learner.collector)
        again.set_schedules({"agent_steps": 0, "update": 0})
        return again.learn(buffer, advantage, returns, order[:epochs], counts[:epochs])

    kl = learn(1, None)["kl"].item()
    assert kl > 0
    assert learn(3, 0.9 * kl)["optimizer_steps"] == full
    assert learn(3, 1.1 * kl)["optimizer_steps"] == 3 * full
