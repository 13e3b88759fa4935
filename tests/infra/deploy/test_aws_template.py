"""`serverless.yml` of a bundle: roles, networks, secrets and limits of single actions."""

from __future__ import annotations

import json

import pytest

from tests.kit.deploy.archives import wheel, zipped
from xingqiao import composer
from xingqiao.actions import define_action
from xingqiao.composer import Name
from xingqiao.infra.deploy import BundleError, Options, Source, bundle
from xingqiao.infra.deploy.aws import write
from xingqiao.infra.deploy.aws_template import document
from xingqiao.infra.deploy.bundles import Parts
from xingqiao.infra.deploy.options import Placed, Vpc

PYTHON = {"kind": "python:3", "code": "def main(p): return p"}
HTTP = {"kind": "http", "function": "https://example.com/", "credentials": "key"}
MACHINE = "arn:aws:states:eu-west-1:123456789012:stateMachine:ship"


def made(exec=PYTHON, *, limits=None, **options):
    """The function and the role of an action `a`."""
    action = define_action(Name.parse("a"), {"exec": exec, "limits": limits or {}}, None, 0)
    parts = Parts(programs={}, actions={"/_/a": action})
    doc = document("app", parts, Options(**options), {"/_/a": "actionA"}, {"": "code.zip"})
    role = doc["resources"]["Resources"].get("ActionARole")
    return doc["functions"]["actionA"], role and role["Properties"], doc


def allowed(role):
    """The permissions of a role beside those of every action."""
    (policy,) = role["Policies"]
    return {
        action: [json.dumps(one) for one in statement["Resource"]]
        for statement in policy["PolicyDocument"]["Statement"][2:]
        for action in statement["Action"]
    }


def test_an_action_has_its_own_limits_and_its_own_role():
    function, role, _ = made(limits={"timeout": 90_500, "memory": 512})

    assert (function["timeout"], function["memorySize"]) == (91, 512)
    assert function["role"] == "ActionARole"
    assert allowed(role) == {}


def test_a_role_that_exists_takes_the_place_of_the_bundles():
    arn = "arn:aws:iam::123456789012:role/charge"

    function, role, _ = made(actions={"a": Placed(role=arn)})

    assert (function["role"], role) == (arn, None)


def test_a_policy_is_attached_to_the_role():
    arn = "arn:aws:iam::aws:policy/AmazonS3ReadOnlyAccess"

    _, role, _ = made(actions={"a": Placed(policies=[arn])})

    assert role["ManagedPolicyArns"] == [arn]


def test_actions_run_in_the_network_and_the_conductor_does_not():
    function, role, doc = made(vpc=Vpc(subnets=["subnet-1"], security_groups=["sg-1"]))

    assert function["vpc"] == {"subnetIds": ["subnet-1"], "securityGroupIds": ["sg-1"]}
    assert "AWSLambdaVPCAccessExecutionRole" in json.dumps(role["ManagedPolicyArns"])
    assert "vpc" not in doc["functions"]["conductor"]


@pytest.mark.parametrize(("platform", "architecture"), [("x86-64", "x86_64"), ("arm64", "arm64")])
def test_functions_run_on_the_processor_that_was_asked_for(platform, architecture):
    assert made(platform=platform)[2]["provider"]["architecture"] == architecture


@pytest.mark.parametrize(
    ("place", "permission", "resource"),
    [
        ({"ssm": "/prod/key"}, "ssm:GetParameter", ":parameter/prod/key"),
        ({"secretsmanager": "prod/key"}, "secretsmanager:GetSecretValue", ":secret:prod/key-??????"),
        ({"secretsmanager": "arn:aws:secretsmanager:eu-west-1:1:secret:k-abcdef"}, "secretsmanager:GetSecretValue",
         '"arn:aws:secretsmanager:eu-west-1:1:secret:k-abcdef"'),
    ],
)  # fmt: skip
def test_a_secret_is_named_and_may_be_read_by_its_own_action_alone(place, permission, resource):
    function, role, doc = made(HTTP, secrets={"key": place, "another": {"ssm": "/other"}})

    assert json.loads(function["environment"]["XINGQIAO_REFERENCES"]) == {
        "XINGQIAO_SECRET_key": place
    }
    ((one,),) = allowed(role).values()
    assert list(allowed(role)) == [permission]
    assert resource in one
    assert "/other" not in json.dumps(doc)


def test_a_secret_without_a_place_says_how_to_give_one():
    with pytest.raises(
        BundleError,
        match=r"action a: the place of its credentials 'key' is not known: give --config",
    ):
        made(HTTP)


@pytest.mark.parametrize(
    ("exec", "permission", "resource"),
    [
        ({"kind": "aws:lambda", "function": "charge:live"}, "lambda:InvokeFunction", ':function:charge"'),
        ({"kind": "aws:lambda", "function": "charge", "region": "eu-west-1"}, "lambda:InvokeFunction",
         'lambda:eu-west-1:${AWS::AccountId}:function:charge"'),
        ({"kind": "aws:lambda", "function": "arn:aws:lambda:eu-west-1:123456789012:function:charge:live"},
         "lambda:InvokeFunction", '"arn:aws:lambda:eu-west-1:123456789012:function:charge"'),
        ({"kind": "aws:lambda", "function": "charge", "mode": "durable"}, "lambda:GetDurableExecution", ":function:charge:*"),
        ({"kind": "aws:states", "function": MACHINE}, "states:StartExecution", f'"{MACHINE}"'),
        ({"kind": "aws:states", "function": MACHINE}, "states:DescribeExecution",
         '"arn:aws:states:eu-west-1:123456789012:execution:ship:*"'),
    ],
)  # fmt: skip
def test_a_function_of_aws_may_be_invoked_and_nothing_else(exec, permission, resource):
    may = allowed(made(exec)[1])

    assert any(resource in one for one in may[permission])
    assert {action.partition(":")[0] for action in may} == {permission.partition(":")[0]}


def test_a_function_elsewhere_has_time_to_send_its_answer():
    assert (
        made(
            {**HTTP, "credentials": "ambient", "kind": "aws:lambda", "function": "f"},
            limits={"timeout": 60_000},
        )[0]["timeout"]
        == 80
    )
    assert (
        made({"kind": "aws:lambda", "function": "f"}, limits={"timeout": 3_600_000})[0]["timeout"]
        == 900
    )


@pytest.mark.parametrize("later", [True, False])
def test_a_step_that_answers_later_is_completed_by_a_request_of_its_own(later):
    notes = [{"key": "completion", "value": "callback"}] if later else []
    action = define_action(Name.parse("a"), {"exec": PYTHON, "annotations": notes}, None, 0)
    parts = Parts(programs={}, actions={"/_/a": action})

    doc = document("app", parts, Options(), {"/_/a": "actionA"}, {"": "code.zip"})

    routes = [
        event["httpApi"] for event in doc["functions"]["conductor"]["events"] if "httpApi" in event
    ]
    found = [route for route in routes if route["path"] == "/completions/{token}"]
    assert [(route["method"], route["authorizer"]) for route in found] == [
        ("POST", {"type": "aws_iam"})
    ] * later
    assert parts.deployed()["actions"]["/_/a"].get("answers_later", False) is later


# --- archives ------------------------------------------------------------------------------------


def source(tmp_path, **documents):
    options = Options(wheels=tmp_path / "wheels")
    return Source(
        compositions={"main": composer.sequence(*documents)}, actions=documents, options=options
    )


def test_an_action_of_one_file_shares_an_archive_and_any_other_has_its_own(tmp_path):
    wheel(tmp_path / "wheels", "tiny")
    given = source(
        tmp_path,
        one={"exec": PYTHON},
        two={"exec": {**PYTHON, "requirements": ["tiny"]}},
        three={"exec": {"kind": "python:3", "code": zipped(main_py="def main(p): return p")}},
        four={"exec": {"kind": "nodejs:20", "code": "exports.main = p => p"}},
        five={"exec": {"kind": "http", "function": "https://example.com/"}},
    )

    bundle("app", given, "aws", tmp_path / "out")

    archives = {path.name for path in (tmp_path / "out").glob("*.zip")}
    assert archives == {
        "code.zip",
        "actionTwo.zip",
        "actionThree.zip",
        "actionFour.zip",
        "actionFive.zip",
    }
    template = (tmp_path / "out/serverless.yml").read_text()
    assert template.count("artifact: actionTwo.zip") == 1
    assert template.count("runtime: nodejs22.x") == 1


def test_the_files_of_a_function_have_a_limit(tmp_path):
    given = source(tmp_path, a={"exec": {"kind": "nodejs:20", "code": "exports.main = p => p"}})
    size = _size(tmp_path, given)

    write("app", given, tmp_path / "fits", most_bytes=size)
    with pytest.raises(
        BundleError, match=r"the code and its requirements have .* and Lambda allows"
    ):
        write("app", given, tmp_path / "large", most_bytes=size - 1)
    assert not (tmp_path / "large").exists()


def _size(tmp_path, given):
    """The bytes of the largest function of a bundle: its conductor."""
    write("app", given, tmp_path / "measured")
    code = tmp_path / "measured/code"
    return sum(path.stat().st_size for path in code.rglob("*") if path.is_file())
