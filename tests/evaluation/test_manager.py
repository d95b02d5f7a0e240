"""Does a training evaluate when it is due, and does a failure of one evaluator leave the others?"""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from drive_env import ConfigError, MissingExtraError
from drive_env.evaluation import EvalManager, MultiScenario, load_result
from drive_env.evaluation.result import sha256_of

SMALL = {"scenes": ["intersection"], "scene_count": 3, "scene_agents": 3, "env": {"trial_steps": 20}}


def evaluator(name="towns", **settings):
    return MultiScenario(name, {**SMALL, **settings})


class Broken(MultiScenario):
    def rollout(self, *arguments, **options):
        raise ZeroDivisionError("of the evaluator")


class Exiting(MultiScenario):
    def rollout(self, *arguments, **options):
        raise SystemExit("of the evaluator")


def command_of(text):
    """A command that runs Python code with the paths of checkpoint and result as arguments."""
    return lambda checkpoint, evaluator, out: [sys.executable, "-c", text, str(checkpoint), str(out)]


def test_an_evaluator_is_due_at_its_interval_and_at_the_end():
    manager = EvalManager([evaluator("two", interval=2), evaluator("three", interval=3),
                           evaluator("never", interval=0), evaluator("off", enabled=False, interval=1)])
    names = lambda *when: [one.name for one in manager.due(*when)]
    assert [names(update) for update in range(1, 7)] == [[], ["two"], ["three"], ["two"], [], ["two", "three"]]
    assert names(7, True) == ["two", "three"] == names(6, True)


def test_a_failure_is_printed_and_counted_and_the_others_go_on(tmp_path):
    printed = []
    manager = EvalManager([evaluator("a", interval=1), Broken("b", {**SMALL, "interval": 1}),
                           evaluator("c", interval=2)], tmp_path / "results", report=printed.append)
    one, two = list(manager.maybe_run(1, "constant")), list(manager.maybe_run(2, "constant"))
    assert [(found.name, found.result is None, found.failures) for found in one + two] == [
        ("a", False, 0), ("b", True, 1), ("a", False, 1), ("b", True, 2), ("c", False, 2)]
    assert manager.failures == 2 and len(printed) == 2
    assert "evaluator b failed after update 1:\nTraceback" in printed[0] and "of the evaluator" in printed[0]
    line = one[1].line()
    assert line["failure"] == "ZeroDivisionError: of the evaluator" and "in rollout" in line["traceback"]
    assert sorted(path.name for path in (tmp_path / "results").glob("*.json")) == ["a.json", "c.json"]


def test_an_evaluator_that_ends_the_process_is_a_failure_and_an_interrupt_is_none():
    """The first would end the training without a word; the second is meant to end it."""
    printed = []
    manager = EvalManager([Exiting("a", {**SMALL, "interval": 1}), evaluator("b", interval=1)], report=printed.append)
    found = list(manager.maybe_run(1, "constant"))
    assert found[0].error == "SystemExit: of the evaluator" and len(printed) == 1 and found[1].result is not None

    def interrupted(batch):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(manager.maybe_run(2, interrupted))
    with pytest.raises(ConfigError, match="evaluators holds 3; it must hold evaluators"):
        EvalManager([3])


def test_a_line_has_every_figure_with_its_rows_and_its_interval(tmp_path):
    manager = EvalManager([evaluator(interval=1)], tmp_path)
    found, = manager.maybe_run(5, "random")
    line, plain = found.line(), evaluator(interval=1).rollout("random")
    json.dumps(line, allow_nan=False)
    for name, figure in plain.metrics.items():
        assert line[f"eval/towns/{name}"] == figure.value and line[f"eval/towns/{name}_n"] == figure.n
        assert line[f"eval/towns/{name}_ci95"] == (figure.ci95 and list(figure.ci95))
    assert (line["eval/towns/expected"], line["eval/towns/played"]) == (3, 3) and line["eval/towns/score_n"] == 9
    assert line["eval/towns/eval_seconds"] >= found.result.seconds["total"] > 0 == line["eval_failures"]
    assert load_result(tmp_path / "towns.json").metrics == plain.metrics
    assert line["eval/towns/config_sha256"] == plain.config_sha256 == evaluator(interval=3).config_sha256
    assert evaluator(interval=1, seed=1).config_sha256 != plain.config_sha256


def test_of_groups_a_line_has_the_score():
    matrix = EvalManager([evaluator("plain", interval=1)])
    found, = matrix.maybe_run(1, "constant")
    groups = {"a group": found.result.metrics}
    object.__setattr__(found.result, "groups", groups)
    assert found.line()["eval/plain/a group/score_n"] == 9


def test_when_an_evaluator_runs_is_no_part_of_what_it_plays():
    """Results of a training and of the command can be compared."""
    plain, often = evaluator(), evaluator(interval=7, mode="subprocess", timeout_s=5, enabled=False)
    assert plain.hashed() == often.hashed() and plain.resolved() != often.resolved()
    assert plain.rollout("constant").config_sha256 == sha256_of(often.hashed())
    assert sha256_of(plain.hashed()) != sha256_of(evaluator(seed=1).hashed())


# ---- a process of its own ----


def in_process(folder, text, **settings):
    printed = []
    manager = EvalManager([evaluator(interval=1, mode="subprocess", **settings)], folder, command_of(text),
                          report=printed.append)
    found, = manager.maybe_run(1, "constant", Path("update-1"))
    return found, printed


def test_the_result_of_a_process_is_read(tmp_path):
    text = ("import sys; from drive_env.evaluation import MultiScenario\n"
            f"MultiScenario('towns', {SMALL!r}).rollout('random', policy_name=sys.argv[1]).save(sys.argv[2])\n")
    found, printed = in_process(tmp_path, text)
    inline = evaluator().rollout("random")
    assert not printed and found.result.metrics == inline.metrics and found.result.policy == "update-1"
    assert all(np.array_equal(found.result.rows[name], column, equal_nan=column.dtype.kind == "f")
               for name, column in inline.rows.items())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["towns.episodes.csv", "towns.json"]
    found, _ = in_process(tmp_path, text + "sys.exit(3)")  # an episode was not played: the result says so
    assert found.result is not None


@pytest.mark.parametrize("text, sentence", [
    ("import sys; sys.exit('no such evaluator')",
     "the process of evaluator towns ended with exit code 1 and wrote no result; its stderr ends with: no such evalua"),
    ("pass", "ended with exit code 0 and wrote no result; its stderr ends with: (nothing)"),
    ("import sys; open(sys.argv[2], 'w').write('{}')", "not a result of an evaluation"),
    ("import sys; open(sys.argv[2], 'w').write('{}'); sys.exit(1)", "ended with exit code 1; its stderr ends with: "),
    (f"import sys; from drive_env.evaluation import MultiScenario\n"
     f"MultiScenario('other', {SMALL!r}).rollout('constant').save(sys.argv[2])",
     "the process of evaluator towns had other settings than this one"),
    ("import sys, time; print('began', file=sys.stderr, flush=True); time.sleep(60)",
     "the process of evaluator towns took more than its timeout_s of 2; its stderr ends with: began")])
def test_a_process_without_a_result_is_a_failure_and_leaves_the_last_result(tmp_path, text, sentence):
    evaluator().rollout("constant").save(tmp_path / "towns.json")
    before = (tmp_path / "towns.json").read_bytes()
    found, printed = in_process(tmp_path, text, timeout_s=2 if "sleep" in text else 60)
    assert found.result is None and sentence in found.error and sentence in printed[0]
    assert (tmp_path / "towns.json").read_bytes() == before and len(list(tmp_path.iterdir())) == 2


def test_a_manager_that_could_not_run_its_evaluators_is_an_error():
    for evaluators, folder, sentence in (
            ([evaluator(), evaluator()], None, "evaluators has 'towns' twice"),
            ([evaluator(mode="subprocess")], None, "mode of eval.towns is 'subprocess'; without a folder and a"),
            ([evaluator("a/b")], Path("results"), "the name of an evaluator is 'a/b'; for a file of results"),
            ([evaluator("Towns"), evaluator("towns")], Path("results"), "the names 'Towns' and 'towns'; for files of")):
        with pytest.raises(ConfigError, match=sentence):
            EvalManager(evaluators, folder)


@pytest.mark.parametrize("name", ["..", ".", ".a", "a.", "-a", "a b", "a\n", "a:b", "a\\b", "st\u00e4dte", "a" * 101])
def test_a_name_that_is_no_file_on_every_system_is_refused_with_the_characters_that_are_allowed(name):
    EvalManager([evaluator(name)])  # without files, any text is a name
    with pytest.raises(ConfigError, match="must consist of at most 100 of the letters A to Z and a to z, digits, '_'"):
        EvalManager([evaluator(name)], Path("results"))


@pytest.mark.parametrize("name", ["CON", "nul", "Aux.towns", "com1", "LPT9.a.b"])
def test_a_name_of_a_device_on_windows_is_refused(name):
    with pytest.raises(ConfigError, match=f"is '{name}', which is that of a device on Windows; for a file of results"):
        EvalManager([evaluator(name)], Path("results"))


@pytest.mark.parametrize("name", ["towns", "Towns-2.5_b", "_", "0", "a" * 100, "con-1", "com", "console", "a.con"])
def test_a_name_of_letters_and_digits_is_a_file(name):
    EvalManager([evaluator(name)], Path("results"))


def test_a_missing_extra_is_found_before_the_training(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "av", None)
    films = {"render": True, "render_scenes": 1, "render_steps": 9}
    EvalManager([evaluator(**films)], Path("results"))  # replay pages need no extra
    with pytest.raises(MissingExtraError, match="drawing needs av"):
        EvalManager([evaluator(**films, render_views=("follow",))], Path("results"))
    with pytest.raises(MissingExtraError, match="drawing needs av"):
        evaluator(**films, render_views=("scene",)).rollout("random", out=tmp_path / "a.json")
