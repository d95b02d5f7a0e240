"""Which trials enter the metrics? All agents of a trial or none. And which names do they have?"""

import json
import math
import pickle

import pytest
from contract_batches import make_batch, step
from integer_scenes import coasting_stage

import drive_env


def test_a_report_holds_all_agents_of_a_trial_or_none_whenever_it_is_read():
    """Else agents that end early would weigh more than those that still drive."""
    schedule = [{"wall_step": 2}, {"car_step": 3}, {"goal_step": 2}, {}]
    batch = make_batch(coasting_stage(schedule), max_trials=2, trial_steps=9, log_ema_alpha=0.5)
    batch.reset()
    for call in range(1, 41):  # nine driving steps and a restart a trial
        step(batch)
        report, trials = batch.metrics(), (call + 1) // 10
        assert report["trials"] == (4 * trials, 4 * trials)
        for name in ("timeout", "offroad", "collision", "goal", "score"):
            assert report[name].n == 4 * (trials > 0)
            assert not trials or report[name].value == 0.25, f"{name} after call {call}"
        assert [report[f"trial_{k}_score"].n for k in range(2)] == [4 * (trials > k) for k in range(2)]
        assert report["ada_delta_trial_1_minus_0"].n == 4 * (trials > 1)


def test_a_world_whose_trial_is_over_waits_for_no_other_world():
    early = coasting_stage([{"goal_step": 2}, {"wall_step": 3}])
    late = coasting_stage([{"goal_step": 2}, {"wall_step": 5}])
    batch = make_batch([early, late], num_worlds=2, scene_order="cycle", trial_steps=9)
    batch.reset()
    step(batch, 3)
    assert batch.metrics()["trial_length"] == (2.5, 2)
    step(batch, 2)
    assert batch.metrics()["trial_length"] == (3.0, 4)


def test_a_trial_that_reset_cuts_enters_no_metric_even_of_agents_that_had_ended():
    batch = make_batch(coasting_stage([{"goal_step": 2}, {"wall_step": 5}]), trial_steps=9)
    batch.reset()
    step(batch, 3)
    assert batch.outcome.tolist() == [0, 0] and batch.removed.tolist() == [True, False]
    batch.reset()
    assert all(metric.n == 0 for metric in batch.metrics().values())
    step(batch, 5)
    report = batch.metrics()
    assert report["trial_length"] == (3.5, 2) and report["score"] == (0.5, 2) and report["trials"].n == 2
    step(batch, 4)
    batch.reset()
    assert batch.metrics() == report, "what entered before stays"


def test_a_metric_of_an_unknown_name_is_an_error_with_the_names():
    batch = drive_env.Batch(coasting_stage([{}]).scene(), config={"trial_steps": 2}, trial_records=1)
    batch.reset()
    step(batch, 2)
    for report in (batch.metrics(), batch.metrics(by="world")[0]):
        with pytest.raises(drive_env.UnknownNameError) as error:
            report["success"]
        assert isinstance(error.value, (drive_env.DriveError, KeyError))
        assert str(error.value) == f"this report has no metric 'success'; it has {', '.join(report)}"
        with pytest.raises(KeyError, match=r"this report has no metric 'goals'; did you mean goal\b"):
            report["goals"]
        assert report.get("success") is None and "success" not in report and "score" in report


def test_a_report_is_a_dict_for_pickle_and_json():
    batch = make_batch(coasting_stage([{}]), trial_steps=2)
    report = batch.metrics()
    assert isinstance(report, dict) and pickle.loads(pickle.dumps(report)).keys() == report.keys()
    assert json.loads(json.dumps(report)).keys() == report.keys()


def test_joined_reports_have_the_means_of_all_agents_and_quotients_of_those():
    """Three agents that drive 1 km for one goal each and one that drives 100 m for two have 5 goals in 3.1 km."""
    value = lambda mean, n: drive_env.MetricValue(mean, n)
    reports = [{"trials": value(n, n), "goal": value(goal, n), "distance_m": value(distance_m, n),
                "infractions": value(0.0, n), "driving_time_s": value(50.0, n),
                "distance_per_infraction_m": value(math.nan, 0), "goals_per_km": value(goal / distance_m * 1000, n),
                "time_per_goal_s": value(50.0 / goal, n)}
               for n, goal, distance_m in ((3, 1.0, 1000.0), (1, 2.0, 100.0))]
    joined = drive_env.join_metrics(reports)
    assert joined["trials"] == (4, 4) and joined["goal"] == (1.25, 4) and joined["distance_m"] == (775.0, 4)
    assert joined["goals_per_km"] == (pytest.approx(5 / 3.1), 4)
    assert joined["time_per_goal_s"] == (pytest.approx(200 / 5), 4)
    assert joined["distance_per_infraction_m"].n == 0


def test_reports_that_cannot_be_joined_are_refused():
    one = {"goal": drive_env.MetricValue(1.0, 1)}
    with pytest.raises(drive_env.ArgumentError, match="reports is empty; it must have at least one report"):
        drive_env.join_metrics([])
    with pytest.raises(drive_env.ArgumentError, match=r"reports\[1\] and reports\[0\] have different metrics, such as "
                                                      "'score'; all must be of one config"):
        drive_env.join_metrics([one, one | {"score": drive_env.MetricValue(1.0, 1)}])
    for wrong in (None, 3, one, {0: one}, "town", iter([one])):
        with pytest.raises(drive_env.ArgumentError, match=r"^reports is .*; it must be a list of reports of Batch"):
            drive_env.join_metrics(wrong)
    for wrong in (None, 3, "goal", {"goal": 1.0}, {0: one}):  # the last one is what `metrics(by="scene")` returns
        with pytest.raises(drive_env.ArgumentError, match=r"^reports\[1\] is .*; it must be a report of Batch.metrics"):
            drive_env.join_metrics([one, wrong])
