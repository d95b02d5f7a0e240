"""Does a signal end a run with a checkpoint, or at once where it is sent twice?"""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")

from small import tiny_config

from baselines import run as run_module
from baselines.ppo import train
from baselines.tools import checkpoint
from baselines.tools.interrupts import Interrupted
from baselines.tools.log_file import read_lines

ROOT = Path(__file__).resolve().parents[2]


def interrupt_in(update, times=1):
    """An `on_update` that sends signals to this process."""
    def on_update(figures):
        if figures["update"] == update:
            for _ in range(times):
                signal.raise_signal(signal.SIGINT)

    return on_update


def test_an_interrupted_run_resumes_bit_for_bit(tmp_path):
    config = lambda name, **run: tiny_config(tmp_path / name, ppo={"anneal": False}, run=run)
    whole = train(config("whole"))
    with pytest.raises(Interrupted, match="interrupted after update 3; checkpoint: .*update-00000003, curves: .*png"):
        train(config("cut"), interrupt_in(2))
    assert (tmp_path / "cut" / "curves.png").exists()
    resumed = train(config("cut", resume=True))
    for one, other in zip(whole.policy.parameters(), resumed.policy.parameters()):
        assert torch.equal(one, other)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_second_signal_does_not_wait(tmp_path):
    with pytest.raises(Interrupted, match="interrupted at once; what was saved before is unchanged"):
        train(tiny_config(tmp_path), interrupt_in(2, times=2))
    assert not checkpoint.checkpoints(tmp_path) and len(read_lines(tmp_path / "metrics.jsonl")) == 5


def test_a_signal_cuts_an_evaluation_short(tmp_path, monkeypatch):
    calls = []

    def evaluate(*_):
        calls.append(1)
        if len(calls) == 2:  # the first is of the random policy
            signal.raise_signal(signal.SIGINT)
            pytest.fail("the evaluation continues")
        return {}

    monkeypatch.setattr(run_module, "evaluate", evaluate)
    with pytest.raises(Interrupted, match="interrupted after update 2; checkpoint: "):
        train(tiny_config(tmp_path, run={"evaluate_updates": 1}))
    assert [line["kind"] for line in read_lines(tmp_path / "metrics.jsonl")] == [
        "start", "random_policy", "update", "update", "end"]


def test_a_signal_of_the_system_ends_an_evaluator_and_leaves_the_training_as_it_was(tmp_path):
    """It comes between two steps of two thousand scenes; the next update is made, saved and not evaluated."""
    (tmp_path / "eval.toml").write_text('[eval.long]\ntype = "multi_scenario"\nscenes = ["intersection"]\n'
                                        "scene_count = 2000\ninterval = 1\n")
    cut = tiny_config(tmp_path / "cut", run={"evaluators": tmp_path / "eval.toml"})

    def interrupt():
        while not (tmp_path / "cut" / "evaluations").exists():
            time.sleep(0.01)
        time.sleep(0.3)
        os.kill(os.getpid(), signal.SIGINT)

    sender = threading.Thread(target=interrupt, daemon=True)
    with pytest.raises(Interrupted, match="interrupted after update 2; checkpoint: .*update-00000002, curves: "):
        train(cut, lambda figures: sender.start() if figures["update"] == 1 else None)
    sender.join()
    assert [line["kind"] for line in read_lines(tmp_path / "cut" / "metrics.jsonl")] == [
        "start", "random_policy", "update", "update", "end"]
    assert not list((tmp_path / "cut" / "evaluations").iterdir())
    with pytest.raises(Interrupted):
        train(tiny_config(tmp_path / "plain"), interrupt_in(1))
    one, other = (tmp_path / name / "update-00000002" / "weights.safetensors" for name in ("cut", "plain"))
    assert one.read_bytes() == other.read_bytes()


def test_a_signal_handler_of_the_caller_stays(tmp_path):
    received = []
    before = signal.signal(signal.SIGINT, lambda *_: received.append(1))
    try:
        train(tiny_config(tmp_path), interrupt_in(1))
    finally:
        signal.signal(signal.SIGINT, before)
    assert received == [1]


@pytest.mark.parametrize("number, code", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_command_saves_and_prints_one_line(tmp_path, number, code):
    command = [sys.executable, "-m", "baselines.ppo", "small", "--run.folder", str(tmp_path), "--run.no-progress",
               "--env.scene-count", "2", "--env.drive.trial-steps", "20", "--env.num-worlds", "4",
               "--ppo.rollout-steps", "16", "--run.evaluate-scenes", "1"]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        while process.poll() is None and len(read_lines(tmp_path / "metrics.jsonl")) < 3:
            time.sleep(0.05)
        process.send_signal(number)
        out, err = process.communicate(timeout=240)
    finally:
        process.kill()
    assert process.returncode == code and not out, err
    place = checkpoint.newest(tmp_path)
    assert err == (f"baselines.ppo: interrupted after update {checkpoint.about(place)['counters']['update']}; "
                   f"checkpoint: {place}, curves: {tmp_path / 'curves.png'}\n")
    assert (tmp_path / "curves.png").exists()
