"""How is the XML of a CommonRoad scenario parsed? In bounded memory, without entities, and errors name their place."""

from __future__ import annotations

import math
from collections.abc import Iterator
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from ....errors import SceneError, value_text
from ...coordinates import RAW_LIMIT_M
from ...json_text import TEXT_COPIES, WIDE_TEXT_COPIES
from ..source import PARSED_BYTES, PARSED_SHARE

TAG_BYTES, ATTRIBUTE_BYTES = 250, 250
"""Upper bounds of the memory that a tag and an attribute take, measured with CPython 3.11. An element with attributes
has a dict, which is in that of its first attribute; text counts apart."""

DEPTH_LIMIT = 32
"""Nesting depth; scenarios have nine."""


def parsed(data: bytes, stored_bytes: int) -> Element:
    """The root of the document.

    Args:
        stored_bytes: the size of the file as it is stored, which bounds the memory of what it is parsed to.

    Raises:
        SceneError: it is not well-formed, has a document type, is nested too deep, or needs too much memory.
    """
    needed, allowed = parsed_bytes_at_most(data), max(PARSED_BYTES, PARSED_SHARE * stored_bytes)
    if needed > allowed:
        raise SceneError(f"it has {len(data)} bytes, which may take {needed} in memory once parsed; at most {allowed} "
                         "are allowed")
    builder, parser, depth = TreeBuilder(), expat.ParserCreate(), 0

    def start(tag, attributes):
        nonlocal depth
        depth += 1
        if depth > DEPTH_LIMIT:
            raise SceneError(f"line {parser.CurrentLineNumber}, column {parser.CurrentColumnNumber}: it is nested more "
                             f"than {DEPTH_LIMIT} deep")
        builder.start(tag, attributes)

    def end(tag):
        nonlocal depth
        depth -= 1
        builder.end(tag)

    def document_type(*_):
        # Entities can expand a small document to any size, or read other files.
        raise SceneError(f"line {parser.CurrentLineNumber}, column {parser.CurrentColumnNumber}: it has a document "
                         "type; it must have none")

    parser.buffer_text = True
    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler, parser.StartDoctypeDeclHandler = builder.data, document_type
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        raise SceneError(f"line {error.lineno}, column {error.offset + 1}: "
                         f"{expat.ErrorString(error.code)}") from None
    except (LookupError, ValueError) as error:  # an encoding that Python does not have, or one of bytes
        raise SceneError(f"line 1, column 1: it cannot be decoded: {value_text(str(error))}") from None
    return builder.close()


def parsed_bytes_at_most(data: bytes) -> int:
    """An upper bound of the memory that parsing this text takes, the text included."""
    copies = TEXT_COPIES if data.isascii() else WIDE_TEXT_COPIES
    return copies * len(data) + TAG_BYTES * data.count(b"<") + ATTRIBUTE_BYTES * data.count(b"=")


def children(element: Element, tag: str, place: str) -> Iterator[tuple[str, Element]]:
    """The elements of this name with their places, counted from 1."""
    for number, child in enumerate(element.iterfind(tag), 1):
        yield f"{place}: {tag} {number}", child


def child(element: Element, tag: str, place: str) -> Element:
    """The first element of this name.

    Raises:
        SceneError: there is none.
    """
    found = element.find(tag)
    if found is None:
        raise SceneError(f"{place} has no {tag}")
    return found


def text_of(element: Element) -> str:
    """The text of an element, without the space around it."""
    return (element.text or "").strip()


def number_of(element: Element, place: str, low: float = -math.inf, high: float = math.inf) -> float:
    """The number that is the text of an element.

    Raises:
        SceneError: it is none, not finite, or outside of [low, high].
    """
    text = text_of(element)
    try:
        # Python reads 1_0 as 10; XML has no such numbers.
        found = float(text) if "_" not in text else math.nan
    except ValueError:
        found = math.nan
    if not math.isfinite(found) or not low <= found <= high:
        allowed = "a finite number" if (low, high) == (-math.inf, math.inf) else f"a number from {low:g} to {high:g}"
        raise SceneError(f"{place} is {value_text(text)}; it must be {allowed}")
    return found


def whole_of(text: str, place: str, low: int, high: int) -> int:
    """The whole number that is the text.

    Raises:
        SceneError: it is none, or outside of [low, high].
    """
    stripped = text.strip()
    if not stripped.removeprefix("-").isdecimal() or len(stripped) > 20 or not low <= int(stripped) <= high:
        raise SceneError(f"{place} is {value_text(text)}; it must be a whole number from {low} to {high}")
    return int(stripped)


def id_of(element: Element, name: str, key: str = "id") -> int:
    """The id of an element, or the one that it refers to.

    Raises:
        SceneError: it has none, or it is no whole number.
    """
    if key not in element.attrib:
        raise SceneError(f"{name} has no {key}")
    return whole_of(element.attrib[key], f"{name}: {key}", -(2**63), 2**63 - 1)


def value_of(element: Element, tag: str, place: str, low: float = -math.inf, high: float = math.inf) -> float | None:
    """The exact value of a quantity, or the middle of its interval; None where the element has no such quantity.

    Raises:
        SceneError: it has neither, or a number that is out of range.
    """
    interval = interval_of(element, tag, place, low, high)
    return None if interval is None else (interval[0] + interval[1]) / 2


def interval_of(element: Element, tag: str, place: str, low: float = -math.inf,
                high: float = math.inf) -> tuple[float, float] | None:
    """The interval of a quantity, of which an exact value is both ends; None where the element has no such quantity.

    Raises:
        SceneError: it has neither, or a number that is out of range.
    """
    quantity = element.find(tag)
    if quantity is None:
        return None
    exact = quantity.find("exact")
    if exact is not None:
        value = number_of(exact, f"{place}: {tag}", low, high)
        return value, value
    ends = [number_of(child(quantity, end, f"{place}: {tag}"), f"{place}: {tag}: {end}", low, high)
            for end in ("intervalStart", "intervalEnd")]
    return ends[0], ends[1]


def points_of(element: Element, place: str) -> list[tuple[float, float]]:
    """x and y of the points of an element; heights are not kept."""
    return [(number_of(child(point, "x", at), f"{at}: x", -RAW_LIMIT_M, RAW_LIMIT_M),
             number_of(child(point, "y", at), f"{at}: y", -RAW_LIMIT_M, RAW_LIMIT_M))
            for at, point in children(element, "point", place)]
