"""How do tests damage a JSON file? Value by value and key by key, as JSON or nearly JSON."""

from __future__ import annotations

import copy
import gzip
import json
from itertools import combinations

from hostile import TOKENS, values_of

MARK = "a value goes here"


def replaced_values(document):
    """Every value, the whole document included, replaced by every hostile token."""
    for path, _ in values_of(document):
        before, after = _around(document, path)
        for token in TOKENS:
            yield before + token + after


def missing_keys(document):
    for path, value in values_of(document):
        if isinstance(value, dict):
            for key in value:
                yield _with(document, path, {other: kept for other, kept in value.items() if other != key})
                yield _with(document, path, {other + "x" * (other == key): kept for other, kept in value.items()})


def repeated_keys(document):
    for path, value in values_of(document):
        if isinstance(value, dict) and value:
            before, after = _around(document, path)
            for key in value:
                whole = json.dumps(value, separators=(",", ":"))
                yield before + whole[:-1].encode() + f',"{key}":{json.dumps(value[key])}}}'.encode() + after


def other_lengths(document):
    """Every list emptied, without its first or last entry, repeated, and reversed."""
    for path, value in values_of(document):
        if isinstance(value, list):
            for changed in ([], value[1:], value[:-1], value + value, value[::-1], value * 50):
                yield _with(document, path, changed)


def swapped_values(document):
    """Every two values of an object swapped."""
    for path, value in values_of(document):
        if isinstance(value, dict):
            for a, b in combinations(value, 2):
                yield _with(document, path, {**value, a: value[b], b: value[a]})


def moved_sections(document):
    """Objects as roads, roads as objects, entries of one among those of the other."""
    objects, roads = document["objects"], document["roads"]
    for changed in ({"objects": roads, "roads": objects}, {"objects": [*objects, roads[0]]},
                    {"roads": [*roads, objects[0]]}, {"objects": objects[:1] * 3}, {"roads": roads * 40},
                    {"objects": [objects]}, {"roads": {"0": roads[0]}}, {"metadata": document}):
        yield json.dumps({**document, **changed}).encode()


def other_texts(document):
    """Other encodings, and other text before, behind and between."""
    text = json.dumps(document)
    plain = text.encode()
    yield from (text.encode(code) for code in ("utf-16", "utf-16-le", "utf-32", "utf-8-sig"))
    yield from (plain + tail for tail in (b"\0", b"{}", b",", b"\xff", b" " * 1000, b"\xef\xbb\xbf"))
    yield from (head + plain for head in (b"\0", b"[", b"\xef\xbb\xbf" * 2, b"\xef\xbb", b" \n" * 3000, b"{" * 50))
    yield from (plain.replace(b",", comma) for comma in (b",,", b",\n", b";", b",/**/", b",\0"))
    yield from (plain.replace(b'"', quote) for quote in (b"'", b"", b'\\"'))
    packed = gzip.compress(plain, mtime=0)
    yield from (packed, packed[:-5], packed + b"0", packed[:-4] + bytes(4), packed[:40] + b"0" + packed[41:])
    yield from (b"[" * depth + b"]" * depth for depth in (10, 10**5))
    yield from (b'{"a":' * depth + b"1" + b"}" * depth for depth in (10, 10**5))
    yield from (b"{", b'{"', b"{}", b'{"objects":[', b'{"objects":[],"roads":[]}')


EVERY_DAMAGE = (missing_keys, repeated_keys, other_lengths, swapped_values, moved_sections, other_texts)


def _with(document, path, value) -> bytes:
    before, after = _around(document, path)
    return before + json.dumps(value, separators=(",", ":")).encode() + after


def _around(document, path):
    """The text before and behind the value at `path`."""
    if path:
        document = copy.deepcopy(document)
        owner = document
        for key in path[:-1]:
            owner = owner[key]
        owner[path[-1]] = MARK
    else:
        document = MARK
    before, _, after = json.dumps(document, separators=(",", ":")).partition(f'"{MARK}"')
    return before.encode(), after.encode()
