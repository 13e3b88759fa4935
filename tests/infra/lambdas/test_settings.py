"""Rules for events, reserved concurrency and the account, with AWS' own client, against a server that runs."""

from __future__ import annotations

import threading

import httpx
import pytest

from tests.kit.lambdas.clients import ARN, answered, archive, create, refused
from xingqiao.infra.aws import AwsError
from xingqiao.infra.lambdas.calls_under_way import CallsUnderWay


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


def unreserved(aws):
    return aws.get_account_settings()["AccountLimit"]["UnreservedConcurrentExecutions"]


def test_reserved_concurrency_is_set_shown_and_dropped(aws, name):
    left = unreserved(aws)
    assert "ReservedConcurrentExecutions" not in aws.get_function_concurrency(FunctionName=name)
    made = aws.put_function_concurrency(FunctionName=name, ReservedConcurrentExecutions=5)
    assert made["ReservedConcurrentExecutions"] == 5
    assert aws.get_function_concurrency(FunctionName=name)["ReservedConcurrentExecutions"] == 5
    assert aws.get_function(FunctionName=name)["Concurrency"] == {"ReservedConcurrentExecutions": 5}
    assert unreserved(aws) == left - 5
    most = left - 100
    aws.put_function_concurrency(FunctionName=name, ReservedConcurrentExecutions=most)
    said = refused(
        aws.put_function_concurrency, FunctionName=name, ReservedConcurrentExecutions=most + 1
    )
    assert said[:2] == ("InvalidParameterValueException", 400)
    assert "below its minimum value of [100]" in said[2]
    aws.delete_function_concurrency(FunctionName=name)
    assert "Concurrency" not in aws.get_function(FunctionName=name)


def test_a_function_without_concurrency_is_not_called(aws, name):
    aws.put_function_concurrency(FunctionName=name, ReservedConcurrentExecutions=0)

    for kind in ("RequestResponse", "Event"):
        with pytest.raises(aws.exceptions.TooManyRequestsException) as refusal:
            aws.invoke(FunctionName=name, InvocationType=kind)
        response = refusal.value.response
        assert response["Reason"] == "ReservedFunctionConcurrentInvocationLimitExceeded"
        assert response["retryAfterSeconds"] == "1"
    aws.add_permission(
        FunctionName=name, StatementId="u", Action="lambda:InvokeFunctionUrl", Principal="*"
    )
    url = aws.create_function_url_config(FunctionName=name, AuthType="NONE")["FunctionUrl"]
    assert httpx.get(url).status_code == 429
    aws.put_function_concurrency(FunctionName=name, ReservedConcurrentExecutions=1)
    assert answered(aws, name) == ("first", "$LATEST")
    assert httpx.get(url).text == "first"


def test_as_many_calls_run_at_the_same_time_as_are_reserved():
    calls = CallsUnderWay()

    with calls.counted("a", 2), calls.counted("a", 2), calls.counted("b", 1):
        with pytest.raises(AwsError, match="Rate Exceeded"), calls.counted("a", 2):
            pass
        with calls.counted("a", None):
            pass
    with calls.counted("a", 1):
        pass


def test_a_call_that_fails_is_counted_no_longer():
    calls = CallsUnderWay()

    with pytest.raises(KeyError), calls.counted("a", 1):
        raise KeyError
    with calls.counted("a", 1):
        pass


def test_two_calls_at_once_are_one_too_many(aws, fresh, tmp_path):
    name, ready, go = fresh(), tmp_path / "ready", tmp_path / "go"
    waits = f"""
import os, time
def handler(event, context):
    open({str(ready)!r}, "w").close()
    while not os.path.exists({str(go)!r}):
        time.sleep(0.01)
    return "done"
"""
    create(aws, name, archive(waits), Timeout=60)
    aws.put_function_concurrency(FunctionName=name, ReservedConcurrentExecutions=1)
    found = []
    first = threading.Thread(target=lambda: found.append(answered(aws, name)))
    first.start()
    while not ready.exists():
        pass  # the first call starts
    assert refused(aws.invoke, FunctionName=name)[:2] == ("TooManyRequestsException", 429)
    go.touch()
    first.join()

    assert found == [("done", "$LATEST")]
    assert answered(aws, name) == ("done", "$LATEST")


def test_what_tools_ask_for_is_answered(aws, name):
    aws.publish_version(FunctionName=name)

    signing = aws.get_function_code_signing_config(FunctionName=name)
    assert (signing["FunctionName"], signing.get("CodeSigningConfigArn")) == (name, None)
    assert aws.get_runtime_management_config(FunctionName=name)["UpdateRuntimeOn"] == "Auto"
    versioned = aws.get_runtime_management_config(FunctionName=name, Qualifier="1")
    assert versioned["FunctionArn"] == f"{ARN}{name}:1"
    said = refused(aws.get_provisioned_concurrency_config, FunctionName=name, Qualifier="1")
    assert said[:2] == ("ProvisionedConcurrencyConfigNotFoundException", 404)
    assert aws.list_event_source_mappings(FunctionName=name)["EventSourceMappings"] == []
    usage = aws.get_account_settings()["AccountUsage"]
    assert usage["FunctionCount"] >= 1
    assert usage["TotalCodeSize"] > 0
    for operation in (
        aws.get_function_code_signing_config, aws.get_runtime_management_config, aws.get_function_concurrency,
    ):  # fmt: skip
        assert refused(operation, FunctionName="none")[:2] == ("ResourceNotFoundException", 404)
    aws.get_waiter("function_active_v2").wait(FunctionName=name)
    aws.get_waiter("function_exists").wait(FunctionName=name)


def test_only_the_configuration_that_was_read_is_changed(aws, name):
    before = aws.get_function_configuration(FunctionName=name)["RevisionId"]
    after = aws.update_function_configuration(FunctionName=name, Timeout=9, RevisionId=before)

    stale = refused(
        aws.update_function_configuration, FunctionName=name, Timeout=8, RevisionId=before
    )
    assert stale[:2] == ("PreconditionFailedException", 412)
    assert after["RevisionId"] != before
    assert aws.get_function_configuration(FunctionName=name)["Timeout"] == 9
