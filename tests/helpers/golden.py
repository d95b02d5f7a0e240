"""Which bytes does a seeded rollout have? The same on every machine, so that a change of them is a decision.

`python tests/helpers/golden.py` writes golden.json again, after a change that is meant to change the simulation or the
observations; the commit states the reason. `python tests/helpers/golden.py --core LIBRARY [ROLLOUT ...]` prints the
hashes of another build of the core as JSON.

A rollout has three hashes: `outputs`, of every array at every step; `reports`, of the results of calls (metrics,
restart observations); `state`, of the rest of the core's state at every step. A change that only adds to the state
leaves the first two as they are.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "tests" / "golden.json"

IGNORE_ALL = {"on_goal": "ignore", "on_collision": "ignore", "on_offroad": "ignore"}
OBSERVES_TIME = {"time_left": "actor"}
TWO_TRIALS = {"max_trials": 2, "trial_steps": 45, "dynamics": {"min_speed_mps": -5.0},
              "observation": OBSERVES_TIME}

SCENES = ("town", "intersection", "map_942")
ACTION_TYPES = ("discrete", "multi_discrete", "continuous")

ROLLOUTS = {
    **{f"{scene}/{action_type}": {**TWO_TRIALS, "action_type": action_type}
       for scene in SCENES for action_type in ACTION_TYPES},
    "town/ignored": {**IGNORE_ALL, "max_trials": 3, "trial_steps": 25, "action_type": "continuous"},
    "town/removed": {"on_collision": "remove", "on_offroad": "remove", "max_trials": 3, "trial_steps": 30},
    "town/stopped": {"on_goal": "stop", "stopped_share_limit": 0.3, "max_trials": 4, "trial_steps": 25,
                     "action_type": "multi_discrete"},
    "town/crowded": {"agents_per_world": 5, "observation": {"partners": 3, "roads": 9, "view_radius_m": 40.0},
                     "dt_s": 0.25, "trial_steps": 40, "action_type": "continuous"},
    "town/progress": {**TWO_TRIALS, "reward": {"goal": 0.7, "collision": -0.3, "progress_per_m": 0.013},
                      "action_type": "continuous"},
    "town/half": {**TWO_TRIALS, "observation": {**OBSERVES_TIME, "type": "float16"}},
    "town/indexed": {**TWO_TRIALS, "observation": {**OBSERVES_TIME, "type": "index"}, "on_collision": "remove"},
    # Averages of so short a memory that the share of the trial before last is subnormal.
    "intersection/forgetful": {"on_collision": "ignore", "trial_steps": 12, "log_ema_alpha": 1e-160,
                               "action_type": "continuous"},
    "intersection/ignored": {**IGNORE_ALL, "max_trials": 2, "trial_steps": 40, "scene_order": "cycle"},
    "town/near": {**IGNORE_ALL, "trial_steps": 40, "observation": {"road_selection": "near"},
                  "action_type": "continuous"},
    "map_942/near": {**TWO_TRIALS, "observation": {**OBSERVES_TIME, "road_selection": "near"}},
    "map_942/indexed": {"observation": {"type": "index"}, "max_trials": 2, "trial_steps": 40,
                        "action_type": "continuous"},
    "map_942/coarse": {**IGNORE_ALL, "agents_per_world": 6, "dt_s": 0.16, "action_type": "continuous"},
    "exits/revealed": {"max_trials": 3, "trial_steps": 30, "dt_s": 0.2, "action_type": "continuous",
                       "observation": {"partners": 0, "roads": 16, "candidates": 3, "goal_reveal_s": 2.0}},
    "town/next": {**IGNORE_ALL, **TWO_TRIALS, "on_goal": "next", "goal_spacing_m": 20.0, "goal_radius_m": 60.0,
                  "dt_s": 0.5, "detailed_metrics": True, "action_type": "continuous"},
    "town/goals": {**IGNORE_ALL, **TWO_TRIALS, "on_goal": "next", "goal_spacing_m": 20.0, "goal_radius_m": 60.0,
                   "dt_s": 0.5, "max_goals": 4, "observation": {"goals": 3}, "sensors": {"goal_position_noise_m": 2.0},
                   "action_type": "continuous"},
    "town/respawn": {**IGNORE_ALL, **TWO_TRIALS, "on_goal": "respawn", "goal_radius_m": 60.0, "dt_s": 0.5,
                     "detailed_metrics": True, "action_type": "continuous"},
    "intersection/respawn": {**IGNORE_ALL, "max_trials": 2, "trial_steps": 45, "on_goal": "respawn", "max_goals": 3,
                             "goal_radius_m": 30.0, "dt_s": 0.3, "others": "idm", "agents_per_world": 5,
                             "traffic_controls": True, "dynamics": "single_track", "observation": {"goals": 1},
                             "hidden": {"action_delay_steps": (0, 3)}, "reward": {"route_progress_per_m": 0.1}},
    "town/heading": {**IGNORE_ALL, **TWO_TRIALS, "on_goal": "next", "goal_spacing_m": 10.0, "goal_radius_m": 30.0,
                     "dt_s": 0.5, "goal_heading_tolerance_rad": 0.2, "observation": {"goals": 2},
                     "action_type": "continuous"},
    # Goals in lists, some of which repeat and some with headings of their own.
    "town/lists": {**IGNORE_ALL, **TWO_TRIALS, "on_goal": "next", "goal_radius_m": 60.0, "dt_s": 0.5,
                   "goal_heading_tolerance_rad": 1.2, "detailed_metrics": True, "observation": {"goals": 3},
                   "action_type": "continuous"},
    "town/laps": {**IGNORE_ALL, **TWO_TRIALS, "on_goal": "next", "goal_radius_m": 90.0, "dt_s": 0.5, "max_goals": 6,
                  "observation": {"goals": 8}, "critic_observations": True, "coplayers": 0.3},
    "exits/shared": {"max_trials": 3, "trial_steps": 30, "dt_s": 0.2, "action_type": "continuous",
                     "observation": {"partners": 0, "roads": 16, "goal_reveal_s": 1.0, "goal_reveal_share": 0.4}},
    "exits/delayed": {"max_trials": 2, "trial_steps": 20, "dt_s": 0.2, "action_type": "continuous",
                      "observation": {"partners": 0, "roads": 16, "goal_reveal_s": 0.0, "goal_reveal_share": 0.7,
                                      "goal_reveal_delay_s": 4.0}},
    # Scripts: drawn behaviour of other cars and pedestrians, which begins as the agent passes.
    "gates/scripts": {**IGNORE_ALL, "max_trials": 2, "trial_steps": 45, "dt_s": 0.2, "action_type": "continuous",
                      "observation": {"partners": 3, "roads": 16}},
    "occluded/scripts": {**IGNORE_ALL, "max_trials": 2, "trial_steps": 45, "dt_s": 0.2, "others": "idm",
                         "observation": {"partners": 4, "roads": 16, "type": "index", "steps_share": False}},
    # One rollout for each further vehicle model.
    "town/classic": {**TWO_TRIALS, "dynamics": {"model": "classic", "min_speed_mps": -2.0},
                     "action_type": "continuous"},
    "town/invertible_bicycle": {**TWO_TRIALS, "dynamics": "invertible_bicycle", "action_type": "continuous"},
    "intersection/delta_local": {**IGNORE_ALL, "trial_steps": 40, "dynamics": "delta_local",
                                 "action_type": "continuous"},
    "town/jerk": {**TWO_TRIALS, "dynamics": {"model": "jerk", "min_speed_mps": -2.0}, "action_type": "continuous"},
    "town/reward_terms": {**IGNORE_ALL, **TWO_TRIALS, "reward_terms": True, "action_type": "continuous",
                          "reward": {"time_per_s": -0.01, "reverse_per_m": -0.1}},
    # Every term has a weight.
    "town/terms": {**IGNORE_ALL, **TWO_TRIALS, "reward": {
        "time_per_s": -0.01, "lane_alignment_per_s": 0.1, "lane_offset_per_m_s": -0.05, "wrong_way_per_m": -0.1,
        "over_speed_per_m": -0.2, "discomfort_per_s": -0.03, "time_to_collision_per_s": -0.3}},
    "map_942/terms": {"max_trials": 2, "trial_steps": 40, "reward": {"lane_offset_per_m_s": -0.05},
                      "reward_terms": True, "action_type": "continuous"},
    "town/route": {**IGNORE_ALL, **TWO_TRIALS, "reward": {"route_progress_per_m": 0.1}, "action_type": "continuous"},
    "map_942/route": {**TWO_TRIALS, "reward": {"route_progress_per_m": 0.1, "distance_to_log_per_m_s": -0.05},
                      "action_type": "continuous"},
    "town/conditioned": {**TWO_TRIALS, "reward_ranges": {
        "goal": (0.5, 1.5), "collision": (-3.0, 0.0), "lane_offset_per_m_s": (-0.1, 0.0)}},
    "intersection/conditioned": {**IGNORE_ALL, "trial_steps": 30, "observation": {"type": "index"},
                                 "reward_ranges": {"progress_per_m": (0.0, 0.1)}},
    "town/detailed": {**IGNORE_ALL, **TWO_TRIALS, "detailed_metrics": True},
    "map_942/detailed": {"max_trials": 2, "trial_steps": 40, "detailed_metrics": True, "action_type": "continuous"},
    "town/grip": {**TWO_TRIALS, "dynamics": {"model": "grip", "friction": 0.3}, "action_type": "continuous"},
    "town/single_track": {**TWO_TRIALS, "dynamics": {"model": "single_track", "min_speed_mps": -2.0},
                          "action_type": "continuous"},
    "intersection/state": {**IGNORE_ALL, "trial_steps": 40, "dynamics": "state", "action_type": "continuous"},
    # Hidden variation: per agent and episode, and per world and trial.
    "town/hidden": {**TWO_TRIALS, "dynamics": "grip", "action_type": "continuous",
                    "observation": {"reveal_hidden": True}, "hidden": {
                        "steering_gain": (0.5, 1.5), "steering_flip": 0.3, "steering_offset_rad": (-0.1, 0.1),
                        "throttle_gain": (0.5, 1.5), "brake_gain": (0.5, 1.5), "action_delay_steps": (0, 3),
                        "friction": (0.2, 1.0), "wheelbase_factor": (0.8, 1.25)}},
    "intersection/hidden": {**IGNORE_ALL, "max_trials": 3, "trial_steps": 20, "dynamics": "invertible_bicycle",
                            "observation": {"type": "index"}, "hidden": {
                                "steering_flip": 0.5, "action_delay_steps": (1, 4), "scope": "trial", "per": "world"}},
    # A critic that observes hidden goals, hidden values, drawn weights and the time.
    "exits/critic": {**TWO_TRIALS, "agents_per_world": 1, "action_type": "continuous", "critic_observations": True,
                     "observation": {"time_left": "critic", "goal_reveal_s": 0.0, "candidates": 3, "partners": 2},
                     "hidden": {"steering_gain": (0.5, 1.5)}, "reward_ranges": {"goal": (0.5, 1.5)}},
    "town/critic": {**TWO_TRIALS, "critic_observations": True, "on_collision": "remove",
                    "observation": {"type": "index", "partners": 5, "time_left": "actor"}},
    "town/masked": {**TWO_TRIALS, "action_mask": True, "dynamics": {"max_speed_mps": 9.0, "min_speed_mps": -1.0}},
    "intersection/masked": {**IGNORE_ALL, "trial_steps": 40, "action_mask": True, "action_type": "multi_discrete",
                            "dynamics": {"model": "invertible_bicycle", "max_speed_mps": 12.0}},
    "town/coplayers": {**TWO_TRIALS, "coplayers": 0.4, "stopped_share_limit": 0.5, "on_collision": "remove"},
    "intersection/coplayers": {**IGNORE_ALL, "trial_steps": 30, "coplayers": 7, "on_goal": "stop"},
    # Rule-based vehicles, along lanes and along a log.
    "town/idm": {**TWO_TRIALS, "others": "idm", "agents_per_world": 4, "action_type": "continuous"},
    "map_942/idm": {**TWO_TRIALS, "others": "idm", "agents_per_world": 4, "action_type": "continuous"},
    "map_942/handed_back": {**TWO_TRIALS, "others": "idm", "idm_handback_m": 1.5, "agents_per_world": 4,
                            "action_type": "continuous"},
    "intersection/lane_changes": {**IGNORE_ALL, "others": "idm", "idm_lane_changes": True, "agents_per_world": 2,
                                  "trial_steps": 60, "max_trials": 2},
    "town/obeyed": {**TWO_TRIALS, "others": "idm", "agents_per_world": 4, "traffic_controls": True},
    "town/lights": {**TWO_TRIALS, "traffic_controls": True, "on_red_light": "stop", "action_type": "continuous"},
    # Sensors with errors.
    "town/sensors": {**TWO_TRIALS, "action_type": "continuous", "sensors": {
        "partner_position_noise_m": 0.5, "partner_heading_noise_rad": 0.1, "partner_speed_noise_mps": 1.0,
        "partner_dropout": 0.2, "road_position_noise_m": 0.1, "road_heading_noise_rad": 0.02, "road_dropout": 0.3,
        "ego_speed_noise_mps": 0.3, "goal_position_noise_m": 2.0}},
    # Images of all layers, and of some in a log.
    "intersection/images": {**TWO_TRIALS, "on_collision": "remove", "traffic_controls": True,
                            "observation": {"type": "image"}, "image": {"size": 32, "metres_per_pixel": 1.5, "layers": (
                                "edges", "lines", "lanes", "crosswalks", "controls", "partners", "self", "goal")},
                            "disturbances": {"partner_blindness": 1.0, "trigger_probability": 0.1}},
    "map_942/images": {"observation": {"type": "image"}, "max_trials": 2, "trial_steps": 40,
                       "image": {"layers": ("edges", "crosswalks", "partners", "goal")}},
    # Agents that are blind, or brake whatever their action is.
    "town/disturbed": {**TWO_TRIALS, "on_collision": "remove", "action_type": "continuous", "disturbances": {
        "partner_blindness": 1.0, "phantom_braking": 1.0, "trigger_probability": 0.1, "duration_s": 0.6}},
    "intersection/disturbed": {**IGNORE_ALL, "trial_steps": 30, "max_trials": 2, "observation": {"type": "index"},
                               "dynamics": "invertible_bicycle", "disturbances": {
                                   "partner_blindness": 0.8, "phantom_braking": 0.8, "trigger_probability": 0.1}},
    "intersection/sensors": {**IGNORE_ALL, "trial_steps": 30, "max_trials": 2, "observation": {"type": "index"},
                             "sensors": {"partner_dropout": 0.3, "road_dropout": 0.3, "ego_speed_noise_mps": 0.3}},
    "intersection/lights": {**IGNORE_ALL, "trial_steps": 60, "max_trials": 2, "traffic_controls": True,
                            "reward": {"red_light": -0.4}, "reward_terms": True},
    "town/observed_lights": {**TWO_TRIALS, "traffic_controls": True, "observation": {"controls": 5},
                             "action_type": "continuous"},
    # Rule-based vehicles with parameters of their own.
    "town/hurried": {**IGNORE_ALL, "trial_steps": 60, "others": "idm", "agents_per_world": 3, "traffic_controls": True,
                     "idm": {"min_gap_m": 2.0, "headway_s": 0.6, "acceleration_mps2": 2.3, "braking_mps2": 3.5,
                             "hardest_braking_mps2": 6.0, "speed_factor": 1.3}},
    "intersection/impolite": {**IGNORE_ALL, "trial_steps": 80, "others": "idm", "agents_per_world": 2,
                              "idm_lane_changes": True, "idm": {"speed_factor": 0.7}, "mobil": {
                                  "politeness": 0.0, "threshold_mps2": 0.05, "safe_braking_mps2": 4.0}},
    # Stop and yield signs.
    "intersection/signs": {**IGNORE_ALL, "others": "idm", "agents_per_world": 6, "traffic_controls": True,
                           "on_stop_sign": "stop", "reward": {"stop_sign": -0.3}, "observation": {"controls": 4},
                           "action_type": "continuous"},
    # Goals that are reached only at or below a given speed.
    "town/slow_goals": {**IGNORE_ALL, "on_goal": "remove", "goal_radius_m": 50.0, "goal_max_speed_mps": 3.0,
                        "action_type": "continuous"},
    # Roads above each other.
    "overpass/discrete": {**TWO_TRIALS, "on_goal": "ignore"},
    "overpass/detailed": {**IGNORE_ALL, "trial_steps": 60, "detailed_metrics": True, "traffic_controls": True,
                          "observation": {"controls": 2, "roads": 24, "road_selection": "near"},
                          "action_type": "continuous"},
    "overpass/idm": {**IGNORE_ALL, "trial_steps": 60, "others": "idm", "vertical_clearance_m": 5.0,
                     "observation": {"type": "index"}},
    "intersection/indexed_lights": {**IGNORE_ALL, "trial_steps": 60, "traffic_controls": True,
                                    "observation": {"type": "index", "controls": 8, "view_radius_m": 30.0}},
}
"""Name of a rollout, its scenes before the slash, to the choices of its config."""

PARAMETERS = {
    **{name: {"lights": True} for name in ("town/obeyed", "town/lights", "intersection/lights", "town/observed_lights",
                                           "intersection/indexed_lights", "intersection/respawn",
                                           "intersection/signs", "town/hurried")},
    **{f"intersection/{name}": {"arm_length_m": 200.0} for name in ("lane_changes", "impolite")}}
"""Name of a rollout to the parameters of its generated scenes."""

LISTED = ("town/lists", "town/laps")
"""Names of rollouts whose scenes have `with_lists`."""

ACCELERATION_BINS, STEERING_BINS = 7, 13
GENTLE_BINS = range(3, 10)
"""The seven bins in the middle of those of steering."""

WORLD_IDS = (0, 1, 2, 3)
STEPS = 100
SEED = 20
RESTARTS_EVERY = 7
"""The restart observations are hashed at every so many steps."""

PARTS = ("outputs", "reports", "state")

OUTPUTS = ("observations", "rewards", "terminations", "truncations", "trial_ended", "truncation",
           "invalid_step", "first", "trial_index", "removed", "stopped", "waits", "outcome", "code",
           "scene_index")
OPTIONAL_OUTPUTS = ("vehicle_table", "critic_observations", "action_mask", "reward_terms", "coplayer")
"""Arrays that only some configs have."""

REPORTED = ("average", "trials", "coplayer_average", "coplayer_trials")
"""Fields of the state that make the report and survive a reset."""


# ---- rollouts ----


def use_core(library: str) -> None:
    """Replaces the core of the package by another build, before the package is imported."""
    import runpy

    ffi = runpy.run_path(str(ROOT / "c" / "build_ffi.py"))["ffibuilder"]
    core = ModuleType("drive_env._core")
    core.ffi, core.lib = ffi, ffi.dlopen(library)
    sys.modules["drive_env._core"] = core


def bits(*numbers) -> np.ndarray:
    """64 random bits for each combination of the numbers (arrays broadcast), by SplitMix64.

    numpy's own generators may draw differently in a later version; this one will not.
    """
    with np.errstate(over="ignore"):
        mixed = np.uint64(0)
        for number in numbers:
            mixed = mixed + np.uint64(0x9E3779B97F4A7C15) * (np.asarray(number, np.uint64) + np.uint64(1))
            mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            mixed = mixed ^ (mixed >> np.uint64(31))
    return mixed


def draw(batch, step: int) -> np.ndarray:
    """Actions by (world id, step, agent of the world): any acceleration and gentle steering, so that agents travel."""
    ids = batch.world_ids[batch.world_of_agent]
    agents = np.arange(batch.num_agents) % batch.agents_per_world
    push = bits(ids, step, agents, 1) % np.uint64(ACCELERATION_BINS)
    turn = np.uint64(GENTLE_BINS[0]) + bits(ids, step, agents, 2) % np.uint64(len(GENTLE_BINS))
    if batch.config.action_type == "discrete":
        return (push * np.uint64(STEERING_BINS) + turn).astype(np.int64)
    if batch.config.action_type == "multi_discrete":
        return np.stack([push, turn], axis=1).astype(np.int64)
    shares = bits(ids[:, None], step, agents[:, None], 3 + np.arange(batch.actions.shape[1]))
    # 24 bits fit a float32 exactly: all of this is exact.
    whole = (shares >> np.uint64(40)).astype(np.float32)
    return (whole * np.float32(2**-23) - np.float32(1)) * np.float32(0.5)


def with_signs(scene):
    """The scene with stop signs in place of its lights, but for every third, which becomes a yield sign."""
    from dataclasses import replace

    from staged_controls import STOP, YIELD, controls_of

    lit = scene.traffic_controls
    kinds = [YIELD if index % 3 == 2 else STOP for index in range(lit.count)]
    signs = controls_of(kinds, lit.line_m, np.zeros_like(lit.state))
    return replace(scene, traffic_controls=replace(signs, start=lit.start, lane=lit.lane))


def with_lists(scene):
    """The scene with a list for three objects of four: the goal of the object after it, and the start of the second one
    after it, with that one's heading. Every third list repeats, and every second own goal has a heading."""
    from dataclasses import replace

    from drive_env.scenes import GoalLists

    objects, items = scene.objects, np.arange(scene.objects.count)
    start_m = np.stack([objects.x_m[0], objects.y_m[0]], axis=1)
    nan = np.full(len(items), np.nan, np.float32)
    has_list = np.repeat(items % 4 != 3, 2)

    def in_turn(one, other):
        return np.stack([np.roll(one, -1, axis=0), np.roll(other, -2, axis=0)], axis=1).reshape(-1, *one.shape[1:])

    lists = GoalLists(
        object=np.repeat(items, 2)[has_list].astype(np.int32), goal_m=in_turn(objects.goal_m, start_m)[has_list],
        goal_z_m=in_turn(objects.goal_z_m, objects.z_m[0])[has_list],
        goal_heading_rad=in_turn(nan, objects.heading_rad[0])[has_list],
        repeating=items[(items % 3 == 0) & (items % 4 != 3)].astype(np.int32))
    heading_rad = np.where(items % 2, objects.heading_rad[0], nan)
    return replace(scene, goal_lists=lists, objects=replace(objects, goal_heading_rad=heading_rad))


def begin(rollout: str, world_ids=WORLD_IDS, threads=1, seed=SEED, parts=1):
    """The batch of a rollout, not reset yet; None where its real file is missing."""
    from drive_env import Batch, DriveConfig, RewardConfig, generate_scene, load_scene
    from drive_env.scenes.generate import GENERATORS

    # its scenes
    scene = rollout.split("/")[0]
    if scene == "map_942":
        from samples import FOLDER

        path = FOLDER / "pufferdrive" / "map_942.bin"
        if not path.is_file():
            return None
        scenes = [load_scene(path)]
    elif scene == "overpass":
        from overpass import crossing_logs, overpass, stop_sign

        logs = overpass(5.5, crossing_logs(), on_bridge=(False, False, True))
        scenes = [logs, logs] if "idm" in rollout else [stop_sign(overpass(height_m), (1, 3, 1, -3), 3)
                                                        for height_m in (0.0, 4.5, -6.0)]
    else:
        agents = min(GENERATORS[scene].DEFAULT_AGENTS, 12)
        parameters = PARAMETERS.get(rollout, {})
        scenes = [generate_scene(scene, seed=number, agents=agents, **parameters) for number in range(3)]
    if rollout == "intersection/signs":
        scenes = [with_signs(lit) for lit in scenes]
    if rollout in LISTED:
        scenes = [with_lists(scene) for scene in scenes]
    # its batch
    choices = dict(ROLLOUTS[rollout])
    choices["reward"] = RewardConfig(**choices.get("reward", {}))
    return Batch(scenes=scenes, num_worlds=len(world_ids), config=DriveConfig(**choices), seed=seed, threads=threads,
                 world_ids=world_ids, parts=parts)


# ---- hashes ----


class Snapshot(NamedTuple):
    """The arrays of a batch after one call; every array has one entry a world."""

    outputs: list[np.ndarray]
    reports: list[np.ndarray]
    state: list[np.ndarray]
    restarts: np.ndarray | None = None
    """Restart observations, in the steps in which they are hashed."""


@dataclass(frozen=True)
class Hashes:
    """Hashes of a rollout: three parts by world id, and the report of the whole batch at the end."""

    worlds: dict[int, dict[str, str]]
    report: str

    def combined(self) -> dict[str, str]:
        """One hash a part for all worlds, in the order of their ids."""
        joined = {part: "".join(self.worlds[world][part] for world in sorted(self.worlds)) for part in PARTS}
        joined["reports"] += self.report
        return {part: hashlib.sha256(text.encode()).hexdigest() for part, text in joined.items()}


def hash_snapshots(snapshots: Iterable[Snapshot], world_ids, report: Callable[[], np.ndarray]) -> Hashes:
    """Hashes a rollout, one snapshot a step; reads the report after the last one."""
    digests = {int(world): {part: hashlib.sha256() for part in PARTS} for world in world_ids}
    for snapshot in snapshots:
        reports = snapshot.reports if snapshot.restarts is None else [*snapshot.reports, snapshot.restarts]
        for part, arrays in (("outputs", snapshot.outputs), ("reports", reports), ("state", snapshot.state)):
            # Arrays without elements have no world to iterate over.
            filled = [array for array in arrays if array.size]
            for digest, *of_world in zip(digests.values(), *filled, strict=True):
                digest[part].update(b"".join(of_world))
    return Hashes({world: {part: digest.hexdigest() for part, digest in parts.items()}
                   for world, parts in digests.items()}, hashlib.sha256(report().tobytes()).hexdigest())


def snapshot_from(outputs: dict, state: dict, restarts: np.ndarray | None) -> Snapshot:
    """A snapshot of arrays by name, in the order in which they are hashed."""
    return Snapshot([outputs[name] for name in (*OUTPUTS, *OPTIONAL_OUTPUTS) if name in outputs],
                    [state[name] for name in REPORTED], [state[name] for name in state if name not in REPORTED],
                    restarts)


def snapshot_of(batch, with_restarts: bool) -> Snapshot:
    by_world = (batch.num_worlds, -1)
    outputs = {name: getattr(batch, name).reshape(by_world) for name in (*OUTPUTS, *OPTIONAL_OUTPUTS)
               if hasattr(batch, name)}
    restarts = batch.restart_observations().reshape(by_world) if with_restarts else None
    return snapshot_from(outputs, batch._core.state, restarts)


def report_of(batch) -> np.ndarray:
    """(figures, 2) value and count of each figure of the report; of those by trial index, the score alone."""
    others = ("_goal", "_collision", "_offroad", "_length")
    return np.array([(figure.value, figure.n) for name, figure in batch.metrics().items()
                     if not (name.startswith("trial_") and name != "trial_length" and name.endswith(others))],
                    np.float64)


def snapshots_of(batch, steps: int = STEPS) -> Iterable[Snapshot]:
    """Steps a batch that was just reset; yields a snapshot after every call, the reset included."""
    for step in range(steps + 1):
        if step:
            batch.step(draw(batch, step))
        yield snapshot_of(batch, step % RESTARTS_EVERY == 0)


def hashes_of(batch, steps: int = STEPS) -> Hashes:
    """Steps a batch that was just reset and hashes it at every step."""
    return hash_snapshots(snapshots_of(batch, steps), batch.world_ids, lambda: report_of(batch))


def hash_of(rollout: str) -> dict[str, str] | None:
    """The three hashes of a whole rollout, as in golden.json; None where its real file is missing."""
    batch = begin(rollout)
    if batch is None:
        return None
    batch.reset()
    return hashes_of(batch).combined()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--core", metavar="LIBRARY")
    parser.add_argument("rollouts", nargs="*", metavar="ROLLOUT", help="default: all")
    chosen = parser.parse_args()
    if chosen.core:
        use_core(chosen.core)
    found = {rollout: hash_of(rollout) for rollout in chosen.rollouts or ROLLOUTS}
    if chosen.core:
        print(json.dumps(found))
        return
    kept = json.loads(FILE.read_text()) if FILE.exists() else {}
    kept.update({rollout: known for rollout, known in found.items() if known})
    FILE.write_text(json.dumps({rollout: kept[rollout] for rollout in ROLLOUTS if rollout in kept}, indent=2) + "\n")


if __name__ == "__main__":
    main()
