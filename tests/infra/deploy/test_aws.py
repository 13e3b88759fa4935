"""Bundles for AWS: what osls makes of them, and one that is deployed and goes through everything that fails."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.kit.deploy.hosts import Table
from tests.kit.deploy.tables import LAWS
from tests.rigs.ministack import ministack
from tests.rigs.osls import osls
from tests.rigs.venvs import python_of
from xingqiao import composer
from xingqiao.infra.cli.files import read
from xingqiao.infra.cli.requirements import ELSEWHERE
from xingqiao.infra.deploy import BundleError, Source, bundle

HERE = Path(__file__).parent
ROOT = HERE.parents[2]


def bundled(file, folder):
    """A file's bundle, as the command writes it."""
    contents = read(file, offered=ELSEWHERE["aws"])
    actions = {n: doc for n, doc in contents.documents().items() if n not in contents.compositions}
    source = Source(compositions=contents.compositions, actions=actions)
    bundle(file.stem, source, "aws", folder)
    return folder


# --- what osls makes of it -----------------------------------------------------------------------


@pytest.fixture(scope="module")
def packaged(tmp_path_factory):
    """The repository's own `serverless.yml`, packaged beside the bundle that it refers to."""
    folder = tmp_path_factory.mktemp("packaged")
    (folder / "serverless.yml").write_text((ROOT / "serverless.yml").read_text("utf-8"), "utf-8")
    bundled(ROOT / "examples/order/order.py", folder / "build/order")
    osls("package", folder=folder)
    return folder / ".serverless/cloudformation-template-update-stack.json"


def resources(packaged, kind):
    found = json.loads(packaged.read_text("utf-8"))["Resources"]
    return {name: it["Properties"] for name, it in found.items() if it["Type"] == kind}


def test_the_repositorys_serverless_yml_is_what_the_bundler_writes(tmp_path):
    written = bundled(ROOT / "examples/order/order.py", tmp_path) / "serverless.yml"
    ours = (ROOT / "serverless.yml").read_text("utf-8").splitlines(keepends=True)

    code = "".join(line for line in ours if not line.startswith("#"))

    assert code.replace("build/order/code.zip", "code.zip") == written.read_text("utf-8")


def test_the_template_is_in_order(packaged):
    linter = python_of("ministack").with_name("cfn-lint")

    # W3005: osls repeats in DependsOn what its HTTP API refers to
    done = subprocess.run(
        [linter, "-i", "W3005", "--", packaged], capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stdout + done.stderr


def test_nobody_may_do_more_than_its_work(packaged):
    roles = resources(packaged, "AWS::IAM::Role")
    functions = resources(packaged, "AWS::Lambda::Function")
    assert len(roles) == len(functions)  # each has one of its own
    allowed = {}
    for name, role in roles.items():
        assert "ManagedPolicyArns" not in role
        for policy in role["Policies"]:
            for statement in policy["PolicyDocument"]["Statement"]:
                assert statement["Effect"] == "Allow"
                assert "*" not in json.dumps([statement["Action"], statement["Resource"]])
                allowed.setdefault(name, set()).update(statement["Action"])
    logs = {"logs:CreateLogStream", "logs:PutLogEvents"}
    assert allowed.pop("ConductorRole") == logs | {
        "sqs:SendMessage", "sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes",
        "dynamodb:BatchWriteItem", "dynamodb:PutItem", "dynamodb:Query", "dynamodb:UpdateItem",
        "lambda:InvokeFunction",
    }  # fmt: skip
    assert all(may == logs | {"sqs:SendMessage"} for may in allowed.values())


def test_everything_is_there(packaged):
    functions = resources(packaged, "AWS::Lambda::Function")
    routes = resources(packaged, "AWS::ApiGatewayV2::Route")
    queues = resources(packaged, "AWS::SQS::Queue")
    (rule,) = resources(packaged, "AWS::Events::Rule").values()
    retries = resources(packaged, "AWS::Lambda::EventInvokeConfig").values()

    assert len(functions) == 8
    assert {function["RecursiveLoop"] for function in functions.values()} == {"Allow"}
    assert {route["RouteKey"] for route in routes.values()} >= {
        "POST /order", "GET /executions/{id}", "DELETE /executions/{id}",
    }  # fmt: skip
    assert {route["AuthorizationType"] for route in routes.values()} == {"AWS_IAM"}
    assert rule["ScheduleExpression"] == "rate(1 minute)"
    assert (
        queues["Completions"]["RedrivePolicy"]["deadLetterTargetArn"]["Fn::GetAtt"][0] == "SetAside"
    )
    assert {config["MaximumRetryAttempts"] for config in retries} == {0}
    assert all("OnFailure" in config["DestinationConfig"] for config in retries)
    # an event is not delivered once the conductor has given up: the limit is a minute, and 5 minutes more
    assert {config["MaximumEventAgeInSeconds"] for config in retries} == {240}
    (mapping,) = resources(packaged, "AWS::Lambda::EventSourceMapping").values()
    assert mapping["ScalingConfig"] == {"MaximumConcurrency": 8}


# --- what is deployed ----------------------------------------------------------------------------


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
def test_the_table_in_memory_keeps_the_laws(law):
    law(Table())


@pytest.mark.timeout(300)  # it is deployed, and waits for what a conductor has not sent
def test_deployed_it_survives_whatever_fails(tmp_path):
    folder = bundled(HERE / "faulty.py", tmp_path / "bundle")
    notes = tmp_path / "notes"
    notes.mkdir()
    (tmp_path / "cloud").mkdir()
    with ministack(tmp_path / "cloud") as cloud:
        api = cloud.deploy(folder)
        cloud.report_failures(_hurried(cloud))

        assert cloud.ask(api, "POST", "/faulty", {}, signed=False)[0] == 403
        assert cloud.ask(api, "POST", "/unheard-of", {})[0] == 404
        call = ("POST", "/faulty", {"notes": str(notes)}, {"Idempotency-Key": "one"})
        with _elsewhere(cloud):  # it is written down, and its first step cannot be sent
            assert cloud.ask(api, *call)[0] == 500
        # whoever wrote it might be about to send it: else the rule of each minute does
        status, headers, begun = cloud.ask(api, *call)
        assert (status, headers["Location"]) == (202, f"/executions/{begun['executionId']}")
        assert cloud.ask(api, *call)[2] == begun
        assert cloud.ask(api, "POST", "/faulty", {"notes": "others"}, call[3])[0] == 422
        _keeps_the_laws(cloud)

        seen = cloud.ended(api, begun["executionId"])
    assert seen["status"] == "succeeded"
    assert seen["result"] == {
        "notes": str(notes), "started": True, "twice": True, "died": True, "crashed": True,
        "value": [{"left": True}, {"error": {"code": "Wrong"}}],
    }  # fmt: skip
    assert (notes / "died").exists()
    calls = Counter((notes / "calls").read_text().splitlines())
    (key,) = [call for call in calls if call.startswith("twice ")]  # one key, both times
    assert calls == {"start": 1, key: 2, "crash": 1, "left": 1, "right": 1, "finish": 1}


@contextmanager
def _elsewhere(cloud):
    """The conductor looks for its actions where there are none."""
    functions, name = cloud.client("lambda"), "faulty-dev-conductor"
    environment = functions.get_function_configuration(FunctionName=name)["Environment"]
    wrong = {"Variables": {**environment["Variables"], "FUNCTIONS": "nowhere-"}}
    functions.update_function_configuration(FunctionName=name, Environment=wrong)
    yield
    functions.update_function_configuration(FunctionName=name, Environment=environment)


def _hurried(cloud):
    """Has a message that was not dealt with come again at once. The queue's ARN."""
    queues = cloud.client("sqs")
    (url,) = [url for url in queues.list_queues()["QueueUrls"] if "Completions" in url]
    queues.set_queue_attributes(QueueUrl=url, Attributes={"VisibilityTimeout": "3"})
    told = queues.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])
    return told["Attributes"]["QueueArn"]


def _keeps_the_laws(cloud):
    from xingqiao.infra.deploy.hosted.aws import DynamoTable

    client = cloud.client("dynamodb")
    (name,) = client.list_tables()["TableNames"]
    for law in LAWS:
        law(DynamoTable(client, name))


# --- what is refused -----------------------------------------------------------------------------


def test_a_name_that_is_none_for_a_service(tmp_path):
    contents = read(HERE / "faulty.py", offered=ELSEWHERE["aws"])
    source = Source(compositions=contents.compositions, actions={
        n: doc for n, doc in contents.documents().items() if n != "faulty"})  # fmt: skip

    with pytest.raises(BundleError, match="name: the name of a service must begin with a letter"):
        bundle("7th", source, "aws", tmp_path)


def test_a_composition_that_no_item_of_the_table_holds(tmp_path):
    source = Source(compositions={"c": composer.literal("x" * 400_000)}, actions={})

    with pytest.raises(BundleError, match="composition c: the compiled program has 4"):
        bundle("app", source, "aws", tmp_path)
