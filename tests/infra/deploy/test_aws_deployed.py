"""A bundle for AWS with all kinds of actions, deployed by an unmodified `osls` to an emulator, and run there."""

from __future__ import annotations

import json

import pytest

from tests.kit.deploy.archives import wheel, zipped
from tests.rigs.answers import answer
from tests.rigs.ministack import ministack
from tests.rigs.strict_host import strict_host
from xingqiao import composer
from xingqiao.infra.deploy import Source, bundle, read_options

ACTIVATION = "0" * 31 + "7"
RECORD = {
    "activationId": ACTIVATION,
    "response": {"success": True, "statusCode": 0, "result": {"far": True}},
}
WHISK = "/api/v1/namespaces/_"

PROJECT = zipped(
    main_py="import inner.units, json, os, tiny\n"
    "def go(params):\n"
    "    said = {'setting': os.environ['SETTING'], 'secret': os.environ['SECRET']}\n"
    "    return {**params, **said, 'python': inner.units.doubled(tiny.ONE)}\n",
    inner__units_py="def doubled(n):\n    return 2 * n\n",
)
PACKAGE = zipped(
    package_json='{"main": "lib/start.js"}',
    lib__start_js="const { add } = require('./add')\n"
    "exports.main = async params => ({ ...params, node: add(1, 2), key: process.env.__OW_IDEMPOTENCY_KEY.length > 0 })\n",
    lib__add_js="exports.add = (a, b) => a + b\n",
)
PLAIN = "function main (params) {\n  if (params.fail) throw new TypeError('why')\n  return { ...params, plain: true }\n}\n"
CONFIG = """
[secrets]
whisk = {secretsmanager = "prod/whisk"}

[action.project]
environment = {SETTING = "blue", SECRET = {ssm = "/prod/secret"}}

[action.far]
environment = {XINGQIAO_EGRESS_ALLOW = "127.0.0.1"}
"""

pytestmark = pytest.mark.timeout(400)  # npm and pip install, the first time


def documents(host):
    far = {
        "kind": "openwhisk:action",
        "function": "hello",
        "host": host.url,
        "credentials": "whisk",
    }
    return {
        "project": {
            "exec": {"kind": "python:3", "code": PROJECT, "binary": True, "main": "go", "requirements": ["tiny==1.0"]},
        },
        "package": {"exec": {"kind": "nodejs:20", "code": PACKAGE, "binary": True}},
        "plain": {"exec": {"kind": "nodejs:20", "code": PLAIN}, "limits": {"memory": 512, "timeout": 30_000}},
        "far": {"exec": far, "annotations": [{"key": "idempotent", "value": True}]},
        "ask": {
            "exec": {"kind": "nodejs:20", "code": "exports.main = () => ({ asked: process.env.__OW_COMPLETION_TOKEN })"},
            "annotations": [{"key": "completion", "value": "callback"}],
        },
        "near": {"exec": {"kind": "aws:lambda", "function": "near"}},
    }  # fmt: skip


def deployed(cloud, tmp_path, host):
    wheel(tmp_path / "wheels", "tiny", source="ONE = 1\n")
    (tmp_path / "bundle.toml").write_text(CONFIG)
    steps = composer.sequence(
        "project", "package", "plain", composer.merge("far"), composer.merge("near")
    )
    source = Source(
        compositions={
            "all": steps,
            "approved": composer.sequence("ask"),
            "handled": composer.do("plain", composer.literal({"caught": True}), errors="TypeError"),
        },
        actions=documents(host),
        options=read_options(tmp_path / "bundle.toml", wheels=tmp_path / "wheels"),
    )
    bundle("kinds", source, "aws", tmp_path / "bundle")
    _set_up(cloud)
    return cloud.deploy(tmp_path / "bundle")


def _set_up(cloud):
    """What stands in the account before: a secret, a parameter, and a function that is not of the bundle."""
    cloud.client("secretsmanager").create_secret(
        Name="prod/whisk",
        SecretString=json.dumps({"type": "basic", "username": "id", "password": "key-of-tests"}),
    )
    cloud.client("ssm").put_parameter(Name="/prod/secret", Value="s3cret", Type="SecureString")
    code = zipped(index_js="exports.handler = async event => ({ near: event.plain })\n")
    import base64

    cloud.client("lambda").create_function(
        FunctionName="near", Runtime="nodejs22.x", Role="arn:aws:iam::000000000000:role/near",
        Handler="index.handler", Code={"ZipFile": base64.b64decode(code)},
    )  # fmt: skip


def _approved(cloud, api):
    """Begins an execution whose one step answers later, and completes the step."""
    _, _, begun = cloud.insist(api, "POST", "/approved", {})
    path = f"/executions/{begun['executionId']}"
    (wait,) = cloud.ask(api, "GET", path)[2]["waits"]
    completed = f"/completions/{wait['token']}"
    assert cloud.insist(api, "POST", completed, {"approved": True})[0] == 202
    assert cloud.insist(api, "POST", completed, {"approved": True})[0] == 404
    return cloud.ended(api, begun["executionId"])


def test_actions_of_all_kinds_run_where_they_are_deployed(tmp_path):
    (tmp_path / "cloud").mkdir()
    with strict_host() as host, ministack(tmp_path / "cloud", node=True) as cloud:
        basic = {"authorization": "Basic aWQ6a2V5LW9mLXRlc3Rz"}
        begun = answer({"activationId": ACTIVATION}, status=202)
        host.on("POST", f"{WHISK}/actions/hello", begun, needs=basic)
        not_yet = answer({"error": "not yet"}, status=404)
        host.on("GET", f"{WHISK}/activations/{ACTIVATION}", not_yet, answer(RECORD), needs=basic)
        api = deployed(cloud, tmp_path, host)

        _, _, begun = cloud.insist(api, "POST", "/all", {"n": 1})
        seen = cloud.ended(api, begun["executionId"])
        status, _, handled = cloud.insist(
            api, "POST", "/handled", {"fail": True}, {"Prefer": "wait=20"}
        )

        approved = _approved(cloud, api)
        functions = {
            f["FunctionName"]: f for f in cloud.client("lambda").list_functions()["Functions"]
        }
    assert seen["result"] == {
        "n": 1, "setting": "blue", "secret": "s3cret", "python": 2, "node": 3, "key": True, "plain": True,
        "far": True, "near": True,
    }, seen  # fmt: skip
    assert (status, handled["result"]) == (200, {"caught": True})
    assert approved["result"] == {"approved": True}
    plain = functions["kinds-dev-actionPlain"]
    assert (plain["MemorySize"], plain["Timeout"], plain["Runtime"]) == (512, 30, "nodejs22.x")
    roles = [f["Role"] for name, f in functions.items() if name.startswith("kinds-")]
    assert len(set(roles)) == len(roles) == 7
