"""Are the figures of the leaderboard those of the policies, and does it have every scene and behaviour?"""

import importlib.util
import json
from pathlib import Path

import pytest

from drive_env.behaviours import BEHAVIOURS

DOCS = Path(__file__).resolve().parents[2] / "docs"
ROWS = json.loads((DOCS / "leaderboard.json").read_text())


@pytest.fixture(scope="module")
def leaderboard():
    spec = importlib.util.spec_from_file_location("play_leaderboard", DOCS / "play_leaderboard.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_policy_is_measured_on_every_scene_and_behaviour_that_it_can_drive(leaderboard):
    found = {(row["policy"], row["kind"], row["name"]) for row in ROWS}
    assert len(found) == len(ROWS)
    wanted = {(policy, "behaviours", name) for policy in leaderboard.POLICIES for name in BEHAVIOURS}
    wanted |= {(policy, "scenes", name) for policy in leaderboard.POLICIES for name in leaderboard.SCENES
               if policy != "replay" and (policy, name) != ("generalist", "parking")}
    assert not wanted - found
    assert {row["policy"] for row in ROWS} >= set(leaderboard.POLICIES)


@pytest.mark.parametrize("policy, kind, name", [
    ("random", "scenes", "narrow"), ("constant", "scenes", "t_junction"), ("replay", "behaviours", "cut_in"),
    ("random", "behaviours", "u_turn")])
def test_a_figure_is_measured_again(leaderboard, policy, kind, name):
    """Those of policies whose actions do not depend on the last digits of the processor."""
    row, = (row for row in ROWS if (row["policy"], row["kind"], row["name"]) == (policy, kind, name))
    again = json.loads(json.dumps(leaderboard.measured(policy, kind, name)))
    assert {key: value for key, value in again.items() if key not in ("date", "processor")} == {
        key: value for key, value in row.items() if key not in ("date", "processor")}


def test_the_reference_driver_is_above_all_others_without_training_on_every_scene(leaderboard):
    scores = {(row["policy"], row["name"]): row["score"] for row in ROWS
              if row["kind"] == "scenes" and row["policy"] in leaderboard.UNTRAINED}
    for (policy, name), score in scores.items():
        assert score <= scores["reference", name] + 0.02, (policy, name)


def test_a_policy_that_cannot_drive_a_scene_has_no_row(leaderboard):
    assert leaderboard.measured("replay", "scenes", "narrow") is None
    assert leaderboard.measured("generalist", "scenes", "parking") is None
    assert leaderboard.measured("hidden_exit", "scenes", "roundabout") is None


def test_the_policy_of_a_task_is_not_measured_where_it_cannot_drive(leaderboard):
    assert {"generalist", "hidden_exit"} & set(leaderboard.POLICIES) == {"generalist"}
