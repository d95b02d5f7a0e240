"""Does what an agent shows while it waits move anything that is learned? And are means those of all valid agent-steps?"""

from dataclasses import replace

import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")

from small import ALONE, LONG, TINY, clone, make_collector

from baselines.config import PPOConfig
from baselines.dist import Ranks
from baselines.gae import advantages
from baselines.losses import masked_mean, normalised, ppo_losses
from baselines.metrics import segment_figures
from baselines.ppo import Learner, make_optimizer

NAN = float("nan")
CONFIG = PPOConfig(segment=16, minibatches=1)
CONTINUOUS = replace(LONG, drive=LONG.drive.replace(action_type="continuous"))


def learner_and_segment(model=TINY, env=LONG):
    """A segment in which agents drive, wait, are cut by the clock and restart, and remember what was before."""
    collector = make_collector(env, model)
    for _ in range(12):
        segment = clone(collector.collect())
        waits = segment.invalid & ~segment.read
        if waits.sum() > 20 and segment.truncation[:, :-1].any() and segment.start_position.max() > TINY.context:
            break
    else:
        pytest.fail("no segment had all of it")
    with torch.no_grad():  # else every ratio is 1 and the clip is never met
        for parameter in collector.policy.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.05)
    return Learner(collector.policy, make_optimizer(collector.policy, CONFIG), CONFIG, ALONE, collector), segment


def learned(learner, segment):
    """Every loss, statistic and gradient of a segment, by name."""
    advantage, returns = advantages(segment.steps(), 0.97, 0.9)
    figures = segment_figures(segment, returns, 2, ALONE)
    scaled, mean, spread = normalised(advantage, segment.kept, ALONE)
    agents = torch.arange(len(segment.first))
    learner.optimizer.zero_grad()
    losses, log_ratio = learner.losses(segment, agents, scaled, returns, int(segment.kept.sum()))
    losses.total.backward()
    gradients = {name: p.grad.clone() for name, p in learner.policy.named_parameters() if p.grad is not None}
    return {**figures, **losses._asdict(), **gradients, "mean": mean, "spread": spread, "log_ratio": log_ratio,
            "advantage": scaled, "returns": returns}


def differing(one, other):
    assert one.keys() == other.keys()
    return [name for name in one if not torch.equal(one[name].nan_to_num(7), other[name].nan_to_num(7))]


def spoiled(segment, fill, only=None):
    """The segment with everything that agents hold while they wait replaced, save what stands behind a `truncation`."""
    where = segment.invalid & ~segment.read if only is None else only
    names = ["observations", "values", "log_probs", "rewards"]
    names += ["actions", "previous", "trial_index", "steps_left"] * (only is None)

    def filled(name):
        old = getattr(segment, name)
        new = fill(old) if old.is_floating_point() else torch.full_like(old, torch.iinfo(old.dtype).max)
        # The first step of an episode has no previous action either.
        chosen = where | segment.first if name == "previous" else where
        return torch.where(chosen.view(*chosen.shape, *[1] * (old.ndim - 2)), new, old)

    return replace(segment, **{name: filled(name) for name in names})


@pytest.mark.parametrize("fill", [torch.randn_like, lambda x: torch.full_like(x, NAN)], ids=["noise", "NaN"])
@pytest.mark.parametrize("critic, env", [("shared", LONG), ("separate", LONG), ("shared", CONTINUOUS)],
                         ids=["shared", "separate", "continuous"])
def test_a_waiting_agent_never_moves_a_loss_a_statistic_or_a_gradient(critic, env, fill):
    learner, segment = learner_and_segment(replace(TINY, critic=critic), env)
    before = learned(learner, segment)
    assert before["clipped"] > 0 and (spoiled(segment, fill).values != segment.values).sum() > 20
    assert not differing(before, learned(learner, spoiled(segment, fill)))
    # The test can fail: agents that drive do move them.
    assert len(differing(before, learned(learner, spoiled(segment, torch.randn_like, only=segment.kept)))) > 20


@pytest.mark.parametrize("fill", [NAN, float("inf"), -float("inf"), 1e30])
def test_no_input_of_a_loss_counts_where_it_is_not_kept(fill):
    """Each input alone and all together: losses and gradients are those of any other fill, and no gradient is left."""
    torch.manual_seed(3)
    kept = torch.rand(6, 9) < 0.6
    inputs = [torch.randn(6, 9) for _ in range(6)]

    def found(*spoiled):
        leaves = [torch.where(kept, x, fill if index in spoiled else 0.5).requires_grad_()
                  for index, x in enumerate(inputs)]
        losses = ppo_losses(*leaves, kept, int(kept.sum()), PPOConfig(value_weight=0.7, entropy_weight=0.3))
        return losses, torch.autograd.grad(losses.total, leaves)

    losses, gradients = found()
    assert all(gradient[kept].any() and not gradient[~kept].any() for gradient in gradients)
    for spoiled in (*((index,) for index in range(6)), range(6)):
        others, other_gradients = found(*spoiled)
        assert all(map(torch.equal, losses, others)), f"inputs {spoiled}"
        assert all(map(torch.equal, gradients, other_gradients)), f"inputs {spoiled}"


def test_the_observation_behind_a_truncation_counts_by_its_value_alone():
    learner, segment = learner_and_segment()
    before = learned(learner, segment)
    behind = segment.read & ~segment.kept
    assert behind.any()
    observed = torch.where(behind[..., None], torch.randn_like(segment.observations), segment.observations)
    assert not differing(before, learned(learner, replace(segment, observations=observed)))
    valued = torch.where(behind, segment.values + 1, segment.values)
    # Credit goes through an inner trial's end; at the episode's, the value is the bootstrap.
    bootstraps = torch.nn.functional.pad(segment.truncations[:, :-1], (1, 0))
    changed = replace(segment, values=torch.where(bootstraps, valued, segment.values))
    assert ("returns" in differing(before, learned(learner, changed))) == bool(bootstraps.any())


def test_observations_of_agents_that_wait_get_no_gradient_at_all():
    """Even where all are read, as keys and as inputs."""
    learner, segment = learner_and_segment()
    observations = segment.observations.clone().requires_grad_()
    agents = torch.arange(len(segment.first))
    prefix = learner.collector.cache.before(agents, segment.start_head, segment.start_position)
    parameters, values = learner.policy(observations, segment.previous, segment.first, ~segment.waits, prefix)
    log_probs = learner.policy.actor.log_prob(parameters, segment.actions)
    advantage, returns = advantages(segment.steps(), 0.97, 0.9)
    losses = ppo_losses(log_probs, learner.policy.actor.entropy(parameters), values, segment.log_probs, advantage,
                        returns, segment.kept, int(segment.kept.sum()), CONFIG)
    losses.total.backward()
    assert not observations.grad[segment.invalid].any()
    assert observations.grad[segment.kept].abs().sum(-1).gt(0).float().mean() > 0.99


def test_losses_are_those_of_the_kept_agents_alone():
    """Written out once more over a flat list of the valid agent-steps."""
    torch.manual_seed(0)
    draw = lambda: torch.randn(5, 7)
    log_probs, old, advantage, returns, values, entropy = (draw() for _ in range(6))
    kept = torch.rand(5, 7) < 0.6
    found = ppo_losses(log_probs, entropy, values, old, advantage, returns, kept, int(kept.sum()),
                       PPOConfig(clip=0.2, value_weight=0.7, entropy_weight=0.3))
    policy = value = kl = clipped = spread = 0.0
    places = kept.nonzero().tolist()
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


def test_parts_of_ranks_add_up_to_the_mean_of_all():
    x, kept = torch.randn(8, 3), torch.rand(8, 3) < 0.5
    whole = masked_mean(x, kept, kept.sum())
    parts = sum(masked_mean(x[some], kept[some], kept.sum()) for some in (slice(0, 1), slice(1, 8)))
    assert parts == pytest.approx(whole.item(), rel=1e-6) and whole == pytest.approx(x[kept].mean().item(), rel=1e-6)


def test_advantages_are_normalised_over_the_kept_agents_of_all_ranks():
    class Two(Ranks):
        """Two ranks in one process: sums are given the other's part."""

        def sum(self, tensor):
            return tensor.add_(others.pop(0))

    torch.manual_seed(1)
    x, kept = torch.randn(10, 4) * 3 + 2, torch.rand(10, 4) < 0.7
    x[~kept] = NAN
    wanted = (x[kept] - x[kept].mean()) / x[kept].std(correction=0)
    scaled, mean, _spread = normalised(x, kept, ALONE)
    assert torch.allclose(scaled[kept], wanted, atol=1e-5) and not scaled[~kept].any()
    assert mean == pytest.approx(x[kept].mean().item(), rel=1e-5)

    one, other = (slice(0, 3), slice(3, 10))
    part = x[other][kept[other]].double()
    others = [torch.tensor([part.numel(), part.sum()]), (part - x[kept].double().mean()).square().sum()]
    found, _, _ = normalised(x[one], kept[one], Two(0, 2, torch.device("cpu")))
    assert torch.allclose(found, scaled[one], atol=1e-5)


def test_a_step_without_a_kept_agent_is_skipped():
    """Also where the optimiser has momentum."""
    learner, segment = learner_and_segment()
    nobody = replace(segment, invalid=torch.ones_like(segment.invalid))
    zeros = torch.zeros_like(segment.values)
    order = [torch.arange(len(segment.first))]
    learner._set_learning_rate({"agent_steps": 0, "update": 0})
    learner._learn(segment, zeros + 1, zeros, order, [[int(segment.kept.sum())]])
    before = {name: p.clone() for name, p in learner.policy.named_parameters()}
    figures = learner._learn(nobody, zeros, zeros, order, [[0]])
    assert figures["optimizer_steps"] == 0
    assert all(torch.equal(before[name], p) for name, p in learner.policy.named_parameters())


@pytest.mark.parametrize("full", [1, 2, 4], ids="{} of 4 minibatches hold data".format)
def test_target_kl_is_compared_with_the_mean_over_the_minibatches_that_hold_data(full):
    """An absent agent has no kept step; minibatches of such agents alone neither dilute the KL nor count."""
    learner, segment = learner_and_segment()
    agents = len(segment.first)
    driven = torch.arange(agents)[:, None] < agents * full // 4
    segment = replace(segment, invalid=segment.invalid | ~driven)
    advantage, returns = advantages(segment.steps(), 0.97, 0.9)
    order = [torch.arange(agents)] * 3
    counts = [segment.kept.view(4, -1).sum(1).tolist()] * 3
    assert sum(count > 0 for count in counts[0]) == full
    weights = {name: value.clone() for name, value in learner.policy.state_dict().items()}

    def learn(epochs, target_kl):
        learner.policy.load_state_dict(weights)
        config = replace(CONFIG, minibatches=4, epochs=epochs, target_kl=target_kl, learning_rate=1e-6)
        again = Learner(learner.policy, make_optimizer(learner.policy, config), config, ALONE, learner.collector)
        again._set_learning_rate({"agent_steps": 0, "update": 0})
        return again._learn(segment, advantage, returns, order[:epochs], counts[:epochs])

    kl = learn(1, None)["kl"].item()
    assert kl > 0
    assert learn(3, 0.9 * kl)["optimizer_steps"] == full
    assert learn(3, 1.1 * kl)["optimizer_steps"] == 3 * full
