"""Which metrics does an update report? Rates and the quality of the values, computed on the device; shares of time."""

from __future__ import annotations

import time
from collections.abc import Mapping

import torch
from torch import Tensor

from drive_env import MetricValue

from ..losses import sums_by_bin
from ..rollout.buffer import RolloutBuffer
from .dist import Ranks

LEFT_EDGES = (5, 20, 50, 100)
"""Edges of the bins, in steps left until the time limit, by which the metrics of the values are broken down."""


def rollout_metrics(buffer: RolloutBuffer, returns: Tensor, max_trials: int, ranks: Ranks) -> dict[str, Tensor]:
    """Rates of flags, and value loss and explained variance by steps left and by trial; over all ranks.

    Args:
        returns: (R, T). max_trials: of an episode.
    """
    # Everything is summed over ranks in one call.
    loss_mask, learns = buffer.loss_mask, ~buffer.partner
    env_steps = learns.sum().double().view(1)
    flags = torch.stack([(getattr(buffer, name) & learns).sum() for name in (
        "terminations", "truncations", "truncation", "trial_ended")]).double()
    edges = torch.tensor(LEFT_EDGES, device=loss_mask.device)
    by_left = _value_sums(torch.bucketize(buffer.steps_left, edges, right=True), len(LEFT_EDGES) + 1, buffer, returns)
    by_trial = _value_sums(buffer.trial_index, max_trials, buffer, returns)
    parts = [env_steps, flags, by_left.flatten(), by_trial.flatten()]
    env_steps, flags, *sums = ranks.sum(torch.cat(parts)).split([len(part) for part in parts])
    by_left, by_trial = sums[0].view_as(by_left), sums[1].view_as(by_trial)

    # Rates are per step of an agent that no partner drives, waits included.
    metrics = {"loss_mask_share": by_left[:, 0].sum() / env_steps[0]}
    for name, count in zip(("termination", "truncation_of_episode", "truncation", "trial_end"), flags):
        metrics[f"{name}_rate"] = count / env_steps[0]
    metrics |= _value_metrics("value_all", by_left.sum(0))
    names = [f"left_{low}_{high}" for low, high in zip((0, *LEFT_EDGES), (*LEFT_EDGES, "up"))]
    for name, sums in zip(names, by_left):
        metrics |= _value_metrics(f"value_{name}", sums)
    for trial, sums in enumerate(by_trial):
        metrics |= _value_metrics(f"value_trial_{trial}", sums)
    return metrics


def expert_metrics(buffer: RolloutBuffer, ranks: Ranks) -> dict[str, Tensor]:
    """Of the steps in the loss mask: the share in which the expert drives, and the share in which it has an action;
    over all ranks."""
    loss_mask = buffer.loss_mask
    count, drives, labelled = ranks.sum(torch.stack([
        part.sum().double() for part in (loss_mask, loss_mask & buffer.expert_drives, loss_mask & buffer.labelled)]))
    return {"expert_drives_share": drives / count, "labelled_share": labelled / count}


def _value_sums(index: Tensor, bins: int, buffer: RolloutBuffer, returns: Tensor) -> Tensor:
    """(bins, 5): of the steps in the loss mask, by bin: the count, and the sums of R, R^2, R - V, (R - V)^2."""
    loss_mask = buffer.loss_mask
    error, returns = (returns - buffer.values).double(), returns.double()
    parts = torch.stack([loss_mask.double(), returns, returns.square(), error, error.square()], -1)
    return sums_by_bin(parts, loss_mask, index, bins)


def _value_metrics(name: str, sums: Tensor) -> dict[str, Tensor]:
    """Count, value loss and explained variance, from the sums of `_value_sums`."""
    count, total, square, error, error_square = sums
    variance = square / count - (total / count).square()
    explained = 1 - (error_square / count - (error / count).square()) / variance
    return {f"{name}_count": count, f"{name}_loss": 0.5 * error_square / count, f"{name}_explained": explained}


def per_trial(name: str, values: Tensor) -> dict[str, Tensor]:
    """A metric for each trial of an episode: `name` with `{}` replaced by the trial's index."""
    return {name.format(trial): value for trial, value in enumerate(values)}


def to_floats(metrics: Mapping[str, Tensor]) -> dict[str, float]:
    """All metrics in one copy from the device."""
    return dict(zip(metrics, torch.stack([metric.double() for metric in metrics.values()]).tolist()))


def with_counts(report: Mapping[str, MetricValue]) -> dict[str, float]:
    """A report of the env in the format of a log line: each metric, and as `<name>_n` the number of agents that it is
    the mean of."""
    values = {name: metric.value for name, metric in report.items()}
    return values | {f"{name}_n": metric.n for name, metric in report.items()}


class Stopwatch:
    """Accumulates seconds by name: `lap` adds the time since the last lap."""

    def __init__(self):
        self.seconds: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, name: str) -> None:
        now = time.perf_counter()
        self.seconds[name] = self.seconds.get(name, 0.0) + now - self._last
        self._last = now

    def take(self) -> dict[str, float]:
        """Returns the seconds by name and clears them."""
        taken, self.seconds = self.seconds, {}
        return taken
