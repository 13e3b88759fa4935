"""AWS' JSON protocol: what is asked, and how it is answered."""

from __future__ import annotations

import re

import pytest

from tests.kit.stepfunctions.clients import URL, Aws, told
from xingqiao.actions import (
    ConflictError,
    ForbiddenError,
    InvalidError,
    NotFoundError,
    ThrottledError,
    TooLargeError,
)
from xingqiao.composer import InvalidNameError
from xingqiao.infra.aws.errors import (
    AwsError,
    quota_exceeded,
    resource_missing,
    type_not_supported,
)
from xingqiao.infra.http.errors import UnavailableError
from xingqiao.infra.stepfunctions.api.protocol import MAX_BODY_BYTES, seconds
from xingqiao.infra.stepfunctions.api.service import OPERATIONS

UUID = r"[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}"


async def echo(params, caller, api):
    return {"params": params, "request": caller.request, "at": seconds(1_700_000_000_123)}


def raising(error):
    async def handler(params, caller, api):
        raise error

    return {"ListStateMachines": handler}


@pytest.fixture
def aws(world):
    return Aws(world, operations={"ListStateMachines": echo})


async def test_an_operation_is_named_by_a_header_and_answers_json_with_the_requests_id(aws):
    answer = await aws.post(b'{"maxResults": 2}', aws.headers("ListStateMachines"))

    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/x-amz-json-1.0"
    assert re.fullmatch(UUID, answer.headers["x-amzn-requestid"])
    assert answer.json() == {
        "params": {"maxResults": 2},
        "request": answer.headers["x-amzn-requestid"],
        "at": 1_700_000_000.123,
    }


async def test_each_request_has_an_id_of_its_own(aws):
    ids = {(await aws("ListStateMachines"))["request"] for _ in range(3)}

    assert len(ids) == 3


async def test_nothing_at_all_is_an_empty_request(aws):
    answer = await aws.post(b"", aws.headers("ListStateMachines"))

    assert answer.json()["params"] == {}


@pytest.mark.parametrize(
    "target",
    ["", "ListStateMachines", "AWSStepFunctions.", "AWSStepFunctions.listStateMachines",
     "AWSStepFunctions.DescribeStateMachine", "AWSStepFunctions.Nothing",
     "DynamoDB_20120810.ListTables", "AWSStepFunctions.AWSStepFunctions.ListStateMachines"],
)  # fmt: skip
async def test_an_operation_that_is_not_there_is_unknown(aws, target):
    answer = await aws.post(b"{}", {"X-Amz-Target": target})

    assert answer.status_code == 400
    assert answer.json()["__type"] == "com.amazon.coral.service#UnknownOperationException"
    assert re.fullmatch(UUID, answer.headers["x-amzn-requestid"])


async def test_a_request_without_a_target_is_unknown(aws):
    answer = await aws.post(b"{}", {})

    assert told(answer)[0] == "UnknownOperationException"


@pytest.mark.parametrize("body", [b"{", b"nothing", b"\xff", b'{"a": NaN}', b'"\\ud800"', b"1e400"])
async def test_what_is_no_json_is_refused(aws, body):
    answer = await aws.post(body, aws.headers("ListStateMachines"))

    assert answer.json()["__type"] == "com.amazon.coral.service#SerializationException"


@pytest.mark.parametrize("body", [b"[]", b"1", b"null", b'"text"'])
async def test_what_is_no_object_is_refused(aws, body):
    answer = await aws.post(body, aws.headers("ListStateMachines"))

    assert told(answer)[0] == "SerializationException"


async def test_parameters_are_checked_before_anything_is_done(aws):
    answer = await aws.post(b'{"maxResults": 1001}', aws.headers("ListStateMachines"))

    assert answer.json()["__type"] == "com.amazon.coral.validate#ValidationException"
    assert answer.json()["message"].startswith("1 validation error detected: Value '1001' at")


async def test_a_request_is_read_up_to_its_bound(aws):
    headers = aws.headers("ListStateMachines")
    body = b"{}".ljust(MAX_BODY_BYTES)

    assert (await aws.post(body, headers)).status_code == 200
    answer = await aws.post(body + b" ", headers)
    assert answer.status_code == 413
    assert told(answer)[0] == "RequestEntityTooLargeException"


async def test_what_a_stranger_sends_is_not_read(aws):
    async def endless():
        raise AssertionError("it was read")
        yield b""

    headers = aws.signed(b"{}", aws.headers("ListStateMachines"))
    headers["Authorization"] = headers["Authorization"].replace("Credential=", "Credential=x")

    assert told(await aws.send(endless(), headers))[0] == "UnrecognizedClientException"


@pytest.mark.parametrize(
    ("error", "status", "type"),
    [
        (TooLargeError("x"), 413, "com.amazon.coral.service#RequestEntityTooLargeException"),
        (ThrottledError("x"), 400, "com.amazon.coral.service#ThrottlingException"),
        (ConflictError("x"), 400, "com.amazonaws.swf.service.v2.model#ConflictException"),
        (NotFoundError("x"), 400, "com.amazonaws.swf.service.v2.model#ResourceNotFound"),
        (ForbiddenError("x"), 400, "com.amazon.coral.service#AccessDeniedException"),
        (InvalidError("x"), 400, "com.amazon.coral.validate#ValidationException"),
        (InvalidNameError("x"), 400, "com.amazon.coral.validate#ValidationException"),
        (UnavailableError("x"), 503, "com.amazon.coral.service#ServiceUnavailableException"),
        (AwsError("TaskTimedOut", "x"), 400, "com.amazonaws.swf.service.v2.model#TaskTimedOut"),
        (quota_exceeded("x"), 402, "com.amazonaws.swf.service.v2.model#ServiceQuotaExceededException"),
        (resource_missing("x"), 400, "com.amazonaws.swf.service.v2.model#ResourceNotFound"),
        (type_not_supported(), 400, "com.amazonaws.swf.service.v2.model#StateMachineTypeNotSupported"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else None,
)  # fmt: skip
async def test_what_is_refused_has_a_code_a_message_and_a_status(world, error, status, type):
    client = Aws(world, operations=raising(error))
    answer = await client.post(b"{}", client.headers("ListStateMachines"))

    assert answer.status_code == status
    assert answer.json()["__type"] == type
    assert "x" in answer.json()["message"] or not str(error).startswith("x")


async def test_it_is_served_at_the_root_beside_openwhisks_api(world):
    client = Aws(world)
    answer = await client.post(b"{}", client.headers("Nothing"))

    assert told(answer)[0] == "UnknownOperationException"
    assert (await world.caller().get(URL)).json()["support"] == {}
    assert (await world.caller().post(URL)).json()["message"] == "Missing Authentication Token"


def test_every_operation_that_is_served_has_its_parameters():
    from xingqiao.infra.stepfunctions.api.inputs import INPUTS

    assert OPERATIONS.keys() <= INPUTS.keys()
