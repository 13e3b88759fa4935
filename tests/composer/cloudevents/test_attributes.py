"""The rules for the attributes of CloudEvents, and for those that compositions emit."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from xingqiao.composer.cloudevents.attributes import (
    MAX_ATTRIBUTE,
    attribute_flaw,
    emission_flaw,
    name_flaw,
    timestamp,
)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("type", "order.placed"), ("subject", "x" * MAX_ATTRIBUTE), ("n", 0), ("n", True),
        ("n", 2**31 - 1), ("n", -(2**31)), ("n", ""), ("a" * 64, "ü"),
    ],
)  # fmt: skip
def test_an_attribute_is_a_string_a_boolean_or_a_small_integer(name, value):
    assert attribute_flaw(name, value) is None


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("type", "", "must be a string that is not empty, not ''"),
        ("subject", 1, "'subject' of a CloudEvent must be a string"),
        ("time", None, "'time'"),
        ("n", 1.0, "a 32-bit integer, not 1.0"),
        ("n", 2**31, "a 32-bit integer"),
        ("n", -(2**31) - 1, "a 32-bit integer"),
        ("n", [], "a 32-bit integer"),
        ("n", "x" * (MAX_ATTRIBUTE + 1), "up to 8192 characters, without control"),
        ("n", "a\nb", "up to 8192 characters, without control"),
        ("orderId", 1, "1 to 64 of a-z and 0-9, not 'orderId'"),
        ("a" * 65, 1, "1 to 64"),
        ("", 1, "1 to 64"),
    ],
)
def test_what_is_wrong_with_an_attribute_is_told(name, value, text):
    assert text in attribute_flaw(name, value)


def test_a_name_is_small_letters_and_digits():
    assert name_flaw("a1") is None
    assert "not 'a-b'" in name_flaw("a-b")


@pytest.mark.parametrize(
    "event",
    [
        {"type": "a"},
        {"type": "a", "data": [1.5, {"X": None}]},
        {"type": "a", "subject": None, "dataschema": None},
        {"type": "xingqiaoan", "source": "/xingqiaos"},
        {"type": "a"} | {f"n{n}": n for n in range(89)},
    ],
)
def test_a_composition_may_emit_it(event):
    assert emission_flaw(event) is None


@pytest.mark.parametrize(
    ("event", "text"),
    [
        ("a", "must be an object with a 'type', not 'a'"),
        ({}, "needs a 'type'"),
        ({"type": None}, "needs a 'type'"),
        ({"type": "a", "id": "1"}, "'id': it is the activation id"),
        ({"type": "a", "time": None}, "'time': it is the time of the step"),
        ({"type": "a", "specversion": "1.0"}, "'specversion': it is always 1.0"),
        ({"type": "a", "xqhops": 0}, "'xqhops': the server counts it"),
        ({"type": "a", "data_base64": ""}, "'data_base64': give 'data'"),
        ({"type": "a", "Subject": None}, "not 'Subject'"),
        ({"type": "xingqiao.a"}, "cannot begin with 'xingqiao.' or 'io.serverlessworkflow.'"),
        ({"type": "io.serverlessworkflow.a"}, "The type of a CloudEvent cannot begin"),
        ({"type": "a", "source": "/xingqiao/b"}, "The source of a CloudEvent cannot begin with '/xingqiao/'"),
        ({"type": "a"} | {f"n{n}": n for n in range(90)}, "may give 90 attributes, not 91"),
    ],
)  # fmt: skip
def test_why_a_composition_cannot_emit_it(event, text):
    assert text in emission_flaw(event)


def test_a_value_that_is_not_known_yet_is_not_judged_but_its_name_is():
    unknown = {"type", "data", "source", "n"}

    assert emission_flaw(dict.fromkeys(unknown, 1.5), unknown) is None
    assert "not 'N'" in emission_flaw({"type": "a", "N": {}}, {"N"})
    assert "'id'" in emission_flaw({"type": "a", "id": {}}, {"id"})


@pytest.mark.parametrize("ms", [0, 1, 999, 1_795_000_000_123])
def test_an_instant_is_utc_to_the_millisecond(ms):
    text = timestamp(ms)

    moment = datetime.fromisoformat(text)
    assert moment.tzinfo == UTC
    assert round(moment.timestamp() * 1000) == ms
    assert timestamp(1001) == "1970-01-01T00:00:01.001Z"
