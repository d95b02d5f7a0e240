"""Are runs compared by their logs: seeds as one row, verdicts by thresholds that are held, configs by fields?"""

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")

from small import run_here, tiny_config

from baselines import compare
from baselines.config import TrainConfig
from baselines.tools.compared import (
    HELD, TOO_SHORT, UNCOMPARED, VERDICTS, CompareError, RunCurve, differing, grouped, compared_fields, label_of,
    mean_and_spread, reached, read_run, verdict_of)

README = Path(compare.__file__).with_name("README.md")


def curve(*values, seed=0, folder="run", steps=100, **parts):
    config = TrainConfig().changed(run={"seed": seed}, **parts)
    at = np.arange(1, len(values) + 1) * float(steps)
    return RunCurve(Path(folder), seed, compared_fields(config.to_dict()), at, at / 50, np.array(values, float))


@pytest.mark.parametrize("values, verdict", [
    ([0, 0, 0], "no success"), ([0, 0.2, 0, 0.2], "no success"), ([0.05] * 3, "first success"),
    ([0.9, 0.6, 0.5, 0.7], "healthy"), ([0.9] * 3, "strong"), ([0.95, 0.95, 0.95, 0.1], "first success"),
    ([0.95, 0.95], TOO_SHORT)])
def test_a_verdict_holds_where_the_last_evaluations_all_reach_its_threshold(values, verdict):
    assert verdict_of(curve(*values)) == verdict and HELD == 3


def test_a_threshold_is_reached_where_it_is_held_for_the_first_time():
    run = curve(0.6, 0.6, 0.4, 0.5, 0.7, 0.9, 0.1)
    assert reached(run, 0.5) == 5 and reached(run, 0.4) == 2 and reached(run, 0.8) is None


def test_runs_that_differ_in_the_seed_or_the_machine_form_a_group():
    runs = [curve(0, seed=1), curve(0, seed=0, env={"threads": 3}), curve(0, ppo={"gamma": 0.9}),
            curve(0, seed=2).__class__(**{**vars(curve(0, seed=2)), "folder": Path("other")})]
    groups = grouped(runs)
    assert [[run.seed for run in group] for group in groups] == [[0, 1, 2], [0]]
    assert differing(groups) == ["ppo.gamma"] and label_of(groups[1], groups[0], 2) == "2: gamma 0.9"
    with pytest.raises(CompareError, match="'run' and 'run' have the same config and the seed 1; each may be compared"):
        grouped([curve(0, seed=1), curve(1, seed=1)])


def test_a_group_with_several_differences_is_called_by_its_folder():
    one, two = [curve(0)], [curve(0, folder="runs/b", ppo={"gamma": 0.9}, env={"drive": {"reward": {"goal": 2.0}}})]
    assert differing([one, two]) == ["env.drive.reward.goal", "ppo.gamma"] and label_of(two, one, 2) == "2: b"


def test_the_mean_of_seeds_is_over_the_steps_that_all_have():
    x, mean, low, high = mean_and_spread([np.array([0.0, 2.0, 4.0]), np.array([1.0, 3.0])],
                                         [np.array([0.0, 1.0, 1.0]), np.array([1.0, 0.0])])
    assert x.tolist() == [1, 2, 3] and low.tolist() == [0.5, 0.5, 0] and high.tolist() == [1, 1, 1]
    assert mean.tolist() == [0.75, 0.75, 0.5]


def test_every_field_that_is_not_compared_exists():
    known = compared_fields(TrainConfig().to_dict()).keys() | set(UNCOMPARED)
    flat = lambda config, prefix="": {path for name, value in config.items() for path in (
        flat(value, f"{prefix}{name}.") if isinstance(value, dict) and value else {f"{prefix}{name}"})}
    assert known == flat(TrainConfig().to_dict())


def test_the_readme_has_the_thresholds_of_the_verdicts():
    rows = re.findall(r"^\| \*(.+)\* \| (\S+) \|", README.read_text(), re.MULTILINE)
    assert [(name, float(threshold)) for name, threshold in rows] == [tuple(verdict) for verdict in VERDICTS]


# ---- of logs ----


@pytest.fixture(scope="module")
def runs(short_run, tmp_path_factory):
    """Folders of three runs: two seeds of a config and one of another, with logs of known figures."""
    folder, found = tmp_path_factory.mktemp("compared"), []
    for name, seed, gamma, goals in (("a0", 0, 0.995, (0.5, 0.6, 0.8, 1.0)), ("a1", 1, 0.995, (0.1, 0.6, 0.6, 0.6)),
                                     ("b", 0, 0.9, (0, 0, 0, 0))):
        shutil.copytree(short_run[1].checkpoint, folder / name / short_run[1].checkpoint.name)
        path = folder / name / short_run[1].checkpoint.name / "config.json"
        about = json.loads(path.read_text())
        about["config"] = tiny_config(folder / name, run={"seed": seed}, ppo={"gamma": gamma}).to_dict()
        path.write_text(json.dumps(about))
        lines = [{"kind": "random_policy", "update": 0, "agent_steps": 0, "goal": 0.3}]
        for update, goal in enumerate(goals, 1):
            where = {"update": update, "agent_steps": 6000 * update}
            lines += [{"kind": "update", **where, "agent_steps_per_s": 50.0},
                      {"kind": "evaluation", **where, "goal": goal},
                      {"kind": "evaluation", **where, "evaluator": "towns", "eval/towns/score": goal / 2}]
        (folder / name / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        found.append(folder / name)
    return found


def test_a_curve_is_read_from_the_log_with_the_minutes_of_its_updates(runs):
    run = read_run(runs[0], "goal")
    assert run.values.tolist() == [0.5, 0.6, 0.8, 1.0] and run.agent_steps.tolist() == [6000, 12000, 18000, 24000]
    assert run.minutes == pytest.approx([2, 4, 6, 8])
    assert read_run(runs[0], "score", "towns").values.tolist() == [0.25, 0.3, 0.4, 0.5]
    with pytest.raises(CompareError, match="a0' has no evaluation with 'eval/towns/goal'; it has eval/towns/score$"):
        read_run(runs[0], "goal", "towns")


def test_the_command_prints_a_row_for_each_config_and_draws_them(runs, tmp_path, monkeypatch, capsys):
    picture = tmp_path / "a.png"
    code, printed, errors = run_here(monkeypatch, capsys, compare.main, *runs, "--out", picture)
    assert code == 0, errors
    rows = [line.split() for line in printed.splitlines()]
    one, two = (next(row for row in rows if row[:1] == [f"{number}:"]) for number in (1, 2))
    # Two seeds: the median of two is the slower one.
    assert " ".join(one) == "1: a0 0, 1 0.800 [0.600, 1.000] healthy 18,000 24,000 - -"
    assert " ".join(two) == "2: gamma 0.9 0 0.000 no success - - - -"
    assert ["ppo.gamma", "0.995", "0.9"] in rows and picture.stat().st_size > 10_000


@pytest.mark.parametrize("arguments, sentence", [
    (("nowhere",), "there is no checkpoint in 'nowhere'"), (("{a}", "{a}"), "have the same config and the seed 0"),
    (("{a}", "--metric", "golas"), "has no evaluation with 'golas'; it has goal"),
    (("{a}", "--evaluator", "logs"), "with 'eval/logs/goal'; it has no evaluation of the evaluator 'logs'")])
def test_runs_that_cannot_be_compared_are_one_sentence(runs, arguments, sentence, tmp_path, monkeypatch, capsys):
    words = [argument.format(a=runs[0]) for argument in arguments]
    code, _, errors = run_here(monkeypatch, capsys, compare.main, *words, "--out", tmp_path / "a.png")
    assert code == 1 and errors.startswith("baselines.compare: ") and sentence in errors
