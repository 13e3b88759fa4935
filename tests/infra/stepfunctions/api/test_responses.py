"""Mocks of answers, compared with AWS' models of its services."""

from __future__ import annotations

import sys

import pytest

from xingqiao.adapters.aws import models
from xingqiao.composer import asl
from xingqiao.infra.stepfunctions.api.responses import unfit

WRONG = "Mock result schema validation error: "
ENDED = {
    "ExecutionArn": "arn:e", "StateMachineArn": "arn:m", "Status": "SUCCEEDED", "StartDate": "2026-01-01T00:00:00Z",
}  # fmt: skip
START = ("states", "startExecution", ".sync:2")


@pytest.mark.parametrize(
    ("resource", "result", "flaw"),
    [
        (("lambda", "invoke"), {"StatusCode": 200, "Payload": {"a": 1}}, None),
        (("lambda", "invoke"), {"StatusCode": 200.0, "New": object()}, None),
        (("lambda", "invoke"), {"StatusCode": "200"}, "Field 'StatusCode' must be a number"),
        (("lambda", "invoke"), {"StatusCode": 200.5}, "Field 'StatusCode' must be a number"),
        (("lambda", "invoke"), {"StatusCode": True}, "Field 'StatusCode' must be a number"),
        (("aws-sdk:lambda", "invoke"), {"Payload": {"a": 1}}, "Field 'Payload' must be a string"),
        (("states", "startExecution"), {"ExecutionArn": "arn:e", "StartDate": "2026-01-01T00:00:00Z"}, None),
        (("states", "startExecution"), {"StartDate": "2026-01-01T00:00:00Z"}, "Required field 'ExecutionArn' is missing"),
        (START, ENDED, None),
        (START, {**ENDED, "StartDate": 1}, "Field 'StartDate' must be a string"),
        (START, {**ENDED, "Status": "GONE"}, "Field 'Status' is not an expected value"),
        (START, {**ENDED, "InputDetails": {"Included": 1}}, "Field 'Included' must be a boolean"),
        (START, {**ENDED, "InputDetails": 1}, "Field 'InputDetails' must be an object"),
        (("sqs", "sendMessage"), {"MD5OfMessageBody": 1}, "Field 'MD5OfMessageBody' must be a string"),
        (("dynamodb", "getItem"), {"Item": {"a": {"S": "b"}}}, None),
        (("dynamodb", "getItem"), {"Item": {"a": {"S": 1}}}, "Field 'S' must be a string"),
        (("dynamodb", "getItem"), {"Item": []}, "Field 'Item' must be an object"),
        (("dynamodb", "getItem"), {"ConsumedCapacity": {"CapacityUnits": 0.5}}, None),
        (("dynamodb", "getItem"), {"ConsumedCapacity": {"CapacityUnits": "1"}}, "Field 'CapacityUnits' must be a number"),
        (("aws-sdk:rds", "describeDbInstances"), {"DbInstances": {}}, "Field 'DbInstances' must be an array"),
        (("aws-sdk:rds", "describeDBInstances"), {"DBInstances": [{"Engine": 1}]}, "Field 'Engine' must be a string"),
        (("aws-sdk:eventbridge", "putEvents"), {"FailedEntryCount": 0, "Entries": [{"EventId": "e"}]}, None),
        (("aws-sdk:cloudwatchlogs", "createLogGroup"), {}, None),
        (("aws-sdk:bedrockagentruntime", "invokeAgent"), {"contentType": 1}, "Required field 'Completion' is missing"),
        (("elasticmapreduce", "createCluster", ".sync"), {"Cluster": []}, "Field 'Cluster' must be an object"),
        (("emr-containers", "startJobRun"), {"Id": 1}, "Field 'Id' must be a string"),
        (("aws-sdk:bedrockruntime", "converse"), {"AdditionalModelResponseFields": [1]}, "Required field 'Output' is missing"),
    ],
)  # fmt: skip
def test_a_mock_is_as_the_answer_would_be(resource, result, flaw):
    asked = asl.Integration(*resource, *[""] * (3 - len(resource)))
    assert unfit(asked, result, strict=True) == (flaw and WRONG + flaw)


@pytest.mark.parametrize("result", [None, 1, "text", [{}]])
def test_an_answer_is_an_object(result):
    asked = asl.Integration("sns", "publish", "")
    assert unfit(asked, result, strict=False) == "Mocked result must be a JSON object."


def test_what_is_not_there_may_be_required_or_not():
    asked = asl.Integration("states", "startExecution", "")
    assert unfit(asked, {}, strict=False) is None
    assert unfit(asked, {"StartDate": 1}, strict=False) == (
        f"{WRONG}Field 'StartDate' must be a string"
    )


def test_a_document_may_be_anything():
    asked = asl.Integration("aws-sdk:bedrockruntime", "converse", "")
    assert unfit(asked, {"AdditionalModelResponseFields": [1]}, strict=False) is None


@pytest.mark.parametrize(
    "resource",
    [
        ("http", "invoke", ""),
        ("apigateway", "invoke", ""),
        ("sqs", "sendMessage", ".waitForTaskToken"),
        ("sqs", "sendMessage", ".sync"),
        ("aws-sdk:nowhere", "nothing", ""),
        ("aws-sdk:sqs", "nothing", ""),
    ],
)
def test_of_what_has_no_model_anything_goes(resource):
    assert unfit(asl.Integration(*resource), 1, strict=True) is None


def test_without_the_models_anything_goes(monkeypatch):
    monkeypatch.setitem(sys.modules, "botocore.loaders", None)
    monkeypatch.setattr(models, "_places", models._places.__wrapped__)
    assert unfit(asl.Integration("aws-sdk:polly", "describeVoices", ""), 1, strict=True) is None
