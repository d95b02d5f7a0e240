"""Is untrusted JSON parsed strictly, and every fault named with its place?"""

from __future__ import annotations

import gc
import time

import pytest

from drive_env.errors import SceneError
from drive_env.scenes import json_text
from drive_env.scenes.json_text import column, looks_like_json, numbers, read_json


def refusal(text):
    with pytest.raises(SceneError) as caught:
        read_json(text if isinstance(text, bytes) else text.encode())
    return str(caught.value)


@pytest.mark.parametrize(("data", "is_json"), [
    (b'{"a":1}', True), (b"{}", True), (b' \r\n\t{ "', True), (b"{", True), (b"{\n", True), (b'\xef\xbb\xbf{"', True),
    (b"[]", False), (b"", False), (b"{a", False), (b"{\x00\x00\x00\x04\x00\x00\x00", False),
    (b" \x00\x00\x00{}", False), (b'{"\x00\x00aaaa', False), (b'\xff\xfe{"', False), (b" " * 5000 + b"{}", True),
    (b"\n" * 10**7 + b"{" + b" " * 10**7 + b'"', True), (b" " * 10**7, False), (b"{" + b"\n" * 10**7 + b"x", False),
    (' {"'.encode("utf-16"), True), ("{}".encode("utf-16-le"), True), ("{\n".encode("utf-16-be"), True),
    ("[]".encode("utf-16"), False), ('{"'.encode("utf-32-le"), False)])
def test_json_is_detected_by_its_first_bytes(data, is_json):
    assert looks_like_json(data) == is_json


def test_values_are_unchanged():
    assert read_json(b'{"a": [1, -2.5, true, null, "\\u00e4"], "b": {}}') == {"a": [1, -2.5, True, None, "ä"], "b": {}}


def test_a_byte_order_mark_is_skipped():
    assert read_json(b'\xef\xbb\xbf{"a": 1}') == {"a": 1}


@pytest.mark.parametrize(("text", "words"), [
    ('{"a": [1,\n2,,]}', "line 2, column 3: Expecting value"),
    ('{"a": [1, 2', "line 1, column 12: Expecting ',' delimiter"),
    ('{"a": 1} {}', "line 1, column 10: Extra data"),
    ('{"a": "\n"}', "line 1, column 8: Invalid control character at"),
    (b'{"a": "\xff"}', "byte 7 is 0xff: invalid start byte; the text must be UTF-8"),
    (b'\xef\xbb\xbf{"a": "\xe2\x82"}', "byte 10 is 0xe2"),
    *(('{"a": 1}'.encode(code), "byte 0: the text is UTF-16; it must be UTF-8")
      for code in ("utf-16", "utf-16-le", "utf-16-be")),
    ('{"a": {"b": [0, {"c": 1, "d": 2, "c": 3}]}}', "a.b[1]: the key 'c' is repeated"),
    ('{"a": 1, "a": {"b": 1, "b": 2}}', "the document: the key 'a' is repeated"),
    ('{"a": {"b": 1, "b": 2}, "a": 1}', "the document: the key 'a' is repeated"),
    ('{"a": [1, NaN]}', "a[1]: NaN is not a number in JSON"),
    ('{"a b": [-Infinity]}', "['a b'][0]: -Infinity is not a number in JSON"),
    ('{"\\ud800": NaN}', "['\\ud800']: NaN"),
    ('[1, Infinity, NaN]', "[1]: Infinity is"),
    ("NaN", "the document: NaN"),
    ('[[], {"a": [[1], NaN]}, NaN]', "[1].a[1]: NaN"),
    ('[NaN, {"a": 1, "a": 2}]', "[0]: NaN"),
    ('[{"a": 1, "a": 2}, NaN, {"b": 1, "b": 2}]', "[1]: NaN"),
    ('[{"a": NaN, "a": 2}]', "[0]: the key 'a' is repeated"),
    ('[{"a": {"b": 1, "b": 2}, "a": 2}, {"c": {"d": NaN}}]', "[0]: the key 'a' is repeated"),
    ('{"a": \n' + "[" * 200_000 + "]" * 200_000 + "}", "line 2, column 100: it is nested more than 100 deep"),
])
def test_a_fault_is_named_with_its_place(text, words):
    assert words in refusal(text)


def test_brackets_in_strings_are_not_nesting():
    text = '{"a": "' + "[" * 300 + '\\"[", "b": \n' + '{"c": ' * 100_000
    assert "line 2, column 595: it is nested more than 100 deep" in refusal(text)


def test_a_large_text_is_not_parsed(monkeypatch):
    monkeypatch.setattr(json_text, "MEMORY_LIMIT_BYTES", 4 * 10 + 128 + 220)
    assert read_json(b'{"a":  12}') == {"a": 12}
    assert refusal(b'{"a":  123}') == ("it has 11 bytes, which may take 392 in memory once parsed; "
                                       "at most 388 are allowed")


@pytest.mark.parametrize("text", [
    "[" * 10**6, '{"a":' * 10**6, "9" * 10**6, "-" + "9" * 10**6, "0." + "9" * 10**6, "1e" + "9" * 10**6, '"' * 10**6,
    '"' + '\\"' * 10**6, "[" * 2000 + '"' + '\\"' * 10**6, "[" + "1e999," * 10**5 + "NaN]",
    "{" + ",".join(f'"{i}":NaN' for i in range(10**5)) + "}", "[" + "[]," * 10**5 + "{}]",
    "[" + "NaN," * 10**6 + "0]", '[{"a":1,"a":2}' + ',{"a":1,"a":2}' * 10**5 + "]"])
def test_hostile_text_takes_no_time(text):
    gc.collect()
    start = time.perf_counter()
    try:
        read_json(text.encode())
    except SceneError:
        pass
    assert time.perf_counter() - start < 5


def test_huge_integers_become_floats():
    assert read_json(b"[99999999999999999999, 100000000000000000000, -1234567890123456789]") == [
        99999999999999999999, 1e20, -1234567890123456789]
    assert [type(value) for value in read_json(b"[99999999999999999999, 100000000000000000000]")] == [int, float]
    assert read_json(b"9" * 5000) == float("inf")


@pytest.mark.parametrize(("values", "words"), [
    ([1, 2.5, "3"], "v[2] is '3'; it must be a number"), ([True], "v[0] is true; it must be a number"),
    ([1, None], "v[1] is null; it must be a number"), ([[]], "v[0] is an array; it must be a number"),
    ([1, {}], "v[1] is an object; it must be a number"), ([1.0, float("inf")], "v[1] is inf; it must be finite")])
def test_only_finite_numbers_are_numbers(values, words):
    with pytest.raises(SceneError) as caught:
        numbers(values, lambda at: f"v[{at}]")
    assert words in str(caught.value)


@pytest.mark.parametrize(("objects", "words"), [
    ([{"x": 1}, {"y": 1}], "p[1] has no 'x'"), ([{"x": None}], "p[0].x is null; it must be a number"),
    ([{"x": 1}, 5], "p[1] is 5; it must be an object"), ([{"x": "a" * 1000}], "aaa...; it must be a number")])
def test_a_column_names_the_object_that_lacks_it(objects, words):
    with pytest.raises(SceneError) as caught:
        column(objects, "x", lambda at: f"p[{at}]")
    assert words in str(caught.value)
    assert len(str(caught.value)) < 200


def test_a_column_with_a_default_may_have_gaps():
    assert column([{"x": 1}, {}], "x", str, default=0.0).tolist() == [1.0, 0.0]
