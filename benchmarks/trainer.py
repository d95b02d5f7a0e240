"""How fast does the reference trainer learn, and what does each part of it cost? All rates side by side.

    python benchmarks/trainer.py                     the wide case: a transformer of context 402 on 16,384 agents
    python benchmarks/trainer.py --case towns        the default towns, two trials an episode
    python benchmarks/trainer.py --case deep         twice as wide and deep, context 804
    python benchmarks/trainer.py --case grouped      the same, four heads of queries to each of keys
    python benchmarks/trainer.py --case small        what two cores can do

`env` steps the batches with the policy standing still, `forward` is the rollout's step without the env, `update` the
epoch over one segment, `full` all of it, every cost included. A rate is given in valid agent-steps (agent steps that a loss may
use) and in all agents. The GPU waits whenever its stream has nothing to do during rollout: for the env, for the copy, or
for Python.
"""

import argparse
import platform
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch

from baselines.config import EnvConfig, ModelConfig, PPOConfig, TrainConfig
from baselines.dist import Ranks, join
from baselines.gae import advantages
from baselines.losses import normalised
from baselines.ppo import Learner, make_optimizer, make_policy
from baselines.presets import SMALL
from baselines.rollout import Collector
from baselines.worlds import open_batches, scenes_of
from drive_env import DriveConfig
from drive_env.machine import processor

ALWAYS_DRIVING = DriveConfig(on_goal="ignore", on_collision="ignore", on_offroad="ignore",
                             observation_type="float16")
"""Every agent is kept but in restarts: one step in 201."""

CASES = {
    "wide": TrainConfig(
        env=EnvConfig(num_worlds=512, drive=ALWAYS_DRIVING), model=ModelConfig(context=402),
        ppo=PPOConfig(epochs=1, minibatches=16)),
    "towns": TrainConfig(
        env=EnvConfig(num_worlds=512, drive=DriveConfig(max_trials=2, observation_type="float16")),
        model=ModelConfig(context=402), ppo=PPOConfig(epochs=1, minibatches=16)),
    "deep": TrainConfig(
        env=EnvConfig(num_worlds=256, drive=ALWAYS_DRIVING.replace(max_trials=4)),
        model=ModelConfig(width=256, layers=4, heads=8, context=804), ppo=PPOConfig(epochs=1, minibatches=16)),
    "small": SMALL,
}
CASES["grouped"] = CASES["deep"].changed(model={"kv_heads": 2})


@dataclass
class Rate:
    """Agents a second, those kept and all."""

    kept: float
    agents: float


class Busy:
    """How much of a rollout the GPU's stream was at work: marks before and after each piece."""

    def __init__(self, collector: Collector):
        self.marks: list[tuple[torch.cuda.Event, torch.cuda.Event]] = []
        for fleet in collector.fleets:
            fleet.think, fleet.absorb = self._marked(fleet.think), self._marked(fleet.absorb)

    def _marked(self, run: Callable[[], None]) -> Callable[[], None]:
        def marked() -> None:
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            begin.record()
            run()
            end.record()
            self.marks.append((begin, end))

        return marked

    def waited_share(self) -> float:
        """Of the time from the first mark to the last, since the last call."""
        torch.cuda.synchronize()
        marks, self.marks = self.marks[:], []
        busy = sum(begin.elapsed_time(end) for begin, end in marks)
        return 1 - busy / marks[0][0].elapsed_time(marks[-1][1])


def synchronize(ranks: Ranks) -> None:
    if ranks.device.type == "cuda":
        torch.cuda.synchronize()


def repeated(run: Callable[[], tuple[int, int]], seconds: float, ranks: Ranks) -> Rate:
    """The median rate of a piece of work that says how many agents it kept and had."""
    run()
    rates, started = [], time.perf_counter()
    while not rates or time.perf_counter() - started < seconds:
        synchronize(ranks)
        start = time.perf_counter()
        kept, agents = run()
        synchronize(ranks)
        spent = time.perf_counter() - start
        rates.append((kept / spent, agents / spent))
    return Rate(*map(statistics.median, zip(*rates)))


def graphs_compiled() -> int:
    return sum(torch._dynamo.utils.counters["stats"].values()) if hasattr(torch, "_dynamo") else 0


def measure(config: TrainConfig, seconds: float, ranks: Ranks) -> tuple[dict[str, Rate], dict[str, str]]:
    """All rates, and what else there is to say."""
    batches, mirrors = open_batches(config.env, scenes_of(config.env), ranks, 0)
    policy = make_policy(config, batches[0], ranks)
    collector = Collector(batches, mirrors, policy, config.ppo.segment)
    learner = Learner(policy, make_optimizer(policy, config.ppo), config.ppo, ranks, collector)
    counters = {"update": 0, "agent_steps": 0, "env_steps": 0}
    agents = len(collector.segment.first)

    def full() -> tuple[int, int]:
        before = counters["agent_steps"]
        learner.update(counters)
        return counters["agent_steps"] - before, agents * config.ppo.segment

    start = time.perf_counter()
    for _ in range(3):
        full()
    warm_up_s, compiled = time.perf_counter() - start, graphs_compiled()
    rates = {"full": repeated(full, seconds, ranks)}
    again = graphs_compiled() - compiled
    waited = "no GPU"
    if ranks.device.type == "cuda":
        busy = Busy(collector)
        shares = []
        for _ in range(5):
            collector.collect()
            shares.append(busy.waited_share())
        waited = f"{statistics.median(shares):.1%}"

    segment = collector.collect()
    kept = int(segment.kept.sum())

    def update() -> tuple[int, int]:
        advantage, returns = advantages(segment.steps(), config.ppo.gamma, config.ppo.lam)
        scaled, _, _ = normalised(advantage, segment.kept, ranks)
        order, counts = learner._order(segment)
        learner._learn(segment, scaled, returns, order, counts)
        return kept, agents * config.ppo.segment

    def forward() -> tuple[int, int]:
        for fleet in collector.fleets:
            fleet.step_index.zero_()
        for step in range(config.ppo.segment):
            for fleet in collector.fleets:
                fleet.absorb()
                if step + 1 < config.ppo.segment:
                    fleet.think()
        return kept, agents * config.ppo.segment

    def env() -> tuple[int, int]:
        moved = 0
        for _ in range(config.ppo.segment):
            for batch in batches:
                batch.step(batch.bound_actions)
                moved += batch.num_agents - int(batch.invalid_step.sum())
        return moved, agents * config.ppo.segment

    rates["update"] = repeated(update, seconds / 2, ranks)
    rates["forward"] = repeated(forward, seconds / 2, ranks)
    rates["env"] = repeated(env, seconds / 2, ranks)
    memory = f"{torch.cuda.max_memory_allocated() / 2**30:.1f} GiB" if ranks.device.type == "cuda" else "-"
    for batch in batches:
        batch.close()
    return rates, {"agents": f"{agents:,}", "kept share": f"{kept / segment.first.numel():.3f}",
                   "GPU waits in rollout": waited, "graphs compiled after warm-up": str(again),
                   "warm-up": f"{warm_up_s:.0f} s", "GPU memory": memory, "precision": policy.precision}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--case", choices=CASES, default="wide")
    parser.add_argument("--seconds", type=float, default=20.0, help="for the full rate; the others get half of it")
    parser.add_argument("--worlds", type=int, help="instead of the case's")
    parser.add_argument("--minibatches", type=int, help="instead of the case's")
    parser.add_argument("--fleets", type=int, help="instead of two on a GPU")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--no-compile", action="store_true")
    choices = parser.parse_args()
    config = CASES[choices.case]
    changed = {"env": {"num_worlds": choices.worlds or config.env.num_worlds, "fleets": choices.fleets},
               "ppo": {"minibatches": choices.minibatches or config.ppo.minibatches},
               "run": {"compile": False if choices.no_compile else None}}
    config = config.changed(**changed)
    ranks = join(choices.device)
    if config.run.torch_threads and ranks.device.type == "cpu":
        torch.set_num_threads(config.run.torch_threads)
    rates, said = measure(config, choices.seconds, ranks)
    where = torch.cuda.get_device_name() if ranks.device.type == "cuda" else "no GPU"
    print(f"{choices.case}: {where}; {processor()}, {platform.system()}, Python {platform.python_version()}, "
          f"torch {torch.__version__}")
    print(", ".join(f"{name} {value}" for name, value in said.items()))
    print(f"\n| {'part':7} | valid agent-steps/s | all agent-steps/s |\n| --- | ---: | ---: |")
    for name in ("env", "forward", "update", "full"):
        print(f"| {name:7} | {rates[name].kept:,.0f} | {rates[name].agents:,.0f} |")


if __name__ == "__main__":
    main()
