"""How well does it drive? Every scene once, one episode each, by the env's own figures."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from gymnasium import spaces

from drive_env import Batch, DriveConfig, Figure, Scene

from .model import Policy

WORLDS_AT_ONCE = 16
"""As many as a batch may have parts: a world that has played its episode is not stepped again."""

Act = Callable[[Batch], np.ndarray]
"""Given the batch, the actions of all agents."""


def evaluate(make_act: Callable[[Batch], Act], scenes: list[Scene], drive: DriveConfig, seed: int = 0,
             threads: int = 0) -> dict[str, Figure]:
    """The report of `Batch.metrics` over one episode of every scene: each agent's `max_trials` trials, once.

    Args:
        make_act: given a batch that is not yet reset, what acts in it.
    """
    reports = []
    for start in range(0, len(scenes), WORLDS_AT_ONCE):
        some = scenes[start : start + WORLDS_AT_ONCE]
        # As many worlds as scenes play each once, whatever the first of their consecutive ids is.
        with Batch(some, num_worlds=len(some), config=replace(drive, scene_order="cycle"), seed=seed, threads=threads,
                   world_ids=range(start, start + len(some)), restart="caller", parts=len(some)) as batch:
            _play_one_episode_each(batch, make_act(batch))
            reports.append(batch.metrics())
    return joined(reports)


def _play_one_episode_each(batch: Batch, act: Act) -> None:
    """Steps every world, a part of its own, until its last trial has ended."""
    batch.reset()
    playing, last_trial = list(batch.parts), batch.config.max_trials - 1
    while playing:
        actions = act(batch)
        for world in playing:
            world.step_async(actions[world.agent_slice])
        for world in playing:
            world.wait()
        playing = [world for world in playing if not (world.trial_ended[0] and world.trial_index[0] == last_trial)]


def joined(reports: list[dict[str, Figure]]) -> dict[str, Figure]:
    """One report of many batches: each figure the mean over the agents of all; `trials` is a count."""
    return {name: _joined(name, [report[name] for report in reports]) for name in reports[0]}


def _joined(name: str, figures: list[Figure]) -> Figure:
    count = sum(figure.n for figure in figures)
    if name == "trials":
        return Figure(float(count), count)
    if not count:
        return Figure(float("nan"), 0)
    return Figure(sum(figure.value * figure.n for figure in figures if figure.n) / count, count)


def random_policy(seed: int) -> Callable[[Batch], Act]:
    """Draws every action of the space alike."""

    def make_act(batch: Batch) -> Act:
        space, shape = batch.single_action_space, batch.actions.shape
        rng = np.random.default_rng([seed, int(batch.world_ids[0])])  # batches of one evaluation draw apart
        if isinstance(space, spaces.Box):
            return lambda batch: rng.uniform(space.low, space.high, shape).astype(np.float32)
        sizes = space.n if isinstance(space, spaces.Discrete) else space.nvec
        return lambda batch: rng.integers(0, sizes, shape)

    return make_act


@dataclass
class Player:
    """A policy at the wheel of a batch, its memory beside it.

    Args:
        deterministic: take the likeliest action, not a draw.
    """

    policy: Policy
    device: torch.device
    deterministic: bool = True

    def __call__(self, batch: Batch) -> Act:
        cache = self.policy.make_cache(batch.num_agents, 1, self.device)
        actor = self.policy.actor
        previous = torch.zeros(batch.num_agents, actor.components, dtype=actor.dtype, device=self.device)
        on_device = lambda array: torch.from_numpy(array).to(self.device)

        @torch.no_grad()
        def act(batch: Batch) -> np.ndarray:
            kept = ~on_device(batch.waits)
            cache.open(on_device(batch.first))
            parameters, _ = self.policy.step(on_device(batch.observations), previous, kept, cache)
            actions = actor.best(parameters) if self.deterministic else actor.sample(parameters)
            previous.copy_(torch.where(kept[:, None], actions, previous))
            return actor.to_env(actions).cpu().numpy()

        return act


def main() -> None:
    """The command: `python -m baselines.evaluate CHECKPOINT`."""
    import tyro
    from rich.console import Console
    from rich.table import Table

    from .checkpoint import check_fits, load_policy, named
    from .dist import join
    from .worlds import scenes_of

    def run(checkpoint: Path, scenes: tuple[str, ...] = (), scene_count: int | None = None,
            deterministic: bool = True, seed: int = 0, device: str = "auto") -> None:
        """Plays every scene once with the policy of a checkpoint and prints its figures beside random play's.

        Args:
            checkpoint: the folder of one update, or that of a run for its newest one.
            scenes: generators and paths; none: those of the training.
            scene_count: seeds of a generator.
        """
        try:
            where, checkpoint = join(device).device, named(checkpoint)
            policy, config = load_policy(checkpoint, where)
            env = replace(config.env, scenes=scenes or config.env.scenes,
                          scene_count=scene_count or config.env.scene_count)
            found = scenes_of(env)
            with Batch(found[:1], config=env.drive) as batch:
                check_fits(checkpoint, batch)
        except ValueError as error:  # of the checkpoint or the scenes: one sentence says it
            sys.exit(f"baselines.evaluate: {error}")
        driven = evaluate(Player(policy, where, deterministic), found, env.drive, seed)
        chance = evaluate(random_policy(seed), found, env.drive, seed)
        table = Table(title=f"{checkpoint.name} on {len(found)} scenes")
        for column in ("figure", "policy", "by chance", "n"):
            table.add_column(column, justify="left" if column == "figure" else "right")
        for name, figure in driven.items():
            table.add_row(name, f"{figure.value:.4g}", f"{chance[name].value:.4g}", str(figure.n))
        Console().print(table)

    tyro.cli(run, prog="python -m baselines.evaluate", config=(tyro.conf.PositionalRequiredArgs,))


if __name__ == "__main__":
    main()
