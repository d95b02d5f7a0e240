"""Does a run learn, log, evaluate and end as configured?"""

import dataclasses
import json
import os
import re
import runpy
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")

from small import BUSY, run_here, run_module_here, tiny_config

from baselines import ppo, presets
from baselines import run as run_module
from baselines.config import EnvConfig, ModelConfig, PPOConfig, RunConfig, TrainConfig
from baselines.presets import PRESETS
from baselines.rollout.batches import scenes_of
from baselines.tools.curves import draw_curves
from drive_env import Batch, DriveConfig

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    reported = []
    config = tiny_config(folder, run={"evaluate_updates": 2})
    return config, ppo.train(config, reported.append), reported


def test_evaluations_play_as_many_scenes_as_the_config_says(tmp_path):
    lines = ppo.train(tiny_config(tmp_path, run={"evaluate_scenes": 2}, ppo={"agent_steps": 500})).lines
    played = [line["trials_n"] for line in lines if line["kind"] in ("random_policy", "evaluation")]
    assert played == [2 * 6 * 2] * 2, "two of the three scenes, six agents, two trials"


def test_a_run_leaves_lines_curves_and_a_checkpoint(run):
    config, result, reported = run
    folder = Path(config.run.folder)
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    assert lines == result.lines
    assert [line["kind"] for line in lines][:4] == ["start", "random_policy", "update", "update"]
    assert [line["kind"] for line in lines][-2:] == ["evaluation", "end"]
    updates = [line for line in lines if line["kind"] == "update"]
    numbers = list(range(1, len(updates) + 1))
    assert [line["update"] for line in updates] == [metrics["update"] for metrics in reported] == numbers
    assert (folder / "curves.png").exists()
    assert result.checkpoint.is_dir()


def test_each_metric_of_the_env_has_the_number_of_agents_it_is_the_mean_of(run):
    agents = 6 * 6
    for line in run[1].lines[1:-1]:
        for name in ("goal", "score", "timeout", "trial_length", "reward", "trial_0_score"):
            assert (line[name] is None) == (line[f"{name}_n"] == 0)
            assert line["kind"] != "update" or 0 <= line[f"{name}_n"] <= agents
        assert line["trials_n"] == line["trials"] >= line["goal_n"]
    updates = [line for line in run[1].lines if line["kind"] == "update"]
    assert updates[0]["goal_n"] < updates[-1]["goal_n"]
    assert all(line["goal_n"] % 6 == 0 for line in updates), "a world's agents enter together"


def test_steps_are_counted_once(run):
    agents = 6 * 6 * 16
    agent_steps = 0
    for line in (line for line in run[1].lines if line["kind"] == "update"):
        agent_steps += line["value_all_count"]
        assert line["env_steps"] == agents * line["update"]
        assert line["agent_steps"] == agent_steps
        assert line["loss_mask_share"] == pytest.approx(line["value_all_count"] / agents)


def test_metrics_by_bin_sum_to_the_whole(run):
    for line in (line for line in run[1].lines if line["kind"] == "update"):
        for bins in ("value_left_", "value_trial_"):
            parts = [name for name in line if name.startswith(bins) and name.endswith("_count")]
            assert sum(line[name] for name in parts) == line["value_all_count"]
            losses = sum(line[name] * (line[name.replace("_count", "_loss")] or 0) for name in parts)
            assert losses / line["value_all_count"] == pytest.approx(line["value_all_loss"])
        assert 0 < line["trial_end_rate"] < 1 and line["truncation_rate"] <= line["trial_end_rate"]
        assert line["parity_gap"] < 1e-4 and line["grad_norm"] > 0


def test_figures_of_single_trials_are_logged_where_an_episode_has_several(run, tmp_path):
    names = {"entropy_trial_0", "advantage_trial_0_mean", "advantage_trial_0_std", "entropy_trial_1",
             "advantage_trial_1_mean", "advantage_trial_1_std"}
    config, result, _ = run
    one = ppo.train(config.changed(ppo={"agent_steps": 500}, env={"drive": {"max_trials": 1}},
                                   run={"folder": str(tmp_path)}))
    logged = lambda lines: {name for line in lines for name in line if name.startswith(("entropy_t", "advantage_t"))}
    assert (logged(result.lines), logged(one.lines)) == (names, set())


WITH_OTHERS = {"partner_steps", "partner_steps_per_s", "expert_drives_share", "labelled_share"}
"""Metrics that only a run with partners or an expert has (test_partners.py, test_expert.py)."""


def test_the_table_of_the_docs_has_the_metrics_of_an_update(run):
    page = (ROOT / "baselines" / "README.md").read_text()
    table = page.partition("| metrics of an update |")[2].partition("\n\n")[0]
    written = {name for row in re.findall("^[|] (.*?) [|]", table, re.MULTILINE) for name in re.findall("`(.*?)`", row)}
    patterns = {re.sub("<[a-z]+>", "[0-9a-z]+", name) for name in written}
    update, evaluation = (next(line for line in run[1].lines if line["kind"] == kind)
                          for kind in ("update", "evaluation"))
    matches = {name: {pattern for pattern in patterns if re.fullmatch(pattern, name)}
               for name in update.keys() - evaluation.keys()}
    assert all(len(found) == 1 for found in matches.values()), matches
    assert set().union(*matches.values()) == patterns - WITH_OTHERS


@pytest.mark.parametrize("trials, model, warns", [
    (2, {"context": 47}, True), (2, {"context": 48}, False), (1, {"context": 5}, False),
    (2, {"memory": "none"}, False)])
def test_a_context_shorter_than_an_episode_of_several_trials_is_reported(tmp_path, capsys, trials, model, warns):
    config = tiny_config(tmp_path, ppo={"agent_steps": 100}, env={"drive": {"max_trials": trials}})
    ppo.train(config.changed(model=model))
    sentence = ("baselines: model.context is 47; to attend to all earlier trials of an episode it must be at least 48, "
                "max_trials 2 x 24 steps\n")
    assert (sentence in capsys.readouterr().err) == warns


def test_the_largest_seed_trains_and_resumes(tmp_path):
    """On resuming, and on every rank, numbers are added to it."""
    config = tiny_config(tmp_path, ppo={"agent_steps": 500}, run={"seed": 2**63 - 1})
    ppo.train(config)
    lines = ppo.train(config.changed(ppo={"agent_steps": 1000}, run={"resume": True})).lines
    assert lines[-1]["agent_steps"] >= 1000
    torch.manual_seed(config.run.seed + 10**9 + 1000 * ppo.RANK_SEED_STRIDE)


def test_the_same_seed_gives_the_same_run(run, tmp_path):
    config, result, _ = run
    again = ppo.train(config.changed(run={"folder": str(tmp_path / "again")}))
    for one, other in zip(result.policy.parameters(), again.policy.parameters()):
        assert torch.equal(one, other)
    other = ppo.train(config.changed(run={"folder": str(tmp_path / "other"), "seed": 5}))
    assert not all(torch.equal(p, q) for p, q in zip(result.policy.parameters(), other.policy.parameters()))


@pytest.mark.parametrize("progress", [False, True])
def test_a_failed_evaluation_is_reported_and_training_continues(tmp_path, monkeypatch, capsys, progress):
    def breaks(*_):
        raise RuntimeError("no scene today")

    monkeypatch.setattr(run_module, "evaluate", breaks)
    result = ppo.train(tiny_config(tmp_path, run={"evaluate_updates": 1, "progress": progress}))
    printed = [line for line in capsys.readouterr().err.splitlines() if " failed: " in line]
    assert printed[:2] == [f"baselines: {kind} failed: RuntimeError: no scene today"
                        for kind in ("random_policy at update 0", "evaluation at update 1")]
    failed = [line for line in result.lines if line["kind"] == "evaluation"]
    assert len(failed) == len([line for line in result.lines if line["kind"] == "update"]) >= 4
    assert failed[0]["error"] == "RuntimeError: no scene today" and "in breaks" in failed[0]["traceback"]


def test_evaluating_does_not_change_what_is_learned(run, tmp_path):
    config, result, _ = run
    without = ppo.train(config.changed(run={"folder": str(tmp_path), "evaluate_updates": 0}))
    for one, other in zip(result.policy.parameters(), without.policy.parameters()):
        assert torch.equal(one, other)


def test_a_target_kl_ends_the_epochs(tmp_path):
    steps = {kl: ppo.train(tiny_config(tmp_path / str(kl), ppo={
        "target_kl": kl, "epochs": 4, "agent_steps": 500, "learning_rate": 0.01})).lines[2]["optimizer_steps"]
        for kl in (1e-9, 1e9)}
    assert steps == {1e-9: 2, 1e9: 8}


@pytest.mark.parametrize("parts", [
    {"ppo": {"credit": "stop", "target_kl": 0.01}}, {"ppo": {"credit": "per_trial", "gamma_trial": 1.0}},
    {"model": {"memory": "none"}}, {"model": {"critic": "separate"}},
    {"env": {"drive": BUSY.drive.replace(action_type="continuous")}, "ppo": {"noise_correlation": 0.5}},
    {"env": {"drive": BUSY.drive.replace(action_type="multi_discrete", observation={"time_left": "actor"}),
             "env_groups": 2}},
    {"run": {"precision": "bfloat16"}, "env": {"drive": BUSY.drive.replace(observation={"type": "float16"})}},
    {"ppo": {"recompute_context": True, "warmup_updates": 2, "final_entropy_weight": 0.0}},
    {"env": {"drive": BUSY.drive.replace(observation={"partners": 0, "roads": 0}, max_trials=1)}},
], ids=str)
def test_every_switch_trains(tmp_path, parts):
    config = tiny_config(tmp_path).changed(**parts)
    lines = ppo.train(config.changed(ppo={"agent_steps": 1000})).lines
    assert all(line["value_loss"] is not None for line in lines if line["kind"] == "update")


@pytest.mark.parametrize("make, sentence", [
    (lambda: EnvConfig(num_worlds=0), "num_worlds is 0; it must be 1 or more"),
    (lambda: EnvConfig(scenes=()), "at least one name or path"),
    (lambda: ModelConfig(width=30, heads=4), "width is 30; it must be a multiple of 2 x heads = 8"),
    (lambda: ModelConfig(kv_heads=3), "kv_heads is 3; it must be a divisor of heads = 4"),
    (lambda: ModelConfig(kv_heads=-1), "kv_heads is -1; it must be a divisor of heads = 4"),
    (lambda: ModelConfig(kv_heads=0), "kv_heads is 0; it must be a divisor of heads = 4"),
    (lambda: EnvConfig(threads=-1), "threads is -1; it must be 0 or more"),
    (lambda: PPOConfig(gamma=1.5), "gamma is 1.5; it must be from 0 to 1"),
    (lambda: PPOConfig(clip=0.0), "clip is 0.0; it must be above 0"),
    (lambda: PPOConfig(final_entropy_weight=-0.1), "final_entropy_weight is -0.1; it must be 0 or more"),
    (lambda: RunConfig(folder="a", start_from="a/update-00000001", overwrite=True),
     "start_from is 'a/update-00000001'; it must be outside of 'a', which overwrite deletes"),
    (lambda: RunConfig(folder="b/../a", start_from="a/best", overwrite=True),
     "start_from is 'a/best'; it must be outside of 'b/../a', which overwrite deletes"),
    (lambda: PPOConfig(noise_correlation=1.0), "noise_correlation is 1.0; it must be from 0 to below 1"),
    (lambda: PPOConfig(noise_correlation=-0.1), "noise_correlation is -0.1; it must be from 0 to below 1"),
    (lambda: RunConfig(minutes=0.0), "minutes is 0.0; it must be above 0"),
    (lambda: RunConfig(seed=-1), "seed is -1; it must be from 0 to 9223372036854775807"),
    (lambda: RunConfig(seed=2**63), "seed is 9223372036854775808; it must be from 0 to 9223372036854775807"),
])
def test_a_value_out_of_range_is_an_error(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make()


@pytest.mark.parametrize("parts, sentence", [
    ({"ppo": {"minibatches": 5}}, "minibatches is 5; it must divide the 36 agents of a process evenly"),
    ({"env": {"env_groups": 4}}, "worlds is 6, 6 for this process; it must be divisible by its 4 env groups"),
    ({"env": {"scenes": ("nowhere.bin",)}}, "nowhere.bin"),
    ({"env": {"scenes": ("moon",)}}, "moon"),
    ({"env": {"drive": BUSY.drive.replace(observation={"type": "index"})}}, "it must be 'float32' or 'float16'"),
    ({"run": {"device": "cuda"}}, "device is 'cuda', but torch finds no GPU"),
    ({"run": {"device": "moon"}}, "device is 'moon'; it must be 'auto' or a device of torch"),
])
def test_a_config_that_does_not_fit_is_an_error(tmp_path, parts, sentence):
    if parts.get("run") and torch.cuda.is_available():
        pytest.skip("there is a GPU")
    with pytest.raises(ValueError, match=sentence):
        ppo.train(tiny_config(tmp_path).changed(**parts))


def test_a_loss_that_is_not_finite_ends_the_run(tmp_path, monkeypatch):
    real = ppo.ppo_losses
    monkeypatch.setattr(ppo, "ppo_losses", lambda *args: real(*args)._replace(total=real(*args).total * float("nan")))
    with pytest.raises(FloatingPointError, match="a loss of update 1 is not finite"):
        ppo.train(tiny_config(tmp_path))


def test_the_command_takes_presets_and_fields(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(run_module, "draw_curves", draw_curves)
    code, printed, errors = run_module_here(
        monkeypatch, capsys, "baselines.ppo", "small", "--run.folder", tmp_path / "run", "--ppo.agent-steps", 4000,
        "--run.no-progress", "--env.drive.trial-steps", 20, "--env.scene-count", 4)
    assert code == 0, errors
    assert "checkpoint: " in printed and (tmp_path / "run" / "curves.png").read_bytes()[:4] == b"\x89PNG"
    about = json.loads(next((tmp_path / "run").glob("update-*/config.json")).read_text())
    assert about["config"]["env"]["drive"]["trial_steps"] == 20
    code, _, printed = run_here(monkeypatch, capsys, ppo.main, "huge")
    assert code == 1 and f"it must be one of {', '.join(map(repr, PRESETS))}" in printed
    code, *printed = run_here(monkeypatch, capsys, ppo.main, "--env.drive.max-trials", "0")
    assert code != 0 and "max_trials is 0" in "".join(printed)


@pytest.mark.parametrize("rank, lines", [("0", 3), ("1", 0)])
def test_the_main_rank_alone_prints_where_a_run_is_saved(tmp_path, monkeypatch, capsys, rank, lines):
    place = tmp_path / "update-00000001"
    monkeypatch.setattr(ppo, "train", lambda config: ppo.Result(None, place, place, [{"kind": "end"}]))
    monkeypatch.setenv("RANK", rank)
    code, printed, errors = run_here(monkeypatch, capsys, ppo.main, "small", "--run.device", "cpu")
    assert (code, len(printed.splitlines())) == (0, lines), errors


def test_the_help_shows_meaning_and_unit_of_the_env_s_fields(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "200")
    code, printed, errors = run_here(monkeypatch, capsys, ppo.main, "--help")
    assert code == 0, errors
    field = next(field for field in dataclasses.fields(DriveConfig) if field.name == "dt_s")
    meaning, unit = field.metadata["meaning"], field.metadata["unit"]
    assert f"{meaning} [{unit}]" in re.sub(r"[\s\u2502]+", " ", printed)


def test_the_help_names_every_preset(monkeypatch, capsys):
    code, printed, errors = run_here(monkeypatch, capsys, ppo.main, "--help")
    assert code == 0, errors
    assert set(PRESETS) <= set(re.findall(r"\w+", printed.partition("Presets:")[2].partition("options")[0]))


@pytest.mark.parametrize("command", ["ppo", "evaluate", "tools.preflight"])
def test_without_the_extra_a_command_is_one_sentence(tmp_path, command):
    (tmp_path / "sitecustomize.py").write_text(
        "import importlib.util as util\nfind = util.find_spec\n"
        "util.find_spec = lambda name, *rest: None if name == 'tyro' else find(name, *rest)\n")
    done = subprocess.run([sys.executable, "-m", f"baselines.{command}"], cwd=ROOT, capture_output=True, text=True,
                          timeout=300, check=False, env=os.environ | {"PYTHONPATH": str(tmp_path)})
    assert done.returncode == 1
    assert done.stderr == 'baselines needs tyro; install it in the checkout with: pip install -e ".[train]"\n'


IMPORT_INTERRUPTED = """
import signal, sys
class Finder:
    def find_spec(name, *_):
        if name == "torch.nn":
            signal.raise_signal(signal.SIGINT)
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.meta_path.insert(0, Finder)
"""


@pytest.mark.parametrize("command", ["ppo", "evaluate", "ablate", "tools.inspect"])
def test_a_command_interrupted_during_its_imports_prints_one_line(tmp_path, command):
    (tmp_path / "sitecustomize.py").write_text(IMPORT_INTERRUPTED)
    done = subprocess.run([sys.executable, "-m", f"baselines.{command}"], cwd=ROOT, capture_output=True, text=True,
                          timeout=240, check=False, env=os.environ | {"PYTHONPATH": str(tmp_path)})
    assert (done.returncode, done.stdout, done.stderr) == (130, "", f"baselines.{command}: interrupted\n")


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_fits_one_and_two_env_groups(name):
    config = PRESETS[name]
    assert config.env.num_worlds % 2 == 0
    scene = scenes_of(replace(config.env, scene_count=1, scene_counts={}))
    with Batch(scene, config=config.env.drive) as batch:
        assert config.env.num_worlds * batch.num_agents % config.ppo.minibatches == 0
    assert isinstance(config, TrainConfig) and isinstance(config.env.drive, DriveConfig)


def run_example(monkeypatch, capsys, *arguments):
    """The exit code, stdout and stderr of the example, on two scenes."""
    with monkeypatch.context() as patch:
        patch.setattr(presets, "SMALL", presets.SMALL.changed(env={"scene_count": 2}))
        return run_here(patch, capsys, lambda: runpy.run_path(str(ROOT / "examples" / "train.py")), *arguments)


def test_the_example_is_short_and_runs(tmp_path, monkeypatch, capsys):
    """In the folder that is named."""
    code = (ROOT / "examples" / "train.py").read_text().split('"""')[2]
    assert len([line for line in code.splitlines() if line.strip()]) <= 15
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(run_module, "draw_curves", draw_curves)
    code, printed, errors = run_example(monkeypatch, capsys, "0.02", "named")
    assert code == 0, errors
    assert "trained: " in printed and (tmp_path / "named" / "curves.png").read_bytes()[:4] == b"\x89PNG"


def test_each_run_of_the_example_has_a_folder_of_its_own(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        run_example(monkeypatch, capsys, "0.02")
    folders = [*(tmp_path / "runs").iterdir()]
    assert len(folders) == 2 and all((folder / "curves.png").exists() for folder in folders)
