"""Do the examples run from the command line, and do they print their results?"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from installed import client

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"

RUNS = [
    ("foreign_code.py", ["--steps", "200"], (), r"steps \d+, best return -?\d"),
    ("flat_batch.py", ["--steps", "80"], (), r"steps 10240, of which \d{4,5} count.*\n.*'offroad': \d+"),
    ("behaviour_cloning.py", [], ("torch",), r"of 16 scenes\n(.*\n)*clone: goal 0\.[3-9]"),
    # Learners learn: a random policy reaches 5 of 100 goals.
    ("recurrent.py", ["--steps", "75000", "--rollout", "16"], ("torch",), r"steps 7\d{4}, .*, goal (0\.[5-9]|1\.0)"),
    ("cleanrl_ppo.py", ["--total-timesteps", "48000"], ("torch",), r"steps 49\d{3}, .* goal (0\.[5-9]|1\.0)"),
    ("sb3_ppo.py", ["--steps", "50000"], ("stable_baselines3",), r"mean return of 64 episodes (0\.[5-9]|1\.0)"),
    ("first_task.py", ["--library", "sb3", "--steps", "2000"], ("stable_baselines3",), r"2000 steps: 2048 steps, .*%"),
    ("first_task.py", ["--library", "cleanrl", "--steps", "1000"], ("stable_baselines3",), r"1000 steps: 1024 steps"),
    ("sb3_ppo.py", ["--steps", "500", "--api", "gymnasium"], ("stable_baselines3",), r"steps 2048, mean return"),
    ("sb3_ppo.py", ["--steps", "500", "--api", "all-agents"], ("stable_baselines3",), r"steps 2048, mean return"),
    ("supersuit_vector.py", ["--steps", "130"], ("supersuit",), r"24 envs, .*steps 3120, .* count; 24 agent episodes"),
    ("supersuit_sb3.py", ["--steps", "2000"], ("supersuit", "stable_baselines3"), r"steps 2048, \d+ agent episodes"),
    ("torchrl_rollout.py", ["--steps", "130"], ("torchrl",), r"steps 1040: .* count; .*\n.*'offroad': \d+"),
    ("rllib_ppo.py", ["--steps", "300", "--batch", "200"], ("ray",), r"steps 400, agent-steps \d+, mean return"),
]

ELSEWHERE = {"train.py"}
"""Examples of the reference trainer, which its own tests run."""


@pytest.mark.parametrize("name, arguments, needs, says", RUNS, ids=[" ".join([run[0], *run[1][2:]]) for run in RUNS])
def test_an_example_runs(name, arguments, needs, says, tmp_path):
    for module in needs:
        client(module)
    environment = os.environ | {"RAY_TMPDIR": "/tmp", "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, EXAMPLES / name, *arguments], check=False, capture_output=True, text=True,
                          cwd=tmp_path, env=environment, timeout=400)
    assert done.returncode == 0, done.stderr[-3000:]
    assert re.search(says, done.stdout), done.stdout[-2000:]


@pytest.mark.parametrize("name", sorted({run[0] for run in RUNS if run[2] in (("torch",), ("stable_baselines3",))}))
def test_a_learner_with_a_small_network_uses_one_thread(name):
    """On busy processors threads of torch wait for one another. The runs above cannot show it: they set one for all."""
    assert "torch.set_num_threads(1)" in (EXAMPLES / name).read_text()


def test_every_example_is_run():
    assert {path.name for path in EXAMPLES.glob("*.py")} == {run[0] for run in RUNS} | ELSEWHERE


def test_the_client_s_code_is_short_and_names_no_drive_env_internals():
    text = (EXAMPLES / "foreign_code.py").read_text()
    code = [line for line in text.split('"""')[2].splitlines() if line.strip()]
    assert len(code) < 20
    assert not any("drive_env" in line for line in code if "default=" not in line)
