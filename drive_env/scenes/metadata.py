"""Which texts does a `.drv` file hold? A JSON object with exactly the keys of `FIELDS`."""

from __future__ import annotations

import dataclasses
import json
import re
from typing import Any

from ..errors import SceneError, value_text
from .json_text import BYTE_ORDER_MARK, read_json
from .scene import Provenance, Report, Scene

LIMIT_BYTES = 64 * 1024

TEXT, COUNTS, NOTES, DIGEST = "text", "counts by reason", "list of texts", "64 hexadecimal digits, or empty"

FIELDS = {
    "name": (TEXT, "`Scene.name`"),
    "source": (TEXT, "`Scene.source`: what was converted, or the generator call"),
    "dataset": (TEXT, "name of the dataset, empty if unknown"),
    "scenario_id": (TEXT, "`Scene.scenario_id`: which scenario of the dataset"),
    "licence": (TEXT, "the terms of the data"),
    "source_sha256": (DIGEST, "SHA-256 of the file that was converted"),
    "converter": (TEXT, "the program that converted it, and its version"),
    "dropped": (COUNTS, "what of the source is not in the scene"),
    "imputed": (COUNTS, "what of the scene is not in the source"),
    "notes": (NOTES, "remarks on the conversion"),
}
"""Key to the type of its value and its meaning, in the order of writing."""

COUNT_LIMIT = 2**53
"""The largest integer that every JSON parser represents."""

CONTROL = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f]")
"""Control characters except tab and line feed: a terminal would execute them."""

NO_TEXT = re.compile(f"{CONTROL.pattern}|[\ud800-\udfff]")
"""Also surrogates, which Python puts for bytes of a path that are not UTF-8."""


def as_text(path: str) -> str:
    """A path as text of a scene: U+FFFD replaces characters that a text may not hold."""
    return NO_TEXT.sub("\ufffd", path)


def encode_metadata(scene: Scene) -> bytes:
    """The text fields of a scene as bytes; equal texts give equal bytes.

    Raises:
        SceneError: names the field, its value and what is allowed.
    """
    known = vars(scene) | vars(scene.provenance) | vars(scene.report)
    texts = {}
    for key, (kind, _) in FIELDS.items():
        _check(key, kind, known[key])
        texts[key] = json.dumps(known[key], ensure_ascii=False, separators=(",", ":")).encode()
    data = b"{" + b",".join(b'"%s":%s' % (key.encode(), text) for key, text in texts.items()) + b"}"
    if len(data) > LIMIT_BYTES:
        longest = max(texts, key=lambda key: len(texts[key]))
        raise SceneError(f"metadata takes {len(data)} bytes, {len(texts[longest])} of them {longest}, "
                         f"{value_text(known[longest])}; it may take {LIMIT_BYTES}")
    return data


def decode_metadata(data: bytes, later: bool = False) -> dict[str, Any]:
    """The text fields of a `Scene`: name, source, scenario_id, provenance and report.

    Args:
        data: JSON in UTF-8.
        later: whether the file is of a later minor version, whose unknown keys are skipped.

    Raises:
        SceneError: names the key, its value and what is allowed.
    """
    if data.startswith(BYTE_ORDER_MARK):
        raise SceneError("metadata begins with a byte order mark; it must begin with an opening brace")
    try:
        found = read_json(data)
    except SceneError as error:
        raise SceneError(f"metadata is no JSON in UTF-8: {error}") from None
    if not isinstance(found, dict):
        raise SceneError(f"metadata is {value_text(found)}; it must be an object with the keys {', '.join(FIELDS)}")
    unknown = [] if later else [key for key in found if key not in FIELDS]
    missing = [key for key in FIELDS if key not in found]
    if unknown or missing:
        fault = f"has {value_text(unknown[0])}" if unknown else f"lacks {missing[0]!r}"
        raise SceneError(f"metadata {fault}; it must have the keys {', '.join(FIELDS)}")
    found = {key: found[key] for key in FIELDS}
    for key, (kind, _) in FIELDS.items():
        _check(key, kind, found[key])
    report = Report(**{field.name: found.pop(field.name) for field in dataclasses.fields(Report)})
    provenance = Provenance(**{field.name: found.pop(field.name) for field in dataclasses.fields(Provenance)})
    return found | {"report": report, "provenance": provenance}


def _check(key, kind, value):
    if kind == TEXT:
        check_text(f"metadata {key}", value)
    elif kind == DIGEST:
        if not isinstance(value, str) or not re.fullmatch("([0-9a-f]{64})?", value):
            raise SceneError(f"metadata {key} is {value_text(value)}; it must be 64 digits 0-9a-f, or empty")
    elif kind == NOTES:
        if not isinstance(value, list):
            raise SceneError(f"metadata {key} is {value_text(value)}; it must be a list of texts")
        for place, note in enumerate(value):
            check_text(f"metadata {key}[{place}]", note)
    else:
        if not isinstance(value, dict):
            raise SceneError(f"metadata {key} is {value_text(value)}; it must be an object of counts by reason")
        for reason, count in value.items():
            check_text(f"a reason of metadata {key}", reason)
            if isinstance(count, bool) or not isinstance(count, int) or not 0 < count <= COUNT_LIMIT:
                raise SceneError(f"metadata {key}[{value_text(reason)}] is {value_text(count)}; "
                                 f"it must be a whole number from 1 to {COUNT_LIMIT}")


def check_text(place: str, value: Any) -> None:
    """Raises a `SceneError` that names the place, unless UTF-8 can encode the value and a terminal can show it."""
    if not isinstance(value, str):
        raise SceneError(f"{place} is {value_text(value)}; it must be text")
    control = CONTROL.search(value)
    if control:
        raise SceneError(f"{place} holds the control character U+{ord(control[0]):04X} at {control.start()}; "
                         "only tab and line feed are allowed")
    try:
        value.encode()
    except UnicodeEncodeError as error:  # a surrogate, which JSON can write and UTF-8 cannot
        raise SceneError(f"{place} holds U+{ord(value[error.start]):04X} at {error.start}, "
                         "which is half of a character; only whole characters are allowed") from None
