"""Which envs are registered by the name of a scene, and how do their configs differ from the defaults?

One row of `SCENE_ENVS` each. Registration, the table of docs/scene_envs.md and the tests come from it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..scenes.generate import CONFIG_OF
from ..scenes.generate.forks import FRAME_S as GENERATED_DT_S

REWARD = {"goal": 1.0, "collision": -1.0, "offroad": -1.0}
"""Weights of every env, in addition to its progress term. An infraction costs what a collision costs in HighwayEnv."""

LANES = {"idm_lane_changes": True}
"""Where rule-based vehicles have lanes to change to."""

SIGNS = {"traffic_controls": True, "observation": {"controls": 4}}
"""Where a scene has signs: rule-based vehicles obey them, and the agent observes them."""

STANDS = {"others": "static", **CONFIG_OF["parking"]}
"""In a parking lot all other cars stand still. If the agent is to park, it starts ahead of the other cars that arrive,
so they do not block it."""

LAPS = {"on_goal": "next", "goal_radius_m": 8.0}
"""On a circuit goals follow one another, 40 m apart. With this radius an agent reaches a goal from either of the two
lanes, which are 5 m apart."""

LAPS_OF_THREE = {**LAPS, "goal_radius_m": 13.0}
"""The same from each of three lanes."""

LAP_REWARD = {"goal": 0.4, "wrong_way_per_m": -0.02}
"""A goal is worth the 40 m of progress before it. Driving back costs more than the same way forward earns."""


class SceneEnv(NamedTuple):
    """One env: an agent among the rule-based vehicles of a generator's scenes."""

    name: str
    """Its id without namespace and version, in the spelling of Gymnasium's own ids."""
    scenes: str
    """The generator."""
    horizon_s: float
    """Time limit of an episode, which is one trial; long enough for a driver behind slow traffic, too."""
    progress: str
    """The dense reward term. The route is that along lanes; without lane changes, it does not lead to every goal."""
    progress_per_m: float
    """Its weight: the way to a typical goal adds up to about 1, as much as the goal itself."""
    action_type: str = "discrete"
    dt_s: float = GENERATED_DT_S
    """Time between decisions, and of a step of the simulation."""
    reward: dict[str, float] = {}
    """Weights that differ from `REWARD`."""
    others: dict[str, Any] = {}
    """Further fields of the config."""

    @property
    def id(self) -> str:
        """What `gymnasium.make` takes."""
        return f"drive_env/{self.name}-v0"

    @property
    def defaults(self) -> dict[str, Any]:
        """The fields of `DriveConfig` that differ from its defaults, in the types of JSON."""
        steps: dict[str, Any] = {"trial_steps": round(self.horizon_s / self.dt_s)}
        if self.dt_s != GENERATED_DT_S:
            steps |= {"dt_s": self.dt_s}
        return {"others": "idm", "action_type": self.action_type, **steps, **self.others,
                "reward": {**REWARD, self.progress: self.progress_per_m, **self.reward}}


SCENE_ENVS = (
    SceneEnv("Highway", "highway", 40.0, "progress_per_m", 0.0025, others=LANES),
    SceneEnv("HighwayFast", "highway", 40.0, "progress_per_m", 0.0025, dt_s=0.2,
             others={**LANES, "observation": {"partners": 8, "roads": 32, "road_selection": "near"}}),
    SceneEnv("Merge", "merge", 40.0, "progress_per_m", 0.004, others=LANES),
    SceneEnv("Roundabout", "roundabout", 60.0, "route_progress_per_m", 0.01, others=SIGNS),
    SceneEnv("Racetrack", "racetrack", 300.0, "progress_per_m", 0.01, action_type="continuous", reward=LAP_REWARD,
             others={**LANES, **LAPS}),
    SceneEnv("RacetrackLarge", "racetrack_large", 300.0, "progress_per_m", 0.01, action_type="continuous",
             reward=LAP_REWARD, others={**LANES, **LAPS_OF_THREE}),
    SceneEnv("Oval", "oval", 300.0, "progress_per_m", 0.01, action_type="continuous", reward=LAP_REWARD,
             others={**LANES, **LAPS}),
    SceneEnv("Bottleneck", "bottleneck", 60.0, "progress_per_m", 0.004, others=LANES),
    SceneEnv("TJunction", "t_junction", 40.0, "route_progress_per_m", 0.01, reward={"stop_sign": -0.5}, others=SIGNS),
    SceneEnv("Narrow", "narrow", 30.0, "route_progress_per_m", 0.01),
    SceneEnv("TwoWay", "two_way", 20.0, "progress_per_m", 0.0025),
    SceneEnv("Exit", "exit", 40.0, "progress_per_m", 0.0025, others=LANES),
    SceneEnv("UTurn", "u_turn", 40.0, "route_progress_per_m", 0.01, others=SIGNS),
    SceneEnv("Procedural", "procedural", 60.0, "route_progress_per_m", 0.01, others=SIGNS),
    SceneEnv("Parking", "parking", 100.0, "progress_per_m", 0.04, action_type="continuous", others=STANDS),
    SceneEnv("Intersection", "intersection", 60.0, "route_progress_per_m", 0.01),
    SceneEnv("Town", "town", 40.0, "route_progress_per_m", 0.01),
)
