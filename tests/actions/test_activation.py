"""The record of an invocation: OpenWhisk's fields, with OpenWhisk's meanings."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tests.kit.actions.things import named, python
from xingqiao.actions import (
    WAITING,
    ActivationRow,
    Closed,
    Completion,
    Conducted,
    Opened,
    Remoted,
    record,
    status_of,
    summary,
)
from xingqiao.actions import closed as kept
from xingqiao.actions.definitions import define_action
from xingqiao.composer import Failure, Success

ID = "0123456789abcdef0123456789abcdef"


def opened(**fields):
    asked = {"id": ID, "action": python(), "namespace": "guest", "asked_ms": 90, **fields}
    return Opened(**asked)


def closed(opened, completion, conducted=None):
    """The record of an activation, by way of its row."""
    status = status_of(completion.outcome)
    name = opened.name or opened.action.name.name
    row = ActivationRow(
        opened.id,
        opened.namespace,
        name,
        completion.started_ms,
        status,
        opened.cause,
        b"",
        opened.kind or "",
    )
    return record(row, json.loads(opened.action.about), kept(opened, completion, conducted))


def completion(outcome=None, **fields):
    return Completion(outcome or Success({"a": 1}), started_ms=100, ended_ms=130, **fields)


def notes(record):
    return {note["key"]: note["value"] for note in record["annotations"]}


def test_the_record_of_an_action():
    action = python()

    shown = closed(opened(action=action), completion(logs=["a line"]))

    assert shown == {
        "namespace": "guest",
        "name": "hello",
        "version": "0.0.1",
        "subject": "guest",
        "activationId": ID,
        "start": 100,
        "end": 130,
        "duration": 30,
        "response": {"status": "success", "statusCode": 0, "success": True},
        "logs": ["a line"],
        "annotations": [
            {"key": "path", "value": "guest/hello"},
            {"key": "kind", "value": "python:3"},
            {"key": "limits", "value": action.limits.to_json()},
            {"key": "timeout", "value": False},
            {"key": "waitTime", "value": 10},
        ],
        "publish": False,
    }


@pytest.mark.parametrize(
    ("outcome", "response", "timed_out"),
    [
        (Success({}), ("success", 0, True), False),
        (Failure("ApplicationError", "no"), ("application error", 1, False), False),
        (Failure("Timeout", "late"), ("action developer error", 2, False), True),
        (Failure("Crashed", "gone"), ("action developer error", 2, False), False),
        (Failure("Lost", "?"), ("whisk internal error", 3, False), False),
    ],
)
def test_the_record_says_how_it_went(outcome, response, timed_out):
    shown = closed(opened(), completion(outcome))

    said = shown["response"]
    assert (said["status"], said["statusCode"], said["success"]) == response
    assert notes(shown)["timeout"] is timed_out


def test_a_cold_start_is_noted_and_a_warm_one_is_not():
    assert notes(closed(opened(), completion(init_ms=0)))["initTime"] == 0
    assert "initTime" not in notes(closed(opened(), completion()))


def test_nobody_waits_for_less_than_nothing():
    assert notes(closed(opened(asked_ms=105), completion()))["waitTime"] == 0


def test_a_step_names_its_composition():
    shown = closed(opened(cause="f" * 32), completion())

    assert shown["cause"] == "f" * 32
    assert notes(shown)["causedBy"] == "sequence"


def test_an_inline_function_goes_by_its_own_name():
    assert closed(opened(name="hello.01234567"), completion())["name"] == "hello.01234567"


@pytest.mark.parametrize(("cause", "topmost"), [(None, True), ("f" * 32, False)])
def test_a_composition_is_billed_for_its_own_time_only(cause, topmost):
    conducted = Conducted(duration_ms=5000, billed_ms=1.23456, memory_mb=512)

    shown = closed(opened(cause=cause), completion(), conducted)

    assert shown["duration"] == 5000
    assert (shown["start"], shown["end"]) == (100, 130)
    said = notes(shown)
    assert (said["conductor"], said["topmost"], said["billedDuration"]) == (True, topmost, 1.235)
    assert said["limits"]["memory"] == 512


@pytest.mark.parametrize("cause", [None, "f" * 32])
def test_a_summary_has_the_status_but_no_response_and_no_logs(cause):
    shown = closed(opened(cause=cause), completion(Failure("Crashed", "")))

    short = summary(shown)

    assert short["statusCode"] == 2
    assert {"response", "logs", "subject"}.isdisjoint(short)
    assert short.get("cause") == cause
    assert {key: shown[key] for key in short if key != "statusCode"} == {
        key: value for key, value in short.items() if key != "statusCode"
    }


def test_an_action_within_a_binding_says_so():
    bound = replace(python(), called=named("bound/hello"))

    assert notes(closed(opened(action=bound), completion()))["binding"] == "guest/bound"
    assert "binding" not in notes(closed(opened(), completion()))


def test_what_an_earlier_version_kept_of_an_action_is_read():
    row = ActivationRow(ID, "guest", "hello", 100, 0, None, b"", "python:3")
    about = {"version": "0.0.7", "annotations": [{"key": "path", "value": "guest/hello"}]}

    shown = record(row, about, kept(opened(), completion()))

    assert shown["version"] == "0.0.7"
    assert notes(shown)["path"] == "guest/hello"


def test_a_sequence_is_no_conductors_and_what_ran_says_its_own_kind():
    conducted = Conducted(duration_ms=5, billed_ms=1.0, memory_mb=256)
    sequence = define_action(
        named("s"), {"exec": {"kind": "sequence", "components": ["a"]}}, None, 1
    )

    shown = closed(opened(action=sequence), completion(), conducted)
    assert "conductor" not in notes(shown)
    assert notes(shown)["kind"] == "sequence"
    inline = closed(opened(kind="nodejs:20"), completion())
    assert notes(inline)["kind"] == "nodejs:20"


def test_one_that_waits_has_a_state_and_no_response():
    row = ActivationRow("a", "guest", "ask", 10, WAITING, None, b"", "python:3")
    about = {"version": "0.0.1", "annotations": []}

    waiting = record(row, about, Closed(None, None, 0, False, None, None, ["a line"]))

    assert (waiting["state"], waiting["logs"]) == ("waiting", ["a line"])
    assert waiting.keys().isdisjoint({"response", "end"})
    assert summary(waiting).keys().isdisjoint({"statusCode", "logs"})


def test_an_exception_is_listed_with_its_classes():
    failed = Failure("ApplicationError", "KeyError: 'oder'", ("KeyError", "LookupError"))

    made = closed(opened(), completion(failed))

    assert made["raised"] == ["KeyError", "LookupError"]


def test_what_ran_elsewhere_says_where():
    remote = Remoted("aws", "r-1", ran_ms=20.0)

    shown = closed(opened(), completion(remote=remote))

    assert notes(shown)["remote"] == {
        "cloud": "aws", "attempts": 1, "took": 30, "request": "r-1", "ran": 20.0, "overhead": 10.0,
    }  # fmt: skip
