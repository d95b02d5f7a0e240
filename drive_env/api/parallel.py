"""The PettingZoo adapter: one world, whose agents have names."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from copy import deepcopy as copy_of
from functools import cached_property
from typing import Any, SupportsIndex

import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.utils import seeding
from pettingzoo import AECEnv, ParallelEnv
from pettingzoo.utils import parallel_to_aec

from ..batch import Batch
from ..binding import lib
from ..config import ConfigSource, DriveConfig, adapter_config
from ..errors import CallError, ConfigError, checked_int, value_text
from ..names import named_arguments
from ..own_reward import RewardFunction
from ..render.screen import RENDER_MODES, Screen
from ..scenes import Scenes
from ..spaces import action_space, observation_space
from .agent_actions import AgentActions
from .agent_dicts import AgentDicts
from .observation_form import Observation, ObservationForm


@named_arguments
def parallel_env(scenes: Scenes = "town", config: ConfigSource | None = None, render_mode: str | None = None,
                 finished: str = "leave", copy: bool = True, max_cycles: int | None = None,
                 dict_observations: bool = False, reward: RewardFunction | str | None = None,
                 render_options: Mapping[str, Any] | None = None) -> DriveParallelEnv:
    """The PettingZoo env of one world; see `DriveParallelEnv`.

    Args:
        scenes, config, render_mode, finished, copy, dict_observations, reward, render_options: as for
            `DriveParallelEnv`.
        max_cycles: PettingZoo's name for the driving steps of an episode of one trial, `config.trial_steps`.

    Raises:
        ConfigError, SceneError: an argument is out of its range.
    """
    return DriveParallelEnv(scenes, _with_max_cycles(config, max_cycles), render_mode, finished, copy,
                            dict_observations, reward, render_options)


@named_arguments
def aec_env(scenes: Scenes = "town", config: ConfigSource | None = None, render_mode: str | None = None,
            finished: str = "leave", copy: bool = True, max_cycles: int | None = None,
            dict_observations: bool = False, reward: RewardFunction | str | None = None,
            render_options: Mapping[str, Any] | None = None) -> AECEnv:
    """`parallel_env` in PettingZoo's AEC API: agents act in turn, and the world advances once all have acted.

    Args:
        scenes, config, render_mode, finished, copy, max_cycles, dict_observations, reward, render_options: as for
            `parallel_env`.

    Raises:
        ConfigError, SceneError: an argument is out of its range.
    """
    return parallel_to_aec(parallel_env(scenes, config, render_mode, finished, copy, max_cycles, dict_observations,
                                        reward, render_options))


env = aec_env
"""PettingZoo's convention: the module of an environment has `env` and `parallel_env`."""


def _with_max_cycles(config: ConfigSource | None, max_cycles: Any) -> DriveConfig:
    config = adapter_config(config)
    if max_cycles is None:
        return config
    if config.max_trials > 1 or config.trial_steps is not None:
        raise ConfigError(f"max_cycles is {value_text(max_cycles)} beside max_trials {config.max_trials} and "
                          f"trial_steps {config.trial_steps}; it must be None where the config sets either")
    return config.replace(trial_steps=checked_int("max_cycles", max_cycles, 1, lib.DRV_FRAME_LIMIT))


class DriveParallelEnv(ParallelEnv):
    """One world as a PettingZoo `ParallelEnv`.

    Agent `agent_i` is index i of `batch`, a one-world `Batch`. An agent leaves `agents` when its termination or
    truncation is raised and does not return before `reset`. An agent that waits for the next trial of the episode
    stays: its action is ignored and may be missing. After the end, `step({})` returns empty dicts. A `reset` after
    `close` opens the env again. Observations are vectors of float32, or by `config.observation.type` of float16, or
    images of uint8.

    `infos[agent]` always holds `trial_ended`, `truncation`, `removed`, `invalid_step`, `stopped`, `first` (bool),
    `trial_index` and `outcome` (int, index into `drive_env.OUTCOMES`: 0 except in the step that decides the agent's
    trial); docs/channels.md defines them. Options of the config add `reward_terms`, `critic_observations`,
    `action_mask`, in the form that `action_space(agent).sample` takes, and `coplayer`.

    `np_random` is for wrappers that need random numbers, `state` for learners with a centralised critic.

    Args:
        scenes, config: as for `Batch`.
        render_mode: None, "rgb_array" (`render` returns a picture) or "human" (a window shows every step); both need
            the extra [render].
        finished: "leave", or "wait": agents that are done stay until the episode ends for all, and their flags are
            raised then, for libraries that need a constant set of agents.
        copy: whether observations are copies; with False they are views that the next call overwrites.
        dict_observations: whether observations are dicts of arrays, as of `DictObservation`, instead of single arrays.
        reward: as for `Batch`.
        render_options: arguments of `SceneView` for the pictures of `render`, by name: size, view, agent, span_m,
            box_m, bars and agent_colours, such as {"view": "follow", "bars": False}; values are checked when the first
            picture is drawn.

    Raises:
        ConfigError, SceneError: an argument is out of its range.
    """

    metadata = {"name": "drive_v0", "render_modes": list(RENDER_MODES), "render_fps": 10, "is_parallelizable": True}

    @named_arguments
    def __init__(self, scenes: Scenes = "town", config: ConfigSource | None = None, render_mode: str | None = None,
                 finished: str = "leave", copy: bool = True, dict_observations: bool = False,
                 reward: RewardFunction | str | None = None,
                 render_options: Mapping[str, Any] | None = None) -> None:
        if not isinstance(finished, str) or finished not in ("leave", "wait"):
            raise ConfigError(f"finished is {value_text(finished)}; it must be 'leave' or 'wait'")
        if not isinstance(copy, bool):
            raise ConfigError(f"copy is {value_text(copy)}; it must be True or False")
        self.finished = finished
        self.copy = copy
        self.batch = Batch(scenes, num_worlds=1, config=adapter_config(config), seed=None, threads=1, restart="caller",
                           reward=reward)
        self.render_mode = render_mode
        self._screen = Screen(self.batch, render_mode, options=render_options)
        self.metadata = {**self.metadata, "render_fps": max(1, round(self._screen.fps))}
        self.possible_agents: list[str] = [f"agent_{index}" for index in range(self.batch.agents_per_world)]
        self.agents: list[str] = []
        self._form = ObservationForm(self.batch, dict_observations)
        self.observation_spaces = {agent: copy_of(self._form.space) for agent in self.possible_agents}
        self.action_spaces = {agent: action_space(self.batch.config) for agent in self.possible_agents}
        self._was_reset = False
        self._np_random: np.random.Generator | None = None
        self._is_whole = True
        self._bind()

    def _bind(self) -> None:
        """Makes the objects that hold views of the batch's arrays."""
        self._dicts = AgentDicts(self.batch, self.possible_agents, self._form, self.copy, self.finished)
        self._actions = AgentActions(self.batch, self.possible_agents, self.action_spaces[self.possible_agents[0]])

    def reset(self, seed: SupportsIndex | None = None, options: dict[str, Any] | None = None
              ) -> tuple[dict[str, Observation], dict[str, dict[str, Any]]]:
        """Opens an episode: the first one of `seed`, or, without a seed, the env's next one. `options` are not used.

        After `close` it opens the env again, with a fresh seed unless one is passed.

        Returns:
            observations, (observation size,) or a dict each, and infos: one entry for each agent that has a vehicle.

        Raises:
            ConfigError: the seed is not a whole number from 0 to 2**64 - 1.
        """
        if self.batch.reopen():
            options = self._screen.options
            self._screen, self._was_reset = Screen(self.batch, self.render_mode, options=options), False
            self._bind()
        if seed is None and not self._was_reset:
            seed = secrets.randbits(64)  # drawn here: copies of an env before its first reset must differ
        self._is_whole = False
        self.batch.reset(seed=seed)
        self._was_reset = True
        if seed is not None:
            self._np_random = None
        self._dicts.open()
        self._follow()
        self._is_whole = True
        if self.render_mode == "human":
            self.render()
        return self._dicts.observations(), self._dicts.infos()

    def step(self, actions: Mapping[str, Any]) -> tuple[
            dict[str, Observation], dict[str, float], dict[str, bool], dict[str, bool], dict[str, dict[str, Any]]]:
        """One step of all agents.

        Args:
            actions: one for each agent that drives; those of waiting agents are not read.

        Returns:
            observations, (observation size,) or a dict each, rewards, terminations, truncations, infos: one entry for
            each agent in `agents` at the call.

        Raises:
            ActionError: an action is missing, out of range or of the wrong shape, or its agent is unknown. The world
                has not advanced.
            CallError: before `reset` or after `close`.
        """
        if not self._was_reset:
            raise CallError("step was called before reset; call reset first")
        if not self._is_whole:
            self._recover()
        if not self._dicts.agents:
            if actions:
                raise CallError(f"the episode is over and step got {len(actions)} actions; call reset first")
            return {}, {}, {}, {}, {}
        self._actions.read(actions)
        self._is_whole = False
        self.batch.step(self.batch.bound_actions)
        if self._dicts.update():
            self._actions.invalidate()
        returned = self._dicts.step_dicts()
        self.agents = self._dicts.agents
        self._is_whole = True
        if self.render_mode == "human":
            self.render()
        return returned

    def close(self) -> None:
        """Frees the world's memory and closes the window; `reset` opens both again. A second call does nothing."""
        self._screen.close()
        self.batch.close()

    def render(self) -> npt.NDArray[np.uint8] | None:
        """The current picture: (h, w, 3) uint8 for "rgb_array"; for "human" a window shows it, and None is returned.

        Raises:
            CallError: the render mode is None, or no window can be opened.
            MissingExtraError: the extra [render] is not installed.
        """
        return self._screen.show()

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """The space of an agent's observations, the same object at every call; see docs/observation.md.

        Args:
            agent: one of `possible_agents`.

        Raises:
            ConfigError: there is no such agent.
        """
        return self._of_agent(self.observation_spaces, agent)

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """The space of an agent's actions, the same object at every call, by `config.action_type`.

        Args:
            agent: one of `possible_agents`.

        Raises:
            ConfigError: there is no such agent.
        """
        return self._of_agent(self.action_spaces, agent)

    def _of_agent(self, by_agent: dict[str, Any], agent: str) -> Any:
        try:
            return by_agent[agent]
        except (KeyError, TypeError):
            first, last = self.possible_agents[0], self.possible_agents[-1]
            raise ConfigError(f"agent is {value_text(agent)}; agents are {first} to {last}") from None

    @property
    def np_random(self) -> np.random.Generator:
        """A generator for wrappers, created again by every seeded `reset`; the world itself never draws from it."""
        if self._np_random is None:
            self._np_random, _ = seeding.np_random(self.batch.seed)
        return self._np_random

    def state(self) -> npt.NDArray[Any]:
        """The observation vectors of all possible agents, concatenated.

        Returns:
            (possible agents * observation size,) in the type of the observations.
        """
        return self.batch.observations.reshape(-1).copy()

    @cached_property
    def state_space(self) -> spaces.Box:
        """The space of `state`."""
        return observation_space(self.batch.config, self.batch.observations.size)

    def _follow(self) -> None:
        """Updates dicts, actions and `agents` after a change of the batch."""
        self._dicts.update()
        self._actions.invalidate()
        self.agents = self._dicts.agents

    def _recover(self) -> None:
        """Restores all state from the batch, after an exception within a call, such as Ctrl-C."""
        self._dicts.recover()
        self._follow()
        self._is_whole = True

    def __getstate__(self) -> dict:
        acting, flagged = np.zeros(len(self.possible_agents), bool), self._dicts.flagged.copy()
        acting[self._dicts.indices] = True
        kept = {name: value for name, value in self.__dict__.items() if name not in ("_dicts", "_actions")}
        return {**kept, "_dicts_state": (acting, flagged)}

    def __setstate__(self, state: dict) -> None:
        acting, flagged = state.pop("_dicts_state")
        self.__dict__.update(state)
        self._bind()
        self._dicts.keep(acting)
        self._dicts.flagged[:] = flagged
        self._follow()

    def __repr__(self) -> str:
        return f"DriveParallelEnv({len(self.possible_agents)} agents on {len(self.batch.scenes)} scenes)"
