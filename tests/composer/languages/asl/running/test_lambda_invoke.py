"""`lambda:invoke`: what the function is given, and what Lambda answers, as recorded on AWS."""

from __future__ import annotations

from uuid import UUID

import pytest

from tests.kit.asl.machines import FN, INVOKE, events, lowered, machine, ran, task
from xingqiao.composer import Completed, Execution, Limits
from xingqiao.composer.languages.asl.running.view import machine_frames

HEADERS = (  # in AWS' order
    "X-Amz-Executed-Version", "x-amzn-Remapped-Content-Length", "Connection", "x-amzn-RequestId", "Content-Length",
    "Date", "X-Amzn-Trace-Id", "Content-Type",
)  # fmt: skip


def invoked(payload=None, result=lambda event: event, **given):
    """The run of a `lambda:invoke` of a function that answers its event."""
    parameters = {"FunctionName": FN, "Payload": payload, **given}
    return ran(task(INVOKE, Parameters=parameters), actions={"/_/fn": result})


# --- what the function is given ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("payload", "event"),
    [  # recorded
        ('"HelloWorld"', "HelloWorld"), ("0.0", 0.0), ("0", 0), ("-0", 0), ('""', ""), ("true", True), ("[]", []), ("{}", {}),
        ('{"Hello": "World"}', {"Hello": "World"}), ("null", None), ("\"'{'Hello':'World'}'\"", "'{'Hello':'World'}'"),
    ],
)  # fmt: skip
def test_a_text_is_the_text_of_the_event(payload, event):
    run = invoked(payload)

    (given,) = run.calls("/_/fn")
    assert (given, type(given)) == (event, type(event))
    assert run.outcome.value["Payload"] == event


@pytest.mark.parametrize("payload", [None, "", " \n"])
def test_no_payload_is_an_empty_object(payload):
    assert invoked(payload).calls("/_/fn") == [{}]


@pytest.mark.parametrize("payload", [{"a": "1"}, [1, "2"], 7, False, {"a": None}])
def test_any_other_payload_is_the_event_itself(payload):
    assert invoked(payload).calls("/_/fn") == [payload]


@pytest.mark.parametrize(
    ("payload", "why"),
    [
        ("hello", "Expecting value: line 1 column 1 (char 0)"),
        ("{no}", "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"),
        ("NaN", "NaN is not a JSON value"),
        ("[" * 250 + "]" * 250, "it nests deeper than 200 levels"),
        ("[" * 100_000, "it nests too deeply"),
        ("18446744073709551616", "the integer at $ takes more than 64 bits"),
    ],
)
def test_a_text_that_is_not_json_is_refused_as_lambda_refuses_it(payload, why):
    run = invoked(payload)

    assert run.calls("/_/fn") == []
    assert run.error["Error"] == "Lambda.InvalidRequestContentException"
    assert run.error["Cause"].startswith(f"Could not parse request body into json: {why}.")
    assert "A Payload that is text must be the text of a JSON value." in run.error["Cause"]


# --- what Lambda answers -------------------------------------------------------------------------


def test_the_answer_has_lambdas_headers():
    run = invoked('{"a": 1}', result="é")

    request = str(UUID(run.invocations[0].activation))
    output = run.outcome.value
    told = output.pop("SdkHttpMetadata")
    assert output == {
        "ExecutedVersion": "$LATEST", "Payload": "é", "SdkResponseMetadata": {"RequestId": request}, "StatusCode": 200,
    }  # fmt: skip
    assert list(told) == ["AllHttpHeaders", "HttpHeaders", "HttpStatusCode"]
    assert told["HttpStatusCode"] == 200
    every, one = told["AllHttpHeaders"], told["HttpHeaders"]
    assert tuple(every) == HEADERS
    assert list(one) == sorted(HEADERS, key=str.lower)
    assert every == {name: [text] for name, text in one.items()}
    trace = run.invocations[0].activation
    assert one == {
        "X-Amz-Executed-Version": "$LATEST", "x-amzn-Remapped-Content-Length": "0", "Connection": "keep-alive",
        "x-amzn-RequestId": request, "Content-Length": "4", "Date": "Thu, 01 Jan 1970 00:00:00 GMT",
        "X-Amzn-Trace-Id": f"Root=1-{trace[:8]}-{trace[8:]};Parent={trace[:16]};Sampled=1",
        "Content-Type": "application/json",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("result", "length"),
    [({}, "2"), ("HelloWorld!", "13"), (0.0, "3"), (None, "4"), ({"a": 1, "b": [1, 2]}, "21")],
)
def test_the_length_is_that_of_the_text_that_lambdas_python_writes(result, length):
    run = invoked(result=lambda _: result)

    assert run.outcome.value["SdkHttpMetadata"]["HttpHeaders"]["Content-Length"] == length


# --- not waited for ------------------------------------------------------------------------------

INTEGRATION = "/whisk.system/states/integration"
ACCEPTED = {"StatusCode": 202}


@pytest.mark.parametrize("how", ["Event", "DryRun"])
def test_what_is_not_waited_for_is_asked_of_whoever_begins_it(how):
    parameters = {"FunctionName": FN, "Payload": '{"a": 1}', "InvocationType": how}
    run = ran(task(INVOKE, Parameters=parameters), actions={INTEGRATION: ACCEPTED})

    (given,) = run.calls(INTEGRATION)
    assert (given["service"], given["operation"], given["pattern"]) == ("lambda", "invoke", "")
    asked = {"FunctionName": "/_/fn", "Payload": {"a": 1}, "InvocationType": how}
    assert given["parameters"] == asked
    assert run.outcome.value == ACCEPTED
    assert [event[2] for event in events(run)][2:5] == [
        "TaskScheduled",
        "TaskStarted",
        "TaskSucceeded",
    ]


def test_what_is_not_waited_for_may_have_a_token():
    parameters = {"FunctionName": FN, "InvocationType": "Event"}
    run = ran(
        task(f"{INVOKE}.waitForTaskToken", Parameters=parameters),
        actions={INTEGRATION: {"answer": 42}},
    )

    assert run.outcome.value == {"answer": 42}
    (submitted,) = [entry.value for entry in run.history if entry.kind == "StepAccepted"]
    assert "Payload" not in (submitted or {})


@pytest.mark.parametrize("how", [None, "RequestResponse"])
def test_a_function_is_waited_for_unless_it_is_said(how):
    assert invoked([1], InvocationType=how).outcome.value["Payload"] == [1]


def test_no_other_way_of_invoking_is_known():
    run = invoked([1], InvocationType="Later")

    assert run.error == {
        "Error": "Lambda.InvalidParameterValueException",
        "Cause": 'InvocationType must be one of Event, RequestResponse and DryRun, not "Later".',
    }


def test_an_event_needs_the_name_of_a_function():
    run = invoked([1], FunctionName="a//b", InvocationType="Event")

    assert run.error["Error"] == "Lambda.ResourceNotFoundException"


# --- the end of the log --------------------------------------------------------------------------


def asked(**parameters):
    """An execution whose `lambda:invoke` is under way, and the command for it."""
    state = task(INVOKE, Parameters={"FunctionName": FN, **parameters}, End=True)
    execution = Execution("e" * 32, lowered(machine({"A": state})), Limits())
    ((_, command),) = execution.begin({}, 0, frames=machine_frames({})).commands
    return execution, command


@pytest.mark.parametrize(
    ("given", "tail"), [({}, False), ({"LogType": "None"}, False), ({"LogType": "Tail"}, True)]
)
def test_the_end_of_the_log_is_asked_for_by_log_type(given, tail):
    assert asked(**given)[1].tail is tail


def test_the_end_of_the_log_stands_in_the_answer_and_in_its_headers():
    execution, _ = asked(LogType="Tail")

    output = execution.deliver("0", Completed(1, {}, log="bG9n"), 5).outcome.value
    assert list(output) == [
        "ExecutedVersion", "LogResult", "Payload", "SdkHttpMetadata", "SdkResponseMetadata", "StatusCode",
    ]  # fmt: skip
    assert output["LogResult"] == "bG9n"
    told = output["SdkHttpMetadata"]
    assert tuple(told["AllHttpHeaders"]) == ("X-Amz-Log-Result", *HEADERS)
    assert told["AllHttpHeaders"]["X-Amz-Log-Result"] == ["bG9n"]
    assert told["HttpHeaders"]["X-Amz-Log-Result"] == "bG9n"
