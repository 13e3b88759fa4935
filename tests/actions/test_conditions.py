"""Conditions of rules: which are read, and which are refused."""

from __future__ import annotations

import pytest

from xingqiao.actions import InvalidError, TooLargeError
from xingqiao.actions.conditions import (
    MAX_CONTEXT_BYTES,
    MAX_COUNT,
    MAX_MEMBER,
    MAX_MEMBERS,
    key_of,
    read_assignment,
    read_condition,
    read_context,
)

HOLDS = {"op": "exists", "of": {"path": "$.event.data"}}
MEMBER = "$.event.data.bin"


@pytest.mark.parametrize(
    "doc",
    [
        HOLDS,
        {"where": HOLDS},
        {"where": HOLDS, "by": MEMBER},
        {"count": 3},
        {"count": MAX_COUNT, "by": MEMBER, "where": HOLDS},
        {"join": {"of": MAX_MEMBERS, "member": MEMBER}},
        {"join": {"of": ["1", 1, True, "true", 1.5], "member": MEMBER}, "by": "$.event.source"},
        {"throttle_ms": 1},
    ],
)
def test_a_condition_is_its_document(doc):
    read = read_condition(doc)

    assert read.doc == doc
    assert read == read_condition(dict(doc))


def test_true_is_no_condition():
    assert read_condition(True) is None


@pytest.mark.parametrize(
    ("doc", "why"),
    [
        (False, "'condition' must be true, or an object with where, count, join, throttle_ms, by"),
        ({}, "'condition' must be true, or an object"),
        ({"sequence": []}, "has the member 'sequence': it may have where, count, join, throttle_ms"),
        ({"count": 2, "join": {}}, "has count and join: make a rule for each"),
        ({"by": MEMBER}, "needs one of where, count, join, throttle_ms besides 'by'"),
        ({"count": 0}, "'condition.count' must be an integer from 1 to"),
        ({"count": True}, "'condition.count' must be an integer"),
        ({"count": "3"}, "'condition.count' must be an integer"),
        ({"count": MAX_COUNT + 1}, "'condition.count' must be an integer"),
        ({"throttle_ms": 1.5}, "'condition.throttle_ms' must be an integer"),
        ({"join": 5}, "'condition.join' must be an object with 'of' and 'member'"),
        ({"join": {"of": 2}}, "'condition.join' must be an object with 'of' and 'member'"),
        ({"join": {"of": 2, "member": MEMBER, "by": MEMBER}}, "'condition.join' must be an object"),
        ({"join": {"of": MAX_MEMBERS + 1, "member": MEMBER}}, "'condition.join.of' must be an int"),
        ({"join": {"of": [], "member": MEMBER}}, "'condition.join.of' must be a number, or a list"),
        ({"join": {"of": ["a", "a"], "member": MEMBER}}, "a list of different strings, numbers"),
        ({"join": {"of": [1, 1.0], "member": MEMBER}}, "a list of different strings, numbers"),
        ({"join": {"of": [None], "member": MEMBER}}, "a list of different strings, numbers"),
        ({"join": {"of": 2, "member": 5}}, "'condition.join.member' is not a path"),
        ({"join": {"of": 2, "member": "$.data"}}, "has the path '$.data': begin it with $.event"),
        ({"count": 2, "by": "$.context.a"}, "'condition.by' has the path '$.context.a': begin it"),
        ({"count": 2, "by": "$"}, "'condition.by' has the path '$': begin it with $.event"),
        ({"count": 2, "by": "$..a"}, "'condition.by' has the path '$..a', which can select several"),
        ({"where": {"op": "x"}}, "'condition.where' is not a predicate"),
        ({"op": "true", "of": {"path": "$.data"}}, "has the path '$.data': begin it with $.event or"),
        ({"where": {"a" * 9000: 1}}, "'condition' must be JSON of at most"),
    ],
)  # fmt: skip
def test_a_condition_that_is_none_is_refused_by_its_place(doc, why):
    with pytest.raises(InvalidError) as error:
        read_condition(doc)
    assert why in str(error.value)


def test_an_assignment_is_an_object_of_templates():
    doc = {"last": {"$path": "$.event.data"}, "n": [{"$path": "$.context.n", "$default": 0}]}

    assert read_assignment(doc).doc == doc
    assert read_assignment({"a": {"$literal": {"$path": "$..x"}}}) != read_assignment(doc)


@pytest.mark.parametrize(
    ("doc", "why"),
    [
        ([], "'assign' must be an object of templates"),
        ({"a": {"$path": "$.event.items[*]"}}, "'assign' has the path '$.event.items[*]', which"),
        ({"a": [{"b": {"$path": "$.data"}}]}, "'assign' has the path '$.data': begin it with"),
        ({"a": {"$path": "$.event", "$var": "n"}}, "'assign' has the variable 'n'"),
        ({"a": {"$literal": 5}}, "'assign' is not a template"),
        ({"a": {"$path": 5}}, "'assign' is not a template"),
        ({"a": {"$literal": {"$path": {"$path": "$.data"}}}}, "begin it with $.event or $.context"),
    ],
)
def test_an_assignment_that_is_none_is_refused(doc, why):
    with pytest.raises(InvalidError) as error:
        read_assignment(doc)
    assert why in str(error.value)


def test_a_context_is_a_small_object():
    assert read_context({"a": 1}) == {"a": 1}
    with pytest.raises(InvalidError, match="'context' must be an object"):
        read_context([])
    with pytest.raises(InvalidError, match="'context' is not a JSON value"):
        read_context({"a": {1}})
    with pytest.raises(TooLargeError, match="Context larger than allowed"):
        read_context({"a": "a" * MAX_CONTEXT_BYTES})


def test_a_key_tells_values_apart_as_json_does():
    values = ["1", 1, True, "true", 1.5, "", 0, False, "a" * MAX_MEMBER]

    assert len({key_of(value) for value in values}) == len(values)
    assert key_of(1) == key_of(1.0)
    assert {len(key_of(value)) for value in values} == {32}


@pytest.mark.parametrize("value", [None, [], {}, "a" * (MAX_MEMBER + 1), 1 << 64, 1e300])
def test_a_value_that_names_nothing_has_no_key(value):
    assert key_of(value) is None
