"""The Gymnasium adapters, with one agent per world: `DriveEnv` and `DriveVectorEnv`."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from typing import Any, SupportsIndex

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from ..batch import WORLD_LIMIT, Batch
from ..config import ConfigSource, config_over
from ..drivers.controls import hand_action
from ..errors import ActionError, CallError, ConfigError, checked_int, value_text
from ..names import named_arguments
from ..own_reward import RewardFunction
from ..per_world import SEED_LIMIT
from ..render.screen import RENDER_MODES, Screen
from ..scenes import Scenes
from .infos import INFO_CHANNELS, INFO_FLAGS, add_optional_channels, optional_channels
from .observation_form import Observation, ObservationForm
from .one_agent import one_agent_config, open_episodes, reset_mask_of, seeds_of_envs

__all__ = ["DriveEnv", "DriveVectorEnv"]


class DriveEnv(gymnasium.Env[Observation, Any]):
    """One agent in one world, as a Gymnasium `Env` (id `drive_env/Drive-v0`, and those of scenes).

    An episode is `config.max_trials` trials of one scene; the restart between two trials is a step that ignores the
    action (`info["invalid_step"]`). `terminated` and `truncated` refer to the episode; after either, call `reset`. A
    `reset` after `close` opens the env again. Observations are vectors of float32, or by `config.observation.type` of
    float16, or images of uint8.

    Args:
        scenes, config: as for `Batch`; `agents_per_world` is 1. `config.others` sets what the scene's other vehicles
            do.
        render_mode: None, "rgb_array" (`render` returns a picture) or "human" (a window shows every step); both need
            the extra [render].
        dict_observations: whether observations are dicts of arrays, as of `DictObservation`, instead of single arrays.
        defaults: the config whose fields `config` changes if it is a mapping; without effect if `config` is a
            `DriveConfig`. The registered ids set it.
        reward: as for `Batch`.
        render_options: arguments of `SceneView` for the pictures of `render`, by name: size, view, agent, span_m,
            box_m, bars and agent_colours, such as {"view": "follow", "bars": False}; values are checked when the first
            picture is drawn.

    Raises:
        ConfigError, SceneError: an argument is out of its range.
    """

    metadata = {"render_modes": list(RENDER_MODES), "render_fps": 10}

    @named_arguments
    def __init__(self, scenes: Scenes = "town", config: ConfigSource | None = None, render_mode: str | None = None,
                 dict_observations: bool = False, defaults: ConfigSource | None = None,
                 reward: RewardFunction | str | None = None,
                 render_options: Mapping[str, Any] | None = None) -> None:
        config = one_agent_config(config_over(defaults, config))
        self.batch = Batch(scenes, num_worlds=1, config=config, seed=None, threads=1, restart="caller",
                           reward=reward)
        self.render_mode = render_mode
        self._screen = Screen(self.batch, render_mode, options=render_options)
        self.metadata = {**self.metadata, "render_fps": max(1, round(self._screen.fps))}
        self._optional_channels = optional_channels(self.batch)
        self._form = ObservationForm(self.batch, dict_observations)
        self.observation_space = self._form.space
        self.action_space = self.batch.single_action_space
        self._was_reset = False

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None
              ) -> tuple[Observation, dict[str, Any]]:
        """Opens an episode: the first one of `seed`, or, without a seed, the env's next one. `options` are not used.

        After `close` it opens the env again, with a fresh seed unless one is passed.

        Returns:
            The observation, (observation size,) or a dict, and the info.

        Raises:
            ConfigError: the seed is not a whole number from 0 to 2**64 - 1.
        """
        if self.batch.reopen():
            options = self._screen.options
            self._screen, self._was_reset = Screen(self.batch, self.render_mode, options=options), False
        seed = None if seed is None else checked_int("seed", seed, 0, SEED_LIMIT)
        fresh = seed is None and not self._was_reset  # drawn here: copies of an env before its first reset must differ
        self.batch.reset(seed=secrets.randbits(64) if fresh else seed)
        self._was_reset = True
        super().reset(seed=seed)
        if self.render_mode == "human":
            self.render()
        return self._observation(), self._info()

    def step(self, action: npt.ArrayLike) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """One step.

        Args:
            action: in `action_space`; not read if the step is a restart.

        Returns:
            observation, (observation size,) or a dict; reward; terminated; truncated; info.

        Raises:
            ActionError: the action has the wrong shape, is not finite or is out of range. The world has not advanced.
            CallError: before `reset`, after the end of an episode, or after `close`.
        """
        batch = self.batch
        try:
            found = np.asarray(action)
        except ValueError:
            found = None
        if found is None or found.shape != self.action_space.shape:
            raise ActionError(f"the action is {value_text(action)}; it must be in {self.action_space}")
        batch.step(found[None])
        if self.render_mode == "human":
            self.render()
        return (self._observation(), float(batch.rewards[0]), bool(batch.terminations[0]), bool(batch.truncations[0]),
                self._info())

    def _observation(self) -> Observation:
        return self._form.of(0)

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """Which actions are valid next, as sb3-contrib's MaskablePPO reads it; needs `config.action_mask`.

        Returns:
            (flags,): `Batch.action_mask`, a copy.

        Raises:
            AttributeError: the config has no `action_mask`.
        """
        return self.batch.action_mask[0].copy()

    def get_keys_to_action(self) -> dict[str, Any]:
        """Actions by the keys that are held, for `gymnasium.utils.play.play`: "w" accelerates, "s" and " " brake, "a"
        and "d" steer to the left and to the right.

        Raises:
            ConfigError: the actions of the vehicle model set no acceleration and steering.
        """
        pedals, wheels = {"": 0.0, "w": 1.0, "s": -1.0, " ": -1.0}, {"": 0.0, "a": 1.0, "d": -1.0}
        return {pedal + wheel: hand_action(share, turn, self.batch.config) for pedal, share in pedals.items()
                for wheel, turn in wheels.items() if pedal + wheel}

    def noop_action(self) -> Any:
        """The action that neither accelerates nor steers, for the argument `noop` of `gymnasium.utils.play.play`.

        Raises:
            ConfigError: as from `get_keys_to_action`.
        """
        return hand_action(0.0, 0.0, self.batch.config)

    def _info(self) -> dict:
        info = {name: getattr(self.batch, name)[0].item() for name in INFO_CHANNELS}
        add_optional_channels([info], self.batch, self._optional_channels)
        return info

    def render(self) -> npt.NDArray[np.uint8] | None:
        """The current picture: (h, w, 3) uint8 for "rgb_array"; for "human" a window shows it, and None is returned.

        Raises:
            CallError: the render mode is None, or no window can be opened.
            MissingExtraError: the extra [render] is not installed.
        """
        return self._screen.show()

    def close(self) -> None:
        """Frees the world's memory and closes the window; `reset` opens both again. A second call does nothing."""
        self._screen.close()
        self.batch.close()


class DriveVectorEnv(VectorEnv[Observation, Any, npt.NDArray[Any]]):
    """Many worlds with one agent each as a Gymnasium `VectorEnv`, on one multi-threaded `Batch`.

    After `reset(seed=s)` sub-environment i equals, bit for bit, a `DriveEnv` after `reset(seed=s + i)`. Observations
    are vectors of float32, or by `config.observation.type` of float16, or images of uint8. Restarts between trials are
    steps of their own in all modes; `autoreset_mode` sets what happens after an episode:

    * NEXT_STEP (default): the next step ignores this sub-environment's action and returns the first observation of the
      new episode.
    * SAME_STEP: the step that ends the episode returns the first observation of the new one; the last observation is in
      `infos["final_obs"]`, its channels are in `infos["final_info"]`.
    * DISABLED: the caller must call `reset(options={"reset_mask": mask})`.

    Args:
        num_envs: number of worlds.
        scenes, config, threads: as for `Batch`; `agents_per_world` is 1.
        autoreset_mode: an `AutoresetMode` or its value.
        copy: whether observations are copies; with False they are views that the next call overwrites.
        render_mode: None, or "rgb_array": `render` returns one picture for each sub-environment (extra [render]).
        max_episode_steps: must be None (`make_vec` passes it); `config.trial_steps` sets the time limit.
        dict_observations: whether observations are dicts of arrays, as of `DictObservation`, instead of single arrays.
        defaults: the config whose fields `config` changes if it is a mapping; without effect if `config` is a
            `DriveConfig`. The registered ids set it.
        reward: as for `Batch`.
        render_options: arguments of `SceneView` for the pictures of `render`, by name: size, view, agent, span_m,
            box_m, bars and agent_colours, such as {"view": "follow", "bars": False}; values are checked when the first
            picture is drawn.

    Raises:
        ConfigError, SceneError: an argument is out of its range.
    """

    @named_arguments
    def __init__(self, num_envs: int = 1, scenes: Scenes = "town", config: ConfigSource | None = None, threads: int = 0,
                 autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP, copy: bool = True,
                 render_mode: str | None = None, max_episode_steps: None = None, dict_observations: bool = False,
                 defaults: ConfigSource | None = None, reward: RewardFunction | str | None = None,
                 render_options: Mapping[str, Any] | None = None) -> None:
        # Arguments.
        num_envs = checked_int("num_envs", num_envs, 1, WORLD_LIMIT)
        if render_mode is not None and not (isinstance(render_mode, str) and render_mode == "rgb_array"):
            raise ConfigError(f"render_mode is {value_text(render_mode)}; it must be None or 'rgb_array'")
        if not isinstance(copy, bool):
            raise ConfigError(f"copy is {value_text(copy)}; it must be True or False")
        if max_episode_steps is not None:
            raise ConfigError(f"max_episode_steps is {value_text(max_episode_steps)}; set the config's trial_steps "
                              "instead")
        try:
            mode = AutoresetMode(autoreset_mode)
        except ValueError:
            offered = ", ".join(repr(mode.value) for mode in AutoresetMode)
            raise ConfigError(f"autoreset_mode is {value_text(autoreset_mode)}; it must be one of {offered}") from None
        # One world per sub-environment; all have world id 0, so that the seed alone determines their episodes.
        self.render_mode = render_mode
        self.autoreset_mode = mode
        self.copy = copy
        self.num_envs = num_envs
        self.batch = Batch(
            scenes, num_worlds=num_envs, config=one_agent_config(config_over(defaults, config)), seed=None,
            threads=threads, world_ids=np.zeros(num_envs, np.int64), reward=reward,
            restart="auto" if mode is AutoresetMode.NEXT_STEP else "caller")
        self._screens = [Screen(self.batch, render_mode, world, render_options)
                         for world in range(num_envs if render_mode else 0)]
        # What Gymnasium reads of a vector env.
        self.metadata = {"render_modes": ["rgb_array"], "render_fps": max(1, round(1 / self.batch.roles[0].dt_s)),
                         "autoreset_mode": mode}
        self._optional_channels = optional_channels(self.batch)
        self._form = ObservationForm(self.batch, dict_observations)
        self.single_observation_space = self._form.space
        self.single_action_space = self.batch.single_action_space
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._was_reset = False

    def reset(self, *, seed: SupportsIndex | Sequence[SupportsIndex | None] | npt.NDArray[Any] | None = None,
              options: dict[str, Any] | None = None) -> tuple[Observation, dict[str, Any]]:
        """Opens an episode in every sub-environment, or in those of `options["reset_mask"]`.

        Args:
            seed: a whole number s (sub-environment i uses s + i), a list with a whole number or None for each, or None:
                the next episode of each; the first call draws s, available as `batch.seed`.
            options: may hold `reset_mask`, (num_envs,) bool with at least one True.

        Raises:
            ConfigError: a seed or `options` does not fit.
            CallError: the mask does not fit, or the env is closed.
        """
        mask, seeds = reset_mask_of(options, self.num_envs), seeds_of_envs(seed, self.num_envs)
        if seeds is None and not self._was_reset:
            self.batch.seed = secrets.randbits(64)  # drawn here: copies of an env before its first reset must differ
            seeds = [(self.batch.seed + env) & SEED_LIMIT for env in range(self.num_envs)]
        if seeds is None:
            self.batch.reset(worlds=mask)
        else:
            open_episodes(self.batch, seeds, mask, self._was_reset)
        self._was_reset = True
        chosen = np.ones(self.num_envs, bool) if mask is None else mask
        return self._observations(), self._infos(chosen)

    def step(self, actions: npt.ArrayLike) -> tuple[
            Observation, npt.NDArray[np.float64], npt.NDArray[np.bool_], npt.NDArray[np.bool_], dict[str, Any]]:
        """One step of every sub-environment.

        Args:
            actions: (num_envs, ...), one for each sub-environment.

        Returns:
            observations, (num_envs, observation size) or a dict of arrays; rewards, (num_envs,) float64; terminations
            and truncations, (num_envs,) bool; infos.

        Raises:
            ActionError: an action has the wrong shape, is not finite or is out of range. No world has advanced.
            CallError: before `reset`, where a sub-environment must be reset first, or after `close`.
        """
        batch = self.batch
        batch.step(actions)
        rewards = batch.rewards.astype(np.float64)
        terminations, truncations = batch.terminations.copy(), batch.truncations.copy()
        done = terminations | truncations
        if self.autoreset_mode is not AutoresetMode.SAME_STEP or not done.any():
            return self._observations(), rewards, terminations, truncations, self._infos(np.ones(self.num_envs, bool))
        final_obs = np.full(self.num_envs, None, dtype=object)
        for env in np.flatnonzero(done):
            final_obs[env] = self._form.of(int(env))
        final = {"final_obs": final_obs, "_final_obs": done.copy(),
                 "final_info": self._infos(done), "_final_info": done.copy()}
        batch.reset(worlds=done)
        infos = self._infos(np.ones(self.num_envs, bool))
        return self._observations(), rewards, terminations, truncations, infos | final

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """Which actions are valid next, as sb3-contrib's MaskablePPO reads it; needs `config.action_mask`.

        Returns:
            (num_envs, flags): `Batch.action_mask`, a copy.

        Raises:
            AttributeError: the config has no `action_mask`.
        """
        return self.batch.action_mask.copy()

    def _observations(self) -> Observation:
        return self._form.of(copy=self.copy)

    def _infos(self, mask: np.ndarray) -> dict:
        """One array per key, and in `_key` the mask of the sub-environments that it holds for, as in any `VectorEnv`.
        """
        infos = {}
        for name in INFO_CHANNELS:
            infos[name] = np.where(mask, getattr(self.batch, name), 0).astype(bool if name in INFO_FLAGS else int)
            infos[f"_{name}"] = mask.copy()
        for name in self._optional_channels:
            rows = getattr(self.batch, name)
            infos[name] = np.where(mask.reshape(-1, *[1] * (rows.ndim - 1)), rows, rows.dtype.type(0))
            infos[f"_{name}"] = mask.copy()
        return infos

    def render(self) -> tuple[npt.NDArray[np.uint8], ...]:
        """One picture of each sub-environment, each (h, w, 3) uint8.

        Raises:
            CallError: the render mode is None.
            MissingExtraError: the extra [render] is not installed.
        """
        if not self._screens:
            raise CallError("render_mode is None; make the env with 'rgb_array'")
        return tuple(screen.picture() for screen in self._screens)

    def close_extras(self, **kwargs: Any) -> None:
        """Frees threads and memory; Gymnasium's arguments are not used."""
        if hasattr(self, "batch"):  # Gymnasium before 1.4 closes an env whose constructor raised, too
            self.batch.close()
