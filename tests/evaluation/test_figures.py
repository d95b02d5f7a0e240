"""Does a figure weight its rows, and does its interval hold the truth as often as it says?"""

import math
import re
from pathlib import Path

import numpy as np

from drive_env.evaluation.figures import RESAMPLES, Figure, Quantity, figures_of, mean_of, unit_of

METRICS = Path(__file__).resolve().parents[2] / "docs/metrics.md"


def figure_of(scenes, values, **choices):
    return figures_of(np.asarray(scenes), {"x": mean_of(values, "1", **choices)})["x"]


def test_every_row_counts_once_however_its_scene_is_filled():
    """A mean of means would be 0.5: thirty agents with 1 in one scene, two with 0 in the other."""
    found = figure_of([7] * 30 + [9] * 2, [1.0] * 30 + [0.0] * 2)
    assert (found.value, found.n, found.ci95) == (30 / 32, 32, (0.0, 1.0))


def test_an_interval_holds_the_truth_in_95_of_100_sets():
    """500 simulated sets of 120 scenes; the agents of a scene all share one outcome."""
    rng, share, held = np.random.default_rng(5), 0.4, 0
    scenes = np.repeat(np.arange(120), 3)
    for _ in range(500):
        low, high = figure_of(scenes, np.repeat(rng.random(120) < share, 3)).ci95
        held += low <= share <= high
    assert 0.93 <= held / 500 <= 0.97


def test_agents_of_one_scene_are_not_taken_for_independent():
    """The interval of 40 scenes is as wide as that of 40 agents, not of 400."""
    outcome = np.random.default_rng(1).random(40) < 0.5
    one, ten = (figure_of(np.repeat(np.arange(40), agents), np.repeat(outcome, agents)) for agents in (1, 10))
    assert one.ci95 == ten.ci95 and 10 * one.n == ten.n


def test_without_rows_there_is_no_value():
    assert figure_of([], []) == Figure(None, 0, None, "1")
    assert figure_of([1, 2], [math.nan] * 2, counts=np.zeros(2, bool)) == Figure(None, 0, None, "1")


def test_rows_that_do_not_count_may_be_nan():
    assert figure_of([1, 2, 3], [math.nan, 2.0, 4.0], counts=np.array([False, True, True])).value == 3.0


def test_one_scene_has_no_interval():
    assert figure_of([4] * 5, [0, 1, 1, 1, 1]) == Figure(0.8, 5, None, "1")


def quotient_of(values, weights):
    rows = len(values)
    quantity = Quantity(np.asarray(values, float), np.asarray(weights, float), rows, "m")
    return figures_of(np.arange(rows), {"x": quantity})["x"]


def test_a_quotient_is_that_of_the_sums_not_a_mean_of_quotients():
    assert quotient_of([100.0, 300.0], [1.0, 3.0]).value == 100.0
    assert quotient_of([100.0, 0.0, 500.0], [1.0, 3.0, 2.0]).value == 100.0


def test_a_quotient_by_0_has_no_value():
    assert quotient_of([100.0, 300.0], [0.0, 0.0]) == Figure(None, 2, None, "m")


def test_a_quotient_whose_divisor_is_0_in_many_resamples_has_no_upper_end():
    """One of four scenes has an infraction: a third of all resamples, (3/4)^4, have none."""
    found = quotient_of([10.0] * 4, [0.0, 0.0, 0.0, 1.0])
    assert found.value == 40.0 and found.ci95[1] is None and 10.0 <= found.ci95[0] < 40.0


def test_the_interval_leaves_out_as_many_resamples_on_either_side():
    rng = np.random.default_rng(0)
    values = np.arange(50.0) ** 2
    means = np.sort([values[rng.integers(0, 50, 50)].mean() for _ in range(RESAMPLES)])
    low, high = figure_of(np.arange(50), values).ci95
    assert (means < low).sum() == (means > high).sum() == 25 and math.isclose(low, means[25])


def test_units_are_those_of_the_page_of_metrics():
    stated = dict(re.findall(r"^\| `(\w+)` \| ([\w/]+) \|", METRICS.read_text(), re.MULTILINE))
    assert len(stated) > 30
    assert {name: unit_of(name) for name in stated} == stated
    assert unit_of("trial_2_length") == "steps" and unit_of("ada_delta_trial_1_minus_0") == "1"


def test_a_figure_is_written_in_the_types_of_json():
    assert Figure(0.5, 2, (0.0, None), "m").to_dict() == {"value": 0.5, "n": 2, "ci95": [0.0, None], "unit": "m"}
    assert Figure(None, 0, None, "1").to_dict() == {"value": None, "n": 0, "ci95": None, "unit": "1"}
