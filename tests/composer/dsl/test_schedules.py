"""Schedules of a file: the document that is deployed, and the line that made it."""

from __future__ import annotations

import pytest

from xingqiao import composer
from xingqiao.composer import CompositionError, Schedule, schedule


def report(params):
    return params


def test_a_schedule_is_the_document_of_the_http_api():
    made = schedule(
        "nightly", action="report", cron=("0 2 * * *",), time_zone="Europe/Berlin",
        input={"kind": "full"}, overlap="skip", limit=3,
    )  # fmt: skip

    assert isinstance(made, Schedule)
    assert (made.name, made.document) == (
        "nightly",
        {
            "spec": {"cron": ["0 2 * * *"], "zone": "Europe/Berlin"},
            "do": {"action": "report", "input": {"kind": "full"}},
            "overlap": "skip",
            "limit": 3,
        },
    )


def test_an_interval_is_given_by_its_length_or_with_its_offset():
    short = schedule("a", action="b", every="90s")
    long = schedule("a", action="b", every={"every": "6h", "offset": "15m"})
    assert short.document["spec"]["intervals"] == "90s"
    assert long.document["spec"]["intervals"] == {"every": "6h", "offset": "15m"}


def test_further_fields_of_the_parts_are_taken():
    made = schedule(
        "a", action="b", calendars=[{"hour": 9}], spec={"jitter": "30s"}, do={"run_timeout": 60}
    )

    assert made.document == {
        "spec": {"calendars": [{"hour": 9}], "jitter": "30s"},
        "do": {"action": "b", "run_timeout": 60},
    }


def test_a_function_that_is_an_action_stands_for_its_name():
    marked = composer.action(report, name="shop/report")

    assert schedule("a", action=marked, cron="@daily").document["do"] == {"action": "shop/report"}


def test_the_line_is_that_of_the_call():
    made = [schedule("a", action="b", cron="@daily"), schedule("c", action="b", cron="@daily")]

    assert (
        made[0].line
        == made[1].line
        == test_the_line_is_that_of_the_call.__code__.co_firstlineno + 1
    )


@pytest.mark.parametrize(
    ("name", "given", "text"),
    [
        ("", {"action": "a"}, "the name must be a string"),
        (7, {"action": "a"}, "the name must be a string, not 7"),
        ("s", {"action": composer.sequence("a")}, "a composition has no name here"),
        ("s", {"action": None}, "'action' must be the name of an action, not None"),
        ("s", {"action": "a", "note": {1, 2}}, "schedule 's': the fields must be JSON"),
        ("s", {"action": "a"}, "schedule 's': the field 'spec' names no time: give cron, every"),
        ("s", {"action": "a", "cron": []}, "schedule 's': the field 'spec' names no time"),
        (
            "s",
            {"action": "a", "cron": "@daily", "nope": 1},
            "the field 'nope' does not exist: spec",
        ),
        ("s", {"action": "a", "spec": {"crn": "@daily"}}, "'spec.crn' does not exist: cron, "),
        ("s", {"action": "a", "every": 5, "do": {"ip": 1}}, "'do.ip' does not exist: action, "),
    ],
)
def test_what_cannot_be_a_schedule_is_refused(name, given, text):
    with pytest.raises(CompositionError, match=text):
        schedule(name, **given)
