"""How well does `LaneDriver` drive, as an anchor for policies that learn? Outcomes on scenes that no training draws.

    python benchmarks/anchor.py [--scenes N] [--first SEED]

One trial of each scene, with as many vehicles as agents. The figures do not depend on the machine, as far as the
lengths of paths do not (docs/determinism.md).
"""

import argparse

from pages import table
from policies import lane_driver

from baselines.evaluate import evaluate
from drive_env import DriveConfig, generate_scene

FIRST_SEED, SCENES = 1000, 128
"""Held-out seeds: the named towns are those of seeds 0 to 63."""

CASES = (
    ("town", 32, {}, {}),
    ("town", 32, {"lights": True}, {"traffic_controls": True, "trial_steps": 600}),
    ("intersection", 16, {}, {}),
    ("intersection", 16, {}, {"trial_steps": 400}),
    ("intersection", 16, {"lights": True}, {"traffic_controls": True, "trial_steps": 600}),
    ("intersection", 8, {"lanes": 1}, {"trial_steps": 400}),
    ("intersection", 32, {}, {"trial_steps": 800}),
)
"""Generator, agents, its parameters, and fields of the config."""

RATES = ("goal", "collision", "offroad", "timeout", "red_light")


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scenes", type=int, default=SCENES)
    parser.add_argument("--first", type=int, default=FIRST_SEED)
    chosen = parser.parse_args()
    rows = []
    for kind, agents, parameters, fields in CASES:
        config = DriveConfig(agents_per_world=agents, **fields)
        scenes = [generate_scene(kind, seed=seed, agents=agents, **parameters)
                  for seed in range(chosen.first, chosen.first + chosen.scenes)]
        report = evaluate(lane_driver, scenes, config)
        rates = [f"{100 * report[rate].value:.2f}%" if rate in report else "" for rate in RATES]
        name = ", ".join([kind, *(f"{key}={value}" for key, value in parameters.items())])
        rows.append([name, agents, config.trial_steps or 200, report["goal"].n, *rates])
    print(table(["scenes", "agents", "steps", "trials", *RATES], rows))


if __name__ == "__main__":
    main()
