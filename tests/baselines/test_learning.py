"""Does it learn? A short `make train`, in towns where collisions and leaving the road have no consequences."""

import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")

from baselines.ppo import train
from baselines.presets import SMALL
from drive_env import RewardConfig


def test_a_short_run_reaches_20_in_100_goals_more_than_a_random_policy(tmp_path):
    drive = SMALL.env.drive.replace(on_collision="ignore", on_offroad="ignore",
                                    reward=RewardConfig(collision=0.0, offroad=0.0, progress_per_m=0.02))
    lines = train(SMALL.changed(
        env={"drive": drive}, ppo={"agent_steps": 50_000, "anneal": False},
        run={"folder": str(tmp_path), "progress": False, "device": "cpu", "evaluate_updates": 0})).lines
    random, evaluation = (next(line for line in lines if line["kind"] == kind)
                          for kind in ("random_policy", "evaluation"))
    assert evaluation["goal"] >= random["goal"] + 0.2
    updates = [line for line in lines if line["kind"] == "update"]
    curve = [line["goal"] for line in updates if line["trials"] > 0]
    assert curve[-1] > curve[0] + 0.2 and curve[-1] == pytest.approx(max(curve), abs=0.05), "the curve rises"
    assert all(line["parity_gap"] < 1e-4 for line in updates)
