"""What is the state of a world now? A copy, made through the batch's public names."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..batch import OUTCOMES, Batch
from ..config import FOLLOWED_GOALS
from ..errors import CallError
from ..roles import Roles
from .colours import DRIVING, LOG_REPLAY, RULE_BASED, STATE_NAMES, STATIC

STATE_OF_OUTCOME = np.array([STATE_NAMES.index(name) if name else DRIVING for name in OUTCOMES], np.uint8)
"""Index into `STATE_NAMES` by the code of `outcome`; an agent without an outcome drives."""


@dataclass(frozen=True)
class Snapshot:
    """One world at one time. Vehicle i < `roles.num_agents` is agent i of the world.

    Attributes:
        roles: of the scene's objects.
        episode, trial, steps: from 0; `steps` of the trial's clock.
        max_trials: of the episode.
        xy_m: (vehicles, 2). heading_rad, speed_mps, length_m, width_m, kind: (vehicles,).
        z_m: (vehicles,) height of the road under it.
        present: (vehicles,) bool, whether on the map.
        state: (vehicles,) uint8, index into `colours.STATE_NAMES`.
        goal_m: (agents, 2). goal_reached: (agents,) bool, whether that is reached and no other follows.
        next_goals_m: (agents, n, 2) of the goals after that, as many as agents observe, NaN where there are fewer.
        goal_heading_rad: (agents,) heading with which that counts as reached, NaN for any.
        had_goal: (agents,) bool, in this trial.
        had_collision, had_offroad: (vehicles,) bool, in this trial; only agents have them.
        respawns: (vehicles,) int32, how often it has appeared at another start in this trial; only agents do.
        light_state: (controls,) uint8, what the traffic lights of the scene show.
        script_frame: (scripts,) int32, of the log of each of `roles.scripts`; 0 while it waits, -1 where not drawn.
        coplayer: (vehicles,) bool, whether it is a co-player.
        blind, braking: (agents,) bool, whether that disturbance of it is on.
    """

    roles: Roles
    episode: int
    trial: int
    steps: int
    max_trials: int
    xy_m: np.ndarray
    z_m: np.ndarray
    heading_rad: np.ndarray
    speed_mps: np.ndarray
    length_m: np.ndarray
    width_m: np.ndarray
    kind: np.ndarray
    present: np.ndarray
    state: np.ndarray
    goal_m: np.ndarray
    next_goals_m: np.ndarray
    goal_reached: np.ndarray
    goal_heading_rad: np.ndarray
    had_goal: np.ndarray
    had_collision: np.ndarray
    had_offroad: np.ndarray
    respawns: np.ndarray
    light_state: np.ndarray
    script_frame: np.ndarray
    coplayer: np.ndarray
    blind: np.ndarray
    braking: np.ndarray

    @property
    def agent_state(self) -> np.ndarray:
        """(agents,) states of all agents, on the map or not."""
        return self.state[: self.roles.num_agents]


def take_snapshot(batch: Batch, world: int) -> Snapshot:
    """Copies the state of a world.

    Raises:
        CallError: the batch was never reset, or is closed.
    """
    trial = batch.trial_state(world)
    if trial["episode"] < 0:
        raise CallError("a picture was requested before reset; call reset first")
    roles = batch.roles[int(batch.scene_index[world])]
    agents = roles.num_agents
    vehicles = batch.vehicles(world)

    # States and events of all vehicles: those of agents, and those that follow from the role of the others, or from
    # whether they follow their logs.
    state = np.where(vehicles["follows_log"], LOG_REPLAY, RULE_BASED).astype(np.uint8)
    state[:agents] = STATE_OF_OUTCOME[trial["outcome"][:agents]]
    state[len(state) - roles.static_count :] = STATIC
    infractions = np.zeros((2, len(roles.objects)), bool)
    infractions[:, :agents] = trial["had_collision"][:agents], trial["had_offroad"][:agents]
    respawns = np.zeros(len(roles.objects), np.int32)
    respawns[:agents] = trial["respawns"][:agents] if batch.config.on_goal == "respawn" else 0
    coplayer = np.zeros(len(roles.objects), bool)
    if batch.config.coplayers:
        coplayer[:agents] = batch.coplayer[world * batch.agents_per_world :][:agents]

    # Where goals follow one another, only the outcome shows that the last one was reached.
    has_last_goal = (batch.config.on_goal not in FOLLOWED_GOALS) | (trial["outcome"] == OUTCOMES.index("goal"))
    return Snapshot(
        roles=roles, episode=trial["episode"], trial=trial["trial"], steps=trial["steps"],
        max_trials=batch.config.max_trials,
        xy_m=np.stack([vehicles["x_m"], vehicles["y_m"]], axis=1).astype(np.float64),
        z_m=vehicles["z_m"],
        heading_rad=vehicles["heading_rad"].astype(np.float64), speed_mps=vehicles["speed_mps"],
        length_m=vehicles["length_m"], width_m=vehicles["width_m"], kind=vehicles["kind"],
        present=vehicles["present"], state=state,
        goal_m=trial["goal_m"][:agents].astype(np.float64),
        next_goals_m=trial.get("next_goals_m", np.zeros((agents, 0, 2)))[:agents].astype(np.float64),
        goal_reached=(trial["had_goal"] & has_last_goal)[:agents],
        goal_heading_rad=trial.get("goal_heading_rad", np.full(agents, np.nan))[:agents],
        had_goal=trial["had_goal"][:agents], had_collision=infractions[0], had_offroad=infractions[1],
        respawns=respawns, light_state=batch.light_states(world), coplayer=coplayer,
        script_frame=trial.get("script_frame", np.zeros(0, np.int32)),
        **{name: trial.get(name, np.zeros(agents, bool))[:agents] for name in ("blind", "braking")})
