"""Reading the state of single worlds of a batch: vehicles, progress of the trial, events of the last step."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .binding import lib
from .config import FOLLOWED_GOALS, disturbances_of
from .errors import checked_int
from .native_batch import WorldState
from .reports import reward_metrics
from .roles import Roles, listed_goal
from .routes import lane_heading_rad
from .world_range import WorldRange


class ReadableWorlds(WorldRange):
    """A range of worlds whose state can be read world by world; the base of `Batch`."""

    def vehicles(self, world: int = 0) -> dict[str, npt.NDArray[Any]]:
        """A copy of the vehicles of a world as they are now: first its agents, then log-replay, rule-based and
        static vehicles.

        Keys, all (vehicles,): x_m, y_m, heading_rad, speed_mps, length_m, width_m (float32), z_m (float32: height of
        the road under it; 0 in a scene whose roads do not lie above each other), kind (uint8, as in
        `drive_env.scenes.OBJECT_KINDS`), present (bool: on the map) and follows_log (bool: it replayed its log in
        the last step; a rule-based vehicle does so while it is handed back, see `DriveConfig.idm_handback_m`).

        Raises:
            ConfigError: there is no such world.
            CallError: the batch is closed, a step is in flight, or another thread is in a call.
        """
        state = self._world(world)
        roles = self.roles[state["scene_index"][0]]
        count, objects = len(roles.objects), roles.scene.objects
        moving = {name: state[name][:count] for name in ("x_m", "y_m", "heading_rad", "speed_mps")}
        z_m = state["z_m"][:count] if len(state["z_m"]) else np.zeros(count, np.float32)
        return moving | {
            "z_m": z_m,
            "length_m": objects.length_m[roles.objects], "width_m": objects.width_m[roles.objects],
            "kind": objects.kind[roles.objects], "present": state["present"][:count].astype(bool),
            "follows_log": state["controller"][:count] == lib.DRV_CONTROLLER_LOG}

    def trial_state(self, world: int = 0) -> dict[str, Any]:
        """A copy of a world's progress in its episode, and of the events of its agents in this trial.

        Keys: episode (-1 before the first reset), trial, steps (driven in this trial, plus its initial age) as int; for
        each agent of the world goal_m ((agents, 2) float32), outcome (uint8, index into `OUTCOMES`, 0 while undecided)
        and had_goal, had_collision, had_offroad (bool), and with `DriveConfig(traffic_controls=True)` had_red_light and
        had_stop_sign; `reward_<term>` (float32), the sum over this trial of each reward term that reports have; with
        `Batch(reward=...)` own_reward (float32), the sum over this trial of what that function returned; with
        `on_goal` "next" or "respawn" goals_reached (int32); with "respawn" also respawns (int32, how often it has
        appeared at another start) and start_of (int32, the agent whose start, goal and route in the scene it has: its
        own index until it respawns); with `goal_heading_tolerance_rad` goal_heading_rad (float32, the heading of the
        goal, else the direction of the lane there, NaN where the goal is on no lane); with `on_goal` "next" and several
        `observation.goals` next_goals_m ((agents, goals - 1, 2) float32, the goals after goal_m, as many as agents
        observe, NaN where there are fewer); with disturbances blind and braking (bool), whether the agent observes no
        vehicles now, and whether it brakes in the coming step whatever its action is. In scenes with scripts also
        script_frame ((s,) int32), the steps that the log of each of `Batch.roles[...].scripts` has run: 0 while it
        waits, -1 where this episode has not drawn its option.

        Raises:
            ConfigError: there is no such world.
            CallError: the batch is closed, a step is in flight, or another thread is in a call.
        """
        # Goals, and what the response to them adds.
        state = self._world(world)
        goal_m = np.stack([state["goal_x_m"], state["goal_y_m"]], axis=1)
        further = self._next_goals(world) if self.config.on_goal == "next" and self.config.observation.goals > 1 else {}
        counts = ["goals_reached"] if self.config.on_goal in FOLLOWED_GOALS else []
        counts += ["respawns", "start_of"] if self.config.on_goal == "respawn" else []
        # The heading of a goal is its own in the scene, else that of the lane there.
        headings = {}
        if self.config.goal_heading_tolerance_rad is not None:
            scene = self._core.scene_handles[state["scene_index"][0]]
            of_lanes_rad = np.array([
                lane_heading_rad(scene, lane, along_m)
                for lane, along_m in zip(state["goal_lane"].tolist(), state["goal_along_m"].tolist())], np.float32)
            own_rad = _own_goal_headings(self.roles[state["scene_index"][0]], state, self.config.on_goal)
            headings["goal_heading_rad"] = np.where(np.isnan(own_rad), of_lanes_rad, own_rad)
        # Events, disturbances and sums of rewards of the trial.
        names = ["had_goal", "had_collision", "had_offroad"]
        names += ["had_red_light", "had_stop_sign"] if self.config.traffic_controls else []
        agents: dict[str, npt.NDArray[Any]] = {name: state[name].astype(bool) for name in names}
        if disturbances_of(self.config):
            agents |= {name: state[f"{name}_steps"] > 0 for name in ("blind", "braking")}
        terms = reward_metrics(self.config)
        agents |= dict(zip(terms, state["trial_reward"].reshape(-1, len(terms)).T.copy(), strict=True))
        agents |= {"own_reward": state["own_reward"]} if self.has_own_reward else {}
        count = len(self.roles[state["scene_index"][0]].scripts.vehicle)
        scripts = {"script_frame": state["script_frame"][:count].copy()} if count else {}
        return {"episode": int(state["episode"][0]), "trial": int(state["trial"][0]),
                "steps": int(state["clock_steps"][0] + state["age_steps"][0]), "goal_m": goal_m,
                "outcome": state["outcome"], **{name: state[name] for name in counts}, **further, **headings, **agents,
                **scripts}

    def step_events(self, world: int = 0) -> dict[str, npt.NDArray[Any]]:
        """A copy of the onsets of the last step for the agents of a world, (agents,) each.

        Keys: goal, collision, offroad (bool), and collision_vehicle (int32: the lowest index into `vehicles` among
        those in a contact that began, -1 for none), and with `DriveConfig(traffic_controls=True)` red_light and
        stop_sign (bool). All False and -1 for agents that did not act.

        Raises:
            ConfigError: there is no such world.
            CallError: the batch is closed, a step is in flight, or another thread is in a call.
        """
        state = self._world(world)
        onsets = {"goal": "goal_onset", "collision": "collision_onset", "offroad": "offroad_onset"}
        if self.config.traffic_controls:
            onsets |= {"red_light": "red_light_onset", "stop_sign": "stop_sign_onset"}
        events = {name: state[onset].astype(bool) for name, onset in onsets.items()}
        return events | {"collision_vehicle": np.where(events["collision"], state["collision_vehicle"], -1)}

    def light_states(self, world: int = 0) -> npt.NDArray[np.uint8]:
        """A copy of what the traffic controls of a world's scene show now, until the next step ends.

        (c,) uint8, codes of `drive_env.scenes.LIGHT_STATES`, in the order of `Scene.traffic_controls`: 0 for
        signs, and for all without `DriveConfig(traffic_controls=True)`.

        Raises:
            ConfigError: there is no such world.
            CallError: the batch is closed, a step is in flight, or another thread is in a call.
        """
        state = self._world(world)
        count = self.roles[state["scene_index"][0]].scene.traffic_controls.count
        return state["light_state"][:count] if self.config.traffic_controls else np.zeros(count, np.uint8)

    def _next_goals(self, world: int) -> dict[str, np.ndarray]:
        """next_goals_m of `trial_state`; none before the first reset."""
        goals_m, counts = self._core.goals(world, self.config.observation.goals)
        has_goal = np.arange(1, goals_m.shape[1]) < counts[:, None]
        return {"next_goals_m": np.where(has_goal[:, :, None], goals_m[:, 1:, :2], np.float32(np.nan))}

    def _world(self, world: int) -> WorldState:
        """A copy of one world's state."""
        world = checked_int("world", world, 0, self.num_worlds - 1)
        self._check_open()
        return self._core.copy_world(world)


def _own_goal_headings(roles: Roles, state: WorldState, on_goal: str) -> np.ndarray:
    """(agents,) float32, the headings that the scene has for the present goals of a world; NaN where it has none."""
    found = np.full(len(state["goal_lane"]), np.nan, np.float32)
    if len(roles.scene.candidate_goals_m):
        return found
    for agent in range(roles.num_agents):
        # An agent that is removed at its last goal keeps that one.
        has_finished = state["outcome"][agent] == lib.DRV_OUTCOME_GOAL
        number = int(state["goals_reached"][agent]) - int(has_finished) if on_goal == "next" else 0
        listed = listed_goal(roles.goal_lists, agent, number)
        start = state["start_of"][agent] if on_goal == "respawn" else agent
        if listed >= 0:
            found[agent] = roles.goal_lists.goal_heading_rad[listed]
        elif number == 0:
            found[agent] = roles.scene.objects.goal_heading_rad[roles.objects[start]]
    return found
