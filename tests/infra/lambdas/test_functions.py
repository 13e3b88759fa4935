"""Functions are created, described, changed, listed and deleted."""

from __future__ import annotations

from tests.kit.lambdas.clients import PYTHON, ROLE, client_of, refused
from tests.kit.lambdas.handlers import ARCHIVES, answer


def test_a_function_is_created_shown_and_deleted(aws):
    code = {"ZipFile": ARCHIVES[PYTHON]}
    made = aws.create_function(
        FunctionName="one", Runtime=PYTHON, Handler="handler.handler", Role=ROLE, Code=code, Description="it",
        Timeout=7, MemorySize=256, Environment={"Variables": {"COLOUR": "red"}}, Tags={"team": "x"},
    )  # fmt: skip
    aws.get_waiter("function_active_v2").wait(FunctionName="one")

    assert made["ResponseMetadata"]["HTTPStatusCode"] == 201
    shown = aws.get_function(FunctionName=made["FunctionArn"])
    expected = {
        "FunctionName": "one", "FunctionArn": "arn:aws:lambda:us-east-1:111111111111:function:one", "Runtime": PYTHON,
        "Role": ROLE, "Handler": "handler.handler", "CodeSize": len(ARCHIVES[PYTHON]), "Description": "it", "Timeout": 7,
        "MemorySize": 256, "Version": "$LATEST", "Environment": {"Variables": {"COLOUR": "red"}}, "State": "Active",
        "LastUpdateStatus": "Successful", "PackageType": "Zip",
    }  # fmt: skip
    assert shown["Configuration"].items() >= expected.items()
    assert made.items() >= expected.items()
    assert shown["Tags"] == {"team": "x"}
    configuration = aws.get_function_configuration(FunctionName="function:one")
    assert configuration.items() >= expected.items()
    (version,) = aws.list_versions_by_function(FunctionName="one")["Versions"]
    assert version["RevisionId"] == made["RevisionId"]
    conflict = refused(
        aws.create_function, FunctionName="one", Runtime=PYTHON, Handler="h.h", Role=ROLE, Code=code
    )
    assert conflict == ("ResourceConflictException", 409, "Function already exist: one")
    aws.delete_function(FunctionName="one")
    assert refused(aws.get_function, FunctionName="one")[:2] == ("ResourceNotFoundException", 404)
    assert refused(aws.delete_function, FunctionName="one")[:2] == (
        "ResourceNotFoundException",
        404,
    )


def test_functions_are_listed_a_page_at_a_time(aws, server, deployed):
    for name in ("b", "a", "c"):
        deployed(name)
    with server.client() as client:
        body = {"exec": {"kind": "python:3", "code": "def main(p):\n    return p\n"}}
        assert client.put("/actions/plain", json=body).status_code == 200

    pages = list(aws.get_paginator("list_functions").paginate(PaginationConfig={"PageSize": 2}))
    assert [[f["FunctionName"] for f in page["Functions"]] for page in pages] == [["a", "b"], ["c"]]
    assert refused(aws.list_functions, Marker="%%%")[:2] == ("InvalidParameterValueException", 400)
    assert refused(aws.list_functions, MaxItems=10_001)[:2] == (
        "InvalidParameterValueException",
        400,
    )
    assert refused(aws.get_function, FunctionName="plain")[:2] == ("ResourceNotFoundException", 404)
    assert answer(aws, "plain", {"n": 1}) == ({"n": 1}, None)  # it can be invoked all the same


def test_functions_and_machines_share_names(aws, server, deployed):
    machines = client_of(server, "stepfunctions")
    definition = '{"StartAt": "A", "States": {"A": {"Type": "Pass", "End": true}}}'
    arn = machines.create_state_machine(name="a-machine", definition=definition, roleArn=ROLE)
    deployed("a-function")

    code = {"ZipFile": ARCHIVES[PYTHON]}
    assert refused(
        aws.create_function, FunctionName="a-machine", Runtime=PYTHON, Handler="handler.handler", Role=ROLE, Code=code
    )[2] == "Function already exist: a-machine (an action that is not a Lambda function has this name)"  # fmt: skip
    assert refused(
        aws.create_function, FunctionName="a-function", Runtime=PYTHON, Handler="handler.handler", Role=ROLE, Code=code
    )[2] == "Function already exist: a-function"  # fmt: skip
    said = refused(machines.create_state_machine, name="a-function", definition=definition, roleArn=ROLE)[2]  # fmt: skip
    assert said.endswith("stateMachine:a-function' (an action has this name, and is no state machine)")  # fmt: skip
    machines.delete_state_machine(stateMachineArn=arn["stateMachineArn"])
