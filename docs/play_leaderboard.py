"""How are the figures of leaderboard.md measured? Every policy on held-out scenes of each kind, and on each behaviour.

    python docs/play_leaderboard.py docs [POLICY ...] && python tests/test_docs.py

Writes docs/leaderboard.json, from which test_docs.py makes the tables, and the picture. Without a POLICY, measures
those of the package. Rows of other policies stay in the file.
"""

import datetime
import json
import sys
from pathlib import Path

from drive_env.behaviours import BEHAVIOURS
from drive_env.errors import ConfigError
from drive_env.evaluation import evaluator_of
from drive_env.machine import processor
from drive_env.policies import TrainedPolicy, config_or_trained, resolved
from drive_env.scenes.generate import GENERATORS, POLICY_OF, TASK_OF
from drive_env.trained import PACKAGED

REFERENCE = "reference"
"""The name of the reference drivers: `ParkingDriver` in parking lots, else `LaneDriver`."""

UNTRAINED = (REFERENCE, "idm", "constant", "random", "replay")

POLICIES = (*UNTRAINED, *(name for name in PACKAGED if name not in TASK_OF.values()))
"""Those of the package but the policy of a task, which drives in the scenes of that task alone."""

SCENES = tuple(name for name in GENERATORS if name not in TASK_OF)
"""Generators whose scenes hide nothing."""

SCENE_COUNT, BEHAVIOUR_COUNT = 16, 10
"""Held-out scenes of each generator, and scenes of each behaviour."""

METRICS = ("score", "goal", "collision", "offroad", "timeout")


def measured(policy, kind, name):
    """The figures of a policy on the scenes of one name; None where it cannot drive them.

    A trained policy drives with the config of its training, without the goals of a parking lot.
    """
    count = {"scenes": SCENE_COUNT, "behaviours": BEHAVIOUR_COUNT}[kind]
    settings = {"type": {"scenes": "multi_scenario", "behaviours": "behaviour_class"}[kind], "scenes": [name],
                "scene_count": count}
    reference = POLICY_OF.get(name, "lane")
    found = resolved(reference if policy == REFERENCE else policy)
    if isinstance(found, TrainedPolicy) and reference == "parking":
        return None
    try:
        result = evaluator_of(name, settings, config_or_trained(None, found)).rollout(found)
    except ConfigError:  # the scenes have no logs, or the vehicle model does not suit the policy
        return None
    score = result.metrics["score"]
    return {"policy": policy, "kind": kind, "name": name, "n": score.n, "ci95": score.ci95,
            **{metric: round(result.metrics[metric].value, 4) for metric in METRICS},
            "date": datetime.date.today().isoformat(), "processor": processor()}


def play(folder, policies):
    """Measures the policies and adds them to the file."""
    path = folder / "leaderboard.json"
    rows = json.loads(path.read_text()) if path.exists() else []
    rows = [row for row in rows if row["policy"] not in policies]
    for policy in policies:
        for kind, names in (("scenes", SCENES), ("behaviours", BEHAVIOURS)):
            for name in names:
                if (row := measured(policy, kind, name)) is not None:
                    rows.append(row)
                    print(policy, kind, name, row["score"], flush=True)
    path.write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n")
    draw(rows, folder / "leaderboard.png")


def draw(rows, path):
    """Draws the scores of all policies, one bar per policy and name."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(11, 8))
    policies = list(dict.fromkeys(row["policy"] for row in rows))
    for kind, axis in zip(("scenes", "behaviours"), axes, strict=True):
        names = list(dict.fromkeys(row["name"] for row in rows if row["kind"] == kind))[::-1]
        height = 0.8 / len(policies)
        for index, policy in enumerate(policies):
            found = {row["name"]: row["score"] for row in rows if row["kind"] == kind and row["policy"] == policy}
            centres = [names.index(name) + 0.4 - (index + 0.5) * height for name in found]
            axis.barh(centres, list(found.values()), height, label=policy, color=f"C{index}")
        axis.set(yticks=range(len(names)), yticklabels=names, xlim=(0, 1), xlabel="score", title=kind)
        axis.grid(axis="x", alpha=0.3)
    figure.tight_layout(rect=(0, 0.05, 1, 1))
    figure.legend(*axes[1].get_legend_handles_labels(), loc="lower center", ncol=len(policies))
    figure.savefig(path, dpi=80)


if __name__ == "__main__":
    play(Path(sys.argv[1]), sys.argv[2:] or POLICIES)
