"""Which evaluators run during a training, without changing it? Those of a TOML file, between updates.

`drive_env.evaluation.EvalManager` determines when each one runs. This file adds what depends on torch and on the run:
the policy in training, its modes and random numbers, and the commands of processes that read a checkpoint.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path

import torch

from drive_env import Batch, ConfigError, DriveError, generate_scene
from drive_env.evaluation import (
    EvalManager, Evaluated, Evaluator, evaluator_of, load_sections, resolved_section, runnable)

from .config import TrainConfig
from .evaluate import identity_of, scene_settings, trained_policy
from .policy.model import Policy
from .policy.runner import PolicyRunner
from .tools.checkpoint import check_like
from .tools.checkpoint_writing import weights_sha256
from .tools.run_folder import EVALUATIONS, EVALUATORS

RANK_VARIABLES = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
"""Variables of torchrun: a process of an evaluator that inherits them would join the ranks of the training."""


def evaluators_of(config: TrainConfig) -> list[Evaluator]:
    """The evaluators of `run.evaluators` that run during a training.

    Raises:
        ConfigError: the file or one of its sections does not fit, or none of its sections has an interval.
    """
    path = config.run.evaluators
    if path is None:
        return []
    sections = load_sections(path)
    found = [evaluator_of(name, resolved_section(name, sections), config.env.drive, scene_settings(config.env))
             for name in runnable(sections)]
    found = [evaluator for evaluator in found if evaluator.config.interval]
    if not found:
        raise ConfigError(f"evaluators is {path!r}; it must have a section with a type that is enabled and has an "
                          "interval")
    for evaluator in found:
        evaluator.sources()  # checks names, seeds and parameters of scenes before the training begins
    return found


class Evaluations:
    """The evaluators of a run.

    Args:
        config: of the training. policy: in training. batch: of the training. device: of the policy.

    Raises:
        ConfigError: from `evaluators_of`, or the policy does not fit the config of an evaluator.
    """

    def __init__(self, config: TrainConfig, policy: Policy, batch: Batch, device: torch.device):
        self._config, self._policy, self._batch, self._device = config, policy, batch, device
        self._copy, self._folder = Path(config.run.folder) / EVALUATORS, Path(config.run.folder) / EVALUATIONS
        evaluators = evaluators_of(config)
        self._manager = EvalManager(evaluators, self._folder, self._command, self._environment(),
                                    config.env.threads)
        self.due, self.needs_checkpoint = self._manager.due, self._manager.needs_checkpoint
        for evaluator in evaluators:
            self._check(evaluator)
        self.settings = {evaluator.name: evaluator.config_sha256 for evaluator in evaluators}
        """The hashes of the settings of the evaluators, by name."""

    def copy_file(self) -> None:
        """Copies the file of the evaluators into the run's folder: processes read the copy, which no edit changes."""
        if self._config.run.evaluators is not None:
            shutil.copyfile(self._config.run.evaluators, self._copy)

    def run(self, counters: Mapping[str, int], checkpoint: Path | None, force: bool) -> Iterator[Evaluated]:
        """Runs the evaluators that are due after an update, and yields each outcome at once; within `undisturbed`.

        Args:
            counters: of the run. checkpoint: of this update, where `needs_checkpoint`. force: after the last update.
        """
        identity = identity_of(self._config.run.folder, weights_sha256(self._policy), counters)
        trained = trained_policy(PolicyRunner(self._policy, self._device), partial(check_like, self._batch), identity,
                                 self._config)
        return self._manager.maybe_run(counters["update"], trained, checkpoint, force)

    def films_of(self, evaluated: Evaluated) -> dict[str, Path]:
        """The films and replay pages of an evaluation by tag; number 0 of a view has the lowest score."""
        found: dict[str, Path] = {}
        counts: Counter[str] = Counter()
        for render in evaluated.result.renders if evaluated.result else ():
            found[f"eval/{evaluated.name}/{render.view}/{counts[render.view]}"] = self._folder / render.file
            counts[render.view] += 1
        return found

    def _check(self, evaluator: Evaluator) -> None:
        """Raises a ConfigError if observations or actions mean something else to an evaluator than in the training."""
        try:
            # The layout follows from the config alone, so any scene serves; those of the evaluator may take long to
            # read. If the config does not allow this scene, nothing is checked here.
            env = evaluator.env.replace(control="vehicles", agents_per_world=None)
            batch = Batch(generate_scene("town", agents=2), config=env)
        except DriveError:
            return
        with batch:
            try:
                check_like(self._batch, batch)
            except ValueError as error:
                raise ConfigError(f"eval.{evaluator.name}: {error}") from None

    def _command(self, checkpoint: Path, evaluator: Evaluator, out: Path) -> list[str]:
        return [sys.executable, "-m", "baselines.evaluate", str(checkpoint), "--evaluator", evaluator.name, "--config",
                str(self._copy), "--out", str(out), "--no-bounds", "--device", str(self._device), "--threads",
                str(self._config.env.threads)]

    @staticmethod
    def _environment() -> dict[str, str]:
        """The variables of processes of evaluators: those of this process, with the folder of the trainer on Python's
        path, and with as many threads of torch: with another number, sums may be rounded differently."""
        found = {name: value for name, value in os.environ.items() if name not in RANK_VARIABLES}
        folders = [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
        return found | {"PYTHONPATH": os.pathsep.join(filter(None, folders)),
                        "OMP_NUM_THREADS": str(torch.get_num_threads())}


@contextmanager
def undisturbed(policy: Policy, device: torch.device, is_compiled: bool) -> Iterator[None]:
    """A context in which a policy in training is evaluated: modes and random numbers are restored, also on exceptions.
    """
    was = {module: module.training for module in policy.modules()}
    # Evaluation has other batch sizes than training; compiling for them would take more time than it saves.
    eager = torch.compiler.set_stance("force_eager") if is_compiled else nullcontext()
    with eager, torch.no_grad(), torch.random.fork_rng([device] if device.type == "cuda" else []):
        policy.eval()
        try:
            yield
        finally:
            for module, is_training in was.items():
                module.training = is_training
