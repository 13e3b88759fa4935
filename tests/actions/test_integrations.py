"""Which service integrations there are."""

from __future__ import annotations

import pytest

from xingqiao.actions import is_integration


@pytest.mark.parametrize(
    "place",
    ["lambda:invoke", "lambda:invoke.waitForTaskToken", "sqs:sendMessage", "dynamodb:getItem",
     "states:startExecution", "states:startExecution.sync", "states:startExecution.sync:2",
     "ecs:runTask.sync", "eks:call.waitForTaskToken", "aws-sdk:s3:listObjectsV2",
     "aws-sdk:sfn:sendTaskSuccess.waitForTaskToken", "sagemaker:createModel", "http:invoke"],
)  # fmt: skip
def test_what_aws_integrates_is_known(place):
    assert is_integration(f"arn:aws:states:::{place}")
    assert is_integration(f"arn:aws-us-gov:states:::{place}")


@pytest.mark.parametrize(
    "place",
    ["dynamodb:query", "lambda:invoke.sync", "sqs:sendMessage.sync", "states:startExecution.sync:3",
     "aws-sdk:s3", "aws-sdk:s3:ListObjects", "aws-sdk:s3:listObjects.sync", "nothing:invoke",
     "lambda", "", "lambda:", "http:invoke.waitForTaskToken"],
)  # fmt: skip
def test_what_it_does_not_is_not(place):
    assert not is_integration(f"arn:aws:states:::{place}")


@pytest.mark.parametrize(
    "resource", ["lambda:invoke", "arn:aws:lambda:us-east-1:111111111111:function:f", ""]
)
def test_what_is_no_integration_is_none(resource):
    assert not is_integration(resource)
