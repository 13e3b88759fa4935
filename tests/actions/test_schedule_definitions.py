"""The documents of schedules: what their fields may be."""

from __future__ import annotations

from itertools import islice

import pytest

from xingqiao.actions import InvalidError, StartOptions, schedule_of
from xingqiao.composer import CompositionError, schedule

DO = {"action": "report"}
LEAST = {"spec": {"cron": "@daily"}, "do": DO}
DAY_MS = 24 * 3600 * 1000


def test_a_definition_has_defaults():
    made = schedule_of("/guest/nightly", LEAST)

    assert (str(made.action), made.input, made.id) == ("/guest/report", {}, "nightly")
    assert (made.overlap, made.catchup_ms, made.pause_on_failure) == ("skip", 365 * DAY_MS, False)
    assert (made.limit, made.note, made.options) == (None, "", StartOptions())
    assert made.document == LEAST
    assert made.due_ms(5) == 5
    assert made.dues_ms(0, 2) == [*islice(made.spec.upcoming(0), 2)]


def test_a_definition_has_all_that_was_written():
    do = {"action": "/other/pack/a", "input": {"n": 1}, "id": "r", "memo": {"m": 1},
          "execution_timeout": "1d", "run_timeout": 60}  # fmt: skip
    doc = {**LEAST, "do": do, "overlap": "allow_all", "catchup": "10s", "pause_on_failure": True,
           "limit": 5, "paused": True, "note": "n"}  # fmt: skip
    made = schedule_of("/guest/nightly", doc)

    assert (str(made.action), made.input, made.id) == ("/other/pack/a", {"n": 1}, "r")
    assert made.options == StartOptions(
        memo={"m": 1}, execution_timeout_ms=DAY_MS, run_timeout_ms=60_000
    )
    assert (made.overlap, made.catchup_ms, made.pause_on_failure) == ("allow_all", 10_000, True)
    assert (made.limit, made.note) == (5, "n")


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"x": 1}, "the field 'x' does not exist: spec, do, overlap"),
        ({"do": 5}, "the field 'do' must be an object"),
        ({"do": {}}, "the field 'do.action' must be the name of an action"),
        ({"do": {"action": ""}}, "the field 'do.action' must be the name of an action"),
        ({"do": {**DO, "retries": 1}}, "the field 'retries' does not exist: action, input"),
        ({"do": {**DO, "input": []}}, "the field 'do.input' must be an object"),
        ({"do": {**DO, "id": ""}}, "the field 'do.id' must be a text of 1 to 200"),
        ({"do": {**DO, "id": "a\n"}}, "the field 'do.id' must be a text of 1 to 200"),
        ({"do": {**DO, "id": "a" * 201}}, "the field 'do.id' must be a text of 1 to 200"),
        ({"do": {**DO, "run_timeout": 0}}, "the field 'do.run_timeout' must be a duration"),
        ({"overlap": "never"}, "the field 'overlap' must be one of skip, buffer_one"),
        ({"catchup": "9s"}, "the field 'catchup' must be a duration of at least 10 s"),
        ({"paused": "no"}, "the field 'paused' must be true or false"),
        ({"pause_on_failure": 1}, "the field 'pause_on_failure' must be true or false"),
        ({"limit": 0}, "the field 'limit' must be a whole number of at least 1"),
        ({"limit": True}, "the field 'limit' must be a whole number of at least 1"),
        ({"note": 5}, "the field 'note' must be a text of at most 1000"),
        ({"spec": None}, "the field 'spec' must be an object"),
    ],
)
def test_a_field_that_is_malformed_is_named(fields, text):
    with pytest.raises(InvalidError) as refused:
        schedule_of("/guest/nightly", {**LEAST, **fields})
    assert str(refused.value).startswith(text)


def test_a_definition_is_an_object():
    with pytest.raises(InvalidError, match="the field 'schedule' must be an object"):
        schedule_of("/guest/nightly", [])


@pytest.mark.parametrize("part", ["", "spec", "do"])
def test_a_file_of_compositions_knows_the_same_fields(part):
    wrong = {part: {"nope": 1}} if part else {"nope": 1}
    with pytest.raises(CompositionError) as written:
        schedule("s", action="report", cron="@daily", **wrong)
    with pytest.raises(InvalidError) as read:
        schedule_of("/guest/s", {**LEAST, **wrong})

    fields = str(written.value).partition(" does not exist: ")[2]
    assert fields == str(read.value).partition(" does not exist: ")[2] != ""
