"""AWS' own client for Python, before a real server."""

from __future__ import annotations

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from tests.kit.infra.servers import AUTH, KEY, USER, running
from tests.kit.stepfunctions.machines import DEFINITION, ROLE


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with running(tmp_path_factory.mktemp("aws"), "--auth", AUTH, "--isolation", "none") as made:
        yield made


def client_of(server, key_id=USER, secret=KEY, session=None):
    return boto3.client(
        "stepfunctions",
        endpoint_url=server.url,
        region_name="eu-north-1",
        aws_access_key_id=key_id,
        aws_secret_access_key=secret,
        aws_session_token=session,
        config=Config(inject_host_prefix=False, retries={"max_attempts": 1}),
    )


def test_machines_are_made_listed_and_deleted(server):
    client = client_of(server)
    for number in range(5):
        client.create_state_machine(name=f"listed-{number}", definition=DEFINITION, roleArn=ROLE)

    pages = list(
        client.get_paginator("list_state_machines").paginate(PaginationConfig={"PageSize": 2})
    )

    machines = [machine for page in pages for machine in page["stateMachines"]]
    assert [machine["name"] for machine in machines] == [f"listed-{n}" for n in range(5)]
    assert machines[0]["creationDate"].tzinfo is not None
    for machine in machines:
        client.delete_state_machine(stateMachineArn=machine["stateMachineArn"])
    assert client.list_state_machines()["stateMachines"] == []


def test_an_error_is_the_exception_that_the_client_has_for_it(server):
    client = client_of(server)
    arn = "arn:aws:states:us-east-1:111111111111:stateMachine:nothing"

    with pytest.raises(client.exceptions.StateMachineDoesNotExist) as caught:
        client.describe_state_machine(stateMachineArn=arn)

    answer = caught.value.response
    assert answer["Error"]["Message"] == f"State Machine Does Not Exist: '{arn}'"
    assert answer["ResponseMetadata"]["HTTPStatusCode"] == 400
    assert len(answer["ResponseMetadata"]["RequestId"]) == 36


@pytest.mark.parametrize(
    ("credentials", "code"),
    [
        (("nobody", KEY), "UnrecognizedClientException"),
        ((USER, "wrong"), "InvalidSignatureException"),
    ],
)
def test_who_has_not_the_key_is_not_let_in(server, credentials, code):
    with pytest.raises(ClientError) as caught:
        client_of(server, *credentials).list_state_machines()

    assert caught.value.response["Error"]["Code"] == code


def test_an_action_signs_with_the_key_that_it_is_given(server):
    code = "import os\ndef main(params):\n    return {'key': os.environ['__OW_API_KEY']}\n"
    action = {
        "exec": {"kind": "python:3", "code": code},
        "annotations": [{"key": "provide-api-key", "value": True}],
    }
    with server.client() as owner:
        assert owner.put("/actions/keyed", json=action).status_code == 200
        asked = {"blocking": "true", "result": "true"}
        given = owner.post("/actions/keyed", params=asked, json={}).json()["key"]
    user, _, key = given.partition(":")

    client = client_of(server, user, key, key.rpartition("-")[0])

    assert client.list_state_machines()["stateMachines"] == []
