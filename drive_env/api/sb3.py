"""Many worlds as a stable-baselines3 `VecEnv`; needs the extra [sb3]."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..batch import WORLD_LIMIT, Batch
from ..config import ConfigSource, adapter_config
from ..errors import ActionError, CallError, ConfigError, MissingExtraError, checked_int, value_text
from ..names import named_arguments
from ..own_reward import RewardFunction
from ..per_world import SEED_LIMIT
from ..render.screen import Screen
from ..scenes import Scenes
from .infos import add_optional_channels, info_of, optional_channels
from .observation_form import Observation, ObservationForm
from .one_agent import one_agent_config, open_episodes
from .sub_env import PER_AGENT, SubEnv

try:
    from stable_baselines3.common.vec_env import VecEnv
except ImportError as error:
    raise MissingExtraError(f"drive_env.api.sb3 needs stable-baselines3, which cannot be imported ({error}); "
                            'pip install "drive-env[sb3]"') from error

__all__ = ["DriveVecEnv", "SubEnv"]

Indices = int | Iterable[int] | None
"""Indices of envs: one, several, or None for all."""

TRIAL_SHIFT = 16
"""The key of a cached info holds the agent's code in this many bits, and the index of the trial above them."""

KNOWN_INFOS = 4096
"""Largest number of cached infos; only thousands of trials produce more."""


class DriveVecEnv(VecEnv):
    """Many worlds as a stable-baselines3 `VecEnv`, on one multi-threaded `Batch`.

    An episode is `config.max_trials` trials of one scene; the restart between two trials is a step that ignores the
    action. In the step that ends an episode, an env is done, its observation is the first one of the next episode, and
    its info holds the true last one as `terminal_observation`. `TimeLimit.truncated` marks an episode that was cut
    while the agent was driving, so that SB3 bootstraps. Every info holds the channels of docs/channels.md. Observations
    are vectors of float32, or by `config.observation.type` of float16, or images of uint8, for "CnnPolicy".

    Args:
        scenes, config, threads: as for `Batch`.
        num_worlds: number of worlds.
        agents: "ego", or "all".
            With "ego", env i is the only agent of world i. After `seed(s)` and `reset` it equals, bit for bit, the
            Gymnasium env after `reset(seed=s + i)`.
            With "all", every agent of every world is an env, the agents of a world at consecutive indices. All agents
            of a world are done in the step that ends its episode. An agent that stopped driving earlier has
            `invalid_step` in its info until then, a reward of 0, and its action is ignored. The losses of SB3's
            learners include these steps, a bias that grows with the wait; those of `MaskedPPO` do not.
        render_mode: None, or "rgb_array": `render` returns one picture of all worlds (extra [render]).
        dict_observations: whether observations are dicts of arrays, as of `DictObservation`, instead of single arrays;
            they are for "MultiInputPolicy".
        reward: as for `Batch`.
        render_options: arguments of `SceneView` for the pictures of `render`, by name: size, view, agent, span_m,
            box_m, bars and agent_colours, such as {"view": "follow", "bars": False}; values are checked when the first
            picture is drawn.

    Attributes:
        batch: the `Batch`; after the end of an episode its arrays hold the start of the next one.
        reset_infos: for each env the info of the observation that opened its episode.
        invalid_step, terminations: (envs,) bool, these channels of the last step, also where it ended an episode.

    Raises:
        ConfigError, SceneError: an argument is out of its range.
    """

    metadata: dict[str, Any]

    @named_arguments
    def __init__(self, scenes: Scenes = "town", num_worlds: int = 1, config: ConfigSource | None = None,
                 threads: int = 0, agents: str = "ego", render_mode: str | None = None,
                 dict_observations: bool = False, reward: RewardFunction | str | None = None,
                 render_options: Mapping[str, Any] | None = None) -> None:
        num_worlds = checked_int("num_worlds", num_worlds, 1, WORLD_LIMIT)
        if not isinstance(agents, str) or agents not in ("ego", "all"):
            raise ConfigError(f"agents is {value_text(agents)}; it must be 'ego' or 'all'")
        if render_mode is not None and not (isinstance(render_mode, str) and render_mode == "rgb_array"):
            raise ConfigError(f"render_mode is {value_text(render_mode)}; it must be None or 'rgb_array'")
        config = one_agent_config(config, "agents='all'") if agents == "ego" else adapter_config(config)
        self.agents = agents
        self.batch = Batch(scenes, num_worlds=num_worlds, config=config, seed=None, threads=threads,
                           world_ids=np.zeros(num_worlds, np.int64), restart="caller", reward=reward)
        self._screens = [Screen(self.batch, render_mode, world, render_options) for world in range(num_worlds)]
        self._envs = [SubEnv(self, index) for index in range(self.batch.num_agents)]
        self._render_mode = render_mode
        self._was_reset = False
        self._actions: npt.ArrayLike | None = None
        self.invalid_step, self.terminations = (np.zeros(self.batch.num_agents, bool) for _ in range(2))
        self._known_infos: dict[int, dict] = {}
        self._optional_channels = optional_channels(self.batch)
        self._form = ObservationForm(self.batch, dict_observations)
        super().__init__(self.batch.num_agents, self._form.space, self.batch.single_action_space)
        self.metadata["render_fps"] = max(1, round(self._screens[0].fps))

    # ---- calls ----

    def reset(self) -> Observation:
        """Opens an episode in every world: the first one of its seed after `seed`, else its next one.

        Options set by `set_options` are not used.

        Returns:
            (envs, observation size), or a dict of arrays.
        """
        seeds = self._seeds[::self.batch.agents_per_world]
        open_episodes(self.batch, seeds, None, self._was_reset)
        self._was_reset = True
        self._actions = None  # actions of the episode before
        self._reset_seeds()
        self._reset_options()
        self.reset_infos = self._infos()
        return self._form.of()

    def seed(self, seed: int | None = None) -> Sequence[int | None]:
        """Sets the seed of the next `reset`, and of that one alone.

        Args:
            seed: world i uses seed + i; None draws one from numpy, as SB3 does.

        Returns:
            The seed of each env's world.

        Raises:
            ConfigError: the seed is not a whole number from 0 to 2**64 - worlds.
        """
        worlds = self.batch.num_worlds
        first = np.random.randint(2**32 - 1, dtype=np.uint32) if seed is None else seed
        first = checked_int("seed", first, 0, SEED_LIMIT - worlds + 1)
        self._seeds = [first + int(world) for world in self.batch.world_of_agent]
        return self._seeds

    def step_async(self, actions: npt.ArrayLike) -> None:
        """Stores a copy of the actions for `step_wait`.

        Args:
            actions: one per env.

        Raises:
            ActionError: they are None.
        """
        if actions is None:
            raise ActionError("actions are None; give one for each env")
        self._actions = np.array(actions)

    def step_wait(self) -> tuple[Observation, npt.NDArray[np.float32], npt.NDArray[np.bool_],
                                 list[dict[str, Any]]]:
        """One step of all worlds.

        Returns:
            observations, (envs, observation size) or a dict of arrays; rewards, (envs,) float32; dones, (envs,) bool;
            infos, a dict per env.

        Raises:
            ActionError: the actions have the wrong shape, are not finite or are out of range. No world has advanced.
            CallError: before `step_async`, before `reset`, or after `close`.
        """
        batch = self.batch
        if self._actions is None:
            raise CallError("step_wait was called before step_async; call step_async first")
        actions, self._actions = self._actions, None
        batch.step(actions)
        rewards, infos = batch.rewards.copy(), self._infos()
        self.invalid_step, self.terminations = batch.invalid_step.copy(), batch.terminations.copy()
        dones = batch.trial_ended & (batch.trial_index == batch.config.max_trials - 1)
        if dones.any():
            ended = np.flatnonzero(dones).tolist()
            for env in ended:
                infos[env]["terminal_observation"] = self._form.of(env)
            batch.reset(worlds=dones[::batch.agents_per_world])
            begun = self._infos()
            for env in ended:
                self.reset_infos[env] = begun[env]
        return self._form.of(), rewards, dones, infos

    def restart_observations(self) -> Observation:
        """`Batch.restart_observations` in the form of this env's observations, which must not be images.

        Raises:
            CallError: before `reset`, or after `close`.
        """
        return self._form.of_vectors(self.batch.restart_observations())

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """Which actions are valid next, as sb3-contrib's MaskablePPO reads it; needs `config.action_mask`.

        Returns:
            (envs, flags): `Batch.action_mask`, a copy.

        Raises:
            AttributeError: the config has no `action_mask`.
        """
        return self.batch.action_mask.copy()

    def close(self) -> None:
        """Frees threads and memory; a second call does nothing."""
        self.batch.close()

    def get_images(self) -> Sequence[npt.NDArray[np.uint8] | None]:
        """One picture per world, each (h, w, 3) uint8.

        Raises:
            CallError: the render mode is None.
            MissingExtraError: the extra [render] is not installed.
        """
        return [screen.picture() for screen in self._screens]

    # ---- single envs ----

    def get_attr(self, attr_name: str, indices: Indices = None) -> list[Any]:
        """An attribute of each `SubEnv`, such as "trial_index".

        Args:
            attr_name: its name.
            indices: of the envs; None for all.

        Raises:
            AttributeError: there is no such attribute.
            ConfigError: there is no such env.
        """
        return [getattr(env, attr_name) for env in self._chosen(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Indices = None) -> None:
        """Sets an attribute of your own on each `SubEnv`.

        Args:
            attr_name, value: its name and value.
            indices: of the envs; None for all.

        Raises:
            AttributeError: the name belongs to the world and is read-only.
            ConfigError: there is no such env.
        """
        if attr_name in PER_AGENT or hasattr(SubEnv, attr_name) or attr_name in ("batch", "index", "_owner"):
            raise AttributeError(f"{attr_name} belongs to the world and cannot be set")
        for env in self._chosen(indices):
            setattr(env, attr_name, value)

    def env_method(self, method_name: str, *method_args: Any, indices: Indices = None, **method_kwargs: Any
                   ) -> list[Any]:
        """Calls a method of each `SubEnv`, such as "trial_state".

        Args:
            method_name, method_args, method_kwargs: its name and arguments.
            indices: of the envs; None for all.

        Raises:
            AttributeError: there is no such attribute.
            ConfigError: there is no such env.
        """
        return [getattr(env, method_name)(*method_args, **method_kwargs) for env in self._chosen(indices)]

    def env_is_wrapped(self, wrapper_class: type, indices: Indices = None) -> list[bool]:
        """Whether each env is wrapped in a Gymnasium wrapper: none is.

        Args:
            wrapper_class: not used.
            indices: of the envs; None for all.

        Raises:
            ConfigError: there is no such env.
        """
        return [False for _ in self._chosen(indices)]

    def _chosen(self, indices) -> list[SubEnv]:
        if indices is None:
            return self._envs
        try:
            some = list(indices)
        except TypeError:
            some = [indices]
        return [self._envs[checked_int("indices", index, 0, self.num_envs - 1)] for index in some]

    def _infos(self) -> list[dict]:
        """A new info for each env; few differ, so they are copies of cached ones."""
        batch, known = self.batch, self._known_infos
        if len(known) > KNOWN_INFOS:
            known.clear()
        keys = batch.code + (batch.trial_index.astype(np.int64) << TRIAL_SHIFT)
        infos = [(known.get(key) or self._cache_info(key)).copy() for key in keys.tolist()]
        add_optional_channels(infos, batch, self._optional_channels)
        return infos

    def _cache_info(self, key: int) -> dict:
        code, trial = key & ((1 << TRIAL_SHIFT) - 1), key >> TRIAL_SHIFT
        info = info_of(code, trial)
        info["TimeLimit.truncated"] = info["truncation"] and trial == self.batch.config.max_trials - 1
        self._known_infos[key] = info
        return info
