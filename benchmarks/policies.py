"""How well do policies without training drive? Evaluates the random policy and `LaneDriver` as the trainer evaluates.

    python benchmarks/policies.py [FILE ...]

Runs one episode on each of the 64 named towns and 256 on every scene file. On other machines the figures of
`LaneDriver` can differ slightly: numpy rounds the lengths of its paths differently.
"""

import sys
from pathlib import Path

from pages import table

from baselines.config import EnvConfig
from baselines.evaluate import evaluate, random_policy
from baselines.rollout.batches import scenes_of
from drive_env.drivers import LaneDriver

EPISODES = 256
"""On each scene file."""

RATES = ("goal", "collision", "offroad", "timeout")


def lane_driver(batch):
    """The policy of `LaneDriver`, as `baselines.evaluate` expects it."""
    driver = LaneDriver(batch)
    return lambda batch: driver.act_all()


def main() -> None:
    """The command."""
    rows = []
    for name in ("town", *sys.argv[1:]):
        config = EnvConfig(scenes=(name,))
        scenes = scenes_of(config)
        for policy, make_act in (("random policy", random_policy(0)), ("LaneDriver", lane_driver)):
            report = evaluate(make_act, scenes * (1 if name == "town" else EPISODES), config.drive)
            rates = [f"{100 * report[rate].value:.1f}%" for rate in RATES]
            rows.append([Path(name).name, policy, report["goal"].n, *rates])
    print(table(["scenes", "policy", "trials", *RATES], rows))


if __name__ == "__main__":
    main()
