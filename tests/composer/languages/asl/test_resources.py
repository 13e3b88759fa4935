"""What a Task may call."""

from __future__ import annotations

import pytest

from tests.kit.asl.checking import said
from xingqiao.composer.languages.asl.resources import Integration, integration

UNKNOWN = (
    "is not recognized. The value is not a valid resource ARN, or the resource is not available in "
    "this region."
)
ACTIVITY = "arn:aws:states:us-east-1:111111111111:activity:count"


def task(resource, **fields):
    return {"Type": "Task", "Resource": resource, "End": True, **fields}


@pytest.mark.parametrize(
    "resource",
    [
        "known", ACTIVITY, "arn:aws:lambda:us-east-1:111111111111:function:f",
        "arn:aws-cn:lambda:cn-north-1:111111111111:function:f:$LATEST",
        "arn:aws:lambda:your-region:your-account-id:function:yourFunction",
        "arn:aws:lambda:REGION:ACCOUNT_ID:function:FUNCTION_NAME",
        "arn:aws:states:::lambda:invoke", "arn:aws:states:::lambda:invoke.waitForTaskToken",
        "arn:aws:states:::states:startExecution.sync", "arn:aws:states:::states:startExecution.sync:2",
    ],
)  # fmt: skip
def test_a_task_calls_what_is_known(resource):
    assert said(task(resource)) == []


@pytest.mark.parametrize(
    "resource",
    [
        "arn:aws:states:::dynamodb:query", "arn:aws:states:::lambda", "arn:aws:nothing",
        "arn:aws:states:us-east-1::lambda:invoke", "arn:aws:states:::lambda:invoke.later",
        "arn:aws:states:us-east-1:your-account-id:activity:a", "arn:aws:lambda:us-east-1:a b:function:f",
        "arn:aws:lambda:us-east-1:111111111111:layer:f", "arn:aws:swf:us-east-1:1:task:x",
    ],
)  # fmt: skip
def test_another_arn_is_not_recognized(resource):
    assert said(task(resource)) == [(f"The resource provided {resource} {UNKNOWN}", "/Resource")]


def test_a_name_that_no_action_has_is_no_resource():
    assert said(task("unknown")) == [("Value is not a valid resource ARN", "/Resource")]
    assert said(task(1)) == [("Expected value of type [STRING]", "/Resource")]


@pytest.mark.parametrize("pattern", [".sync", ".sync:2", ".waitForTaskToken"])
def test_an_express_machine_waits_for_no_job_and_no_token(pattern):
    message = f"Express state machine does not support '{pattern}' service integration "

    found = said(task(f"arn:aws:states:::states:startExecution{pattern}"), type="EXPRESS")
    assert found == [(message, "/Resource")]
    assert said(task("arn:aws:states:::states:startExecution"), type="EXPRESS") == []


@pytest.mark.parametrize("resource", [ACTIVITY, "unknown"])
def test_an_express_machine_has_no_activities(resource):
    message = "Express state machine does not support Activity ARN"
    assert said(task(resource), type="EXPRESS") == [(message, "/Resource")]
    assert said(task("known"), type="EXPRESS") == []


def test_an_activity_takes_no_credentials():
    message = "The field 'Credentials' is not supported for activities"
    credentials = {"RoleArn": "arn:aws:iam::1:role/r"}

    assert said(task(ACTIVITY, Credentials=credentials)) == [(message, "/Credentials")]
    assert said(task("known", Credentials=credentials)) == []


def test_an_integration_has_three_parts():
    assert integration("arn:aws:states:::aws-sdk:s3:getObject.waitForTaskToken") == Integration(
        "aws-sdk:s3", "getObject", ".waitForTaskToken"
    )
    assert integration("arn:aws:states:::sqs:sendMessage") == Integration("sqs", "sendMessage", "")
    assert integration("sqs:sendMessage") is None
