"""Do the laws hold after a hundred million agent-steps? Random batches, stepped for long and tested in samples.

`python tests/endurance/soak.py --agent-steps 100e6` prints at its end what was checked, how long it took and how much
memory the process held before and after. Each round makes a batch of random scenes, rules and sizes. At random calls
some of its worlds open an episode with a seed of their own and are recorded for a while beside all others. The record
is tested against every law of tests/helpers/laws.py and against a batch of those worlds alone; at the end of the
sample the whole batch is compared with a pickled copy from the sample's start that made the same calls. One call in
eight between samples is tested against the laws that a single call can break.
"""

from __future__ import annotations

import argparse
import dataclasses
import pickle
import sys
import time
from dataclasses import dataclass
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1] / "helpers"), str(Path(__file__).resolve().parent)]

import laws
import memory
import numpy as np
import rollouts
from samples import FOLDER

from drive_env import Batch, DriveConfig, generate_scene, load_scene

AGENTS_PER_BATCH = 600
"""Roughly; enough for worlds in every phase of a trial."""

ROUND_AGENT_STEPS = 400_000
CALLS_BETWEEN_SAMPLES = (60, 500)
CALLS_OF_SAMPLE = (20, 150)
WORLDS_OF_SAMPLE = 3
EVENT_RESPONSES = ("ignore", "stop", "remove")
GOAL_RESPONSES = (*EVENT_RESPONSES, "next", "respawn")
EXACT_CHANNELS = (*rollouts.ARRAYS, "code")


@dataclass
class Tally:
    """What a soak has checked so far."""

    agent_steps: int = 0
    calls: int = 0
    batches: int = 0
    samples_by_law: int = 0
    samples_by_bytes: int = 0
    agent_steps_recorded: int = 0
    trials: int = 0


class Part:
    """Some worlds of a batch, with the attributes of a batch that the laws read."""

    def __init__(self, batch, worlds):
        self._batch, self.worlds = batch, np.asarray(worlds)
        self.agents = np.flatnonzero(np.isin(batch.world_of_agent, self.worlds))
        self.world_of_agent = np.repeat(np.arange(len(self.worlds)), batch.agents_per_world)
        self.single_observation_space = batch.single_observation_space

    def observation_layout(self):
        return self._batch.observation_layout()

    def __getattr__(self, name):
        array = getattr(self._batch, name)
        return array[self.worlds] if name == "scene_index" else array[self.agents]


# ---- random batches ----


def random_scenes(rng):
    """Scenes of one kind or several; real ones too where the files are."""
    real = [FOLDER / "pufferdrive" / name for name in ("map_942.bin", "map_000.bin")]
    kinds = ["town", "town", "intersection", "both", *(["real"] if all(path.is_file() for path in real) else [])]
    kind = kinds[rng.integers(len(kinds))]
    if kind == "real":
        return [load_scene(real[rng.integers(2)])]
    names = ["town", "intersection"] if kind == "both" else [kind] * int(rng.integers(1, 4))
    return [generate_scene(name, seed=int(rng.integers(1000)), agents=int(rng.integers(2, 33)),
                           lights=bool(rng.integers(2))) for name in names]


def random_config(rng, scenes):
    def one_of(*choices):
        return choices[rng.integers(len(choices))]

    fewest = min(scene.objects.count for scene in scenes)
    traffic_controls = bool(rng.integers(2))
    return DriveConfig(
        traffic_controls=traffic_controls, detailed_metrics=one_of(False, True),
        reward_ranges=one_of({}, {}, {"collision": (-2.0, 0.0), "lane_offset_per_m_s": (-0.1, 0.0)}),
        max_trials=int(rng.integers(1, 6)), trial_steps=int(one_of(1, 2, 10, 40, 90, 200)),
        on_goal=one_of(*GOAL_RESPONSES), on_collision=one_of(*EVENT_RESPONSES),
        on_offroad=one_of(*EVENT_RESPONSES),
        stopped_share_limit=one_of(None, None, 0.3, 1.0), dt_s=one_of(None, None, 0.05, 0.3),
        dynamics={"min_speed_mps": one_of(0.0, -5.0)}, scene_order=one_of("random", "cycle"),
        observation={"partners": int(one_of(0, 1, 8, 31)), "roads": int(one_of(0, 5, 64, 128)),
                     "view_radius_m": one_of(20.0, 100.0), "time_left": one_of("off", "actor"),
                     "controls": int(one_of(0, 1, 8)) if traffic_controls else 0,
                     "type": one_of("float32", "float32", "float32", "float16", "index")},
        action_type=one_of("discrete", "multi_discrete", "continuous"), goal_max_speed_mps=one_of(None, 3.0),
        agents_per_world=one_of(None, None, int(rng.integers(1, fewest + 1)) if scenes[0].generated else 3))


def due_resets(batch):
    """(worlds,) bool: worlds that the caller must reset before the next step; None if there are none."""
    if batch.restart != "caller":
        return None
    worlds = rollouts.worlds_at_their_end(batch, batch.config)
    return worlds if worlds.any() else None


def step_with_resets(batch, actions, due):
    if due is not None:
        batch.reset(worlds=due)
    batch.step(actions)


# ---- checks ----


def channel_bytes(part):
    return [getattr(part, name).tobytes() for name in EXACT_CHANNELS]


def check_sample(batch, policy, rng, tally):
    """Opens episodes in a few worlds, records them, and tests them against laws, a batch of their own, and a copy."""
    # Some worlds, a record of them, a batch of them alone, and what all others show.
    count = min(batch.num_worlds, int(rng.integers(1, WORLDS_OF_SAMPLE + 1)))
    worlds = np.sort(rng.choice(batch.num_worlds, count, replace=False))
    mask = np.isin(np.arange(batch.num_worlds), worlds)
    seeds = np.array(rng.integers(0, 2**63, batch.num_worlds), np.uint64)
    part = Part(batch, worlds)
    steps = np.array([roles.trial_steps for roles in batch.roles])
    record = rollouts.Record.of(part, batch.config, steps, batch.restart)
    alone = Batch(batch.scenes, num_worlds=count, config=batch.config, world_ids=batch.world_ids[worlds], threads=1,
                  restart=batch.restart)
    others = np.isin(batch.world_of_agent, worlds, invert=True)
    before = [getattr(batch, name)[others].tobytes() for name in EXACT_CHANNELS]

    # Open the episodes in those worlds alone.
    batch.reset(seed=list(seeds), worlds=mask)
    alone.reset(seed=list(seeds[worlds]))
    after = [getattr(batch, name)[others].tobytes() for name in EXACT_CHANNELS]
    assert before == after, "a masked reset changed other worlds"
    record.after_reset(part)

    # Step all three with the same actions.
    copy = pickle.loads(pickle.dumps(batch))
    for _ in range(rng.integers(*CALLS_OF_SAMPLE)):
        assert channel_bytes(part) == channel_bytes(alone), f"worlds {worlds.tolist()} differ from a batch of their own"
        due = due_resets(batch)
        if due is not None:
            batch.reset(worlds=due)
            copy.reset(worlds=due)
            if due[worlds].any():
                alone.reset(worlds=due[worlds])
                record.after_reset(part, due[worlds])
        actions = rollouts.with_garbage_where_agents_wait(batch, policy(batch, rng), rng)
        batch.step(actions)
        alone.step(actions[part.agents])
        copy.step(actions)
        record.after_step(part)
        tally.calls += 1
        tally.agent_steps += int((~batch.invalid_step).sum())
        tally.agent_steps_recorded += int((~part.invalid_step).sum())

    # Compare the batch with its copy, and check the record.
    assert channel_bytes(batch) == channel_bytes(copy), "a copy continued differently"
    assert copy._core.block.tobytes() == batch._core.block.tobytes(), "the state of a copy differs"
    if batch.config.observation.type == "float32" and batch.config.reward_ranges == DriveConfig().reward_ranges:
        laws.check(record)  # reads observations as floats, and events off rewards with the config's weights
        tally.samples_by_law += 1
    tally.samples_by_bytes += 1
    alone.close()
    copy.close()


# ---- the soak ----


def run_round(rng, threads, agent_steps, tally):
    scenes = random_scenes(rng)
    config = random_config(rng, scenes)
    # As many worlds as give about AGENTS_PER_BATCH agents.
    with Batch(scenes, num_worlds=1, config=config) as one:
        worlds = max(1, min(64, AGENTS_PER_BATCH // one.agents_per_world))
    batch = Batch(scenes, num_worlds=worlds, config=config, seed=int(rng.integers(2**63)), threads=threads,
                  restart=("auto", "auto", "caller")[rng.integers(3)])
    policies = list(rollouts.POLICIES.values())
    tally.batches += 1
    batch.reset()
    end = tally.agent_steps + agent_steps
    # Calls with a few checks, then a sample, until the round has its steps.
    try:
        while tally.agent_steps < end:
            policy = policies[rng.integers(len(policies))]
            for _ in range(rng.integers(*CALLS_BETWEEN_SAMPLES)):
                step_with_resets(batch, policy(batch, rng), due_resets(batch))
                tally.calls += 1
                tally.agent_steps += int((~batch.invalid_step).sum())
                if tally.calls % 8 == 0:
                    laws.check_call(batch)
                if tally.agent_steps >= end:
                    break
            check_sample(batch, policies[rng.integers(len(policies))], rng, tally)
    except AssertionError as broken:
        raise AssertionError(f"{batch!r}, {config}: {broken}") from broken
    tally.trials += batch.metrics()["trials"].n
    batch.close()


def soak(agent_steps: int, seed: int = 0, threads: int = 2, report=None) -> Tally:
    """Runs rounds until at least `agent_steps` were made.

    Raises:
        AssertionError: a law was broken; it names the batch, the config and the law.
    """
    rng, tally = np.random.default_rng(seed), Tally()
    while tally.agent_steps < agent_steps:
        run_round(rng, threads, min(ROUND_AGENT_STEPS, agent_steps - tally.agent_steps), tally)
        if report:
            report(tally)
    return tally


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--agent-steps", type=float, default=1e6)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=2)
    chosen = parser.parse_args()
    began, warm_mb, most_mb = time.monotonic(), None, 0.0

    def report(tally):
        nonlocal warm_mb, most_mb
        # The first batches load code and caches that stay in memory.
        if tally.batches == 5:
            warm_mb = memory.own_mb(), memory.resident_mb()
        most_mb = max(most_mb, memory.resident_mb())
        if tally.batches % 10 == 0:
            print(f"{time.monotonic() - began:6.0f} s  {memory.resident_mb():6.1f} MB  {tally}", flush=True)

    tally = soak(int(chosen.agent_steps), chosen.seed, chosen.threads, report)
    for name, value in dataclasses.asdict(tally).items():
        print(f"{name.replace('_', ' '):22} {value:,}")
    print(f"{'seconds':22} {time.monotonic() - began:,.0f}")
    if warm_mb:
        print(f"{'MB of its own':22} {warm_mb[0]:.1f} after five batches, {memory.own_mb():.1f} at the end")
        print(f"{'MB resident':22} {warm_mb[1]:.1f} after five batches, {memory.resident_mb():.1f} at the end, "
              f"{most_mb:.1f} at most")


if __name__ == "__main__":
    main()
