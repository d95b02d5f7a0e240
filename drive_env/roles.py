"""Agent roles: which objects of a scene become agents, log-replay, rule-based or static vehicles under a config."""

from __future__ import annotations

import math
from copy import deepcopy
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from .config import DriveConfig
from .errors import ConfigError, SceneError
from .scenes import Report, Scene
from .scenes.scene import OBJECT_KIND_CODES

STEPS_WITHOUT_A_LOG = 200
"""Steps of a trial where `trial_steps` is None and the scene has no log or is generated."""

SAME_DT_TOLERANCE = 1e-7
"""Time steps whose relative difference is less are equal: rounding to float32 changes one by up to 6e-8."""

SIMPLE_RATIO_LIMIT = 100
"""Largest denominator of a ratio taken as an exact fraction, such as half a frame, or 0.07 s on frames of 0.1 s."""

SAME_FRAME_SHARE = 1e-6
"""Times within this fraction of a frame from a frame are that frame; products of float64 steps have smaller errors."""

MIN_DRIVEN_M = 2.0
"""A logged vehicle that drives forwards by less than this stands: the logs of vehicles at rest have noise."""


@dataclass(frozen=True, eq=False)
class Frames:
    """Tracks of n objects from the start frame on, at the config's time step.

    Attributes:
        x_m, y_m, z_m, heading_rad, vx_mps, vy_mps: (frames, n) float32, 0 where not `valid`.
        valid: (frames, n) bool, on the map.
    """

    x_m: np.ndarray
    y_m: np.ndarray
    z_m: np.ndarray
    heading_rad: np.ndarray
    vx_mps: np.ndarray
    vy_mps: np.ndarray
    valid: np.ndarray


@dataclass(frozen=True, eq=False)
class LightLogs:
    """The lights of a scene's c controls from the start frame on, at the config's time step.

    Attributes:
        state: (frames, c) uint8, logged states.
        offset_s: (c,) float32, time since the first phase of a program began, at the start frame.
    """

    state: np.ndarray
    offset_s: np.ndarray


@dataclass(frozen=True, eq=False)
class ScriptsInUse:
    """The s scripts of a scene whose objects replay logs.

    Attributes:
        vehicle: (s,) int32, index of the vehicle.
        group, option: (s,) int32, as in `Scene.scripts`.
        options: (s,) int32, how many options the group has.
        line_m: (s, 4) float32, as in `Scene.scripts`.
    """

    vehicle: np.ndarray
    group: np.ndarray
    option: np.ndarray
    options: np.ndarray
    line_m: np.ndarray


@dataclass(frozen=True, eq=False)
class GoalListsInUse:
    """The lists of a scene's agents: their goals after the first one, g in all.

    Attributes:
        start: (agents + 1,) int32; the list of agent i is goals start[i] to start[i + 1], in order.
        repeats: (agents,) bool: the first goal of the list follows the last one, which is the agent's own goal.
        goal_m: (g, 2) float32. goal_heading_rad: (g,) float32, NaN for that of the lane.
        road_z_m: (g,) float32, height of the road there.
    """

    start: np.ndarray
    repeats: np.ndarray
    goal_m: np.ndarray
    goal_heading_rad: np.ndarray
    road_z_m: np.ndarray


@dataclass(frozen=True, eq=False)
class Roles:
    """The roles of a scene's objects under one config. Vehicle i of a world is object `objects[i]` of the scene.

    Attributes:
        scene: the scene.
        objects: (vehicles,) object indices: agents, then log-replay, rule-based and static vehicles, each ascending.
        num_agents, log_replay_count, rule_based_count, static_count: how many of each.
        frames: tracks of all objects of the scene from the start frame on.
        light_logs: its traffic lights from the start frame on.
        scripts: those scripts of the scene whose objects replay logs.
        goal_lists: those lists of the scene whose objects are agents.
        dt_s: simulated time of one step, s.
        trial_steps: driving steps after which a trial of this scene ends.
        report: the number of objects in each role, and the reasons why the others have none.
    """

    scene: Scene
    objects: np.ndarray
    num_agents: int
    log_replay_count: int
    rule_based_count: int
    static_count: int
    frames: Frames
    light_logs: LightLogs
    scripts: ScriptsInUse
    goal_lists: GoalListsInUse
    dt_s: float
    trial_steps: int
    report: Report


def assign_roles(scene: Scene, config: DriveConfig) -> Roles:
    """Assigns the roles of every object of the scene.

    Args:
        scene: the scene.
        config: sets `control`, `others`, the start frame, the time step and the number of agents.

    Raises:
        SceneError: the scene has no object that could drive under this config, or not those that `control` names.
        ConfigError: start_step is beyond the log, or a generated scene has fewer vehicles than agents_per_world.
    """
    # The frames, and the agents among the objects.
    objects, report = scene.objects, Report()
    if config.start_step >= objects.frame_count:
        raise ConfigError(
            f"start_step is {config.start_step}; scene {scene.name} has {objects.frame_count} frames, "
            f"so it must be 0 to {objects.frame_count - 1}")
    dt_s = scene.dt_s if config.dt_s is None else float(config.dt_s)
    log_frame = _frames_of_steps(scene, config.start_step, dt_s)
    frames = _frames_at(scene, log_frame, report)
    agents = _capped(scene, config, frames, _eligible(scene, config, frames, report), report)

    # All others replay their logs, follow rules or are static, if they are ever on the map.
    is_agent = np.zeros(objects.count, bool)
    is_agent[agents] = True
    has_log = objects.frame_count > 1 and config.others != "static"
    on_map = frames.valid.any(axis=0) if has_log else frames.valid[0]
    is_other = on_map & ~is_agent
    is_scripted = np.isin(np.arange(objects.count), scene.scripts.object)
    follows_rules = (is_other & ~is_scripted & _can_follow_rules(scene, frames) if config.others == "idm"
                     else np.zeros_like(is_other))
    replays = is_other & ~follows_rules & has_log
    members = {"agents": agents, "log-replay vehicles": np.flatnonzero(replays),
               "rule-based vehicles": np.flatnonzero(follows_rules),
               "static vehicles": np.flatnonzero(is_other & ~follows_rules & ~replays)}
    absent = "objects never on the map after the start" if has_log else "objects not on the map at the start"
    report.drop(absent, int((~on_map & ~is_agent).sum()))
    report.notes += [f"{role}: {len(indices)}" for role, indices in members.items()
                     if role != "rule-based vehicles" or config.others == "idm"]
    num_agents, log_replay_count, rule_based_count, static_count = map(len, members.values())
    return Roles(
        scene=scene, objects=np.concatenate(list(members.values())), num_agents=num_agents,
        log_replay_count=log_replay_count, rule_based_count=rule_based_count, static_count=static_count,
        frames=frames, light_logs=_light_logs_at(scene, config.start_step, log_frame),
        scripts=_scripts_in_use(scene, members), goal_lists=_goal_lists_in_use(scene, agents), dt_s=dt_s,
        trial_steps=_trial_steps(scene, config, frames), report=report)


def _scripts_in_use(scene: Scene, members: dict[str, np.ndarray]) -> ScriptsInUse:
    """The scripts of those objects that replay logs; vehicles are in the order of their objects."""
    scripts, replaying = scene.scripts, members["log-replay vehicles"]
    options = np.zeros(scripts.count, np.int32)
    np.maximum.at(options, scripts.group, scripts.option + 1)
    used = np.isin(scripts.object, replaying)
    vehicle = len(members["agents"]) + np.searchsorted(replaying, scripts.object[used])
    return ScriptsInUse(vehicle.astype(np.int32), scripts.group[used], scripts.option[used],
                        options[scripts.group][used], scripts.line_m[used])


def _goal_lists_in_use(scene: Scene, agents: np.ndarray) -> GoalListsInUse:
    """The lists of these objects, which ascend. To a list that repeats, the object's own goal is added."""
    lists, objects = scene.goal_lists, scene.objects
    listed = np.isin(lists.object, agents)
    closing = agents[np.isin(agents, lists.repeating)]
    owner = np.concatenate([lists.object[listed], closing])
    order = np.argsort(owner, kind="stable")  # an added goal is the last one of its object

    def joined(of_lists: np.ndarray, of_objects: np.ndarray) -> np.ndarray:
        return np.concatenate([of_lists[listed], of_objects[closing]])[order]

    half_m = 0.5 * objects.height_m  # the road is below the centre
    return GoalListsInUse(
        start=np.append(np.searchsorted(owner[order], agents), len(owner)).astype(np.int32),
        repeats=np.isin(agents, lists.repeating), goal_m=joined(lists.goal_m, objects.goal_m),
        goal_heading_rad=joined(lists.goal_heading_rad, objects.goal_heading_rad),
        road_z_m=joined(lists.goal_z_m - half_m[lists.object], objects.goal_z_m - half_m))


def listed_goal(lists: GoalListsInUse, agent: int, number: int) -> int:
    """The index of the goal that an agent has after so many others in a trial; the last one of its list for more.

    -1 for the first goal, which is in no list, and for an agent without a list.
    """
    first, count = int(lists.start[agent]), int(lists.start[agent + 1] - lists.start[agent])
    if count == 0 or number == 0:
        return -1
    return first + ((number - 1) % count if lists.repeats[agent] else min(number, count) - 1)


def _can_follow_rules(scene: Scene, frames: Frames) -> np.ndarray:
    """(n,) bool: vehicles that drive forwards in the log. Those that stand or reverse keep to it.

    Where there is no log: all vehicles except parked ones, which are marked for log replay. A rule-based vehicle that
    is on no lane stands.
    """
    vehicle = scene.objects.kind == OBJECT_KIND_CODES["vehicle"]
    if len(frames.valid) == 1:
        return vehicle & frames.valid[0] & ~scene.objects.marked_expert
    # The distance ahead from frame to frame.
    x_m, y_m, heading_rad = (track.astype(np.float64) for track in (frames.x_m, frames.y_m, frames.heading_rad))
    both = frames.valid[1:] & frames.valid[:-1]
    cosine, sine = _direction(heading_rad[:-1])
    ahead_m = np.where(both, np.diff(x_m, axis=0) * cosine + np.diff(y_m, axis=0) * sine, 0.0)
    reversed_m = -np.minimum(ahead_m, 0.0).sum(axis=0)
    return vehicle & (ahead_m.sum(axis=0) >= MIN_DRIVEN_M) & (reversed_m < MIN_DRIVEN_M)


def _direction(heading_rad: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Cosine and sine, within 2e-7, by their series: the bits of numpy's own depend on the machine."""
    turns = heading_rad / (2 * math.pi)
    angle_rad = (turns - np.rint(turns)) * (2 * math.pi)
    square = angle_rad * angle_rad
    cosine = sine = np.ones_like(square)
    for k in range(16, 0, -2):
        cosine, sine = 1.0 - square / (k * (k - 1)) * cosine, 1.0 - square / (k * (k + 1)) * sine
    return cosine, angle_rad * sine


def _trial_steps(scene: Scene, config: DriveConfig, frames: Frames) -> int:
    if config.trial_steps is not None:
        return config.trial_steps
    if scene.generated or scene.objects.frame_count == 1:
        return STEPS_WITHOUT_A_LOG
    left = len(frames.valid) - 1
    if left < 1:
        raise ConfigError(
            f"trial_steps is None and scene {scene.name} has no frames left after start_step {config.start_step}; "
            "give trial_steps a number")
    return left


# ---- agents ----


def _eligible(scene: Scene, config: DriveConfig, frames: Frames, report: Report) -> np.ndarray:
    """Indices of the objects that `control` selects and that are valid at the start, ascending."""
    # All objects, or the vehicles that are not at their goals, or those that `control` names.
    objects = scene.objects
    valid = frames.valid[0]
    if config.control == "all":
        chosen = valid.copy()
    elif config.control == "vehicles":
        start = np.stack([frames.x_m[0], frames.y_m[0]], axis=1)
        far = np.sqrt(((objects.goal_m - start) ** 2).sum(axis=1)) > config.goal_radius_m
        vehicle = objects.kind == OBJECT_KIND_CODES["vehicle"]
        reasons = (("not of kind vehicle", ~vehicle), ("not valid at the start", ~valid),
                   ("marked for log replay", objects.marked_expert), ("goal within goal_radius_m of the start", ~far))
        chosen = np.ones(objects.count, bool)
        for reason, excluded in reasons:
            report.drop(f"agent role, {reason}", int((chosen & excluded).sum()))
            chosen &= ~excluded
    else:
        chosen = np.zeros(objects.count, bool)
        chosen[_named(scene, config, report)] = True
        report.drop("agent role, not valid at the start", int((chosen & ~valid).sum()))
        chosen &= valid
    if not chosen.any():
        counts = ", ".join(f"{reason}: {count}" for reason, count in report.dropped.items())
        none = "none is valid" if objects.count else "it has no objects"
        raise SceneError(
            f"scene {scene.name} has no object that could drive with control={config.control!r} at "
            f"start_step {config.start_step}: {counts or none}")
    return np.flatnonzero(chosen)


def _named(scene: Scene, config: DriveConfig, report: Report) -> list[int]:
    """Indices of the objects that `control` names: the sdc, the tracks to predict, or objects by id."""
    if config.control == "sdc":
        if scene.sdc < 0:
            raise SceneError(f"scene {scene.name} does not name its sdc; use another control")
        return [scene.sdc]
    if config.control == "tracks_to_predict":
        if not scene.tracks_to_predict:
            raise SceneError(f"scene {scene.name} names no tracks to predict; use another control")
        return list(scene.tracks_to_predict)
    found = np.flatnonzero(np.isin(scene.objects.id, config.control))
    if len(found) == 0:
        raise SceneError(f"scene {scene.name} has no object with an id of control={config.control!r}")
    present = set(scene.objects.id.tolist())
    for missing in sorted(number for number in config.control if number not in present):
        report.drop(f"agent role, no object has the id {missing} of control")
    return list(found)


def _capped(scene: Scene, config: DriveConfig, frames: Frames, eligible: np.ndarray, report: Report) -> np.ndarray:
    """At most `agents_per_world` of the eligible objects, those nearest to the sdc where there is one, ascending."""
    cap = config.agents_per_world
    if scene.generated and cap is not None and len(eligible) < cap:
        raise ConfigError(
            f"agents_per_world is {cap}; the generated scene {scene.name} has {len(eligible)} vehicles that could "
            f"drive, so generate it with agents={cap} or more")
    if cap is None or len(eligible) <= cap:
        return eligible
    report.drop("agent role, beyond agents_per_world", len(eligible) - cap)
    order = np.arange(len(eligible))
    if scene.sdc >= 0 and frames.valid[0, scene.sdc]:
        start = np.stack([frames.x_m[0], frames.y_m[0]], axis=1).astype(np.float64)
        # Squares in float64: hypot rounds differently between platforms, which would order ties differently.
        away2 = ((start[eligible] - start[scene.sdc]) ** 2).sum(axis=1)
        order = np.argsort(away2, kind="stable")
    return np.sort(eligible[order[:cap]])


# ---- frames ----


def _frames_per_step(ratio: float) -> tuple[float, float]:
    """A ratio as numerator and denominator: whole numbers if it is within the tolerance of a simple fraction.

    This keeps the times of a rounded time step on the frames.
    """
    simple = Fraction(ratio).limit_denominator(SIMPLE_RATIO_LIMIT)
    if abs(simple - ratio) <= SAME_DT_TOLERANCE * ratio:
        return float(simple.numerator), float(simple.denominator)
    return ratio, 1.0


def _frames_of_steps(scene: Scene, start_step: int, dt_s: float) -> np.ndarray:
    """(steps,) float64, the frame of every step of `dt_s` within the log; not whole where it is between two frames."""
    frame_count = scene.objects.frame_count
    if frame_count == 1 or abs(dt_s - scene.dt_s) <= SAME_DT_TOLERANCE * scene.dt_s:
        return np.arange(start_step, frame_count, dtype=np.float64)
    frames, steps = _frames_per_step(dt_s / scene.dt_s)
    count = int(np.floor((frame_count - 1 - start_step) * steps / frames + SAME_FRAME_SHARE)) + 1
    log_frame = start_step + np.arange(count) * frames / steps
    nearest = np.rint(log_frame)
    return np.where(np.abs(log_frame - nearest) < SAME_FRAME_SHARE, nearest, log_frame)


def resampled(scene: Scene, dt_s: float) -> Scene:
    """The scene with its log at another time step, as a config with this `dt_s` plays it; the scene itself at its own.

    Poses between two frames are interpolated, which the scene's report counts; lights keep their states.
    """
    if abs(dt_s - scene.dt_s) <= SAME_DT_TOLERANCE * scene.dt_s:
        return scene
    log_frame, report = _frames_of_steps(scene, 0, dt_s), deepcopy(scene.report)
    tracks = vars(_frames_at(scene, log_frame, report))
    controls = replace(scene.traffic_controls, state=_light_logs_at(scene, 0, log_frame).state)
    return replace(scene, dt_s=dt_s, objects=replace(scene.objects, **tracks), traffic_controls=controls, report=report)


def _light_logs_at(scene: Scene, start_step: int, log_frame: np.ndarray) -> LightLogs:
    """The lights at these frames. A light keeps its state until the next frame; programs run on from frame 0."""
    before_s = np.float64(start_step) * scene.dt_s
    return LightLogs(scene.traffic_controls.state[log_frame.astype(np.int64)],
                     (scene.traffic_controls.offset_s + before_s).astype(np.float32))


def _frames_at(scene: Scene, log_frame: np.ndarray, report: Report) -> Frames:
    """The tracks at these frames, interpolated where they are not whole."""
    # Without a log, or at the log's own time step, the tracks are used unchanged.
    objects = scene.objects
    tracks = [objects.x_m, objects.y_m, objects.z_m, objects.heading_rad, objects.vx_mps, objects.vy_mps]
    first = int(log_frame[0])
    if np.array_equal(log_frame, np.arange(first, objects.frame_count)):
        return Frames(*(track[first:] for track in [*tracks, objects.valid]))

    # The frames before and after every step, and its position between them.
    low = np.minimum(log_frame.astype(np.int64), objects.frame_count - 1)
    high = np.minimum(low + 1, objects.frame_count - 1)
    share = (log_frame - low)[:, None]
    # Valid where both frames are; on a frame, where that one is.
    exact = share == 0
    valid = objects.valid[low] & (exact | objects.valid[high])
    report.impute("poses interpolated between two frames", int((valid & ~exact).sum()))

    def between(track: np.ndarray, turn: bool = False) -> np.ndarray:
        before, change = track[low].astype(np.float64), track[high].astype(np.float64) - track[low]
        if turn:
            change = (change + np.pi) % (2 * np.pi) - np.pi
        return np.where(exact, track[low], np.where(valid, before + share * change, 0)).astype(np.float32)

    x_m, y_m, z_m, heading_rad, vx_mps, vy_mps = tracks
    return Frames(between(x_m), between(y_m), between(z_m), between(heading_rad, turn=True), between(vx_mps),
                  between(vy_mps), valid)
