"""Can the goals of generated scenes be reached, and only by driving? Their share by scene and policy without training.

    python benchmarks/certificates.py [SCENE ...] [--first SEED] [--seeds N] [--jobs N] [--json FILE]
                                      [--write docs/scenes.md]
    python benchmarks/certificates.py --join FILE ... [--write docs/scenes.md]
                                                         the sums of runs of other scenes or other seeds

`LaneDriver`, or in parking lots `ParkingDriver`, drives a single car, then all cars together; then all keep their
velocity; then all take random actions. One trial of each seed, with `traffic_controls` and continuous actions. Scenes
of tasks have policies of their own (docs/tasks.md). The exit status is 1 if a scene misses its bounds (`BOUNDS`). The
figures depend on the machine as far as the paths and sines of the drivers do (docs/determinism.md).
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from pages import put_measured, table

from drive_env import Batch, DriveConfig, Scene, generate_scene
from drive_env.drivers import RandomDriver
from drive_env.playing import actor
from drive_env.roles import STEPS_WITHOUT_A_LOG
from drive_env.scenes.generate import CONFIG_OF, GENERATORS, LANE_POLICY, POLICY_OF, TASK_OF, TRIAL_STEPS

WORLDS = 64
"""Scenes that are played at a time: memory does not grow with the number of seeds."""

RATES = ("goal", "collision", "offroad", "timeout")

Act = Callable[[], np.ndarray]
"""Returns the actions of all agents at every call."""


class Case(NamedTuple):
    """Scenes to certify, one a seed; None: the generator's own number."""

    generator: str
    agents: int | None = None
    steps: int | None = None
    parameters: Mapping[str, Any] = {}


class Bounds(NamedTuple):
    """Shares of the goals: the least ones of the rule-based driver, and the largest ones of those that do not drive."""

    alone: float = 1.0
    together: float = 0.95
    constant: float = 1.0
    random: float = 0.05


class Policy(NamedTuple):
    """`agents`: how many the scene has, None for those of the case; `make_act` makes an `Act` of a batch."""

    agents: int | None
    make_act: Callable[[Batch], Act]


CASES = {name: Case(name) for name in GENERATORS if name not in TASK_OF} | {
    "town, lights": Case("town", steps=800, parameters={"lights": True}),
    # A cycle of the lights takes up to 55 s, and cars at the end of a queue need a second green.
    "intersection, lights": Case("intersection", agents=16, steps=1200, parameters={"lights": True}),
    "roundabout, street_lanes": Case("roundabout", agents=16, steps=400,
                                     parameters={"lanes": 2, "street_lanes": 2, "radius_m": 20.0}),
    "bottleneck, toll": Case("bottleneck", steps=1000, parameters={"toll": True}),
    "narrow, priority": Case("narrow", parameters={"priority": True}),
    # Ten cars, as in MetaDrive, take turns.
    "parking, agents": Case("parking", agents=10, steps=1500),
    "two_way, must_overtake": Case("two_way", parameters={"must_overtake": True}),
}
"""By name: every scene without a task as its generator makes it, and with further parameters."""


def rule_based(batch: Batch) -> Act:
    """The actions of the rule-based policy for the scenes of a batch, which are all of one generator."""
    return actor(batch, POLICY_OF.get(batch.scenes[0].name.partition("/")[0], LANE_POLICY), seed=0)


POLICIES = {
    "alone": Policy(1, rule_based),
    "together": Policy(None, rule_based),
    "constant": Policy(None, lambda batch: lambda: np.zeros_like(batch.actions)),
    "random": Policy(None, lambda batch: RandomDriver(batch, 0).act_all),
}
"""By the name of a bound. Zeros are no acceleration and straight wheels."""

DEMANDS = dict.fromkeys(CASES, Bounds()) | dict.fromkeys(
    ("merge", "narrow", "narrow, priority", "t_junction", "roundabout", "roundabout, street_lanes", "parking",
     "parking, agents"),
    Bounds(constant=0.5))
"""What a certificate demands: of the scenes named, also that most cars have to steer or to brake."""

NOT_YET: dict[str, Bounds] = {}
"""Bounds of scenes that `LaneDriver` does not solve yet, which guard what it does reach."""

BOUNDS = DEMANDS | NOT_YET


def first_trials(scenes: Sequence[Scene], policy: Callable[[Batch], Act], config: DriveConfig,
                 on_step: Callable[[Batch], None] | None = None, threads: int = 0) -> np.ndarray:
    """Records of the first trial in every scene, by world and agent.

    Args:
        policy: makes from a batch the function that returns the actions of every step.
        config: all scenes have as many agents as its `agents_per_world`; its trials last equally long in all of them.
        on_step: called after every step with the batch.
        threads: of the batch, see `Batch`.
    """
    config = config.replace(max_trials=1, scene_order="cycle")
    with Batch(scenes, num_worlds=len(scenes), config=config, trial_records=1, threads=threads) as batch:
        batch.reset(seed=0)
        act = policy(batch)
        ended, found = np.zeros(len(scenes), bool), []
        for _ in range(batch.roles[0].trial_steps):
            batch.step(act())
            if on_step is not None:
                on_step(batch)
            # Worlds that are through begin another episode, whose records are dropped.
            if batch.trial_ended.any():
                records = batch.trial_records()
                found.append(records[~ended[records["world"]]])
                ended[records["world"]] = True
            if ended.all():
                break
    records = np.concatenate(found)
    return records[np.lexsort((records["agent"], records["world"]))]


def certify(case: Case, policy: Policy, seeds: Iterable[int], threads: int = 0) -> dict[str, Any]:
    """Sums over the trials of all agents: their number and those that ended in each way; and the seeds of misses."""
    # Blocks of as many seeds as worlds; the last one is smaller.
    seeds, found = iter(seeds), []
    while block := list(islice(seeds, WORLDS)):
        scenes = [generate_scene(case.generator, seed=seed, agents=policy.agents or case.agents, **case.parameters)
                  for seed in block]
        records = first_trials(scenes, policy.make_act, config_of(case, scenes[0]), threads=threads)
        missed = sorted({block[world] for world in records["world"][records["goal"] == 0]})
        found.append({"trials": len(records), **{rate: int(records[rate].sum()) for rate in RATES},
                      "missed_seeds": missed})
    return joined(found)


def joined(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The sums of counts of different seeds, and the seeds of misses of all."""
    total = {name: sum(part[name] for part in parts) for name in ("trials", *RATES)}
    return total | {"missed_seeds": sorted(seed for part in parts for seed in part["missed_seeds"])}


def config_of(case: Case, scene: Scene) -> DriveConfig:
    """All cars of a scene but those with logs are agents; its lights and signs are in force."""
    return DriveConfig(action_type="continuous", traffic_controls=True,
                       agents_per_world=int((~scene.objects.marked_expert).sum()),
                       trial_steps=steps_of(case), **CONFIG_OF[case.generator])


def share(total: Mapping[str, Any], rate: str = "goal") -> float:
    """Of the trials, those that ended in a way."""
    return total[rate] / total["trials"]


def misses(found: Mapping[str, Mapping[str, Any]], bounds: Bounds) -> list[str]:
    """The policies whose share of the goals is not within the bounds."""
    return [name for name, bound in bounds._asdict().items()
            if not (share(found[name]) >= bound if name in ("alone", "together") else share(found[name]) <= bound)]


def percent(value: float) -> str:
    """With as many decimals as tell it from 0% and 100%, at least one where it is not whole."""
    decimals = 1
    while (text := f"{100 * value:.{decimals}f}").rstrip("0") in ("0.", "100.") and value not in (0.0, 1.0):
        decimals += 1
    return f"{text.removesuffix('.0')}%"


def certificates_table(found: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> str:
    """One row a scene; of the cars together also how the trials without goal ended."""
    rows = []
    for name, of in found.items():
        case, (scene, *variant) = CASES[name], name.split(", ")
        failed = misses(of, DEMANDS[name])
        rows.append([
            ", ".join([f"`{scene}`", *(f"`{key}`" for key in variant)]), agents_of(case), steps_of(case),
            *(percent(share(of[policy])) for policy in ("alone", "together")),
            *(percent(share(of["together"], rate)) for rate in RATES[1:]),
            *(percent(share(of[policy])) for policy in ("constant", "random")),
            f"no: {', '.join(failed)}" if failed else "yes"])
    return table(["scene", "agents", "steps", "alone", "together", "collision", "off-road", "timeout", "constant",
                  "random", "certified"], rows)


def agents_of(case: Case) -> int:
    """How many cars drive together."""
    return case.agents or GENERATORS[case.generator].DEFAULT_AGENTS


def steps_of(case: Case) -> int:
    """How long a trial lasts."""
    return case.steps or TRIAL_STEPS[case.generator] or STEPS_WITHOUT_A_LOG


def all_of(names: Sequence[str], seeds: range, jobs: int = 1) -> Iterator[tuple[str, dict[str, dict[str, Any]]]]:
    """The certificates of cases, one after another, by so many processes."""
    if jobs == 1:
        for name in names:
            yield name, {policy: certify(CASES[name], how, seeds) for policy, how in POLICIES.items()}
        return
    # Each process has one thread. Forked processes would share the locks of threads of this one.
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn")) as pool:
        parts = {(name, policy): [pool.submit(_certify_named, name, policy, seeds[first:first + WORLDS])
                                  for first in range(0, len(seeds), WORLDS)] for name in names for policy in POLICIES}
        for name in names:
            yield name, {policy: joined([part.result() for part in parts[name, policy]]) for policy in POLICIES}


def _certify_named(name, policy, seeds):
    """As `certify`, of what has a name: functions of policies cannot be sent to processes."""
    return certify(CASES[name], POLICIES[policy], seeds, threads=1)


def read_counts(files: Sequence[Path]) -> dict[str, dict[str, dict[str, Any]]]:
    """The sums of files of `--json`, in the order of `CASES`.

    Raises:
        ValueError: two files have the same seed of a scene, or seeds between those of two files are missing.
    """
    counts: dict[str, list[dict[str, Any]]] = {}
    ranges: dict[str, list[tuple[int, int]]] = {}
    for file in files:
        content = json.loads(file.read_text())
        for name, of in content["scenes"].items():
            counts.setdefault(name, []).append(of)
            ranges.setdefault(name, []).append((content["first_seed"], content["first_seed"] + content["seeds"]))
    for name, found in ranges.items():
        for (_, end), (first, _) in pairwise(sorted(found)):
            if first != end:
                raise ValueError(f"the files of {name} have seeds up to {end - 1} and from {first} on; each file must "
                                 "continue where another one ends")
    return {name: {policy: joined([of[policy] for of in counts[name]]) for policy in POLICIES}
            for name in CASES if name in counts}


def write_counts(file: Path, seeds: range, found: Mapping[str, Any]) -> None:
    """Counts by scene for `read_counts`."""
    file.write_text(json.dumps({"first_seed": seeds.start, "seeds": len(seeds), "scenes": found}))


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("scenes", nargs="*", metavar="SCENE", help=f"default: all of {'; '.join(CASES)}")
    parser.add_argument("--first", type=int, default=0, help="first seed (default 0)")
    parser.add_argument("--seeds", type=int, default=64, help="how many seeds (default 64)")
    parser.add_argument("--jobs", type=int, default=1, help="how many processes (default 1, with a thread a processor)")
    parser.add_argument("--join", type=Path, nargs="+", metavar="FILE", help="add up files of --json; plays nothing")
    parser.add_argument("--json", type=Path, help="file for all counts, and the seeds where a car missed its goal; "
                                                  "written again after every scene")
    parser.add_argument("--write", type=Path, help="page whose table of certificates is replaced")
    chosen = parser.parse_args()
    if unknown := [name for name in chosen.scenes if name not in CASES]:
        parser.error(f"SCENE is {unknown[0]!r}; it must be one of {'; '.join(CASES)}")
    if chosen.seeds < 1 or chosen.first < 0 or chosen.jobs < 1:
        parser.error(f"--first is {chosen.first}, --seeds {chosen.seeds} and --jobs {chosen.jobs}; they must be at "
                     "least 0, 1 and 1")
    if chosen.write and chosen.scenes:
        parser.error("--write replaces the table of all scenes; SCENE must not be given with it")
    if chosen.join and (chosen.scenes or chosen.json):
        parser.error("--join adds up files of --json; SCENE and --json must not be given with it")

    # All shares, then those out of their bounds, on which the exit status depends.
    if chosen.join:
        try:
            found = read_counts(chosen.join)
        except ValueError as error:
            parser.error(str(error))
        if chosen.write and (missing := [name for name in CASES if name not in found]):
            parser.error(f"the files lack {'; '.join(missing)}; --write replaces the table of all scenes")
    else:
        found, seeds = {}, range(chosen.first, chosen.first + chosen.seeds)
        for name, of in all_of(chosen.scenes or list(CASES), seeds, chosen.jobs):
            found[name] = of
            if chosen.json:
                write_counts(chosen.json, seeds, found)
    print(certificates_table(found))
    if chosen.write:
        put_measured(chosen.write, certificates_table(found), "certificates")
    failed = {name: missed for name, of in found.items() if (missed := misses(of, BOUNDS[name]))}
    for name, missed in failed.items():
        print(f"{name}: out of bounds {', '.join(missed)}; alone, missed at seeds "
              f"{found[name]['alone']['missed_seeds'][:10]}")
    raise SystemExit(1 if failed else 0)


if __name__ == "__main__":
    main()
