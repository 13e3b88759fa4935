"""URLs of functions: configured by AWS' own client, kept over crashes."""

from __future__ import annotations

import signal

import httpx
import pytest

from tests.kit.infra.servers import AUTH, running
from tests.kit.lambdas.clients import ARN, client_of, refused, returning
from tests.kit.lambdas.urls import PUBLIC, public


def test_a_url_is_configured(aws, server, name):
    cors = {"AllowOrigins": ["*"], "AllowMethods": ["GET"], "MaxAge": 5}
    made = aws.create_function_url_config(FunctionName=name, AuthType="NONE", Cors=cors)

    assert made["ResponseMetadata"]["HTTPStatusCode"] == 201
    assert made["FunctionUrl"].startswith(f"{server.url}/lambda-url/")
    assert (made["FunctionArn"], made["Cors"], made["InvokeMode"]) == (
        f"{ARN}{name}",
        cors,
        "BUFFERED",
    )
    twice = refused(aws.create_function_url_config, FunctionName=name, AuthType="NONE")
    assert twice[:2] == ("ResourceConflictException", 409)
    changed = aws.update_function_url_config(FunctionName=name, AuthType="AWS_IAM")
    assert (changed["AuthType"], changed["Cors"]) == ("AWS_IAM", cors)
    found = aws.get_function_url_config(FunctionName=name)
    assert (found["FunctionUrl"], found["AuthType"]) == (made["FunctionUrl"], "AWS_IAM")
    aws.publish_version(FunctionName=name)
    aws.create_alias(FunctionName=name, Name="prod", FunctionVersion="1")
    aws.create_function_url_config(FunctionName=name, Qualifier="prod", AuthType="NONE")
    pages = aws.get_paginator("list_function_url_configs").paginate(
        FunctionName=name, PaginationConfig={"PageSize": 1}
    )
    listed = [[one["FunctionArn"] for one in page["FunctionUrlConfigs"]] for page in pages]
    assert listed == [[f"{ARN}{name}"], [f"{ARN}{name}:prod"]]
    aws.delete_function_url_config(FunctionName=name)
    gone = ("ResourceNotFoundException", 404)
    assert refused(aws.get_function_url_config, FunctionName=name)[:2] == gone
    assert refused(aws.delete_function_url_config, FunctionName=name)[:2] == gone
    assert httpx.get(made["FunctionUrl"]).status_code == 404


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"AuthType": "SOME"}, "ValidationException"), ({"Qualifier": "1"}, "InvalidParameterValueException"),
        ({"Qualifier": "$LATEST"}, "InvalidParameterValueException"), ({"Qualifier": "none"}, "ResourceNotFoundException"),
        ({"InvokeMode": "RESPONSE_STREAM"}, "InvalidParameterValueException"),
        ({"Cors": {"MaxAge": 86_401}}, "ValidationException"), ({"Cors": {"AllowMethods": ["X"]}}, "InvalidParameterValueException"),
        ({"Cors": {"AllowMethods": ["GET"] * 7}}, "ValidationException"), ({"Cors": {"AllowOrigins": ["a"]}}, "InvalidParameterValueException"),
        ({"Cors": {"AllowOrigins": [""]}}, "ValidationException"), ({"Cors": {"AllowHeaders": ["h"] * 101}}, "ValidationException"),
    ],
)  # fmt: skip
def test_a_url_that_cannot_be_is_refused(aws, name, options, code):
    given = {"FunctionName": name, "AuthType": "NONE", **options}

    assert refused(aws.create_function_url_config, **given)[0] == code
    assert aws.list_function_url_configs(FunctionName=name)["FunctionUrlConfigs"] == []


def test_limits_of_cors_are_those_of_aws(aws, name):
    cors = {
        "MaxAge": 86_400, "AllowHeaders": ["h"] * 100, "AllowMethods": ["*"] * 6, "AllowOrigins": ["http://" + "a" * 246],
    }  # fmt: skip

    made = aws.create_function_url_config(FunctionName=name, AuthType="NONE", Cors=cors)
    assert made["Cors"] == cors


def test_the_url_of_an_alias_calls_its_version(aws, name):
    aws.publish_version(FunctionName=name)
    aws.update_function_code(FunctionName=name, ZipFile=returning("second"), Publish=True)
    aws.create_alias(FunctionName=name, Name="prod", FunctionVersion="1")
    url = aws.create_function_url_config(FunctionName=name, Qualifier="prod", AuthType="NONE")[
        "FunctionUrl"
    ]
    aws.add_permission(FunctionName=name, Qualifier="prod", **PUBLIC)

    assert httpx.get(url).text == "first"
    aws.update_alias(FunctionName=name, Name="prod", FunctionVersion="2")
    assert httpx.get(url).text == "second"
    aws.delete_alias(FunctionName=name, Name="prod")
    assert httpx.get(url).status_code == 404


def test_a_url_is_the_same_after_a_crash(tmp_path):
    with running(tmp_path, "--auth", AUTH, "--isolation", "none") as server:
        url = public(client_of(server), "kept")
        server.stop(signal.SIGKILL)
    with running(tmp_path, "--auth", AUTH, "--isolation", "none") as server:
        path = httpx.URL(url).path
        assert httpx.get(f"{server.url}{path}").text == "first"
