"""Proximal policy optimisation (Schulman et al. 2017) that reads the channels: the whole algorithm, from top to bottom.

    python -m baselines.ppo                  a transformer on the embedded towns
    python -m baselines.ppo town --run.minutes 4
                                             one trial an episode, on one GPU
    python -m baselines.ppo small            two minutes on two cores
    torchrun --nproc-per-node 8 -m baselines.ppo --env.num-worlds 4096
"""

from __future__ import annotations

import sys
import time
import traceback
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from drive_env import Scene

from . import checkpoint
from .config import PPOConfig, TrainConfig
from .dist import Ranks, join
from .evaluate import Player, evaluate, joined, random_policy
from .gae import advantages
from .lines import LOG, read_lines
from .losses import Losses, normalised, ppo_losses
from .metrics import Log, Stopwatch, draw_curves, segment_figures, to_floats, with_counts
from .model import Policy
from .rollout import Collector
from .run import Interrupted, Interrupts, claimed
from .segment import Segment
from .worlds import open_batches, scenes_of

ADAM_EPSILON = 1e-5
"""PPO's usual: updates stay small while second moments are."""


@dataclass
class Result:
    """What a run ends with: the policy, where its newest checkpoint is, and all lines of its log."""

    policy: Policy
    checkpoint: Path
    lines: list[dict[str, Any]]


def train(config: TrainConfig, on_update: Callable[[dict[str, Any]], None] | None = None) -> Result:
    """Trains a policy.

    Args:
        on_update: called after each update with its figures, on the rank that leads.

    Raises:
        ValueError: something in the config does not fit, such as agents that do not divide by minibatches.
        FloatingPointError: a loss is no longer finite.
        Interrupted: by Ctrl-C or SIGTERM; after the first one the update is finished, checkpoint and curves are saved.
    """
    with Interrupts() as interrupts:
        ranks = join(config.run.device)
        with claimed(config.run, ranks) as resumed:
            return _train(config, ranks, resumed, interrupts, on_update)


def _train(config: TrainConfig, ranks: Ranks, resumed: Path | None, interrupts: Interrupts,
           on_update: Callable[[dict[str, Any]], None] | None) -> Result:
    ppo, run, folder = config.ppo, config.run, Path(config.run.folder)
    if run.torch_threads:
        torch.set_num_threads(run.torch_threads)
    torch.manual_seed(run.seed)
    scenes = scenes_of(config.env)
    counters = checkpoint.resumable(resumed, config) if resumed else {"update": 0, "agent_steps": 0, "env_steps": 0}

    # Without the state of the rollout, worlds open anew: not those that were played before.
    seed = run.seed + counters["update"]
    batches, mirrors = open_batches(config.env, scenes, ranks, seed)
    policy = make_policy(config, batches[0], ranks)
    optimizer = make_optimizer(policy, ppo)
    if resumed:
        checkpoint.check_fits(resumed, batches[0])
        checkpoint.load_weights(resumed, policy, optimizer)
    torch.manual_seed(seed + 1_000_003 * ranks.rank)  # the same weights everywhere, draws of its own on each rank
    collector = Collector(batches, mirrors, policy, ppo.segment, keep_history=ppo.context_refresh)
    if resumed:
        checkpoint.load_rollout(resumed, collector, ranks)
    learner = Learner(policy, optimizer, ppo, ranks, collector)

    log = Log(folder, not ranks.leads, counters["update"], run.tensorboard, run.wandb, run.progress, ppo.agent_steps,
              checkpoint.config_to_json(config))
    place = resumed
    over = lambda: (counters["agent_steps"] >= ppo.agent_steps
                    or run.minutes is not None and time.perf_counter() - started > 60 * run.minutes)
    try:
        if ranks.leads and not resumed:
            _evaluate("chance", random_policy(run.seed), config, ranks.device, scenes, counters, log)
        started = time.perf_counter()
        interrupts.postpone()
        done, interrupted = over(), 0
        while not done:
            figures = learner.update(counters)
            # All ranks end together: the clock of one decides, or a signal to one.
            asked = torch.tensor([over(), interrupts.asked], dtype=torch.float32, device=ranks.device)
            finished, interrupted = map(int, ranks.max(asked).tolist())
            done, update = bool(finished or interrupted), counters["update"]
            if ranks.leads:
                log.write("update", counters, figures)
                if on_update:
                    on_update({**counters, **figures})
                if not interrupted and (done or run.evaluate_updates and update % run.evaluate_updates == 0):
                    interrupts.cut_short(lambda: _evaluate("evaluation", Player(policy, ranks.device), config,
                                                           ranks.device, scenes, counters, log))
            if done or run.checkpoint_updates and update % run.checkpoint_updates == 0:
                place = checkpoint.save(folder, config, policy, optimizer, counters, collector, ranks,
                                        run.keep_checkpoints)
    finally:
        log.close()
        for batch in collector.batches:
            batch.close()
    lines = read_lines(folder / LOG)
    if ranks.leads:
        draw_curves(lines, folder / "curves.png")
    if interrupted := interrupted or interrupts.asked:
        saved = f"interrupted after update {counters['update']}; checkpoint: {place}, curves: {folder / 'curves.png'}"
        raise Interrupted(saved if ranks.leads else "", interrupted)
    return Result(policy, place, lines)


def make_policy(config: TrainConfig, batch, ranks: Ranks) -> Policy:
    """The policy for a batch's observations and actions, on the rank's device, alike on all ranks."""
    precision = config.run.precision
    if precision == "auto":
        precision = "bfloat16" if ranks.device.type == "cuda" else "float32"
    policy = Policy(batch.observation_layout(), batch.single_action_space, config.model, precision).to(ranks.device)
    ranks.same(policy)
    if compiles(config, ranks.device):
        policy.compile_parts()
    return policy


def compiles(config: TrainConfig, device: torch.device) -> bool:
    return device.type == "cuda" if config.run.compile is None else config.run.compile


def make_optimizer(policy: Policy, ppo: PPOConfig) -> torch.optim.Optimizer:
    fused = next(policy.parameters()).is_cuda
    return torch.optim.AdamW(policy.parameters(), ppo.learning_rate, eps=ADAM_EPSILON, weight_decay=ppo.weight_decay,
                             fused=fused)


class Learner:
    """One update after the other: a segment, its advantages, and some epochs over it."""

    def __init__(self, policy: Policy, optimizer: torch.optim.Optimizer, config: PPOConfig, ranks: Ranks,
                 collector: Collector):
        self.policy, self.optimizer, self.config, self.ranks = policy, optimizer, config, ranks
        self.collector, self.watch = collector, Stopwatch()
        self.trials = collector.batches[0].config.max_trials
        agents = len(collector.segment.first)
        if agents % config.minibatches:
            raise ValueError(f"minibatches is {config.minibatches}; the {agents} agents of a process must divide by it")

    def update(self, counters: dict[str, int]) -> dict[str, Any]:
        """Gathers a segment, learns from it, moves the counters on and gives the figures."""
        config, ranks = self.config, self.ranks
        start = time.perf_counter()
        segment = self.collector.collect()
        self.watch.lap("rollout")

        advantage, returns = advantages(segment.steps(), config.gamma, config.lam, config.credit, config.gamma_trial)
        figures = segment_figures(segment, returns, self.trials, ranks)
        scaled, figures["advantage_mean"], figures["advantage_std"] = normalised(advantage, segment.kept, ranks)
        order, counts = self._order(segment)
        kept = sum(counts[0])
        self._set_learning_rate(counters)
        figures |= self._learn(segment, scaled, returns, order, counts)
        self.collector.refresh()

        counters["update"] += 1
        counters["agent_steps"] += kept
        counters["env_steps"] += segment.first.numel() * ranks.count
        said = to_floats(figures)
        self.watch.lap("learn")
        if not all(torch.isfinite(torch.tensor([said[name] for name in ("policy_loss", "value_loss", "grad_norm")]))):
            raise FloatingPointError(f"a loss of update {counters['update']} is not finite: {said}")
        return said | self._report() | self._times(kept, segment.first.numel() * ranks.count,
                                                   time.perf_counter() - start)

    def _order(self, segment: Segment) -> tuple[list[Tensor], list[list[int]]]:
        """For every epoch the agents, shuffled, and how many kept steps of all ranks each minibatch has."""
        agents, parts = len(segment.first), self.config.minibatches
        order = [torch.randperm(agents, device=segment.first.device) for _ in range(self.config.epochs)]
        of_agent = segment.kept.sum(1)
        counts = torch.stack([of_agent[epoch].view(parts, -1).sum(1) for epoch in order])
        return order, self.ranks.sum(counts).tolist()

    def _learn(self, segment: Segment, advantage: Tensor, returns: Tensor, order: list[Tensor],
               counts: list[list[int]]) -> dict[str, Tensor]:
        """The epochs. Every figure is the mean over the optimiser's steps, save the parity gap: that of the first."""
        config, ranks, minibatches = self.config, self.ranks, self.config.minibatches
        sums, norms, taken, gap = None, 0.0, 0, None
        for epoch, (agents, count) in enumerate(zip(order, counts)):
            kl = 0.0
            for some, kept_count in zip(agents.view(minibatches, -1), count):
                if kept_count == 0:  # on all ranks alike
                    continue
                losses, log_ratio = self.losses(segment, some, advantage[some], returns[some], kept_count)
                gap = log_ratio.abs().max() if gap is None else gap
                self.optimizer.zero_grad(set_to_none=False)
                losses.total.backward()
                ranks.sum_gradients(self.policy.parameters())
                norms += torch.nn.utils.clip_grad_norm_(self.policy.parameters(), config.max_grad_norm)
                self.optimizer.step()
                found = torch.stack([part.detach() for part in losses])
                sums, kl, taken = found if sums is None else sums + found, kl + found[4], taken + 1
            # Asked of all ranks together, and only where it can matter: the answer is waited for.
            if config.target_kl is not None and taken and epoch + 1 < config.epochs \
                    and float(ranks.sum(kl.clone())) / sum(n > 0 for n in count) > config.target_kl:
                break
        if not taken:  # nobody drove in the whole segment
            nothing = torch.zeros((), device=segment.first.device)
            return {name: nothing for name in ("loss", "policy_loss", "value_loss", "entropy", "kl", "clipped",
                                               "grad_norm", "optimizer_steps", "parity_gap", "learning_rate")}
        mean = ranks.sum(sums) / taken
        names = ("loss", "policy_loss", "value_loss", "entropy", "kl", "clipped")
        return dict(zip(names, mean)) | {
            "grad_norm": norms / taken, "optimizer_steps": torch.tensor(float(taken), device=mean.device),
            "parity_gap": ranks.max(gap), "learning_rate": torch.tensor(self.rate, device=mean.device)}

    def losses(self, segment: Segment, agents: Tensor, advantage: Tensor, returns: Tensor,
               count: int) -> tuple[Losses, Tensor]:
        """Losses of some agents, of whose kept steps all ranks together have `count`, and their log ratios."""
        part = segment.agents(agents)
        prefix = self.collector.cache.before(agents, part.start_head, part.start_position)
        actor = self.policy.actor
        parameters, values = self.policy(part.observations, part.previous, part.first, ~part.waits, prefix, part.kept)
        log_probs = actor.log_prob(parameters, torch.where(part.kept[..., None], part.actions, 0))
        losses = ppo_losses(log_probs, actor.entropy(parameters), values, part.log_probs, advantage, returns,
                            part.kept, count, self.config)
        return losses, torch.where(part.kept, log_probs.detach() - part.log_probs, 0.0)

    def _set_learning_rate(self, counters: dict[str, int]) -> None:
        config = self.config
        left = 1 - min(counters["agent_steps"] / config.agent_steps, 1) if config.anneal else 1.0
        grown = min((counters["update"] + 1) / config.warmup_updates, 1) if config.warmup_updates else 1.0
        self.rate = config.learning_rate * left * grown
        for group in self.optimizer.param_groups:
            group["lr"] = self.rate

    def _report(self) -> dict[str, float]:
        """The env's own figures of this rank's worlds, each the mean over its agents, with their number."""
        return with_counts(joined([batch.metrics() for batch in self.collector.batches]))

    def _times(self, kept: int, agents: int, seconds: float) -> dict[str, float]:
        shares = self.watch.take()
        for fleet in self.collector.fleets:
            for name, spent in fleet.seconds.items():
                shares[name] = shares.get(name, 0.0) + spent
                fleet.seconds[name] = 0.0
        return {"agent_steps_per_s": kept / seconds, "env_steps_per_s": agents / seconds,
                **{f"time_{name}": spent / seconds for name, spent in shares.items()}}


def _evaluate(kind: str, make_act, config: TrainConfig, device: torch.device, scenes: list[Scene], counters,
              log: Log) -> None:
    """Plays every scene once, uncompiled, since its agents are others; if it fails, says why, and training goes on."""
    random_state = torch.get_rng_state()
    try:
        with torch.compiler.set_stance("force_eager") if compiles(config, device) else nullcontext():
            report = evaluate(make_act, scenes, config.env.drive, config.run.seed, config.env.threads)
        log.write(kind, counters, with_counts(report))
    except Exception as error:  # noqa: BLE001  whatever it is, it must not end the training
        log.write(kind, counters, {"error": f"{type(error).__name__}: {error}", "traceback": traceback.format_exc()})
    finally:
        torch.set_rng_state(random_state)


def main() -> None:
    """The command: a preset's name if wanted, then any field of the config."""
    import tyro

    from .presets import PRESETS

    arguments = sys.argv[1:]
    name = arguments.pop(0) if arguments and not arguments[0].startswith("-") else "default"
    if name not in PRESETS:
        sys.exit(f"baselines.ppo: preset is {name!r}; it must be one of {', '.join(map(repr, PRESETS))}")
    config = tyro.cli(TrainConfig, default=PRESETS[name], args=arguments, prog=f"python -m baselines.ppo {name}",
                      description=__doc__)
    try:
        result = train(config)
    except (ValueError, ImportError, OSError) as error:  # of config, files, boards: one sentence says it
        sys.exit(f"baselines.ppo: {error}")
    except Interrupted as error:
        if str(error):
            print(f"baselines.ppo: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    if result.lines:
        print(f"checkpoint: {result.checkpoint}\ncurves: {Path(config.run.folder) / 'curves.png'}")


if __name__ == "__main__":
    main()
