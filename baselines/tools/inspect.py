"""What does one agent do at every step, and to which earlier steps does it attend? A trace and attention maps.

    python -m baselines.tools.inspect runs/small/update-00000100 --agent 2

writes `trace.jsonl`, one line per step, and `attention.png`, one map per layer and head: queries on the vertical axis,
keys on the horizontal one. Weights of masked steps are checked to be exactly 0.
"""

from __future__ import annotations

if __name__ == "__main__":  # before the imports, which take seconds
    from .interrupts import ExitOnInterrupt

    ExitOnInterrupt("baselines.tools.inspect").install()

import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from drive_env import OUTCOMES, Batch, DriveConfig, Scene
from drive_env.outputs import checked_folder

from ..policy.attention import attend_ring
from ..policy.kv_cache import KVCache
from ..policy.model import Policy
from ..rollout.batches import scenes_of
from .checkpoint import checkpoint_at, load_policy

BEFORE_STEP = ("first", "waits", "removed", "stopped")
"""Channels of the observation that an action is chosen from, read before the step."""

AFTER_STEP = ("trial_ended", "truncation", "terminations", "truncations", "invalid_step")
"""Channels of the action, read after the step."""

WEIGHT_SUM_ERROR = 1e-3
"""Largest difference allowed between the sum of a step's weights and 1; the weights are float32."""

LEAST_DRAWN_WEIGHT = 1e-4
"""Smaller weights have the darkest colour of the attention maps."""


class MaskedWeightError(AssertionError):
    """A masked step had an attention weight."""


@dataclass
class Inspection:
    """What one agent did, and what it attended to."""

    steps: list[dict[str, Any]] = field(default_factory=list)
    """One line of `trace.jsonl` per step."""
    oldest: list[int] = field(default_factory=list)
    """Of each step, the oldest step that it attends to."""
    weights: np.ndarray = field(default_factory=lambda: np.zeros((0, 0, 0, 0), np.float32))
    """(L, H, steps, steps): queries by keys. Empty for a policy without memory."""


def attention_weights(q: Tensor, cache: KVCache, layer: int, slot: Tensor, length: Tensor) -> Tensor:
    """The weights (R, H, S) that `attend_ring` applies: its output for values that are unit vectors, on any device."""
    keys = cache.keys[layer]
    slots, size = keys.shape[2:]
    found = []
    for start in range(0, slots, size):
        values = torch.zeros_like(keys)
        chunk = torch.arange(start, min(start + size, slots), device=keys.device)
        values[:, :, chunk, chunk - start] = 1.0
        found.append(attend_ring(q.float(), keys.float(), values.float(), slot, length)[..., : len(chunk)])
    return torch.cat(found, -1)


@torch.no_grad()
def inspect(policy: Policy, scene: Scene, drive: DriveConfig, agent: int = 0, steps: int | None = None,
            seed: int = 0) -> Inspection:
    """Runs one world and records one of its agents.

    Args:
        steps: how many; None: one episode.

    Raises:
        MaskedWeightError: a masked step had a weight, or the weights of a step do not sum to 1.
        ValueError: there is no such agent, or `steps` is below 1.
    """
    if steps is not None and steps < 1:
        raise ValueError(f"steps is {steps}; it must be 1 or more")
    device = next(policy.parameters()).device
    with Batch([scene], config=drive, seed=seed) as batch:
        if not 0 <= agent < batch.num_agents:
            raise ValueError(f"agent is {agent}; it must be from 0 to {batch.num_agents - 1}")
        # One world, in which the policy drives every agent, and its memory.
        batch.reset()
        cache = policy.make_cache(batch.num_agents, 1, device)
        previous_actions = torch.zeros(batch.num_agents, policy.actor.components, dtype=policy.actor.dtype,
                                       device=device)
        on_device = lambda name: torch.from_numpy(getattr(batch, name).copy()).to(device)
        step_of_slot = np.full(cache.slots, -1)
        tokens: list[int] = []  # steps of the episode that are tokens of the agent
        inspection, all_weights, done = Inspection(), [], False
        while not done:
            # Infer, and record the weights of every layer.
            step = len(inspection.steps)
            valid_token = ~on_device("waits")
            cache.reset(on_device("first"))
            if batch.first[agent]:
                tokens.clear()
            slot, position = int(cache.slot[agent]), int(cache.position[agent])
            step_of_slot[slot] = step
            weights: list[Tensor] = []

            def record(q, layer, slots, length, out=weights):
                out.append(attention_weights(q, cache, layer, slots, length)[agent].cpu())

            parameters, values = policy.step(on_device("observations"), previous_actions, valid_token, cache, record)
            window = [*tokens, step][-policy.context:]
            inspection.oldest.append(window[0])
            all_weights.append(_by_step(weights, step_of_slot, window, step))
            if valid_token[agent]:
                tokens.append(step)
            actions = policy.actor.mode(parameters)
            entropy = policy.actor.entropy(parameters)
            previous_actions.copy_(torch.where(valid_token[:, None], actions, previous_actions))

            # Step, and record the channels.
            flags = lambda names: {name: bool(getattr(batch, name)[agent]) for name in names}
            before, trial = flags(BEFORE_STEP), int(batch.trial_index[agent])
            batch.step(policy.actor.to_env(actions).cpu().numpy())
            inspection.steps.append({
                "step": step, "position": position, "trial": trial, **before, "value": float(values[agent]),
                "entropy": float(entropy[agent]), "action": actions[agent].tolist(),
                "reward": float(batch.rewards[agent]), "outcome": OUTCOMES[batch.outcome[agent]],
                **flags(AFTER_STEP)})
            ends_episode = bool(batch.trial_ended[agent] and trial + 1 == drive.max_trials)
            done = step + 1 == steps if steps else ends_episode
    # One map of all steps; a step attends to no later one.
    count = len(inspection.steps)
    if all_weights and all_weights[0].size:
        inspection.weights = np.stack([np.pad(found, ((0, 0), (0, 0), (0, count - found.shape[-1])))
                                       for found in all_weights], 2)
    return inspection


def _by_step(weights: list[Tensor], step_of_slot: np.ndarray, window: list[int], step: int) -> np.ndarray:
    """(L, H, step + 1): weights by the step of their slot, checked against `window`, the steps that the mask allows."""
    if not weights:
        return np.zeros((0, 0, step + 1), np.float32)
    by_slot = torch.stack(weights).numpy()
    masked = ~np.isin(step_of_slot, window)
    if by_slot[..., masked].any():
        attended = sorted(set(step_of_slot[masked & by_slot.any((0, 1))].tolist()))
        raise MaskedWeightError(f"at step {step} the agent attends to steps {attended}, which are masked")
    error = np.abs(by_slot.sum(-1) - 1).max()
    if error > WEIGHT_SUM_ERROR:
        raise MaskedWeightError(f"at step {step} the weights sum to 1 with an error of {error:.2g}")
    found = np.zeros((*by_slot.shape[:2], step + 1), np.float32)
    for slot in np.flatnonzero(~masked):
        found[..., step_of_slot[slot]] += by_slot[..., slot]
    return found


def draw_attention(inspection: Inspection, path: Path) -> None:
    """One heat map per layer and head: red lines at trial starts, a white line at the oldest step of the context, grey
    bands where the agent waits."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    layers, heads, count, _ = inspection.weights.shape
    figure = Figure(figsize=(3.2 * max(heads, 1), 3.2 * max(layers, 1) + 0.4), layout="constrained")
    FigureCanvasAgg(figure)
    steps = inspection.steps
    trial_starts = [step["step"] for step, before in zip(steps[1:], steps) if step["trial"] != before["trial"]]
    for layer in range(layers):
        for head in range(heads):
            # The weights, on a logarithmic scale.
            axes = figure.add_subplot(layers, heads, layer * heads + head + 1)
            axes.imshow(np.log10(np.maximum(inspection.weights[layer, head], LEAST_DRAWN_WEIGHT)), cmap="viridis",
                        vmin=np.log10(LEAST_DRAWN_WEIGHT), vmax=0, interpolation="nearest")
            # Waits, trial starts, and the reach of the context.
            for step in steps:
                if step["waits"]:
                    axes.axhspan(step["step"] - 0.5, step["step"] + 0.5, color="grey", alpha=0.6, linewidth=0)
            for step in trial_starts:
                axes.axhline(step - 0.5, color="red", linewidth=0.8)
                axes.axvline(step - 0.5, color="red", linewidth=0.8)
            axes.plot([oldest - 0.5 for oldest in inspection.oldest], range(count), color="white", linewidth=0.8)
            # Labels.
            axes.set_title(f"layer {layer}, head {head}", fontsize="small")
            axes.set_xlim(-0.5, count - 0.5)
            axes.tick_params(labelsize=6)
    figure.supxlabel("key (step)", fontsize="small")
    figure.supylabel("query (step)", fontsize="small")
    figure.savefig(path, dpi=110)


def main() -> None:
    """The command; exit code 1 where a masked step has a weight."""
    import tyro

    def run(checkpoint: Path, scene: int = 0, agent: int = 0, steps: int | None = None, out: Path = Path("inspection"),
            seed: int = 0) -> None:
        """Runs one world with the policy of a checkpoint and records what one agent does and attends to.

        Args:
            checkpoint: a checkpoint's folder, or a run's folder for its newest checkpoint.
            scene: index into the scenes of the training.
            agent: index of the agent in the world.
            steps: how many; none: one episode.
            out: the folder to write into.
            seed: of the world.
        """
        # Play; what does not fit is an error of one sentence.
        try:
            checked_folder("--out", out)
            policy, config = load_policy(checkpoint_at(checkpoint))
            scenes = scenes_of(config.env)
            if not 0 <= scene < len(scenes):
                raise ValueError(f"scene is {scene}; it must be from 0 to {len(scenes) - 1}")
            out.mkdir(parents=True, exist_ok=True)
            inspection = inspect(policy, scenes[scene], config.env.drive, agent, steps, seed)
        except (MaskedWeightError, ValueError, OSError) as error:
            sys.exit(f"baselines.tools.inspect: {error}")

        # The trace, and the maps of a policy with memory.
        (out / "trace.jsonl").write_text("".join(json.dumps(step) + "\n" for step in inspection.steps))
        print(f"{len(inspection.steps)} steps: {out / 'trace.jsonl'}")
        if inspection.weights.size:
            draw_attention(inspection, out / "attention.png")
            print(f"masked steps have weight 0; attention: {out / 'attention.png'}")

    tyro.cli(run, prog="python -m baselines.tools.inspect", config=(tyro.conf.PositionalRequiredArgs,))


if __name__ == "__main__":
    main()
