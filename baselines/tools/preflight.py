"""Can this machine, build and config train? Checks of each, and on request a complete first update.

    python -m baselines.tools.preflight
    python -m baselines.tools.preflight --preset town --require-device H100 --smoke
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

from drive_env import Batch, DisturbanceConfig
from drive_env.policies import policy_maker

from ..config import EnvConfig, TrainConfig
from ..policy.attention import attend_segment, attend_segment_reference
from ..policy.kv_cache import KVCache, attention_mask
from ..ppo import make_policy, train
from ..presets import PRESETS
from ..rollout.batches import open_batches, scenes_of
from ..rollout.collector import Collector
from .dist import Ranks, join

BFLOAT16_ERROR = 0.02
"""Largest error allowed, relative to the largest entry: bfloat16 has 8 significant bits, sums are in float32."""

PARITY_ERROR = {"float32": 1e-3, "bfloat16": 0.2}
"""Largest difference allowed between log-probabilities of rollout and training, with initial weights."""

LAW_STEPS = 1000
"""Steps over which the invariants of the channels are checked."""


@dataclass
class Finding:
    """The outcome of one check."""

    name: str
    detail: str
    passed: bool = True


# ---- the machine ----


def check_device(ranks: Ranks, wanted: str | None) -> Finding:
    """The device; its description must contain `wanted`, unless that is None."""
    if ranks.device.type == "cuda":
        found = f"{torch.cuda.device_count()} x {torch.cuda.get_device_name(ranks.device)}"
    else:
        found = f"CPU, {torch.get_num_threads()} threads of torch"
    passed = wanted is None or wanted.lower() in found.lower()
    return Finding("device", found if passed else f"{found}; {wanted!r} was required", passed)


def _relative_error(found: torch.Tensor, wanted: torch.Tensor) -> float:
    return ((found.float() - wanted).abs().max() / wanted.abs().max()).item()


def check_matmul(ranks: Ranks) -> Finding:
    """A product of matrices in bfloat16 against the same in float32."""
    torch.manual_seed(0)
    a, b = torch.randn(2, 512, 512, device=ranks.device)
    error = _relative_error(a.bfloat16() @ b.bfloat16(), a @ b)
    return Finding("bfloat16 product", f"differs from float32 by {error:.1e} of the largest entry",
                   error < BFLOAT16_ERROR)


def check_attention(ranks: Ranks) -> Finding:
    """Gradients of segment attention in bfloat16 against those of the reference in float32."""
    # Random queries, keys and values, a context before the segment, and steps that are no tokens.
    torch.manual_seed(0)
    agents, heads, steps, size, context = 4, 4, 32, 32, 65
    make = lambda *shape: torch.randn(*shape, device=ranks.device)
    parts = [make(agents, steps, heads, size) for _ in range(3)]
    weight = make(agents, steps, heads, size)
    start = torch.full((agents,), context, device=ranks.device)
    valid_token = torch.rand(agents, steps, device=ranks.device) < 0.8
    mask = attention_mask(torch.zeros_like(valid_token), valid_token, start, context)
    prefix_kv = make(2, 1, agents, heads, context + steps, size)

    # The gradients of both.
    found = []
    for dtype, attend in ((torch.float32, attend_segment_reference), (torch.bfloat16, attend_segment)):
        cache = KVCache(1, agents, heads, size, context, steps, dtype, ranks.device)
        cache.keys.copy_(prefix_kv[0])
        cache.values.copy_(prefix_kv[1])
        prefix = cache.prefix(torch.arange(agents, device=ranks.device), start, start)
        leaves = [part.to(dtype, copy=True).requires_grad_() for part in parts]
        (attend(*leaves, prefix, 0, mask).float() * weight).sum().backward()
        found.append([leaf.grad for leaf in leaves])
    error = max(_relative_error(rounded, exact) for exact, rounded in zip(*found))
    return Finding("bfloat16 attention, backward", f"differs from float32 by {error:.1e} of the largest entry",
                   error < BFLOAT16_ERROR)


def check_all_reduce(ranks: Ranks) -> Finding:
    """The sum of a tensor over all ranks, whose result is known."""
    total = ranks.sum(torch.full((1 << 20,), float(ranks.rank + 1), device=ranks.device))
    wanted = ranks.count * (ranks.count + 1) / 2
    return Finding("all-reduce", f"{ranks.count} processes", bool((total == wanted).all()))


def check_copy_rate(ranks: Ranks) -> Finding:
    """The rate of copies from pinned memory to a GPU, reported only."""
    if ranks.device.type != "cuda":
        return Finding("host to device", "shared memory")
    host = torch.zeros(1 << 28, dtype=torch.uint8, pin_memory=True)
    target = torch.empty_like(host, device=ranks.device, pin_memory=False)
    target.copy_(host)
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(4):
        target.copy_(host, non_blocking=True)
    torch.cuda.synchronize()
    return Finding("host to device", f"{4 * len(host) / (time.perf_counter() - start) / 1e9:.1f} GB/s")


# ---- the env ----


def check_env_rate(config: EnvConfig, seconds: float = 1.0) -> Finding:
    """The rate of the env with constant random actions, reported only."""
    with Batch(scenes_of(config), num_worlds=config.num_worlds, config=config.drive, threads=config.threads,
               reward=config.reward_function) as batch:
        act = policy_maker("random")(batch)
        batch.reset()
        actions = act(batch)
        agent_steps, start = 0, time.perf_counter()
        while (spent := time.perf_counter() - start) < seconds:
            batch.step(actions)
            agent_steps += batch.num_agents - int(batch.invalid_step.sum())
    return Finding("env alone", f"{agent_steps / spent:,.0f} agent-steps/s, {config.num_worlds} worlds")


def check_channels(config: EnvConfig, steps: int = LAW_STEPS) -> Finding:
    """The invariants of docs/channels.md that a learner relies on, over steps of a random policy."""
    with Batch(scenes_of(config), num_worlds=min(config.num_worlds, 8), config=config.drive) as batch:
        act = policy_maker("random")(batch)
        batch.reset()
        for step in range(steps):
            before = {name: getattr(batch, name).copy() for name in ("waits", "trial_ended", "trial_index")}
            batch.step(act(batch))
            for law, broken in broken_laws(batch, before).items():
                if broken.any():
                    return Finding("channels", f"step {step}, agent {int(broken.argmax())}: violated: {law}", False)
    return Finding("channels", f"all invariants hold over {steps} steps of {batch.num_agents} agents")


def broken_laws(batch: Batch, before: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """By invariant of docs/channels.md, (R,) bool: the agents for which the last step violates it."""
    last = before["trial_index"] == batch.config.max_trials - 1
    disturbed = batch.config.disturbances != DisturbanceConfig()  # the steps of disturbed agents are invalid, too
    of_world = batch.trial_ended.reshape(batch.num_worlds, -1)
    unequal = np.repeat(of_world.any(1) != of_world.all(1), batch.agents_per_world)
    outside = ~(np.abs(batch.observations) <= 1).all(1)  # true for NaN as well
    return {
        "truncation implies trial_ended": batch.truncation & ~batch.trial_ended,
        "truncations is truncation in the last trial": batch.truncations != (batch.truncation & last),
        "terminations occur in the last trial alone": batch.terminations & ~last,
        "terminations and truncations exclude each other": batch.terminations & batch.truncations,
        "trial_ended is equal on all agents of a world": unequal,
        "invalid_step implies reward 0": batch.invalid_step & (batch.rewards != 0),
        "invalid_step is the waits of the step before": before["waits"] & ~batch.invalid_step if disturbed else
            batch.invalid_step != before["waits"],
        "waits is removed, stopped or trial_ended":
            batch.waits != (batch.removed | batch.stopped | batch.trial_ended),
        "first is set in the step after the end of the last trial": batch.first != (before["trial_ended"] & last),
        "the observation of a removed agent is zero": batch.removed & batch.observations.any(1),
        "observations are finite and inside the space": outside,
    }


# ---- the trainer ----


def check_parity(config: TrainConfig, ranks: Ranks) -> Finding:
    """Training computes the log-probabilities of the rollout, over three rollouts."""
    one_rank = Ranks(0, 1, ranks.device)
    config = config.changed(env={"num_worlds": 4, "scene_count": 4, "env_groups": 1})
    batches, device_buffers = open_batches(config.env, scenes_of(config.env), one_rank, 0,
                                           config.ppo.informed_weight > 0)
    policy = make_policy(config, batches[0], one_rank)
    collector = Collector(batches, device_buffers, policy, config.ppo.rollout_steps)
    gap = 0.0
    for _ in range(3):
        buffer = collector.collect()
        agents = torch.arange(len(buffer.first), device=ranks.device)
        prefix = collector.cache.prefix(agents, buffer.start_written, buffer.start_position)
        with torch.no_grad():
            parameters, _ = policy(buffer.observations, buffer.previous_actions, buffer.first, buffer.valid_token,
                                   prefix, buffer.loss_mask)
        log_ratio = policy.actor.log_prob(parameters, buffer.actions) - buffer.log_probs
        gap = max(gap, torch.where(buffer.loss_mask, log_ratio, 0.0).abs().max().item())
    return Finding("rollout and training", f"log-probabilities differ by {gap:.1e} in {policy.precision}",
                   gap < PARITY_ERROR[policy.precision])


def check_first_update(config: TrainConfig, folder: str) -> Finding:
    """A run of one update in full size, with a checkpoint and an evaluation."""
    result = train(config.changed(ppo={"agent_steps": 1}, run={"folder": folder, "progress": False, "resume": False}))
    errors = [line[key] for line in result.lines for key in ("error", "failure") if key in line]
    kinds = list(dict.fromkeys(line["kind"] for line in result.lines))  # each evaluator has a line of its own
    expected = ["start", "random_policy", "update", "evaluation", "end"]
    passed = not errors and kinds == expected and result.checkpoint.is_dir()
    return Finding("first update", errors[0] if errors else f"{', '.join(kinds)} and a checkpoint", passed)


def preflight(config: TrainConfig, require_device: str | None = None, smoke: bool = False,
              report: Callable[[Finding], None] = lambda finding: None) -> list[Finding]:
    """All checks of a config's machine, env and policy; one that raises has failed. Every rank runs them.

    Args:
        report: called with each finding, on the main rank, and on another rank where its own check failed.
    """
    ranks = join(config.run.device)
    # The checks, cheap ones first. That of rollout and training uses a small model, which a CPU also computes in a
    # minute.
    small_model = replace(config.model, width=64, heads=4, kv_heads=None, object_width=32)
    checks = [
        ("device", lambda: check_device(ranks, require_device)),
        ("bfloat16 product", lambda: check_matmul(ranks)),
        ("bfloat16 attention, backward", lambda: check_attention(ranks)),
        ("all-reduce", lambda: check_all_reduce(ranks)),
        ("host to device", lambda: check_copy_rate(ranks)),
        ("env alone", lambda: check_env_rate(config.env)),
        ("channels", lambda: check_channels(config.env)),
        ("rollout and training", lambda: check_parity(replace(config, model=small_model), ranks)),
    ]

    # Each is run and reported, whatever the others found.
    findings = []
    with shared_folder(ranks) as folder:
        if smoke:
            checks.append(("first update", lambda: check_first_update(config, folder)))
        for name, check in checks:
            try:
                finding = check()
            except Exception as error:  # noqa: BLE001  any exception is a finding
                finding = Finding(name, f"{type(error).__name__}: {error}", False)
            if not ranks.is_main:
                finding = replace(finding, detail=f"rank {ranks.rank}: {finding.detail}")
            findings.append(finding)
            if ranks.is_main or not finding.passed:
                report(finding)
    return findings


@contextmanager
def shared_folder(ranks: Ranks) -> Iterator[str]:
    """A temporary folder shared by all ranks of a machine; deleted after all have left the context."""
    folder = ranks.on_main(tempfile.mkdtemp)
    try:
        yield folder
        ranks.barrier()
    finally:
        if ranks.is_main:
            shutil.rmtree(folder, ignore_errors=True)


def main() -> None:
    """The command; exit code 1 where a check fails."""
    import tyro

    def run(preset: str = "default", require_device: str | None = None, smoke: bool = False) -> None:
        """Checks machine, env and policy of a preset before a long run.

        Args:
            preset: of baselines/presets.py.
            require_device: a part of the device's name, such as H100.
            smoke: also run the first update in full size, with a checkpoint and an evaluation.
        """
        if preset not in PRESETS:
            known = ", ".join(map(repr, PRESETS))
            sys.exit(f"baselines.tools.preflight: preset is {preset!r}; it must be one of {known}")
        findings = preflight(PRESETS[preset], require_device, smoke, lambda finding: print(
            f"{'ok  ' if finding.passed else 'FAIL'} {finding.name}: {finding.detail}", flush=True))
        sys.exit(not all(finding.passed for finding in findings))

    tyro.cli(run, prog="python -m baselines.tools.preflight")


if __name__ == "__main__":
    main()
