"""Are the scores of optimal policies right? Those of the published table, and those of a search over all policies."""

from __future__ import annotations

from itertools import product

import pytest

from drive_env import ArgumentError, ConfigError
from drive_env.tasks import (
    KNOWLEDGE,
    gates,
    hidden_closure,
    hidden_exit,
    occluded_crossing,
    optimal_scores,
    optimal_scores_on,
)
from drive_env.tasks.optimum import SUCCESS, all_but, in_a_row, one_of, optimum


@pytest.mark.parametrize(("choices", "trials", "memory", "features"), [
    (3, 3, (1 / 3, 2 / 3, 1), (1 / 3, 2 / 3, 2 / 3)),
    (4, 4, (1 / 4, 1 / 2, 3 / 4, 1), (1 / 4, 1 / 2, 1 / 2, 1 / 2)),
    (2, 2, (1 / 2, 1), (1 / 2, 1)),
    (5, 3, (1 / 5, 2 / 5, 3 / 5), (1 / 5, 2 / 5, 2 / 5)),
])
def test_the_optimal_scores_are_the_published_ones(choices, trials, memory, features):
    assert optimal_scores(choices, trials, "memory") == pytest.approx(memory)
    assert optimal_scores(choices, trials, "trial_features") == pytest.approx(features)
    assert optimal_scores(choices, trials, "none") == pytest.approx((1 / choices,) * trials)


@pytest.mark.parametrize(("task", "memory", "features", "none"), [
    (gates(2, 2, [0]), (1 / 4, 3 / 4), (1 / 4, 1 / 2), 1 / 4),
    (gates(2, 3, [0]), (1 / 4, 3 / 4, 1), (1 / 4, 1 / 2, 1 / 2), 1 / 4),
    (gates(3, 2, [0]), (1 / 8, 1 / 2), (1 / 8, 1 / 4), 1 / 8),
    (gates(1, 2, [0]), (1 / 2, 1), (1 / 2, 1), 1 / 2),
    (gates(1, 3, [0]), (1 / 2, 1, 1), (1 / 2, 1, 1 / 2), 1 / 2),
    (occluded_crossing(5, 2, [0]), (1 / 5, 1), (1 / 5, 2 / 5), 1 / 5),
    (hidden_closure(2, 3, [0]), (1 / 3, 2 / 3, 1), (1 / 3, 2 / 3, 2 / 3), 1 / 3),
    (hidden_closure(1, 2, [0]), (2 / 3, 1), (2 / 3, 1), 2 / 3),
    (hidden_closure(1, 3, [0]), (2 / 3, 1, 1), (2 / 3, 1, 2 / 3), 2 / 3),
    (hidden_exit(5, 2, [0], reveal_s=0.5), (1 / 5, 1), (1 / 5, 2 / 5), 1 / 5),
], ids=lambda value: getattr(value, "name", ""))
def test_the_optimal_scores_of_a_task_are_the_published_ones(task, memory, features, none):
    expected = (memory, features, (none,) * len(memory))
    assert task.optimal_scores == {knowledge: pytest.approx(scores)
                                   for knowledge, scores in zip(KNOWLEDGE, expected, strict=True)}


SMALL = [(one_of(3, False), 3), (one_of(3, True), 2), (in_a_row(2), 2), (all_but(1, 3), 3), (all_but(2, 4), 2)]


@pytest.mark.parametrize(("shown", "trials"), SMALL)
def test_no_policy_of_trial_features_is_better(shown, trials):
    """Plays every table from (trial, last outcome) to a choice."""
    values, best = range(len(shown[0])), 0
    for table in product(range(len(shown)), repeat=2 * trials - 1):
        successes = 0
        for hidden in values:
            success = False
            for trial in range(trials):
                success = shown[table[0 if trial == 0 else 2 * trial - 1 + success]][hidden] == SUCCESS
                successes += success
        best = max(best, successes)
    assert sum(optimum(shown, trials, "trial_features")) == pytest.approx(best / len(values))


@pytest.mark.parametrize("shown", [shown for shown, _ in SMALL])
def test_no_policy_with_memory_is_better_in_two_trials(shown):
    """Plays every first choice with every table from what the first trial showed to a second choice."""
    values, best = range(len(shown[0])), 0
    seen = sorted({one for choice in shown for one in choice})
    for first, *second in product(range(len(shown)), repeat=1 + len(seen)):
        after = dict(zip(seen, second, strict=True))
        best = max(best, sum((shown[first][hidden] == SUCCESS) + (shown[after[shown[first][hidden]]][hidden] == SUCCESS)
                             for hidden in values))
    assert sum(optimum(shown, 2, "memory")) == pytest.approx(best / len(values))


def test_bad_arguments_are_refused():
    with pytest.raises(ConfigError, match="choices is 6; it must be a whole number from 2 to 5"):
        optimal_scores(6, 3, "memory")
    with pytest.raises(ConfigError, match="trials is 0; it must be a whole number from 1 to 5"):
        gates(2, 0)
    with pytest.raises(ConfigError, match="knowledge is 'all'; it must be one of 'memory'"):
        optimal_scores(3, 3, "all")
    with pytest.raises(ConfigError, match="revealed is 'no'; it must be True or False"):
        optimal_scores(3, 3, "memory", revealed="no")


def test_arguments_of_other_types_are_errors_or_name_no_task():
    config = gates(seeds=[0]).config
    with pytest.raises(ArgumentError, match="parameters is None; it must be a dict of values by name"):
        optimal_scores_on("gates", None, config)
    assert optimal_scores_on(["gates"], {}, config) == {}
