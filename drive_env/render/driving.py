"""How does a person drive an agent? By keyboard or gamepad, in a window, while a policy drives the others."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..action_array import action_array
from ..batch import OUTCOMES, Batch
from ..config import ConfigSource, checked_config
from ..drivers.controls import hand_action
from ..errors import CallError, ConfigError, checked_int
from ..names import named_arguments
from ..playing import actions_of
from ..policies import Policy, config_or_trained, policy_maker, resolved
from ..scenes import Scenes
from .extra import need
from .hand_controls import HELP, HandControls
from .view import SceneView

WINDOW_SIZE_PX = (1280, 720)

HIDDEN_DRIVER, DRIVER_VARIABLES = "offscreen", ("SDL_VIDEODRIVER", "SDL_VIDEO_DRIVER")
"""What some builds of SDL fall back to without a display: its windows are invisible, and no key ends the drive. The
variables choose a driver."""


class HandTrial(NamedTuple):
    """A trial that a person drove.

    Attributes:
        trial: index in its episode.
        outcome: one of `OUTCOMES`; "" if it was reset or ended before.
        steps: in which the person drove.
    """

    trial: int
    outcome: str
    steps: int


@named_arguments
def drive(scenes: Scenes, policy: Policy = "lane", agent: int = 0, config: ConfigSource | None = None, seed: int = 0,
          view: str = "follow", size: tuple[int, int] = WINDOW_SIZE_PX,
          ended: Callable[[HandTrial], None] | None = None) -> list[HandTrial]:
    """Opens a window in which a person drives one agent in real time, until Esc is pressed or the window is closed.

    Up or W accelerates, Down or S brakes, and with `dynamics.min_speed_mps` below 0 also reverses; Left and Right, or A
    and D, steer; Space brakes; R begins the next episode; Esc ends. With a gamepad, the left stick steers, accelerates
    and brakes, A brakes, and Start begins the next episode.

    Args:
        scenes: as for `Batch`.
        policy: as for `record`; it drives all other agents.
        agent: index of the agent that the person drives.
        config: as for `record`.
        seed: of the first episode and of the random policy.
        view, size: as for `SceneView`.
        ended: called with each trial of the agent once it is decided.

    Returns:
        The trials that the person drove, those that were reset included.

    Raises:
        ConfigError, SceneError: an argument is out of its range, or the actions of the vehicle model set no
            acceleration and steering.
        CallError: no window opens here.
        MissingExtraError: pygame, of the extra `drive`, or a package of the extra `render` is not installed.
    """
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")  # it prints a line otherwise
    policy, pygame = resolved(policy), need("pygame")
    config = checked_config(config_or_trained(config, policy))
    with Batch(scenes, config=config, seed=seed, threads=1) as batch:
        fewest = min(batch.roles, key=lambda roles: roles.num_agents)  # any scene may be that of the next episode
        if checked_int("agent", agent, 0, batch.agents_per_world - 1) >= fewest.num_agents:
            raise ConfigError(f"agent is {agent}; in scene {fewest.scene.name} it must be a whole number from 0 to "
                              f"{fewest.num_agents - 1}")
        hand_action(0.0, 0.0, config)  # checks the vehicle model before the window opens
        scene_view, act = SceneView(batch, view=view, agent=agent, size=size), policy_maker(policy, seed)(batch)
        batch.reset()
        try:
            pygame.init()
            screen = pygame.display.set_mode(size)
            is_chosen = any(name in os.environ for name in DRIVER_VARIABLES)
            if pygame.display.get_driver() == HIDDEN_DRIVER and not is_chosen:
                raise pygame.error(f"SDL found only its driver {HIDDEN_DRIVER!r}")
        except pygame.error as error:
            pygame.quit()
            raise CallError(f"no window opens here ({error}); it needs a display") from None
        try:
            return _driven(pygame, screen, batch, act, scene_view, ended)
        finally:
            pygame.quit()


def _driven(pygame, screen, batch: Batch, act, scene_view: SceneView, ended) -> list[HandTrial]:
    """The loop of `drive`: a step, then its picture, at the pace of the world."""
    agent, controls, clock = scene_view.agent, HandControls(pygame), pygame.time.Clock()
    trials: list[HandTrial] = []
    steps, trial, is_decided = 0, 0, False
    while True:
        # The picture, and what the person requests next.
        dt_s = batch.roles[int(batch.scene_index[0])].dt_s
        screen.blit(pygame.surfarray.make_surface(scene_view.frame().swapaxes(0, 1)), (0, 0))
        pygame.display.set_caption(f"drive-env: {HELP}")
        pygame.display.flip()
        clock.tick(1.0 / dt_s)
        controls.begin_step()
        if controls.quits or controls.resets:
            if steps and not is_decided:
                trials.append(HandTrial(trial, "", steps))
            if controls.quits:
                return trials
            batch.reset()
            steps, trial, is_decided = 0, 0, False
            continue

        # A step of all agents; the policy is called in each, since it may have a memory.
        actions = np.array(action_array(actions_of(act, batch), batch.bound_actions))
        actions[agent] = hand_action(*controls.shares(dt_s), batch.config)
        steps += not batch.waits[agent]
        batch.step(actions)
        if batch.first[agent] or batch.trial_index[agent] != trial:  # this step was a restart
            steps, trial, is_decided = 0, int(batch.trial_index[agent]), False
        elif (outcome := OUTCOMES[int(batch.outcome[agent])]) and not is_decided:
            is_decided = True
            trials.append(HandTrial(trial, outcome, steps))
            if ended is not None:
                ended(trials[-1])
