"""What does each option of a config cost? The time of a step with it, over the time without it.

    python benchmarks/core.py --options [--seconds S]

All cases are interleaved. Actions are continuous, since every vehicle model has those; masks need discrete ones. The
scenes are those of option_scenes.py.
"""

from __future__ import annotations

import statistics

from collections.abc import Callable

import numpy as np
from cases import IGNORE_EVENTS, Case, interleaved, of_batch
from option_scenes import town, with_bridge, with_candidates, with_logs, with_scripts, with_stop_signs

from drive_env import Batch, Scene, generate_scene
from drive_env.api.gym import DriveVectorEnv
from drive_env.binding import choices

NUM_WORLDS = 16

DEFAULT = "default"
LIT, SIGNS = "default, scene with lights", "default, scene with stop signs"
CANDIDATES, BRIDGE = "default, scene with candidate goals", "default, scene with a road across at the same height"
LOGGED, REPLAYED = "default, scene with logs", "default, half of the agents, scene with logs"
FOLLOWED = "others='idm', half of the agents, scene with logs"
HALF, DISCRETE = "default, half of the agents", "default, discrete actions"
GRIP, IMAGES, VECTOR_ENV = "dynamics='grip'", "images", "Gymnasium's vector env"
BASES = {
    DEFAULT: {}, LIT: {}, SIGNS: {}, CANDIDATES: {}, BRIDGE: {}, LOGGED: {}, REPLAYED: {"agents_per_world": 7},
    FOLLOWED: {"agents_per_world": 7, "others": "idm"}, HALF: {"agents_per_world": 7, "others": "static"},
    DISCRETE: {"action_type": "discrete"}, GRIP: {"dynamics": "grip"}, IMAGES: {"observation": {"type": "image"}},
    VECTOR_ENV: {"agents_per_world": 1}}
"""By the name of what options are compared with, its fields of the config."""

BRIDGE_HEIGHT_M = 6.0

LEVELS, SCRIPTS = "roads above each other", "scripts, one per log-replay vehicle"
RECORDS, DICTS = "trial_records=8", "dict_observations"

SCENES: dict[str, Callable[[], Scene]] = {
    LIT: lambda: town(lights=True), SIGNS: with_stop_signs, CANDIDATES: with_candidates,
    BRIDGE: lambda: with_bridge(0.0), LEVELS: lambda: with_bridge(BRIDGE_HEIGHT_M),
    LOGGED: with_logs, REPLAYED: with_logs, FOLLOWED: with_logs, SCRIPTS: with_scripts}
"""The scene of an option, or of what it is compared with; for all others the town."""

ARGUMENTS = {RECORDS: {"trial_records": 8}, DICTS: {"dict_observations": True}}
"""By the name of an option that is no field of the config, the arguments of the batch or env."""


def _images(**form: object) -> dict:
    """The fields of images of a form."""
    return BASES[IMAGES] | {"image": form}


OPTIONS = {
    **{f"dynamics={model!r}": (DEFAULT, {"dynamics": model}) for model in choices("dynamics") if model != "bicycle"},
    "hidden, all gains": (DEFAULT, {"hidden": {
        "steering_gain": (0.5, 1.5), "throttle_gain": (0.5, 1.5), "brake_gain": (0.5, 1.5)}}),
    "hidden, a delay of up to 10 steps": (DEFAULT, {"hidden": {"action_delay_steps": (0, 10)}}),
    "hidden friction, wheelbase and steering offset": (GRIP, {"hidden": {
        "friction": (0.3, 1.0), "wheelbase_factor": (0.8, 1.2), "steering_offset_rad": (-0.1, 0.1)}}),
    "reveal_hidden": (DEFAULT, {"hidden": {"steering_gain": (0.5, 1.5)}, "observation": {"reveal_hidden": True}}),
    "goal_max_speed_mps": (DEFAULT, {"goal_max_speed_mps": 2.0}),
    "goal_heading_tolerance_rad": (DEFAULT, {"goal_heading_tolerance_rad": 0.2, "observation": {"goals": 1}}),
    "on_goal='next'": (DEFAULT, {"on_goal": "next"}),
    "on_goal='next', 4 observed": (DEFAULT, {"on_goal": "next", "observation": {"goals": 4}}),
    "on_goal='respawn'": (DEFAULT, {"on_goal": "respawn"}),
    "candidates, 4 observed": (CANDIDATES, {"observation": {"candidates": 4}}),
    "goal_reveal_s": (CANDIDATES, {"observation": {"goal_reveal_s": 5.0}}),
    "goal_reveal_share and goal_reveal_delay_s": (CANDIDATES, {"observation": {
        "goal_reveal_s": 5.0, "goal_reveal_share": 0.5, "goal_reveal_delay_s": 5.0}}),
    LEVELS: (BRIDGE, {}),
    SCRIPTS: (REPLAYED, {}),
    IMAGES: (DEFAULT, BASES[IMAGES]),
    "images of 32 pixels": (IMAGES, _images(size=32)),
    "images of 128 pixels": (IMAGES, _images(size=128)),
    "images of 84 pixels of 0.5 m": (IMAGES, _images(size=84, metres_per_pixel=0.5)),
    "images, layers without roads": (IMAGES, _images(layers=("partners", "self", "goal"))),
    "images, all layers but controls": (IMAGES, _images(layers=tuple(
        layer for layer in choices("image_layers") if layer != "controls"))),
    "time_left": (DEFAULT, {"observation": {"time_left": "actor"}}),
    "reward terms of time and reverse": (DEFAULT, {"reward": {"time_per_s": -0.01, "reverse_per_m": -0.1}}),
    "reward terms of lanes": (DEFAULT, {"reward": {"lane_alignment_per_s": 0.1, "over_speed_per_m": -0.1}}),
    "reward term of the route": (DEFAULT, {"reward": {"route_progress_per_m": 0.1}}),
    "reward term of comfort": (DEFAULT, {"reward": {"discomfort_per_s": -0.1}}),
    "reward term of time to collision": (DEFAULT, {"reward": {"time_to_collision_per_s": -0.1}}),
    "reward term of the distance to the log": (LOGGED, {"reward": {"distance_to_log_per_m_s": -0.1}}),
    "reward_terms": (DEFAULT, {"reward_terms": True}),
    "sensors, dropout": (DEFAULT, {"sensors": {"partner_dropout": 0.1, "road_dropout": 0.1}}),
    "sensors, noise of all records": (DEFAULT, {"sensors": {
        "partner_position_noise_m": 0.3, "partner_heading_noise_rad": 0.1, "partner_speed_noise_mps": 0.5,
        "road_position_noise_m": 0.1, "road_heading_noise_rad": 0.02}}),
    "disturbances": (DEFAULT, {"disturbances": {"partner_blindness": 0.02, "phantom_braking": 0.02}}),
    "reward_ranges": (DEFAULT, {"reward_ranges": {"collision": (-3.0, 0.0), "progress_per_m": (0.0, 0.1)}}),
    "critic_observations": (DEFAULT, {"critic_observations": True}),
    "coplayers, half of the agents": (DEFAULT, {"coplayers": 0.5}),
    "detailed_metrics": (DEFAULT, {"detailed_metrics": True}),
    RECORDS: (DEFAULT, {}),
    DICTS: (VECTOR_ENV, {}),
    "action_mask": (DISCRETE, {"action_mask": True}),
    "traffic_controls": (LIT, {"traffic_controls": True}),
    "traffic_controls, 4 observed": (LIT, {"traffic_controls": True, "observation": {"controls": 4}}),
    "traffic_controls, stop signs": (SIGNS, {"traffic_controls": True}),
    "others='idm', as many as agents": (HALF, {"others": "idm"}),
    "others='idm', idm_lane_changes": (HALF, {"others": "idm", "idm_lane_changes": True}),
    "others='idm', idm_handback_m": (FOLLOWED, {"idm_handback_m": 1.0}),
}
"""By the name of an option, what it is compared with and the fields that it changes."""

BUSY = "64 agents and 64 rule-based vehicles in a town with lights"


def _case(name: str, base: str, changes: dict) -> Case:
    """The case of an option, or, without changes, that of a base."""
    scene = SCENES.get(name, SCENES.get(base, town))()
    config = IGNORE_EVENTS.replace(**{"action_type": "continuous", **BASES[base], **changes})
    arguments = ARGUMENTS.get(name, {})
    if base == VECTOR_ENV:
        return _of_env(name, DriveVectorEnv(NUM_WORLDS, scene, config, threads=1, copy=False, **arguments))
    return of_batch(name, Batch(scene, num_worlds=NUM_WORLDS, config=config, seed=0, threads=1, **arguments))


def _of_env(name: str, env: DriveVectorEnv) -> Case:
    env.reset(seed=0)
    return Case(name, env.step, env.batch, env.close,
                lambda: env.num_envs - int(np.count_nonzero(env.batch.invalid_step)))


def busy_batch(lights: bool) -> Batch:
    """64 agents and 64 rule-based vehicles in a town."""
    scene = generate_scene("town", seed=0, agents=128, blocks=(4, 3), lights=lights)
    return Batch(scene, num_worlds=NUM_WORLDS, seed=0, threads=1, config=IGNORE_EVENTS.replace(
        others="idm", agents_per_world=64, trial_steps=200, traffic_controls=lights))


def costs(seconds: float) -> list[tuple[str, str, float]]:
    """Name of each option, of its base, and the time of a step over that of the base."""
    cases = {base: _case(base, base, {}) for base in BASES}
    cases |= {name: _case(name, base, changes) for name, (base, changes) in OPTIONS.items() if name not in BASES}
    rates = interleaved([*cases.values()], seconds)
    return [(name, base, statistics.median(before / after for before, after in zip(rates[base], rates[name])))
            for name, (base, _) in OPTIONS.items()]


def busy_rate(seconds: float) -> float:
    """Agent-steps per second of `BUSY`; all its vehicles move."""
    return statistics.median(interleaved([of_batch(BUSY, busy_batch(lights=True))], seconds)[BUSY])
