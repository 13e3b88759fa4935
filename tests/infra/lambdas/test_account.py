"""Limits of the account, reserved concurrency, and what tools ask for."""

from __future__ import annotations

from tests.kit.lambdas.clients import ARN, refused


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
