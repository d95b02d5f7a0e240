"""Do two ranks equal one? The same counters, and on the same data the same gradients; two processes with gloo."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")

from small import ALONE
from two_ranks import counted, first_observations, gradients

from baselines.config import RunConfig
from baselines.ppo import train
from baselines.tools import checkpoint
from baselines.tools.run_folder import claimed

HERE = Path(__file__).resolve().parent


def two_ranks(task, folder):
    """Runs a task of two_ranks.py on two ranks; returns exit codes and outputs."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    ranks = [subprocess.Popen(
        [sys.executable, str(HERE / "two_ranks.py"), task, str(folder)], text=True, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, env=os.environ | {
            "PYTHONPATH": f"{HERE.parents[1]}:{HERE}", "RANK": str(rank), "WORLD_SIZE": "2", "LOCAL_RANK": str(rank),
            "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}) for rank in range(2)]
    try:
        outputs = [rank.communicate(timeout=240)[0] for rank in ranks]
    finally:
        for rank in ranks:
            rank.kill()
    return [rank.returncode for rank in ranks], outputs


def test_two_ranks_have_the_gradients_of_one_and_disjoint_worlds(tmp_path):
    codes, outputs = two_ranks("gradients", tmp_path)
    assert codes == [0, 0], outputs
    parts = [torch.load(tmp_path / f"rank-{rank}.pt") for rank in range(2)]
    alone = gradients(ALONE, slice(None))
    for found, _ in parts:
        for name, gradient in alone.items():
            assert torch.allclose(found[name], gradient, rtol=1e-4, atol=1e-6), name
    assert any(gradient.abs().max() > 1e-3 for gradient in alone.values())
    # Together they simulate the same worlds as one rank.
    observations = torch.cat([observations for _, observations in parts])
    assert torch.equal(observations, first_observations(ALONE))


def test_two_ranks_count_like_one_stop_together_and_end_with_the_same_weights(tmp_path):
    codes, outputs = two_ranks("train", tmp_path)
    assert codes == [0, 0], outputs
    alone = train(counted(tmp_path / "alone", ppo={"target_kl": 1e-9, "epochs": 3, "learning_rate": 0.01}))
    counters = lambda lines: [(line["update"], line["agent_steps"], line["env_steps"], line["optimizer_steps"])
                              for line in lines if line["kind"] == "update"]
    found = json.loads((tmp_path / "rank-0.json").read_text())
    assert counters(found) == counters(alone.lines) and len(counters(found)) >= 4
    assert all(line["optimizer_steps"] == 2 for line in found if line["kind"] == "update")
    weights = [torch.load(tmp_path / f"rank-{rank}.pt") for rank in range(2)]
    assert all(torch.equal(one, other) for one, other in zip(*weights))
    place = checkpoint.newest(tmp_path / "run")
    assert {f"rank-{rank}.safetensors" for rank in range(2)} <= {path.name for path in place.iterdir()}
    assert checkpoint.about(place)["counters"]["agent_steps"] >= 8000


def test_a_preflight_of_two_ranks_shares_one_temporary_folder_and_deletes_it(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    codes, outputs = two_ranks("preflight", tmp_path)
    assert codes == [0, 0], outputs
    found = [json.loads((tmp_path / f"rank-{rank}.json").read_text()) for rank in range(2)]
    assert [rank["passed"] for rank in found] == [[True] * 9] * 2, found
    assert [rank["reported"] for rank in found] == [9, 0]
    details = [rank["detail"].rpartition(": ")[2] for rank in found]
    assert details == ["random_policy, update, evaluation and a checkpoint"] * 2
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_dir()) == []


def test_worlds_that_do_not_divide_are_an_error(tmp_path):
    codes, outputs = two_ranks("uneven", tmp_path)
    assert 0 not in codes and "worlds is 5; it must divide by the 2 processes" in outputs[0]


def test_two_ranks_save_where_one_is_interrupted(tmp_path):
    codes, outputs = two_ranks("interrupted", tmp_path)
    assert codes == [1, 1] and all("Interrupted" in text for text in outputs), outputs  # without main, a traceback
    assert "interrupted after update 2; checkpoint: " in outputs[0]
    place = checkpoint.newest(tmp_path / "run")
    assert checkpoint.about(place)["counters"]["update"] == 2
    assert {"rank-0.safetensors", "rank-1.safetensors"} <= {path.name for path in place.iterdir()}


def test_a_folder_in_use_is_an_error_on_every_rank(tmp_path):
    with claimed(RunConfig(folder=tmp_path), ALONE):
        codes, outputs = two_ranks("refused", tmp_path)
    assert codes == [1, 1] and all(f"is in use by process {os.getpid()} on host " in text for text in outputs), outputs
