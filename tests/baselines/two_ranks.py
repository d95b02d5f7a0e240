"""What does one of two ranks run in tests/baselines/test_dist.py? `torchrun ... two_ranks.py FOLDER`: every task.

A task writes its results into the folder of its name, and the traceback of what it raised into `rank-N.txt` there.
"""

import json
import os
import signal
import sys
import tempfile
import traceback
from pathlib import Path

import torch
from small import TINY, make_policy, tiny_config

from baselines import run
from baselines.config import PPOConfig
from baselines.gae import advantages
from baselines.losses import normalised
from baselines.ppo import Learner, make_optimizer, train
from baselines.rollout.batches import open_batches, scenes_of
from baselines.rollout.collector import Collector
from baselines.tools import preflight
from baselines.tools.dist import join
from baselines.tools.interrupts import Interrupted

ALWAYS_DRIVING = {"on_goal": "ignore", "on_collision": "ignore", "on_offroad": "ignore"}
"""Which steps are in the loss mask then does not depend on the sampled actions."""


def counted(folder, **parts):
    """A config whose number of agent-steps is the same on any number of ranks."""
    config = tiny_config(folder, **parts)
    return config.changed(env={"drive": config.env.drive.replace(**ALWAYS_DRIVING)})


def gradients(ranks, some_agents):
    """Gradients of some agents of a rollout that is equal on all ranks, summed over the ranks."""
    env = tiny_config("").env
    alone = type(ranks)(0, 1, ranks.device)
    batches, device_buffers = open_batches(env, scenes_of(env), alone, 3)
    collector = Collector(batches, device_buffers, make_policy(batches[0], TINY), 16)
    torch.manual_seed(3)
    for _ in range(3):
        buffer = collector.collect()
    config = PPOConfig(rollout_steps=16, minibatches=1)
    learner = Learner(collector.policy, make_optimizer(collector.policy, config), config, ranks, collector)
    advantage, returns = advantages(buffer.steps(), 0.97, 0.9)
    agents = torch.arange(len(buffer.first))[some_agents]
    scaled, _, _ = normalised(advantage[agents], buffer.loss_mask[agents], ranks)
    count = int(ranks.sum(buffer.loss_mask[agents].sum()))
    losses, _, _ = learner.losses(buffer, agents, scaled, returns[agents], count)
    losses.total.backward()
    ranks.sum_gradients(collector.policy.parameters())
    return {name: p.grad for name, p in collector.policy.named_parameters()}


def first_observations(ranks):
    env = tiny_config("").env
    batches, device_buffers = open_batches(env, scenes_of(env), ranks, 3)
    Collector(batches, device_buffers, make_policy(batches[0], TINY), 4, staggered=False)
    return torch.from_numpy(batches[0].observations.copy())


def save_gradients(ranks, folder):
    torch.save((gradients(ranks, slice(0, 7) if ranks.rank == 0 else slice(7, None)),
                first_observations(ranks)), folder / f"rank-{ranks.rank}.pt")


def train_and_resume(ranks, folder):
    result = train(counted(folder / "run", ppo={"target_kl": 1e-9, "epochs": 3, "learning_rate": 0.01}))
    resumed = train(counted(folder / "run", ppo={"agent_steps": 8000}, run={"resume": True}))
    (folder / f"rank-{ranks.rank}.json").write_text(json.dumps(result.lines))
    torch.save([p.data for p in resumed.policy.parameters()], folder / f"rank-{ranks.rank}.pt")


def interrupted(ranks, folder):
    """In update 2, by a signal to rank 1 alone."""
    update = Learner.update

    def signalled(self, counters):
        if ranks.rank == 1 and counters["update"] == 1:
            signal.raise_signal(signal.SIGINT)
        return update(self, counters)

    Learner.update = signalled
    try:
        train(counted(folder / "run"))
    finally:
        Learner.update = update


def folder_in_use(ranks, folder):
    train(tiny_config(folder))


def run_preflight(ranks, folder):
    os.environ["TMPDIR"], tempfile.tempdir = str(folder), None
    preflight.LAW_STEPS = 20
    reported = []
    findings = preflight.preflight(tiny_config(folder, env={"scene_count": 2}, ppo={"minibatches": 1}),
                                   smoke=True, report=reported.append)
    (folder / f"rank-{ranks.rank}.json").write_text(json.dumps(
        {"passed": [finding.passed for finding in findings], "detail": findings[-1].detail,
         "reported": len(reported)}))


def uneven(ranks, folder):
    train(tiny_config(folder).changed(env={"num_worlds": 5}))


TASKS = (save_gradients, train_and_resume, interrupted, folder_in_use, run_preflight, uneven)


def main(root):
    """All tasks in one process, whose imports take longer than the tasks."""
    torch.set_num_threads(1)
    run.draw_curves = lambda lines, path: None  # it would take most of the time
    ranks = join("cpu")
    for task in TASKS:
        folder = root / task.__name__
        folder.mkdir(exist_ok=True)
        try:
            task(ranks, folder)
        except (Exception, Interrupted):
            (folder / f"rank-{ranks.rank}.txt").write_text(traceback.format_exc())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
