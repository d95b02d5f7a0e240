"""How does a command line become a config? By tyro, from the fields, their types and their descriptions."""

from __future__ import annotations

import dataclasses
from types import MappingProxyType
from typing import TypeVar

import tyro

from ..config import TrainConfig

Config = TypeVar("Config")

CHOICES = ("one of ", "a tuple of some of ")
"""What the allowed values of a field begin with where they are a few words (drive_env/fields.py)."""


def parse_config(default: TrainConfig, arguments: list[str], prog: str, description: str | None) -> TrainConfig:
    """The default config with the fields changed that the arguments name; exits if they cannot be parsed."""
    return parse_with(default, default, arguments, prog, description)


def parse_with(default: Config, train: TrainConfig, arguments: list[str], prog: str, description: str | None) -> Config:
    """The same for any config that contains a config of a training."""
    _describe_fields(train.env.drive)
    return tyro.cli(type(default), default=default, args=arguments, prog=prog, description=description)


def _describe_fields(config: object) -> None:
    """Sets `metadata["help"]`, which tyro prints, to the meaning, unit and choices of the env's fields."""
    for field in dataclasses.fields(config):
        if dataclasses.is_dataclass(nested := getattr(config, field.name)):
            _describe_fields(nested)
        if meaning := field.metadata.get("meaning"):
            unit = field.metadata.get("unit")
            text = meaning if unit in (None, "", "1") else f"{meaning} [{unit}]"
            allowed = field.metadata["check"].allowed
            if allowed.startswith(CHOICES):
                text += f"; {allowed}"
            field.metadata = MappingProxyType({**field.metadata, "help": text})
