"""The kinds of argument: what each takes, and that JSON brings back what was written."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xingqiao.composer import path
from xingqiao.composer.dsl import arguments as a

MOST_SECONDS = 366 * 24 * 3600


@pytest.mark.parametrize(
    ("kind", "inside", "outside", "why"),
    [
        (a.COUNT, 0, -1, "an int >= 0"),
        (a.COUNT, 1, True, "an int >= 0"),
        (a.POSITIVE, 1, 0, "an int >= 1"),
        (a.SECONDS, 0.001, 0, "a number > 0"),
        (a.SECONDS, MOST_SECONDS, MOST_SECONDS + 1, "and <= "),
        (a.DELAY, 0, -0.001, "a number >= 0"),
        (a.FACTOR, 1, 0.999, "a number >= 1"),
        (a.SHARE, 1, 1.001, "and <= 1"),
        (a.SHARE, 0, "0", "a number >= 0 and <= 1"),
        (a.FLAG, False, 0, "True or False"),
        (a.FIELD, "result", "error", "other than 'error'"),
        (a.choice("fail", "wait"), "wait", "stop", "one of 'fail', 'wait'"),
    ],
)
def test_a_kind_takes_what_is_within_and_names_what_it_must_be(kind, inside, outside, why):
    assert kind.take(inside) == inside
    with pytest.raises(ValueError, match=why):
        kind.take(outside)


@pytest.mark.parametrize(
    ("given_value", "names"),
    [
        ("Timeout", ("Timeout",)),
        (OSError, ("OSError",)),
        (["Timeout", KeyError], ("Timeout", "KeyError")),
        ({"b", "a"}, ("a", "b")),
        ([], ()),
    ],
)
def test_failures_are_named_by_texts_or_by_classes(given_value, names):
    assert a.ERRORS.take(given_value) == names


@pytest.mark.parametrize("wrong", [None, 7, "", [""], [int], KeyboardInterrupt])
def test_what_names_no_failure_is_refused(wrong):
    with pytest.raises(ValueError, match="names of failures or classes of exceptions"):
        a.ERRORS.take(wrong)


@pytest.mark.parametrize("wrong", [{}, [], {"a b": 1}, {1: 1}, {"": 1}])
def test_variables_have_names_that_python_has(wrong):
    with pytest.raises(
        ValueError, match=r"must be a dict of variable names|is not a variable name"
    ):
        a.VARIABLES.take(wrong)


def test_a_value_is_copied_when_it_is_taken():
    value = {"list": (1, [2])}
    taken = a.JSON_VALUE.take(value)
    value["list"][1].append(3)

    assert taken == {"list": [1, [2]]}


@given(st.dictionaries(st.from_regex(r"[a-z_]+", fullmatch=True), st.recursive(st.none() | st.integers(-9, 9) | st.text(), st.lists), min_size=1))  # fmt: skip
def test_assignments_are_read_as_they_were_written(values):
    taken = a.ASSIGNMENTS.take(values)

    written = a.ASSIGNMENTS.write(taken)
    assert a.ASSIGNMENTS.write(a.ASSIGNMENTS.read(written)) == written


def test_an_instant_may_be_one_of_pythons():
    at = datetime(2026, 1, 2, tzinfo=UTC)

    assert a.INSTANT.write(a.INSTANT.take(at)) == "2026-01-02T00:00:00+00:00"


def test_a_condition_is_a_predicate_and_no_place():
    written = a.CONDITION.write(a.CONDITION.take(path("$.n") > 0))
    assert a.CONDITION.write(a.CONDITION.read(written)) == written
    with pytest.raises(ValueError, match="must be a predicate such as"):
        a.CONDITION.take(path("$.n"))


@pytest.mark.parametrize("kind", [a.COUNT, a.TEMPLATE, a.ERRORS])
def test_what_is_optional_may_be_none_and_is_the_same_otherwise(kind):
    either = a.optional(kind)
    taken = kind.take(1 if kind is a.COUNT else ["Timeout"])

    assert either.take(None) is either.write(None) is either.read(None) is None
    assert either.write(either.take(taken)) == kind.write(taken)
    assert kind.write(either.read(kind.write(taken))) == kind.write(taken)


@pytest.mark.parametrize("doc", [None, {}, "ab", 1])
def test_items_are_those_of_a_list(doc):
    assert a.items_of([doc]) == [doc]
    with pytest.raises(ValueError, match="must be a list"):
        a.items_of(doc)
