"""`aws:lambda` on the wire: what is sent for each mode, what is read, and durable functions.

Durable functions run on no machine but AWS' own: their API is played here, by botocore's own model of it. All else is
seen against functions that really run, in `test_running.py`, too.
"""

from __future__ import annotations

import base64
import json
from urllib.parse import quote

import pytest
from botocore.session import Session

from tests.kit.actions.things import StandingClock
from tests.kit.adapters.aws_world import INVOKE, TRACE, aws_at, request
from tests.rigs.answers import (
    always,
    answer,
    broken_json,
    cut,
    held,
    oversized,
    throttled,
    truncated,
)
from tests.rigs.strict_host import strict_host
from xingqiao.actions import LAMBDA, Remote
from xingqiao.adapters import Done, Fault, Pending, Report
from xingqiao.adapters.aws.functions import (
    MAX_BYTES,
    MAX_EVENT_BYTES,
    SETTLE_MS,
    LambdaAdapter,
    name_of,
)
from xingqiao.adapters.aws.signing import Chain

ARN = "arn:aws:lambda:eu-west-1:123456789012:function:hello"
EXECUTION = f"{ARN}:3/durable-execution/k-1/0a1b2c"
ONE = f"/2025-12-01/durable-executions/{quote(EXECUTION, safe='')}"
RECEIPT = {"execution": EXECUTION, "at": StandingClock().ms}
REPORT = (
    "START RequestId: r-1 Version: 3\nhello\nREPORT RequestId: r-1\tDuration: 2.5 ms\t"
    "Billed Duration: 3 ms\tMemory Size: 128 MB\tMax Memory Used: 40 MB\t\n"
)
LOGGED = {"X-Amz-Log-Result": base64.b64encode(REPORT.encode()).decode(), "x-amzn-RequestId": "r-1"}
FAILED = {**LOGGED, "X-Amz-Function-Error": "Unhandled"}


@pytest.fixture
def host():
    with strict_host() as made:
        yield made


@pytest.fixture
def clock():
    return StandingClock()


@pytest.fixture
async def lambdas(host, clock):
    async with aws_at(host.url, clock) as (aws, _):
        yield LambdaAdapter(aws, Chain(clock))


def error(name, status, text="because", **headers):
    return answer({"message": text}, status, {"x-amzn-ErrorType": name, **headers})


# --- request -----------------------------------------------------------------------------------


async def test_a_function_is_invoked_and_told_which_run_it_is(host, lambdas):
    host.on("POST", INVOKE, answer({"well": True}, headers=LOGGED))

    done = await lambdas.invoke(request())

    seen = host.requests[0]
    assert (seen.json(), seen.query) == ({"n": 1}, {})
    assert seen.headers["content-type"] == "application/json"
    assert seen.headers["x-amz-invocation-type"] == "RequestResponse"
    assert seen.headers["x-amz-log-type"] == "Tail"
    assert seen.headers["x-amzn-trace-id"].startswith("Root=1-")
    context = json.loads(base64.b64decode(seen.headers["x-amz-client-context"]))
    assert context == {"custom": {"idempotency_key": "k-1", "traceparent": TRACE}}
    assert done.value == {"well": True}
    assert (done.report.request, done.report.logs) == ("r-1", ["hello"])
    assert (done.report.ran_ms, done.report.billed_ms) == (2.5, 3.0)


@pytest.mark.parametrize(
    ("function", "options", "path", "query"),
    [
        ("hello", {"qualifier": "live"}, "hello", {"Qualifier": "live"}),
        ("hello", {"qualifier": "$LATEST"}, "hello", {"Qualifier": "$LATEST"}),
        ("hello:live", {}, "hello%3Alive", {}),
        (ARN, {}, quote(ARN, safe=""), {}),
        (f"{ARN}:7", {}, quote(f"{ARN}:7", safe=""), {}),
    ],
)
async def test_a_function_is_named_as_it_was_deployed(
    host, lambdas, function, options, path, query
):
    host.on("POST", f"/2015-03-31/functions/{path}/invocations", answer(None))

    assert await lambdas.invoke(request(function, **options)) == Done(None)
    assert host.requests[0].query == query


async def test_an_arn_s_region_is_where_it_is_asked(host, lambdas):
    host.on("POST", "/2015-03-31/functions/hello/invocations", answer(None))
    far = ARN.replace("eu-west-1", "ap-south-1")
    host.on("POST", f"/2015-03-31/functions/{quote(far, safe='')}/invocations", answer(None))

    await lambdas.invoke(request(region="us-east-2"))
    await lambdas.invoke(request(far, region="us-east-2"))

    signed = [seen.headers["authorization"] for seen in host.requests]
    assert "/us-east-2/lambda/" in signed[0]
    assert "/ap-south-1/lambda/" in signed[1]


@pytest.mark.parametrize(
    ("body", "value"),
    [(b"null", None), (b"", None), (b'""', ""), (b"[1]", [1]), (b"7", 7), (b'"text"', "text")],
)
async def test_whatever_a_function_returns_is_its_value(host, lambdas, body, value):
    host.on("POST", INVOKE, answer(body))

    assert await lambdas.invoke(request()) == Done(value)


async def test_a_function_s_error_is_its_own(host, lambdas):
    raised = {"errorType": "NoMoney", "errorMessage": "none", "stackTrace": ["a"]}
    host.on("POST", INVOKE, answer(raised, headers=FAILED), answer(b"{half", headers=FAILED))

    fault = await lambdas.invoke(request())
    assert (fault.code, fault.may_have_run, fault.transient) == ("ApplicationError", "yes", False)
    assert fault.error == {"code": "NoMoney", "message": "none", "stack": ["a"]}
    assert (fault.report.billed_ms, fault.report.logs) == (3.0, ["hello"])
    assert (await lambdas.invoke(request())).code == "ApplicationError"


async def test_a_result_that_is_no_json_is_bad_and_the_function_has_run(host, lambdas):
    host.on("POST", INVOKE, broken_json(), answer(b"NaN"))

    for _ in range(2):
        fault = await lambdas.invoke(request())
        assert (fault.code, fault.may_have_run) == ("BadResponse", "yes")


@pytest.mark.parametrize(
    ("given", "code", "ran", "transient"),
    [
        (cut(), "Lost", "unknown", True),
        (truncated(), "Lost", "unknown", True),
        (oversized(7 << 20), "PayloadTooLarge", "unknown", False),
        (error("ServiceException", 500), "Lost", "unknown", True),
        (error("EC2ThrottledException", 502), "Unavailable", "no", True),
        (error("ResourceNotFoundException", 404), "NotFound", "no", False),
        (error("InvalidRequestContentException", 400), "InvalidRequest", "no", False),
        (error("ResourceConflictException", 409), "Unavailable", "no", True),
        (error("ExpiredTokenException", 403), "Permission", "no", False),
        (throttled(2), "Throttled", "no", True),
    ],
)
async def test_what_goes_wrong_says_whether_the_function_ran(
    host, lambdas, given, code, ran, transient
):
    host.on("POST", INVOKE, given)

    fault = await lambdas.invoke(request())

    assert isinstance(fault, Fault)
    assert (fault.code, fault.may_have_run, fault.transient) == (code, ran, transient)
    assert fault.retry_after_ms == (2000 if code == "Throttled" else None)


async def test_a_function_that_takes_too_long_may_still_run(host, lambdas):
    slow = held()
    host.on("POST", INVOKE, slow)

    fault = await lambdas.invoke(request(left_ms=100))
    slow.release()

    assert (fault.code, fault.may_have_run) == ("Timeout", "unknown")


@pytest.mark.parametrize(
    ("mode", "most", "token"),
    [("request", MAX_BYTES, ""), ("durable", MAX_EVENT_BYTES, ""), ("event", MAX_EVENT_BYTES, "t")],
)
async def test_what_lambda_would_not_take_is_not_sent(host, lambdas, mode, most, token):
    accepted = {"X-Amz-Durable-Execution-Arn": EXECUTION}
    host.on("POST", INVOKE, answer(None, 202, accepted))
    around = len(json.dumps({"x": ""}, separators=(",", ":")))
    around += len(f',"__ow_completion_token":"{token}"') if token else 0

    asked = [
        request(params={"x": "x" * (most - around + more)}, mode=mode, token=token)
        for more in (1, 0)
    ]
    refused, taken = [await lambdas.invoke(each) for each in asked]

    assert (refused.code, refused.may_have_run) == ("PayloadTooLarge", "no")
    assert refused.error["message"].endswith(f"at most {most} bytes, and these are {most + 1}")
    assert not isinstance(taken, Fault)
    assert len(host.requests[0].body) == most


async def test_a_dry_run_says_whether_it_may_be_invoked(host, lambdas):
    host.on("POST", INVOKE, answer(None, 204), error("AccessDeniedException", 403, "it may not"))

    assert await lambdas.check(request()) == "the function may be invoked"
    assert host.requests[0].headers["x-amz-invocation-type"] == "DryRun"
    fault = await lambdas.check(request())
    assert fault.error["message"] == "AWS answers AccessDeniedException: it may not"


# --- event -------------------------------------------------------------------------------------


async def test_an_event_has_its_token_in_its_parameters(host, lambdas):
    host.on("POST", INVOKE, answer(None, 202, {"x-amzn-RequestId": "r-2"}))

    done = await lambdas.invoke(request(mode="event", token="a-token"))

    seen = host.requests[0]
    assert seen.json() == {"n": 1, "__ow_completion_token": "a-token"}
    assert seen.headers["x-amz-invocation-type"] == "Event"
    assert seen.headers["x-amz-log-type"] == "None"
    context = json.loads(base64.b64decode(seen.headers["x-amz-client-context"]))
    assert context["custom"]["completion_token"] == "a-token"
    assert not {"x-completion-token", "x-callback-url"} & set(seen.headers), "that is AWS' API"
    assert (done.value, done.report.request) == (None, "r-2")
    assert not Remote(LAMBDA, "hello", {"mode": "event"}).keyed


# --- durable -----------------------------------------------------------------------------------


def modelled(operation):
    """What botocore knows of an operation of the API that is played here."""
    return Session().get_service_model("lambda").operation_model(operation)


def test_what_is_played_is_the_api_that_botocore_knows():
    for operation, method, path in (
        ("GetDurableExecution", "GET", "/2025-12-01/durable-executions/{DurableExecutionArn}"),
        ("StopDurableExecution", "POST", "/2025-12-01/durable-executions/{DurableExecutionArn}/stop"),
        (
            "ListDurableExecutionsByFunction", "GET",
            "/2025-12-01/functions/{FunctionName}/durable-executions",
        ),
    ):  # fmt: skip
        http = modelled(operation).http
        assert (http["method"], http["requestUri"]) == (method, path)
    invoked = modelled("Invoke")
    name = invoked.input_shape.members["DurableExecutionName"]
    assert name.serialization["name"] == "X-Amz-Durable-Execution-Name"
    arn = invoked.output_shape.members["DurableExecutionArn"]
    assert arn.serialization["name"] == "X-Amz-Durable-Execution-Arn"
    looked = modelled("GetDurableExecution").output_shape.members
    assert {"Status", "Result", "Error"} <= looked.keys()
    assert set(looked["Status"].enum) == {*STATUSES, "RUNNING", "PAUSING", "PAUSED"}
    assert looked["Error"].members.keys() == {
        "ErrorMessage",
        "ErrorType",
        "ErrorData",
        "StackTrace",
    }


async def test_a_durable_function_is_started_under_our_key(host, lambdas):
    host.on("POST", INVOKE, answer(None, 202, {"X-Amz-Durable-Execution-Arn": EXECUTION}))

    pending = await lambdas.invoke(request(mode="durable"))

    seen = host.requests[0]
    assert seen.headers["x-amz-durable-execution-name"] == "k-1"
    assert seen.headers["x-amz-invocation-type"] == "Event"
    assert (seen.query, seen.json()) == ({"Qualifier": "$LATEST"}, {"n": 1})
    assert (pending.receipt, pending.report.request) == (RECEIPT, EXECUTION)
    assert Remote(LAMBDA, "hello", {"mode": "durable"}).keyed


@pytest.mark.parametrize("name", ["hello:3", f"{ARN}:3"])
async def test_a_qualifier_in_the_name_is_enough(host, lambdas, name):
    path = f"/2015-03-31/functions/{quote(name, safe='')}/invocations"
    host.on("POST", path, answer(None, 202, {"X-Amz-Durable-Execution-Arn": EXECUTION}))

    await lambdas.invoke(request(name, mode="durable"))

    assert host.requests[0].query == {}


async def test_what_was_started_before_is_this_run(host, lambdas):
    already = error("DurableExecutionAlreadyStartedException", 409)
    host.on("POST", INVOKE, always(already))
    host.on(
        "GET", "/2025-12-01/functions/hello/durable-executions",
        answer({"DurableExecutions": [{"DurableExecutionArn": EXECUTION}]}),
        answer({"DurableExecutions": []}), error("ServiceException", 500), cut(),
    )  # fmt: skip
    asked = request(mode="durable")

    assert (await lambdas.invoke(asked)).receipt == RECEIPT
    assert host.requests[1].query == {"DurableExecutionName": "k-1", "Qualifier": "$LATEST"}
    codes = [(await lambdas.invoke(asked)).code for _ in range(3)]
    assert codes == ["InvalidRequest", "Lost", "Lost"]


async def test_a_function_that_is_not_durable_is_told_so(host, lambdas):
    host.on("POST", INVOKE, answer(None, 202))

    fault = await lambdas.invoke(request(mode="durable"))

    assert (fault.code, fault.may_have_run) == ("InvalidRequest", "unknown")
    assert fault.error["message"] == "the function is not durable: it was invoked as an event"


async def test_a_durable_function_that_is_throttled_has_not_begun(host, lambdas):
    host.on("POST", INVOKE, throttled(1))

    fault = await lambdas.invoke(request(mode="durable"))

    assert (fault.code, fault.may_have_run) == ("Throttled", "no")


@pytest.mark.parametrize("status", ["RUNNING", "PAUSING", "PAUSED"])
async def test_one_that_runs_is_asked_after_again(host, lambdas, status):
    host.on("GET", ONE, answer({"Status": status}))

    pending = await lambdas.poll(request(mode="durable"), RECEIPT)

    assert pending == Pending(RECEIPT, report=Report(EXECUTION))
    assert host.requests[0].query == {"IncludeExecutionData": "false"}


STATUSES = {
    "SUCCEEDED": ({"Result": '{"well": true}'}, None, None),
    "FAILED": (
        {"Error": {"ErrorType": "NoMoney", "ErrorMessage": "none", "StackTrace": ["a"]}},
        "ApplicationError", {"code": "NoMoney", "message": "none", "stack": ["a"]},
    ),
    "TIMED_OUT": ({}, "Timeout", None),
    "STOPPED": ({}, "Cancelled", None),
    "DELETING": ({}, "Lost", None),
}  # fmt: skip


@pytest.mark.parametrize("status", STATUSES)
async def test_how_one_has_ended_is_asked_for_with_its_data(host, lambdas, status):
    data, code, told = STATUSES[status]
    host.on("GET", ONE, answer({"Status": status}), answer({"Status": status, **data}))

    ended = await lambdas.poll(request(mode="durable"), RECEIPT)

    assert host.requests[1].query == {"IncludeExecutionData": "true"}
    assert ended.report.request == EXECUTION
    if code is None:
        assert ended.value == {"well": True}
    else:
        assert (ended.code, ended.transient) == (code, False)
        assert told is None or ended.error == told


@pytest.mark.parametrize(
    ("data", "code"),
    [
        ({"Status": "SUCCEEDED"}, None),
        ({"Status": "SUCCEEDED", "Result": "{half"}, "BadResponse"),
        ({"Status": "FAILED"}, "ApplicationError"),
        ({"Status": "FAILED", "Error": {"ErrorType": "Sandbox.Timedout"}}, "Timeout"),
        ({"Status": 7}, "Lost"),
        ([], "Lost"),
    ],
)
async def test_an_end_that_tells_little_is_an_end(host, lambdas, data, code):
    host.on("GET", ONE, answer(data), answer(data))

    ended = await lambdas.poll(request(mode="durable"), RECEIPT)

    assert getattr(ended, "code", None) == code
    assert not getattr(ended, "transient", False)


async def test_one_that_is_not_found_is_waited_for_only_at_first(host, lambdas, clock):
    host.on("GET", ONE, always(error("ResourceNotFoundException", 404)))

    first = await lambdas.poll(request(mode="durable"), RECEIPT)
    clock.ms += SETTLE_MS
    later = await lambdas.poll(request(mode="durable", clock=clock), RECEIPT)

    assert isinstance(first, Pending)
    assert (later.code, later.transient) == ("NotFound", False)


async def test_a_poll_that_fails_may_be_asked_again(host, lambdas):
    running = answer({"Status": "SUCCEEDED"})
    host.on("GET", ONE, throttled(1), cut(), running, cut(), running, throttled(1))

    faults = [await lambdas.poll(request(mode="durable"), RECEIPT) for _ in range(4)]

    assert [fault.code for fault in faults] == ["Throttled", "Lost", "Lost", "Throttled"]
    assert all(fault.transient for fault in faults)


async def test_one_that_nobody_waits_for_is_stopped(host, lambdas):
    host.on("POST", f"{ONE}/stop", answer({"StopTimestamp": 1}), throttled(), cut())

    stopped = [await lambdas.stop(request(mode="durable"), RECEIPT) for _ in range(3)]

    assert host.requests[0].json().keys() == {"ErrorType", "ErrorMessage"}
    assert [fault and fault.code for fault in stopped] == [None, "Throttled", "Lost"]


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ("01a1fde34c6c0c6974c165b14812813c", "01a1fde34c6c0c6974c165b14812813c"),
        ("a/b", "c14cddc033f64b9dea80ea675cf280a015e672516090a5626781153dc68fea11"),
    ],
)
def test_an_execution_is_called_as_our_key_is_or_by_what_stands_for_it(key, name):
    assert name_of(key) == name
    assert len(name_of("x" * 65)) == 64
