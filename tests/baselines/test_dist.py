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
from two_ranks import counted, first_observations, folder_in_use, gradients

from baselines.config import RunConfig
from baselines.ppo import train
from baselines.tools import checkpoint
from baselines.tools.run_folder import claimed

HERE = Path(__file__).resolve().parent


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """The folder in which two ranks have run every task of two_ranks.py."""
    folder = tmp_path_factory.mktemp("ranks")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with claimed(RunConfig(folder=folder / folder_in_use.__name__), ALONE):
        ranks = [subprocess.Popen(
            [sys.executable, str(HERE / "two_ranks.py"), str(folder)], text=True, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, env=os.environ | {
                "PYTHONPATH": f"{HERE.parents[1]}:{HERE}", "RANK": str(rank), "WORLD_SIZE": "2",
                "LOCAL_RANK": str(rank), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}) for rank in range(2)]
        try:
            outputs = [rank.communicate(timeout=240)[0] for rank in ranks]
        finally:
            for rank in ranks:
                rank.kill()
    assert [rank.returncode for rank in ranks] == [0, 0], outputs
    return folder


@pytest.fixture
def results(ran):
    """A function from a task to its folder, which fails the test where a rank raised something."""
    def of(task):
        assert [path.read_text() for path in (ran / task).glob("rank-?.txt")] == []
        return ran / task

    return of


def raised(ran, task):
    """What each rank raised, as text."""
    return [(ran / task / f"rank-{rank}.txt").read_text() for rank in range(2)]


def test_two_ranks_have_the_gradients_of_one_and_disjoint_worlds(results):
    folder = results("save_gradients")
    parts = [torch.load(folder / f"rank-{rank}.pt") for rank in range(2)]
    alone = gradients(ALONE, slice(None))
    for found, _ in parts:
        for name, gradient in alone.items():
            assert torch.allclose(found[name], gradient, rtol=1e-4, atol=1e-6), name
    assert any(gradient.abs().max() > 1e-3 for gradient in alone.values())
    # Together they simulate the same worlds as one rank.
    observations = torch.cat([observations for _, observations in parts])
    assert torch.equal(observations, first_observations(ALONE))


def test_two_ranks_count_like_one_stop_together_and_end_with_the_same_weights(results, tmp_path):
    folder = results("train_and_resume")
    alone = train(counted(tmp_path, ppo={"target_kl": 1e-9, "epochs": 3, "learning_rate": 0.01}))
    counters = lambda lines: [(line["update"], line["agent_steps"], line["env_steps"], line["optimizer_steps"])
                              for line in lines if line["kind"] == "update"]
    found = json.loads((folder / "rank-0.json").read_text())
    assert counters(found) == counters(alone.lines) and len(counters(found)) >= 4
    assert all(line["optimizer_steps"] == 2 for line in found if line["kind"] == "update")
    weights = [torch.load(folder / f"rank-{rank}.pt") for rank in range(2)]
    assert all(torch.equal(one, other) for one, other in zip(*weights))
    place = checkpoint.newest(folder / "run")
    assert {f"rank-{rank}.safetensors" for rank in range(2)} <= {path.name for path in place.iterdir()}
    assert checkpoint.about(place)["counters"]["agent_steps"] >= 8000


def test_a_preflight_of_two_ranks_shares_one_temporary_folder_and_deletes_it(results):
    folder = results("run_preflight")
    found = [json.loads((folder / f"rank-{rank}.json").read_text()) for rank in range(2)]
    assert [rank["passed"] for rank in found] == [[True] * 9] * 2, found
    assert [rank["reported"] for rank in found] == [9, 0]
    details = [rank["detail"].rpartition(": ")[2] for rank in found]
    assert details == ["start, random_policy, update, evaluation, end and a checkpoint"] * 2
    assert sorted(path.name for path in folder.iterdir() if path.is_dir()) == []


def test_worlds_that_do_not_divide_are_an_error(ran):
    for text in raised(ran, "uneven"):
        assert "worlds is 5; it must be divisible by the 2 processes" in text


def test_two_ranks_save_where_one_is_interrupted(ran):
    texts = raised(ran, "interrupted")
    assert all("Interrupted" in text for text in texts), texts
    assert "interrupted after update 2; checkpoint: " in texts[0]
    place = checkpoint.newest(ran / "interrupted" / "run")
    assert checkpoint.about(place)["counters"]["update"] == 2
    assert {"rank-0.safetensors", "rank-1.safetensors"} <= {path.name for path in place.iterdir()}


def test_a_folder_in_use_is_an_error_on_every_rank(ran):
    texts = raised(ran, "folder_in_use")
    assert all(f"is in use by process {os.getpid()} on host " in text for text in texts), texts
