"""How does SB3's PPO leave out the steps in which an agent waits? By a rollout buffer with a loss mask.

Needs the extra [sb3].
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from ..errors import CallError, ConfigError, MissingExtraError, a_type
from .observation_form import Observation

try:
    import torch
    from stable_baselines3 import PPO
    from stable_baselines3.common.buffers import DictRolloutBuffer, RolloutBuffer
    from stable_baselines3.common.utils import obs_as_tensor
    from stable_baselines3.common.vec_env import VecEnv, VecEnvWrapper
except ImportError as error:
    raise MissingExtraError(f"drive_env.api.sb3_masked needs stable-baselines3, which cannot be imported ({error}); "
                            'pip install "drive-env[sb3]"') from error

from .sb3 import DriveVecEnv

__all__ = ["MaskedDictRolloutBuffer", "MaskedPPO", "MaskedRolloutBuffer"]

Values = Callable[[Observation], npt.NDArray[np.float32]]
"""From observations of n envs to their values, (n,)."""


class MaskedRolloutBuffer(RolloutBuffer):
    """SB3's `RolloutBuffer` without the steps in which an agent waits or is disturbed, for `MaskedPPO`.

    Attributes:
        env: the env that is stepped; set before a rollout.
        values_of: the critic, from observations to values; set before a rollout.
        valid: (steps, envs) bool, whether the agent acted.
    """

    env: DriveVecEnv
    values_of: Values

    def reset(self) -> None:
        """Empties the buffer."""
        super().reset()
        self.valid = np.ones((self.buffer_size, self.n_envs), bool)
        self._terminations = np.zeros((self.buffer_size, self.n_envs), bool)

    def add(self, obs: Any, action: npt.NDArray[Any], reward: npt.NDArray[Any], episode_start: npt.NDArray[Any],
            value: torch.Tensor, log_prob: torch.Tensor) -> None:
        """Adds the last step of `env`.

        Args:
            obs, action, reward, episode_start, value, log_prob: as for SB3's buffer.

        Raises:
            ValueError: an argument has not one entry for each env.
        """
        self.valid[self.pos] = ~self.env.invalid_step
        self._terminations[self.pos] = self.env.terminations
        super().add(obs, action, reward, episode_start, value, log_prob)

    def compute_returns_and_advantage(self, last_values: torch.Tensor, dones: npt.NDArray[np.bool_]) -> None:
        """Generalised advantage estimates from each valid step to the agent's next valid step; 0 at invalid steps.

        Args:
            last_values: of the observation after the last step, one for each env.
            dones: whether the last step ended an episode, one for each env.

        Raises:
            ValueError: an argument has not one entry for each env.
        """
        target = self._after_the_last_step(last_values.detach().cpu().numpy().reshape(-1))
        estimate, bootstrap = np.zeros((2, self.n_envs), np.float32)
        ended_after = np.concatenate([self.episode_starts[1:] > 0, np.asarray(dones, bool)[None]]) | self._terminations
        for step in reversed(range(self.buffer_size)):
            valid, ended = self.valid[step], ended_after[step]
            # Advantages do not cross the end of an episode.
            target, estimate, bootstrap = (np.where(ended, 0.0, later) for later in (target, estimate, bootstrap))
            # SB3 adds the value after a time limit to the reward of its step; if that is invalid, since the agent was
            # disturbed, it belongs to the last valid step.
            bootstrap = bootstrap + self.rewards[step]
            delta = bootstrap + self.gamma * target - self.values[step]
            estimate = np.where(valid, delta + self.gamma * self.gae_lambda * estimate, estimate)
            target = np.where(valid, self.values[step], target)
            bootstrap = np.where(valid, 0.0, bootstrap)
            self.advantages[step] = np.where(valid, estimate, 0.0)
        self.returns = self.advantages + self.values

    def _after_the_last_step(self, last_values):
        """(envs,) values after the last step; for an agent that waits, the value at the start of its next trial."""
        batch, values = self.env.batch, last_values.copy()
        if batch.waits.any() and batch.config.max_trials > 1:
            waits = batch.waits.astype(bool)
            values[waits] = self.values_of(self.env.restart_observations())[waits]
        return values

    def get(self, batch_size: int | None = None) -> Generator[Any, None, None]:
        """The valid steps in random order, in minibatches.

        Args:
            batch_size: valid steps of a minibatch; None: all.

        Raises:
            CallError: no step of the rollout is valid.
        """
        # The parent flattens its arrays before its first sample; what it draws for that is not used.
        state = np.random.get_state()
        next(super().get(1))
        np.random.set_state(state)
        valid = np.flatnonzero(self.valid.swapaxes(0, 1).reshape(-1))
        if not len(valid):
            raise CallError(f"no step of the rollout is valid: all {self.n_envs} agents wait during its "
                            f"{self.buffer_size} steps; n_steps must be larger")
        chosen = np.random.permutation(valid)
        for start in range(0, len(chosen), batch_size or len(chosen)):
            yield self._get_samples(chosen[start:start + (batch_size or len(chosen))])


class MaskedDictRolloutBuffer(MaskedRolloutBuffer, DictRolloutBuffer):
    """The same for observations that are dicts."""


class MaskedPPO(PPO):
    """SB3's PPO on a `DriveVecEnv`, whose losses leave out the steps with `invalid_step`.

    Advantages are computed as in docs/channels.md: from each valid step of an agent to its next valid one, across
    waits and restarts between trials, and with the value of the restart where a rollout ends in a wait. Without
    invalid steps it trains the same weights as PPO. Arguments are those of PPO. The statistic `explained_variance`
    also counts invalid steps, as if their values were exact.

    Raises:
        ConfigError: at `learn`, the env is no `DriveVecEnv`, nor a wrapper of one; or `max_trials` is above 1, and
            observations are images, or a wrapper changes their shape.
    """

    rollout_buffer_class: type[RolloutBuffer] | None

    def _setup_model(self) -> None:
        if self.rollout_buffer_class is None:
            is_dict = isinstance(self.observation_space, spaces.Dict)
            self.rollout_buffer_class = MaskedDictRolloutBuffer if is_dict else MaskedRolloutBuffer
        super()._setup_model()

    def collect_rollouts(self, env: VecEnv, callback: Any, rollout_buffer: RolloutBuffer, n_rollout_steps: int) -> bool:
        """As SB3's, after setting the env and the critic of the buffer.

        Args:
            env, callback, rollout_buffer, n_rollout_steps: as for SB3's PPO.

        Raises:
            ConfigError: as for the class; or the buffer is not of this module.
        """
        if not isinstance(rollout_buffer, MaskedRolloutBuffer):
            raise ConfigError(f"rollout_buffer_class is {type(rollout_buffer).__name__}; it must be a class of "
                              "drive_env.api.sb3_masked, or None")
        rollout_buffer.env, rollout_buffer.values_of = self._drive_env(env), self._values
        return super().collect_rollouts(env, callback, rollout_buffer, n_rollout_steps)

    def _drive_env(self, env):
        found = env
        while isinstance(found, VecEnvWrapper):
            found = found.venv
        if not isinstance(found, DriveVecEnv):
            raise ConfigError(f"env is {a_type(type(found))}; it must be a DriveVecEnv, or a wrapper of one")
        config = found.batch.config
        if config.max_trials == 1:
            return found
        # With further trials, an agent can wait at the end of a rollout, and its next observation is computed.
        if config.observation.type == "image":
            raise ConfigError(f"max_trials is {config.max_trials}; with observation.type 'image' it must be 1, since "
                              "the first image of a next trial is not known before it begins")
        if (shape := env.observation_space.shape) != (own := found.observation_space.shape):
            raise ConfigError(f"observations have shape {shape} after the wrappers of the env; with max_trials "
                              f"{config.max_trials} it must be that of the DriveVecEnv, {own}")
        return found

    def _values(self, observations):
        normalizer = self.get_vec_normalize_env()
        if normalizer is not None:
            observations = normalizer.normalize_obs(observations)
        with torch.no_grad():
            return self.policy.predict_values(obs_as_tensor(observations, self.device)).cpu().numpy().reshape(-1)
