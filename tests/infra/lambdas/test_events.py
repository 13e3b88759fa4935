"""Rules for events, and how often one that fails is tried again."""

from __future__ import annotations

import signal

import pytest

from tests.kit.infra.servers import AUTH, running
from tests.kit.lambdas.clients import ARN, PYTHON, ROLE, archive, client_of, create, refused
from tests.kit.lambdas.handlers import ARCHIVES


def test_rules_for_events_are_set_changed_and_dropped(aws, name):
    missing = refused(aws.get_function_event_invoke_config, FunctionName=name)
    assert missing == (
        "ResourceNotFoundException", 404, f"The function {ARN}{name}:$LATEST doesn't have an EventInvokeConfig",
    )  # fmt: skip
    made = aws.put_function_event_invoke_config(
        FunctionName=name,
        MaximumRetryAttempts=1,
        DestinationConfig={"OnSuccess": {}, "OnFailure": {}},
    )
    assert (made["MaximumRetryAttempts"], made["MaximumEventAgeInSeconds"]) == (1, 21_600)
    assert made["FunctionArn"] == f"{ARN}{name}:$LATEST"
    aws.update_function_event_invoke_config(FunctionName=name, MaximumEventAgeInSeconds=60)
    found = aws.get_function_event_invoke_config(FunctionName=name)
    assert (found["MaximumRetryAttempts"], found["MaximumEventAgeInSeconds"]) == (1, 60)
    assert found["LastModified"] >= made["LastModified"]
    aws.put_function_event_invoke_config(FunctionName=name, MaximumEventAgeInSeconds=61)
    assert aws.get_function_event_invoke_config(FunctionName=name)["MaximumRetryAttempts"] == 2
    aws.publish_version(FunctionName=name)
    aws.put_function_event_invoke_config(FunctionName=name, Qualifier="1", MaximumRetryAttempts=0)
    pages = aws.get_paginator("list_function_event_invoke_configs").paginate(
        FunctionName=name, PaginationConfig={"PageSize": 1}
    )
    listed = [one["FunctionArn"] for page in pages for one in page["FunctionEventInvokeConfigs"]]
    assert listed == [f"{ARN}{name}:$LATEST", f"{ARN}{name}:1"]
    aws.delete_function_event_invoke_config(FunctionName=name)
    assert refused(aws.delete_function_event_invoke_config, FunctionName=name)[1] == 404
    assert refused(aws.update_function_event_invoke_config, FunctionName=name, MaximumRetryAttempts=1)[1] == 404  # fmt: skip


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"MaximumRetryAttempts": 3}, "ValidationException"), ({"MaximumEventAgeInSeconds": 59}, "ValidationException"),
        ({"MaximumEventAgeInSeconds": 21_601}, "ValidationException"), ({}, "InvalidParameterValueException"),
        ({"DestinationConfig": {"OnFailure": {"Destination": "arn:aws:sqs:us-east-1:111111111111:q"}}}, "InvalidParameterValueException"),
    ],
)  # fmt: skip
def test_rules_for_events_that_cannot_be_are_refused(aws, name, options, code):
    assert refused(aws.put_function_event_invoke_config, FunctionName=name, **options)[0] == code


def test_an_event_is_not_retried_if_it_must_not_be(aws, server, fresh):
    name = fresh()
    create(aws, name, archive("def handler(event, context):\n    raise KeyError('one')\n"))
    aws.put_function_event_invoke_config(FunctionName=name, MaximumRetryAttempts=0)

    aws.invoke(FunctionName=name, InvocationType="Event", Payload=b"{}")

    with server.client() as client:
        (begun,) = client.get("/executions", params={"name": name}).json()
        record = client.get(f"/activations/{begun['executionId']}", params={"wait": 30_000}).json()
    assert record["response"]["success"] is False


def test_an_event_that_fails_is_tried_again_later_also_after_a_crash(tmp_path):
    def standing(server):
        with server.client() as client:
            (execution,) = client.get(
                "/executions", params={"name": "fails", "status": "running"}
            ).json()
            return client.get(f"/executions/{execution['executionId']}").json()

    with running(tmp_path, "--auth", AUTH, "--isolation", "none") as server:
        aws = client_of(server, "lambda")
        aws.create_function(
            FunctionName="fails", Runtime=PYTHON, Handler="handler.fails", Role=ROLE,
            Code={"ZipFile": ARCHIVES[PYTHON]},
        )  # fmt: skip
        aws.invoke(FunctionName="fails", InvocationType="Event", Payload=b"{}")
        while (waits := standing(server)["fibers"][0]["waits"]) != "timer":
            pass  # the function starts, or runs
        server.stop(signal.SIGKILL)
    with running(tmp_path, "--auth", AUTH, "--isolation", "none") as server:
        found = standing(server)

    assert (found["status"], found["fibers"][0]["waits"]) == ("running", waits)
