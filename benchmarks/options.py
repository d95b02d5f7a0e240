"""What does each option of a config cost? The time of a step with it, over the time without it.

    python benchmarks/core.py --options [--seconds S]

All cases are interleaved. Actions are continuous, since every vehicle model has those; masks need discrete ones.
"""

from __future__ import annotations

import statistics

from cases import IGNORE_EVENTS, interleaved, of_batch

from drive_env import Batch, generate_scene
from drive_env.binding import choices

NUM_WORLDS = 16

DEFAULT = "default"
LIT, HALF, DISCRETE = "default, scene with lights", "default, half of the agents", "default, discrete actions"
BASES = {DEFAULT: {}, LIT: {}, HALF: {"agents_per_world": 7, "others": "static"}, DISCRETE: {"action_type": "discrete"}}
"""By the name of what options are compared with, its fields of the config. The scene of `LIT` has traffic lights."""

OPTIONS = {
    **{f"dynamics={model!r}": (DEFAULT, {"dynamics": model}) for model in choices("dynamics") if model != "bicycle"},
    "hidden, all gains": (DEFAULT, {"hidden": {
        "steering_gain": (0.5, 1.5), "throttle_gain": (0.5, 1.5), "brake_gain": (0.5, 1.5)}}),
    "hidden, a delay of up to 10 steps": (DEFAULT, {"hidden": {"action_delay_steps": (0, 10)}}),
    "reveal_hidden": (DEFAULT, {"hidden": {"steering_gain": (0.5, 1.5)}, "observation": {"reveal_hidden": True}}),
    "goal_max_speed_mps": (DEFAULT, {"goal_max_speed_mps": 2.0}),
    "goal_heading_tolerance_rad": (DEFAULT, {"goal_heading_tolerance_rad": 0.2, "observation": {"goals": 1}}),
    "on_goal='next'": (DEFAULT, {"on_goal": "next"}),
    "on_goal='next', 4 observed": (DEFAULT, {"on_goal": "next", "observation": {"goals": 4}}),
    "on_goal='respawn'": (DEFAULT, {"on_goal": "respawn"}),
    "images": (DEFAULT, {"observation": {"type": "image"}}),
    "time_left": (DEFAULT, {"observation": {"time_left": "actor"}}),
    "reward terms of time and reverse": (DEFAULT, {"reward": {"time_per_s": -0.01, "reverse_per_m": -0.1}}),
    "reward terms of lanes": (DEFAULT, {"reward": {"lane_alignment_per_s": 0.1, "over_speed_per_m": -0.1}}),
    "reward term of the route": (DEFAULT, {"reward": {"route_progress_per_m": 0.1}}),
    "reward term of comfort": (DEFAULT, {"reward": {"discomfort_per_s": -0.1}}),
    "reward term of time to collision": (DEFAULT, {"reward": {"time_to_collision_per_s": -0.1}}),
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
    "action_mask": (DISCRETE, {"action_mask": True}),
    "traffic_controls": (LIT, {"traffic_controls": True}),
    "traffic_controls, 4 observed": (LIT, {"traffic_controls": True, "observation": {"controls": 4}}),
    "others='idm', as many as agents": (HALF, {"others": "idm"}),
    "others='idm', idm_lane_changes": (HALF, {"others": "idm", "idm_lane_changes": True}),
}
"""By the name of an option, what it is compared with and the fields that it changes."""

BUSY = "64 agents and 64 rule-based vehicles in a town with lights"


def _batch(base: str, changes: dict) -> Batch:
    scene = generate_scene("town", seed=0, agents=14, lights=base == LIT)
    config = IGNORE_EVENTS.replace(**{"action_type": "continuous", **BASES[base], **changes})
    return Batch(scene, num_worlds=NUM_WORLDS, config=config, seed=0, threads=1)


def busy_batch(lights: bool) -> Batch:
    """64 agents and 64 rule-based vehicles in a town."""
    scene = generate_scene("town", seed=0, agents=128, blocks=(4, 3), lights=lights)
    return Batch(scene, num_worlds=NUM_WORLDS, seed=0, threads=1, config=IGNORE_EVENTS.replace(
        others="idm", agents_per_world=64, trial_steps=200, traffic_controls=lights))


def costs(seconds: float) -> list[tuple[str, str, float]]:
    """Name of each option, of its base, and the time of a step over that of the base."""
    cases = [of_batch(base, _batch(base, {})) for base in BASES]
    cases += [of_batch(name, _batch(base, changes)) for name, (base, changes) in OPTIONS.items()]
    rates = interleaved(cases, seconds)
    return [(name, base, statistics.median(before / after for before, after in zip(rates[base], rates[name])))
            for name, (base, _) in OPTIONS.items()]


def busy_rate(seconds: float) -> float:
    """Agent-steps per second of `BUSY`; all its vehicles move."""
    return statistics.median(interleaved([of_batch(BUSY, busy_batch(lights=True))], seconds)[BUSY])
