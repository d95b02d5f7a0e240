"""What may be chosen: one frozen `DriveConfig`, every field with its unit, its meaning and its check."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from .errors import ConfigError, plain, shown

if TYPE_CHECKING:
    from typing_extensions import Self

EVENT_RESPONSES = ("ignore", "stop", "remove")
"""What may become of an agent after an event."""

CONTROLS = ("vehicles", "all", "tracks_to_predict", "sdc")
"""Named answers to `control`; a tuple of object ids is the other way to answer it."""


class _Check(NamedTuple):
    """Whether a value fits, and the words for what does."""

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


@dataclass(frozen=True, eq=False)
class _Checked:
    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value = plain(getattr(self, field.name))  # numpy scalars are what sweeps pass
            object.__setattr__(self, field.name, value)
            check = field.metadata["check"]
            if not check.fits(value):
                raise ConfigError(f"{field.name} is {shown(value)}; it must be {check.allowed}")

    @classmethod
    def from_dict(cls, choices: Mapping[str, Any]) -> Self:
        """The config with these choices, as `to_dict` returns them and JSON keeps them; others take their defaults.

        Raises:
            ConfigError: there is no field of that name, or a value is out of its range.
        """
        if not isinstance(choices, Mapping):
            raise ConfigError(f"a {cls.__name__} is to be made from {shown(choices)}; it must be a mapping")
        known = [field.name for field in dataclasses.fields(cls)]
        for name in choices:
            if name not in known:
                raise ConfigError(f"{cls.__name__} has no field {shown(name)}; it has {', '.join(known)}")
        return cls(**choices)

    def to_dict(self) -> dict[str, Any]:
        """All fields as JSON has them: a nested config is a dict, a tuple is a list."""
        values = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return {name: value.to_dict() if isinstance(value, _Checked) else list(value) if isinstance(value, tuple)
                else value for name, value in values.items()}

    def __eq__(self, other: object) -> bool:
        """Equal to a config with the same choices, and to what JSON makes of it, which is what specs hold."""
        if isinstance(other, Mapping):
            return self.to_dict() == other
        return self.to_dict() == other.to_dict() if type(other) is type(self) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(getattr(self, field.name) for field in dataclasses.fields(self)))

    def replace(self, **changes: Any) -> Self:
        """The same choices with some of them changed; the result is checked like any other.

        Raises:
            ConfigError: a value is out of its range.
        """
        return dataclasses.replace(self, **changes)


@dataclass(frozen=True, eq=False)
class RewardConfig(_Checked):
    """What an event is worth, paid once in the step of its onset."""

    goal: float = _setting(1.0, "1", "paid in the step that reaches the goal", _number(-1e3, 1e3))
    collision: float = _setting(-0.5, "1", "paid in the step a contact with a vehicle begins", _number(-1e3, 1e3))
    offroad: float = _setting(-0.2, "1", "paid in the step the box begins to cross a road edge", _number(-1e3, 1e3))
    progress_per_m: float = _setting(
        0.0, "1/m", "paid in every step for each metre nearer to the goal, until it is reached", _number(-1e3, 1e3))


_reward = _Check(lambda value: isinstance(value, RewardConfig), "a RewardConfig, or a mapping of its fields")


@dataclass(frozen=True, eq=False)
class DriveConfig(_Checked):
    """Every choice of a batch or env. Frozen; a value out of range is a `ConfigError` that says the range."""

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
        "replay", "", "what objects without an agent do: replay their log, or stand at their start",
        _choice("replay", "static"))
    dynamics: str = _setting("bicycle", "", "vehicle model of the agents", _choice("bicycle"))
    action_type: str = _setting(
        "discrete", "", "form of an action", _choice("discrete", "multi_discrete", "continuous"))
    max_acceleration_mps2: float = _setting(
        4.0, "m/s2", "acceleration and braking at full throttle", _number(0.01, 50.0))
    max_steering_rad: float = _setting(
        0.6, "rad", "front wheel angle at full steering", _number(0.01, 1.2))
    max_speed_mps: float = _setting(40.0, "m/s", "speed above which an agent does not go", _number(0.1, 150.0))
    min_speed_mps: float = _setting(
        0.0, "m/s", "speed below which an agent does not go; negative allows reverse", _number(-50.0, 0.0))
    goal_radius_m: float = _setting(
        2.0, "m", "distance from the goal at which it is reached", _number(0.01, 100.0))
    goal_max_speed_mps: float | None = _setting(
        None, "m/s", "speed above which passing the goal does not reach it", _number(0.0, 150.0, none="any speed"))
    on_goal: str = _setting("remove", "", "what becomes of an agent that reaches its goal", _choice(*EVENT_RESPONSES))
    on_collision: str = _setting("stop", "", "what becomes of an agent that collides", _choice(*EVENT_RESPONSES))
    on_offroad: str = _setting("stop", "", "what becomes of an agent that leaves the road", _choice(*EVENT_RESPONSES))
    stopped_share_limit: float | None = _setting(
        None, "1", "share of stopped agents at which a trial ends", _number(1e-6, 1.0, none="off"))
    partners: int = _setting(31, "slots", "nearest vehicles an agent sees", _count(0, 255))
    roads: int = _setting(128, "slots", "nearest road segments an agent sees", _count(0, 1024))
    road_selection: str = _setting(
        "exact", "", "which road segments an agent sees: those nearest to it, or, in less time, those nearest to the "
        "middle of the small cell it is in", _choice("exact", "near"))
    road_memory_mib: int = _setting(
        256, "MiB", "memory of a batch for what it keeps of the roads around each small cell; without room a cell "
        "takes more time", _count(0, 1_048_576))
    observation_type: str = _setting(
        "float32", "", "what an observation is: floats, half floats, or indices into tables (`Batch` alone)",
        _choice("float32", "float16", "index"))
    view_radius_m: float = _setting(
        100.0, "m", "distance beyond which an agent sees nothing", _number(1.0, 1000.0))
    time_left: str = _setting(
        "off", "", "who sees the share of the trial's time that is left", _choice("off", "actor"))
    scene_order: str = _setting(
        "random", "", "how a world picks the scene of its next episode", _choice("random", "cycle"))
    reward: RewardConfig = _setting(RewardConfig(), "", "what events are worth", _reward)
    log_ema_alpha: float = _setting(
        0.707, "1", "weight of the past in each agent's moving averages", _number(0.0, 0.999999))

    def __post_init__(self) -> None:
        if isinstance(self.control, (list, tuple)) or getattr(self.control, "ndim", 0) == 1:
            object.__setattr__(self, "control", tuple(plain(item) for item in self.control))
        if isinstance(self.reward, Mapping):
            object.__setattr__(self, "reward", RewardConfig.from_dict(self.reward))
        super().__post_init__()


ConfigSource = DriveConfig | Mapping[str, Any]
"""What may stand where a config is asked for: one, or a mapping of its fields, such as JSON makes of it."""


def face_config(config: ConfigSource | None) -> DriveConfig:
    """A config for an env face, whose observations stand alone: index observations need tables beside them."""
    config = checked_config(config)
    if config.observation_type == "index":
        raise ConfigError("observation_type is 'index'; an env's observations stand alone, so it must be 'float32' or "
                          "'float16' (index observations are for Batch)")
    return config


def checked_config(config: ConfigSource | None) -> DriveConfig:
    """The config itself, the one a mapping stands for, or the defaults for None; anything else is a `ConfigError`."""
    if config is None:
        return DriveConfig()
    if isinstance(config, Mapping):
        return DriveConfig.from_dict(config)
    if not isinstance(config, DriveConfig):
        raise ConfigError(f"config is a {type(config).__name__}; it must be a DriveConfig, or a mapping of its fields")
    return config
