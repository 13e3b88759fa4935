"""JSON values, the `error` convention, and the bounds on both."""

from __future__ import annotations

import json
import math
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xingqiao.composer.values import (
    MADE_DEPTH,
    MAX_DEPTH,
    MAX_INT,
    MIN_INT,
    Failure,
    Success,
    boxed,
    classes_of,
    classes_told,
    copied,
    equal,
    failure,
    flaw,
    measured,
    nests_deeper,
    outcome_from_json,
    outcome_to_json,
    overflow,
    truthy,
)

scalars = (
    st.none()
    | st.booleans()
    | st.integers(MIN_INT, MAX_INT)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=("Cs",)), max_size=6)
)
json_values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abé", max_size=2), inner),
    max_leaves=8,
)


def nested(levels, inner=0):
    for _ in range(levels):
        inner = [inner]
    return inner


# --- failures ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("failed", "name", "meant"),
    [
        (Failure("Timeout", "late"), "*", True),
        (Failure("Timeout", "late"), "Timeout", True),
        (Failure("ApplicationError", "late"), "late", True),
        (Failure("ApplicationError", {"code": "E1"}), "E1", True),
        (Failure("ApplicationError", {"name": "E1"}), "E1", True),
        (Failure("ApplicationError", {"type": "E1"}), "E1", True),
        (Failure("ApplicationError", {"message": "E1"}), "E1", False),
        (Failure("ApplicationError", {"code": 1}), "1", False),
        (Failure("ApplicationError", ["E1"]), "E1", False),
        (Failure("ApplicationError", None), "E1", False),
        (Failure("ApplicationError", {"errorType": "E1"}), "E1", True),
        (
            Failure("ApplicationError", "no", ("ConnectionError", "OSError")),
            "ConnectionError",
            True,
        ),
        (Failure("ApplicationError", "no", ("ConnectionError", "OSError")), "OSError", True),
        (Failure("ApplicationError", "no", ("ConnectionError", "OSError")), "TimeoutError", False),
        (Failure("BadResponse", "no", ("TypeError", "Error")), "ApplicationError", True),
        (Failure("BadResponse", "no"), "ApplicationError", False),
    ],
)
def test_a_failure_answers_to_its_code_and_to_what_its_error_calls_itself(failed, name, meant):
    assert failed.named(name) is meant


@pytest.mark.parametrize(
    ("failed", "name", "message"),
    [
        (Failure("ApplicationError", "'oder'", ("KeyError",)), "KeyError", "KeyError: 'oder'"),
        (Failure("ApplicationError", "KeyError: 1", ("KeyError",)), "KeyError", "KeyError: 1"),
        (Failure("ApplicationError", "KeyError", ("KeyError",)), "KeyError", "KeyError"),
        (Failure("Timeout", {"code": "Timeout", "message": "late"}), "Timeout", "Timeout: late"),
        (Failure("ApplicationError", {"n": 1}), "ApplicationError", 'ApplicationError: {"n": 1}'),
    ],
)
def test_a_failure_is_told_in_one_line_that_begins_with_its_class(failed, name, message):
    assert (failed.name, failed.message) == (name, message)


def test_the_classes_of_an_exception_are_named_from_the_most_derived_on():
    assert classes_of(ConnectionResetError()) == (
        "ConnectionResetError", "ConnectionError", "OSError", "Exception",
    )  # fmt: skip


@pytest.mark.parametrize("told", [None, "E1", 7, {"E1": 1}, [1, None, "", "\ud800"]])
def test_only_names_are_taken_for_classes(told):
    assert classes_told(told) == ()


def test_so_many_classes_are_taken_and_so_much_of_each():
    assert classes_told([f"E{n}" for n in range(17)]) == tuple(f"E{n}" for n in range(16))
    assert classes_told(["x" * 100, "y" * 101]) == ("x" * 100, "y" * 100)


@pytest.mark.parametrize("raised", [(), ("KeyError", "LookupError")])
def test_a_stored_failure_keeps_its_classes_and_one_of_before_has_none(raised):
    failed = Failure("ApplicationError", "no", raised)
    doc = outcome_to_json(failed, lambda value: value)

    assert outcome_from_json(doc, lambda value: value) == failed
    assert ("raised" in doc) == bool(raised)


def test_the_value_of_a_failure_is_openwhisks_error_object():
    assert Failure("Timeout", "late").value == {"error": "late"}


def test_a_failure_of_the_machine_carries_code_message_and_detail():
    assert failure("Timeout", "late", after=5) == Failure(
        "Timeout", {"code": "Timeout", "message": "late", "after": 5}
    )


def test_outcomes_are_values():
    assert Success({"a": 1}) == Success({"a": 1})
    assert Success({"error": 1}) != Failure("error", 1)


# --- rules -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "box"),
    [
        ({"a": 1}, {"a": 1}),
        ({}, {}),
        (None, {"value": None}),
        ([1], {"value": [1]}),
        ("text", {"value": "text"}),
        (False, {"value": False}),
    ],
)
def test_what_is_no_object_is_boxed(value, box):
    assert boxed(value) == box


@pytest.mark.parametrize("value", [None, False, 0, 0.0, -0.0, ""])
def test_what_javascript_calls_false_is_false(value):
    assert not truthy(value)


@pytest.mark.parametrize("value", [True, 1, -1, 0.1, "0", "false", " ", [], {}, [0]])
def test_all_else_is_true_an_empty_list_included(value):
    assert truthy(value)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (1, 1.0),
        (0, -0.0),
        ("a", "a"),
        (None, None),
        (True, True),
        ([1, [2]], [1.0, [2.0]]),
        ({"a": 1, "b": 2}, {"b": 2.0, "a": 1}),
    ],
)
def test_equal_values_are_equal_whatever_spells_them(left, right):
    assert equal(left, right)
    assert equal(right, left)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (1, True),
        (0, False),
        (0, None),
        (0, ""),
        (1, "1"),
        ([], {}),
        ([1], [True]),
        ([1], [1, 1]),
        ({"a": 1}, {"a": True}),
        ({"a": 1}, {"a": 1, "b": 2}),
        ({"a": None}, {}),
        ("é", "e\u0301"),
        (2**53, float(2**53) + 2),
        (2**53 + 1, float(2**53)),
    ],
)
def test_nothing_is_coerced_to_be_equal(left, right):
    assert not equal(left, right)
    assert not equal(right, left)


@given(json_values, json_values)
def test_equality_is_symmetric_and_a_value_equals_its_copy(left, right):
    assert equal(left, copied(left))
    assert equal(left, right) == equal(right, left)


# --- depth -------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrap", [lambda value: [value], lambda value: {"a": value}])
@pytest.mark.parametrize("inside", [1, [], {}, "text"])
@pytest.mark.parametrize("levels", [0, 1, 2, 3])
def test_how_deep_a_value_nests_is_told_as_its_flaw_is(wrap, inside, levels):
    value = inside
    for _ in range(levels):
        value = wrap(value)
    if not isinstance(value, (dict, list)):
        return

    assert nests_deeper(value, 2) == (flaw(value, depth=2) is not None)


@given(json_values.filter(lambda value: isinstance(value, (dict, list))))
def test_a_value_of_few_levels_nests_no_deeper(value):
    assert nests_deeper(value) == (flaw(value) is not None)


# --- copies ------------------------------------------------------------------------------------


@given(json_values)
def test_a_copy_is_the_same_text_and_shares_nothing_that_can_change(value):
    def containers(item):
        inner = item.values() if isinstance(item, dict) else item if isinstance(item, list) else ()
        if isinstance(item, (dict, list)):
            yield id(item)
        for member in inner:
            yield from containers(member)

    copy = copied(value)

    assert json.dumps(copy) == json.dumps(value)
    assert not set(containers(copy)) & set(containers(value))


def test_a_copy_has_lists_for_tuples():
    copy = copied({"a": (1, (2,))})

    assert copy == {"a": [1, [2]]}
    assert type(copy["a"]) is type(copy["a"][1]) is list


# --- sizes -------------------------------------------------------------------------------------


@given(json_values)
def test_a_value_measures_about_what_its_text_takes(value):
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))

    size = measured(value, sys.maxsize)

    assert len(text) / 6 <= size <= 5 * len(text) + 5


def test_a_reference_doubled_at_every_level_is_measured_without_walking_it_all():
    value = "x"
    for _ in range(100):
        value = [value, value]

    assert 1000 < measured(value, 1000) < 10_000


def test_a_wide_list_that_stands_often_is_not_walked_each_time():
    wide = ["x"] * 100_000

    assert measured([wide] * 100_000, 250_000) < 400_000


@pytest.mark.parametrize("make", [lambda inner: [inner], lambda inner: {"a": inner}])
def test_a_value_of_more_levels_than_can_be_written_counts_as_too_large(make):
    value = 0
    for _ in range(MADE_DEPTH):
        value = make(value)

    assert measured(value, 1 << 20) <= 1 << 20
    assert measured(make(value), 1 << 20) > 1 << 20


def test_counting_stops_at_the_limit_but_a_value_that_fits_is_counted_in_full():
    assert measured("abc", 5) == 5
    assert measured("abcd", 5) > 5
    assert measured({"ab": [1, None]}, 100) == 2 + 2 + 4 + (2 + 2 + 5 + 5)


# --- flaws -------------------------------------------------------------------------------------


@given(json_values)
def test_what_json_reads_has_no_flaw(value):
    assert flaw(value) is None
    assert flaw(json.loads(json.dumps(value))) is None


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (math.nan, "nan at $ is not a JSON number"),
        ([math.inf], "inf at $[0] is not a JSON number"),
        ({"a": [1, -math.inf]}, "-inf at $.a[1] is not a JSON number"),
        ({"a": {1: 2}}, "the key 1 at $.a is not a string of Unicode text"),
        ({None: 2}, "the key None at $ is not a string of Unicode text"),
        ({"\ud800": 2}, r"the key '\ud800' at $ is not a string of Unicode text"),
        ({"a": "\udfff"}, "the string at $.a is not Unicode text"),
        ({"a": {1, 2}}, "set at $.a is not a JSON type"),
        ([b"bytes"], "bytes at $[0] is not a JSON type"),
        ([object], "type at $[0] is not a JSON type"),
        ([MAX_INT + 1], "the integer at $[0] takes more than 64 bits"),
        (MIN_INT - 1, "the integer at $ takes more than 64 bits"),
        (-(1 << 100), "the integer at $ takes more than 64 bits"),
    ],
)
def test_what_no_json_is_is_said_with_its_place(value, why):
    assert flaw(value) == why


@pytest.mark.parametrize(
    "value", [MIN_INT, MAX_INT, "€", "\U0001f600", "\x00", True, (1, 2), 1e308]
)
def test_the_edges_of_json_are_json(value):
    assert flaw(value) is None


def test_as_many_levels_are_allowed_as_the_limit_says():
    assert flaw(nested(MAX_DEPTH)) is None
    assert flaw(nested(MAX_DEPTH + 1)) == f"it nests deeper than {MAX_DEPTH} levels"


def test_a_value_that_contains_itself_is_seen():
    value: dict = {}
    value["a"] = value["b"] = value

    assert flaw(value) == f"it nests deeper than {MAX_DEPTH} levels"


# --- integers that are too wide --------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        str(2**64 - 1),
        str(-(2**63)),
        '{"n": 18446744073709551615, "m": -9223372036854775808}',
        '{"n": 1e30, "m": 12345678901234567890.5, "x": 0.12345678901234567890123}',
        '{"text": "123456789012345678901234567890"}',
        '{"n": 123456789012345678901234567890',
        "[" * 100_000 + "123456789012345678901234567890",
    ],
)
def test_text_that_keeps_all_its_digits_has_no_overflow(text):
    assert overflow(text.encode()) is None


@pytest.mark.parametrize(
    ("text", "where"),
    [
        (str(2**64), "$"),
        (str(-(2**63) - 1), "$"),
        ('{"a": {"b": [1, 18446744073709551616]}}', "$.a.b[1]"),
        ('{"n": %s}' % ("9" * 10_000), "$.n"),
        ('{"n": -%s}' % ("9" * 10_000), "$.n"),
        ("[" * 300 + "18446744073709551616" + "]" * 300, "$" + "[0]" * 300),
    ],
)
def test_an_integer_of_more_than_64_bits_is_named(text, where):
    assert overflow(text.encode()) == f"the integer at {where} takes more than 64 bits"
    assert overflow(bytearray(text.encode())) == overflow(text.encode())
