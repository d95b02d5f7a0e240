"""The configuration: one frozen `DriveConfig` and the configs nested in it, each field with unit, meaning and check."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, make_dataclass
from typing import TYPE_CHECKING, Any

from .binding import choices, ffi, lib
from .errors import ConfigError, a_type
from .fields import (
    Check, Checked, Fields, Nested, choice, count, nested, number, number_or_share, plain_tuple, setting, span, subset,
    switch)

EVENT_RESPONSES = choices("on_collision")
"""What happens to an agent after an event."""

GOAL_RESPONSES = choices("on_goal")
"""What happens to an agent that reaches its goal; with "next" it has another goal from then on, with "respawn" another
start, too."""

FOLLOWED_GOALS = ("next", "respawn")
"""Values of `on_goal` with which an agent has more than one goal in a trial."""

CONTROLS = ("vehicles", "all", "tracks_to_predict", "sdc")
"""Named values of `control`; the other form is a tuple of object ids."""


def _is_control(value: Any) -> bool:
    if isinstance(value, str):
        return value in CONTROLS
    return (
        isinstance(value, tuple)
        and len(value) > 0
        and all(isinstance(item, int) and not isinstance(item, bool) for item in value)
        and len(set(value)) == len(value)
    )


_control = Check(
    _is_control, "one of " + ", ".join(repr(name) for name in CONTROLS) + ", or a tuple of different object ids (ints)",
    plain_tuple)


@dataclass(frozen=True, eq=False, kw_only=True)
class ObservationConfig(Checked, group="observation"):
    """The content and type of observations."""

    partners: int = setting(31, "slots", "number of nearest vehicles in an observation", count(0, 255))
    roads: int = setting(128, "slots", "number of nearest road segments in an observation", count(0, 1024))
    road_selection: str = setting(
        "exact", "", "which road segments an observation holds: 'exact': those nearest to the agent; 'near': those "
        "nearest to the centre of the square of 2.5 m that the agent is in (its sub-cell), which is faster",
        choice(*choices("road_selection")))
    road_memory_mib: int = setting(
        256, "MiB", "memory of a batch for its cache of the roads around each sub-cell; without a cached list their "
        "selection takes longer", count(0, 1_048_576))
    type: str = setting(
        "float32", "", "'float32': floats; 'float16': half floats; 'index': indices into tables, for `Batch` alone; "
        "'image': images, and beside them floats", choice(*choices("observation_type")),
        core="observation_type")
    view_radius_m: float = setting(
        100.0, "m", "distance beyond which vehicles and road segments are not observed", number(1.0, 1000.0))
    candidates: int = setting(
        0, "slots", "number of candidate goals in an observation: 0, or at least as many as every scene has",
        count(0, lib.DRV_CANDIDATE_LIMIT))
    goals: int = setting(
        0, "slots", "number of goals in an observation, with the directions of their headings: the current one and, "
        "with `on_goal` 'next', those that follow it", count(0, lib.DRV_GOAL_SLOT_LIMIT))
    controls: int = setting(
        0, "slots", "number of nearest traffic lights and signs in an observation; needs `traffic_controls`",
        count(0, 255))
    route: int = setting(
        0, "slots", "number of points of the agent's route in an observation, one every `route_spacing_m` along it, "
        "counted from the agent's position on it", count(0, lib.DRV_ROUTE_SLOT_LIMIT))
    route_spacing_m: float = setting(
        5.0, "m", "length along the route from an observed point of it to the next one, with `observation.route`",
        number(0.1, 1000.0))
    goal_reveal_s: float | None = setting(
        None, "s", "time before the end of each trial, rounded to steps, in which an agent observes its goal; before "
        "it, the features of the goal are 0. 0: never", number(0.0, 1e5, none="always"))
    goal_reveal_share: float = setting(
        0.0, "1", "share of the trials in which an agent observes its goal from the first step on, in spite of "
        "`goal_reveal_s`; drawn per agent and trial", number(0.0, 1.0))
    goal_reveal_delay_s: float = setting(
        0.0, "s", "largest delay after which the trials of `goal_reveal_share` show the goal; drawn uniformly from 0 "
        "to this per agent and trial", number(0.0, 1e5))
    time_left: str = setting(
        "off", "", "where the share of the trial's steps that is left is observed: 'off': nowhere; 'actor': by agents, "
        "as `ego/time_left`, and critics; 'critic': by critics alone, as `critic/time_left`",
        choice(*choices("time_left")))
    steps_share: bool = setting(
        True, "", "whether `trial/steps_share`, how much of the previous trial was driven, is observed; else it is 0",
        switch())
    reveal_hidden: bool = setting(
        False, "", "whether observations hold the hidden values of their agent, as `hidden/...`", switch())


@dataclass(frozen=True, eq=False, kw_only=True)
class ImageConfig(Checked, group="image"):
    """The form of images, which `observation.type` "image" turns on."""

    size: int = setting(64, "pixels", "length of the sides of an image", count(16, 512))
    metres_per_pixel: float = setting(1.0, "m", "length of the sides of a pixel", number(0.05, 10.0))
    layers: tuple[str, ...] = setting(
        ("edges", "lanes", "partners", "self", "goal"), "", "layers of an image; `controls` needs `traffic_controls`",
        subset(*choices("image_layers")))


@dataclass(frozen=True, eq=False, kw_only=True)
class SensorConfig(Checked, group="sensors"):
    """Errors of observations: standard deviations of normal noise, and probabilities that a record is missing."""

    partner_position_noise_m: float = setting(
        0.0, "m", "noise of the position of a vehicle, ahead and to the left each", number(0.0, 100.0))
    partner_heading_noise_rad: float = setting(0.0, "rad", "noise of the heading of a vehicle", number(0.0, 3.2))
    partner_speed_noise_mps: float = setting(0.0, "m/s", "noise of the speed of a vehicle", number(0.0, 50.0))
    partner_dropout: float = setting(
        0.0, "1", "probability that a vehicle is not observed in a step", number(0.0, 1.0))
    road_position_noise_m: float = setting(
        0.0, "m", "noise of the position of a road segment, ahead and to the left each", number(0.0, 100.0))
    road_heading_noise_rad: float = setting(
        0.0, "rad", "noise of the direction of a road segment", number(0.0, 3.2))
    road_dropout: float = setting(
        0.0, "1", "probability that a road segment is not observed in a step", number(0.0, 1.0))
    ego_speed_noise_mps: float = setting(0.0, "m/s", "noise of the agent's own speed", number(0.0, 50.0))
    goal_position_noise_m: float = setting(
        0.0, "m", "noise of the position of the agent's goal, ahead and to the left each", number(0.0, 100.0))


@dataclass(frozen=True, eq=False, kw_only=True)
class DisturbanceConfig(Checked, group="disturbances"):
    """Failures of agents while they drive; their steps meanwhile have `invalid_step`."""

    partner_blindness: float = setting(
        0.0, "1", "each episode draws the probability that an agent at times observes no vehicles, uniformly from 0 to "
        "this value", number(0.0, 1.0))
    phantom_braking: float = setting(
        0.0, "1", "each episode draws the probability that an agent at times brakes fully, whatever its action is, "
        "uniformly from 0 to this value", number(0.0, 1.0))
    trigger_probability: float = setting(
        0.03, "1", "probability per step that a disturbance begins, for an agent that can have it", number(1e-6, 1.0))
    duration_s: float = setting(3.0, "s", "time for which a disturbance lasts, rounded to steps", number(0.001, 1000.0))


@dataclass(frozen=True, eq=False, kw_only=True)
class DynamicsConfig(Checked, group="dynamics", shorthand="model"):
    """How the vehicles of agents move, and within which limits."""

    model: str = setting("bicycle", "", "vehicle model", choice(*choices("dynamics")), core="dynamics")
    max_acceleration_mps2: float = setting(
        4.0, "m/s2", "acceleration at full throttle, and deceleration at full braking, of models whose actions set "
        "an acceleration", number(0.01, 50.0))
    max_steering_rad: float = setting(
        0.6, "rad", "front wheel angle at full steering, of models that have wheels to steer", number(0.01, 1.2))
    max_speed_mps: float = setting(
        40.0, "m/s", "upper bound of an agent's speed; with `delta_local` and `state`, of its speed at the start alone",
        number(0.1, 150.0))
    min_speed_mps: float = setting(
        0.0, "m/s", "lower bound of an agent's speed; negative allows reverse; with `delta_local` and `state`, of its "
        "speed at the start alone", number(-50.0, 0.0))
    friction: float = setting(
        1.0, "1", "friction of tyres and road, which only the model `grip` has: dry 0.7 to 1, wet 0.4 to 0.7, snow 0.2 "
        "to 0.3, ice 0.1", number(0.01, 5.0))


@dataclass(frozen=True, eq=False, kw_only=True)
class HiddenConfig(Checked, group="hidden"):
    """What varies from vehicle to vehicle without being observed: the range from which each value is drawn."""

    steering_gain: tuple[float, float] | None = setting(
        None, "1", "factor of the commanded wheel angle or curvature", span(0.01, 10.0))
    steering_flip: float = setting(
        0.0, "1", "probability that `steering_gain` is negative, so that the vehicle turns to the other side",
        number(0.0, 1.0))
    steering_offset_rad: tuple[float, float] | None = setting(
        None, "rad", "wheel angle that is added to the commanded one", span(-0.5, 0.5))
    throttle_gain: tuple[float, float] | None = setting(
        None, "1", "factor of a commanded acceleration above 0", span(0.01, 10.0))
    brake_gain: tuple[float, float] | None = setting(
        None, "1", "factor of a commanded acceleration below 0", span(0.01, 10.0))
    action_delay_steps: tuple[int, int] | None = setting(
        None, "steps", "time from an action to its effect", span(0, lib.DRV_DELAY_LIMIT, whole=True))
    friction: tuple[float, float] | None = setting(
        None, "1", "friction of tyres and road, instead of `dynamics.friction`", span(0.01, 5.0))
    wheelbase_factor: tuple[float, float] | None = setting(
        None, "1", "factor of the distance between the axles", span(0.1, 10.0))
    scope: str = setting(
        "episode", "", "how long a value holds: for all trials of an episode, or for one trial",
        choice(*choices("hidden_scope")))
    per: str = setting(
        "agent", "", "whether each agent has its own values, or all agents of a world the same",
        choice(*choices("hidden_per")))


LIMITS_WITHOUT_EFFECT = {
    "invertible_bicycle": ("max_steering_rad",), "jerk": ("max_acceleration_mps2",),
    **dict.fromkeys(("delta_local", "state"), ("max_acceleration_mps2", "max_steering_rad"))}
"""Limits of `DynamicsConfig` that do not limit the motion of a vehicle model."""

HIDDEN_PARAMETERS = tuple(ffi.string(lib.drv_hidden_name(code)).decode() for code in range(lib.DRV_HIDDEN_COUNT))
"""The hidden parameters, in the order of the core."""


def hidden_parameters(model: str) -> tuple[str, ...]:
    """The hidden parameters that a vehicle model has."""
    offered = lib.drv_hidden_parameters_of(choices("dynamics").index(model))
    return tuple(name for code, name in enumerate(HIDDEN_PARAMETERS) if offered >> code & 1)


def varied_parameters(hidden: HiddenConfig) -> tuple[str, ...]:
    """The hidden parameters that vary, in the order of the core."""
    return tuple(name for name in HIDDEN_PARAMETERS if getattr(hidden, name) is not None
                 or (name == "steering_gain" and hidden.steering_flip > 0.0))


DISTURBANCES = ("partner_blindness", "phantom_braking")


def disturbances_of(config: DriveConfig) -> tuple[str, ...]:
    """Those of `DISTURBANCES` that agents can have."""
    return tuple(name for name in DISTURBANCES if getattr(config.disturbances, name))


def action_types(model: str) -> tuple[str, ...]:
    """The action types that a vehicle model offers."""
    offered = lib.drv_action_types_of(choices("dynamics").index(model))
    return tuple(name for code, name in enumerate(choices("action_type")) if offered >> code & 1)


@dataclass(frozen=True, eq=False, kw_only=True)
class IDMConfig(Checked, group="idm"):
    """How rule-based vehicles follow others (intelligent driver model). The defaults are those of nuPlan's agents.

    `hardest_braking_mps2` alone differs: 8 m/s2 is what tyres hold on a dry road. nuPlan brakes with at most
    `braking_mps2`, so that its vehicles hit what stands still ahead of them.
    """

    min_gap_m: float = setting(1.0, "m", "gap to the vehicle ahead at rest, from bumper to bumper", number(0.1, 50.0))
    headway_s: float = setting(
        1.5, "s", "time gap to the vehicle ahead that a moving vehicle keeps in addition to `min_gap_m`",
        number(0.0, 10.0))
    acceleration_mps2: float = setting(1.0, "m/s2", "acceleration on a free road from rest", number(0.1, 20.0))
    braking_mps2: float = setting(2.0, "m/s2", "comfortable deceleration", number(0.1, 20.0))
    hardest_braking_mps2: float = setting(
        8.0, "m/s2", "largest deceleration; at least `braking_mps2`", number(0.1, 20.0))
    speed_factor: float = setting(
        1.0, "1", "factor of the desired speed, also of the lower one in bends; the desired speed on a lane is its "
        "speed limit, or 10 m/s where it has none", number(0.05, 2.0))


@dataclass(frozen=True, eq=False, kw_only=True)
class MOBILConfig(Checked, group="mobil"):
    """When rule-based vehicles change lanes (MOBIL)."""

    politeness: float = setting(
        0.3, "1", "weight of the acceleration that followers lose, beside the vehicle's own gain", number(0.0, 5.0))
    threshold_mps2: float = setting(
        0.2, "m/s2", "gain of acceleration below which a vehicle stays in its lane", number(0.0, 20.0))
    safe_braking_mps2: float = setting(
        2.0, "m/s2", "largest deceleration that a change may impose on the new follower", number(0.0, 20.0))


@dataclass(frozen=True, eq=False, kw_only=True)
class RewardConfig(Checked, group="reward"):
    """Weights of the reward terms. Events are rewarded once, in the step of their onset, other terms in every step."""

    goal: float = setting(1.0, "1", "reward of the step that reaches the goal", number(-1e3, 1e3))
    collision: float = setting(
        -0.5, "1", "reward of the step in which a contact with a vehicle begins", number(-1e3, 1e3))
    offroad: float = setting(
        -0.2, "1", "reward of the step in which the box begins to cross a road edge", number(-1e3, 1e3))
    progress_per_m: float = setting(
        0.0, "1/m", "reward per metre by which a step reduces the distance to the goal, until it is reached",
        number(-1e3, 1e3))
    time_per_s: float = setting(0.0, "1/s", "reward per second of driving", number(-1e3, 1e3))
    reverse_per_m: float = setting(
        0.0, "1/m", "reward per metre driven backwards; most models need `dynamics.min_speed_mps` below 0 for it",
        number(-1e3, 1e3))
    lane_alignment_per_s: float = setting(
        0.0, "1/s", "reward per second, times the cosine of the angle between heading and lane", number(-1e3, 1e3))
    lane_offset_per_m_s: float = setting(
        0.0, "1/(m s)", "reward per second and metre of distance from the centre line of the lane",
        number(-1e3, 1e3))
    wrong_way_per_m: float = setting(
        0.0, "1/m", "reward per metre driven against the direction of the lane", number(-1e3, 1e3))
    over_speed_per_m: float = setting(
        0.0, "1/m", "reward per metre driven in excess of the speed limit of the lane: excess speed times time",
        number(-1e3, 1e3))
    discomfort_per_s: float = setting(
        0.0, "1/s", "reward per second and comfort limit that is exceeded: 3 m/s2 of longitudinal and of lateral "
        "acceleration, 5 m/s3 of jerk", number(-1e3, 1e3))
    time_to_collision_per_s: float = setting(
        0.0, "1/s", "reward per second, times 1 - TTC / 3 s while the time to collision (TTC) is below 3 s",
        number(-1e3, 1e3))
    red_light: float = setting(
        0.0, "1", "reward of the step that crosses a stop line at red; needs `traffic_controls`", number(-1e3, 1e3))
    stop_sign: float = setting(
        0.0, "1", "reward of the step that crosses the line of a stop sign without a stop; needs `traffic_controls`",
        number(-1e3, 1e3))
    distance_to_log_per_m_s: float = setting(
        0.0, "1/(m s)", "reward per second and metre of distance from the agent's logged position, where it has one",
        number(-1e3, 1e3))
    route_progress_per_m: float = setting(
        0.0, "1/m", "reward per metre along the lanes that lead to the goal, until it is reached", number(-1e3, 1e3))


if TYPE_CHECKING:

    class RewardRanges(Checked):
        """The same for type checkers, which do not run `make_dataclass`."""

        def __init__(self, **ranges: tuple[float, float] | None) -> None: ...

        def __getattr__(self, term: str) -> tuple[float, float] | None: ...

else:

    RewardRanges = make_dataclass(
        "RewardRanges",
        [(field.name, tuple[float, float] | None,
          setting(None, field.metadata["unit"], "range of the weight of this term", span(-1e3, 1e3)))
         for field in fields(RewardConfig)],
        bases=(Checked,), frozen=True, eq=False, kw_only=True,
        namespace={"__module__": __name__, "_group": "reward_ranges", "__doc__":
                   "Ranges from which each agent draws weights of the reward, by the names of `RewardConfig`."})


@dataclass(frozen=True, eq=False, kw_only=True)
class DriveConfig(Checked):
    """The config of a batch or env, frozen; an unknown name or a value out of its range raises a `ConfigError`.

    Fields are passed by name. Each nested config can be a mapping of its fields, and `dynamics` the name of a model:
    `DriveConfig(observation={"partners": 8}, dynamics="bicycle")`.
    """

    dt_s: float | None = setting(
        None, "s", "simulated time of one step", number(0.001, 2.0, none="the scene's own"))
    max_trials: int = setting(1, "1", "number of trials in an episode", count(1, 10_000))
    trial_steps: int | None = setting(
        None, "steps", "driving steps after which a trial ends",
        count(1, lib.DRV_FRAME_LIMIT,
              none="to the end of the log from start_step on; 200 without a log and in generated scenes"))
    start_step: int = setting(
        0, "frames", "frame of the log at which every trial starts", count(0, lib.DRV_FRAME_LIMIT))
    agents_per_world: int | None = setting(
        None, "agents", "number of agents in each world: a maximum for files, exact for generated scenes",
        count(1, 4096, none="as many as the largest scene needs"))
    control: tuple[int, ...] | str = setting("vehicles", "", "which objects of a scene become agents", _control)
    others: str = setting(
        "replay", "", "what objects that are no agents do: 'replay': replay their logs; 'static': stay at their start; "
        "'idm': vehicles follow the paths of their logs, or lanes, and react to traffic (intelligent driver model)",
        choice("replay", "static", "idm"))
    idm_lane_changes: bool = setting(
        False, "", "whether rule-based vehicles change to lanes beside their paths and back (MOBIL); needs `others` "
        "'idm'", switch())
    idm_handback_m: float = setting(
        0.0, "m", "distance from its log within which a rule-based vehicle is handed back to it while its way is free; "
        "0: never; needs `others` 'idm'", number(0.0, 20.0))
    idm: Nested[IDMConfig, Fields] = nested(
        IDMConfig(), "how rule-based vehicles follow others; needs `others` 'idm'", core="idm_{}")
    mobil: Nested[MOBILConfig, Fields] = nested(
        MOBILConfig(), "when rule-based vehicles change lanes; needs `idm_lane_changes`", core="mobil_{}")
    coplayers: float = setting(
        0, "agents", "number (int) or share (float) of the agents of each world that are co-players, drawn for every "
        "episode; reports leave co-players out by default", number_or_share(4095))
    dynamics: Nested[DynamicsConfig, Fields | str] = nested(
        DynamicsConfig(), "how the vehicles of agents move, and within which limits")
    hidden: Nested[HiddenConfig, Fields] = nested(
        HiddenConfig(), "what varies from vehicle to vehicle without being observed", core="hidden_{}")
    action_type: str = setting(
        "discrete", "", "encoding of an action", choice(*choices("action_type")))
    goal_radius_m: float = setting(
        2.0, "m", "distance from the goal within which it is reached", number(0.01, 100.0))
    vertical_clearance_m: float = setting(
        4.0, "m", "difference in height beyond which vehicles, road edges, goals and observed things are on different "
        "levels, in scenes whose roads lie above each other", number(lib.DRV_LEVEL_HEIGHT_M, 1000.0))
    goal_max_speed_mps: float | None = setting(
        None, "m/s", "highest speed at which the goal counts as reached", number(0.0, 150.0, none="any speed"))
    goal_heading_tolerance_rad: float | None = setting(
        None, "rad", "largest angle between the headings of agent and goal with which the goal counts as reached; that "
        "of the goal is its own in the scene, else that of the lane there; needs `observation.goals`, which show it",
        number(0.001, 1.6, none="any heading"))
    on_goal: str = setting(
        "remove", "", "what happens to an agent that reaches its goal; 'next': it has another goal from then on, "
        "the next one of its list in the scene, or without a list `goal_spacing_m` further along the lanes, and is "
        "removed where these end; 'respawn': it appears at a "
        "free start of the scene, with the goal that belongs to it", choice(*GOAL_RESPONSES))
    goal_spacing_m: float = setting(
        40.0, "m", "length along the lanes from a goal to the next one, with `on_goal` 'next' and without a list",
        number(1.0, 1000.0))
    max_goals: int | None = setting(
        None, "goals", "number of goals after which an agent is removed, with `on_goal` 'next' or 'respawn'; a score "
        "then needs the goal at which it is removed", count(1, 10_000, none="no limit"))
    on_collision: str = setting("stop", "", "what happens to an agent that collides", choice(*EVENT_RESPONSES))
    on_offroad: str = setting("stop", "", "what happens to an agent that leaves the road", choice(*EVENT_RESPONSES))
    traffic_controls: bool = setting(
        False, "", "whether traffic lights and signs have an effect: an agent that does not obey a red light or a stop "
        "sign has an event, which is a metric and rules out a score; rule-based vehicles obey lights and signs",
        switch())
    on_red_light: str = setting(
        "ignore", "", "what happens, with `traffic_controls`, to an agent that crosses a stop line at red",
        choice(*EVENT_RESPONSES))
    on_stop_sign: str = setting(
        "ignore", "", "what happens, with `traffic_controls`, to an agent that crosses the line of a stop sign without "
        "a stop",
        choice(*EVENT_RESPONSES))
    stopped_share_limit: float | None = setting(
        None, "1", "share of stopped agents, co-players left out, at which a trial ends",
        number(1e-6, 1.0, none="off"))
    observation: Nested[ObservationConfig, Fields] = nested(
        ObservationConfig(), "the content and type of observations")
    image: Nested[ImageConfig, Fields] = nested(
        ImageConfig(), "the form of images, for `observation.type` 'image'", core="image_{}")
    sensors: Nested[SensorConfig, Fields] = nested(
        SensorConfig(), "noise and missing records of observations", core="sensor_{}")
    disturbances: Nested[DisturbanceConfig, Fields] = nested(
        DisturbanceConfig(), "failures of agents while they drive", core="disturbance_{}")
    scene_order: str = setting(
        "random", "", "how the scene of a world's next episode is selected", choice(*choices("scene_order")))
    reward_ranges: Nested[RewardRanges, Fields] = nested(
        RewardRanges(), "ranges from which each agent draws weights of the reward for every episode; it observes the "
        "drawn weights", core="range_reward_{}")
    draw_reward_weights: bool = setting(
        True, "", "whether weights that have a range are drawn from it; if not, they are those of `reward`", switch())
    reward: Nested[RewardConfig, Fields] = nested(RewardConfig(), "weights of the reward terms", core="reward_{}")
    action_mask: bool = setting(
        False, "", "whether `Batch.action_mask` marks the discrete actions that are valid next; infos then have the "
        "mask, too, and reports the share of valid actions", switch())
    reward_terms: bool = setting(
        False, "", "whether `Batch.reward_terms` has the fact of every reward term, which its weight multiplies; infos "
        "then have the facts, too", switch())
    critic_observations: bool = setting(
        False, "", "whether `Batch.critic_observations` has vectors that a critic may observe and the agent may not; "
        "infos then have them, too", switch())
    detailed_metrics: bool = setting(
        False, "", "whether reports and trial records also have metrics of lane, comfort, gap, time to collision and "
        "fault", switch())
    log_ema_alpha: float = setting(
        0.707, "1", "weight of the past in each agent's exponential moving averages of metrics",
        number(0.0, 0.999999))

    def __post_init__(self) -> None:
        super().__post_init__()
        # What one field needs of another.
        if self.observation.candidates and self.observation.type == "index":
            raise ConfigError(f"observation.candidates is {self.observation.candidates}; with observation.type 'index' "
                              "it must be 0")
        if self.observation.time_left == "critic" and not self.critic_observations:
            raise ConfigError("observation.time_left is 'critic'; without critic_observations it must be 'off' or "
                              "'actor'")
        if self.observation.controls and not self.traffic_controls:
            raise ConfigError(f"observation.controls is {self.observation.controls}; without traffic_controls it must "
                              "be 0")
        model = self.dynamics.model
        if self.action_type not in (offered := action_types(model)):
            raise ConfigError(f"action_type is {self.action_type!r}; for dynamics.model {model!r} it must be "
                              + " or ".join(repr(name) for name in offered))

        # The rest, by groups of fields.
        self._check_rule_based()
        self._check_limits(model)
        self._check_hidden(model)
        self._check_traffic_controls()
        self._check_goals()
        self._check_sensors()
        self._check_image()
        self._check_mask(model)
        self._check_disturbances()

    def _check_rule_based(self) -> None:
        """Raises a `ConfigError` if a field of rule-based vehicles has no effect, or the hardest braking is too
        weak."""
        if self.others != "idm":
            for config, names in ((self, ("idm_lane_changes", "idm_handback_m")), (self.idm, self.idm.to_dict())):
                for name in names:
                    if (value := getattr(config, name)) != (default := getattr(type(config), name)):
                        raise ConfigError(f"{config._group}.{name} is ".lstrip(".") + f"{value}; it must be {default}, "
                                          "or others 'idm', without which no vehicle follows rules")
        if not self.idm_lane_changes:
            for name, value in self.mobil.to_dict().items():
                if value != (default := getattr(MOBILConfig, name)):
                    raise ConfigError(f"mobil.{name} is {value}; it must be {default}, or idm_lane_changes True, "
                                      "without which no vehicle changes lanes")
        if self.idm.hardest_braking_mps2 < self.idm.braking_mps2:
            raise ConfigError(f"idm.hardest_braking_mps2 is {self.idm.hardest_braking_mps2}; it must be at least "
                              f"idm.braking_mps2, {self.idm.braking_mps2}")

    def _check_limits(self, model: str) -> None:
        """Raises a `ConfigError` if a limit is set that the vehicle model does not have."""
        for name in LIMITS_WITHOUT_EFFECT.get(model, ()):
            value, default = getattr(self.dynamics, name), getattr(DynamicsConfig, name)
            if value != default:
                raise ConfigError(f"dynamics.{name} is {value}; for dynamics.model {model!r}, whose motion it does not "
                                  f"limit, it must be {default}")

    def _check_mask(self, model: str) -> None:
        """Raises a `ConfigError` if `action_mask` is set where no mask can be computed."""
        if not self.action_mask:
            return
        if self.action_type == "continuous":
            raise ConfigError("action_mask is True; with action_type 'continuous' it must be False")
        if not lib.drv_action_mask_is_offered(choices("dynamics").index(model)):
            raise ConfigError(f"action_mask is True; for dynamics.model {model!r}, whose actions set no acceleration, "
                              "it must be False")
        if self.hidden.action_delay_steps:
            raise ConfigError("action_mask is True; with hidden.action_delay_steps it must be False, since the speed "
                              "at which an action takes effect is not known")

    def _check_hidden(self, model: str) -> None:
        """Raises a `ConfigError` if a hidden parameter varies, or friction is set, that the vehicle model lacks."""
        offered = hidden_parameters(model)
        if (friction := self.dynamics.friction) != DynamicsConfig.friction and "friction" not in offered:
            raise ConfigError(f"dynamics.friction is {friction}; for dynamics.model {model!r}, which has no friction, "
                              f"it must be {DynamicsConfig.friction}")
        varies = {name: value for name in HIDDEN_PARAMETERS if (value := getattr(self.hidden, name)) is not None}
        if self.hidden.steering_flip and "steering_gain" not in offered:
            raise ConfigError(f"hidden.steering_flip is {self.hidden.steering_flip}; for dynamics.model {model!r}, "
                              "which has no steering_gain, it must be 0")
        for name, value in varies.items():
            if name not in offered:
                raise ConfigError(f"hidden.{name} is {value}; for dynamics.model {model!r} it must be None, since that "
                                  f"model has no such parameter (it has {', '.join(offered) or 'none'})")
        for name in ("scope", "per"):
            value, default = getattr(self.hidden, name), getattr(HiddenConfig, name)
            if value != default and not varied_parameters(self.hidden):
                raise ConfigError(f"hidden.{name} is {value!r}; where no hidden parameter varies, it must be "
                                  f"{default!r}")

    def _check_traffic_controls(self) -> None:
        """Raises a `ConfigError` if responses or rewards of lights and signs are set while these have no effect."""
        if self.traffic_controls:
            return
        for config, path, default in (
            (self, "on_red_light", "ignore"), (self, "on_stop_sign", "ignore"),
            (self.reward, "red_light", 0.0), (self.reward, "stop_sign", 0.0),
            (self.reward_ranges, "red_light", None), (self.reward_ranges, "stop_sign", None),
        ):
            if (value := getattr(config, path)) != default:
                raise ConfigError(f"{config._group}.{path} is ".lstrip(".") + f"{value!r}; it must be {default!r}, or "
                                  "traffic_controls True, without which traffic lights and stop signs have no effect")

    def _check_goals(self) -> None:
        """Raises a `ConfigError` if a field of goals has no effect, or a reward needs routes to later goals."""
        # Hidden goals, and slots for goals.
        if self.observation.goal_reveal_share and self.observation.goal_reveal_s is None:
            raise ConfigError(f"observation.goal_reveal_share is {self.observation.goal_reveal_share}; with "
                              "observation.goal_reveal_s None, where the goal is always observed, it must be 0")
        if self.observation.goal_reveal_delay_s and not self.observation.goal_reveal_share:
            raise ConfigError(f"observation.goal_reveal_delay_s is {self.observation.goal_reveal_delay_s}; with "
                              "observation.goal_reveal_share 0, where no trial shows the goal early, it must be 0")
        for name in ("goals", "route"):
            if self.observation.type == "index" and (slots := getattr(self.observation, name)):
                raise ConfigError(f"observation.{name} is {slots}; with observation.type 'index' it must be 0")
        if self.observation.route_spacing_m != ObservationConfig.route_spacing_m and not self.observation.route:
            raise ConfigError(f"observation.route_spacing_m is {self.observation.route_spacing_m}; with "
                              f"observation.route 0 it must be {ObservationConfig.route_spacing_m}")
        if self.observation.goals > 1 and self.on_goal != "next":
            raise ConfigError(f"observation.goals is {self.observation.goals}; with on_goal {self.on_goal!r} it must "
                              "be 0 or 1")
        if self.goal_heading_tolerance_rad is not None and not self.observation.goals:
            raise ConfigError(f"goal_heading_tolerance_rad is {self.goal_heading_tolerance_rad}; with "
                              "observation.goals 0, where agents do not observe the heading of the goal, it must be "
                              "None")

        # Goals that follow one another.
        for name, responses in (("goal_spacing_m", ("next",)), ("max_goals", FOLLOWED_GOALS)):
            value, default = getattr(self, name), getattr(DriveConfig, name)
            if value != default and self.on_goal not in responses:
                raise ConfigError(f"{name} is {value}; with on_goal {self.on_goal!r} it must be {default}")
        if self.on_goal != "next":
            return
        for config, default in ((self.reward, 0.0), (self.reward_ranges, None)):
            if (value := config.route_progress_per_m) != default:
                raise ConfigError(f"{config._group}.route_progress_per_m is {value}; with on_goal 'next', where only "
                                  f"the first goal has a route, it must be {default}")

    def _check_sensors(self) -> None:
        """Raises a `ConfigError` if an error of sensors has no effect: beside images, which have none, without slots,
        as noise of indices, or of a goal that is never observed."""
        if self.observation.type == "image":
            for name, value in self.sensors.to_dict().items():
                if value:
                    raise ConfigError(f"sensors.{name} is {value}; with observation.type 'image', where images show "
                                      "everything without errors, it must be 0")
        for kind, field in (("partner", "partners"), ("road", "roads")):
            errors = {name: value for name, value in self.sensors.to_dict().items() if name.startswith(kind) and value}
            for name, value in errors.items():
                if getattr(self.observation, field) == 0:
                    raise ConfigError(f"sensors.{name} is {value}; with observation.{field} 0 it must be 0")
                if "noise" in name and self.observation.type == "index":
                    raise ConfigError(f"sensors.{name} is {value}; with observation.type 'index' it must be 0")
        never_observed = self.observation.goal_reveal_s == 0 and self.observation.goal_reveal_share == 0
        if never_observed and (noise_m := self.sensors.goal_position_noise_m):
            raise ConfigError(f"sensors.goal_position_noise_m is {noise_m}; with observation.goal_reveal_s 0 and "
                              "observation.goal_reveal_share 0, where the goal is never observed, it must be 0")

    def _check_image(self) -> None:
        """Raises a `ConfigError` if the form of images is set without images, or `controls` without
        `traffic_controls`."""
        if self.observation.type != "image":
            for name in (field.name for field in fields(ImageConfig)):
                value, default = getattr(self.image, name), getattr(ImageConfig, name)
                if value != default:
                    raise ConfigError(f"image.{name} is {value}; without observation.type 'image' it must be {default}")
        elif "controls" in self.image.layers and not self.traffic_controls:
            raise ConfigError(f"image.layers is {self.image.layers}; without traffic_controls it must not have "
                              "'controls'")

    def _check_disturbances(self) -> None:
        """Raises a `ConfigError` if a disturbance has no effect, or its trigger or duration is set without one."""
        chosen = self.disturbances
        observes_partners = self.observation.partners > 0 or (
            self.observation.type == "image" and "partners" in self.image.layers)
        if chosen.partner_blindness and not observes_partners:
            raise ConfigError(f"disturbances.partner_blindness is {chosen.partner_blindness}; with "
                              "observation.partners 0 it must be 0")
        if chosen.phantom_braking and self.dynamics.model in ("delta_local", "state"):
            raise ConfigError(f"disturbances.phantom_braking is {chosen.phantom_braking}; for dynamics.model "
                              f"{self.dynamics.model!r}, which has no brake, it must be 0")
        for name in ("trigger_probability", "duration_s"):
            value, default = getattr(chosen, name), getattr(DisturbanceConfig, name)
            if value != default and not disturbances_of(self):
                raise ConfigError(f"disturbances.{name} is {value}; without a disturbance it must be {default}")


ConfigSource = DriveConfig | Mapping[str, Any]
"""A config argument: a `DriveConfig`, or a mapping of its fields, as read from JSON."""


def config_of_model(name: str) -> DriveConfig:
    """The default config of a vehicle model, with the first action type that the model offers.

    Raises:
        ConfigError: there is no model of that name.
    """
    return DriveConfig(dynamics=name, action_type=action_types(DynamicsConfig(model=name).model)[0])


def adapter_config(config: ConfigSource | None) -> DriveConfig:
    """A config for an env adapter, which cannot return the tables that index observations need.

    Raises:
        ConfigError: as for `checked_config`, or the observation type is "index".
    """
    config = checked_config(config)
    if config.observation.type == "index":
        raise ConfigError("observation.type is 'index'; for an env it must be 'float32', 'float16' or 'image' (index "
                          "observations are for Batch)")
    return config


def config_over(defaults: ConfigSource | None, config: ConfigSource | None) -> ConfigSource | None:
    """The config of an env that has defaults of its own, which a mapping changes and a `DriveConfig` replaces.

    Args:
        defaults: None: those of `DriveConfig`.
        config: a mapping changes the fields that it names, nested ones too; None changes nothing.

    Raises:
        ConfigError: a field does not fit, or `defaults` is no config.
    """
    if defaults is None:
        return config
    base = checked_config(defaults, "defaults")
    if config is None:
        return base
    if isinstance(config, DriveConfig) or not isinstance(config, Mapping):
        return config
    DriveConfig._check_names(config)  # before the names become keywords, which must be texts
    return base.replace(**config)


def checked_config(config: ConfigSource | None, name: str = "config") -> DriveConfig:
    """The config itself, the one that a mapping describes, or the defaults for None.

    Args:
        name: of the argument, for the message.

    Raises:
        ConfigError: it is none of these, or a field of the mapping does not fit.
    """
    if config is None:
        return DriveConfig()
    if isinstance(config, Mapping):
        return DriveConfig.from_dict(config)
    if not isinstance(config, DriveConfig):
        own = "; pass its config" if isinstance(getattr(config, "config", None), DriveConfig) else ""
        raise ConfigError(
            f"{name} is {a_type(type(config))}; it must be a DriveConfig, or a mapping of its fields{own}")
    return config
