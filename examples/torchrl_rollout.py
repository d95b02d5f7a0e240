"""How does one collect a rollout with TorchRL? With its masked PettingZoo wrapper and one shared policy.

    pip install torchrl
    python examples/torchrl_rollout.py --steps 300
"""

import argparse
import warnings

import torch
from tensordict.nn import TensorDictModule
from torchrl.envs.libs.pettingzoo import PettingZooWrapper
from torchrl.modules import MultiAgentMLP, ProbabilisticActor

from drive_env import OUTCOMES, DriveConfig, parallel_env

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=300)
options = parser.parse_args()

config = DriveConfig(max_trials=2, trial_steps=60, agents_per_world=8, observation={"partners": 7, "roads": 32})
torch.manual_seed(0)
with warnings.catch_warnings():
    warnings.filterwarnings("ignore", message="PettingZoo in TorchRL is tested using version")
    # An agent that is done leaves: `use_mask` marks those present, `done_on_any=False` continues until all are done.
    env = PettingZooWrapper(parallel_env("town", config), use_mask=True, done_on_any=False)
env.set_seed(0)

agents = len(env.possible_agents)
size, actions = env.observation_spec["agent", "observation"].shape[-1], env.action_space("agent_0").n
net = MultiAgentMLP(size, actions, agents, centralized=False, share_params=True, depth=2, num_cells=64)
policy = ProbabilisticActor(
    TensorDictModule(net, in_keys=[("agent", "observation")], out_keys=[("agent", "logits")]), spec=env.action_spec,
    in_keys=[("agent", "logits")], out_keys=[("agent", "action")], distribution_class=torch.distributions.Categorical)

rollout = env.rollout(options.steps, policy, break_when_any_done=False)
present = rollout["agent", "mask"]  # the agent was in `agents`
acted = present & (rollout["next", "agent", "info", "invalid_step"] == 0)  # and its action had an effect
reward = rollout["next", "agent", "reward"][..., 0]
print(f"steps {present.numel()}: in the episode {int(present.sum())}, of which {int(acted.sum())} count; "
      f"mean reward {reward[acted].mean():.4f}")
outcome = rollout["next", "agent", "info", "outcome"].long()
print("trials ended by", {OUTCOMES[code]: int((outcome == code).sum()) for code in outcome.unique().tolist() if code})
env.close()
