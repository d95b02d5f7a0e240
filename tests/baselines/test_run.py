"""Is no run silently lost or mixed with another? Folders in use, lost folders and incomplete logs."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")

from small import ALONE, files_end_at, tiny_config

from baselines import ppo
from baselines import run as run_module
from baselines.config import RunConfig
from baselines.ppo import train
from baselines.tools import checkpoint
from baselines.tools.interrupts import Interrupted
from baselines.tools.log_file import LogError, append, read_lines, truncate_after
from baselines.tools.run_folder import FolderError, claimed

ROOT = Path(__file__).resolve().parents[2]

HOLD = """
import sys, time
from baselines.config import RunConfig
from baselines.tools.dist import join
from baselines.tools.run_folder import claimed
with claimed(RunConfig(folder=sys.argv[1]), join("cpu")):
    print("held", flush=True)
    time.sleep(600)
"""


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The config of a run that has ended."""
    folder = tmp_path_factory.mktemp("finished")
    config = tiny_config(folder, ppo={"agent_steps": 1000, "anneal": False})
    train(config)
    return config


@pytest.fixture
def run(finished, tmp_path):
    """The config of a copy of that run."""
    shutil.copytree(finished.run.folder, tmp_path / "run")
    return finished.changed(run={"folder": tmp_path / "run"})


# ---- one run per folder ----


def test_a_folder_in_use_is_an_error_until_its_process_ends(tmp_path):
    """Also where that process is killed and leaves its files."""
    holder = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(FolderError, match=f"is in use by process {holder.pid} on host '{os.uname().nodename}'; "):
            train(tiny_config(tmp_path, run={"overwrite": True}))
    finally:
        holder.kill()
        holder.communicate()
    assert (tmp_path / ".lock.holder").exists()
    mine = f"in use by process {os.getpid()} on host "
    with claimed(RunConfig(folder=tmp_path), ALONE), pytest.raises(FolderError, match=mine):
        train(tiny_config(tmp_path))
    assert train(tiny_config(tmp_path, ppo={"agent_steps": 500})).checkpoint.is_dir()


def test_a_run_is_overwritten_on_request_alone_and_no_other_file_with_it(run):
    folder = Path(run.run.folder)
    (folder / "notes.txt").write_text("mine")
    (folder / ".update-00000009.unfinished").mkdir()
    before = (folder / "metrics.jsonl").read_bytes()
    with pytest.raises(FolderError, match=r"contains a run up to update-\d+; --run.resume continues it, "
                                          "--run.overwrite deletes it, another --run.folder leaves it unchanged"):
        train(run)
    assert (folder / "metrics.jsonl").read_bytes() == before
    result = train(run.changed(run={"overwrite": True}, ppo={"agent_steps": 500}))
    assert [line["update"] for line in result.lines if line["kind"] == "update"] == [1]
    assert checkpoint.checkpoints(folder) == [result.checkpoint]
    assert (folder / "notes.txt").read_text() == "mine" and not list(folder.glob(".update-*"))


@pytest.mark.parametrize("parts", [
    {"env": {"scenes": ("nowhere.bin",)}}, {"env": {"env_groups": 4}}, {"ppo": {"minibatches": 5}},
    {"env": {"scene_parameters": {"seed": 1}}}, {"run": {"wandb": True}}], ids=str)
@pytest.mark.parametrize("choice", ["overwrite", "resume"])
def test_a_config_that_does_not_fit_leaves_the_old_run_unchanged(run, monkeypatch, parts, choice):
    """Also where the log without a checkpoint would be renamed."""
    monkeypatch.setitem(sys.modules, "wandb", None)
    folder = Path(run.run.folder)
    if choice == "resume":
        shutil.rmtree(checkpoint.newest(folder))
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    with pytest.raises((ValueError, ImportError)):
        train(run.changed(run={choice: True}).changed(**parts))
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_every_file_that_a_run_writes_is_overwritten_and_none_of_a_similar_name(run):
    folder = Path(run.run.folder)
    written = ["update-123456789", ".update-123456789.unfinished", ".metrics.jsonl.unfinished", "metrics.2.jsonl"]
    others = ["update-0000012", "update-000000012", "update-00000001.old", "metrics.json"]
    for name in (*written, *others):
        (folder / name).mkdir()
    train(run.changed(run={"overwrite": True}, ppo={"agent_steps": 500}))
    assert [name for name in (*written, *others) if (folder / name).exists()] == others


@pytest.mark.parametrize("below, reason", [("", "it is a file"), ("/run", "Not a directory")])
def test_a_folder_that_cannot_be_written_to_is_named(run, tmp_path, below, reason):
    (tmp_path / "file").write_text("mine")
    folder = f"{tmp_path / 'file'}{below}"
    with pytest.raises(FolderError, match=f"^folder '{folder}' cannot be written to: {reason}; choose another"):
        train(run.changed(run={"folder": folder}))
    assert (tmp_path / "file").read_text() == "mine"


def test_a_finished_run_that_is_resumed_says_so(run, capsys):
    lines = train(run.changed(run={"resume": True})).lines
    steps = [line["agent_steps"] for line in lines if line["kind"] == "update"][-1]
    assert f"is finished, with {steps} of {run.ppo.agent_steps} agent-steps; a larger" in capsys.readouterr().err


def test_a_log_without_a_checkpoint_is_never_lost(run, capsys):
    folder = Path(run.run.folder)
    shutil.rmtree(checkpoint.newest(folder))
    before = (folder / "metrics.jsonl").read_bytes()
    with pytest.raises(FolderError, match=r"contains the log of a run up to update \d+, without a checkpoint; --ru"):
        train(run)
    assert (folder / "metrics.jsonl").read_bytes() == before
    result = train(run.changed(run={"resume": True}))
    assert (folder / "metrics.1.jsonl").read_bytes() == before
    assert [line["kind"] for line in result.lines[:2]] == ["start", "random_policy"]
    assert "its log is renamed to metrics.1.jsonl, a new run starts" in capsys.readouterr().err
    train(run.changed(run={"overwrite": True}))
    assert not (folder / "metrics.1.jsonl").exists()


def test_a_run_that_ended_before_its_first_update_blocks_no_other(tmp_path, monkeypatch):
    monkeypatch.setattr(run_module, "evaluate", lambda *_: signal.raise_signal(signal.SIGINT))
    with pytest.raises(Interrupted, match="interrupted at once"):
        train(tiny_config(tmp_path))
    monkeypatch.undo()
    assert train(tiny_config(tmp_path, ppo={"agent_steps": 500})).checkpoint.is_dir()


# ---- how a run ends ----


def ends(folder):
    """Status and reason of each end in a log."""
    return [(line["status"], line["reason"]) for line in read_lines(Path(folder) / "metrics.jsonl")
            if line["kind"] == "end"]


def test_the_log_says_how_a_run_ended(tmp_path, monkeypatch):
    config = tiny_config(tmp_path, ppo={"agent_steps": 500})
    train(config)
    with pytest.raises(Interrupted):
        train(config.changed(ppo={"agent_steps": 2000}, run={"resume": True}),
              lambda line: line["update"] == 2 and signal.raise_signal(signal.SIGTERM))
    real = ppo.ppo_losses
    monkeypatch.setattr(ppo, "ppo_losses", lambda *args: real(*args)._replace(policy=torch.tensor(torch.nan)))
    with pytest.raises(FloatingPointError) as error:
        train(config.changed(ppo={"agent_steps": 3000}, run={"resume": True}))
    assert ends(tmp_path) == [("finished", "agent_steps"), ("interrupted", f"signal {int(signal.SIGTERM)}"),
                              ("crashed", f"FloatingPointError: {error.value}")]


def test_a_limit_of_minutes_ends_a_run_and_its_bar(tmp_path):
    train(tiny_config(tmp_path, run={"minutes": 1e-6}))
    assert ends(tmp_path) == [("finished", "minutes")]
    config = tiny_config(tmp_path, ppo={"agent_steps": 100}, run={"minutes": 2.0})
    share = lambda steps, seconds: run_module.Run._share_done(SimpleNamespace(
        config=config, counters={"agent_steps": steps}, _started=time.perf_counter() - seconds))
    assert share(25, 0) == pytest.approx(0.25) and share(25, 60) == pytest.approx(0.5, rel=0.1)
    assert share(25, 121) == share(101, 0) == 1


# ---- a folder that is lost ----


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


LOST = "folder '.*' was deleted or replaced while this run trained in it; the run ends and writes nothing more$"


@pytest.mark.parametrize("run", [{}, {"checkpoint_updates": 1}, {"evaluate_updates": 1}], ids=str)
@pytest.mark.parametrize("update", [1, 2])
def test_a_run_whose_folder_is_deleted_ends_and_leaves_none(tmp_path, run, update):
    """Whatever it would write next: a line, an evaluation or a checkpoint."""
    folder = tmp_path / "run"
    with pytest.raises(FolderError, match=LOST):
        train(tiny_config(folder, run=run), lambda line: line["update"] == update and shutil.rmtree(folder))
    assert not folder.exists()


@pytest.mark.parametrize("checkpoint_updates", [0, 1])
def test_a_run_whose_folder_is_replaced_writes_nothing_into_the_other_run(tmp_path, checkpoint_updates):
    """Nor does it delete the file that names the holder of the other's lock."""
    folder, found = tmp_path / "run", {}
    config = tiny_config(folder, run={"checkpoint_updates": checkpoint_updates})
    with ExitStack() as other, pytest.raises(FolderError, match=LOST):
        def replace(line):
            if line["update"] == 1:
                folder.rename(tmp_path / "moved")
                train(config.changed(run={"seed": 7}, ppo={"agent_steps": 500}))
                other.enter_context(claimed(RunConfig(folder=folder, resume=True), ALONE))
                found.update(contents(folder))

        try:
            train(config, replace)
        finally:
            assert contents(folder) == found and folder / ".lock.holder" in found
    assert [line["kind"] for line in read_lines(tmp_path / "moved" / "metrics.jsonl")] == [
        "start", "random_policy", "update"]


def test_a_folder_deleted_after_the_last_checkpoint_gets_no_curves(tmp_path, monkeypatch):
    folder, save = tmp_path / "run", checkpoint.save
    monkeypatch.setattr(checkpoint, "save", lambda *arguments: (save(*arguments), shutil.rmtree(folder)))
    with pytest.raises(FolderError, match=LOST):
        train(tiny_config(folder, ppo={"agent_steps": 500}))
    assert not folder.exists()


# ---- the log ----


def line(update, **figures):
    return {"kind": "update", "update": update, "agent_steps": 10 * update, **figures}


def write(path, *lines):
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


@pytest.mark.parametrize("end", ['{"kind": "update", "upd', "\0\0\0\0", "\xff", "[" * 100_000], ids=[
    "half", "zeros", "no text", "deep"])
def test_a_run_with_an_incomplete_log_resumes(run, capsys, end):
    log = Path(run.run.folder) / "metrics.jsonl"
    lines = read_lines(log)
    with log.open("a", encoding="latin-1") as file:
        file.write(end)
    assert read_lines(log) == lines
    result = train(run.changed(ppo={"agent_steps": 2000}, run={"resume": True}))
    assert f"line {len(lines) + 1} of {str(log)!r} is incomplete; it is dropped" in capsys.readouterr().err
    of_updates = lambda lines: [line["update"] for line in lines if line["kind"] == "update"]
    updates = of_updates(result.lines)
    assert updates == list(range(1, len(updates) + 1)) and len(updates) > len(of_updates(lines))


def test_a_last_line_without_its_end_of_line_is_kept(tmp_path):
    path = tmp_path / "metrics.jsonl"
    path.write_text(json.dumps(line(1)) + "\n" + json.dumps(line(2)))
    assert truncate_after(path, 2) == 0 and read_lines(path) == [line(1), line(2)]
    assert path.read_bytes().endswith(b"\n")


@pytest.mark.parametrize("text, sentence", [
    ('{"kind": "upd', "line 2 of '.*metrics.jsonl' is damaged: "), ("[1]", "damaged: it has no 'kind' of type str"),
    ('{"kind": "update", "update": null}', "line 2 of .* is damaged: it has no 'update' of type int"),
    ('{"kind": "update", "update": true, "agent_steps": 10}', "line 2 of .* it has no 'update' of type int")])
def test_a_damaged_line_is_named(run, text, sentence):
    log = Path(run.run.folder) / "metrics.jsonl"
    lines = log.read_text().splitlines()
    log.write_text("\n".join([lines[0], text, *lines[2:], ""]))
    before = log.read_bytes()
    with pytest.raises(LogError, match=sentence):
        train(run.changed(ppo={"agent_steps": 2000}, run={"resume": True}))
    assert log.read_bytes() == before


def test_a_full_disk_leaves_the_old_log_whole(tmp_path):
    path = tmp_path / "metrics.jsonl"
    write(path, *map(line, range(27)))
    before = path.read_bytes()
    with files_end_at(len(before) // 2), pytest.raises(OSError, match="metrics.jsonl|large|space"):
        truncate_after(path, 20)
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]
    assert truncate_after(path, 20) == 0 and read_lines(path) == [line(update) for update in range(21)]


@pytest.mark.parametrize("free_bytes", [0, 7])
def test_a_line_that_does_not_fit_on_the_disk_damages_no_other(tmp_path, free_bytes):
    path = tmp_path / "metrics.jsonl"
    write(path, line(1), line(2))
    with path.open("ab", buffering=0) as file:
        with files_end_at(path.stat().st_size + free_bytes), \
                pytest.raises(OSError, match=r"(space|large).*metrics\.jsonl"):
            append(file, line(3))
    assert read_lines(path) == [line(1), line(2)]
    with path.open("ab", buffering=0) as file:
        append(file, line(4))
    assert read_lines(path) == [line(1), line(2), line(4)]
