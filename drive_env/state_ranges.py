"""Which values can an array of the core's state hold? A range for every array, by its name.

The core does not check its state: an index out of range would make it read or write outside of its memory, and a float
far out of range would be converted to such an index.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .action_space import action_dimensions
from .binding import lib
from .config import HIDDEN_PARAMETERS, DriveConfig
from .errors import CallError
from .index_observations import parts_of
from .native_batch import NativeBatch
from .native_config import native_config
from .scenes.limits import COORDINATE_LIMIT_M, DT_RANGE_S, HEADING_LIMIT_RAD, SIZE_RANGE_M, SPEED_LIMIT_MPS
from .scenes.scene import Scene

FLAG, ANY = (0, 1), (-np.inf, np.inf)

LONGEST = 1 << 40
"""Far above any count of episodes or trials; a sum of four million of them fits in int64."""

LONGEST_CYCLE_STEPS = (1 << 30) + lib.DRV_POINT_LIMIT
"""Its sum with a clock fits in int32."""

MOST_TURNS = 1 << 30
"""More lanes than any agent drives along. The sum of this and the number of lanes to one more goal fits in int32."""

ABSENT = 3
"""`status` of a slot for which the scene has no agent."""

GOES_ON, OPENS_TRIAL, OPENS_EPISODE = range(3)
"""`pending`: what the next step of a world does."""

ROUNDING = 1.001
"""Factor by which float32 arithmetic of one step can exceed a limit."""

SUM_ROUNDING = 2.0
"""The same for a sum over all steps of a trial."""

DIRECTION_ERROR = 1e-3
"""By which `cos_heading` and `sin_heading` may differ from those of `heading_rad`; the core's differ by 1e-7."""


OUTCOME = (lib.DRV_OUTCOME_NONE, lib.DRV_OUTCOME_OTHER)
"""The range of outcomes."""


def ranges(core: NativeBatch) -> dict[str, tuple[float, float]]:
    """The lowest and highest value of every array of the core's state, by its name."""
    return _integer_ranges(core) | _float_ranges(core)


def output_ranges(core: NativeBatch) -> dict[str, tuple[float, float]]:
    """The lowest and highest value of those channels that have a range; `check_indices` checks index observations."""
    features = {} if core.config.observation.type == "index" else {"observations": (-1.0, 1.0)}
    return {**features, "critic_observations": (-1.0, 1.0), "outcome": OUTCOME,
            "trial_index": (0, core.config.max_trials - 1)}


def _integer_ranges(core: NativeBatch) -> dict[str, tuple[float, float]]:
    steps = (0, max(roles.trial_steps for roles in core.roles))
    longest_s = core.config.disturbances.duration_s
    disturbed = (0, 1 + int(longest_s / min(roles.dt_s for roles in core.roles)))
    vehicles = max(core.agents_per_world, *(len(roles.objects) for roles in core.roles))
    # At least 0, which is the state of a world before its first reset; `checked_state` compares it with the scene.
    last_road = max(0, *(len(scene.roads.id) - 1 for scene in core.scenes))
    # Names that share a range.
    flags = ("present", "previous_present", "collision_onset", "offroad_onset", "goal_onset", "on_road_edge",
             "in_goal_since_start", "recorded", "had_goal", "had_collision", "had_offroad", "scored", "brakes_hard",
             "had_fault_by_bearing", "had_fault_by_bumper", "red_light_onset", "stop_sign_onset", "stopped_at_sign",
             "had_red_light", "had_stop_sign", "coplayer", "record_coplayer", "script_crossed", "reward_is_due")
    of_trial = ("steps_driven", "lane_steps", "wrong_way_steps", "over_speed_steps", "hard_brakings", "sign_steps")
    return {
        "seed": ANY, "id": ANY, "overlapping": ANY,  # `checked_state` compares the last two
        "episode": (-1, LONGEST), "scene_index": (0, len(core.scenes) - 1), "trial": (0, core.config.max_trials - 1),
        "clock_steps": steps, "age_steps": steps, "arrival_step": (-1, steps[1]), "path_side": (-1, 1),
        "script_frame": (-1, steps[1]), "pending": (GOES_ON, OPENS_EPISODE), "status": (0, ABSENT),
        "controller": (lib.DRV_CONTROLLER_NONE, lib.DRV_CONTROLLER_RULE),
        "outcome": OUTCOME, "previous_outcome": OUTCOME, "collision_vehicle": (-1, vehicles - 1),
        "trials": (0, LONGEST), "coplayer_trials": (0, LONGEST),
        "record_count": (0, core.record_capacity), "records_lost": (0, LONGEST), "record_episode": (0, LONGEST),
        "record_scene": (0, len(core.scenes) - 1), "record_trial": (0, core.config.max_trials - 1),
        "record_outcome": OUTCOME, "lane": (-1, last_road),
        "goal_lane": (-1, last_road),
        "goal_turns": (0, MOST_TURNS), "goals_reached": steps, "respawns": steps,
        "start_of": (0, core.agents_per_world - 1),  # `checked_state` compares it with the scene
        **dict.fromkeys(of_trial, steps), "infractions": (0, 4 * steps[1]),
        "blind_steps": disturbed, "braking_steps": disturbed,
        "light_state": (0, lib.DRV_LIGHT_GREEN), "light_offset_steps": (0, LONGEST_CYCLE_STEPS),
        **dict.fromkeys(flags, FLAG)}


def _float_ranges(core: NativeBatch) -> dict[str, tuple[float, float]]:
    config = core.config
    # The limits of speed and wheel angle.
    steps = max(roles.trial_steps for roles in core.roles)
    trial_s = max(roles.trial_steps * roles.dt_s for roles in core.roles)
    limits = {dimension.name: dimension.high for dimension in action_dimensions(config)}
    fastest_mps = max(config.dynamics.max_speed_mps, -config.dynamics.min_speed_mps)
    if "dx" in limits:  # displacements in 0.1 s, which no speed limits
        fastest_mps = math.hypot(limits["dx"], limits["dy"]) / 0.1
    sets_pose = "heading" in limits  # `state`: no limit of the config applies to poses and speeds
    if sets_pose:
        fastest_mps = SPEED_LIMIT_MPS
    # The wheel angle of a commanded curvature is an arc tangent, which max_steering_rad does not limit.
    steering_rad = math.pi / 2 if "curvature" in limits else config.dynamics.max_steering_rad

    # Where an agent can be at the end of a trial, since it starts on the map and may leave it.
    distance_m = SUM_ROUNDING * trial_s * fastest_mps
    far_m = COORDINATE_LIMIT_M + distance_m
    apart_m = 4 * far_m  # points within the square of side 2 far_m are closer

    # A step is at least the shortest time step, and a wheelbase at least half the shortest length.
    change_mps2 = 2 * SPEED_LIMIT_MPS / DT_RANGE_S[0]
    shortest_m = SIZE_RANGE_M[0] / 2 * (config.hidden.wheelbase_factor or (1.0, 1.0))[0]
    turn_radps = SPEED_LIMIT_MPS * math.tan(config.dynamics.max_steering_rad) / shortest_m
    if sets_pose:
        turn_radps = max(turn_radps, math.pi / DT_RANGE_S[0])
    lateral_mps2 = SPEED_LIMIT_MPS * turn_radps
    # Both accelerations can go from one limit to the other in a step; twice that, for rounding.
    jerk_mps3 = 4 * (change_mps2 + lateral_mps2) / DT_RANGE_S[0]

    # No fact of a step that a term weighs exceeds the sum of two distances within the map.
    ranges_of = {name: ends or (0.0, 0.0) for name, ends in config.reward_ranges.to_dict().items()}
    weights = {name: max(abs(weight), *map(abs, ranges_of[name])) for name, weight in config.reward.to_dict().items()}
    step_reward = 2 * apart_m * sum(weights.values())
    trial_reward = SUM_ROUNDING * steps * step_reward
    own_reward = SUM_ROUNDING * steps * lib.DRV_REWARD_LIMIT if core.reward else 0.0
    metric = max(1.0, 4 * steps, distance_m, SPEED_LIMIT_MPS, trial_reward, own_reward, jerk_mps3)

    # The ranges, most of them by these numbers.
    roads_m = max(map(_length_of_roads_m, core.scenes))
    ends = _hidden_ends(config)
    places = ("x_m", "y_m", "previous_x_m", "previous_y_m")
    return {
        "progress_m": _both(2 * apart_m), "path_m": (-1.0, lib.DRV_PATH_LIMIT_M),
        "path_offset_m": _both(2 * lib.DRV_LANE_REACH_M), "path_offset_slope": _both(1.0),
        "route_progress_m": _both(2 * apart_m), "route_m": (0.0, 2 * roads_m), "goal_along_m": (0.0, 2 * roads_m),
        **dict.fromkeys(("start_to_goal_m", "min_to_goal_m"), (0.0, apart_m)),
        **dict.fromkeys(places, _both(far_m)), **dict.fromkeys(("goal_x_m", "goal_y_m"), _both(COORDINATE_LIMIT_M)),
        **dict.fromkeys(("z_m", "goal_z_m"), _both(float(lib.DRV_GROUND_LIMIT_M))),
        **dict.fromkeys(("heading_rad", "previous_heading_rad"), (-HEADING_LIMIT_RAD, HEADING_LIMIT_RAD)),
        **dict.fromkeys(("cos_heading", "sin_heading"), _both(1.0)), "speed_mps": _both(SPEED_LIMIT_MPS),
        "steering_rad": _both(steering_rad), "acceleration_mps2": _both(change_mps2),
        "yaw_rate_radps": _both(turn_radps), "distance_m": (0.0, ROUNDING * distance_m), "previous_share": (0.0, 1.0),
        "lane_offset_m": _both(lib.DRV_LANE_REACH_M), **dict.fromkeys(("lane_cos_error", "lane_sin_error"), _both(1.0)),
        "lateral_mps2": _both(lateral_mps2), "previous_acceleration_mps2": _both(change_mps2),
        **dict.fromkeys(("jerk_mps3", "max_jerk_mps3"), (0.0, jerk_mps3)), "min_gap_m": (0.0, lib.DRV_FARTHEST_GAP_M),
        **dict.fromkeys(("time_to_collision_s", "min_time_to_collision_s"), (0.0, lib.DRV_COLLISION_HORIZON_S)),
        "lane_offset_sum_m": (0.0, SUM_ROUNDING * steps * lib.DRV_LANE_REACH_M),
        "valid_action_sum": (0.0, float(steps)),
        "reward_weight": _both(max(weights.values())), "last_reward": _both(step_reward),
        "trial_reward": _both(trial_reward), "own_reward": _both(own_reward),
        "sideslip_rad": _both(math.pi / 2), "hidden": (min(0.0, *ends[0]), max(0.0, *ends[1])),
        "commanded_steering_rad": _both(steering_rad),
        "delayed_control": _both(max(max(-one.low, one.high) for one in action_dimensions(config))),
        **dict.fromkeys(("average", "coplayer_average"), _both(metric)), "record_values": _both(metric)}


def _length_of_roads_m(scene: Scene) -> float:
    """At least the length of all lanes. A route that begins and ends on the same lane is at most twice as long."""
    return float(np.hypot(np.diff(scene.roads.x_m), np.diff(scene.roads.y_m)).sum())


def _hidden_ends(config: DriveConfig) -> tuple[list[float], list[float]]:
    """The lowest and the highest value of each hidden parameter."""
    native, hidden = native_config(config), config.hidden
    spans = [getattr(hidden, name) or (lib.drv_hidden_neutral(native, code),) * 2
             for code, name in enumerate(HIDDEN_PARAMETERS)]
    low, high = map(list, zip(*spans))
    if hidden.steering_flip:
        low[0] = -high[0]
    return low, high


def check_hidden(core: NativeBatch, hidden: np.ndarray, played: np.ndarray) -> None:
    """Raises a CallError unless every hidden value is in its range in every world that was reset.

    A delay beyond its range would be an index outside of the core's memory, and a wheelbase of 0 would make the yaw
    rate infinite.
    """
    values = hidden.reshape(core.num_worlds, -1, len(HIDDEN_PARAMETERS))
    low, high = (np.array(end, np.float32) for end in _hidden_ends(core.config))
    wrong = ((values < low) | (values > high)) & played[:, None, None]
    if wrong.any():
        world, agent, code = (int(index) for index in np.argwhere(wrong)[0])
        raise CallError(f"state['state/hidden'] has {values[world, agent, code]:g} as {HIDDEN_PARAMETERS[code]} of "
                        f"agent {agent} in world {world}; it must be from {low[code]:g} to {high[code]:g}")


def check_indices(core: NativeBatch, observations: np.ndarray, scene_index: np.ndarray) -> None:
    """Raises a CallError unless index observations hold features in [-1, 1] and indices of existing records.

    Args:
        core: a batch with index observations.
        observations: as in `Batch.observations`.
        scene_index: (worlds,), the scene that each world plays.
    """
    parts = parts_of(core.config, observations)
    if not (np.abs(parts.own) <= 1).all():
        raise CallError("state['arrays/observations'] has a feature that is not from -1 to 1; every one must be")
    counts = 1 + np.array([lib.drv_scene_record_count(scene, native_config(core.config))
                           for scene in core.scene_handles])
    of_agent = np.repeat(counts[scene_index], core.agents_per_world)[:, None]
    vehicles = core.arrays["vehicle_table"].shape[1]
    for name, found, limit in (("partners", parts.partners, vehicles), ("roads", parts.roads, of_agent),
                               ("controls", parts.controls, of_agent)):
        if (wrong := found >= limit).any():
            agent = int(np.argwhere(wrong)[0, 0])
            last = int(np.broadcast_to(limit, (len(found), 1))[agent, 0]) - 1
            raise CallError(f"state['arrays/observations'] has index {found[agent].max()} among the {name} of agent "
                            f"{agent}; it must be from 0 to {last}")


def _both(limit: float) -> tuple[float, float]:
    return -ROUNDING * limit, ROUNDING * limit


def check_directions(state: dict[str, Any], played: np.ndarray) -> None:
    """Raises a CallError unless `cos_heading` and `sin_heading` fit `heading_rad` in every world that was reset."""
    heading_rad = state["heading_rad"]
    for name, function in (("cos_heading", np.cos), ("sin_heading", np.sin)):
        wrong = (np.abs(state[name] - function(heading_rad)) > DIRECTION_ERROR) & played[:, None]
        if wrong.any():
            at = tuple(int(index) for index in np.argwhere(wrong)[0])
            raise CallError(f"state['state/{name}'] has {state[name][at]:g} in world {at[0]} at index {at[1]}, where "
                            f"heading_rad is {heading_rad[at]:g}; it must be within {DIRECTION_ERROR:g} of "
                            f"{function(heading_rad[at]):g}")
