"""Does a config hold plain values of any input type, and survive JSON?"""

import dataclasses
import json
from enum import Enum, IntEnum

import numpy as np
import pytest

import drive_env
from drive_env import (
    ArgumentError,
    Batch,
    ConfigError,
    DisturbanceConfig,
    DriveConfig,
    DynamicsConfig,
    HiddenConfig,
    IDMConfig,
    ImageConfig,
    MOBILConfig,
    ObservationConfig,
    RewardConfig,
    RewardRanges,
    SensorConfig,
    generate_scene,
    parallel_env,
)
from drive_env.api.gym import DriveEnv, DriveVectorEnv
from drive_env.errors import plain

CHOSEN = DriveConfig(dt_s=0.2, max_trials=2, trial_steps=5, control=(3, 1), on_goal="stop", goal_max_speed_mps=4,
                     agents_per_world=1, observation={"partners": 3}, dynamics={"min_speed_mps": -2},
                     hidden={"steering_gain": (0.5, 1.5)},
                     reward=RewardConfig(goal=2.5, progress_per_m=0.01))
PLAIN = (bool, int, float, str, tuple, type(None))
NESTED = {"observation": ObservationConfig, "image": ImageConfig, "sensors": SensorConfig,
          "disturbances": DisturbanceConfig, "dynamics": DynamicsConfig, "hidden": HiddenConfig,
          "idm": IDMConfig, "mobil": MOBILConfig,
          "reward_ranges": RewardRanges, "reward": RewardConfig}
FIELDS = [(kind, field.name) for kind in (DriveConfig, *NESTED.values()) for field in dataclasses.fields(kind)
          if field.name not in NESTED and "pair" not in field.metadata["check"].allowed
          and field.name != "layers"]  # no scalars


def through_json(config):
    return json.loads(json.dumps(config.to_dict()))


# ---- numbers of numpy ----


@pytest.mark.parametrize("kind", (np.float16, np.float32, np.float64, np.longdouble))
def test_a_float_of_numpy_means_what_its_own_precision_writes(kind):
    for text in ("0.1", "0.2", "1.0", "0.07"):
        assert DriveConfig(dt_s=kind(text)).dt_s == float(text)
        assert DriveConfig(dt_s=np.array(text, kind)).dt_s == float(text)
        assert RewardConfig(goal=-kind(text)).goal == -float(text)


@pytest.mark.parametrize("kind, field", FIELDS)
def test_every_field_keeps_a_plain_value_for_a_scalar_of_numpy(kind, field):
    default = getattr(kind(), field)
    value = np.asarray("all" if field == "control" else 1 if default is None else default)[()]
    assert isinstance(value, np.generic)
    needed = {"max_goals": {"on_goal": "next"}, "goal_heading_tolerance_rad": {"observation": {"goals": 1}}}
    kept = getattr(kind(**needed.get(field, {}), **{field: value}), field)
    assert kept == value and type(kept) in PLAIN


def test_ids_of_control_may_be_of_numpy():
    ids = np.array([5, 2], np.int32)
    for ids_in_a_form in (tuple(ids), list(ids), ids):
        kept = DriveConfig(control=ids_in_a_form).control
        assert kept == (5, 2) and all(type(item) is int for item in kept)
    for bad in ((np.float32(5),), (np.bool_(True),), np.array([5.0]), np.array([[5]]), np.array([], int), (ids,)):
        with pytest.raises(ConfigError, match="control is "):
            DriveConfig(control=bad)


def test_a_member_of_an_enum_is_its_number_or_string():
    class Response(str, Enum):
        STOP = "stop"

    number = IntEnum("Number", {"two": 2}).two
    config = DriveConfig(max_trials=number, on_goal=Response.STOP, control=(number, 5), observation={"roads": number})
    assert (config.max_trials, config.on_goal, config.control, config.observation.roads) == (2, "stop", (2, 5), 2)
    assert eval(repr(config)) == config and {type(value) for value in flat(config).values()} <= {*PLAIN, list}


def test_print_options_change_no_number():
    with np.printoptions(precision=2, legacy="1.13"):
        assert plain(np.float32(0.12345)) == 0.12345 and plain(np.float64(1 / 3)) == 1 / 3


@pytest.mark.parametrize("bad", (
    {"observation": {"partners": np.float64(3)}}, {"observation": {"partners": np.array([3])}},
    {"dt_s": np.bool_(True)}, {"dt_s": np.float64("nan")}, {"dt_s": np.float32("inf")}, {"dt_s": np.complex64(0.1)},
    {"on_goal": np.str_("go")}, {"dynamics": np.str_("unicycle")}))
def test_a_wrong_value_is_an_error_as_a_numpy_scalar_too(bad):
    with pytest.raises(ConfigError):
        DriveConfig(**bad)


def test_generators_and_scenes_keep_the_values_of_numpy_numbers():
    made = generate_scene("town", np.uint8(3), np.int64(4), lane_width_m=np.float32(3.3), blocks=np.array([1, 2]))
    plain = generate_scene("town", 3, 4, lane_width_m=3.3, blocks=(1, 2))
    assert made.source == plain.source and (made.roads.width_m == plain.roads.width_m).all()
    scene = dataclasses.replace(plain, dt_s=np.float32(0.1), sdc=np.int64(2), tracks_to_predict=tuple(np.arange(2)))
    assert (scene.dt_s, scene.sdc, scene.tracks_to_predict) == (0.1, 2, (0, 1))
    Batch(scene).close()


# ---- to JSON and back ----


@pytest.mark.parametrize("config", (DriveConfig(), CHOSEN))
def test_a_config_survives_json(config):
    for form in (config.to_dict(), through_json(config), dataclasses.asdict(config)):
        back = DriveConfig.from_dict(form)
        assert back == config and hash(back) == hash(config) and repr(back) == repr(config)
    for name, kind in NESTED.items():
        assert kind.from_dict(through_json(getattr(config, name))) == getattr(config, name)


def test_a_field_that_is_not_named_is_the_default():
    assert DriveConfig.from_dict({}) == DriveConfig()
    assert DriveConfig.from_dict({"reward": {"goal": 2}}) == DriveConfig(reward=RewardConfig(goal=2))


def test_a_config_equals_its_own_mapping_and_no_other():
    form = through_json(CHOSEN)
    assert form == CHOSEN and CHOSEN == form
    assert CHOSEN != {**form, "max_trials": 3} and CHOSEN != DriveConfig().to_dict() and CHOSEN != {}
    assert DriveConfig() not in (None, (), "", RewardConfig()) and CHOSEN != CHOSEN.replace(max_trials=3)


@pytest.mark.parametrize("choices, sentence", (
    ({"max_trails": 2}, r"^DriveConfig has no field 'max_trails'; did you mean max_trials\?$"),
    ({"nonsense": 2}, "^DriveConfig has no field 'nonsense'; it has dt_s, max_trials, .*, log_ema_alpha$"),
    ({3: 2}, "^DriveConfig has no field 3; it has dt_s"),
    ({"reward": {"goals": 1}}, r"^RewardConfig has no field 'goals'; did you mean goal\?$"),
    ({"reward": {"goal": "much"}}, r"^reward\.goal is 'much'; it must be a number in"),
    ({"reward": [1]}, r"^reward is \[1\]; it must be a RewardConfig, or a mapping of its fields$"),
    ({"max_trials": 0}, "^max_trials is 0; it must be"),
    ({"reward": np.zeros((9, 9))}, r"^reward is array\(\[\[0\., .*\.\.\.; it must be a RewardConfig, or a mapping"),
    ({"max_trials": 10**5000}, "^max_trials is a value of type int that cannot be shown; it must be a whole number"),
    ([("max_trials", 2)], "^a DriveConfig cannot be made from .*; it must be a mapping$"),
))
def test_a_mapping_that_is_no_config_is_an_error_in_one_sentence(choices, sentence):
    with pytest.raises(ConfigError, match=sentence):
        DriveConfig.from_dict(choices)


def test_an_unknown_name_is_an_error_of_the_family_in_the_constructor_and_in_replace():
    with pytest.raises(ConfigError, match=r"^DriveConfig has no field 'agents'; did you mean agents_per_world\?$"):
        DriveConfig(agents=4)
    with pytest.raises(ConfigError, match="^DriveConfig has no field 'nonsense'; it has dt_s, "):
        DriveConfig().replace(nonsense=1)
    with pytest.raises(ConfigError, match=r"^RewardConfig has no field 'off_road'; did you mean offroad\?$"):
        RewardConfig(off_road=-1.0)
    with pytest.raises(TypeError, match=r"^DriveConfig has no field 'partnrs'; did you mean observation\.partners\?$"):
        DriveConfig(partnrs=3)


# ---- nested configs ----


def flat(config):
    """The values of all fields, nested ones included, by their paths."""
    found = {}
    for name, value in config.to_dict().items():
        found |= {f"{name}.{field}": entry for field, entry in value.items()} if name in NESTED else {name: value}
    return found


@pytest.mark.parametrize("group", NESTED)
def test_a_nested_config_may_be_a_mapping_of_its_fields(group):
    field = dataclasses.fields(NESTED[group])[-1].name
    value = {"time_left": "actor", "friction": 0.5, "reveal_hidden": True, "per": "world",
             "layers": ["goal"]}.get(field, 0.25)
    value = [-0.5, 0.25] if group == "reward_ranges" else value
    # The last fields of some groups have an effect in some configs alone: that of `image` only with observations of
    # images.
    base = DriveConfig(traffic_controls=True, dynamics="grip", hidden={"steering_flip": 0.5}, others="idm",
                       idm_lane_changes=True, observation={"type": "image" if group == "image" else "float32"},
                       disturbances={"phantom_braking": 0.5})
    config = base.replace(**{group: {field: value}})
    assert config == base.replace(**{group: NESTED[group](**getattr(base, group).to_dict() | {field: value})})
    assert flat(config) == flat(base) | {f"{group}.{field}": value}


def test_a_string_for_dynamics_is_the_name_of_the_model():
    assert DriveConfig(dynamics="bicycle") == DriveConfig(dynamics=DynamicsConfig(model="bicycle"))
    assert DriveConfig(dynamics=np.str_("bicycle")) == DriveConfig.from_dict({"dynamics": "bicycle"}) == DriveConfig()
    with pytest.raises(ConfigError, match=r"^dynamics\.model is 'unicycle'; it must be one of 'bicycle', 'classic', "):
        DriveConfig(dynamics="unicycle")


def test_replace_changes_the_fields_that_a_mapping_names_and_a_config_takes_the_place_of_the_group():
    config = DriveConfig(observation={"partners": 3, "roads": 9}, dynamics={"max_speed_mps": 9.0})
    assert config.replace(observation={"roads": 5}).observation == ObservationConfig(partners=3, roads=5)
    assert config.replace(observation=ObservationConfig(roads=5)).observation == ObservationConfig(roads=5)
    assert config.replace(dynamics="bicycle") == config.replace(dynamics={}) == config
    for changes, sentence in (({"observation": {"road": 5}}, "^ObservationConfig has no field 'road'; did you mean"),
                              ({"observation": {3: 5}}, "^ObservationConfig has no field 3; it has partners"),
                              ({"observation": {"roads": -5}}, r"^observation\.roads is -5; it must be")):
        with pytest.raises(ConfigError, match=sentence):
            config.replace(**changes)


@pytest.mark.parametrize("name, value, path", [
    ("partners", 3, "a field of observation: DriveConfig(observation={'partners': 3})"),
    ("observation_type", "float16", "the field type of observation: DriveConfig(observation={'type': 'float16'})"),
    ("max_speed_mps", 9.0, "a field of dynamics: DriveConfig(dynamics={'max_speed_mps': 9.0})"),
    ("goal", 1, "a field of reward: DriveConfig(reward={'goal': 1})"),
    ("reward_goal", 1, "the field goal of reward: DriveConfig(reward={'goal': 1})"),
])
def test_the_error_of_a_name_that_is_nested_says_where(name, value, path):
    for make in (DriveConfig, DriveConfig().replace, lambda **choices: DriveConfig.from_dict(choices)):
        with pytest.raises(ArgumentError) as error:
            make(**{name: value})
        assert str(error.value) == f"{name} is {path}"


def test_every_nested_field_is_found_by_its_own_name():
    """Of two nested fields with one name, the error names the one that has it in the core's config, too."""
    for name, kind in NESTED.items():
        for field in dataclasses.fields(kind):
            if name == "reward_ranges" or (name, field.name) == ("hidden", "friction"):
                continue
            with pytest.raises(ArgumentError, match=f"^{field.name} is a field of {name}: "):
                DriveConfig(**{field.name: field.default})


@pytest.mark.parametrize("name", ["self", "cls", "values", "changes"])
def test_the_name_of_an_argument_of_a_method_is_as_unknown_as_any_other(name):
    for make in (DriveConfig, DriveConfig().replace, lambda **choices: DriveConfig.from_dict(choices)):
        with pytest.raises(ArgumentError, match=f"^DriveConfig has no field '{name}'; "):
            make(**{name: 1})


def test_a_subclass_of_a_nested_config_is_nested_like_its_base():
    class Fast(DynamicsConfig):
        pass

    config = DriveConfig(dynamics=Fast(max_speed_mps=50.0))
    assert config.replace(dynamics="bicycle").dynamics == config.dynamics == Fast(max_speed_mps=50.0)
    with pytest.raises(ConfigError, match=r"^dynamics\.max_speed_mps is 200; it must be"):
        config.replace(dynamics={"max_speed_mps": 200})


def test_a_value_without_a_name_is_an_error():
    """It would be the value of whichever field comes first."""
    for kind in (DriveConfig, *NESTED.values()):
        with pytest.raises(ArgumentError, match=f"^{kind.__name__} got 2 without a name; its fields are"):
            kind(2)


SCENE = generate_scene("intersection", agents=4)
TAKERS = {
    "Batch": lambda config: Batch(SCENE, config=config),
    "parallel_env": lambda config: parallel_env(SCENE, config).batch,
    "aec_env": lambda config: drive_env.aec_env(SCENE, config).unwrapped.batch,
    "DriveEnv": lambda config: DriveEnv(SCENE, config).batch,
    "DriveVectorEnv": lambda config: DriveVectorEnv(2, SCENE, config).batch,
    "record": lambda config: drive_env.record(SCENE, "random", config),
}


@pytest.mark.parametrize("take", TAKERS.values(), ids=TAKERS)
def test_a_mapping_is_taken_wherever_a_config_is(take):
    for form in (CHOSEN.to_dict(), through_json(CHOSEN)):
        kept = take(form).config
        assert type(kept) is DriveConfig and kept == CHOSEN
    with pytest.raises(ConfigError, match="DriveConfig has no field 'trials'"):
        take({"trials": 2})
    for neither in (3, "town", [1]):
        with pytest.raises(ConfigError, match="it must be a DriveConfig, or a mapping of its fields"):
            take(neither)
