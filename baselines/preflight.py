"""Is this machine, this build and this config fit to train? Checks first, and a whole first update where asked.

    python -m baselines.preflight
    python -m baselines.preflight --require-device H100 --smoke default
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
import torch

from drive_env import Batch

from .attention import attend_segment, attend_segment_plainly
from .cache import Cache, sight
from .config import EnvConfig, TrainConfig
from .dist import Ranks, join
from .evaluate import random_policy
from .ppo import make_policy, train
from .rollout import Collector
from .worlds import open_batches, scenes_of

BFLOAT16_ERROR = 0.02
"""Relative to the largest entry: bfloat16 has 8 bits, and sums are kept in float32."""

PARITY_ERROR = {"float32": 1e-3, "bfloat16": 0.2}
"""Largest gap of a log-probability between rollout and training; of freshly drawn weights."""

LAW_STEPS = 1000


@dataclass
class Finding:
    name: str
    said: str
    fine: bool = True


# ---- the machine ----


def device_found(ranks: Ranks, wanted: str | None) -> Finding:
    if ranks.device.type == "cuda":
        found = f"{torch.cuda.device_count()} x {torch.cuda.get_device_name(ranks.device)}"
    else:
        found = f"CPU, {torch.get_num_threads()} threads of torch"
    fine = wanted is None or wanted.lower() in found.lower()
    return Finding("device", found if fine else f"{found}; {wanted!r} was required", fine)


def _relative_error(found: torch.Tensor, wanted: torch.Tensor) -> float:
    return ((found.float() - wanted).abs().max() / wanted.abs().max()).item()


def matmul_agrees(ranks: Ranks) -> Finding:
    torch.manual_seed(0)
    a, b = torch.randn(2, 512, 512, device=ranks.device)
    error = _relative_error(a.bfloat16() @ b.bfloat16(), a @ b)
    return Finding("bfloat16 product", f"off float32 by {error:.1e} of the largest entry", error < BFLOAT16_ERROR)


def attention_agrees(ranks: Ranks) -> Finding:
    """Gradients of a segment's attention in bfloat16 against the plain one in float32."""
    torch.manual_seed(0)
    agents, heads, steps, size, context = 4, 4, 32, 32, 65
    make = lambda *shape: torch.randn(*shape, device=ranks.device)
    parts = [make(agents, steps, heads, size) for _ in range(3)]
    weight = make(agents, steps, heads, size)
    start = torch.full((agents,), context, device=ranks.device)
    kept = torch.rand(agents, steps, device=ranks.device) < 0.8
    seen = sight(torch.zeros_like(kept), kept, start, context)
    older = make(2, 1, agents, heads, context + steps, size)
    found = []
    for dtype, attend in ((torch.float32, attend_segment_plainly), (torch.bfloat16, attend_segment)):
        cache = Cache(1, agents, heads, size, context, steps, dtype, ranks.device)
        cache.keys.copy_(older[0])
        cache.values.copy_(older[1])
        prefix = cache.before(torch.arange(agents, device=ranks.device), start, start)
        leaves = [part.to(dtype, copy=True).requires_grad_() for part in parts]
        (attend(*leaves, prefix, 0, seen).float() * weight).sum().backward()
        found.append([leaf.grad for leaf in leaves])
    error = max(_relative_error(rounded, exact) for exact, rounded in zip(*found))
    return Finding("bfloat16 attention, backward", f"off float32 by {error:.1e} of the largest entry",
                   error < BFLOAT16_ERROR)


def ranks_sum(ranks: Ranks) -> Finding:
    total = ranks.sum(torch.full((1 << 20,), float(ranks.rank + 1), device=ranks.device))
    wanted = ranks.count * (ranks.count + 1) / 2
    return Finding("sum over ranks", f"{ranks.count} processes", bool((total == wanted).all()))


def copy_rate(ranks: Ranks) -> Finding:
    if ranks.device.type != "cuda":
        return Finding("host to device", "the same memory")
    host = torch.zeros(1 << 28, dtype=torch.uint8, pin_memory=True)
    there = torch.empty_like(host, device=ranks.device, pin_memory=False)
    there.copy_(host)
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(4):
        there.copy_(host, non_blocking=True)
    torch.cuda.synchronize()
    return Finding("host to device", f"{4 * len(host) / (time.perf_counter() - start) / 1e9:.1f} GB/s")


# ---- the env ----


def env_rate(config: EnvConfig, seconds: float = 1.0) -> Finding:
    with Batch(scenes_of(config), num_worlds=config.num_worlds, config=config.drive, threads=config.threads) as batch:
        act = random_policy(0)(batch)
        batch.reset()
        actions = act(batch)
        kept, start = 0, time.perf_counter()
        while (spent := time.perf_counter() - start) < seconds:
            batch.step(actions)
            kept += batch.num_agents - int(batch.invalid_step.sum())
    return Finding("env alone", f"{kept / spent:,.0f} agent-steps/s, {config.num_worlds} worlds")


def laws_hold(config: EnvConfig, steps: int = LAW_STEPS) -> Finding:
    """The channels' laws that a learner leans on, over real steps of random play."""
    with Batch(scenes_of(config), num_worlds=min(config.num_worlds, 8), config=config.drive) as batch:
        act = random_policy(0)(batch)
        batch.reset()
        for step in range(steps):
            before = {name: getattr(batch, name).copy() for name in ("waits", "trial_ended", "trial_index")}
            batch.step(act(batch))
            for law, broken in broken_laws(batch, before).items():
                if broken.any():
                    return Finding("channels", f"step {step}, agent {int(broken.argmax())}: not so: {law}", False)
    return Finding("channels", f"all laws hold over {steps} steps of {batch.num_agents} agents")


def broken_laws(batch: Batch, before: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """(R,) bool by law: the agents on which the last step broke it."""
    last = before["trial_index"] == batch.config.max_trials - 1
    of_world = batch.trial_ended.reshape(batch.num_worlds, -1)
    spread = np.repeat(of_world.any(1) != of_world.all(1), batch.agents_per_world)
    outside = ~(np.abs(batch.observations) <= 1).all(1)  # also where it is NaN
    return {
        "truncation implies trial_ended": batch.truncation & ~batch.trial_ended,
        "truncations is truncation in the last trial": batch.truncations != (batch.truncation & last),
        "terminations come in the last trial": batch.terminations & ~last,
        "terminations and truncations never meet": batch.terminations & batch.truncations,
        "trial_ended is equal on all agents of a world": spread,
        "invalid_step implies reward 0": batch.invalid_step & (batch.rewards != 0),
        "invalid_step is the waits of the step before": batch.invalid_step != before["waits"],
        "waits is removed, stopped or trial_ended":
            batch.waits != (batch.removed | batch.stopped | batch.trial_ended),
        "first opens what follows the last trial": batch.first != (before["trial_ended"] & last),
        "a removed agent sees exactly zero": batch.removed & batch.observations.any(1),
        "observations are finite and inside the space": outside,
    }


# ---- the trainer ----


def parity_holds(config: TrainConfig, ranks: Ranks) -> Finding:
    """What was played is learned with the same probability, over three segments."""
    alone = Ranks(0, 1, ranks.device)
    config = config.changed(env={"num_worlds": 4, "scene_count": 4, "fleets": 1})
    batches, mirrors = open_batches(config.env, scenes_of(config.env), alone, 0)
    policy = make_policy(config, batches[0], alone)
    collector = Collector(batches, mirrors, policy, config.ppo.segment)
    gap = 0.0
    for _ in range(3):
        segment = collector.collect()
        agents = torch.arange(len(segment.first), device=ranks.device)
        prefix = collector.cache.before(agents, segment.start_head, segment.start_position)
        with torch.no_grad():
            parameters, _ = policy(segment.observations, segment.previous, segment.first, ~segment.waits, prefix,
                                   segment.kept)
        off = policy.actor.log_prob(parameters, segment.actions) - segment.log_probs
        gap = max(gap, torch.where(segment.kept, off, 0.0).abs().max().item())
    return Finding("rollout and training", f"log-probabilities differ by {gap:.1e} in {policy.precision}",
                   gap < PARITY_ERROR[policy.precision])


def first_update(config: TrainConfig, folder: str) -> Finding:
    """The whole first update in its full shapes, with a checkpoint and an evaluation."""
    result = train(config.changed(ppo={"agent_steps": 1}, run={"folder": folder, "progress": False, "resume": False}))
    errors = [line["error"] for line in result.lines if "error" in line]
    kinds = [line["kind"] for line in result.lines]
    fine = not errors and kinds == ["chance", "update", "evaluation"] and result.checkpoint.is_dir()
    return Finding("first update", errors[0] if errors else f"{', '.join(kinds)} and a checkpoint", fine)


def preflight(config: TrainConfig, require_device: str | None = None, smoke: bool = False,
              tell: Callable[[Finding], None] = lambda finding: None) -> list[Finding]:
    """All checks of a config's machine, env and policy; one that raises has failed. Every rank makes them.

    Args:
        tell: called with each finding as it comes, on the rank that leads, and on another where its own check failed.
    """
    ranks = join(config.run.device)
    modest = replace(config.model, width=64, heads=4, kv_heads=None, object_width=32)
    checks = [
        ("device", lambda: device_found(ranks, require_device)),
        ("bfloat16 product", lambda: matmul_agrees(ranks)),
        ("bfloat16 attention, backward", lambda: attention_agrees(ranks)),
        ("sum over ranks", lambda: ranks_sum(ranks)),
        ("host to device", lambda: copy_rate(ranks)),
        ("env alone", lambda: env_rate(config.env)),
        ("channels", lambda: laws_hold(config.env)),
        ("rollout and training", lambda: parity_holds(replace(config, model=modest), ranks)),
    ]
    findings = []
    with shared_folder(ranks) as folder:
        if smoke:
            checks.append(("first update", lambda: first_update(config, folder)))
        for name, check in checks:
            try:
                finding = check()
            except Exception as error:  # noqa: BLE001  whatever it is, it is what was to be found
                finding = Finding(name, f"{type(error).__name__}: {error}", False)
            if not ranks.leads:
                finding = replace(finding, said=f"rank {ranks.rank}: {finding.said}")
            findings.append(finding)
            if ranks.leads or not finding.fine:
                tell(finding)
    return findings


@contextmanager
def shared_folder(ranks: Ranks) -> Iterator[str]:
    """A temporary folder of the leader, for all ranks of a machine; deleted when all have left it."""
    folder = ranks.lead(tempfile.mkdtemp)
    try:
        yield folder
        ranks.wait()
    finally:
        if ranks.leads:
            shutil.rmtree(folder, ignore_errors=True)


def main() -> None:
    """The command; exit code 1 where a check fails."""
    import tyro

    from .presets import PRESETS

    def run(preset: str = "default", require_device: str | None = None, smoke: bool = False) -> None:
        """Checks machine, env and policy of a preset before hours are spent on it.

        Args:
            preset: of baselines/presets.py.
            require_device: a part of the device's name, such as H100.
            smoke: also do the first update in its full shapes, with a checkpoint and an evaluation.
        """
        if preset not in PRESETS:
            sys.exit(f"baselines.preflight: preset is {preset!r}; it must be one of {', '.join(map(repr, PRESETS))}")
        findings = preflight(PRESETS[preset], require_device, smoke, lambda finding: print(
            f"{'ok  ' if finding.fine else 'FAIL'} {finding.name}: {finding.said}", flush=True))
        sys.exit(not all(finding.fine for finding in findings))

    tyro.cli(run, prog="python -m baselines.preflight")


if __name__ == "__main__":
    main()
