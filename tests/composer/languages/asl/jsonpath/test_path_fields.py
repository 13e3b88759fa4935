"""The fields of states that take a number, a time or an array from a path."""

from __future__ import annotations

from functools import partial

import pytest

from xingqiao.composer.languages.asl.jsonpath.path_fields import (
    bounded_count,
    bounded_percentage,
    items,
    percentage,
    timeout_seconds,
    wait_seconds,
    wait_until,
    whole_number,
)
from xingqiao.composer.languages.asl.jsonpath.paths import Scope
from xingqiao.composer.languages.asl.jsonpath.references import ReferencePath
from xingqiao.composer.languages.asl.state_errors import StatesError

TIMEOUT = partial(timeout_seconds, "TimeoutSecondsPath")
WHOLE = partial(whole_number, "MaxConcurrencyPath")
PERCENT = partial(percentage, "ToleratedFailurePercentagePath")
INSTANT = "The TimestampPath parameter does not reference a valid ISO-8601 extended offset date-time format string"


@pytest.mark.parametrize(
    ("read", "value", "expected"),
    [
        (wait_seconds, 0, 0),
        (wait_seconds, 10, 10),
        (wait_until, "1970-01-01T00:00:01Z", 1_000_000_000),
        (TIMEOUT, 1, 1),
        (WHOLE, 0, 0),
        (WHOLE, -1, -1),
        (WHOLE, "1", 1),
        (WHOLE, "-1", -1),
        (WHOLE, "0015000", 15_000),
        (PERCENT, "1", 1.0),
        (PERCENT, "+1.5", 1.5),
        (PERCENT, 1.1, 1.1),
        (PERCENT, 100, 100),
        (items, [1], [1]),
    ],
)
def test_a_value_is_read(read, value, expected):
    assert read(ReferencePath.compile("$.v"), Scope({"v": value})) == expected


@pytest.mark.parametrize(
    ("read", "document", "cause"),
    [
        (wait_seconds, {}, "The SecondsPath parameter does not reference an input value: $.v"),
        (wait_seconds, {"v": -1.5}, "The SecondsPath parameter cannot be parsed as a long value: $.v == -1.5"),
        (wait_seconds, {"v": "1"}, "The SecondsPath parameter cannot be parsed as a long value: $.v == 1"),
        (wait_seconds, {"v": True}, "The SecondsPath parameter cannot be parsed as a long value: $.v == true"),
        (wait_seconds, {"v": -1}, "The SecondsPath parameter references a negative value: $.v == -1"),
        (wait_until, {}, "The TimestampPath parameter does not reference an input value: $.v"),
        (wait_until, {"v": "2016-12-05T21:29:29"}, f"{INSTANT}: $.v == 2016-12-05T21:29:29"),
        (wait_until, {"v": None}, f"{INSTANT}: $.v == null"),
        (TIMEOUT, {}, "Invalid path '$.v' : No results for path: $['v']"),
        (TIMEOUT, {"v": 0}, "The TimeoutSecondsPath parameter references zero: $.v == 0"),
        (WHOLE, {"v": "NoNumber"}, 'The MaxConcurrencyPath field refers to value "NoNumber" which is not a valid integer: $.v'),
        (WHOLE, {"v": 1.0}, 'The MaxConcurrencyPath field refers to value "1.0" which is not a valid integer: $.v'),
        (WHOLE, {"v": "1.0"}, 'The MaxConcurrencyPath field refers to value "1.0" which is not a valid integer: $.v'),
        (WHOLE, {"v": ""}, 'The MaxConcurrencyPath field refers to value "" which is not a valid integer: $.v'),
        (WHOLE, {"v": True}, 'The MaxConcurrencyPath field refers to value "true" which is not a valid integer: $.v'),
        (PERCENT, {"v": "NaN"}, 'The ToleratedFailurePercentagePath field refers to value "NaN" which is not a valid float: $.v'),
        (WHOLE, {"v": {}}, 'The MaxConcurrencyPath field refers to value "{}" which is not a valid integer: $.v'),
        (PERCENT, {"v": {}}, 'The ToleratedFailurePercentagePath field refers to value "{}" which is not a valid float: $.v'),
        (items, {"v": {}}, 'Reference path "$.v" must point to array.'),
    ],
)  # fmt: skip
def test_what_cannot_be_read_says_why_in_aws_words(read, document, cause):
    with pytest.raises(StatesError) as caught:
        read(ReferencePath.compile("$.v"), Scope(document))
    assert (caught.value.name, caught.value.cause) == ("States.Runtime", cause)


def test_items_of_the_context_object_are_named_as_aws_names_them():
    with pytest.raises(StatesError) as caught:
        items(ReferencePath.compile("$$.Execution.Input"), Scope([], {"Execution": {"Input": {}}}))
    assert caught.value.cause == 'Reference path "$.Execution.Input" must point to array.'
    with pytest.raises(StatesError) as caught:
        items(ReferencePath.compile("$.v"), Scope({}))
    assert caught.value.name == "States.ReferencePathConflict"


def test_bounds():
    assert bounded_count("ToleratedFailureCount", 0) == 0
    assert bounded_percentage("ToleratedFailurePercentage", 100) == 100
    with pytest.raises(
        StatesError, match=r"^States.Runtime: ToleratedFailureCount cannot be negative\.$"
    ):
        bounded_count("ToleratedFailureCount", -1)
    for percent in (-1.1, 100.1):
        with pytest.raises(
            StatesError, match=r"ToleratedFailurePercentage must be between 0 and 100\.$"
        ):
            bounded_percentage("ToleratedFailurePercentage", percent)
