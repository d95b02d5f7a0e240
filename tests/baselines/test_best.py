"""Is the best checkpoint of a run kept, and the right one?"""

import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")

from small import tiny_config

from baselines import run as run_module
from baselines.ppo import train
from baselines.tools.best import best_update
from baselines.tools.checkpoint import checkpoints
from drive_env import ConfigError, MetricValue


def evaluation(update, **metrics):
    return {"kind": "evaluation", "update": update, **metrics}


def test_the_best_is_the_first_of_the_best_evaluations_with_a_checkpoint():
    lines = [{"kind": "update", "update": 1, "goal": 1.0}, evaluation(1, goal=0.2, collision=0.1),
             evaluation(2, goal=0.9, collision=0.3), evaluation(3, goal=None), evaluation(4, error="broken"),
             evaluation(5, goal=0.9, collision=0.0), evaluation(6, goal=0.95, collision=0.5)]
    kept = {1, 2, 3, 4, 5}
    assert best_update(lines, "goal", kept) == 2
    assert best_update(lines, "-collision", kept) == 5
    assert best_update(lines, "goal", {6, *kept}) == 6
    assert best_update(lines, "goal", {3, 4}) is best_update([], "goal", kept) is None
    start = {"kind": "start", "update": 2, "evaluation_changed": ["eval.towns"]}
    assert best_update([*lines[:3], start, *lines[3:]], "goal", kept) == 2
    start["evaluation_changed"].append("run.evaluate_scenes")
    assert best_update([*lines[:3], start, *lines[3:]], "goal", kept) == 5


def test_a_run_keeps_its_best_checkpoint_beside_the_newest_also_after_a_resume(tmp_path, monkeypatch, capsys):
    values = iter([0.0, 0.1, 0.9, 0.3, 0.9, 0.4, 0.5, 0.6])  # the first is that of the random policy
    monkeypatch.setattr(run_module, "evaluate", lambda *_: {"goal": MetricValue(next(values), 9)})
    config = tiny_config(tmp_path, ppo={"agent_steps": 2000}, run={
        "best_metric": "goal", "evaluate_updates": 1, "keep_checkpoints": 1})
    updates = lambda: [int(path.name[-8:]) for path in checkpoints(tmp_path)]
    result = train(config)
    assert updates() == [2, 4] and result.best_checkpoint == tmp_path / "update-00000002"
    assert result.lines[-1]["best_checkpoint"] == "update-00000002"
    resumed = train(config.changed(ppo={"agent_steps": 3000}, run={"resume": True}))
    assert updates() == [2, 6] and resumed.best_checkpoint == result.best_checkpoint
    assert "the learning rate, which is annealed over them, continues with" in capsys.readouterr().err


def test_a_metric_that_evaluations_lack_is_an_error(tmp_path):
    with pytest.raises(ConfigError, match="best_metric is '-gaol'; it must be one of .*'goal'.*, with a minus"):
        train(tiny_config(tmp_path, run={"best_metric": "-gaol"}))
