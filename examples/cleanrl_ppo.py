"""What does single-file PPO in CleanRL's style look like? On Gymnasium's vector env, with one agent per world.

The vector env resets a sub-environment in the step after the end of its episode (NEXT_STEP). That step ignores the
action and is not a transition, so it is masked: `infos["first"]` marks it in every vector env, `infos["invalid_step"]`
marks the other steps that ignore the action. The step that ends an episode returns the true last observation, so time
limits are bootstrapped from its value.

    pip install . torch          # in a checkout; once published: pip install drive-env torch
    python examples/cleanrl_ppo.py --total-timesteps 100000
"""

import argparse
import time

import gymnasium as gym
import torch
from torch import nn
from torch.distributions import Categorical

from drive_env import DriveConfig, RewardConfig, generate_scene

# Learnable in minutes on a laptop: small intersections, near goals, long steps, no penalty for collisions.
SCENES = [generate_scene("intersection", seed=seed, agents=4, arm_length_m=24.0, lanes=1) for seed in range(8)]
CONFIG = DriveConfig(trial_steps=40, dt_s=0.3, goal_radius_m=4.0, observation={"partners": 3, "roads": 8},
                     on_collision="ignore", on_offroad="ignore", reward=RewardConfig(collision=0.0, offroad=0.0))


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--env-id", default="drive_env/Drive-v0")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--total-timesteps", type=int, default=100_000)
    parser.add_argument("--num-envs", type=int, default=32)
    parser.add_argument("--num-steps", type=int, default=64)
    parser.add_argument("--num-minibatches", type=int, default=4)
    parser.add_argument("--update-epochs", type=int, default=4)
    parser.add_argument("--learning-rate", type=float, default=1e-3)
    parser.add_argument("--gamma", type=float, default=0.98)
    parser.add_argument("--gae-lambda", type=float, default=0.95)
    parser.add_argument("--clip-coef", type=float, default=0.2)
    parser.add_argument("--ent-coef", type=float, default=0.01)
    parser.add_argument("--vf-coef", type=float, default=0.5)
    parser.add_argument("--max-grad-norm", type=float, default=0.5)
    return parser.parse_args()


def layer_init(layer, std=2**0.5):
    nn.init.orthogonal_(layer.weight, std)
    nn.init.zeros_(layer.bias)
    return layer


class Agent(nn.Module):
    """Actor and critic, a network each."""

    def __init__(self, envs):
        super().__init__()
        size = envs.single_observation_space.shape[0]

        def network(outputs, std):
            return nn.Sequential(layer_init(nn.Linear(size, 64)), nn.Tanh(), layer_init(nn.Linear(64, 64)), nn.Tanh(),
                                 layer_init(nn.Linear(64, outputs), std))

        self.critic = network(1, 1.0)
        self.actor = network(envs.single_action_space.n, 0.01)

    def get_value(self, obs):
        return self.critic(obs)[..., 0]

    def get_action(self, obs, action=None):
        choice = Categorical(logits=self.actor(obs))
        action = choice.sample() if action is None else action
        return action, choice.log_prob(action), choice.entropy()


def main():
    # The vector env, the agent, and storage for a rollout.
    args = parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)  # such small networks are faster on one core
    envs = gym.make_vec(args.env_id, num_envs=args.num_envs, scenes=SCENES, config=CONFIG)
    agent = Agent(envs)
    optimizer = torch.optim.Adam(agent.parameters(), lr=args.learning_rate, eps=1e-5)

    shape = (args.num_steps, args.num_envs)
    obs = torch.zeros((*shape, *envs.single_observation_space.shape))
    actions = torch.zeros(shape, dtype=torch.long)
    logprobs, rewards, values = torch.zeros(shape), torch.zeros(shape), torch.zeros(shape)
    terminations, truncations, valid = (torch.zeros(shape, dtype=torch.bool) for _ in range(3))

    # Collect rollouts; a step is valid if the action had an effect.
    next_obs, _ = envs.reset(seed=args.seed)
    next_obs = torch.tensor(next_obs)
    global_step, start = 0, time.time()
    while global_step < args.total_timesteps:
        for t in range(args.num_steps):
            obs[t] = next_obs
            with torch.no_grad():
                values[t] = agent.get_value(next_obs)
                actions[t], logprobs[t], _ = agent.get_action(next_obs)
            next_obs, reward, terminated, truncated, infos = envs.step(actions[t].numpy())
            next_obs, rewards[t] = torch.tensor(next_obs), torch.tensor(reward)
            terminations[t], truncations[t] = torch.tensor(terminated), torch.tensor(truncated)
            valid[t] = torch.tensor(~(infos["invalid_step"] | infos["first"]))
        global_step += int(valid.sum())

        # Advantages: a time limit cuts them, and is bootstrapped from the true last observation.
        with torch.no_grad():
            next_value = agent.get_value(next_obs)
            advantages, last = torch.zeros(shape), torch.zeros(args.num_envs)
            for t in reversed(range(args.num_steps)):
                after = next_value if t == args.num_steps - 1 else values[t + 1]
                delta = rewards[t] + args.gamma * after * ~terminations[t] - values[t]
                last = delta + args.gamma * args.gae_lambda * last * ~(terminations[t] | truncations[t])
                advantages[t] = last
            returns = advantages + values

        # The losses use the valid steps only.
        b_obs, b_actions, b_logprobs = obs[valid], actions[valid], logprobs[valid]
        b_advantages, b_returns = advantages[valid], returns[valid]
        for _ in range(args.update_epochs):
            for mb in torch.randperm(len(b_obs)).chunk(args.num_minibatches):
                _, newlogprob, entropy = agent.get_action(b_obs[mb], b_actions[mb])
                ratio = (newlogprob - b_logprobs[mb]).exp()
                mb_adv = (b_advantages[mb] - b_advantages[mb].mean()) / (b_advantages[mb].std() + 1e-8)
                clipped = ratio.clamp(1 - args.clip_coef, 1 + args.clip_coef)
                pg_loss = -torch.min(mb_adv * ratio, mb_adv * clipped).mean()
                v_loss = 0.5 * ((agent.get_value(b_obs[mb]) - b_returns[mb]) ** 2).mean()
                loss = pg_loss - args.ent_coef * entropy.mean() + args.vf_coef * v_loss
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(agent.parameters(), args.max_grad_norm)
                optimizer.step()

        print(f"steps {global_step}, SPS {int(global_step / (time.time() - start))}, "
              f"goal {envs.unwrapped.batch.metrics()['goal'].value:.2f}", flush=True)
    envs.close()


if __name__ == "__main__":
    main()
