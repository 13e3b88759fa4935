"""Functions are invoked: events, results, errors and logs."""

from __future__ import annotations

import base64
import json

import pytest

from tests.kit.lambdas.clients import PYTHON, refused
from tests.kit.lambdas.handlers import NODE, answer, packed

EVENTS = [
    {"n": 1}, {}, [], [1, [2]], "text", "", 0, 1.5, None, True, {"error": "is a success"}, {"payload": 1}, {"Error": "E"},
]  # fmt: skip


@pytest.mark.parametrize("runtime", [PYTHON, NODE])
def test_any_event_and_any_result_goes_through_as_it_is(aws, deployed, runtime):
    deployed("echo", runtime=runtime)

    assert [answer(aws, "echo", event) for event in EVENTS] == [(event, None) for event in EVENTS]


def test_no_payload_is_an_empty_object(aws, deployed):
    deployed("echo")

    got = aws.invoke(FunctionName="echo")
    assert (got["StatusCode"], got["ExecutedVersion"], got["Payload"].read()) == (
        200,
        "$LATEST",
        b"{}",
    )


def test_an_error_of_python_is_told_as_lambda_tells_it(aws, deployed):
    deployed("fails", "handler.odd")

    error, kind = answer(aws, "fails")
    assert kind == "Unhandled"
    assert list(error) == ["errorMessage", "errorType", "requestId", "stackTrace"]
    assert (error["errorMessage"], error["errorType"]) == ("odd one", "Odd")
    assert error["stackTrace"] == [
        '  File "/var/task/handler.py", line 16, in odd\n    return deeper(event)\n',
        '  File "/var/task/handler.py", line 19, in deeper\n    raise Odd("one")\n',
    ]


@pytest.mark.parametrize(
    ("handler", "kind", "message"),
    [
        ("handler.fails", "TypeError", "'NoneType' object is not subscriptable"),
        ("handler.unwritable", "Runtime.MarshalError", "Unable to marshal response: Object of type set is not JSON serializable"),
        ("handler.none", "Runtime.HandlerNotFound", "Handler 'none' missing on module 'handler'"),
        ("none.none", "Runtime.ImportModuleError", "Unable to import module 'none': No module named 'none'"),
        ("handler", "Runtime.MalformedHandlerName", "Bad handler 'handler': not enough values to unpack (expected 2, got 1)"),
    ],
)  # fmt: skip
def test_what_goes_wrong_has_lambdas_names(aws, deployed, handler, kind, message):
    deployed("wrong", handler)

    error, _ = answer(aws, "wrong")
    assert (error["errorType"], error["errorMessage"]) == (kind, message)


def test_bytes_are_the_response_itself_and_in_a_result_text(aws, deployed):
    deployed("makes", "handler.makes")

    found = {event: answer(aws, "makes", event) for event in MADE}
    assert found == {event: (made, None) for event, made in MADE.items()}


MADE = {
    "text": "HelloWorld!", "object": {"a": [1]}, "plain": "café", "empty": "", "nan": "NaN",
    "inner": ["café", {"a": ["1"]}], "key": {"k": {"1": {"j": "x"}}}, "decimals": [1.1, 5],
}  # fmt: skip


@pytest.mark.parametrize(
    ("event", "why"),
    [
        ("bad", "'utf-8' codec can't decode byte 0xff in position 0: invalid start byte"),
        ("inner bad", "'utf-8' codec can't decode byte 0xff in position 0: invalid start byte"),
        ("bytearray", "Object of type bytearray is not JSON serializable"),
        ("no number", "Out of range float values are not JSON compliant"),
    ],
)
def test_a_result_that_cannot_be_written_has_lambdas_error(aws, deployed, event, why):
    deployed("makes", "handler.makes")

    error, kind = answer(aws, "makes", event)
    assert (kind, error["errorType"]) == ("Unhandled", "Runtime.MarshalError")
    assert error["errorMessage"].startswith(f"Unable to marshal response: {why}")


def test_code_that_is_none_is_told(aws, deployed):
    deployed("wrong", archive=packed(handler_dot_py="def handler(:\n"))

    error, _ = answer(aws, "wrong")
    assert error["errorType"] == "Runtime.UserCodeSyntaxError"
    assert error["errorMessage"].startswith("Syntax error in module 'handler': invalid syntax")
    assert error["stackTrace"] == ['  File "/var/task/handler.py" Line 1\n    def handler(:\n']


def test_a_function_that_is_cut_off_is_told(aws, deployed):
    deployed("exits", "handler.exits")
    deployed("dies", "handler.dies")
    deployed("sleeps", "handler.sleeps", Timeout=1)

    errors = [answer(aws, name)[0] for name in ("exits", "dies", "sleeps")]
    assert [error["errorType"] for error in errors] == [
        "Runtime.ExitError", "Runtime.ExitError", "Sandbox.Timedout",
    ]  # fmt: skip
    assert errors[0]["errorMessage"].endswith("Runtime exited with error: exit status 3")
    assert errors[2]["errorMessage"].endswith("Error: Task timed out after 1.00 seconds")


@pytest.mark.parametrize(
    ("handler", "kind", "message"),
    [
        ("handler.fails", "TypeError", "bad"),
        ("handler.rejects", "string", "a text"),
        ("handler.throws", "RangeError", "at once"),
        ("handler.refuses", "Error", "no"),
        ("handler.value", "Runtime.HandlerNotFound", "handler.value is not a function"),
        ("handler.none", "Runtime.HandlerNotFound", "handler.none is undefined or not exported"),
        ("none.none", "Runtime.ImportModuleError", "Error: Cannot find module 'none'"),
    ],
)
def test_an_error_of_node_is_told_as_lambda_tells_it(aws, deployed, handler, kind, message):
    deployed("wrong", handler, NODE)

    error, unhandled = answer(aws, "wrong")
    assert unhandled == "Unhandled"
    assert (error["errorType"], error["errorMessage"]) == (kind, message)
    assert isinstance(error["trace"], list)


def test_handlers_of_node_answer_in_their_ways(aws, deployed):
    deployed("nothing", "handler.nothing", NODE)
    deployed("calls", "handler.calls", NODE)
    deployed("module", "other.handler", NODE)
    deployed("circle", "handler.circle", NODE)
    deployed("about", "handler.about", NODE, Environment={"Variables": {"COLOUR": "red"}})

    assert answer(aws, "nothing") == (None, None)
    assert answer(aws, "calls", 1) == ({"called": 1}, None)
    assert answer(aws, "module", 1) == ([1], None)
    assert answer(aws, "circle")[0]["errorType"] == "Runtime.MarshalError"
    told, _ = answer(aws, "about")
    request = told.pop("request")
    assert len(request) == 36
    assert told == {
        "name": "about", "arn": "arn:aws:lambda:us-east-1:111111111111:function:about", "memory": "128",
        "left": True, "variable": "red",
    }  # fmt: skip


def test_a_handler_knows_its_run(aws, deployed):
    deployed(
        "about", "handler.about", Environment={"Variables": {"COLOUR": "red"}}, MemorySize=1024
    )

    got = aws.invoke(FunctionName="about", LogType="Tail")
    told = json.loads(got["Payload"].read())
    assert told == {
        "name": "about", "version": "$LATEST", "memory": "1024", "variable": "red", "region": "us-east-1",
        "arn": "arn:aws:lambda:us-east-1:111111111111:function:about", "group": "/aws/lambda/about",
        "request": got["ResponseMetadata"]["RequestId"], "argv": None, "handler": "handler.about", "root": True,
    }  # fmt: skip


def test_a_module_in_a_folder_is_found(aws, deployed):
    deployed("deep", "inner/module.handler")

    assert answer(aws, "deep")[0].endswith("/task/inner/module.py")


def test_the_end_of_the_log_is_told_if_asked_for(aws, deployed):
    deployed("echo")

    got = aws.invoke(FunctionName="echo", Payload=b'{"n": 1}', LogType="Tail")
    id = got["ResponseMetadata"]["RequestId"]
    lines = base64.b64decode(got["LogResult"]).decode().splitlines()
    assert lines[:3] == [
        f"START RequestId: {id} Version: $LATEST", 'asked {"n": 1}', f"END RequestId: {id}",
    ]  # fmt: skip
    assert lines[3].startswith(f"REPORT RequestId: {id}\tDuration: ")


def test_an_event_has_at_most_the_size_of_a_machines_input(aws, deployed):
    deployed("large", "handler.large")

    most = b"1" + b" " * 262_143
    assert aws.invoke(FunctionName="large", Payload=most)["StatusCode"] == 200
    text = b'"' + b"x" * 262_142 + b'"'
    assert (
        aws.invoke(FunctionName="large", InvocationType="DryRun", Payload=text)["StatusCode"] == 204
    )
    for kind in ("RequestResponse", "Event", "DryRun"):
        larger = text[:-1] + b'x"'
        code, status, said = refused(
            aws.invoke, FunctionName="large", Payload=larger, InvocationType=kind
        )
        assert (code, status) == ("RequestTooLargeException", 413)
        assert said.endswith("the event has 262145.")


def test_a_result_over_its_limit_has_lambdas_error(aws, deployed):
    deployed("large", "handler.large")

    text, none = answer(aws, "large", 262_144 - len('""'))
    assert (len(text), none) == (262_142, None)
    error, kind = answer(aws, "large", 262_145 - len('""'))
    assert (kind, error) == (
        "Unhandled",
        {
            "errorType": "Function.ResponseSizeTooLarge",
            "errorMessage": "Response payload size exceeded maximum allowed payload size (262144 bytes).",
        },
    )


def test_an_event_is_not_waited_for_and_a_dry_run_runs_nothing(aws, server, deployed):
    deployed("echo")

    assert aws.invoke(FunctionName="echo", InvocationType="DryRun")["StatusCode"] == 204
    got = aws.invoke(FunctionName="echo", InvocationType="Event", Payload=b"[1]")
    assert (got["StatusCode"], got["Payload"].read()) == (202, b"")
    with server.client() as client:
        (id,) = [
            doc["executionId"]
            for doc in client.get("/executions", params={"name": "echo", "limit": 1}).json()
        ]
        record = client.get(f"/activations/{id}", params={"wait": 30_000}).json()
    assert record["response"]["success"] is True
    assert record["response"]["result"] == [1]


def test_what_cannot_be_invoked_is_refused(aws, deployed):
    deployed("echo")

    missing = "arn:aws:lambda:us-east-1:111111111111:function:none"
    assert refused(aws.invoke, FunctionName="none") == (
        "ResourceNotFoundException", 404, f"Function not found: {missing}",
    )  # fmt: skip
    assert refused(aws.invoke, FunctionName="echo:7")[:2] == ("ResourceNotFoundException", 404)
    code, status, _ = refused(aws.invoke, FunctionName="echo", Payload=b"{no")
    assert (code, status) == ("InvalidRequestContentException", 400)
    code, status, _ = refused(aws.invoke, FunctionName="echo", Payload=b"[" * 500 + b"]" * 500)
    assert (code, status) == ("InvalidRequestContentException", 400)
    code, status, _ = refused(aws.invoke, FunctionName="echo", InvocationType="Later")
    assert (code, status) == ("InvalidParameterValueException", 400)
    code, status, _ = refused(
        aws.invoke, FunctionName="echo", Payload=b'"' + b"x" * (5 << 20) + b'"'
    )
    assert (code, status) == ("RequestTooLargeException", 413)
