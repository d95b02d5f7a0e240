"""How does a learner with a memory use the channels? PPO with a GRU over a `Batch`, each use with its reason.

Episodes are two trials of the same scene: what a vehicle met in the first it may remember in the second. The contract
is docs/channels.md; the numbers in brackets below are its rules as this file applies them:

    [1] `first` drops the memory, before the observation that opens an episode is used. A trial's end keeps it.
    [2] a row that waits writes nothing to its memory.
    [3] a step with `invalid_step` is in no loss and no statistic.
    [4] returns look through waits and restarts, which cost no discount; see `advantages`.

    python examples/recurrent.py --steps 300000

Needs torch.
"""

import argparse

import numpy as np
import torch
from torch import nn

from drive_env import Batch, DriveConfig, RewardConfig, generate_scene

# Small enough to be learned in minutes on a laptop: little crossings, goals near, long steps, contacts without price.
SCENES = [generate_scene("intersection", seed=seed, agents=4, arm_length_m=24.0, lanes=1) for seed in range(8)]
CONFIG = DriveConfig(max_trials=2, trial_steps=40, dt_s=0.3, goal_radius_m=4.0, partners=3, roads=8,
                     on_collision="ignore", on_offroad="ignore", reward=RewardConfig(collision=0.0, offroad=0.0))


class Agent(nn.Module):
    """Encoder, GRU, and a head each for actions and value."""

    def __init__(self, observation_size, action_count, width=64):
        super().__init__()
        self.width = width
        self.encoder = nn.Sequential(nn.Linear(observation_size, width), nn.Tanh())
        self.gru = nn.GRUCell(width, width)
        self.policy = nn.Linear(width, action_count)
        self.value = nn.Linear(width, 1)
        nn.init.orthogonal_(self.policy.weight, 0.01)

    def forward(self, observations, memory, first, waits):
        """One step of all rows; rollout and training both call this, so they compute the same.

        Args:
            observations: (R, O). memory: (R, width), what a row remembers. first, waits: (R,) bool, of o_t.

        Returns:
            logits (R, A), values (R,), and the memory after the step (R, width).
        """
        memory = torch.where(first[:, None], 0.0, memory)  # [1]
        seen = self.gru(self.encoder(observations), memory)
        values = self.value(seen)[:, 0]  # of every row: that of a restart row is a bootstrap, see `advantages`
        return self.policy(seen), values, torch.where(waits[:, None], memory, seen)  # [2]


def advantages(rewards, values, kept, terminations, truncations, value_after, waits_after, restart_value, gamma, lam):
    """Generalised advantage estimates over steps that count, with credit through the trials of an episode [4].

    Args (T steps of R rows; of rows not kept rewards and values may be anything, NaN too):
        rewards: (T, R). values: (T, R), of o_t. kept: (T, R) bool, not `invalid_step`.
        terminations, truncations: (T, R) bool.
        value_after: (R,), of o_T. waits_after: (R,) bool, of o_T.
        restart_value: (R,), of `Batch.restart_observations()` in the memory as it is after step T - 1: what a row that
            still waits will meet is known already, so its last step has a target before the wait is over.

    Returns:
        (T, R), zero where not kept.
    """
    estimates = torch.zeros_like(rewards)
    next_value = torch.where(waits_after, restart_value, value_after)  # of the next step that counts
    next_estimate = torch.zeros_like(value_after)
    observed_next = value_after  # of o_t+1, whether that counts or not
    for t in reversed(range(len(rewards))):
        ended = terminations[t] | truncations[t]
        # An event for good is worth nothing more. A time limit is: the very next observation is the true last one.
        bootstrap = torch.where(truncations[t], observed_next, torch.where(ended, 0.0, next_value))
        estimate = rewards[t] + gamma * bootstrap - values[t]
        estimate = estimate + gamma * lam * torch.where(ended, 0.0, next_estimate)
        estimates[t] = torch.where(kept[t], estimate, 0.0)  # `where`, since 0 * NaN is NaN
        next_value = torch.where(kept[t], values[t], next_value)
        next_estimate = torch.where(kept[t], estimate, next_estimate)
        observed_next = values[t]
    return estimates


@torch.no_grad()
def collect(batch, agent, memory, steps):
    """Plays a segment; returns it as tensors (T, R, ...), and the memory after it."""
    segment = {"memory": memory}
    rows = []
    for _ in range(steps):
        # Of o_t, so read before the step: the next call overwrites the batch's arrays.
        row = {name: torch.tensor(getattr(batch, name)) for name in ("observations", "first", "waits")}
        logits, row["values"], memory = agent(row["observations"], memory, row["first"], row["waits"])
        choice = torch.distributions.Categorical(logits=logits)
        row["actions"] = choice.sample()
        row["logp"] = choice.log_prob(row["actions"])
        batch.actions[:] = row["actions"].numpy()  # those of rows that wait may be anything
        batch.step(batch.actions)
        # Of the action just taken.
        row |= {name: torch.tensor(getattr(batch, name)) for name in ("rewards", "terminations", "truncations")}
        row["kept"] = torch.tensor(~batch.invalid_step)  # [3]
        rows.append(row)
    segment |= {name: torch.stack([row[name] for row in rows]) for name in rows[0]}

    first, waits = torch.tensor(batch.first), torch.tensor(batch.waits)
    _, value_after, _ = agent(torch.tensor(batch.observations), memory, first, waits)
    _, restart_value, _ = agent(torch.from_numpy(batch.restart_observations()), memory, first, waits)
    return segment | {"value_after": value_after, "waits_after": waits, "restart_value": restart_value}, memory


def replay(agent, segment, rows):
    """Logits and values (T, n, ...) of some rows of a segment, from the memory it began with.

    Where a row waits they are of no observation: no loss uses them [3], and its observation gets no gradient.
    """
    memory, logits, values = segment["memory"][rows], [], []
    first, waits = segment["first"][:, rows], segment["waits"][:, rows]
    observations = torch.where(waits[..., None], 0.0, segment["observations"][:, rows])
    for t in range(len(first)):
        step = agent(observations[t], memory, first[t], waits[t])
        logits.append(step[0])
        values.append(step[1])
        memory = step[2]
    return torch.stack(logits), torch.stack(values)


def update(agent, optimiser, segment, gamma=0.98, lam=0.95, clip=0.2, epochs=3, parts=4, entropy_weight=0.01):
    """PPO on one segment, in parts of whole rows, since a memory is replayed from its start."""
    names = ("rewards", "values", "kept", "terminations", "truncations", "value_after", "waits_after", "restart_value")
    estimates = advantages(*(segment[name] for name in names), gamma, lam)
    returns = estimates + segment["values"]
    kept = segment["kept"]
    estimates = (estimates - estimates[kept].mean()) / (estimates[kept].std() + 1e-8)
    for _ in range(epochs):
        for rows in torch.randperm(kept.shape[1]).chunk(parts):
            counts = kept[:, rows]
            if not counts.any():
                continue
            # From here on only steps that count [3]: picked out, and not multiplied by 0, which leaves NaN what it is.
            logits, values = (output[counts] for output in replay(agent, segment, rows))
            actions, logp, estimate, target = (
                array[:, rows][counts] for array in (segment["actions"], segment["logp"], estimates, returns))
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
    parser.add_argument("--steps", type=int, default=300_000, help="steps that count, over all rows")
    parser.add_argument("--worlds", type=int, default=32)
    parser.add_argument("--segment", type=int, default=32, help="steps between updates")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()

    torch.manual_seed(options.seed)
    batch = Batch(SCENES, num_worlds=options.worlds, config=CONFIG, seed=options.seed)
    agent = Agent(batch.observation_size, batch.single_action_space.n)
    optimiser = torch.optim.Adam(agent.parameters(), lr=1e-3)
    # Worlds begin at different ages, so that their time limits do not fall together. There is no other reset: a world
    # restarts by itself.
    batch.reset(initial_ages=np.random.default_rng(options.seed).integers(CONFIG.trial_steps, size=options.worlds))
    memory = torch.zeros(batch.num_agents, agent.width)
    done = 0
    while done < options.steps:
        segment, memory = collect(batch, agent, memory, options.segment)
        update(agent, optimiser, segment)
        done += int(segment["kept"].sum())
        reward = segment["rewards"][segment["kept"]].mean()
        print(f"steps {done}, reward a step {reward:.4f}, goal {batch.metrics()['goal'].value:.2f}", flush=True)


if __name__ == "__main__":
    main()
