"""Histories as AWS' clients read them: every event in AWS' shape."""

from __future__ import annotations

import json

import pytest
from botocore.validate import ParamValidator

from tests.kit.stepfunctions.clients import MODEL
from xingqiao.infra.stepfunctions.api import histories
from xingqiao.infra.stepfunctions.api.events import event_of, events_of

SHAPES = MODEL._service_description["shapes"]
EVENT = MODEL.shape_for("HistoryEvent")
TYPES = SHAPES["HistoryEventType"]["enum"]
FAILED = {"error": "Mine", "cause": "I said so"}
TASK = {"resourceType": "states", "resource": "startExecution"}
ENDS = {"Failed", "ScheduleFailed", "StartFailed", "TimedOut", "Aborted", "SubmitFailed"}


def details(type):
    """What the machine tells of an event of this type, beside its value."""
    if type.endswith(("StateEntered", "StateExited")):
        return {"name": "A"}
    if "Iteration" in type:
        return {"name": "A", "index": 2}
    known = {
        "ActivityScheduled": {"resource": "arn", "timeoutInSeconds": 3, "heartbeatInSeconds": 2},
        "ActivityStarted": {"workerName": "w"},
        "EvaluationFailed": {**FAILED, "location": "Output", "state": "A"},
        "ExecutionRedriven": {"redriveCount": 1},
        "ExecutionStarted": {"roleArn": "arn:role"},
        "LambdaFunctionScheduled": {"resource": "arn", "timeoutInSeconds": 3},
        "MapRunRedriven": {"mapRunArn": "arn", "redriveCount": 1},
        "MapRunStarted": {"mapRunArn": "arn"},
        "MapStateStarted": {"length": 3},
        "TaskScheduled": {**TASK, "region": "us-east-1", "timeoutInSeconds": 3},
        "TaskStarted": TASK,
        "TaskSubmitted": TASK,
        "TaskSucceeded": TASK,
    }
    if type in known:
        return known[type]
    if (
        type.startswith("Task")
        and any(type.endswith(end) for end in ENDS)
        and "State" not in type.replace("Start", "")
    ):
        return {**TASK, **FAILED}
    return (
        FAILED
        if type.endswith(("Failed", "TimedOut", "Aborted"))
        and "State" not in type.replace("Start", "")
        else {}
    )


def entry(type, **more):
    return {
        "at": 1_700_000_000_123,
        "value": {"a": [1]},
        "events": [[7, 6, type, details(type)]],
        **more,
    }


@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("data", [True, False])
def test_an_event_of_each_type_has_aws_shape(type, data):
    (event,) = events_of([entry(type)], data=data)

    lacks = {} if data else {"parameters": "left out"}
    given = {
        name: {**lacks, **value} if name == "taskScheduledEventDetails" else value
        for name, value in event.items()
    }
    found = ParamValidator().validate(given, EVENT)
    assert not found.has_errors(), found.generate_report()
    assert (event["id"], event["previousEventId"], event["type"]) == (7, 6, type)
    assert event["timestamp"] == 1_700_000_000.123
    shown = [value for name, value in event.items() if name.endswith("Details")]
    assert len(shown) <= 1
    text = json.dumps(shown)
    takes = any(f'"{name}"' in text for name in ("input", "output", "parameters"))
    assert takes == (data and "value" in _takes(type))


def _takes(type):
    """Whether AWS' details of a type hold data that went in or came out."""
    member = next((name for name in _members(type) if name in EVENT.members), None)
    held = (
        {"input", "output", "parameters"} & EVENT.members[member].members.keys()
        if member
        else set()
    )
    return ["value"] if held else []


def _members(type):
    yield type[0].lower() + type[1:] + "EventDetails"
    if type.endswith("StateEntered"):
        yield "stateEnteredEventDetails"
    if type.endswith("StateExited"):
        yield "stateExitedEventDetails"


def test_one_entry_may_be_several_events_and_one_that_is_none_is_not_shown():
    events = [[3, 2, "TaskScheduled", details("TaskScheduled")], [4, 3, "TaskStarted", TASK]]
    entries = [{"at": 1, "type": "Forked"}, {"at": 2, "value": {"b": 1}, "events": events}]

    scheduled, started = events_of(entries)

    assert scheduled["taskScheduledEventDetails"]["parameters"] == '{"b":1}'
    assert started["taskStartedEventDetails"] == TASK


def test_variables_that_were_assigned_are_data():
    about = {
        "name": "A",
        "assignedVariables": {"x": "1"},
        "assignedVariablesDetails": {"truncated": False},
    }
    entries = [{"at": 1, "value": 1, "events": [[3, 2, "PassStateExited", about]]}]

    (whole,) = events_of(entries)
    (bare,) = events_of(entries, data=False)

    assert whole["stateExitedEventDetails"] == {
        **about, "output": "1", "outputDetails": {"truncated": False},
    }  # fmt: skip
    assert bare["stateExitedEventDetails"] == {"name": "A"}


# --- over the API ------------------------------------------------------------------------------

PASSES = {
    "A": {"Type": "Pass", "Next": "B"},
    "B": {"Type": "Pass", "Result": [1, "ä"], "Next": "C"},
    "C": {"Type": "Wait", "Seconds": 0, "End": True},
}


@pytest.fixture
async def ended(aws):
    arn = await aws.start(await aws.machine(**PASSES), input='{"n": 1}')
    await aws.ended(arn)
    return arn


async def test_a_history_is_read_from_its_beginning_or_its_end(aws, ended):
    events = await aws.events(ended)

    assert [event["id"] for event in events] == list(range(1, 9))
    assert [event["previousEventId"] for event in events[:3]] == [0, 0, 2]
    assert await aws.events(ended, reverseOrder=True) == events[::-1]
    assert events[0]["executionStartedEventDetails"] == {
        "input": '{"n":1}', "inputDetails": {"truncated": False},
        "roleArn": "arn:aws:iam::111111111111:role/sfn",
    }  # fmt: skip
    assert events[4]["stateExitedEventDetails"]["output"] == '[1,"ä"]'
    assert [event["timestamp"] for event in events] == sorted(e["timestamp"] for e in events)


@pytest.mark.parametrize("backward", [True, False])
@pytest.mark.parametrize("size", [1, 3, 8, 100])
async def test_a_history_is_read_a_page_at_a_time(aws, ended, backward, size):
    whole, got, token = await aws.events(ended, reverseOrder=backward), [], {}
    while True:
        page = await aws(
            "GetExecutionHistory", executionArn=ended, maxResults=size, reverseOrder=backward,
            **token,
        )  # fmt: skip
        assert len(page["events"]) <= size
        got += page["events"]
        if "nextToken" not in page:
            break
        token = {"nextToken": page["nextToken"]}

    assert got == whole


async def test_a_page_that_asks_for_no_number_holds_a_hundred(aws):
    loops = {
        "A": {"Type": "Pass", "Next": "B"},
        "B": {"Type": "Choice", "Choices": [
            {"Variable": "$$.State.EnteredTime", "IsPresent": False, "Next": "A"}], "Default": "M"},
        "M": {"Type": "Map", "ItemsPath": "$", "End": True, "Iterator": {
            "StartAt": "P", "States": {"P": {"Type": "Pass", "End": True}}}},
    }  # fmt: skip
    arn = await aws.start(await aws.machine(**loops), input=json.dumps(list(range(40))))
    await aws.ended(arn)

    page = await aws("GetExecutionHistory", executionArn=arn)
    assert len(page["events"]) == 100
    zero = await aws("GetExecutionHistory", executionArn=arn, maxResults=0)
    assert zero["events"] == page["events"]


async def test_a_history_without_data(aws, ended):
    events = await aws.events(ended, includeExecutionData=False)

    assert not {"input", "output"} & {name for event in events for value in event.values()
                                      if isinstance(value, dict) for name in value}  # fmt: skip
    assert events[1]["stateEnteredEventDetails"] == {"name": "A"}


async def test_a_token_of_another_question_is_refused(aws, ended):
    page = await aws("GetExecutionHistory", executionArn=ended, maxResults=1)

    for more in ({"reverseOrder": True, "nextToken": page["nextToken"]}, {"nextToken": "x"}):
        assert await aws.refused("GetExecutionHistory", executionArn=ended, **more) == (
            "InvalidToken", "Invalid Token: 'Invalid token'",
        )  # fmt: skip


async def test_no_more_is_rendered_than_is_shown(aws, ended, monkeypatch):
    rendered = []

    def counted(entry, told, *, data):
        rendered.append(told[0])
        return event_of(entry, told, data=data)

    monkeypatch.setattr(histories, "event_of", counted)
    await aws("GetExecutionHistory", executionArn=ended, maxResults=2)

    assert rendered == [1, 2]
