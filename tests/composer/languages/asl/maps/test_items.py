"""Items of a distributed Map, read from files: AWS' recorded results, its rules, and files that mean no good.

What AWS was seen to do is from executions that LocalStack's tests recorded there (test_base_scenarios, 2023 and 2024)
and, of JSON objects and ItemsPointer, from what floci's say of 2026.
"""

from __future__ import annotations

import gzip
import json

import pytest

from tests.kit.asl.readings import CSV, failing, read
from xingqiao.composer.languages.asl.maps.items import ReadingBounds, most_items, read_items

JSON, JSONL = {"InputType": "JSON"}, {"InputType": "JSONL"}


# --- JSON ----------------------------------------------------------------------------------------


def test_an_array_is_its_members():
    assert read('[{"a": 1}, 2, [3], null]', JSON) == [{"a": 1}, 2, [3], None]
    assert read("[1]", {}) == [1]
    assert read("[]", JSON) == []


def test_an_object_is_its_members_with_their_keys():
    found = read_items(b'{"a": {"x": 1}, "b": 2}', JSON, max_items=1)

    assert found.keyed
    assert found.values == [{"Key": "a", "Value": {"x": 1}}]
    assert not read_items(b"[]", JSON).keyed


@pytest.mark.parametrize("text", ["1", '"text"', "true", "null"])
def test_what_has_no_members_fails_with_the_recorded_text(text):
    assert failing(text, JSON) == "Attempting to map over non-iterable node."


@pytest.mark.parametrize(
    ("pointer", "items"),
    [("/a/b", [1, 2]), ("/a/c~1d", [3]), ("/a/e~0f", [4]), ("/list/1", [6]), ("", None)],
)
def test_a_pointer_leads_to_the_items(pointer, items):
    doc = {"a": {"b": [1, 2], "c/d": [3], "e~f": [4]}, "list": [[5], [6]]}
    items = [{"Key": k, "Value": v} for k, v in doc.items()] if items is None else items

    assert read(json.dumps(doc), {**JSON, "ItemsPointer": pointer}) == items


@pytest.mark.parametrize(
    "pointer", ["a", "/b", "/a/0", "/l/2", "/l/01", "/l/-1", "/l/-", "/l/²", 5]
)
def test_a_pointer_that_leads_nowhere_fails_with_the_recorded_text(pointer):
    assert failing('{"a": {}, "l": [[], []]}', {**JSON, "ItemsPointer": pointer}) == (
        "The provided ReaderConfig.ItemsPointer does not match any valid path in the JSON structure."
    )


@pytest.mark.parametrize(
    "body",
    [
        b"[1", b"", b"[NaN]", b"[1e999]", b"\xff\xfe[\x00", b'["\\ud800"]', b"[123456789012345678901]",
        b"[" * 100_000, b"[" * 300 + b"]" * 300, b"[" + b"9" * 5000 + b"]", b'{"\\uDFFF": 1}',
    ],
)  # fmt: skip
def test_what_is_no_json_is_refused(body):
    assert failing(body, JSON)
    assert len(failing(body, JSON)) < 1000


@pytest.mark.parametrize(
    "item",
    [
        "\U0001f600",
        {"\U0001f600": 1},
        2**64 - 1,
        -(2**63),
        1.5,
        1e308,
        json.loads("[" * 199 + "]" * 199),
    ],
)
def test_what_is_json_at_its_bounds_is_read(item):
    assert read(json.dumps([item]), JSON) == [item]
    assert read(json.dumps([item], ensure_ascii=False), JSON) == [item]


def test_lines_of_json_are_items():
    assert read('{"a": 1}\n\n [2] \r\n"three\u2028"', JSONL) == [{"a": 1}, [2], "three\u2028"]
    assert failing('{"a": 1}\nno\n', JSONL).startswith("The line 2 of the input file is not valid")


# --- how much ------------------------------------------------------------------------------------

FILES = [
    ("Col1,Col2\nValue1,Value2\nValue3,Value4\nValue5,Value6\n", CSV),
    ("[1, 2, 3]", JSON),
    ('{"a": 1, "b": 2, "c": 3}', JSON),
    ("1\n2\n3\n", JSONL),
]


@pytest.mark.parametrize(("text", "config"), FILES)
@pytest.mark.parametrize(
    ("most", "count"), [(None, 3), (0, 3), (2, 2), (3, 3), (100_000_000, 3), (10**12, 3)]
)
def test_max_items_is_as_recorded(text, config, most, count):
    assert len(read(text, config, max_items=most)) == count


def test_a_negative_max_items_fails_with_the_recorded_text():
    assert failing("[]", JSON, max_items=-1) == "field MaxItems must be positive"
    assert most_items(10**12) == 100_000_000


@pytest.mark.parametrize(("text", "config"), FILES)
def test_what_is_more_than_may_be_read_is_refused(text, config):
    assert "may be read" in failing(text, config, bounds=ReadingBounds(bytes=5))
    assert "may be read" in failing(text, config, bounds=ReadingBounds(values=1))


def test_what_is_left_to_read_is_told():
    bounds = ReadingBounds(bytes=1000, values=50)

    assert read_items(b"[1, 2]", JSON, bounds=bounds).left == ReadingBounds(bytes=994, values=48)
    assert read_items(b"a,b\n1,2\n", CSV, bounds=bounds).left.values == 47
    assert read_items(b"1\n[2]\n", JSONL, bounds=bounds).left.values == 47


@pytest.mark.parametrize(("text", "config"), FILES)
def test_a_packed_file_is_unpacked(text, config):
    packed = gzip.compress(text[:5].encode()) + gzip.compress(text[5:].encode()) + b"\0\0"

    assert read(packed, config) == read(text, config)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (gzip.compress(b"[1]" * 100)[:-9], "cut off"),
        (b"\x1f\x8bnot", "gzip"),
        (gzip.compress(b"[]") + b"more", "gzip"),
        (gzip.compress(b" " * 2_000_000), "may be read"),
        (b"\x28\xb5\x2f\xfd....", "Zstandard"),
        (gzip.compress(b"") * 100_001, "more than 100000 members"),
    ],
    ids=["cut", "no gzip", "more", "a bomb", "zstd", "members"],
)
def test_a_packed_file_that_cannot_be_read_is_refused(body, said):
    assert said in failing(body, JSON, bounds=ReadingBounds(bytes=1_000_000))


@pytest.mark.parametrize(
    ("body", "config"),
    [
        (b"\n" * 20_000_000 + b"1\n", JSONL),
        (b"a\n" + b"\r\n" * 10_000_000 + b"1\n", CSV),
        (gzip.compress(b"") * 50_000 + gzip.compress(b"[1]") + bytes(10_000_000), JSON),
        (b'a\n"' + b'""' * 1_000_000 + b'"', CSV),
        (b"a\n" + b"\\" * 1_000_000, CSV),
        (b"[" + b"[]," * 2_000_000 + b"[]]", JSON),
    ],
    ids=["lines", "rows", "members", "quotes", "backslashes", "arrays"],
)
def test_a_file_of_little_but_marks_takes_no_long_time(body, config):
    assert read(body, config, max_items=1)


@pytest.mark.parametrize("kind", ["PARQUET", "XML", None, []])
def test_other_formats_are_refused(kind):
    assert "InputType" in failing("[]", {"InputType": kind})


@pytest.mark.parametrize(
    ("body", "config", "items"),
    [
        ('1\n2\n{"a"', JSONL, [1, 2]),
        ("a,b\n1,2\n3,", CSV, [{"a": "1", "b": "2"}]),
        ('a,b\n1,2\n"3,4\n5,6\n', CSV, [{"a": "1", "b": "2"}]),
        ("no line's end", JSONL, []),
    ],
)
def test_of_a_part_of_a_file_what_its_end_may_lack_is_left_out(body, config, items):
    assert read(body, config, whole=False) == items
