"""Shapes of parameters, by those of Step Functions: what breaks one is told in AWS' words."""

from __future__ import annotations

import pytest

from xingqiao.infra.aws.errors import AwsError
from xingqiao.infra.aws.shapes import read
from xingqiao.infra.stepfunctions.api.inputs import INPUTS

TOKEN = "x" * 1025


def why(operation, params):
    with pytest.raises(AwsError) as caught:
        read(INPUTS[operation], params)
    return caught.value.type.partition("#")[2], caught.value.message


ONE = "1 validation error detected: Value "
ARN = "arn:aws:states:us-east-1:111111111111:stateMachine:m"
ROUTE = {"stateMachineVersionArn": f"{ARN}:1", "weight": 50}


@pytest.mark.parametrize(
    ("operation", "params", "told"),
    [
        ("ListStateMachines", {"maxResults": 1001}, "'1001' at 'maxResults' failed to satisfy constraint: Member must have value less than or equal to 1000"),
        ("ListStateMachines", {"maxResults": -1}, "'-1' at 'maxResults' failed to satisfy constraint: Member must have value greater than or equal to 0"),
        ("ListStateMachines", {"nextToken": TOKEN}, f"'{TOKEN}' at 'nextToken' failed to satisfy constraint: Member must have length less than or equal to 1024"),
        ("ListStateMachines", {"nextToken": ""}, "'' at 'nextToken' failed to satisfy constraint: Member must have length greater than or equal to 1"),
        ("DescribeStateMachine", {}, "null at 'stateMachineArn' failed to satisfy constraint: Member must not be null"),
        ("DescribeStateMachine", {"stateMachineArn": None}, "null at 'stateMachineArn' failed to satisfy constraint: Member must not be null"),
        ("ListExecutions", {"statusFilter": "succeeded"}, "'succeeded' at 'statusFilter' failed to satisfy constraint: Member must satisfy enum value set: [SUCCEEDED, TIMED_OUT, PENDING_REDRIVE, ABORTED, FAILED, RUNNING]"),
        ("CreateStateMachineAlias", {"name": "123", "routingConfiguration": [ROUTE]}, r"'123' at 'name' failed to satisfy constraint: Member must satisfy regular expression pattern: ^(?=.*[a-zA-Z_\-\.])[a-zA-Z0-9_\-\.]+$"),
        ("CreateStateMachineAlias", {"name": "a\n", "routingConfiguration": [ROUTE]}, "'a\n' at 'name' failed to satisfy constraint: Member must satisfy regular expression pattern: " + r"^(?=.*[a-zA-Z_\-\.])[a-zA-Z0-9_\-\.]+$"),
        ("CreateStateMachineAlias", {"name": "a", "routingConfiguration": [{**ROUTE, "weight": 101}]}, "'101' at 'routingConfiguration.1.member.weight' failed to satisfy constraint: Member must have value less than or equal to 100"),
        ("CreateStateMachineAlias", {"name": "a", "routingConfiguration": []}, "'[]' at 'routingConfiguration' failed to satisfy constraint: Member must have length greater than or equal to 1"),
        ("CreateStateMachineAlias", {"name": "a", "routingConfiguration": [ROUTE] * 3},
         f"'[{', '.join([f'RoutingConfigurationListItem(stateMachineVersionArn={ARN}:1, weight=50)'] * 3)}]' at 'routingConfiguration' failed to satisfy constraint: Member must have length less than or equal to 2"),
        ("TagResource", {"resourceArn": ARN, "tags": [{"key": "k" * 129}]}, f"'{'k' * 129}' at 'tags.1.member.key' failed to satisfy constraint: Member must have length less than or equal to 128"),
        ("SendTaskSuccess", {"taskToken": "", "output": "{}"}, "at 'taskToken' failed to satisfy constraint: Member must have length greater than or equal to 1"),
        ("ValidateStateMachineDefinition", {"definition": "x" * 1_048_577}, "at 'definition' failed to satisfy constraint: Member must have length less than or equal to 1048576"),
        ("ValidateStateMachineDefinition", {"definition": "x", "type": "FAST"}, "'FAST' at 'type' failed to satisfy constraint: Member must satisfy enum value set: [STANDARD, EXPRESS]"),
    ],
    ids=range(16),
)  # fmt: skip
def test_what_breaks_a_constraint_is_told_as_aws_tells_it(operation, params, told):
    assert why(operation, params) == ("ValidationException", ONE + told)


def test_all_broken_constraints_are_told_together():
    _, told = why("CreateStateMachine", {"name": "x" * 81, "definition": "{}"})

    assert told == (
        f"2 validation errors detected: Value '{'x' * 81}' at 'name' failed to satisfy constraint: "
        "Member must have length less than or equal to 80; Value null at 'roleArn' failed to satisfy "
        "constraint: Member must not be null"
    )


def test_what_is_in_a_list_is_not_null():
    params = {"resourceArn": ARN, "tags": [{"key": "a"}, None]}

    assert why("TagResource", params)[1] == (
        ONE + "null at 'tags.2.member' failed to satisfy constraint: Member must not be null"
    )


def test_a_list_of_objects_is_shown_as_java_prints_it():
    routes = [{"weight": 1}, None, ROUTE]
    _, told = why("CreateStateMachineAlias", {"name": "a", "routingConfiguration": routes})

    assert "[RoutingConfigurationListItem(stateMachineVersionArn=null, weight=1), null, " in told


@pytest.mark.parametrize(
    ("operation", "params"),
    [
        ("ListStateMachines", {"maxResults": 0, "nextToken": "x"}),
        ("ListStateMachines", {"maxResults": 1000, "nextToken": "x" * 1024}),
        ("CreateStateMachineAlias", {"name": "x" * 80, "routingConfiguration": [ROUTE, ROUTE]}),
        ("ValidateStateMachineDefinition", {"definition": "x" * 1_048_576, "maxResults": 100}),
        ("StartExecution", {"stateMachineArn": "x" * 256, "input": "x" * 262_144}),
    ],
)
def test_what_is_just_within_bounds_is_taken_as_it_is(operation, params):
    assert read(INPUTS[operation], params) == params


def test_what_is_null_or_unknown_is_not_there_and_fractions_are_cut_off():
    params = {"maxResults": 5.9, "nextToken": None, "more": {"deep": 1}}

    assert read(INPUTS["ListStateMachines"], params) == {"maxResults": 5}
    percentage = {"mapRunArn": "m", "toleratedFailurePercentage": 12.5}
    assert read(INPUTS["UpdateMapRun"], percentage) == percentage


@pytest.mark.parametrize(
    ("params", "told"),
    [
        ({"name": 1}, "NUMBER_VALUE cannot be converted to String"),
        ({"name": True}, "TRUE_VALUE cannot be converted to String"),
        ({"publish": "yes"}, "STRING_VALUE cannot be converted to Boolean"),
        ({"tags": False}, "Expected list or null"),
        ({"name": {}}, "Start of structure or map found where not expected."),
        ({"name": []}, "Start of list found where not expected"),
        ({"loggingConfiguration": "OFF"}, "Unexpected field type"),
        ({"loggingConfiguration": []}, "Start of list found where not expected"),
        ({"encryptionConfiguration": {"kmsDataKeyReusePeriodSeconds": "60"}}, "STRING_VALUE cannot be converted to Integer"),
        ({"encryptionConfiguration": {"kmsDataKeyReusePeriodSeconds": False}}, "FALSE_VALUE cannot be converted to Integer"),
        ("text", "Unexpected field type"),
        (None, "Unexpected field type"),
    ],
)  # fmt: skip
def test_a_value_of_another_type_is_refused(params, told):
    assert why("CreateStateMachine", params) == ("SerializationException", told)


def test_a_number_where_a_fraction_may_be_is_no_text():
    params = {"mapRunArn": "m", "toleratedFailurePercentage": "1"}

    assert why("UpdateMapRun", params)[1] == "STRING_VALUE cannot be converted to Float"
