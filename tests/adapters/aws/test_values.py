"""What state machines call things, and what botocore's models do."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from io import BytesIO

import pytest
from botocore.loaders import Loader

from xingqiao.adapters.aws.models import _SERVICES, as_java, cased, operation
from xingqiao.adapters.aws.values import answered, given

KEY = "0123456789abcdef" * 2


def asked(service, name, params):
    return given(operation(service, name).model.input_shape, params, KEY)


def told(service, name, doc, named=as_java):
    return answered(operation(service, name).model.output_shape, doc, named)


@pytest.mark.parametrize(
    ("service", "name", "place", "called"),
    [
        ("dynamodb", "putItem", "dynamodb", "DynamoDb"),
        ("sfn", "startExecution", "stepfunctions", "Sfn"),
        ("cloudwatchlogs", "putLogEvents", "logs", "CloudWatchLogs"),
        ("eventbridge", "putEvents", "events", "EventBridge"),
        ("rdsdata", "executeStatement", "rds-data", "RdsData"),
        ("emr-serverless", "startJobRun", "emr-serverless", "EmrServerless"),
        ("s3", "getObject", "s3", "S3"),
        ("ec2", "describeInstances", "ec2", "Ec2"),
    ],
)
def test_services_have_other_names_in_state_machines(service, name, place, called):
    found = operation(service, name)

    assert (found.place, found.called) == (place, called)


def test_every_service_with_another_name_is_there():
    assert set(_SERVICES.values()) <= set(Loader().list_available_services("service-2"))


@pytest.mark.parametrize(
    ("name", "java"),
    [
        ("DBInstances", "DbInstances"), ("MD5OfMessageBody", "Md5OfMessageBody"), ("SS", "Ss"), ("S", "S"),
        ("VPCId", "VpcId"), ("QueueUrl", "QueueUrl"), ("arn", "Arn"),
    ],
)  # fmt: skip
def test_names_as_the_library_for_java_has_them(name, java):
    assert as_java(cased(name)) == java


def test_parameters_may_be_spelled_in_three_ways():
    overrides = {
        "ContainerOverrides": [{"Name": "c", "Environment": [{"Name": "A", "Value": "1"}]}]
    }

    assert asked("ecs", "runTask", {"TaskDefinition": "d", "Overrides": overrides}) == {
        "taskDefinition": "d",
        "overrides": {"containerOverrides": [{"name": "c", "environment": [{"name": "A", "value": "1"}]}]},
        "clientToken": "01234567-89ab-cdef-0123-456789abcdef",
    }  # fmt: skip
    for spelled in ("DBInstanceIdentifier", "DbInstanceIdentifier"):
        assert asked("rds", "startDBInstance", {spelled: "x"}) == {"DBInstanceIdentifier": "x"}


def test_what_there_is_no_member_for_is_left_to_be_refused():
    assert asked("sqs", "sendMessage", {"Queue": {"A": 1}}) == {"Queue": {"A": 1}}
    assert asked("sqs", "sendMessage", {"MessageAttributes": [1]}) == {"MessageAttributes": [1]}


def test_names_in_maps_are_the_users():
    item = {"camelCase": {"M": {"inner": {"N": "1"}}}}

    assert asked("dynamodb", "putItem", {"Item": item})["Item"] == item
    assert told("dynamodb", "getItem", {"Item": item})["Item"] == item


def test_texts_and_bytes_may_be_given_as_values():
    body = {"QueueUrl": "q", "MessageBody": [1, "é"]}

    assert asked("sqs", "sendMessage", body)["MessageBody"] == '[1,"é"]'
    assert asked("lambda", "invoke", {"Payload": {"n": 1}})["Payload"] == b'{"n":1}'
    assert asked("lambda", "invoke", {"Payload": "é"})["Payload"] == "é".encode()


def test_documents_stay_as_they_are():
    spec = {"name": "t", "inputSchema": {"json": {"camelCase": [{"x": 1}]}}}
    tools = {"ToolConfig": {"Tools": [{"ToolSpec": spec}]}}

    made = asked("bedrockruntime", "converse", tools)

    assert made["toolConfig"]["tools"][0]["toolSpec"] == spec


@pytest.mark.parametrize(
    ("body", "written"),
    [("text data", b'"text data"'), (False, b"false"), (0, b"0"), ({"n": 1}, b'{"n":1}')],
)
def test_bodies_of_objects_are_json(body, written):
    assert asked("s3", "putObject", {"Body": body})["Body"] == written


def test_an_operation_may_have_neither_parameters_nor_an_answer():
    found = operation("sts", "getCallerIdentity").model.input_shape

    assert given(found, {}, KEY) == {}
    assert given(None, {"A": 1}, KEY) == {}


def test_instants_and_bytes_are_text():
    at = datetime(2026, 11, 21, 13, 30, tzinfo=timezone(timedelta(hours=1)))
    found = told("s3", "getObject", {"Body": BytesIO(b"\xc3\xa9"), "LastModified": at})
    exact = told("s3", "getObject", {"Body": b"\xff", "LastModified": at.replace(microsecond=1500)})

    assert found == {"Body": "é", "LastModified": "2026-11-21T12:30:00Z"}
    assert exact == {"Body": "/w==", "LastModified": "2026-11-21T12:30:00.001Z"}
    assert json.dumps(found)
