"""The configuration: one frozen `DriveConfig`, each field with its unit, meaning and check."""

from __future__ import annotations

import dataclasses
import difflib
import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from .errors import ConfigError, plain, shown

if TYPE_CHECKING:
    from typing_extensions import Self

EVENT_RESPONSES = ("ignore", "stop", "remove")
"""What happens to an agent after an event."""

CONTROLS = ("vehicles", "all", "tracks_to_predict", "sdc")
"""Named values of `control`; the other form is a tuple of object ids."""


class _Check(NamedTuple):
    """A predicate for values of a field, and the text that describes which fit."""

    fits: Callable[[Any], bool]
    allowed: str


def _setting(default: Any, unit: str, meaning: str, check: _Check) -> Any:
    return dataclasses.field(default=default, metadata={"unit": unit, "meaning": meaning, "check": check})


def _is_real(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _number(low: float, high: float, *, none: str | None = None) -> _Check:
    """A check for a real number in [low, high]; `none` is the meaning of None where None is allowed."""

    def fits(value: Any) -> bool:
        if value is None:
            return none is not None
        return _is_real(value) and low <= value <= high

    return _Check(fits, f"a number in [{low:g}, {high:g}]" + (f", or None ({none})" if none else ""))


def _count(low: int, high: int, *, none: str | None = None) -> _Check:
    """A check for a whole number in low..high; `none` is the meaning of None where None is allowed."""

    def fits(value: Any) -> bool:
        if value is None:
            return none is not None
        return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high

    return _Check(fits, f"a whole number from {low} to {high}" + (f", or None ({none})" if none else ""))


def _choice(*offered: str) -> _Check:
    def fits(value: Any) -> bool:
        return isinstance(value, str) and value in offered

    return _Check(fits, "one of " + ", ".join(repr(name) for name in offered))


def _is_control(value: Any) -> bool:
    if isinstance(value, str):
        return value in CONTROLS
    return (
        isinstance(value, tuple)
        and len(value) > 0
        and all(isinstance(item, int) and not isinstance(item, bool) for item in value)
        and len(set(value)) == len(value)
    )


_control = _Check(
    _is_control, "one of " + ", ".join(repr(name) for name in CONTROLS) + ", or a tuple of different object ids (ints)")


_Config = TypeVar("_Config", bound="type[_Checked]")


def _checked_names(cls: _Config) -> _Config:
    """Makes the constructor that `dataclass` wrote reject unknown names with a `ConfigError`."""
    made = cls.__init__

    @functools.wraps(made)
    def __init__(self, *values: Any, **choices: Any) -> None:
        check_names(cls.__name__, choices, [field.name for field in dataclasses.fields(cls)])
        made(self, *values, **choices)

    cls.__init__ = __init__  # type: ignore[method-assign]
    return cls


def check_names(owner: str, given: Mapping[Any, Any], known: list[str]) -> None:
    """Rejects names that a config does not have.

    Args:
        owner: the config's name, for the message.
        given: choices by name.
        known: the names of its fields.

    Raises:
        ConfigError: the first unknown name, with the fields of similar names, or with all fields where none is similar.
    """
    for name in given:
        if name not in known:
            name_text = name if isinstance(name, str) and name else "?"
            near = difflib.get_close_matches(name_text, known) or [field for field in known if name_text in field]
            hint = f"did you mean {' or '.join(near)}?" if near else f"it has {', '.join(known)}"
            raise ConfigError(f"{owner} has no field {shown(name)}; {hint}")


@dataclass(frozen=True, eq=False)
class _Checked:
    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value = plain(getattr(self, field.name))  # sweeps pass numpy scalars
            object.__setattr__(self, field.name, value)
            check = field.metadata["check"]
            if not check.fits(value):
                raise ConfigError(f"{field.name} is {shown(value)}; it must be {check.allowed}")

    @classmethod
    def from_dict(cls, choices: Mapping[str, Any]) -> Self:
        """A config from a mapping of its fields, as `to_dict` returns it and JSON stores it.

        Args:
            choices: values by field name; the other fields take their defaults.

        Raises:
            ConfigError: there is no field of that name, or a value is out of its range.
        """
        if not isinstance(choices, Mapping):
            raise ConfigError(f"a {cls.__name__} cannot be made from {shown(choices)}; it must be a mapping")
        check_names(cls.__name__, choices, [field.name for field in dataclasses.fields(cls)])
        return cls(**choices)

    def to_dict(self) -> dict[str, Any]:
        """All fields in the types of JSON: a nested config becomes a dict, a tuple a list."""
        values = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return {name: value.to_dict() if isinstance(value, _Checked) else list(value) if isinstance(value, tuple)
                else value for name, value in values.items()}

    def __eq__(self, other: object) -> bool:
        """Equal to a config of the same values, and to its `to_dict`, which is what a Gymnasium `EnvSpec` stores."""
        if isinstance(other, Mapping):
            return self.to_dict() == other
        return self.to_dict() == other.to_dict() if type(other) is type(self) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(getattr(self, field.name) for field in dataclasses.fields(self)))

    def replace(self, **changes: Any) -> Self:
        """A copy with some fields changed, checked like any other config.

        Args:
            changes: new values by field name.

        Raises:
            ConfigError: there is no field of that name, or a value is out of its range.
        """
        return dataclasses.replace(self, **changes)


@_checked_names
@dataclass(frozen=True, eq=False)
class RewardConfig(_Checked):
    """The reward of each event, given once, in the step of its onset; and that of progress, in every step."""

    goal: float = _setting(1.0, "1", "reward of the step that reaches the goal", _number(-1e3, 1e3))
    collision: float = _setting(
        -0.5, "1", "reward of the step in which a contact with a vehicle begins", _number(-1e3, 1e3))
    offroad: float = _setting(
        -0.2, "1", "reward of the step in which the box begins to cross a road edge", _number(-1e3, 1e3))
    progress_per_m: float = _setting(
        0.0, "1/m", "reward per metre by which a step brings the goal nearer, until it is reached", _number(-1e3, 1e3))


_reward = _Check(lambda value: isinstance(value, RewardConfig), "a RewardConfig, or a mapping of its fields")


@_checked_names
@dataclass(frozen=True, eq=False)
class DriveConfig(_Checked):
    """The settings of a batch or env, frozen; an unknown name or a value out of its range is a `ConfigError`."""

    dt_s: float | None = _setting(
        None, "s", "simulated time of one step", _number(0.001, 2.0, none="the scene's own"))
    max_trials: int = _setting(1, "1", "trials in an episode", _count(1, 10_000))
    trial_steps: int | None = _setting(
        None, "steps", "driving steps after which a trial ends",
        _count(1, 1_000_000, none="the frames a log has left after start_step; 200 without a log"))
    start_step: int = _setting(0, "frames", "frame of the log at which every trial starts", _count(0, 1_000_000))
    agents_per_world: int | None = _setting(
        None, "agents", "agents of each world: a cap for files, exact for generated scenes",
        _count(1, 4096, none="as many as the largest scene needs"))
    control: str | tuple[int, ...] = _setting("vehicles", "", "which objects of a scene get an agent", _control)
    others: str = _setting(
        "replay", "", "what objects without an agent do: replay their log, or stand where they start",
        _choice("replay", "static"))
    dynamics: str = _setting("bicycle", "", "vehicle model of the agents", _choice("bicycle"))
    action_type: str = _setting(
        "discrete", "", "form of an action", _choice("discrete", "multi_discrete", "continuous"))
    max_acceleration_mps2: float = _setting(
        4.0, "m/s2", "acceleration and braking at full throttle", _number(0.01, 50.0))
    max_steering_rad: float = _setting(
        0.6, "rad", "front wheel angle at full steering", _number(0.01, 1.2))
    max_speed_mps: float = _setting(40.0, "m/s", "upper bound of an agent's speed", _number(0.1, 150.0))
    min_speed_mps: float = _setting(
        0.0, "m/s", "lower bound of an agent's speed; negative allows reverse", _number(-50.0, 0.0))
    goal_radius_m: float = _setting(
        2.0, "m", "distance from the goal at which it is reached", _number(0.01, 100.0))
    goal_max_speed_mps: float | None = _setting(
        None, "m/s", "highest speed at which the goal counts as reached", _number(0.0, 150.0, none="any speed"))
    on_goal: str = _setting("remove", "", "what happens to an agent that reaches its goal", _choice(*EVENT_RESPONSES))
    on_collision: str = _setting("stop", "", "what happens to an agent that collides", _choice(*EVENT_RESPONSES))
    on_offroad: str = _setting("stop", "", "what happens to an agent that leaves the road", _choice(*EVENT_RESPONSES))
    stopped_share_limit: float | None = _setting(
        None, "1", "share of stopped agents at which a trial ends", _number(1e-6, 1.0, none="off"))
    partners: int = _setting(31, "slots", "nearest vehicles in an observation", _count(0, 255))
    roads: int = _setting(128, "slots", "nearest road segments in an observation", _count(0, 1024))
    road_selection: str = _setting(
        "exact", "", "which road segments an observation holds: those nearest to the agent, or, in less time, those "
        "nearest to the centre of the agent's sub-cell", _choice("exact", "near"))
    road_memory_mib: int = _setting(
        256, "MiB", "memory of a batch for the cache of the roads around each sub-cell; a sub-cell that does not fit "
        "takes more time", _count(0, 1_048_576))
    observation_type: str = _setting(
        "float32", "", "form of an observation: floats, half floats, or indices into tables (`Batch` only)",
        _choice("float32", "float16", "index"))
    view_radius_m: float = _setting(
        100.0, "m", "distance beyond which an observation shows nothing", _number(1.0, 1000.0))
    time_left: str = _setting(
        "off", "", "which observation shows the share of the trial's time that is left", _choice("off", "actor"))
    scene_order: str = _setting(
        "random", "", "how a world chooses the scene of its next episode", _choice("random", "cycle"))
    reward: RewardConfig = _setting(RewardConfig(), "", "rewards of the events", _reward)
    log_ema_alpha: float = _setting(
        0.707, "1", "weight of the past in each agent's moving averages", _number(0.0, 0.999999))

    def __post_init__(self) -> None:
        if isinstance(self.control, (list, tuple)) or getattr(self.control, "ndim", 0) == 1:
            object.__setattr__(self, "control", tuple(plain(item) for item in self.control))
        if isinstance(self.reward, Mapping):
            object.__setattr__(self, "reward", RewardConfig.from_dict(self.reward))
        super().__post_init__()


ConfigSource = DriveConfig | Mapping[str, Any]
"""A config argument: a `DriveConfig`, or a mapping of its fields, as read from JSON."""


def adapter_config(config: ConfigSource | None) -> DriveConfig:
    """A config for an env adapter, which cannot return the tables that index observations need.

    Raises:
        ConfigError: as of `checked_config`, or the observation type is "index".
    """
    config = checked_config(config)
    if config.observation_type == "index":
        raise ConfigError("observation_type is 'index'; for an env it must be 'float32' or 'float16' (index "
                          "observations are for Batch)")
    return config


def checked_config(config: ConfigSource | None) -> DriveConfig:
    """The config itself, the one that a mapping describes, or the defaults for None.

    Raises:
        ConfigError: it is none of these, or a field of the mapping does not fit.
    """
    if config is None:
        return DriveConfig()
    if isinstance(config, Mapping):
        return DriveConfig.from_dict(config)
    if not isinstance(config, DriveConfig):
        raise ConfigError(f"config is a {type(config).__name__}; it must be a DriveConfig, or a mapping of its fields")
    return config
