"""Do Tianshou's vector env, collector, learner and PettingZoo wrapper work with the adapters?"""

import gymnasium
import numpy as np
import pytest
from installed import client

from drive_env import DriveConfig, aec_env, generate_scene

torch = client("torch")
client("tianshou")

from tianshou.algorithm import PPO
from tianshou.algorithm.modelfree.reinforce import ProbabilisticActorPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv, PettingZooEnv
from tianshou.trainer import OnPolicyTrainerParams
from tianshou.utils.net.common import Net
from tianshou.utils.net.discrete import DiscreteActor, DiscreteCritic

pytestmark = pytest.mark.filterwarnings("default")  # Tianshou's own warnings

TOWNS = [generate_scene("town", seed=seed, agents=4) for seed in range(2)]
SHORT = DriveConfig(max_trials=2, trial_steps=15, observation={"partners": 3, "roads": 8})


def test_ppo_collects_and_trains_on_single_envs():
    envs = DummyVectorEnv([lambda: gymnasium.make("drive_env/Drive-v0", scenes=TOWNS, config=SHORT)] * 3)
    observation_space, action_space = envs.observation_space[0], envs.action_space[0]
    actor = DiscreteActor(preprocess_net=Net(state_shape=observation_space.shape, hidden_sizes=[8]),
                          action_shape=action_space.n,
                          softmax_output=True)
    critic = DiscreteCritic(preprocess_net=Net(state_shape=observation_space.shape, hidden_sizes=[8]))
    policy = ProbabilisticActorPolicy(actor=actor, dist_fn=torch.distributions.Categorical, action_space=action_space,
                                      action_scaling=False)
    algorithm = PPO(policy=policy, critic=critic, optim=AdamOptimizerFactory(lr=1e-3))
    collector = Collector(algorithm, envs, VectorReplayBuffer(1000, 3))
    collector.reset()
    collector.collect(n_step=180)
    stored = collector.buffer.sample_indices(0)
    assert len(stored) == 180 and collector.buffer.done[stored].sum() >= 3
    kept = ~collector.buffer.info.invalid_step[stored]
    assert kept.any() and not kept.all()  # restarts between trials are in the buffer, marked as such
    before = [weight.detach().clone() for weight in algorithm.parameters()]
    algorithm.run_training(OnPolicyTrainerParams(
        training_collector=collector, max_epochs=1, epoch_num_steps=200, batch_size=64,
        collection_step_num_env_steps=100, update_step_num_repetitions=1, test_step_num_episodes=0,
        show_progress=False))
    assert any(not torch.equal(weight, other) for weight, other in zip(before, algorithm.parameters()))


def test_its_pettingzoo_wrapper_plays_to_the_end_of_the_world_s_episode():
    """It ends the episode with the first agent, so agents must stay until all are done."""
    env = PettingZooEnv(aec_env(TOWNS, SHORT, finished="wait"))
    rng = np.random.default_rng(0)
    for episode in range(3):
        observation, _ = env.reset(seed=episode)
        turns, over = 0, False
        while not over:
            assert observation["agent_id"] == f"agent_{turns % 4}" and len(observation["mask"]) == 91
            observation, _, terminated, truncated, info = env.step(int(rng.integers(91)))
            over = terminated or truncated
            turns += 1
        assert info["trial_index"] == 1 and info["trial_ended"]
        assert turns % 4 == 0 and turns > 4 * 15
