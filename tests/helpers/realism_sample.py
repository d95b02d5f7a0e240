"""The synthetic scene of the published implementation of the realism score, with its features and scores."""

from __future__ import annotations

import json

import numpy as np
from samples import sample

from drive_env.realism import LoggedScene, Poses, Signals


def realism_sample() -> tuple[LoggedScene, Poses]:
    """The log and its 32 rollouts; skips the test where there is no such sample."""
    given = np.load(sample("realism/synth_inputs.npz"))

    def lines(name):
        return np.split(given[f"{name}_points"], given[f"{name}_start"][1:-1])

    signals = given["signals"]
    scene = LoggedScene(
        Poses(*given["log"]), given["valid"], given["types"], given["size"], np.isin(given["ids"], given["evaluated"]),
        lines("edge"), dict(zip(given["lane_ids"].tolist(), lines("lane"), strict=True)),
        Signals(signals[0, :, 0].astype(int), signals[..., 1].astype(int), signals[..., 2:]))
    return scene, Poses(*given["sim"])


def published_features() -> dict[str, np.ndarray]:
    """Arrays by name, as "log_linear_speed" and "sim_linear_speed"."""
    return dict(np.load(sample("realism/synth_features.npz")))


def published_scores() -> dict[str, dict]:
    """By year, as "2025"."""
    return json.loads(sample("realism/synth_scores.json").read_text())
