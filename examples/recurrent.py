"""How does a recurrent learner use the channels? PPO with a GRU on a `Batch`, with the reason for each use.

An episode is two trials of the same scene, so the policy can use in the second what it observed in the first. The
contract is docs/channels.md; the numbers in brackets refer to its rules as applied here:

    [1] `first` resets the recurrent state before the first observation of an episode. The end of a trial keeps it.
    [2] An agent that waits does not update its recurrent state.
    [3] A step with `invalid_step` enters no loss and no statistic.
    [4] Returns pass through waits and restarts without a discount; see `advantages`.

    pip install . torch          # in a checkout; once published: pip install drive-env torch
    python examples/recurrent.py --steps 300000
"""

import argparse

import numpy as np
import torch
from torch import nn

from drive_env import Batch, DriveConfig, RewardConfig, generate_scene

# Learnable in minutes on a laptop: small intersections, near goals, long steps, no penalty for collisions.
SCENES = [generate_scene("intersection", seed=seed, agents=4, arm_length_m=24.0, lanes=1) for seed in range(8)]
CONFIG = DriveConfig(max_trials=2, trial_steps=40, dt_s=0.3, goal_radius_m=4.0, observation={"partners": 3, "roads": 8},
                     on_collision="ignore", on_offroad="ignore", reward=RewardConfig(collision=0.0, offroad=0.0))


class Agent(nn.Module):
    """Encoder, GRU, and one head each for actions and value."""

    def __init__(self, observation_size, action_count, width=64):
        super().__init__()
        self.width = width
        self.encoder = nn.Sequential(nn.Linear(observation_size, width), nn.Tanh())
        self.gru = nn.GRUCell(width, width)
        self.policy = nn.Linear(width, action_count)
        self.value = nn.Linear(width, 1)
        nn.init.orthogonal_(self.policy.weight, 0.01)

    def forward(self, observations, memory, first, waits):
        """One step of all agents. Rollout and training both call this, so they compute the same.

        Args:
            observations: (N, O), N agents. memory: (N, width), the recurrent state. first, waits: (N,) bool, of o_t.

        Returns:
            logits (N, A), values (N,), and the recurrent state after the step (N, width).
        """
        memory = torch.where(first[:, None], 0.0, memory)  # [1]
        hidden = self.gru(self.encoder(observations), memory)
        values = self.value(hidden)[:, 0]  # of waiting agents too: some are bootstraps, see `advantages`
        return self.policy(hidden), values, torch.where(waits[:, None], memory, hidden)  # [2]


def advantages(rewards, values, valid, terminations, truncations, value_after, waits_after, restart_value, gamma,
               gae_lambda):
    """Generalised advantage estimates over the valid steps, with credit through the trials of an episode [4].

    T steps of N agents; o_t is the observation on which action t is based. Rewards and values of steps that are not
    valid may be anything, also NaN.

    Args:
        rewards: (T, N). values: (T, N), of o_t. valid: (T, N) bool, not `invalid_step`.
        terminations, truncations: (T, N) bool.
        value_after: (N,), of o_T. waits_after: (N,) bool, of o_T.
        restart_value: (N,), of `Batch.restart_observations()` with the recurrent state after step T - 1. These are the
            next observations of agents that wait, so their last step has a target before the wait is over.

    Returns:
        (T, N), zero where not valid.
    """
    estimates = torch.zeros_like(rewards)
    next_value = torch.where(waits_after, restart_value, value_after)  # of the next valid step
    next_estimate = torch.zeros_like(value_after)
    observed_next = value_after  # of o_t+1, valid or not
    for t in reversed(range(len(rewards))):
        ended = terminations[t] | truncations[t]
        # Nothing follows a termination. A time limit is bootstrapped: the next observation is the true last one.
        bootstrap = torch.where(truncations[t], observed_next, torch.where(ended, 0.0, next_value))
        estimate = rewards[t] + gamma * bootstrap - values[t]
        estimate = estimate + gamma * gae_lambda * torch.where(ended, 0.0, next_estimate)
        estimates[t] = torch.where(valid[t], estimate, 0.0)  # `where`, since 0 * NaN is NaN
        next_value = torch.where(valid[t], values[t], next_value)
        next_estimate = torch.where(valid[t], estimate, next_estimate)
        observed_next = values[t]
    return estimates


@torch.no_grad()
def collect(batch, agent, memory, steps):
    """Collects a rollout; returns its tensors (T, N, ...) and the recurrent state after it."""
    # Steps of all agents.
    rollout = {"memory": memory}
    entries = []
    for _ in range(steps):
        # Of o_t, so read before the step: the next call overwrites the batch's arrays.
        entry = {name: torch.tensor(getattr(batch, name)) for name in ("observations", "first", "waits")}
        logits, entry["values"], memory = agent(entry["observations"], memory, entry["first"], entry["waits"])
        choice = torch.distributions.Categorical(logits=logits)
        entry["actions"] = choice.sample()
        entry["logp"] = choice.log_prob(entry["actions"])
        batch.actions[:] = entry["actions"].numpy()  # the actions of agents that wait may be anything
        batch.step(batch.actions)
        # Of the action just taken.
        entry |= {name: torch.tensor(getattr(batch, name)) for name in ("rewards", "terminations", "truncations")}
        entry["valid"] = torch.tensor(~batch.invalid_step)  # [3]
        entries.append(entry)
    rollout |= {name: torch.stack([entry[name] for entry in entries]) for name in entries[0]}

    # The values from which the estimates at the end of the rollout are bootstrapped.
    first, waits = torch.tensor(batch.first), torch.tensor(batch.waits)
    _, value_after, _ = agent(torch.tensor(batch.observations), memory, first, waits)
    _, restart_value, _ = agent(torch.from_numpy(batch.restart_observations()), memory, first, waits)
    return rollout | {"value_after": value_after, "waits_after": waits, "restart_value": restart_value}, memory


def unroll(agent, rollout, index):
    """Logits and values (T, n, ...) of some agents of a rollout, from their recurrent state at its start.

    Observations of agents that wait are replaced by zeros: no loss uses their outputs [3], so no gradient flows.
    """
    memory, logits, values = rollout["memory"][index], [], []
    first, waits = rollout["first"][:, index], rollout["waits"][:, index]
    observations = torch.where(waits[..., None], 0.0, rollout["observations"][:, index])
    for t in range(len(first)):
        step = agent(observations[t], memory, first[t], waits[t])
        logits.append(step[0])
        values.append(step[1])
        memory = step[2]
    return torch.stack(logits), torch.stack(values)


def update(agent, optimiser, rollout, gamma=0.98, gae_lambda=0.95, clip=0.2, epochs=3, minibatches=4,
           entropy_weight=0.01):
    """PPO on one rollout; a minibatch holds all steps of some agents, since the GRU is unrolled from the start."""
    # Estimates, normalised over the valid steps [3].
    names = ("rewards", "values", "valid", "terminations", "truncations", "value_after", "waits_after", "restart_value")
    estimates = advantages(*(rollout[name] for name in names), gamma, gae_lambda)
    returns = estimates + rollout["values"]
    valid = rollout["valid"]
    estimates = (estimates - estimates[valid].mean()) / (estimates[valid].std() + 1e-8)

    # Epochs over minibatches of agents.
    for _ in range(epochs):
        for index in torch.randperm(valid.shape[1]).chunk(minibatches):
            mask = valid[:, index]
            if not mask.any():
                continue

            # Select the valid steps [3]; multiplying by 0 would keep a NaN.
            logits, values = (output[mask] for output in unroll(agent, rollout, index))
            actions, logp, estimate, target = (
                array[:, index][mask] for array in (rollout["actions"], rollout["logp"], estimates, returns))

            # PPO's clipped loss, the loss of the values and an entropy bonus.
            choice = torch.distributions.Categorical(logits=logits)
            ratio = (choice.log_prob(actions) - logp).exp()
            gain = torch.min(ratio * estimate, ratio.clamp(1 - clip, 1 + clip) * estimate)
            loss = -gain.mean() + 0.5 * ((values - target) ** 2).mean() - entropy_weight * choice.entropy().mean()
            optimiser.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            optimiser.step()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=300_000, help="valid steps over all agents")
    parser.add_argument("--worlds", type=int, default=32)
    parser.add_argument("--rollout", type=int, default=32, help="steps between updates")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()

    # The batch, the agent and its optimiser.
    torch.manual_seed(options.seed)
    torch.set_num_threads(1)  # such small networks are faster on one core
    batch = Batch(SCENES, num_worlds=options.worlds, config=CONFIG, seed=options.seed)
    agent = Agent(batch.observation_size, batch.single_action_space.n)
    optimiser = torch.optim.Adam(agent.parameters(), lr=1e-3)

    # Worlds start at different ages, so that their time limits do not coincide. Nothing else needs a reset: worlds
    # restart by themselves.
    batch.reset(initial_ages=np.random.default_rng(options.seed).integers(CONFIG.trial_steps, size=options.worlds))
    memory = torch.zeros(batch.num_agents, agent.width)

    # Rollouts and updates.
    done = 0
    while done < options.steps:
        rollout, memory = collect(batch, agent, memory, options.rollout)
        update(agent, optimiser, rollout)
        done += int(rollout["valid"].sum())
        reward = rollout["rewards"][rollout["valid"]].mean()
        print(f"steps {done}, mean reward {reward:.4f}, goal {batch.metrics()['goal'].value:.2f}", flush=True)


if __name__ == "__main__":
    main()
