"""Aliases of functions, with AWS' own client, against a server that runs."""

from __future__ import annotations

import json

import pytest

from tests.kit.lambdas.clients import ARN, ROLE, answered, client_of, refused, returning


@pytest.fixture
def two(aws, name):
    """A function with two versions, which return "first" and "second"."""
    aws.publish_version(FunctionName=name)
    aws.update_function_code(FunctionName=name, ZipFile=returning("second"), Publish=True)
    aws.update_function_code(FunctionName=name, ZipFile=returning("third"))
    return name


def test_an_alias_names_a_version_until_it_is_moved(aws, two):
    made = aws.create_alias(FunctionName=two, Name="prod", FunctionVersion="1", Description="it")

    assert made["ResponseMetadata"]["HTTPStatusCode"] == 201
    expected = {
        "AliasArn": f"{ARN}{two}:prod", "Name": "prod", "FunctionVersion": "1", "Description": "it",
    }  # fmt: skip
    assert made.items() >= expected.items()
    assert aws.get_alias(FunctionName=two, Name="prod").items() >= expected.items()
    assert answered(aws, two, Qualifier="prod") == answered(aws, f"{two}:prod") == ("first", "1")
    shown = aws.get_function(FunctionName=two, Qualifier="prod")["Configuration"]
    assert (shown["Version"], shown["FunctionArn"]) == ("1", f"{ARN}{two}:prod")
    moved = aws.update_alias(FunctionName=two, Name="prod", FunctionVersion="2")
    assert (moved["FunctionVersion"], moved["Description"]) == ("2", "it")
    assert answered(aws, f"{ARN}{two}:prod") == ("second", "2")
    aws.update_alias(FunctionName=two, Name="prod", FunctionVersion="$LATEST")
    assert answered(aws, two, Qualifier="prod") == ("third", "$LATEST")
    aws.delete_alias(FunctionName=two, Name="prod")
    aws.delete_alias(FunctionName=two, Name="prod")  # a missing alias is no error, as on AWS
    gone = ("ResourceNotFoundException", 404, f"Cannot find alias arn: {ARN}{two}:prod")
    assert refused(aws.get_alias, FunctionName=two, Name="prod") == gone
    assert refused(aws.invoke, FunctionName=two, Qualifier="prod")[2] == f"Function not found: {ARN}{two}:prod"  # fmt: skip


def test_only_the_revision_that_was_read_is_changed(aws, two):
    made = aws.create_alias(FunctionName=two, Name="prod", FunctionVersion="1")
    moved = aws.update_alias(
        FunctionName=two, Name="prod", FunctionVersion="2", RevisionId=made["RevisionId"]
    )

    stale = refused(
        aws.update_alias, FunctionName=two, Name="prod", FunctionVersion="1", RevisionId=made["RevisionId"]
    )  # fmt: skip
    assert stale[:2] == ("PreconditionFailedException", 412)
    assert aws.get_alias(FunctionName=two, Name="prod")["RevisionId"] == moved["RevisionId"]


@pytest.mark.parametrize(("weight", "found"), [(0.0, "first"), (1.0, "second")])
def test_a_weight_of_none_or_all_leaves_no_choice(aws, two, weight, found):
    routes = {"AdditionalVersionWeights": {"2": weight}}
    made = aws.create_alias(
        FunctionName=two, Name="prod", FunctionVersion="1", RoutingConfig=routes
    )

    assert made["RoutingConfig"] == routes
    assert {answered(aws, two, Qualifier="prod")[0] for _ in range(3)} == {found}
    plain = aws.update_alias(FunctionName=two, Name="prod", RoutingConfig={})
    assert "RoutingConfig" not in plain
    assert answered(aws, two, Qualifier="prod") == ("first", "1")


@pytest.mark.parametrize("name_of", ["arn", "parameters", "event"])
def test_a_state_machine_calls_an_alias(aws, server, two, name_of):
    aws.create_alias(
        FunctionName=two, Name="prod", FunctionVersion="1",
        RoutingConfig={"AdditionalVersionWeights": {"2": 1.0}},
    )  # fmt: skip
    invoke = "arn:aws:states:::lambda:invoke"
    tasks = {
        "arn": ({"Resource": f"{ARN}{two}:prod"}, "second"),
        "parameters": ({"Resource": invoke, "OutputPath": "$.Payload", "Parameters": {"FunctionName": two, "Qualifier": "prod"}}, "second"),
        "event": ({"Resource": invoke, "OutputPath": "$.StatusCode", "Parameters": {"FunctionName": f"{two}:prod", "InvocationType": "Event"}}, 202),
    }  # fmt: skip
    task, output = tasks[name_of]
    machines = client_of(server, "stepfunctions")
    definition = json.dumps(
        {"StartAt": "A", "States": {"A": {"Type": "Task", "End": True, **task}}}
    )
    machine = machines.create_state_machine(
        name=two + name_of, definition=definition, roleArn=ROLE, type="EXPRESS"
    )["stateMachineArn"]

    ended = machines.start_sync_execution(stateMachineArn=machine, input="{}")

    assert json.loads(ended["output"]) == output
    if name_of == "event":
        with server.client() as client:
            assert client.get("/executions", params={"name": f"{two}@2"}).json()


def test_a_state_machine_that_calls_an_alias_that_is_not_there_fails(aws, server, two):
    machines = client_of(server, "stepfunctions")
    task = {"Type": "Task", "Resource": f"{ARN}{two}:none", "End": True}
    machine = machines.create_state_machine(
        name=two + "none", definition=json.dumps({"StartAt": "A", "States": {"A": task}}), roleArn=ROLE, type="EXPRESS",
    )["stateMachineArn"]  # fmt: skip

    ended = machines.start_sync_execution(stateMachineArn=machine, input="{}")

    assert (ended["status"], ended["error"]) == ("FAILED", "Lambda.ResourceNotFoundException")
    assert ended["cause"].startswith(f"Function not found: {ARN}{two}:none (Service: Lambda")


def test_aliases_are_listed_in_pages_and_by_version(aws, two):
    for number in range(5):
        aws.create_alias(FunctionName=two, Name=f"a{number}", FunctionVersion="12"[number % 2])

    pages = aws.get_paginator("list_aliases").paginate(
        FunctionName=two, PaginationConfig={"PageSize": 2}
    )
    assert [[one["Name"] for one in page["Aliases"]] for page in pages] == [
        ["a0", "a1"], ["a2", "a3"], ["a4"],
    ]  # fmt: skip
    of_two = aws.list_aliases(FunctionName=two, FunctionVersion="2")["Aliases"]
    assert [one["Name"] for one in of_two] == ["a1", "a3"]


WEIGHTS = "AdditionalVersionWeights"
WRONG = {
    "a number": ({"Name": "1"}, "ValidationException", "regular expression pattern"),
    "a long name": ({"Name": "a" * 129}, "ValidationException", "less than or equal to 128"),
    "a version that is not there": ({"FunctionVersion": "9"}, "ResourceNotFoundException", ":9"),
    "another version that is not there": ({"RoutingConfig": {WEIGHTS: {"9": 0.1}}}, "ResourceNotFoundException", ":9"),
    "no version": ({"FunctionVersion": "x"}, "ValidationException", "regular expression pattern"),
    "a weight": ({"RoutingConfig": {WEIGHTS: {"2": 1.1}}}, "ValidationException", "less than or equal to 1"),
    "a key": ({"RoutingConfig": {WEIGHTS: {"x": 0.1}}}, "ValidationException", "Map keys must satisfy constraint"),
    "itself": ({"RoutingConfig": {WEIGHTS: {"1": 0.1}}}, "InvalidParameterValueException", "already included"),
    "three versions": ({"RoutingConfig": {WEIGHTS: {"2": 0.1, "3": 0.1}}}, "InvalidParameterValueException", "greater than 1"),
    "the latest and another": (
        {"FunctionVersion": "$LATEST", "RoutingConfig": {WEIGHTS: {"2": 0.1}}}, "InvalidParameterValueException", "$LATEST is not supported",
    ),
    "a long text": ({"Description": "x" * 257}, "ValidationException", "less than or equal to 256"),
}  # fmt: skip


@pytest.mark.parametrize(("options", "code", "message"), WRONG.values(), ids=WRONG)
def test_an_alias_that_cannot_be_is_refused(aws, two, options, code, message):
    given = {"FunctionName": two, "Name": "prod", "FunctionVersion": "1", **options}

    found, _, said = refused(aws.create_alias, **given)

    assert found == code
    assert message in said
    assert aws.list_aliases(FunctionName=two)["Aliases"] == []


def test_limits_of_names_are_those_of_aws(aws, two):
    aws.create_alias(FunctionName=two, Name="a" * 128, FunctionVersion="1", Description="x" * 256)

    said = refused(aws.create_alias, FunctionName=two, Name="a" * 128, FunctionVersion="1")
    assert said == (
        "ResourceConflictException", 409, f"Alias already exists: {ARN}{two}:{'a' * 128}",
    )  # fmt: skip
