"""What AWS' errors mean: all that it has, and what it writes about them."""

from __future__ import annotations

import json

import pytest
from botocore.session import Session

from xingqiao.actions import FAILURES
from xingqiao.adapters.aws.faults import REFUSALS, error_name, refusal
from xingqiao.adapters.port import Report, Response

NOW_MS = 1_700_000_000_000
MODELLED = [
    (service, error.name, error.metadata.get("error", {}).get("httpStatusCode", 400))
    for service, operations in {
        "lambda": ("Invoke", "GetDurableExecution", "StopDurableExecution"),
        "stepfunctions": (
            "StartExecution", "DescribeExecution", "StopExecution", "DescribeStateMachine",
        ),
        "sqs": ("ReceiveMessage",),
    }.items()
    for operation in operations
    for error in Session().get_service_model(service).operation_model(operation).error_shapes
]  # fmt: skip


def refused(name, status=400, message="because", headers=None, **fields):
    body = json.dumps({"message": message, **fields}).encode()
    named = {"x-amzn-errortype": name} if name else {}
    return refusal(Response(status, {**named, **(headers or {})}, body), NOW_MS, Report("r-1"))


@pytest.mark.parametrize(("service", "name", "status"), sorted(set(MODELLED)))
def test_every_error_that_the_services_have_is_known(service, name, status):
    fault = refused(name, status)

    known = {called for names in REFUSALS.values() for called in names.split()}
    assert name in known
    assert fault.code in FAILURES
    assert fault.error["name"] == name
    assert fault.report.request == "r-1"


def test_no_error_has_two_meanings():
    names = [name for group in REFUSALS.values() for name in group.split()]

    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("name", "status", "code", "ran", "transient"),
    [
        ("TooManyRequestsException", 429, "Throttled", "no", True),
        ("ThrottlingException", 400, "Throttled", "no", True),
        ("EC2ThrottledException", 502, "Unavailable", "no", True),
        ("ENILimitReachedException", 502, "Unavailable", "no", True),
        ("ResourceConflictException", 409, "Unavailable", "no", True),
        ("EFSMountTimeoutException", 408, "Unavailable", "no", True),
        ("KMSDisabledException", 502, "Unavailable", "no", False),
        ("EFSMountFailureException", 403, "Unavailable", "no", False),
        ("ResourceNotFoundException", 404, "NotFound", "no", False),
        ("AccessDeniedException", 403, "Permission", "no", False),
        ("ExpiredTokenException", 403, "Permission", "no", False),
        ("RequestTooLargeException", 413, "PayloadTooLarge", "no", False),
        ("InvalidRequestContentException", 400, "InvalidRequest", "no", False),
        ("RecursiveInvocationException", 400, "InvalidRequest", "no", False),
        ("SnapStartException", 400, "Crashed", "no", False),
        ("ServiceException", 500, "Lost", "unknown", True),
        ("EFSIOException", 410, "Lost", "unknown", True),
        ("SomethingNewException", 400, "InvalidRequest", "no", False),
        ("SomethingNewException", 403, "Permission", "no", False),
        ("SomethingNewException", 429, "Throttled", "no", True),
        ("SomethingNewException", 503, "Lost", "unknown", True),
        ("", 502, "Lost", "unknown", True),
        ("", 404, "NotFound", "no", False),
        ("", 413, "PayloadTooLarge", "no", False),
        ("", 302, "BadResponse", "unknown", False),
    ],
)
def test_an_error_says_whether_the_function_ran(name, status, code, ran, transient):
    fault = refused(name, status)

    assert (fault.code, fault.may_have_run, fault.transient) == (code, ran, transient)


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        ({"x-amzn-errortype": "QueueDoesNotExist"}, b""),
        ({"x-amzn-errortype": "QueueDoesNotExist:http://internal.amazon.com/coral/"}, b"{}"),
        ({}, b'{"__type": "com.amazonaws.sqs#QueueDoesNotExist"}'),
        ({}, b'{"code": "QueueDoesNotExist"}'),
    ],
)
def test_an_error_s_name_is_found_where_aws_writes_it(headers, body):
    assert error_name(Response(400, headers, body)) == "QueueDoesNotExist"


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b'"no"', b'{"half'])
def test_what_is_no_error_of_aws_is_none(body):
    fault = refusal(Response(502, {}, body), NOW_MS, Report())

    assert (error_name(Response(502, {}, body)), fault.code) == ("", "Lost")
    assert fault.error == {"code": "Lost", "message": "AWS answers status 502"}


@pytest.mark.parametrize(
    ("headers", "fields", "wait_ms"),
    [
        ({"retry-after": "2"}, {}, 2000),
        ({"retry-after": "2"}, {"retryAfterSeconds": "9"}, 2000),
        ({}, {"retryAfterSeconds": "9"}, 9000),
        ({}, {"retryAfterSeconds": "soon"}, None),
        ({}, {}, None),
    ],
)
def test_when_to_ask_again_is_the_cloud_s_to_say(headers, fields, wait_ms):
    fault = refused("TooManyRequestsException", 429, headers=headers, **fields)

    assert fault.retry_after_ms == wait_ms


def test_the_reason_of_a_throttle_is_told():
    fault = refused("TooManyRequestsException", 429, Reason="CallerRateLimitExceeded")

    assert fault.error == {
        "code": "Throttled",
        "message": "AWS answers TooManyRequestsException: because",
        "name": "TooManyRequestsException",
        "reason": "CallerRateLimitExceeded",
    }


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("InvalidSignatureException", "says that the secret key is another, or that the time is"),
        ("SignatureDoesNotMatch", "says that the secret key is another, or that the time is"),
        ("UnrecognizedClientException", "does not know the access key or its session token"),
        ("ExpiredTokenException", "says that the credentials have expired"),
        ("IncompleteSignatureException", "does not accept the credentials"),
        ("MissingAuthenticationTokenException", "does not accept the credentials"),
    ],
)
def test_what_aws_quotes_of_a_signature_is_not_handed_on(name, text):
    quoted = "The Canonical String should have been 'POST x-amz-security-token:TOKEN' AKIA"

    fault = refused(name, 403, quoted)

    assert fault.error["message"].startswith(f"AWS {text}")
    assert "TOKEN" not in str(fault)
    assert "AKIA" not in str(fault)


def test_who_is_not_allowed_to_do_what_is_told():
    text = "User: arn:aws:iam::1:user/x is not authorized to perform: lambda:InvokeFunction"

    assert refused("AccessDeniedException", 403, text).error["message"].endswith(text)
    assert "are not allowed" in refused("AccessDeniedException", 403, "").error["message"]
