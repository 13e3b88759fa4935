"""Tools that deploy functions: AWS' command line, and the framework Chalice."""

from __future__ import annotations

import json
from functools import partial

import httpx
import pytest

from tests.kit.infra.servers import AUTH
from tests.kit.lambdas.clients import ARN, ROLE, answered, archive, refused
from tests.rigs.tools import tool

APP = """
import os
from chalice import Chalice

app = Chalice(app_name="shop")

@app.lambda_function(name="hello")
def hello(event, context):
    return [os.environ["COLOUR"], event]
"""
CONFIG = {
    "version": "2.0", "app_name": "shop", "manage_iam_role": False, "iam_role_arn": ROLE, "tags": {"team": "x"},
    "lambda_timeout": 5, "reserved_concurrency": 3, "environment_variables": {"COLOUR": "red"},
    "stages": {"dev": {}},
}  # fmt: skip
TOLD = "import json\ndef handler(event, context):\n    return [context.function_version, event.get('rawPath')]\n"


@pytest.fixture
def aws_cli(server, tmp_path):
    run = partial(tool, "aws", "lambda", server=server.url, key=AUTH, folder=tmp_path)
    return lambda *arguments: json.loads(run(*arguments, "--output", "json") or "null")


@pytest.mark.timeout(300)
def test_the_command_line_deploys_a_function_with_all_around_it(aws_cli, tmp_path):
    (tmp_path / "upload.zip").write_bytes(archive(TOLD))
    made = aws_cli(
        "create-function", "--function-name", "cli", "--runtime", "python3.11", "--handler", "handler.handler",
        "--role", ROLE, "--zip-file", "fileb://upload.zip", "--tags", "team=x", "--publish",
    )  # fmt: skip
    assert made["Version"] == "1"
    for waiter, more in (
        ("function-active-v2", ()),
        ("published-version-active", ("--qualifier", "1")),
    ):
        aws_cli("wait", waiter, "--function-name", "cli", *more)
    aws_cli("create-alias", "--function-name", "cli", "--name", "prod", "--function-version", "1")
    aws_cli(
        "add-permission", "--function-name", "cli", "--qualifier", "prod", "--statement-id", "url", "--action",
        "lambda:InvokeFunctionUrl", "--principal", "*", "--function-url-auth-type", "NONE",
    )  # fmt: skip
    url = aws_cli(
        "create-function-url-config",
        "--function-name",
        "cli",
        "--qualifier",
        "prod",
        "--auth-type",
        "NONE",
    )["FunctionUrl"]

    assert httpx.get(f"{url}a/b").json() == ["1", "/a/b"]
    assert aws_cli("list-tags", "--resource", f"{ARN}cli") == {"Tags": {"team": "x"}}
    listed = aws_cli("list-versions-by-function", "--function-name", "cli", "--page-size", "1")
    assert [one["Version"] for one in listed["Versions"]] == ["$LATEST", "1"]


@pytest.mark.timeout(300)
def test_chalice_deploys_changes_and_deletes_an_application(aws, server, tmp_path):
    (tmp_path / ".chalice").mkdir()
    (tmp_path / ".chalice" / "config.json").write_text(json.dumps(CONFIG))
    (tmp_path / "app.py").write_text(APP)
    (tmp_path / "requirements.txt").touch()
    chalice = partial(tool, "chalice", server=server.url, key=AUTH, folder=tmp_path)

    assert f"{ARN}shop-dev-hello" in chalice("deploy")
    assert json.loads(chalice("invoke", "-n", "hello", given='{"n": 1}')) == ["red", {"n": 1}]
    tags = aws.list_tags(Resource=f"{ARN}shop-dev-hello")["Tags"]
    assert (tags["team"], tags["aws-chalice"].split(":")[-1]) == ("x", "app=shop")
    found = aws.get_function_concurrency(FunctionName="shop-dev-hello")
    assert found["ReservedConcurrentExecutions"] == 3
    (tmp_path / "app.py").write_text(APP.replace("[os", "['changed', os"))
    chalice("deploy")
    assert answered(aws, "shop-dev-hello", Payload=b"1")[0] == ["changed", "red", 1]
    chalice("delete")
    assert refused(aws.get_function, FunctionName="shop-dev-hello")[1] == 404
