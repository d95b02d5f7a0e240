"""Does the recurrent example use the channels as documented? Its targets against a table worked out by hand."""

import dataclasses
import math
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from installed import client

from drive_env import Batch, DriveConfig, generate_scene

torch = client("torch")
torch.set_num_threads(1)  # threads only slow down tensors this small

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples"))
import recurrent

sys.path.pop(0)

NAN = math.nan
W = 4.0


@dataclass
class Agent:
    """A segment of one agent: rewards, values, the value of the observation after it, and what is expected."""

    r: list
    v: list
    after: float
    expected: list
    waits: bool = False
    invalid: tuple = ()
    terminations: tuple = ()
    truncations: tuple = ()


# Worked by hand with a discount and a lambda of 0.5, exact in binary. A step that does not count has None for an
# advantage; its reward and value are garbage on purpose, but for the value that bootstraps a truncation before it.
CASES = {
    "plain": Agent([1, 2, 3, 4], [1, 2, 3, 4], 8, [1.5625, 2.25, 3, 4]),
    "a goal for good": Agent(
        [1, 2, 0, 0, 3, 4], [1, 2, 99, -99, 3, 4], 8, [1, 0, None, None, 3, 4], invalid=(2, 3), terminations=(1,)),
    "a time limit": Agent([1, 2, 0, 3, 4], [1, 2, 6, 3, 4], 8, [1.75, 3, None, 3, 4], invalid=(2,), truncations=(1,)),
    "an inner clock": Agent([1, 2, 0, 3, 4], [1, 2, 6, 3, 4], 8, [1.5625, 2.25, None, 3, 4], invalid=(2,)),
    "an inner goal, a wait, the trial's end": Agent(
        [1, 2, 0, 0, 0, 3, 4], [1, 2, 99, -99, 77, 3, 4], 8, [1.5625, 2.25, None, None, None, 3, 4],
        invalid=(2, 3, 4)),
    "the restart step comes last": Agent([1, 2, 0], [1, 2, 6], 3, [1.375, 1.5, None], invalid=(2,)),
    "an inner clock in the last step": Agent([1, 2], [1, 2], 6, [1.5, 2], waits=True),
    "an inner goal closes the trial in the last step": Agent([1, 2], [1, 2], NAN, [1.5, 2], waits=True),
    "a wait to the end": Agent([1, 2, 0, 0], [1, 2, 99, 99], NAN, [1.5, 2, None, None], invalid=(2, 3), waits=True),
    "the same, later": Agent([1, 1, 2, 0], [1, 2, 3, 99], NAN, [1.1875, 0.75, 1, None], invalid=(3,), waits=True),
    "the last trial's clock in the last step": Agent([1, 2], [1, 2], 6, [1.75, 3], waits=True, truncations=(1,)),
    "the segment opens in a wait": Agent([0, 0, 3, 4], [9, 9, 3, 4], 8, [None, None, 3, 4], invalid=(0, 1)),
    "a segment cut in two, the first part": Agent([1, 2], [1, 2], 3, [1.375, 1.5]),
    "a segment cut in two, the second part": Agent([3, 4], [3, 4], 8, [3, 4]),
}


def estimates(agent, gamma=0.5, lam=0.5):
    """The example's advantages of one agent."""
    def marked(steps):
        return torch.tensor([[t in steps] for t in range(len(agent.r))])

    return recurrent.advantages(
        torch.tensor(agent.r, dtype=torch.float32)[:, None], torch.tensor(agent.v, dtype=torch.float32)[:, None],
        ~marked(agent.invalid), marked(agent.terminations), marked(agent.truncations),
        torch.tensor([float(agent.after)]), torch.tensor([agent.waits]),
        torch.tensor([W if agent.waits else NAN]), gamma, lam)[:, 0].tolist()


@pytest.mark.parametrize("name", CASES)
def test_the_targets_are_those_of_the_table(name):
    assert estimates(CASES[name]) == [0 if advantage is None else advantage for advantage in CASES[name].expected]


@pytest.mark.parametrize("name", CASES)
def test_entries_outside_the_loss_may_hold_anything(name):
    agent = CASES[name]
    unread = [t for t in agent.invalid if t - 1 not in agent.truncations]
    garbage = dataclasses.replace(agent, r=[NAN if t in agent.invalid else reward for t, reward in enumerate(agent.r)],
                                  v=[NAN if t in unread else value for t, value in enumerate(agent.v)])
    assert estimates(garbage) == estimates(agent)


def test_a_time_limit_is_bootstrapped_from_nothing_else():
    right = estimates(CASES["a time limit"])
    from_before = [1.25, 1]
    from_the_new_trial = [1.375, 1.5]
    assert right[:2] not in (from_before, from_the_new_trial)


@pytest.mark.parametrize("gamma", (1.0, 0.9, 0.5))
def test_with_lambda_1_it_is_the_discounted_return_less_the_value(gamma):
    """Waits put anywhere change nothing, and what follows a flag belongs to another episode."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        length = int(rng.integers(1, 12))
        kept = rng.random(length) < 0.6
        flag = np.where(kept & (rng.random(length) < 0.2), rng.integers(1, 3, length), 0)
        r, v = rng.normal(size=length).round(3), rng.normal(size=length).round(3)
        after, waits = float(rng.normal()), bool(rng.random() < 0.5)
        found = estimates(Agent(r, v, after, [], waits, np.flatnonzero(~kept), np.flatnonzero(flag == 1),
                              np.flatnonzero(flag == 2)), gamma, 1.0)
        for t in np.flatnonzero(kept):
            total, weight, s = 0.0, 1.0, t
            while True:
                total += weight * r[s]
                weight *= gamma
                following = [later for later in range(s + 1, length) if kept[later]]
                if flag[s] == 1:
                    break
                if flag[s] == 2 or not following:
                    next_one = v[s + 1] if s + 1 < length else after
                    total += weight * (next_one if flag[s] == 2 else W if waits else after)
                    break
                s = following[0]
            assert found[t] == pytest.approx(total - v[t], abs=1e-4)


TOWNS = [generate_scene("town", seed=seed, agents=6) for seed in range(3)]
CONFIG = DriveConfig(max_trials=2, trial_steps=25, observation={"partners": 3, "roads": 8})


def played(segments, steps=30, seed=0):
    """Segments of the real collector over the real environment, with an agent that is not trained."""
    torch.manual_seed(seed)
    batch = Batch(TOWNS, num_worlds=4, config=CONFIG, seed=seed)
    agent = recurrent.Agent(batch.observation_size, batch.single_action_space.n, width=8)
    torch.nn.init.orthogonal_(agent.policy.weight, 1.0)  # so that actions depend on observations
    batch.reset(initial_ages=np.arange(4) * 5)
    memory, found = torch.zeros(batch.num_agents, 8), []
    for _ in range(segments):
        segment, memory = recurrent.collect(batch, agent, memory, steps)
        found.append(segment)
    return agent, found


def test_training_computes_what_the_rollout_computed():
    agent, segments = played(5)
    every = torch.arange(24)
    counts = {"first": 0, "waits": 0, "truncations": 0, "terminations": 0}
    for segment in segments:
        assert torch.equal(segment["valid"], ~segment["waits"])
        logits, values = recurrent.unroll(agent, segment, every)
        kept = segment["valid"]
        logp = torch.distributions.Categorical(logits=logits).log_prob(segment["actions"])
        assert torch.allclose(logp[kept], segment["logp"][kept], atol=1e-5)
        assert torch.allclose(values[kept], segment["values"][kept], atol=1e-5)
        for name in counts:
            counts[name] += int(segment[name].sum())
    assert min(counts.values()) > 0, counts


def test_the_memory_goes_on_through_trials_waits_and_segments_and_ends_with_the_episode():
    """The recurrent state at every step, recomputed from the observations alone, agent by agent."""
    agent, segments = played(4)
    whole = {name: torch.cat([segment[name] for segment in segments]) for name in ("observations", "first", "waits")}
    trial_ends = 0
    for index in range(0, 24, 5):
        memory = torch.zeros(8)
        for t in range(len(whole["first"])):
            if t % 30 == 0:
                assert torch.allclose(segments[t // 30]["memory"][index], memory, atol=1e-5)
            if whole["first"][t, index]:
                memory = torch.zeros(8)
            if not whole["waits"][t, index]:
                with torch.no_grad():
                    memory = agent.gru(agent.encoder(whole["observations"][t, index][None]), memory[None])[0]
            else:
                trial_ends += 1
    assert trial_ends > 0


def trained(segment, updates=1):
    """The weights of a fresh agent after updates on a segment."""
    agent, _ = played(0)
    torch.manual_seed(1)
    optimiser = torch.optim.Adam(agent.parameters(), lr=1e-2)
    for _ in range(updates):
        recurrent.update(agent, optimiser, segment)
    return agent, [weight.detach().clone() for weight in agent.parameters()]


def test_observations_of_waiting_agents_change_no_weight():
    _, (_, segment) = played(2)
    _, before = trained(segment)
    noisy = dict(segment)
    for name in ("observations", "rewards", "logp"):
        noisy[name] = segment[name].clone()
        noisy[name][segment["waits"]] = NAN
    values = segment["values"].clone()
    after_truncation = torch.cat([torch.zeros(1, 24, dtype=torch.bool), segment["truncations"][:-1]])
    values[segment["waits"] & ~after_truncation] = NAN
    noisy["values"] = values
    assert segment["waits"].any() and after_truncation.any()
    for weight, other in zip(before, trained(noisy)[1]):
        assert torch.isfinite(weight).all() and torch.equal(weight, other)


def test_a_longer_wait_changes_no_weight():
    _, (_, segment) = played(2)
    longer, at = dict(segment), 5
    for name, array in segment.items():
        if array.shape[:2] == segment["valid"].shape:
            idle = torch.ones_like if name == "waits" else torch.zeros_like
            longer[name] = torch.cat([array[:at], idle(array[:7]), array[at:]])
    assert not segment["truncations"][at - 1].any()
    for weight, other in zip(trained(segment)[1], trained(longer)[1]):
        assert torch.equal(weight, other)


def test_values_learn_the_returns():
    _, (_, segment) = played(2)
    for name in ("values", "value_after", "restart_value"):
        segment[name] += 3.0  # so that returns are far from where values begin, and from advantages
    names = ("rewards", "values", "valid", "terminations", "truncations", "value_after", "waits_after", "restart_value")
    returns = recurrent.advantages(*(segment[name] for name in names), 0.995, 0.95) + segment["values"]
    agent, _ = trained(segment, updates=25)
    with torch.no_grad():
        _, values = recurrent.unroll(agent, segment, torch.arange(24))
    kept = segment["valid"]
    assert returns[kept].mean() > 2
    assert (values - returns)[kept].abs().mean() < 0.5


def test_a_wait_that_the_segment_cuts_is_valued_as_a_complete_one():
    """At any cut inside a wait the restart's value equals the one the rollout finds when the wait is over."""
    _, long = played(1, steps=90)
    _, short = played(3, steps=30)
    checked = 0
    whole = long[0]
    for cut, segment in zip((30, 60), short):
        for agent in torch.nonzero(segment["waits_after"]).flatten().tolist():
            after = [t for t in range(cut, 90) if whole["valid"][t, agent]]
            last = max(t for t in range(cut) if whole["valid"][t, agent])
            if whole["terminations"][last, agent] or whole["truncations"][last, agent]:
                continue
            assert segment["restart_value"][agent] == pytest.approx(float(whole["values"][after[0], agent]), abs=1e-5)
            checked += 1
    assert checked > 0
