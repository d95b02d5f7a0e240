"""How is untrusted JSON parsed? Strictly, in bounded memory, and every error names the place of the fault.

A place is written as a path: `objects[3].position[17].x`.
"""

from __future__ import annotations

import json
import re

import numpy as np

from ..errors import SceneError, value_text

MEMORY_LIMIT_BYTES = 512 * 2**20
"""Three times the need of the largest public scene, a CARLA town of 17 MB."""

TEXT_COPIES = 4
"""Copies of ASCII text: the bytes, the str, a value that is all of it, and its digits during conversion."""

WIDE_TEXT_COPIES = 10
"""Copies of other text, whose characters may take four bytes each."""

MARK_BYTES = {b",": 64, b"[": 40, b"{": 128, b":": 220, b'"x":': -156, b'"y":': -156, b'"z":': -156, b"\\": 156}
"""Upper bounds of the parser's allocation per mark, measured with CPython 3.11: an element, a list, an object, a key.
The keys x, y and z of points are stored once, so they are discounted. Another key can end with the same four characters
only if its quote is escaped, and the cost of the backslash cancels the discount."""

HEAD_BYTES = 4096
"""Bytes that are examined to detect UTF-16."""

DEPTH_LIMIT = 100
"""Nesting depth; scenes have about six. The parser itself fails at about a thousand."""

INT64_CHARACTERS = 20
"""The sign and digits of the lowest 64-bit integer."""

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
OPENING = re.compile(rb"(?:\xef\xbb\xbf)?[ \t\r\n]*\{[ \t\r\n]*(?:[\"}]|$)")
TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?|[\[\]{}]', re.DOTALL)
"""A bracket, or a string, which may lack its end."""

TYPE_WORDS = {dict: "an object", list: "an array", str: "a string", int: "a whole number", float: "a number",
              bool: "true or false"}


class OtherJsonError(SceneError):
    """The text is JSON, but of another format."""


def looks_like_json(data: bytes) -> bool:
    """Whether the first bytes are those of a JSON object: an opening brace and no zero byte.

    UTF-16 has zero bytes but counts as JSON, so that `read_json` refuses it with a reason.
    """
    return OPENING.match(data) is not None and b"\0" not in data[:8] or _is_utf_16(data)


def _is_utf_16(data):
    """Whether the first bytes are those of a JSON object in UTF-16, with or without a byte order mark."""
    heads = (data[:HEAD_BYTES].decode(coding, "replace") for coding in ("utf-16-le", "utf-16-be"))
    return any(OPENING.match(head.removeprefix("\ufeff").encode("utf-8", "replace")) for head in heads)


# ---- text to values ----


def read_json(data: bytes):
    """The one value of a JSON text in UTF-8, with or without a byte order mark.

    Refuses repeated keys of an object, NaN, Infinity and deep nesting. Integers of more than 20 characters become
    floats; numbers beyond the range of float64 become infinities.

    Raises:
        SceneError: names the place and the reason.
    """
    # Bound the memory before parsing.
    needed = parsed_bytes_at_most(data)
    if needed > MEMORY_LIMIT_BYTES:
        raise SceneError(f"it has {len(data)} bytes, which may take {needed} in memory once parsed; at most "
                         f"{MEMORY_LIMIT_BYTES} are allowed")
    text = _decoded(data)

    # The first NaN or Infinity, and the last object with a repeated key. The parsed value may lack
    # the former, where a repeated key overwrites it. It never lacks the latter: an object is overwritten only
    # inside another object with a repeated key, which the parser completes later; so that one would be the last.
    constant: list = []
    repeated: list = []

    def as_object(pairs):
        value = dict(pairs)
        if len(value) < len(pairs):
            # A dict keeps keys in the order of their first occurrence: the first difference is a repeated key.
            twice = next((key for (key, _), kept in zip(pairs, value) if key != kept), pairs[len(value)][0])
            repeated[:] = [(value, f"the key {value_text(twice)} is repeated")]
        return value

    def as_constant(name):
        value = float(name)
        if not constant:
            constant.append((value, f"{name} is not a number in JSON"))
        return value

    # Parse, then report a fault with its place.
    try:
        value = json.loads(text, object_pairs_hook=as_object, parse_int=_whole_or_float,
                           parse_constant=as_constant)
    except json.JSONDecodeError as error:
        raise SceneError(f"line {error.lineno}, column {error.colno}: {error.msg}") from None
    except RecursionError:
        raise SceneError(_deep_fault(text)) from None
    if constant or repeated:
        raise SceneError(_first_fault(value, constant + repeated))
    return value


def parsed_bytes_at_most(data: bytes) -> int:
    """An upper bound, from counts of marks, of the memory that parsing this text takes, the text included."""
    copies = TEXT_COPIES if data.isascii() else WIDE_TEXT_COPIES
    return copies * len(data) + sum(cost * data.count(mark) for mark, cost in MARK_BYTES.items())


def _decoded(data):
    if _is_utf_16(data):
        raise SceneError("byte 0: the text is UTF-16; it must be UTF-8")
    skipped = len(BYTE_ORDER_MARK) if data.startswith(BYTE_ORDER_MARK) else 0
    try:
        return str(memoryview(data)[skipped:], "utf-8")
    except UnicodeDecodeError as error:
        at = skipped + error.start
        raise SceneError(f"byte {at} is 0x{data[at]:02x}: {error.reason}; the text must be UTF-8") from None


def _whole_or_float(text):
    # Python converts the digits of huge integers in quadratic time, or refuses.
    return int(text) if len(text) <= INT64_CHARACTERS else float(text)


def _deep_fault(text):
    depth = 0
    for token in TOKEN.finditer(text):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(token[0], 0)
        if depth > DEPTH_LIMIT:
            at = json.JSONDecodeError("", text, token.start())
            return f"line {at.lineno}, column {at.colno}: it is nested more than {DEPTH_LIMIT} deep"
    return "it is nested too deep for the rest of Python's stack"


def _first_fault(root, faults):
    """The first fault in text order, with its place. Faulty objects and floats are found by identity."""
    reasons = {id(value): reason for value, reason in faults}
    keys, inner = [], [iter([(None, root)])]
    while True:
        # Depth-first walk; each level is an iterator over the rest of its parts.
        part = next(inner[-1], None)
        if part is None:
            inner.pop()
            keys.pop()
            continue
        key, value = part
        if id(value) in reasons:
            return f"{_path_text([*keys[1:], key])}: {reasons[id(value)]}"
        if type(value) in (dict, list):
            inner.append(iter(value.items() if type(value) is dict else enumerate(value)))
            keys.append(key)


def _path_text(keys):
    """The path of a place, from its keys, outermost first."""
    text = ""
    for key in keys:
        if key is not None:
            text = within(text, key)
    return text or "the document"


def within(place, key):
    """The place of the member `key` of the value at `place`."""
    if type(key) is int:
        return f"{place}[{key}]"
    if key.isidentifier() and key.isascii():
        return f"{place}.{key}" if place else key
    return f"{place}[{value_text(key)}]"


# ---- typed values ----


def described(value) -> str:
    """A value as JSON writes it, shortened if long."""
    if type(value) in (dict, list):
        return TYPE_WORDS[type(value)]
    return json.dumps(value) if value is None or type(value) is bool else value_text(value)


def expected(value, kind, place):
    """`value`, which must be exactly of the type `kind`: True is no integer here."""
    if type(value) is not kind:
        raise SceneError(f"{place or 'the document'} is {described(value)}; it must be {TYPE_WORDS[kind]}")
    return value


def member(owner, key, kind, place):
    """`owner[key]`, which must be of the type `kind`."""
    if key not in owner:
        raise SceneError(f"{place or 'the document'} has no {key!r}")
    return expected(owner[key], kind, within(place, key))


def whole_number(value, low, high, place):
    """The value, which must be an integer in [low, high]."""
    if type(value) is not int or not low <= value <= high:
        raise SceneError(f"{place} is {described(value)}; it must be a whole number from {low} to {high}")
    return value


def one_of(value, allowed, place):
    """The value, which must be one of the strings `allowed`."""
    if type(value) is not str or value not in allowed:
        raise SceneError(f"{place} is {described(value)}; it must be one of {', '.join(allowed)}")
    return value


def numbers(values, place):
    """A list of finite numbers as float64; `place` is a function from an index to the place of the number."""
    if not set(map(type, values)) <= {float, int}:
        at = next(at for at, value in enumerate(values) if type(value) not in (float, int))
        raise SceneError(f"{place(at)} is {described(values[at])}; it must be a number")
    array = np.array(values, np.float64)
    finite = np.isfinite(array)
    if not finite.all():
        at = int(np.argmin(finite))
        raise SceneError(f"{place(at)} is {array[at]:g}; it must be finite")
    return array


def column(objects, key, place, default=None):
    """float64 of `object[key]` for a list of objects.

    Args:
        place: a function from an index to the place of that object.
        default: value of an object without the key; None if every object must have it.
    """
    if not set(map(type, objects)) <= {dict}:
        at = next(at for at, value in enumerate(objects) if type(value) is not dict)
        expected(objects[at], dict, place(at))
    values = [value.get(key, default) for value in objects]
    if default is None and None in values:
        at = next((at for at, value in enumerate(objects) if key not in value), None)
        if at is not None:
            raise SceneError(f"{place(at)} has no {key!r}")
    return numbers(values, lambda at: within(place(at), key))
