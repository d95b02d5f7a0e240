"""How is a training run managed? Folder, signals, checkpoints, evaluations and log, around the updates of ppo.py."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from drive_env import ConfigError, Scene
from drive_env.policies import MakeAct, policy_maker

from .adaptation.choices import Choices
from .config import RunConfig, TrainConfig
from .evaluate import evaluate
from .evaluations import Evaluations, undisturbed
from .partners.loaded import described, with_partners
from .policy.model import Policy
from .policy.runner import PolicyRunner
from .rollout.batches import scenes_of
from .rollout.collector import Collector
from .schedules import jump
from .tools import checkpoint
from .tools.best import best_update, name_and_sign
from .tools.curves import draw_curves
from .tools.dist import Ranks, join
from .tools.interrupts import Interrupted, Interrupts
from .tools.log import Log, check_loggers, report
from .tools.log_file import LOG, read_lines
from .tools.metrics import with_counts
from .tools.parent import load_parent
from .tools.provenance import provenance
from .tools.run_folder import Claim, claimed
from .tools.same_settings import CHANGED, changed_settings


@dataclass
class Result:
    """The outcome of a run: the policy, its newest checkpoint, the best one by `best_metric`, and all lines of its log.
    """

    policy: Policy
    checkpoint: Path
    best_checkpoint: Path | None
    lines: list[dict[str, Any]]


@contextmanager
def open_run(config: TrainConfig, on_update: Callable[[dict[str, Any]], None] | None = None) -> Iterator[Run]:
    """Joins the ranks, locks the folder and handles signals while the run is open. Every rank calls it.

    Args:
        on_update: called after each update with its metrics, on the main rank.
    """
    with Interrupts() as interrupts:
        ranks = join(config.run.device)
        with claimed(config.run, ranks) as claim:
            run = Run(config, ranks, claim, interrupts, on_update)
            try:
                yield run
            except BaseException as error:
                run.log_failure(error)
                raise
            finally:
                run.close()


class Run:
    """One run of the training loop, new or resumed.

    Args:
        claim: on the run's folder, with the checkpoint to resume from, if any.

    Attributes:
        counters: "update", "agent_steps" (in the loss mask) and "env_steps" (all), over all ranks.
        scenes: of the config. seed: of this part of the run. done: whether the run makes no further update.
    """

    def __init__(self, config: TrainConfig, ranks: Ranks, claim: Claim, interrupts: Interrupts,
                 on_update: Callable[[dict[str, Any]], None] | None):
        self.config, self.ranks = config, ranks
        self.done = False
        if config.run.torch_threads:
            torch.set_num_threads(config.run.torch_threads)
        self.scenes = scenes_of(config.env)
        self._evaluated = spread(self.scenes, config.run.evaluate_scenes)
        self.counters = (checkpoint.resumable(claim.resumed, config) if claim.resumed
                         else {"update": 0, "agent_steps": 0, "env_steps": 0})
        # Where the state of the rollout is not restored, the worlds must differ from those at the start of the run.
        self.seed = config.run.seed + self.counters["update"]
        self._claim, self._interrupts, self._on_update = claim, interrupts, on_update
        self._checkpoint, self._signal = claim.resumed, 0
        self._best: int | None = None
        self._log: Log | None = None
        self._collector: Collector | None = None

    def begin(self, policy: Policy, optimizer: torch.optim.Optimizer, collector: Collector) -> None:
        """Restores the checkpoint or loads the parent, clears the folder, opens the log, and evaluates a random policy
        before a new run.

        The caller makes batches and policy first, so that a config that does not fit deletes no old run.

        Raises:
            CheckpointError: the checkpoint or the parent does not fit the batches or the policy.
            ConfigError: `best_metric` is no metric of the batches, or `evaluators` do not fit.
        """
        self._policy, self._optimizer, self._collector = policy, optimizer, collector
        run, resumed = self.config.run, self._claim.resumed
        check_metric(run.best_metric, collector)
        self._evaluations = Evaluations(self.config, policy, collector.batches[0], self.ranks.device)

        # The state to continue or to start from.
        about: dict[str, Any] = {}
        sentences = [short_context(policy, collector)]
        if resumed:
            checkpoint.check_fits(resumed, collector.batches[0])
            checkpoint.load_weights(resumed, policy, optimizer)
            checkpoint.load_rollout(resumed, collector, self.ranks)
            then = checkpoint.config_of(resumed)
            sentences.append(jump(then.ppo, self.config.ppo, self.counters))
            if changed := self.ranks.on_main(lambda: self._changed_settings(then.run)):
                about = {CHANGED: list(changed)}
                sentences.append(f"{'; '.join(changed.values())}; the figures of such evaluations after update "
                                 f"{self.counters['update']} cannot be compared with those before it")
        elif run.start_from is not None:
            about = load_parent(Path(run.start_from), policy, collector.batches[0])
            if names := about["parent_rescaled"]:
                sentences.append(f"features have another scale than in run.start_from: {', '.join(names)}")

        # The log, and what it begins with.
        self.ranks.on_main(lambda: check_loggers(run.tensorboard, run.wandb))
        self.ranks.on_main(self._claim.prepare)
        self.ranks.on_main(self._evaluations.copy_file)
        self._log = Log(Path(run.folder), not self.ranks.is_main, self.counters["update"], run.tensorboard, run.wandb,
                        self._share_done if run.progress else None, self.config.to_dict(), self._claim.check,
                        {"project": run.wandb_project, "name": run.wandb_name})
        self._log.write("start", self.counters, provenance(self.ranks) | about | described(collector.partners))
        for sentence in filter(None, sentences if self.ranks.is_main else []):
            report(sentence)
        if run.best_metric:
            self._best = self.ranks.on_main(self._best_update)
        if self.ranks.is_main and not resumed:
            self._evaluate("random_policy", policy_maker("random", run.seed))
        self._started = time.perf_counter()
        self._interrupts.defer()
        self.done = self._limit_reached()
        if self.done and self.ranks.is_main:
            report(f"the run in {run.folder!r} is finished, with {self.counters['agent_steps']} of "
                   f"{self.config.ppo.agent_steps} agent-steps; a larger --ppo.agent-steps continues it")

    def after_update(self, metrics: dict[str, Any]) -> None:
        """Logs the metrics of an update; evaluates and saves where it is due; decides whether the run is done.

        Raises:
            FolderError: the folder was deleted or replaced.
        """
        run, ranks, update = self.config.run, self.ranks, self.counters["update"]
        # All ranks stop after the same update: a limit or a signal of one rank, or a lost folder, stops all.
        stop = torch.tensor([self._limit_reached(), self._interrupts.signal, ranks.is_main and self._claim.lock.lost()],
                            dtype=torch.float32, device=ranks.device)
        finished, self._signal, lost = map(int, ranks.max(stop).tolist())
        if lost:
            raise self._claim.lock.error()
        self.done = bool(finished or self._signal)

        # Log, and evaluate where it is due.
        evaluates = not self._signal and (self.done or run.evaluate_updates and update % run.evaluate_updates == 0)
        if ranks.is_main:
            self._log.write("update", self.counters, metrics)
            if self._on_update:
                self._on_update({**self.counters, **metrics})
            if evaluates:
                runner = PolicyRunner(self._policy, ranks.device)
                self._interrupts.run_interruptible(lambda: self._evaluate("evaluation", runner))

        # Save where it is due, where the evaluation was the best, and where an evaluator reads the checkpoint.
        if evaluates and run.best_metric:
            self._best = ranks.on_main(self._best_update)
        is_read = not self._signal and self._evaluations.needs_checkpoint(update, self.done)
        if self.done or is_read or self._best == update or (
                run.checkpoint_updates and update % run.checkpoint_updates == 0):
            ranks.on_main(self._claim.check)
            self._checkpoint = checkpoint.save(Path(run.folder), self.config, self._policy, self._optimizer,
                                               self.counters, self._collector, ranks, run.keep_checkpoints, self._best)

        # The evaluators of the config that are due.
        if ranks.is_main and not self._signal and self._evaluations.due(update, self.done):
            self._claim.check()
            self._interrupts.run_interruptible(self._run_evaluators)

    def result(self) -> Result:
        """Closes the run, draws its curves and returns its result.

        Raises:
            Interrupted: a signal ended it.
            FolderError: the folder was deleted or replaced.
        """
        self.ranks.on_main(self._claim.check)
        number = self._signal or self._interrupts.signal
        best = None if self._best is None else checkpoint.path_of(Path(self.config.run.folder), self._best)
        limit = "agent_steps" if self.counters["agent_steps"] >= self.config.ppo.agent_steps else "minutes"
        self._log.write("end", self.counters, {
            "status": "interrupted" if number else "finished", "reason": f"signal {number}" if number else limit,
            "checkpoint": self._checkpoint.name, "best_checkpoint": best and best.name})
        self.close()
        self.ranks.barrier()  # all ranks read the lines, the main rank's last one included
        folder = Path(self.config.run.folder)
        lines, curves = read_lines(folder / LOG), folder / "curves.png"
        if self.ranks.is_main:
            draw_curves(lines, curves)
        if number:
            message = (f"interrupted after update {self.counters['update']}; checkpoint: {self._checkpoint}, "
                       f"curves: {curves}")
            raise Interrupted(message if self.ranks.is_main else "", number)
        return Result(self._policy, self._checkpoint, best, lines)

    def log_failure(self, error: BaseException) -> None:
        """Logs that an error ends the run, where it can still be logged; no-op after the end was logged."""
        status = "interrupted" if isinstance(error, Interrupted) else "crashed"
        with suppress(Exception):  # of a full disk or a lost folder: it must not replace the error
            if self._log:
                self._log.write("end", self.counters, {"status": status, "reason": f"{type(error).__name__}: {error}"})

    def close(self) -> None:
        """Closes log and batches; no-op when called again."""
        if self._log:
            self._log.close()
            self._log = None
        for batch in self._collector.batches if self._collector else []:
            batch.close()

    def _limit_reached(self) -> bool:
        return self._share_done() >= 1

    def _share_done(self) -> float:
        """The share of the run's agent-steps or minutes that is done, whichever is larger; at most 1."""
        minutes = self.config.run.minutes
        of_steps = self.counters["agent_steps"] / self.config.ppo.agent_steps
        of_time = (time.perf_counter() - self._started) / (60 * minutes) if minutes is not None else 0.0
        return min(max(of_steps, of_time), 1.0)

    def _changed_settings(self, then: RunConfig) -> dict[str, str]:
        """What `changed_settings` finds in the log up to the checkpoint that is resumed."""
        lines = [line for line in read_lines(Path(self.config.run.folder) / LOG)
                 if line["update"] <= self.counters["update"]]
        return changed_settings(lines, then, self.config.run, self._evaluations.settings)

    def _best_update(self) -> int | None:
        """The update with the best evaluation by `best_metric`, among those with a checkpoint and the current one."""
        folder = Path(self.config.run.folder)
        updates = {checkpoint.update_of(path) for path in checkpoint.checkpoints(folder)} | {self.counters["update"]}
        return best_update(read_lines(folder / LOG), self.config.run.best_metric, updates)

    def _evaluate(self, kind: str, make_act: MakeAct) -> None:
        """Evaluates and logs the report; a failure is logged, and training continues."""
        choices = Choices()
        try:
            with self._undisturbed():
                together = with_partners(choices.recorded(make_act), self.config.partners, self.ranks.device,
                                         self._policy.precision)
                found = evaluate(together, self._evaluated, self.config.env.drive, self.config.run.seed,
                                 self.config.env.threads)
            metrics = with_counts(found | choices.entropies())
        except Exception as error:  # noqa: BLE001  no failure of an evaluation may end the training
            metrics = {"error": f"{type(error).__name__}: {error}", "traceback": traceback.format_exc()}
        self._log.write(kind, self.counters, metrics)

    def _run_evaluators(self) -> None:
        """Runs the evaluators that are due, logs a line for each and shows its films."""
        with self._undisturbed():
            for evaluated in self._evaluations.run(self.counters, self._checkpoint, self.done):
                self._log.write("evaluation", self.counters, evaluated.line())
                self._log.show(self.counters, self._evaluations.films_of(evaluated))

    def _undisturbed(self) -> AbstractContextManager[None]:
        return undisturbed(self._policy, self.ranks.device, compiles(self.config, self.ranks.device))


def spread(scenes: list[Scene], count: int | None) -> list[Scene]:
    """At most `count` of the scenes, evenly spread over the list; None: all."""
    kept = min(count or len(scenes), len(scenes))
    return [scenes[i * len(scenes) // kept] for i in range(kept)]


def check_metric(metric: str | None, collector: Collector) -> None:
    """Raises a ConfigError if `best_metric` is no metric of an evaluation."""
    known = collector.batches[0].metrics()
    if metric is not None and name_and_sign(metric)[0] not in known:
        raise ConfigError(f"best_metric is {metric!r}; it must be one of {', '.join(map(repr, known))}, with a minus "
                          "in front for the lowest value")


def short_context(policy: Policy, collector: Collector) -> str | None:
    """A warning if the context is shorter than an episode of several trials: a later trial cannot use what is lost."""
    batch = collector.batches[0]
    trials, trial_steps = batch.config.max_trials, max(roles.trial_steps for roles in batch.roles)
    if trials == 1 or not policy.has_memory or policy.context >= trials * trial_steps:
        return None
    return (f"model.context is {policy.context}; to attend to all earlier trials of an episode it must be at least "
            f"{trials * trial_steps}, max_trials {trials} x {trial_steps} steps")


def compiles(config: TrainConfig, device: torch.device) -> bool:
    """Whether the policy is compiled."""
    return device.type == "cuda" if config.run.compile is None else config.run.compile
