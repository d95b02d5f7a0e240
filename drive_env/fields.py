"""The parts of a config: fields, each with unit, meaning and check, and nested groups of fields."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, TypeVar

from .errors import ArgumentError, ConfigError, plain, value_text
from .names import check_names

if TYPE_CHECKING:
    from typing_extensions import Self


class Check(NamedTuple):
    """A predicate for the values of a field, a description of the values that fit, and how other forms are read."""

    fits: Callable[[Any], bool]
    allowed: str
    read: Callable[[Any], Any] = plain


def plain_tuple(value: Any) -> Any:
    """A list, tuple or one-dimensional array as a tuple of Python numbers; any other value as by `plain`."""
    is_sequence = isinstance(value, (list, tuple)) or getattr(value, "ndim", 0) == 1
    return tuple(plain(item) for item in value) if is_sequence else plain(value)


def number(low: float, high: float, *, none: str | None = None) -> Check:
    """A check for a real number in [low, high]; `none` is the meaning of None where None is allowed."""

    def fits(value: Any) -> bool:
        if value is None:
            return none is not None
        return isinstance(value, (int, float)) and not isinstance(value, bool) and low <= value <= high

    return Check(fits, f"a number in [{low:g}, {high:g}]" + (f", or None ({none})" if none else ""))


def count(low: int, high: int, *, none: str | None = None) -> Check:
    """A check for a whole number in low..high; `none` is the meaning of None where None is allowed."""

    def fits(value: Any) -> bool:
        if value is None:
            return none is not None
        return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high

    return Check(fits, f"a whole number from {low} to {high}" + (f", or None ({none})" if none else ""))


def number_or_share(high: int) -> Check:
    """A check for a whole number up to `high`, or a share in [0, 1). A float is a share: 1.0 is not one object."""

    def fits(value: Any) -> bool:
        if isinstance(value, float):
            return 0 <= value < 1
        return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= high

    return Check(fits, f"a share (float) in [0, 1), or a whole number (int) from 0 to {high}")


def span(low: float, high: float, *, whole: bool = False) -> Check:
    """A check for None, or a pair of numbers in [low, high], the lower one first; of whole numbers where `whole`."""
    kinds = int if whole else (int, float)

    def fits(value: Any) -> bool:
        return value is None or (
            isinstance(value, tuple) and len(value) == 2
            and all(isinstance(end, kinds) and not isinstance(end, bool) for end in value)
            and low <= value[0] <= value[1] <= high)

    numbers = f"whole numbers from {low} to {high}" if whole else f"numbers in [{low:g}, {high:g}]"
    return Check(fits, f"None (does not vary), or a pair (low, high) of {numbers}", plain_tuple)


def switch() -> Check:
    """A check for True or False."""
    return Check(lambda value: isinstance(value, bool), "True or False")


def choice(*offered: str) -> Check:
    """A check for one of the offered strings."""

    def fits(value: Any) -> bool:
        return isinstance(value, str) and value in offered

    return Check(fits, "one of " + ", ".join(repr(name) for name in offered))


def subset(*offered: str) -> Check:
    """A check for a tuple of some of the offered strings, in their order."""

    def fits(value: Any) -> bool:
        return isinstance(value, tuple) and len(value) > 0 and value == tuple(name for name in offered if name in value)

    return Check(fits, "a tuple of some of " + ", ".join(repr(name) for name in offered) + ", in this order",
                 plain_tuple)


def setting(default: Any, unit: str, meaning: str, check: Check, core: str | None = None) -> Any:
    """A field; `core` is its name in the core's config, if that differs."""
    return dataclasses.field(
        default=default, metadata={"unit": unit, "meaning": meaning, "check": check, "core": core})


def nested(default: Checked, meaning: str, core: str = "{}") -> Any:
    """A field that is a group of fields; `core` is the format of their names in the core's config, which is flat."""
    kind = type(default)
    forms = f"{'an' if kind.__name__[0] in 'AEIOU' else 'a'} {kind.__name__}"
    allowed = (f"{forms}, a mapping of its fields, or its {kind._shorthand} alone" if kind._shorthand
               else f"{forms}, or a mapping of its fields")
    return setting(default, "", meaning, Check(lambda value: isinstance(value, kind), allowed), core)


Kind = TypeVar("Kind")
Given = TypeVar("Given")
Fields = Mapping[str, Any]

if TYPE_CHECKING:

    class Nested(Generic[Kind, Given]):
        """The type of a field that is read as a config of this kind, and can be set to other forms, too."""

        def __get__(self, owner: object, kind: type | None = None) -> Kind: ...

        def __set__(self, owner: object, value: Kind | Given) -> None: ...

else:

    class Nested:
        """At run time `Nested[Kind, Given]` is the kind: the constructor converts the other forms."""

        def __class_getitem__(cls, types):
            return types[0]


@dataclass(frozen=True, eq=False, kw_only=True)
class Checked:
    """Base of the configs: fields are passed by name, checked, and immutable."""

    _group: ClassVar[str] = ""
    """The name of the field that nests configs of this class."""
    _shorthand: ClassVar[str] = ""
    """The field that a string sets, if one is passed instead of a config of this class."""

    def __init_subclass__(cls, group: str = "", shorthand: str = "") -> None:
        cls._group, cls._shorthand = group or cls._group, shorthand or cls._shorthand

    def __new__(cls, /, *values: Any, **choices: Any) -> Self:
        """Rejects arguments for which the constructor made by `dataclass` would raise a plain TypeError."""
        if values:
            first = dataclasses.fields(cls)[0].name
            raise ArgumentError(f"{cls.__name__} got {value_text(values[0])} without a name; its fields are "
                                f"passed by name, as in {cls.__name__}({first}=...)")
        cls._check_names(choices)
        return super().__new__(cls)

    def __post_init__(self) -> None:
        for field in fields_of(type(self)):
            check = field.metadata["check"]
            value = check.read(getattr(self, field.name))  # sweeps pass numpy scalars
            if isinstance(field.default, Checked):
                value = type(field.default)._of(value)
            object.__setattr__(self, field.name, value)
            if not check.fits(value):
                path = f"{self._group}.{field.name}".lstrip(".")
                raise ConfigError(f"{path} is {value_text(value)}; it must be {check.allowed}")

    @classmethod
    def _check_names(cls, choices: Mapping[Any, Any]) -> None:
        """Raises an `ArgumentError` if a name is not that of a field, with similar names."""
        own = {field.name: field.name for field in fields_of(cls)}
        if choices.keys() <= own.keys():
            return
        nested = {flat: path for flat, path in flat_paths(cls).items() if "." in path}
        within = {path.rpartition(".")[2]: path for path in nested.values()} | nested
        within = {name: path for name, path in within.items() if name not in own}
        for name, value in choices.items():
            if name in within:
                group, _, field = within[name].partition(".")
                raise ArgumentError(f"{name} is {'a field' if field == name else f'the field {field}'} of {group}: "
                                    f"{cls.__name__}({group}={{{field!r}: {value_text(value)}}})")
        check_names(cls.__name__, choices, own | within)

    @classmethod
    def _of(cls, value: Any) -> Any:
        """The config that a mapping or the shorthand describes; any other value unchanged."""
        value = cls._expanded(value)
        return cls.from_dict(value) if isinstance(value, Mapping) else value

    @classmethod
    def _expanded(cls, value: Any) -> Any:
        """The mapping that the shorthand stands for; any other value unchanged."""
        return {cls._shorthand: value} if cls._shorthand and isinstance(value, str) else value

    @classmethod
    def from_dict(cls, choices: Mapping[str, Any]) -> Self:
        """A config from a mapping of its fields, as `to_dict` returns it and JSON stores it.

        Args:
            choices: values by field name; the other fields take their defaults. A mapping of fields makes a nested
                config.

        Raises:
            ConfigError: there is no field of that name, or a value is out of its range.
        """
        if not isinstance(choices, Mapping):
            raise ConfigError(f"a {cls.__name__} cannot be made from {value_text(choices)}; it must be a mapping")
        cls._check_names(choices)
        return cls(**choices)

    def to_dict(self) -> dict[str, Any]:
        """All fields in the types of JSON: a nested config becomes a dict, a tuple a list."""
        values = {field.name: getattr(self, field.name) for field in fields_of(type(self))}
        return {name: value.to_dict() if isinstance(value, Checked) else list(value) if isinstance(value, tuple)
                else value for name, value in values.items()}

    def __eq__(self, other: object) -> bool:
        """Equal to a config of the same values, and to its `to_dict`, which is what a Gymnasium `EnvSpec` stores."""
        if isinstance(other, Mapping):
            return self.to_dict() == other
        return self._values() == other._values() if type(other) is type(self) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._values())

    def _values(self):
        return tuple([getattr(self, field.name) for field in fields_of(type(self))])

    def replace(self, /, **changes: Any) -> Self:
        """A copy with some fields changed, checked like any other config.

        Args:
            changes: new values by field name. For a nested config, a mapping changes the fields that it names and keeps
                the others; a config replaces the present one.

        Raises:
            ConfigError: there is no field of that name, or a value is out of its range.
        """
        self._check_names(changes)
        for name, value in changes.items():
            present = getattr(self, name)
            if isinstance(present, Checked) and isinstance(value := present._expanded(plain(value)), Mapping):
                present._check_names(value)
                changes[name] = present.replace(**value)
        return dataclasses.replace(self, **changes)


_FIELDS: dict[type[Checked], tuple[dataclasses.Field[Any], ...]] = {}


def fields_of(kind: type[Checked]) -> tuple[dataclasses.Field[Any], ...]:
    """As `dataclasses.fields`, which makes its tuple anew in every call: configs are compared for each batch."""
    if kind not in _FIELDS:
        _FIELDS[kind] = dataclasses.fields(kind)
    return _FIELDS[kind]


def flat_paths(kind: type[Checked]) -> dict[str, str]:
    """The path of every field, nested ones included, by its name in the core's config, which is flat."""
    paths: dict[str, str] = {}
    for field in fields_of(kind):
        core = field.metadata["core"]
        if isinstance(field.default, Checked):
            paths |= {core.format(flat): f"{field.name}.{path}"
                      for flat, path in flat_paths(type(field.default)).items()}
        else:
            paths[core or field.name] = field.name
    return paths


def flat_values(config: Checked) -> dict[str, Any]:
    """The value of every field, nested ones included, by its name in the core's config."""
    return {flat: attrgetter(path)(config) for flat, path in flat_paths(type(config)).items()}
