"""Which values does a config accept? Every field at and beyond both ends of its range; errors state both."""

import dataclasses
import math

import numpy as np
import pytest
from scripted_scenes import driver, stage

import drive_env
from drive_env import (
    ActionError,
    ArgumentError,
    Batch,
    CallError,
    ConfigError,
    DisturbanceConfig,
    DriveConfig,
    DriveError,
    DynamicsConfig,
    HiddenConfig,
    IDMConfig,
    ImageConfig,
    MOBILConfig,
    ObservationConfig,
    RewardConfig,
    RewardRanges,
    SensorConfig,
)

NOT_NUMBERS = (float("nan"), float("inf"), -float("inf"), True, False, "1", b"1", [1.0], (1.0,), {}, 1j,
               object())
NOT_COUNTS = (*NOT_NUMBERS, 1.0, 1.5)
NOT_CHOICES = (0, 1.0, True, float("nan"), "", "Ignore", "ignore ", "nonsense", b"ignore", ["ignore"],
               object())


def number(low, high, *, low_open=False, none=False):
    """Values outside a range of numbers, and values at its ends."""
    bad = (low if low_open else low - max(abs(low), 1.0) * 1e-3, high * 1.001 + 1e-3, -1e300, 1e300, 10**400,
           *NOT_NUMBERS, *(() if none else (None,)))
    return bad, ((low + high) / 2, high, *(() if low_open else (low,)), *((None,) if none else ()))


def count(low, high, *, none=False):
    bad = (low - 1, high + 1, -(2**63), 2**63, 10**30, *NOT_COUNTS, *(() if none else (None,)))
    return bad, (low, high, *((None,) if none else ()))


def switch():
    return (0, 1, 1.0, None, float("nan"), "", "True", "on", b"1", [True], object()), (True, False)


def choice(*offered):
    return (*NOT_CHOICES, None), offered


def span(low, high, kind=float):
    """The same for pairs of numbers of a kind; a list is read as a tuple."""
    bad = ((low - 0.001, high), (low, high * 1.001), (high, low), (low,), (low, high, high), low, "low", {}, True,
           (low, True), (low, None), (low, float("nan")), object())
    if kind is int:
        bad = (*bad, (low, high - 0.5), (float(low), float(high)))
    return bad, ((kind(low), kind(high)), (kind(low), kind(low)), [kind(low), kind(high)], None)


def group(kind, choices, wrong):
    """Values for a field that nests configs of this kind; `wrong` is a wrong one for this field alone."""
    other = RewardConfig if kind is ObservationConfig else ObservationConfig
    bad = (None, 1.0, True, [tuple(choices.items())], wrong, DriveConfig(), kind, other())
    return bad, (kind(), {}, choices, kind(**choices))


def subset(*offered):
    """Tuples of some of the offered names, in their order; a list is read as a tuple."""
    bad = ((), offered[::-1], offered[:1] * 2, (*offered, "more"), (offered[0], 1), (offered,), offered[0],
           None, 1.0, True, {}, object())
    return bad, (offered, offered[1:3], offered[-1:], list(offered))


EVENT_RESPONSES = choice("ignore", "stop", "remove")
FIELDS = {
    "dt_s": number(0.001, 2.0, none=True),
    "max_trials": count(1, 10_000),
    "trial_steps": count(1, 1_000_000, none=True),
    "start_step": count(0, 1_000_000),
    "agents_per_world": count(1, 4096, none=True),
    "control": ((*NOT_CHOICES[:-2], None, (), (1, 1), (1.0,), ("1",), (True,), (None,), [], [1, 1], object()),
                ("vehicles", "all", "tracks_to_predict", "sdc", (5,), (-3, 2), [1, 2])),
    "others": choice("replay", "static", "idm"), "idm_lane_changes": switch(),
    "idm_handback_m": number(0.0, 20.0),
    "idm": group(IDMConfig, {"headway_s": 0.5}, 1.5),
    "mobil": group(MOBILConfig, {"politeness": 0.5}, 0.5),
    "action_type": choice("discrete", "multi_discrete", "continuous"),
    "goal_radius_m": number(0.01, 100.0),
    "vertical_clearance_m": number(3.0, 1000.0),
    "goal_max_speed_mps": number(0.0, 150.0, none=True), "goal_heading_tolerance_rad": number(0.001, 1.6, none=True),
    "on_goal": choice("ignore", "stop", "remove", "next", "respawn"), "goal_spacing_m": number(1.0, 1000.0),
    "max_goals": count(1, 10_000, none=True),
    "on_collision": EVENT_RESPONSES, "on_offroad": EVENT_RESPONSES,
    "on_red_light": EVENT_RESPONSES, "on_stop_sign": EVENT_RESPONSES, "traffic_controls": switch(),
    "stopped_share_limit": number(0.0, 1.0, low_open=True, none=True),
    "action_mask": switch(),
    "reward_terms": switch(),
    "critic_observations": switch(),
    "detailed_metrics": switch(),
    "scene_order": choice("random", "cycle"),
    "reward_ranges": group(RewardRanges, {"goal": (0.5, 1.5)}, "goal"),
    "draw_reward_weights": switch(),
    "reward": group(RewardConfig, {"goal": 2.0}, "goal"),
    "observation": group(ObservationConfig, {"partners": 3, "type": "float16"}, "float16"),
    "coplayers": ((-1, -0.001, 1.0, 1.5, 3.0, 4096, 1e300, 10**400, *NOT_NUMBERS, None), (0, 0.0, 0.25, 1, 4095)),
    "dynamics": group(DynamicsConfig, {"min_speed_mps": -5.0}, b"bicycle"),
    "hidden": group(HiddenConfig, {"steering_gain": (0.5, 1.5)}, "steering_gain"),
    "sensors": group(SensorConfig, {"partner_dropout": 0.5}, 0.5),
    "image": group(ImageConfig, {"size": 32}, 0.5),
    "disturbances": group(DisturbanceConfig, {"phantom_braking": 0.5}, 0.5),
    "log_ema_alpha": number(0.0, 0.999999),
}
OBSERVATIONS = {
    "partners": count(0, 255),
    "roads": count(0, 1024),
    "road_selection": choice("exact", "near"),
    "road_memory_mib": count(0, 1_048_576),
    "type": choice("float32", "float16", "index", "image"),
    "view_radius_m": number(1.0, 1000.0),
    "candidates": count(0, 64), "goals": count(0, 16),
    "controls": count(0, 255),
    "route": count(0, 64),
    "route_spacing_m": number(0.1, 1000.0),
    "goal_reveal_s": number(0.0, 1e5, none=True),
    "goal_reveal_share": number(0.0, 1.0),
    "goal_reveal_delay_s": number(0.0, 1e5),
    "steps_share": switch(),
    "time_left": choice("off", "actor"),
    "reveal_hidden": switch(),
}
IMAGES = {
    "size": count(16, 512),
    "metres_per_pixel": number(0.05, 10.0),
    "layers": subset("edges", "lines", "lanes", "crosswalks", "controls", "partners", "self", "goal"),
}
DYNAMICS = {
    "model": choice("bicycle", "classic", "invertible_bicycle", "delta_local", "grip", "jerk", "single_track", "state"),
    "max_acceleration_mps2": number(0.01, 50.0),
    "max_steering_rad": number(0.01, 1.2),
    "max_speed_mps": number(0.1, 150.0),
    "min_speed_mps": number(-50.0, 0.0),
    "friction": number(0.01, 5.0),
}
IDM = {
    "min_gap_m": number(0.1, 50.0), "headway_s": number(0.0, 10.0), "acceleration_mps2": number(0.1, 20.0),
    "braking_mps2": number(0.1, 20.0), "hardest_braking_mps2": number(0.1, 20.0), "speed_factor": number(0.05, 2.0),
}
MOBIL = {
    "politeness": number(0.0, 5.0), "threshold_mps2": number(0.0, 20.0), "safe_braking_mps2": number(0.0, 20.0),
}
HIDDEN = {
    **{name: span(0.01, 10.0) for name in ("steering_gain", "throttle_gain", "brake_gain")},
    "steering_flip": number(0.0, 1.0),
    "steering_offset_rad": span(-0.5, 0.5),
    "action_delay_steps": span(0, 100, int),
    "friction": span(0.01, 5.0),
    "wheelbase_factor": span(0.1, 10.0),
    "scope": choice("episode", "trial"),
    "per": choice("agent", "world"),
}
DISTURBANCES = {
    **{name: number(0.0, 1.0) for name in ("partner_blindness", "phantom_braking")},
    "trigger_probability": number(1e-6, 1.0),  # a disturbance that never begins would have no effect
    "duration_s": number(0.001, 1000.0),
}
SENSORS = {
    **{f"{name}_position_noise_m": number(0.0, 100.0) for name in ("partner", "road", "goal")},
    **{f"{name}_heading_noise_rad": number(0.0, 3.2) for name in ("partner", "road")},
    **{f"{name}_speed_noise_mps": number(0.0, 50.0) for name in ("partner", "ego")},
    **{f"{name}_dropout": number(0.0, 1.0) for name in ("partner", "road")},
}
REWARDS = {name: number(-1e3, 1e3) for name in (
    "goal", "collision", "offroad", "progress_per_m", "time_per_s", "reverse_per_m", "lane_alignment_per_s",
    "lane_offset_per_m_s", "wrong_way_per_m", "over_speed_per_m", "discomfort_per_s", "time_to_collision_per_s",
    "red_light", "stop_sign", "distance_to_log_per_m_s", "route_progress_per_m")}
REWARD_RANGES = {name: span(-1e3, 1e3) for name in REWARDS}
TABLES = {DriveConfig: FIELDS, ObservationConfig: OBSERVATIONS, DynamicsConfig: DYNAMICS, RewardConfig: REWARDS,
          HiddenConfig: HIDDEN, IDMConfig: IDM, MOBILConfig: MOBIL, RewardRanges: REWARD_RANGES, SensorConfig: SENSORS,
          DisturbanceConfig: DISTURBANCES, ImageConfig: IMAGES}
PATHS = {DriveConfig: "", ObservationConfig: "observation.", DynamicsConfig: "dynamics.", RewardConfig: "reward.",
         IDMConfig: "idm.", MOBILConfig: "mobil.",
         HiddenConfig: "hidden.", RewardRanges: "reward_ranges.", SensorConfig: "sensors.",
         DisturbanceConfig: "disturbances.", ImageConfig: "image."}
NEEDED = {
    **dict.fromkeys([(DriveConfig, "on_red_light"), (DriveConfig, "on_stop_sign"), (RewardConfig, "red_light"),
                     (RewardConfig, "stop_sign"), (RewardRanges, "red_light"), (RewardRanges, "stop_sign")],
                    {"traffic_controls": True}),
    (ObservationConfig, "controls"): {"traffic_controls": True},
    **dict.fromkeys([(DriveConfig, "idm_lane_changes"), (DriveConfig, "idm_handback_m"), (DriveConfig, "idm"),
                     *((IDMConfig, name) for name in IDM)], {"others": "idm"}),
    (IDMConfig, "braking_mps2"): {"others": "idm", "idm": {"hardest_braking_mps2": 20.0}},
    (IDMConfig, "hardest_braking_mps2"): {"others": "idm", "idm": {"braking_mps2": 0.1}},
    **dict.fromkeys([(DriveConfig, "mobil"), *((MOBILConfig, name) for name in MOBIL)],
                    {"others": "idm", "idm_lane_changes": True}),
    (DriveConfig, "image"): {"observation": {"type": "image"}},
    **{(ImageConfig, name): {"observation": {"type": "image"}, "traffic_controls": True} for name in IMAGES},
    (DynamicsConfig, "friction"): {"dynamics": {"model": "grip"}},
    **{(HiddenConfig, name): {"dynamics": "grip"} for name in HIDDEN},
    **dict.fromkeys([(HiddenConfig, "scope"), (HiddenConfig, "per")], {"hidden": {"steering_flip": 0.5}}),
    **dict.fromkeys([(DisturbanceConfig, "trigger_probability"), (DisturbanceConfig, "duration_s")],
                    {"disturbances": {"phantom_braking": 0.5}}),
    (DynamicsConfig, "model"): {"action_type": "continuous"},
    (DriveConfig, "goal_heading_tolerance_rad"): {"observation": {"goals": 1}},
    (DriveConfig, "goal_spacing_m"): {"on_goal": "next"},
    (DriveConfig, "max_goals"): {"on_goal": "next"},
    (ObservationConfig, "goals"): {"on_goal": "next"},
    (ObservationConfig, "route_spacing_m"): {"observation": {"route": 4}},
    (ObservationConfig, "goal_reveal_share"): {"observation": {"goal_reveal_s": 0.0}},
    (ObservationConfig, "goal_reveal_delay_s"): {"observation": {"goal_reveal_s": 0.0, "goal_reveal_share": 0.5}},
}
"""What a `DriveConfig` needs for a field to have an effect, or for each of its values to be allowed."""

CASES = [pytest.param(kind, name, id=f"{kind.__name__}-{name}")
         for kind, table in TABLES.items() for name in table]


@pytest.mark.parametrize("kind", TABLES)
def test_every_field_is_in_the_table_of_these_tests(kind):
    assert {field.name for field in dataclasses.fields(kind)} == set(TABLES[kind])


def value_text(value):
    """A value as the error must show it; a list appears as the tuple that a config makes of it."""
    text = repr(tuple(value) if isinstance(value, list) and len(value) != 1 else value)
    return text if len(text) <= 100 else text[:90]


@pytest.mark.parametrize("kind, name", CASES)
def test_the_error_of_a_value_out_of_range_names_field_value_and_range(kind, name):
    bad, good = TABLES[kind][name]
    for value in bad:
        with pytest.raises(ConfigError) as raised:
            kind(**{name: value})
        message = str(raised.value)
        assert message.startswith(f"{PATHS[kind]}{name} is ") and "; it must be " in message, message
        assert value_text(value) in message, message
        with pytest.raises(ConfigError):
            kind().replace(**{name: value})
    needed = NEEDED.get((kind, name), {}) if kind is DriveConfig else {}
    for value in good:
        kept = getattr(kind(**needed, **{name: value}), name)
        value = type(kept)(**value) if isinstance(value, dict) else value
        assert kept == (tuple(value) if isinstance(value, list) else value)
        assert getattr(kind(**needed).replace(**{name: value}), name) == kept


def test_the_sentence_holds_the_ends_of_the_range_and_the_choices():
    for make, parts in (
        (lambda: ObservationConfig(view_radius_m=0.5), ("0.5", "1", "1000")),
        (lambda: DriveConfig(observation={"partners": 256}), ("observation.partners is 256", "0", "255")),
        (lambda: DriveConfig(on_goal="explode"), ("'explode'", "'ignore'", "'stop'", "'remove'")),
        (lambda: DriveConfig(dt_s=3), ("3", "0.001", "2", "None", "scene")),
        (lambda: DriveConfig(control="cars"), ("'cars'", "'vehicles'", "'sdc'", "ids")),
        (lambda: RewardConfig(goal=math.nan), ("nan", "-1000", "1000")),
        (lambda: DriveConfig(trial_steps=0), ("0", "1", "1000000", "None")),
    ):
        with pytest.raises(ConfigError) as raised:
            make()
        for part in parts:
            assert part in str(raised.value)


@pytest.mark.parametrize("choices, sentence", [
    ({"idm_lane_changes": True}, r"idm_lane_changes is True; it must be False, or others 'idm', "),
    ({"idm_handback_m": 1.5}, r"idm_handback_m is 1\.5; it must be 0\.0, or others 'idm', "),
    ({"idm": {"headway_s": 1.0}}, r"idm\.headway_s is 1\.0; it must be 1\.5, or others 'idm', "),
    ({"others": "idm", "mobil": {"politeness": 0.0}},
     r"mobil\.politeness is 0\.0; it must be 0\.3, or idm_lane_changes True, "),
    ({"others": "idm", "idm": {"hardest_braking_mps2": 1.5}},
     r"idm\.hardest_braking_mps2 is 1\.5; it must be at least idm\.braking_mps2, 2\.0$"),
    ({"on_red_light": "stop"}, r"on_red_light is 'stop'; it must be 'ignore', or traffic_controls True, "),
    ({"on_stop_sign": "remove"}, r"on_stop_sign is 'remove'; it must be 'ignore', or traffic_controls True, "),
    ({"reward": {"red_light": -1.0}}, r"reward\.red_light is -1\.0; it must be 0\.0, or traffic_controls True, "),
    ({"reward": {"stop_sign": -1.0}}, r"reward\.stop_sign is -1\.0; it must be 0\.0, or traffic_controls True, "),
    ({"reward_ranges": {"red_light": (-1.0, 0.0)}}, r"reward_ranges\.red_light is \(-1\.0, 0\.0\); it must be None, "),
    ({"reward_ranges": {"stop_sign": (-1.0, 0.0)}}, r"reward_ranges\.stop_sign is \(-1\.0, 0\.0\); it must be None, "),
    ({"dynamics": {"friction": 0.4}}, r"dynamics\.friction is 0\.4; for dynamics\.model 'bicycle', .* must be 1\.0$"),
    ({"image": {"size": 32}}, r"image\.size is 32; without observation\.type 'image' it must be 64$"),
    ({"image": {"layers": ("goal",)}}, r"image\.layers is \('goal',\); without observation\.type 'image' it must "),
    ({"observation": {"type": "image"}, "image": {"layers": ("controls",)}},
     r"image\.layers is \('controls',\); without traffic_controls it must not have 'controls'$"),
    ({"hidden": {"scope": "trial"}}, r"hidden\.scope is 'trial'; where no hidden parameter varies, it must be 'epi"),
    ({"hidden": {"per": "world"}}, r"hidden\.per is 'world'; where no hidden parameter varies, it must be 'agent'$"),
])
def test_a_setting_that_has_no_effect_is_an_error(choices, sentence):
    with pytest.raises(ConfigError, match=f"^{sentence}"):
        DriveConfig(**choices)


def test_a_config_is_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        DriveConfig().dt_s = 0.1


def within(kind, choices):
    """A DriveConfig with these choices of it, or of a config nested in it, and what they need."""
    group, (name,) = PATHS[kind].rstrip("."), choices
    return DriveConfig(**NEEDED.get((kind, name), {})).replace(**{group: choices} if group else choices)


@pytest.mark.parametrize("kind, name", CASES)
def test_what_a_config_accepts_a_batch_can_be_made_of(kind, name):
    scene = stage([driver(), driver(0.0, 10.0, id=5), driver(0.0, 20.0, id=2, kind="other")], sdc=0,
                  tracks=(1,), generated=True)
    for value in TABLES[kind][name][1]:
        if name == "start_step" and value:
            continue  # the scene has one frame
        if name == "agents_per_world" and value and value > 3:
            continue  # and three possible agents
        if name == "coplayers" and value > 1:
            continue  # one agent must be no co-player
        if name == "control" and isinstance(value, list):
            value = [5, 2]
        with Batch(scenes=[scene], config=within(kind, {name: value})) as batch:
            batch.reset()
            batch.step(np.zeros_like(batch.actions))


def test_a_number_of_thousands_of_digits_is_an_error_like_any_other():
    with pytest.raises(ConfigError, match="^observation.partners is "):
        DriveConfig(observation={"partners": 10**5000})


def test_errors_are_one_family_and_their_plain_kinds():
    for kind, plain in ((ConfigError, ValueError), (drive_env.SceneError, ValueError),
                        (ActionError, ValueError), (CallError, RuntimeError), (ArgumentError, ConfigError),
                        (ArgumentError, TypeError)):
        assert issubclass(kind, DriveError) and issubclass(kind, plain)
