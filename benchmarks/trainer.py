"""How fast is the reference trainer, and what does each part of it cost? All rates side by side.

    python benchmarks/trainer.py                     case wide: a transformer of context 402 on 16,384 agents
    python benchmarks/trainer.py --case towns        the default towns, two trials per episode
    python benchmarks/trainer.py --case deep         twice as wide and deep, context 804
    python benchmarks/trainer.py --case grouped      as deep, with four query heads per KV head
    python benchmarks/trainer.py --case small        a case for two cores

`env` steps the batches with fixed actions, `forward` is the rollout's inference without the env, `update` the epochs
over one rollout, `full` whole updates, from collecting to the optimiser. Rates are in agent-steps of the loss mask and
in all agent-steps. The GPU waits while its stream is empty during rollout: for the env, the copy, or Python.
"""

import argparse
import platform
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
from cases import IGNORE_EVENTS

from baselines.config import EnvConfig, ModelConfig, PPOConfig, TrainConfig
from baselines.gae import advantages
from baselines.losses import normalised
from baselines.ppo import Learner, make_optimizer, make_policy
from baselines.presets import SMALL
from baselines.rollout.batches import open_batches, scenes_of
from baselines.rollout.collector import Collector
from baselines.tools.dist import Ranks, join
from drive_env import DriveConfig
from drive_env.machine import processor

ALWAYS_DRIVING = IGNORE_EVENTS.replace(observation={"type": "float16"})
"""No agent waits except in restarts: one step in 201."""

CASES = {
    "wide": TrainConfig(
        env=EnvConfig(num_worlds=512, drive=ALWAYS_DRIVING), model=ModelConfig(context=402),
        ppo=PPOConfig(epochs=1, minibatches=16)),
    "towns": TrainConfig(
        env=EnvConfig(num_worlds=512, drive=DriveConfig(max_trials=2, observation={"type": "float16"})),
        model=ModelConfig(context=402), ppo=PPOConfig(epochs=1, minibatches=16)),
    "deep": TrainConfig(
        env=EnvConfig(num_worlds=256, drive=ALWAYS_DRIVING.replace(max_trials=4)),
        model=ModelConfig(width=256, layers=4, heads=8, context=804), ppo=PPOConfig(epochs=1, minibatches=16)),
    "small": SMALL,
}
CASES["grouped"] = CASES["deep"].changed(model={"kv_heads": 2})


WARM_UP_UPDATES = 3
"""Updates before the first measurement, in which graphs are compiled and captured."""

TIMED_ROLLOUTS = 5
"""Rollouts over which the share of the GPU's waits is a median."""


@dataclass
class Rate:
    """Agent-steps a second."""

    masked: float
    """Those in the loss mask."""
    all: float
    """All of them."""


class Busy:
    """Measures the share of a rollout in which the GPU's stream has work, by events around each graph."""

    def __init__(self, collector: Collector):
        self.events: list[tuple[torch.cuda.Event, torch.cuda.Event]] = []
        for group in collector.groups:
            group.infer, group.store = self._timed(group.infer), self._timed(group.store)

    def _timed(self, run: Callable[[], None]) -> Callable[[], None]:
        def timed() -> None:
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            begin.record()
            run()
            end.record()
            self.events.append((begin, end))

        return timed

    def waited_share(self) -> float:
        """The share of idle time between the first event and the last, since the last call."""
        torch.cuda.synchronize()
        events, self.events = self.events[:], []
        busy = sum(begin.elapsed_time(end) for begin, end in events)
        return 1 - busy / events[0][0].elapsed_time(events[-1][1])


def synchronize(ranks: Ranks) -> None:
    """Waits until a GPU has done its work; no-op on a CPU."""
    if ranks.device.type == "cuda":
        torch.cuda.synchronize()


def repeated(run: Callable[[], tuple[int, int]], seconds: float, ranks: Ranks) -> Rate:
    """The median rate of a function that returns its agent-steps: those in the loss mask, and all."""
    run()
    rates, started = [], time.perf_counter()
    while not rates or time.perf_counter() - started < seconds:
        synchronize(ranks)
        start = time.perf_counter()
        masked, total = run()
        synchronize(ranks)
        spent = time.perf_counter() - start
        rates.append((masked / spent, total / spent))
    return Rate(*map(statistics.median, zip(*rates)))


def graphs_compiled() -> int:
    """How many graphs torch has compiled in this process."""
    return sum(torch._dynamo.utils.counters["stats"].values()) if hasattr(torch, "_dynamo") else 0


def measure(config: TrainConfig, seconds: float, ranks: Ranks) -> tuple[dict[str, Rate], dict[str, str]]:
    """All rates, and further figures by name."""
    # The trainer, without a run's folder, log and evaluations.
    batches, device_buffers = open_batches(config.env, scenes_of(config.env), ranks, 0,
                                           config.ppo.informed_weight > 0)
    policy = make_policy(config, batches[0], ranks)
    collector = Collector(batches, device_buffers, policy, config.ppo.rollout_steps)
    learner = Learner(policy, make_optimizer(policy, config.ppo), config.ppo, ranks, collector)
    counters = {"update": 0, "agent_steps": 0, "env_steps": 0}
    agents, total = len(collector.buffer.first), collector.buffer.first.numel()

    def full() -> tuple[int, int]:
        before = counters["agent_steps"]
        learner.update(counters)
        return counters["agent_steps"] - before, total

    # Whole updates, after a warm-up; compilations after it would be a fault.
    start = time.perf_counter()
    for _ in range(WARM_UP_UPDATES):
        full()
    warm_up_s, compiled = time.perf_counter() - start, graphs_compiled()
    rates = {"full": repeated(full, seconds, ranks)}
    again = graphs_compiled() - compiled

    # How long the GPU waits in rollouts.
    waited = "no GPU"
    if ranks.device.type == "cuda":
        busy = Busy(collector)
        shares = []
        for _ in range(TIMED_ROLLOUTS):
            collector.collect()
            shares.append(busy.waited_share())
        waited = f"{statistics.median(shares):.1%}"

    # Each part alone, again and again on the same rollout.
    buffer = collector.collect()
    masked = int(buffer.loss_mask.sum())

    def update() -> tuple[int, int]:
        advantage, returns = advantages(buffer.steps(), config.ppo.gamma, config.ppo.gae_lambda)
        normal, _, _ = normalised(advantage, buffer.loss_mask, ranks)
        order, counts = learner.shuffle(buffer)
        learner.learn(buffer, normal, returns, order, counts)
        return masked, total

    def forward() -> tuple[int, int]:
        for group in collector.groups:
            group.step_index.zero_()
        for step in range(config.ppo.rollout_steps):
            for group in collector.groups:
                group.store()
                if step + 1 < config.ppo.rollout_steps:
                    group.infer()
        return masked, total

    def env() -> tuple[int, int]:
        valid = 0
        for _ in range(config.ppo.rollout_steps):
            for batch in batches:
                batch.step(batch.bound_actions)
                valid += batch.num_agents - int(batch.invalid_step.sum())
        return valid, total

    rates["update"] = repeated(update, seconds / 2, ranks)
    rates["forward"] = repeated(forward, seconds / 2, ranks)
    rates["env"] = repeated(env, seconds / 2, ranks)
    memory = f"{torch.cuda.max_memory_allocated() / 2**30:.1f} GiB" if ranks.device.type == "cuda" else "-"
    for batch in batches:
        batch.close()
    return rates, {"agents": f"{agents:,}", "loss mask share": f"{masked / total:.3f}",
                   "GPU waits in rollout": waited, "graphs compiled after warm-up": str(again),
                   "warm-up": f"{warm_up_s:.0f} s", "GPU memory": memory, "precision": policy.precision}


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--case", choices=CASES, default="wide")
    parser.add_argument("--seconds", type=float, default=20.0,
                        help="length of the measurement of whole updates; half of it for each other one")
    parser.add_argument("--worlds", type=int, help="instead of the case's")
    parser.add_argument("--minibatches", type=int, help="instead of the case's")
    parser.add_argument("--env-groups", type=int, help="instead of two on a GPU")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--no-compile", action="store_true")
    choices = parser.parse_args()

    # The case, with the fields changed that the arguments name.
    config = CASES[choices.case]
    changed = {"env": {"num_worlds": choices.worlds or config.env.num_worlds, "env_groups": choices.env_groups},
               "ppo": {"minibatches": choices.minibatches or config.ppo.minibatches},
               "run": {"compile": False if choices.no_compile else None}}
    config = config.changed(**changed)

    # Its rates, as a table.
    ranks = join(choices.device)
    if config.run.torch_threads and ranks.device.type == "cpu":
        torch.set_num_threads(config.run.torch_threads)
    rates, figures = measure(config, choices.seconds, ranks)
    where = torch.cuda.get_device_name() if ranks.device.type == "cuda" else "no GPU"
    print(f"{choices.case}: {where}; {processor()}, {platform.system()}, Python {platform.python_version()}, "
          f"torch {torch.__version__}")
    print(", ".join(f"{name} {value}" for name, value in figures.items()))
    print(f"\n| {'part':7} | agent-steps/s in the loss mask | all agent-steps/s |\n| --- | ---: | ---: |")
    for name in ("env", "forward", "update", "full"):
        print(f"| {name:7} | {rates[name].masked:,.0f} | {rates[name].all:,.0f} |")


if __name__ == "__main__":
    main()
