"""How well does a policy drive in each scene? Its mean score there, trial by trial, from the rows of a result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .rows import Rows


@dataclass(frozen=True)
class SceneScores:
    """The scores in one scene under one condition.

    Attributes:
        source, scene, group: as in the rows.
        trials: number of rows.
        score: mean over all of them, 0 to 1.
        trial_scores: mean over the rows of each trial, the first one first; None for a trial without rows.
        ada_deltas: mean gain of an agent in score from its first trial to each later one.
    """

    source: str
    scene: str
    group: str
    trials: int
    score: float
    trial_scores: tuple[float | None, ...]
    ada_deltas: tuple[float | None, ...]

    def to_dict(self) -> dict[str, Any]:
        """The attributes in the types of JSON."""
        return {**vars(self), "trial_scores": list(self.trial_scores), "ada_deltas": list(self.ada_deltas)}


def scores_by_scene(rows: Rows) -> list[SceneScores]:
    """The scores of each scene in each group, in the order of groups and of the list of scenes.

    Args:
        rows: of a result.
    """
    if not len(rows["world"]):
        return []
    names, group = np.unique(rows["group"].astype(str), return_inverse=True)
    pairs, first, place = np.unique(np.stack([group.reshape(-1), rows["scene_key"]]), axis=1, return_index=True,
                                    return_inverse=True)
    score, trial = rows["score"].astype(np.float64), rows["trial"].astype(np.int64)
    shape = pairs.shape[1], int(trial.max()) + 1
    at = place.reshape(-1) * shape[1] + trial
    sums, counts = (np.bincount(at, weights, shape[0] * shape[1]).reshape(shape) for weights in (score, None))
    return [SceneScores(
        source=str(rows["source"][row]), scene=str(rows["scene"][row]), group=str(names[group.reshape(-1)[row]]),
        trials=int(count.sum()), score=float(total.sum() / count.sum()), trial_scores=(means := _means(total, count)),
        ada_deltas=tuple(None if one is None or means[0] is None else one - means[0] for one in means[1:]))
        for row, total, count in zip(first.tolist(), sums, counts, strict=True)]


def _means(totals: np.ndarray, counts: np.ndarray) -> tuple[float | None, ...]:
    return tuple(float(total / count) if count else None for total, count in zip(totals, counts, strict=True))
