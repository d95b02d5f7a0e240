"""What one of two ranks does in tests/baselines/test_dist.py: `torchrun ... two_ranks.py TASK FOLDER`."""

import json
import signal
import sys
from pathlib import Path

import torch
from small import TINY, make_policy, tiny_config

from baselines import preflight
from baselines.config import PPOConfig
from baselines.dist import join
from baselines.gae import advantages
from baselines.losses import normalised
from baselines.ppo import Learner, make_optimizer, train
from baselines.rollout import Collector
from baselines.worlds import open_batches, scenes_of

ALWAYS_DRIVING = {"on_goal": "ignore", "on_collision": "ignore", "on_offroad": "ignore"}
"""Which agents are kept then does not depend on what was drawn."""


def counted(folder, **parts):
    """A config whose valid agent-steps are the same on any number of ranks."""
    config = tiny_config(folder, **parts)
    return config.changed(env={"drive": config.env.drive.replace(**ALWAYS_DRIVING)})


def gradients(ranks, some_agents):
    """Gradients of some agents of a segment that every rank gathers alike, summed over the ranks."""
    env = tiny_config("").env
    alone = type(ranks)(0, 1, ranks.device)
    batches, mirrors = open_batches(env, scenes_of(env), alone, 3)
    collector = Collector(batches, mirrors, make_policy(batches[0], TINY), 16)
    torch.manual_seed(3)
    for _ in range(3):
        segment = collector.collect()
    config = PPOConfig(segment=16, minibatches=1)
    learner = Learner(collector.policy, make_optimizer(collector.policy, config), config, ranks, collector)
    advantage, returns = advantages(segment.steps(), 0.97, 0.9)
    agents = torch.arange(len(segment.first))[some_agents]
    scaled, _, _ = normalised(advantage[agents], segment.kept[agents], ranks)
    count = int(ranks.sum(segment.kept[agents].sum()))
    losses, _ = learner.losses(segment, agents, scaled, returns[agents], count)
    losses.total.backward()
    ranks.sum_gradients(collector.policy.parameters())
    return {name: p.grad for name, p in collector.policy.named_parameters()}


def first_observations(ranks):
    env = tiny_config("").env
    batches, mirrors = open_batches(env, scenes_of(env), ranks, 3)
    Collector(batches, mirrors, make_policy(batches[0], TINY), 4, staggered=False)
    return torch.from_numpy(batches[0].observations.copy())


def signal_in_update_2():
    """To this rank alone."""
    update = Learner.update

    def signalled(self, counters):
        if counters["update"] == 1:
            signal.raise_signal(signal.SIGINT)
        return update(self, counters)

    Learner.update = signalled


def main(task, folder):
    torch.set_num_threads(1)
    ranks = join("cpu")
    if task == "gradients":
        torch.save((gradients(ranks, slice(0, 7) if ranks.rank == 0 else slice(7, None)),
                    first_observations(ranks)), folder / f"rank-{ranks.rank}.pt")
    elif task == "train":
        result = train(counted(folder / "run", ppo={"target_kl": 1e-9, "epochs": 3, "learning_rate": 0.01}))
        resumed = train(counted(folder / "run", ppo={"agent_steps": 8000}, run={"resume": True}))
        (folder / f"rank-{ranks.rank}.json").write_text(json.dumps(result.lines))
        torch.save([p.data for p in resumed.policy.parameters()], folder / f"rank-{ranks.rank}.pt")
    elif task == "interrupted":
        if ranks.rank == 1:
            signal_in_update_2()
        train(counted(folder / "run"))
    elif task == "refused":
        train(tiny_config(folder))
    elif task == "preflight":
        preflight.LAW_STEPS = 20
        told = []
        findings = preflight.preflight(tiny_config(folder, env={"scene_count": 2}, ppo={"minibatches": 1}),
                                       smoke=True, tell=told.append)
        (folder / f"rank-{ranks.rank}.json").write_text(json.dumps(
            {"fine": [finding.fine for finding in findings], "said": findings[-1].said, "told": len(told)}))
    elif task == "uneven":
        config = tiny_config(folder)
        train(config.changed(env={"num_worlds": 5}))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
