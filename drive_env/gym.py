"""One ego a world: the Gymnasium faces, a single env and a vector env, both thin views of a `Batch`."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Any, SupportsIndex

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from .batch import WORLD_LIMIT, Batch
from .config import ConfigSource, DriveConfig, adapter_config
from .env import INFO_FLAGS
from .errors import ActionError, CallError, ConfigError, checked_int, shown
from .per_world import SEED_LIMIT
from .render.screen import RENDER_MODES, Screen
from .scenes import Scenes

__all__ = ["DriveEnv", "DriveVectorEnv"]

INFO_CHANNELS = (*INFO_FLAGS, "trial_index", "outcome")
"""What an info says, all of it bools and whole numbers; docs/channels.md has the meanings."""


def one_ego(config, more="Batch or parallel_env") -> DriveConfig:
    """The config with one agent a world; `more` is what has more."""
    config = adapter_config(config)
    if config.agents_per_world not in (None, 1):
        raise ConfigError(f"agents_per_world is {config.agents_per_world}; this face has 1, use {more} for more")
    return config.replace(agents_per_world=1)


def open_episodes(batch: Batch, seeds: list, worlds: np.ndarray | None, began: bool) -> None:
    """Resets worlds: those with a seed open its first episode, those with None the next of their stream.

    Args:
        seeds: for each world of the batch a seed or None.
        worlds: (W,) bool, which to reset; None for all.
        began: whether the batch was reset before; else a world without a seed begins a fresh stream.
    """
    chosen = np.ones(batch.num_worlds, bool) if worlds is None else worlds
    given = np.array([seed is not None for seed in seeds])
    fresh = [secrets.randbits(64) if seed is None else seed for seed in seeds]
    if not began:
        batch.reset(seed=fresh, worlds=worlds)
        return
    if (given & chosen).any():
        batch.reset(seed=fresh, worlds=given & chosen)
    if (~given & chosen).any():
        batch.reset(worlds=~given & chosen)


class DriveEnv(gymnasium.Env[npt.NDArray[Any], Any]):
    """One ego vehicle in one world, as a Gymnasium `Env` (id `drive_env/Drive-v0`).

    An episode is `config.max_trials` trials of one scene; a restart between two trials is a step whose action is
    ignored (`info["invalid_step"]`). `terminated` and `truncated` speak of the episode. After either, call `reset`.
    A `reset` after `close` opens the env again. Observations are float32, or float16 where `config.observation_type`
    says so.

    Args:
        scenes, config: as for `Batch`; `agents_per_world` is 1. The scene's other vehicles follow `config.others`.
        render_mode: None, "rgb_array" (`render` returns a picture) or "human" (every step shows in a window); both need
            the extra [render].

    Raises:
        ConfigError, SceneError: an argument is out of its range.
    """

    metadata = {"render_modes": list(RENDER_MODES), "render_fps": 10}

    def __init__(self, scenes: Scenes = "town", config: ConfigSource | None = None, render_mode: str | None = None
                 ) -> None:
        self.batch = Batch(scenes, num_worlds=1, config=one_ego(config), seed=None, threads=1, restart="caller")
        self.render_mode = render_mode
        self._screen = Screen(self.batch, render_mode)
        self.metadata = {**self.metadata, "render_fps": max(1, round(self._screen.fps))}
        self.observation_space = self.batch.single_observation_space
        self.action_space = self.batch.single_action_space
        self._was_reset = False

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None
              ) -> tuple[npt.NDArray[Any], dict[str, Any]]:
        """Opens an episode: the first of `seed`, or the next of the env's stream. `options` are not used.

        After `close` it opens the env again, with a fresh stream.

        Returns:
            The observation, (observation size,), and the info.

        Raises:
            ConfigError: the seed is none from 0 to 2**64 - 1.
        """
        if self.batch.reopen():
            self._screen, self._was_reset = Screen(self.batch, self.render_mode), False
        fresh = seed is None and not self._was_reset  # drawn now: copies of an env that has not begun must differ
        self.batch.reset(seed=secrets.randbits(64) if fresh else seed)  # first, since its errors are ours
        self._was_reset = True
        super().reset(seed=None if seed is None else int(seed))
        if self.render_mode == "human":
            self.render()
        return self.batch.observations[0].copy(), self._info()

    def step(self, action: npt.ArrayLike) -> tuple[npt.NDArray[Any], float, bool, bool, dict[str, Any]]:
        """One step.

        Args:
            action: in `action_space`; where the step is a restart it may be anything.

        Returns:
            observation, (observation size,), reward, terminated, truncated, info.

        Raises:
            ActionError: the action is misshapen, not finite or out of range. Nothing has moved.
            CallError: before `reset`, after the end of an episode, or after `close`.
        """
        batch = self.batch
        try:
            found = np.asarray(action)
        except ValueError:
            found = None
        if found is None or found.shape != self.action_space.shape:
            raise ActionError(f"the action is {shown(action)}; it must be in {self.action_space}")
        batch.step(found[None])
        if self.render_mode == "human":
            self.render()
        return (batch.observations[0].copy(), float(batch.rewards[0]), bool(batch.terminations[0]),
                bool(batch.truncations[0]), self._info())

    def _info(self) -> dict:
        return {name: getattr(self.batch, name)[0].item() for name in INFO_CHANNELS}

    def render(self) -> npt.NDArray[np.uint8] | None:
        """The world as it is: (h, w, 3) uint8 for "rgb_array", None for "human", whose window shows it."""
        return self._screen.show()

    def close(self) -> None:
        """Gives the world's memory back and closes the window, until the next `reset`; a second call does nothing."""
        self._screen.close()
        self.batch.close()


class DriveVectorEnv(VectorEnv[npt.NDArray[Any], Any, npt.NDArray[Any]]):
    """Many one-ego worlds as a Gymnasium `VectorEnv`: one `Batch`, threads, no processes.

    Sub-environment i reset with seed s plays what a `DriveEnv` reset with seed s + i plays, bit for bit. Observations
    are float32, or float16 where `config.observation_type` says so. Restarts between trials stay steps of their own in
    all modes; `autoreset_mode` says what happens after an episode:

    * NEXT_STEP (default): the next step ignores that env's action and returns the new episode's first observation.
    * SAME_STEP: the step that ends it returns the new episode's first observation; the last one is in
      `infos["final_obs"]`, its channels in `infos["final_info"]`.
    * DISABLED: the caller passes `reset(options={"reset_mask": mask})`.

    Args:
        num_envs: how many worlds.
        scenes, config, threads: as for `Batch`; `agents_per_world` is 1.
        autoreset_mode: an `AutoresetMode` or its value.
        copy: whether observations are copies; with False they are views that the next call overwrites.
        render_mode: None, or "rgb_array": `render` returns one picture for each sub-environment (extra [render]).
        max_episode_steps: accepted because `make_vec` passes it; time limits come from `config.trial_steps`, so only
            None fits.

    Raises:
        ConfigError, SceneError: an argument is out of its range.
    """

    def __init__(self, num_envs: int = 1, scenes: Scenes = "town", config: ConfigSource | None = None, threads: int = 0,
                 autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP, copy: bool = True,
                 render_mode: str | None = None, max_episode_steps: None = None) -> None:
        num_envs = checked_int("num_envs", num_envs, 1, WORLD_LIMIT)
        if render_mode not in (None, "rgb_array"):
            raise ConfigError(f"render_mode is {shown(render_mode)}; it must be None or 'rgb_array'")
        if max_episode_steps is not None:
            raise ConfigError(f"max_episode_steps is {max_episode_steps}; give the config trial_steps instead")
        try:
            mode = AutoresetMode(autoreset_mode)
        except ValueError:
            offered = ", ".join(repr(mode.value) for mode in AutoresetMode)
            raise ConfigError(f"autoreset_mode is {shown(autoreset_mode)}; it must be one of {offered}") from None
        self.render_mode = render_mode
        self.autoreset_mode = mode
        self.copy = copy
        self.num_envs = num_envs
        self.batch = Batch(
            scenes, num_worlds=num_envs, config=one_ego(config), seed=None, threads=threads,
            world_ids=np.zeros(num_envs, np.int64),
            restart="auto" if mode is AutoresetMode.NEXT_STEP else "caller")
        self._screens = [Screen(self.batch, render_mode, world) for world in range(num_envs if render_mode else 0)]
        self.metadata = {"render_modes": ["rgb_array"], "render_fps": max(1, round(1 / self.batch.roles[0].dt_s)),
                         "autoreset_mode": mode}
        self.single_observation_space = self.batch.single_observation_space
        self.single_action_space = self.batch.single_action_space
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._was_reset = False

    def reset(self, *, seed: SupportsIndex | Sequence[SupportsIndex | None] | npt.NDArray[Any] | None = None,
              options: dict[str, Any] | None = None) -> tuple[npt.NDArray[Any], dict[str, Any]]:
        """Opens an episode in every sub-environment, or in those of `options["reset_mask"]`.

        Args:
            seed: a whole number s (sub-environment i gets s + i), a list with one whole number or None for each, or
                None: the next episode of each stream; the first call draws s, readable as `batch.seed`.
            options: may hold `reset_mask`, (num_envs,) bool with at least one True.

        Raises:
            ConfigError: a seed or `options` does not fit.
            CallError: the mask does not fit, or the env is closed.
        """
        if options is not None and not isinstance(options, dict):
            raise ConfigError(f"options is {shown(options)}; it must be a dict or None")
        mask = None if options is None else options.get("reset_mask")
        if mask is not None:
            mask = _reset_mask(mask, self.num_envs)
        seeds = _seeds(seed, self.num_envs)
        if seeds is None and not self._was_reset:
            self.batch.seed = secrets.randbits(64)  # drawn now: copies of an env that has not begun must differ
            seeds = [(self.batch.seed + env) & SEED_LIMIT for env in range(self.num_envs)]
        if seeds is None:
            self.batch.reset(worlds=mask)
        else:
            open_episodes(self.batch, seeds, mask, self._was_reset)
        self._was_reset = True
        chosen = np.ones(self.num_envs, bool) if mask is None else mask
        return self._observations(), self._infos(chosen)

    def step(self, actions: npt.ArrayLike) -> tuple[
            npt.NDArray[Any], npt.NDArray[np.float64], npt.NDArray[np.bool_], npt.NDArray[np.bool_], dict[str, Any]]:
        """One step of every sub-environment.

        Args:
            actions: (num_envs, ...), one for each sub-environment.

        Returns:
            observations, (num_envs, observation size); rewards, (num_envs,) float64; terminations and
            truncations, (num_envs,) bool; infos.

        Raises:
            ActionError: an action is misshapen, not finite or out of range. Nothing has moved.
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
            final_obs[env] = batch.observations[env].copy()
        final = {"final_obs": final_obs, "_final_obs": done.copy(),
                 "final_info": self._infos(done), "_final_info": done.copy()}
        batch.reset(worlds=done)
        infos = self._infos(np.ones(self.num_envs, bool))
        return self._observations(), rewards, terminations, truncations, infos | final

    def _observations(self) -> np.ndarray:
        return self.batch.observations.copy() if self.copy else self.batch.observations

    def _infos(self, mask: np.ndarray) -> dict:
        """Channels by the book: one array a key, and under `_key` which sub-environments it speaks of."""
        infos = {}
        for name in INFO_CHANNELS:
            infos[name] = np.where(mask, getattr(self.batch, name), 0).astype(bool if name in INFO_FLAGS else int)
            infos[f"_{name}"] = mask.copy()
        return infos

    def render(self) -> tuple[npt.NDArray[np.uint8], ...]:
        """One picture for each sub-environment, each (h, w, 3) uint8.

        Raises:
            CallError: the render mode is None.
            MissingExtraError: the extra [render] is not installed.
        """
        if not self._screens:
            raise CallError("render_mode is None; make the env with 'rgb_array'")
        return tuple(screen.picture() for screen in self._screens)

    def close_extras(self, **kwargs: Any) -> None:
        """Gives threads and memory back."""
        if hasattr(self, "batch"):  # Gymnasium before 1.4 closes whatever is thrown away, also what was refused
            self.batch.close()


def _reset_mask(mask, num_envs: int) -> np.ndarray:
    if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_ or mask.shape != (num_envs,) or not mask.any():
        found = f"{mask.dtype} of shape {mask.shape}" if isinstance(mask, np.ndarray) else type(mask).__name__
        raise CallError(f"reset_mask is {found}; it must be a bool array of shape ({num_envs},) with at least one True")
    return mask


def _seeds(seed, num_envs: int) -> list | None:
    """One seed, or None, for each sub-environment; None where there is none at all."""
    if seed is None:
        return None
    if not isinstance(seed, (list, tuple, np.ndarray)) or getattr(seed, "ndim", 1) == 0:
        first = checked_int("seed", seed, 0, SEED_LIMIT - num_envs + 1)
        return [first + env for env in range(num_envs)]
    if len(seed) != num_envs:
        raise ConfigError(f"seed has {len(seed)} entries; "
                          f"it must be a whole number, or one entry for each of {num_envs}")
    return [entry if entry is None else checked_int("seed", entry, 0, SEED_LIMIT) for entry in seed]
