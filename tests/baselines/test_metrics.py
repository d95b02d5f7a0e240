"""Do the metrics of an update equal their definitions, and does a log store them?"""

import json
import math

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")

from small import ALONE, LONG, clone, make_collector

from baselines.gae import advantages
from baselines.tools import log as log_module
from baselines.tools.curves import CURVES, draw_curves, panels_of, words_of
from baselines.tools.log import Log
from baselines.tools.log_file import read_lines
from baselines.tools.metrics import LEFT_EDGES, rollout_metrics, to_floats


def test_metrics_by_steps_left_and_by_trial_are_those_of_the_steps_in_the_bin():
    collector = make_collector(LONG)
    for _ in range(6):
        buffer = clone(collector.collect())
    # Every edge and its neighbours occur.
    around = torch.tensor([edge + off for edge in LEFT_EDGES for off in (-1, 0, 1)] + [0, 1000], dtype=torch.int32)
    buffer.steps_left = around[torch.arange(buffer.steps_left.numel()) % len(around)].view(buffer.steps_left.shape)
    _, returns = advantages(buffer.steps(), 0.97, 0.9)
    found = to_floats(rollout_metrics(buffer, returns, 2, ALONE))
    loss_mask = buffer.loss_mask
    bins = list(zip((0, *LEFT_EDGES), (*LEFT_EDGES, math.inf)))
    masks = {f"left_{low}_{'up' if high == math.inf else high}":
             loss_mask & (buffer.steps_left >= low) & (buffer.steps_left < high) for low, high in bins}
    masks |= {f"trial_{trial}": loss_mask & (buffer.trial_index == trial) for trial in range(2)} | {"all": loss_mask}
    for name, mask in masks.items():
        wanted, error = returns[mask].double(), (returns - buffer.values)[mask].double()
        assert found[f"value_{name}_count"] == mask.sum() > 0
        assert found[f"value_{name}_loss"] == pytest.approx(0.5 * error.square().mean().item())
        explained = 1 - error.var(correction=0) / wanted.var(correction=0)
        assert found[f"value_{name}_explained"] == pytest.approx(explained.item(), rel=1e-4, abs=1e-6)
    for name, flag in (("termination", buffer.terminations), ("truncation", buffer.truncation),
                       ("truncation_of_episode", buffer.truncations), ("trial_end", buffer.trial_ended)):
        assert found[f"{name}_rate"] == pytest.approx(flag.float().mean().item())
    assert found["loss_mask_share"] == pytest.approx(loss_mask.float().mean().item())


def test_a_log_has_null_for_nan_and_drops_lines_after_the_resumed_update(tmp_path):
    counters = lambda update: {"update": update, "agent_steps": 10 * update, "env_steps": 20 * update}
    log = Log(tmp_path, mute=False)
    for update in (1, 2, 3):
        log.write("update", counters(update), {"goal": math.nan if update == 1 else 0.5, "kl": 0.01 * update})
    log.close()
    lines = read_lines(tmp_path / "metrics.jsonl")
    assert [line["goal"] for line in lines] == [None, 0.5, 0.5]
    Log(tmp_path, mute=False, resumed=2).close()
    assert read_lines(tmp_path / "metrics.jsonl") == lines[:2]
    draw_curves(lines, tmp_path / "curves.png")
    assert (tmp_path / "curves.png").read_bytes()[:4] == b"\x89PNG"
    for line in (tmp_path / "metrics.jsonl").read_text().splitlines():
        json.loads(line, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))


def test_the_bar_shows_the_share_of_the_run_that_is_done(tmp_path):
    log = Log(tmp_path, mute=False, share_done=lambda: 0.25)
    log.write("update", {"update": 1, "agent_steps": 1, "env_steps": 1}, {"goal": 0.5})
    task = log._progress._bar.tasks[0]
    log.close()
    assert task.percentage == 25


def test_the_curves_of_several_trials_have_panels_of_their_own():
    line = lambda *names: {"kind": "update", "agent_steps": 1, **dict.fromkeys(names, 0.5)}
    assert panels_of([]) == panels_of([line("trial_0_score")]) == list(CURVES)
    panels = panels_of([line("trial_0_score", "trial_1_score", "entropy_trial_0")])
    assert panels[: len(CURVES)] == list(CURVES) and len(panels) == len(CURVES) + 4
    assert panels[len(CURVES)] == ("trial_0_score", "trial_1_score")


def test_curves_count_trials_from_one():
    assert [words_of(name) for name in ("trial_0_score", "value_trial_1_explained", "entropy_trial_11", "grad_norm")
            ] == [("trial 1", "score"), ("trial 2", "value explained"), ("trial 12", "entropy"), ("grad norm", "")]


def test_a_mute_log_writes_nothing(tmp_path):
    log = Log(tmp_path / "run", mute=True, tensorboard=True, wandb=True)
    log.write("update", {"update": 1, "agent_steps": 1, "env_steps": 1}, {"goal": 1.0})
    log.close()
    assert not (tmp_path / "run").exists()


COUNTERS = {"update": 4, "agent_steps": 70, "env_steps": 90}


class FakeWandb:
    """The parts of W&B that a log uses; no test logs to a server."""

    def __init__(self):
        self.logged, self.begun, self.id = [], [], "made-by-wandb"

    def init(self, **options):
        self.begun.append(options)
        return self

    def log(self, values):
        self.logged.append(values)

    def finish(self):
        pass

    def Video(self, path, format):
        return "video", path, format

    def Html(self, text, inject):
        return "page", text, inject


def test_films_and_pages_are_shown_in_wandb(tmp_path, monkeypatch):
    wandb = FakeWandb()
    monkeypatch.setattr(log_module, "check_loggers", lambda *loggers: (None, wandb))
    (tmp_path / "a.html").write_text("<p>")
    log = Log(tmp_path / "run", mute=False, wandb=True)
    log.show(COUNTERS, {"eval/towns/replay/0": tmp_path / "a.html", "eval/towns/scene/0": tmp_path / "b.mp4"})
    log.show(COUNTERS, {})
    log.close()
    assert wandb.logged == [{"eval/towns/replay/0": ("page", "<p>", False), **COUNTERS,
                             "eval/towns/scene/0": ("video", str(tmp_path / "b.mp4"), "mp4")}]


def test_a_resumed_run_continues_its_own_run_in_wandb(tmp_path, monkeypatch):
    wandb, named = FakeWandb(), {"project": "cars", "name": "first"}
    monkeypatch.setattr(log_module, "check_loggers", lambda *loggers: (None, wandb))
    for resumed in (0, 3, 0):
        Log(tmp_path / "run", mute=False, resumed=resumed, wandb=True, wandb_options=named).close()
    fresh = {"dir": str(tmp_path / "run"), "config": None, **named}
    assert wandb.begun == [fresh, {**fresh, "id": "made-by-wandb", "resume": "allow"}, fresh]


def test_lines_of_evaluations_are_not_wrapped_in_a_file(tmp_path, monkeypatch):
    """A file has no width; rich takes 80 columns for it."""
    import io
    import sys

    monkeypatch.setattr(sys, "stdout", io.StringIO())
    log = Log(tmp_path / "run", mute=False, share_done=lambda: 0.5)
    figures = dict.fromkeys(("goal", "score", "collision", "offroad"), 0.25)
    name = "a_name_so_long_that_a_line_of_80_columns_cannot_hold_it"
    log.write("random_policy", COUNTERS, figures)
    log.write("evaluation", COUNTERS, {"evaluator": name} | {f"eval/{name}/{one}": 0.25 for one in figures})
    log.close()
    lines = sys.stdout.getvalue().splitlines()
    assert "random_policy at update 4: goal 0.250, score 0.250, collision 0.250, offroad 0.250" in lines
    assert f"evaluator {name} at update 4: score 0.250, goal 0.250, collision 0.250, offroad 0.250" in lines


def test_a_film_is_an_animation_in_tensorboard(tmp_path):
    """As the reader of TensorBoard finds it: a GIF with the pictures of the film, under the tag and the step."""
    for package in ("av", "PIL", "tensorboard"):
        pytest.importorskip(package)
    from io import BytesIO

    from PIL import Image
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    from drive_env.render import write_video

    shades = (0, 80, 160, 240)
    write_video([np.full((120, 960, 3), shade, np.uint8) for shade in shades], tmp_path / "film.mp4", fps=10)
    log = Log(tmp_path / "run", mute=False, tensorboard=True)
    log.show(COUNTERS, {"eval/towns/scene/0": tmp_path / "film.mp4"})
    log.close()
    events = EventAccumulator(str(tmp_path / "run")).Reload()
    event, = events.Images("eval/towns/scene/0")
    assert (event.step, event.width, event.height) == (70, 480, 60)
    with Image.open(BytesIO(event.encoded_image_string)) as gif:
        found = []
        for number in range(gif.n_frames):
            gif.seek(number)
            found.append(np.asarray(gif.convert("L")).mean())
    assert found == pytest.approx(shades, abs=12)


def test_a_film_that_cannot_be_shown_is_reported_and_training_goes_on(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(log_module, "check_loggers", lambda *loggers: (None, FakeWandb()))
    log = Log(tmp_path / "run", mute=False, wandb=True)
    log.show(COUNTERS, {"eval/towns/replay/0": tmp_path / "missing.html"})
    log.close()
    assert "films at update 4 are not shown: FileNotFoundError" in capsys.readouterr().err


@pytest.mark.parametrize("logger", ["tensorboard", "wandb"])
def test_a_missing_logger_is_an_error(tmp_path, logger, monkeypatch):
    import importlib

    real = importlib.import_module

    def without(name, *rest):
        if logger in name:
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(importlib, "import_module", without)
    with pytest.raises(ImportError, match=f"logging to {logger} needs it; install it with: pip install {logger}"):
        Log(tmp_path, mute=False, **{logger: True})
