"""What Lambda tells of a run."""

from __future__ import annotations

import base64
import json

import pytest

from xingqiao.adapters.aws.results import MAX_MESSAGE, MAX_STACK, function_fault, report_of_run
from xingqiao.adapters.port import Response
from xingqiao.composer import Failure

REPORT = (
    "REPORT RequestId: r-1\tDuration: 12.34 ms\tBilled Duration: 134 ms\tMemory Size: 128 MB\t"
    "Max Memory Used: 40 MB\tInit Duration: 121.5 ms\t"
)


def told(*lines):
    tail = base64.b64encode("\n".join(lines).encode()).decode()
    return report_of_run(Response(200, {"x-amzn-requestid": "r-1", "x-amz-log-result": tail}, b""))


def platform(kind, **record):
    return json.dumps(
        {"time": "2026-01-01T00:00:00Z", "type": f"platform.{kind}", "record": record}
    )


@pytest.mark.parametrize(
    ("kind", "message", "code", "ran"),
    [
        ("ValueError", "no good", "ApplicationError", "yes"),
        ("", "no good", "ApplicationError", "yes"),
        ("Exception", "Task timed out after 3.00 seconds", "ApplicationError", "yes"),
        ("Sandbox.Timedout", "RequestId: r Error: Task timed out after 3.00", "Timeout", "unknown"),
        ("", "2020-01-01T00:00:00Z r Task timed out after 3.00 seconds", "Timeout", "unknown"),
        ("Runtime.ExitError", "RequestId: r Error: exit status 1", "Crashed", "unknown"),
        ("Runtime.OutOfMemory", "RequestId: r Error: killed", "Crashed", "unknown"),
        ("Extension.Crash", "RequestId: r Error: exit code 0", "Crashed", "unknown"),
        ("", "RequestId: r Process exited before completing request", "Crashed", "unknown"),
        ("Runtime.ImportModuleError", "No module named 'x'", "Crashed", "no"),
        ("Runtime.HandlerNotFound", "it is missing", "Crashed", "no"),
        ("Runtime.MarshalError", "not JSON serializable", "BadResponse", "yes"),
        ("Function.ResponseSizeTooLarge", "too large", "PayloadTooLarge", "unknown"),
    ],
)
def test_an_error_is_the_function_s_own_or_the_cloud_s(kind, message, code, ran):
    payload = {"errorMessage": message, **({"errorType": kind} if kind else {})}

    fault = function_fault(payload)

    assert (fault.code, fault.may_have_run, fault.error["message"]) == (code, ran, message)


def test_an_exception_is_named_by_its_type_and_has_its_stack():
    fault = function_fault(
        {"errorMessage": "no", "errorType": "NoMoney", "stackTrace": ["a", "b"], "requestId": "r"}
    )

    assert fault.error == {"code": "NoMoney", "message": "no", "stack": ["a", "b"]}
    failure = Failure(fault.code, fault.error)
    assert failure.named("NoMoney")
    assert failure.named("ApplicationError")
    assert not failure.named("Timeout")


def test_a_stack_of_node_s_is_a_stack():
    payload = {"errorMessage": "no", "errorType": "Error", "trace": ["Error: no", "    at f"]}

    assert function_fault(payload).error["stack"] == ["Error: no", "    at f"]


@pytest.mark.parametrize("payload", [{"reason": "none"}, ["x"], "text", 7, {"errorType": 7}])
def test_an_error_of_another_shape_is_told_as_it_is(payload):
    assert function_fault(payload).error == payload


def test_no_error_at_all_is_an_application_s():
    fault = function_fault(None)

    assert (fault.code, fault.error["code"]) == ("ApplicationError", "ApplicationError")


def test_an_error_is_bounded():
    error = function_fault(
        {"errorMessage": "x" * 50_000, "errorType": "E", "stackTrace": ["y" * 50_000] * 500}
    ).error

    assert (len(error["message"]), len(error["stack"])) == (MAX_MESSAGE, MAX_STACK)
    assert len(error["stack"][0]) == MAX_MESSAGE


def test_only_what_may_pass_is_transient():
    assert function_fault({"errorType": "Sandbox.Timedout", "errorMessage": ""}).transient
    assert not function_fault({"errorType": "Runtime.ExitError", "errorMessage": ""}).transient


# --- logs --------------------------------------------------------------------------------------


def test_the_report_says_what_a_run_took_and_cost():
    report = told("START RequestId: r-1 Version: 3", "hello", "", "END RequestId: r-1", REPORT)

    assert (report.request, report.logs) == ("r-1", ["hello"])
    assert (report.ran_ms, report.billed_ms, report.cold_ms) == (12.34, 134.0, 121.5)
    assert report.memory_mb == 128


def test_a_warm_run_has_no_start_of_its_own():
    assert told(REPORT.partition("Init")[0]).cold_ms is None


def test_a_log_in_json_says_the_same():
    metrics = {"durationMs": 12.34, "billedDurationMs": 134, "initDurationMs": 121.5}
    report = told(
        platform("start", requestId="r-1"),
        '{"level": "INFO", "message": "hello"}',
        platform("report", requestId="r-1", metrics=metrics),
        platform("runtimeDone", requestId="r-1"),
    )

    assert report.logs == ['{"level": "INFO", "message": "hello"}']
    assert (report.ran_ms, report.billed_ms, report.cold_ms) == (12.34, 134.0, 121.5)


@pytest.mark.parametrize(
    "line",
    ["{broken", '{"type": 7}', "REPORT of mine", '{"type": "platformed"}', "[" * 1000],
)
def test_a_function_may_write_what_it_likes(line):
    report = told(line, REPORT)

    assert (report.logs, report.billed_ms) == ([line], 134.0)


@pytest.mark.parametrize(
    "line",
    [
        platform("report", metrics={"durationMs": "long", "billedDurationMs": True}),
        platform("report", metrics={"durationMs": 10**400, "billedDurationMs": -1}),
        platform("report", metrics={"durationMs": float("nan"), "billedDurationMs": 1e300}),
        platform("report", metrics=7),
        platform("report"),
        '{"type": "platform.report", "record": 7}',
        "REPORT RequestId: r\tDuration: 1.2.3 ms\tBilled Duration: x ms",
        "REPORT RequestId: r\tDuration: . ms",
        f"REPORT RequestId: r\tDuration: {'9' * 400} ms",
    ],
)
def test_a_report_that_tells_nothing_is_none(line):
    report = told(line)

    assert (report.ran_ms, report.billed_ms, report.cold_ms) == (None, None, None)


@pytest.mark.parametrize("tail", ["", "!", "AAA", "//79"])
def test_a_log_that_cannot_be_read_is_none(tail):
    report = report_of_run(Response(200, {"x-amz-log-result": tail}, b""))

    assert (report.request, report.billed_ms) == (None, None)
