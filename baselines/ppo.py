"""Proximal policy optimisation (Schulman et al. 2017) on the channels of drive-env, from collecting to the optimiser.

    python -m baselines.ppo                  a transformer on 64 generated towns
    python -m baselines.ppo town --run.minutes 4
                                             one trial per episode, on one GPU
    python -m baselines.ppo small            less than two minutes on two cores
    torchrun --nproc-per-node 8 -m baselines.ppo --env.num-worlds 4096

What differs from CleanRL's PPO, and why:

* Agents wait between trials, so not every step is a transition: losses and statistics are sums over a loss mask,
  divided by its count; advantages skip invalid steps (losses.py, gae.py).
* Time limits are bootstrapped from the true last observation instead of treated as terminations (gae.py).
* The policy is a transformer with a KV cache, so a minibatch is the whole rollout of some agents, as in CleanRL's PPO
  with an LSTM, and training attends to the tokens before the rollout, too (policy/kv_cache.py).
* Advantages are normalised over the batch, or each trial index of it, not per minibatch: minibatches differ in how
  many steps they mask.
* The value loss is not clipped: clipping did not help in large comparisons (Andrychowicz et al. 2021).
* `target_kl` is compared with the mean over an epoch's minibatches instead of the last one's KL, which is noisier.
* An expert can label the states, for an imitation loss, and drive in a part of the worlds; steps in which it drives do
  not count in the surrogate loss (experts.py, bc.py).
* Frozen partners can drive a part of the agents, the co-players; their steps are no tokens and count nowhere
  (partners/).
* The learning rate is annealed over agent-steps, since the number of updates depends on how long agents wait.
* With several ranks the config is global: its numbers, and all sums and counts, are over all ranks (tools/dist.py).
"""

from __future__ import annotations

if __name__ == "__main__":  # before the imports, which take seconds
    from .tools.interrupts import ExitOnInterrupt

    ExitOnInterrupt("baselines.ppo").install()

import sys
import time
from collections.abc import Callable
from pathlib import Path
from textwrap import fill, indent
from typing import Any

import torch
from torch import Tensor

from drive_env import Batch, join_metrics

from .config import PPOConfig, TrainConfig
from .experts import load_experts
from .gae import advantages
from .informed import goal_columns, with_goal
from .losses import ExpertPart, Losses, normalised, normalised_by_trial, ppo_losses, sums_by_bin
from .partners.loaded import load_partners
from .policy.model import Policy
from .rollout.batches import open_batches
from .rollout.buffer import RolloutBuffer
from .rollout.collector import Collector
from .run import Result, compiles, open_run
from .schedules import scheduled
from .tools.dist import Ranks, join
from .tools.interrupts import Interrupted
from .tools.metrics import Stopwatch, expert_metrics, per_trial, rollout_metrics, to_floats, with_counts

ADAM_EPSILON = 1e-5
"""The usual value of PPO; it bounds the step size while second moments are small."""

RANK_SEED_STRIDE = 1_000_003
"""Difference between the seeds of two ranks, so that the seeds of runs with similar seeds do not coincide."""

LOSS_NAMES = ("loss", "policy_loss", "value_loss", "entropy", "kl", "clipped", "informed_kl", "imitation_loss")
"""The names of the fields of `Losses` as metrics, in order."""


def train(config: TrainConfig, on_update: Callable[[dict[str, Any]], None] | None = None) -> Result:
    """Trains a policy.

    Args:
        on_update: called after each update with its metrics, on the main rank.

    Raises:
        ValueError: something in the config does not fit, such as a number of agents that minibatches does not divide.
        FloatingPointError: a loss is not finite.
        Interrupted: after Ctrl-C or SIGTERM, at the end of the current update and a checkpoint; after a second signal,
            at once.
    """
    with open_run(config, on_update) as run:
        torch.manual_seed(config.run.seed)
        batches, device_buffers = open_batches(config.env, run.scenes, run.ranks, run.seed,
                                               config.ppo.informed_weight > 0)
        policy = make_policy(config, batches[0], run.ranks)
        optimizer = make_optimizer(policy, config.ppo)
        partners = load_partners(config.partners, batches[0], run.ranks.device, policy.precision,
                                 compiles(config, run.ranks.device))
        experts = load_experts(config.expert, batches, run.ranks.device, policy)
        # All ranks have the same weights, and from here on random numbers of their own.
        torch.manual_seed(run.seed + RANK_SEED_STRIDE * run.ranks.rank)
        collector = Collector(batches, device_buffers, policy, config.ppo.rollout_steps,
                              keep_history=config.ppo.recompute_context,
                              noise_correlation=config.ppo.noise_correlation, partners=partners, experts=experts)
        learner = Learner(policy, optimizer, config.ppo, run.ranks, collector)
        run.begin(policy, optimizer, collector)
        while not run.done:
            metrics = learner.update(run.counters)
            run.after_update(metrics)
        return run.result()


def make_policy(config: TrainConfig, batch: Batch, ranks: Ranks) -> Policy:
    """The policy for a batch's observations and actions, on the rank's device, with equal weights on all ranks."""
    precision = config.run.precision
    if precision == "auto":
        precision = "bfloat16" if ranks.device.type == "cuda" else "float32"
    policy = Policy(batch.observation_layout(), batch.single_action_space, config.model, precision).to(ranks.device)
    ranks.broadcast(policy)
    if compiles(config, ranks.device):
        policy.compile_parts()
    return policy


def make_optimizer(policy: Policy, ppo: PPOConfig) -> torch.optim.Optimizer:
    """AdamW over all parameters; on a GPU its fused kernels."""
    fused = next(policy.parameters()).is_cuda
    return torch.optim.AdamW(policy.parameters(), ppo.learning_rate, eps=ADAM_EPSILON, weight_decay=ppo.weight_decay,
                             fused=fused)


class Learner:
    """Performs updates: a rollout, its advantages, and some epochs of minibatches."""

    def __init__(self, policy: Policy, optimizer: torch.optim.Optimizer, config: PPOConfig, ranks: Ranks,
                 collector: Collector):
        self.policy, self.optimizer, self.config, self.ranks = policy, optimizer, config, ranks
        self.collector, self.stopwatch, self.scheduled = collector, Stopwatch(), config
        self.has_expert = config.imitation_weight > 0
        batch, agents = collector.batches[0], len(collector.buffer.first)
        self.max_trials = batch.config.max_trials
        self.goal_columns = goal_columns(batch, "ego", collector.buffer.first.device)
        if agents % config.minibatches:
            raise ValueError(f"minibatches is {config.minibatches}; it must divide the {agents} agents of a process "
                             "evenly")

    def update(self, counters: dict[str, int]) -> dict[str, Any]:
        """One update of the policy. Increments the counters and returns the metrics."""
        config, ranks = self.config, self.ranks
        start = time.perf_counter()

        # Collect: `rollout_steps` steps of every world.
        buffer = self.collector.collect()
        self.stopwatch.lap("rollout")

        # Advantages, normalised over the loss masks of all ranks.
        advantage, returns = advantages(buffer.steps(), config.gamma, config.gae_lambda, config.credit,
                                        config.gamma_trial, config.time_limits)
        normal, statistics = self.normalise(advantage, buffer)
        metrics = rollout_metrics(buffer, returns, self.max_trials, ranks) | statistics
        if self.has_expert:
            metrics |= expert_metrics(buffer, ranks)
        if self.collector.partners:
            metrics["partner_steps"] = ranks.sum((buffer.partner & ~buffer.invalid).sum())

        # Epochs over minibatches of agents.
        order, counts = self.shuffle(buffer)
        self.set_schedules(counters)
        metrics |= self.learn(buffer, normal, returns, order, counts)
        self.collector.recompute_context()

        # Log.
        agent_steps, env_steps = sum(counts[0]), buffer.first.numel() * ranks.count
        counters["update"] += 1
        counters["agent_steps"] += agent_steps
        counters["env_steps"] += env_steps
        logged = to_floats(metrics)
        self.stopwatch.lap("learn")
        if not all(torch.isfinite(torch.tensor([logged[name] for name in ("policy_loss", "value_loss", "grad_norm")]))):
            raise FloatingPointError(f"a loss of update {counters['update']} is not finite: {logged}")
        steps = {"agent": agent_steps, "env": env_steps} | (
            {"partner": logged["partner_steps"]} if self.collector.partners else {})
        return logged | self._env_metrics() | self._times(steps, time.perf_counter() - start)

    def normalise(self, advantage: Tensor, buffer: RolloutBuffer) -> tuple[Tensor, dict[str, Tensor]]:
        """Normalised advantages, and the statistics before; where an episode has several trials, of each trial too."""
        mask = buffer.on_policy
        normal, mean, std = normalised(advantage, mask, self.ranks)
        metrics = {"advantage_mean": mean, "advantage_std": std}
        if self.max_trials > 1:
            of_trial, mean, std = normalised_by_trial(advantage, mask, buffer.trial_index, self.max_trials, self.ranks)
            metrics |= per_trial("advantage_trial_{}_mean", mean) | per_trial("advantage_trial_{}_std", std)
            normal = of_trial if self.config.normalise_advantages == "trial" else normal
        return normal, metrics

    def shuffle(self, buffer: RolloutBuffer) -> tuple[list[Tensor], list[list[int]]]:
        """For every epoch the agents in random order, and the loss-mask count of each minibatch over all ranks."""
        agents, minibatches = len(buffer.first), self.config.minibatches
        order = [torch.randperm(agents, device=buffer.first.device) for _ in range(self.config.epochs)]
        count_of_agent = buffer.loss_mask.sum(1)
        counts = torch.stack([count_of_agent[epoch].view(minibatches, -1).sum(1) for epoch in order])
        return order, self.ranks.sum(counts).tolist()

    def learn(self, buffer: RolloutBuffer, advantage: Tensor, returns: Tensor, order: list[Tensor],
              counts: list[list[int]]) -> dict[str, Tensor]:
        """The epochs of an update.

        Returns:
            Metrics, the means over the optimiser's steps. `parity_gap` is of the first step alone, at which the policy
            is still the one that collected the rollout: it is the difference between rollout and training.
        """
        # Sums over the optimiser's steps.
        config, ranks, minibatches = self.config, self.ranks, self.config.minibatches
        sums, norms, steps, gap = None, 0.0, 0, None
        of_trial = torch.zeros(self.max_trials, 2, dtype=torch.float64, device=buffer.first.device)
        for epoch, (agents, epoch_counts) in enumerate(zip(order, counts)):
            kl = 0.0
            for minibatch, count in zip(agents.view(minibatches, -1), epoch_counts):
                if count == 0:  # on all ranks
                    continue

                # One step of the optimiser.
                losses, log_ratio, entropy = self.losses(buffer, minibatch, advantage[minibatch], returns[minibatch],
                                                         count)
                self.optimizer.zero_grad(set_to_none=False)
                losses.total.backward()
                ranks.sum_gradients(self.policy.parameters())
                norms += torch.nn.utils.clip_grad_norm_(self.policy.parameters(), config.max_grad_norm)
                self.optimizer.step()

                # Its metrics.
                parts = torch.stack([part.detach() for part in losses])
                gap = log_ratio.abs().max() if gap is None else gap
                if self.max_trials > 1:
                    of_trial += sums_by_bin(torch.stack([torch.ones_like(entropy), entropy], -1),
                                            buffer.loss_mask[minibatch], buffer.trial_index[minibatch], self.max_trials)
                sums, kl, steps = parts if sums is None else sums + parts, kl + losses.kl, steps + 1

            # Reading the KL synchronises ranks and device, so it is read only where it can end the epochs.
            if config.target_kl is not None and steps and epoch + 1 < config.epochs \
                    and float(ranks.sum(kl.clone())) / sum(n > 0 for n in epoch_counts) > config.target_kl:
                break

        # Means, over all ranks.
        metrics = self._learning_metrics(sums, norms, steps, gap, buffer.first.device)
        if self.max_trials > 1:
            count, total = ranks.sum(of_trial).T
            metrics |= per_trial("entropy_trial_{}", total / count)
        return metrics

    def _learning_metrics(self, sums: Tensor | None, norms: Tensor | float, steps: int, gap: Tensor | None,
                          device: torch.device) -> dict[str, Tensor]:
        """The metrics of the epochs, from sums over the optimiser's steps; zeros where there was none."""
        names = (*LOSS_NAMES, "grad_norm", "optimizer_steps", "parity_gap", "learning_rate", "entropy_weight")
        if not steps:  # the loss mask of the whole rollout is empty
            return dict.fromkeys(names, torch.zeros((), device=device))
        on_device = lambda value: torch.tensor(float(value), device=device)
        return dict(zip(names, [
            *(self.ranks.sum(sums) / steps), norms / steps, on_device(steps), self.ranks.max(gap),
            on_device(self.scheduled.learning_rate), on_device(self.scheduled.entropy_weight)]))

    def losses(self, buffer: RolloutBuffer, agents: Tensor, advantage: Tensor, returns: Tensor,
               count: int) -> tuple[Losses, Tensor, Tensor]:
        """The losses of a minibatch of agents.

        Args:
            count: entries of the minibatch's loss mask over all ranks.

        Returns:
            The losses, and the log ratios and entropies of its steps, (agents, steps) without gradients.
        """
        part = buffer.select(agents)
        prefix = self.collector.cache.prefix(agents, part.start_written, part.start_position)
        actor, loss_mask = self.policy.actor, part.loss_mask
        parameters, values = self.policy(part.observations, part.previous_actions, part.first, part.valid_token,
                                         prefix, used=loss_mask)
        log_probs = actor.log_prob(parameters, torch.where(loss_mask[..., None], part.actions, 0))
        entropy = actor.entropy(parameters)
        divergence = None
        if self.config.informed_weight:
            with torch.no_grad():
                informed, _ = self.policy(with_goal(part.observations, part.goal, self.goal_columns),
                                          part.previous_actions, part.first, part.valid_token, prefix, used=loss_mask)
            divergence = actor.divergence(informed, parameters)
        expert = self.expert_part(part, parameters) if self.has_expert else None
        losses = ppo_losses(log_probs, entropy, values, part.log_probs, advantage, returns, loss_mask, count,
                            self.scheduled, divergence, expert)
        log_ratio, entropy = (torch.where(loss_mask, x.detach(), 0.0) for x in (log_probs - part.log_probs, entropy))
        return losses, log_ratio, entropy

    def expert_part(self, part: RolloutBuffer, parameters: Tensor) -> ExpertPart:
        """What the losses of a minibatch need of the expert.

        The value loss has the policy's own steps, whose returns are the policy's. Where there are none, since the
        expert drives everywhere, it has the expert's: the critic begins with the returns of the expert.
        """
        labelled = part.loss_mask & part.labelled
        log_probs = self.policy.actor.log_prob(parameters, torch.where(labelled[..., None], part.expert_actions, 0))
        valued = part.loss_mask if self.collector.expert_drives_all else part.on_policy
        return ExpertPart(torch.where(labelled, log_probs, 0.0), labelled, part.on_policy, valued)

    def set_schedules(self, counters: dict[str, int]) -> None:
        """Sets learning rate and entropy weight for the next update."""
        self.scheduled = scheduled(self.config, counters)
        for group in self.optimizer.param_groups:
            group["lr"] = self.scheduled.learning_rate

    def _env_metrics(self) -> dict[str, float]:
        """The env's metrics over this rank's worlds, each with the number of agents it is the mean of."""
        return with_counts(join_metrics([batch.metrics() for batch in self.collector.batches]))

    def _times(self, steps: dict[str, float], seconds: float) -> dict[str, float]:
        """Rates, by what is counted, and the share of each part in the time of the update."""
        spent = self.stopwatch.take()
        for group in self.collector.groups:
            for name, value in group.seconds.items():
                spent[name] = spent.get(name, 0.0) + value
                group.seconds[name] = 0.0
        return {**{f"{name}_steps_per_s": count / seconds for name, count in steps.items()},
                **{f"time_{name}": value / seconds for name, value in spent.items()}}


def main(command: str = "baselines.ppo", usage: str = __doc__.partition("What differs")[0],
         changed: Callable[[TrainConfig], TrainConfig] = lambda preset: preset) -> None:
    """The command: the name of a preset, optional, then fields of the config.

    Args:
        command: the module that is run. usage: printed by --help. changed: makes the config to start from of
            a preset.
    """
    from .presets import PRESETS
    from .tools.command_line import parse_config

    arguments = sys.argv[1:]
    name = arguments.pop(0) if arguments and not arguments[0].startswith("-") else "default"
    if name not in PRESETS:
        sys.exit(f"{command}: preset is {name!r}; it must be one of {', '.join(map(repr, PRESETS))}")
    usage += "Presets:\n" + indent(fill(", ".join(PRESETS), 72), "    ")
    try:
        config = parse_config(changed(PRESETS[name]), arguments, f"python -m {command} {name}", usage)
        result = train(config)
    except (ValueError, ImportError, OSError) as error:  # from config, files or loggers; the message is one sentence
        sys.exit(f"{command}: {error}")
    except Interrupted as error:
        if str(error):
            print(f"{command}: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    if join(config.run.device).is_main:
        if result.best_checkpoint:
            print(f"best checkpoint: {result.best_checkpoint}")
        print(f"checkpoint: {result.checkpoint}\ncurves: {Path(config.run.folder) / 'curves.png'}")


if __name__ == "__main__":
    main()
