"""Do the evaluators of a training change nothing in it, and measure what their own command measures?"""

import json
import shutil

import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")

from small import run_module_here, tiny_config

from baselines.evaluations import undisturbed
from baselines.ppo import train
from baselines.tools import checkpoint
from baselines.tools.compared import cautions, read_run
from baselines.tools.curves import draw_curves
from baselines.tools.same_settings import parts
from drive_env.evaluation import load_result

TOML = """
[eval.small]
scene_count = 2
scene_agents = 4
interval = 2
render = true
render_scenes = 1
render_steps = 30

[eval.inside]
type = "multi_scenario"
inherits = "small"

[eval.outside]
type = "multi_scenario"
inherits = "small"
mode = "subprocess"

[eval.logs]
type = "human_replay"
inherits = "small"

[eval.never]
type = "multi_scenario"
interval = 0
"""


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Two runs that differ in their evaluators alone: results of `train`, without evaluators first."""
    folder = tmp_path_factory.mktemp("runs")
    (folder / "eval.toml").write_text(TOML)
    found = []
    for name, evaluators in (("plain", None), ("evaluated", folder / "eval.toml")):
        torch.manual_seed(0)
        found.append(train(tiny_config(folder / name, ppo={"agent_steps": 1500}, run={"evaluators": evaluators})))
    return found


def of_kind(result, kind):
    return [line for line in result.lines if line["kind"] == kind]


def of_evaluators(result):
    return [line for line in of_kind(result, "evaluation") if "evaluator" in line]


def test_evaluators_change_no_byte_of_a_training(runs):
    """Neither weights nor moments, nor the rollout that a resumed run continues, nor what is logged of an update."""
    plain, evaluated = runs
    for name in ("weights", "optimizer", "rank-0"):
        files = [result.checkpoint / f"{name}.safetensors" for result in runs]
        assert files[0].read_bytes() == files[1].read_bytes(), name
    without_times = lambda result: [
        {name: value for name, value in line.items() if not name.startswith("time_") and not name.endswith("_per_s")}
        for line in result.lines
        if line["kind"] in ("update", "evaluation", "random_policy") and "evaluator" not in line]
    assert without_times(plain) == without_times(evaluated) and len(of_kind(plain, "update")) == 3
    assert not of_evaluators(plain) and of_kind(plain, "evaluation")


def test_evaluators_run_at_their_interval_and_at_the_end_and_a_failure_leaves_the_others(runs):
    lines = of_evaluators(runs[1])
    assert [(line["update"], line["evaluator"], "failure" in line) for line in lines] == [
        (update, name, name == "logs") for update in (2, 3) for name in ("inside", "outside", "logs")]
    assert [line["eval_failures"] for line in lines] == [0, 0, 1, 1, 1, 2]
    assert "intersection/10000000 has no log" in lines[2]["failure"] and "Traceback" in lines[2]["traceback"]


def test_an_evaluator_in_a_process_of_its_own_measures_the_same(runs):
    folder = runs[1].checkpoint.parent / "evaluations"
    inside, outside = (load_result(folder / f"{name}.json") for name in ("inside", "outside"))
    assert inside.metrics == outside.metrics and inside.metrics["distance_m"].value > 0
    for name in ("sha256", "update", "steps"):
        assert inside.checkpoint[name] == outside.checkpoint[name]
    about = json.loads((runs[1].checkpoint / "config.json").read_text())
    assert inside.checkpoint["sha256"] == about["files"]["weights.safetensors"] and inside.checkpoint["update"] == 3
    line = of_evaluators(runs[1])[-3]
    assert line["eval/inside/score_n"] == inside.metrics["score"].n == 16
    assert line["eval/inside/offroad_ci95"] == list(inside.metrics["offroad"].ci95)


def test_pages_of_each_evaluation_are_in_the_folder_of_the_run_and_in_the_log(runs):
    """In a process of its own, the same episode is shown, byte for byte."""
    folder, pages = runs[1].checkpoint.parent / "evaluations", {}
    for line in of_evaluators(runs[1]):
        name = line["evaluator"]
        if name != "logs":
            file, = line[f"eval/{name}/renders"]
            assert f"_u{line['update']}_replay.html" in file and line[f"eval/{name}/render_seconds"] > 0
            pages[name, line["update"]] = (folder / file).read_bytes()
    assert len(pages) == 4 and all(pages["inside", update] == pages["outside", update] for update in (2, 3))
    assert {path.name for path in folder.iterdir() if path.is_dir()} == {"films"}


def test_the_command_plays_a_section_as_the_training_did(runs, tmp_path, monkeypatch, capsys):
    folder = runs[1].checkpoint.parent
    code, _, errors = run_module_here(
        monkeypatch, capsys, "baselines.evaluate", folder, "--config", folder / "evaluators.toml", "--evaluator",
        "inside", "--out", tmp_path / "inside.json", "--no-bounds")
    assert code == 0, errors
    one, other = load_result(tmp_path / "inside.json"), load_result(folder / "evaluations" / "inside.json")
    assert (one.metrics, one.config_sha256) == (other.metrics, other.config_sha256)
    assert set(one.rows["scene"]) == {"intersection/10000000", "intersection/10000001"}


@pytest.mark.parametrize("options, sentence", [
    (("--out", "a.json"), "--out is set; it needs --evaluator or --config"),
    (("--shard", "0/2"), "--shard is set; it needs --evaluator or --config"),
    (("--all",), "--all is set; it needs --config, and no --evaluator beside it"),
    (("--evaluator", "towns"), "evaluator is 'towns'; it must be one of 'multi_scenario'"),
    (("--evaluator", "multi_scenario", "--scene-count", "2", "--set", "scene_count=3"),
     "--scene-count and --set scene_count are both set; at most one may be")])
def test_an_option_without_effect_is_one_sentence(runs, options, sentence, monkeypatch, capsys):
    code, _, errors = run_module_here(monkeypatch, capsys, "baselines.evaluate", runs[0].checkpoint, *options)
    assert code == 1 and errors.strip().startswith(f"baselines.evaluate: {sentence}")


def test_curves_have_a_panel_for_each_evaluator(runs, tmp_path):
    draw_curves(runs[1].lines, tmp_path / "curves.png")
    plain = [line for line in runs[1].lines if "evaluator" not in line]
    draw_curves(plain, tmp_path / "plain.png")
    assert (tmp_path / "curves.png").read_bytes() != (tmp_path / "plain.png").read_bytes()


def test_a_run_copies_its_evaluators_and_overwriting_deletes_them(runs, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(runs[1].checkpoint.parent, folder)
    assert (folder / "evaluators.toml").read_text() == TOML
    train(tiny_config(folder, ppo={"agent_steps": 500}, run={"overwrite": True}))
    assert not (folder / "evaluators.toml").exists() and not (folder / "evaluations").exists()


def test_a_run_that_is_resumed_with_other_evaluators_says_which_and_its_figures_are_kept_apart(runs, tmp_path, capsys):
    """The section that is as before is not named, whatever its schedule; neither is one that has not run before."""
    folder = tmp_path / "run"
    shutil.copytree(runs[1].checkpoint.parent, folder)
    sections = TOML.replace('mode = "subprocess"', "episodes = 2").replace("interval = 2", "interval = 1")
    (tmp_path / "eval.toml").write_text(sections.replace("[eval.logs]", "[eval.further]").replace(
        '"human_replay"', '"multi_scenario"'))
    config = tiny_config(folder, ppo={"agent_steps": 2000}, run={"resume": True, "evaluators": tmp_path / "eval.toml",
                                                                "evaluate_scenes": 2})
    resumed = train(config)
    sentence = ("baselines: run.evaluate_scenes is 2 and was None before; the section eval.outside of run.evaluators "
                "has other settings than before; the figures of such evaluations after update 3 cannot be compared "
                "with those before it\n")
    assert capsys.readouterr().err.count(sentence) == 1
    starts = of_kind(resumed, "start")
    assert [line.get("evaluation_changed") for line in starts] == [None, ["run.evaluate_scenes", "eval.outside"]]
    of = {name: [[line["update"] for line in part] for part in parts(resumed.lines, name)]
          for name in (None, "inside", "outside", "further")}
    assert of == {None: [[3], [4]], "inside": [[2, 3, 4]], "outside": [[2, 3], [4]], "further": [[4]]}

    # A curve has the evaluations with the newest settings.
    inside, outside = (read_run(folder, "score", name) for name in ("inside", "outside"))
    assert (len(inside.values), inside.left_out, len(outside.values), outside.left_out) == (3, 0, 1, 2)
    before = read_run(runs[1].checkpoint.parent, "score", "outside")
    assert cautions([[before]]) == [] and cautions([[inside], [inside]]) == []
    assert cautions([[before], [outside]]) == [
        f"'{folder}' was resumed with other settings of its evaluations; earlier ones that are left out: 2",
        f"the evaluator has other settings in '{folder}' than in '{before.folder}', so the figures are of different "
        "episodes"]
    draw_curves(resumed.lines, tmp_path / "cut.png")
    joined = [{name: value for name, value in line.items() if not name.endswith("sha256")} for line in resumed.lines]
    draw_curves(joined, tmp_path / "joined.png")
    assert (tmp_path / "cut.png").read_bytes() != (tmp_path / "joined.png").read_bytes()


@pytest.mark.parametrize("text, sentence", [
    ('[eval.a]\ntype = "best"', "type of eval.a is 'best'; it must be one of"),
    ('[eval.a]\ntype = "multi_scenario"\ninterval = 0', "it must have a section with a type that is enabled and has"),
    ('[eval.a]\ntype = "behaviour_class"\nscenes = ["nowhere"]', "nowhere"),
    ('[eval.a]\ntype = "multi_scenario"\nenv.observation.partners = 3',
     "eval.a: the policy was trained on other observations than those of this batch")])
def test_evaluators_that_do_not_fit_are_an_error_before_the_old_run_is_deleted(runs, tmp_path, text, sentence):
    folder = tmp_path / "run"
    shutil.copytree(runs[0].checkpoint.parent, folder)
    (tmp_path / "eval.toml").write_text(text)
    with pytest.raises(ValueError, match=sentence):
        train(tiny_config(folder, run={"overwrite": True, "evaluators": tmp_path / "eval.toml"}))
    assert checkpoint.checkpoints(folder)


def test_a_policy_in_training_is_left_as_it_was_also_on_an_exception():
    policy = torch.nn.Sequential(torch.nn.Dropout(), torch.nn.Dropout())
    policy[1].eval()
    state = torch.get_rng_state()
    with pytest.raises(ZeroDivisionError), undisturbed(policy, torch.device("cpu"), False):
        assert not policy[0].training and not torch.is_grad_enabled()
        torch.rand(3)
        raise ZeroDivisionError
    assert (policy.training, policy[0].training, policy[1].training) == (True, True, False)
    assert torch.equal(torch.get_rng_state(), state) and torch.is_grad_enabled()
