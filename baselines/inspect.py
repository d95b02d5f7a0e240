"""What did the policy do at every tick, and what was it looking back at? A trace and pictures of one agent's attention.

    python -m baselines.inspect runs/small/update-00000100 --agent 2

writes `trace.jsonl`, one line a tick, and `attention.png`, one picture a layer and head: from the tick on the left to
the tick below. It checks on the way that what must not be seen got a weight of exactly 0.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from drive_env import OUTCOMES, Batch, Scene

from .attention import attend_ring
from .cache import Cache
from .model import Policy

FLAGS = ("first", "waits", "removed", "stopped", "trial_ended", "truncation", "terminations", "truncations",
         "invalid_step")


class HiddenWeightError(AssertionError):
    """Something that must not be seen had a weight."""


@dataclass
class Inspection:
    """One agent's ticks, and for each layer and head the weight it gave at each tick to each: (L, H, ticks, ticks)."""

    ticks: list[dict[str, Any]] = field(default_factory=list)
    weights: np.ndarray = field(default_factory=lambda: np.zeros((0, 0, 0, 0), np.float32))
    context: int = 1


def applied_weights(query: Tensor, cache: Cache, layer: int, slot: Tensor, length: Tensor) -> Tensor:
    """The weights (R, H, S) that `attend_ring` applies, whatever computes it: its answer to values of 0 and 1."""
    keys = cache.keys[layer]
    slots, size = keys.shape[2:]
    found = []
    for start in range(0, slots, size):
        values = torch.zeros_like(keys)
        some = torch.arange(start, min(start + size, slots), device=keys.device)
        values[:, :, some, some - start] = 1.0
        found.append(attend_ring(query.float(), keys.float(), values.float(), slot, length)[..., : len(some)])
    return torch.cat(found, -1)


@torch.no_grad()
def inspect(policy: Policy, scene: Scene, drive, agent: int = 0, ticks: int | None = None, seed: int = 0) -> Inspection:
    """Plays one world and looks at one of its agents.

    Args:
        ticks: how many steps; None: one episode.

    Raises:
        HiddenWeightError: a key that must not be seen had a weight, or weights do not add up to 1.
    """
    device = next(policy.parameters()).device
    with Batch([scene], config=drive, seed=seed) as batch:
        if not 0 <= agent < batch.num_agents:
            raise ValueError(f"agent is {agent}; it must be from 0 to {batch.num_agents - 1}")
        batch.reset()
        cache = policy.make_cache(batch.num_agents, 1, device)
        previous = torch.zeros(batch.num_agents, policy.actor.components, dtype=policy.actor.dtype, device=device)
        tick_of_slot = np.full(cache.slots, -1)
        remembered: list[int] = []  # ticks of the episode that the agent has kept
        inspection, all_weights, done = Inspection(context=policy.context), [], False
        while not done:
            tick = len(inspection.ticks)
            on_device = lambda name: torch.from_numpy(getattr(batch, name).copy()).to(device)
            kept = ~on_device("waits")
            cache.open(on_device("first"))
            if batch.first[agent]:
                remembered.clear()
            slot, position = int(cache.slot[agent]), int(cache.position[agent])
            tick_of_slot[slot] = tick
            weights: list[Tensor] = []

            def watch(query, layer, slots, length, found=weights):
                found.append(applied_weights(query, cache, layer, slots, length)[agent].cpu())

            parameters, values = policy.step(on_device("observations"), previous, kept, cache, watch)
            all_weights.append(_by_tick(weights, tick_of_slot, {*remembered[1 - policy.context or len(remembered):],
                                                                tick}, tick))
            if kept[agent]:
                remembered.append(tick)
            actions = policy.actor.best(parameters)
            entropy = policy.actor.entropy(parameters)
            previous.copy_(torch.where(kept[:, None], actions, previous))
            before = {name: bool(getattr(batch, name)[agent]) for name in ("first", "waits", "removed", "stopped")}
            trial = int(batch.trial_index[agent])
            batch.step(policy.actor.to_env(actions).cpu().numpy())
            inspection.ticks.append({
                "tick": tick, "position": position, "trial": trial, **before, "value": float(values[agent]),
                "entropy": float(entropy[agent]), "action": actions[agent].tolist(), "reward": float(batch.rewards[agent]),
                "outcome": OUTCOMES[batch.outcome[agent]],
                **{name: bool(getattr(batch, name)[agent]) for name in FLAGS if name not in before}})
            over = batch.trial_ended[agent] and trial + 1 == drive.max_trials
            done = tick + 1 == ticks if ticks else bool(over)
    count = len(inspection.ticks)
    if all_weights and all_weights[0].size:
        inspection.weights = np.stack([np.pad(found, ((0, 0), (0, 0), (0, count - found.shape[-1])))
                                       for found in all_weights], 2)
    return inspection


def _by_tick(weights: list[Tensor], tick_of_slot: np.ndarray, visible: set[int], tick: int) -> np.ndarray:
    """(L, H, tick + 1): weights by the tick of their slot, checked against what may be seen."""
    if not weights:
        return np.zeros((0, 0, tick + 1), np.float32)
    by_slot = torch.stack(weights).numpy()
    hidden = ~np.isin(tick_of_slot, list(visible))
    if by_slot[..., hidden].any():
        seen = sorted(set(tick_of_slot[hidden & by_slot.any((0, 1))].tolist()))
        raise HiddenWeightError(f"at tick {tick} the agent looks at ticks {seen}, which it must not see")
    off = np.abs(by_slot.sum(-1) - 1).max()
    if off > 1e-3:
        raise HiddenWeightError(f"at tick {tick} the weights add up to 1 but for {off:.2g}")
    found = np.zeros((*by_slot.shape[:2], tick + 1), np.float32)
    for slot in np.flatnonzero(~hidden):
        found[..., tick_of_slot[slot]] += by_slot[..., slot]
    return found


def draw_attention(inspection: Inspection, path: Path) -> None:
    """One heat map a layer and head: red lines open a trial, white ones the context's reach, grey bands are waits."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    layers, heads, count, _ = inspection.weights.shape
    figure = Figure(figsize=(3.2 * max(heads, 1), 3.2 * max(layers, 1) + 0.4), layout="constrained")
    FigureCanvasAgg(figure)
    ticks = inspection.ticks
    opened = [tick["tick"] for tick, before in zip(ticks[1:], ticks) if tick["trial"] != before["trial"]]
    for layer in range(layers):
        for head in range(heads):
            axes = figure.add_subplot(layers, heads, layer * heads + head + 1)
            axes.imshow(np.log10(np.maximum(inspection.weights[layer, head], 1e-4)), vmin=-4, vmax=0, cmap="viridis",
                        interpolation="nearest")
            for tick in ticks:
                if tick["waits"]:
                    axes.axhspan(tick["tick"] - 0.5, tick["tick"] + 0.5, color="grey", alpha=0.6, linewidth=0)
            for tick in opened:
                axes.axhline(tick - 0.5, color="red", linewidth=0.8)
                axes.axvline(tick - 0.5, color="red", linewidth=0.8)
            reach = [oldest_tick(ticks, tick, inspection.context) - 0.5 for tick in range(count)]
            axes.plot(reach, range(count), color="white", linewidth=0.8)
            axes.set_title(f"layer {layer}, head {head}", fontsize="small")
            axes.set_xlim(-0.5, count - 0.5)
            axes.tick_params(labelsize=6)
    figure.supxlabel("looked at (tick)", fontsize="small")
    figure.supylabel("looking (tick)", fontsize="small")
    figure.savefig(path, dpi=110)


def oldest_tick(ticks: list[dict[str, Any]], tick: int, context: int) -> int:
    """The first tick that may be seen from one: of the last kept ticks of its episode, or itself."""
    start = max([other["tick"] for other in ticks[: tick + 1] if other["first"]], default=0)
    kept = [other["tick"] for other in ticks[start:tick] if not other["waits"]]
    return [*kept, tick][-context:][0]


def main() -> None:
    """The command; exit code 1 where something hidden was seen."""
    import tyro

    from .checkpoint import CheckpointError, load_policy, named
    from .worlds import scenes_of

    def run(checkpoint: Path, scene: int = 0, agent: int = 0, ticks: int | None = None, out: Path = Path("inspection"),
            seed: int = 0) -> None:
        """Plays one world with the policy of a checkpoint and shows what one agent did and looked back at.

        Args:
            checkpoint: the folder of one update, or that of a run for its newest one.
            scene: index into the scenes of the training.
            agent: of the world.
            ticks: steps; none: one episode.
            out: the folder to write into.
        """
        try:
            policy, config = load_policy(named(checkpoint))
            scenes = scenes_of(config.env)
            if not 0 <= scene < len(scenes):
                raise ValueError(f"scene is {scene}; it must be from 0 to {len(scenes) - 1}")
            inspection = inspect(policy, scenes[scene], config.env.drive, agent, ticks, seed)
        except (CheckpointError, HiddenWeightError, ValueError) as error:
            sys.exit(f"baselines.inspect: {error}")
        out.mkdir(parents=True, exist_ok=True)
        (out / "trace.jsonl").write_text("".join(json.dumps(tick) + "\n" for tick in inspection.ticks))
        print(f"{len(inspection.ticks)} ticks: {out / 'trace.jsonl'}")
        if inspection.weights.size:
            draw_attention(inspection, out / "attention.png")
            print(f"hidden ticks got weight 0; attention: {out / 'attention.png'}")

    tyro.cli(run, prog="python -m baselines.inspect", config=(tyro.conf.PositionalRequiredArgs,))


if __name__ == "__main__":
    main()
