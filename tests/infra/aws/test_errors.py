"""Errors in AWS' codes: the type that clients read, and the engine's errors as AWS would tell them."""

from __future__ import annotations

import pytest

from xingqiao.actions import ConflictError, NotFoundError
from xingqiao.infra.aws.errors import AwsError, quota_exceeded, refused, resource_missing


@pytest.mark.parametrize(
    ("code", "prefix"),
    [
        ("StateMachineDoesNotExist", "com.amazonaws.swf.service.v2.model"),
        ("ValidationException", "com.amazon.coral.validate"),
        ("ThrottlingException", "com.amazon.coral.service"),
        ("UnknownOperationException", "com.amazon.coral.service"),
    ],
)
def test_clients_read_the_code_behind_the_place_where_it_is_from(code, prefix):
    assert AwsError(code, "why").type == f"{prefix}#{code}"


def test_a_quota_has_a_status_of_its_own():
    assert (AwsError("InvalidName", "why").status, quota_exceeded("why").status) == (400, 402)


def test_what_is_missing_is_named_if_it_is_known():
    assert resource_missing("arn").message == "Resource not found: 'arn'"
    assert "does not exist" in resource_missing().message


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (ConflictError("taken"), ("ConflictException", 409, "taken")),
        (NotFoundError("gone"), ("InternalFailure", 500, "gone")),
        (ValueError("odd"), ("InternalFailure", 500, "odd")),
    ],
)
def test_an_error_of_the_engine_has_the_first_code_that_is_meant_for_it(error, told):
    refusals = {ConflictError: ("ConflictException", 409), Exception: ("InternalFailure", 500)}
    made = refused(error, refusals)

    assert (made.code, made.status, made.message) == told
