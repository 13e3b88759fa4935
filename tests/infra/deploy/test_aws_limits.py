"""What is too large for one item of DynamoDB or one message of SQS: it goes beside, or fails and says so."""

from __future__ import annotations

import json

import boto3
import pytest
from moto import mock_aws

from tests.kit.deploy import hosts
from tests.kit.deploy.tables import LAWS
from xingqiao import composer
from xingqiao.composer import compile, path
from xingqiao.infra.deploy.hosted import Change, Wrapped
from xingqiao.infra.deploy.hosted.aws import DynamoTable, Host
from xingqiao.infra.deploy.hosted.ports import TooLargeError

MESSAGE_BYTES = 262_144  # of an event of Lambda, and of a message of SQS
ROUNDS = 400  # deliveries after which something comes again for ever
TABLE = "executions"


class TooLongError(Exception):
    """AWS does not take it."""


class Cloud:
    """Lambda and SQS with their limits of size, and one conductor with moto's DynamoDB."""

    def __init__(self, folder, monkeypatch, compositions, actions):
        programs = {f"/_/{n}": compile(c).to_json() for n, c in compositions.items()}
        names = {f"/_/{n}": n for n in actions}
        document = {"programs": programs, "actions": {n: {} for n in names}, "functions": names}
        (folder / "deployed.json").write_text(json.dumps(document))
        for name, value in {"TABLE": TABLE, "QUEUE": "q", "FUNCTIONS": ""}.items():
            monkeypatch.setenv(name, value)
        clients = {"lambda": self, "sqs": self, "dynamodb": made_table()}
        monkeypatch.setattr(boto3, "client", lambda service, **_: clients[service])
        self.client, self.host, self.queue, self.rounds = clients["dynamodb"], Host(folder), [], 0
        self.wrapped = {}
        for name, action in actions.items():
            self.wrapped[name] = Wrapped.of_source(name, "", "main")
            self.wrapped[name]._function = action

    def invoke(self, **request):
        assert request["InvocationType"] == "Event"
        message = json.loads(taken(request["Payload"].decode()))
        answer = self.wrapped[request["FunctionName"]].run(message)
        self.queue.append(taken(json.dumps(answer)))

    def send_message_batch(self, **request):
        taken("".join(entry["MessageBody"] for entry in request["Entries"]))
        self.queue += [entry["MessageBody"] for entry in request["Entries"]]
        return {}

    def ask(self, method, path, body=None):
        context = {"http": {"method": method}}
        event = {
            "requestContext": context,
            "rawPath": path,
            "headers": {},
            "body": json.dumps(body),
        }
        answer = self.host(event, None)
        return answer["statusCode"], json.loads(answer["body"])

    def run(self, params):
        """How an execution of `main` has ended, once nothing more is to be delivered."""
        status, body = self.ask("POST", "/main", params)
        assert status == 202, body
        while self.queue:
            self.rounds += 1
            assert self.rounds < ROUNDS, "something comes again for ever"
            record = {"messageId": "1", "body": self.queue.pop(0)}
            if self.host({"Records": [record]}, None)["batchItemFailures"]:
                self.queue.append(record["body"])
        return self.ask("GET", f"/executions/{body['executionId']}")[1]


def taken(text):
    if len(text.encode()) > MESSAGE_BYTES:
        raise TooLongError(f"{len(text)} bytes")
    return text


def made_table():
    client = boto3.session.Session().client(
        "dynamodb", region_name="eu-west-1", aws_access_key_id="x", aws_secret_access_key="y"
    )
    keys = (("id", "HASH"), ("row", "RANGE"))
    due = (("shard", "HASH"), ("due", "RANGE"))
    client.create_table(
        TableName=TABLE, BillingMode="PAY_PER_REQUEST", KeySchema=schema(keys),
        AttributeDefinitions=[
            {"AttributeName": name, "AttributeType": kind}
            for name, kind in (("id", "S"), ("row", "S"), ("shard", "N"), ("due", "N"))
        ],
        GlobalSecondaryIndexes=[
            {"IndexName": "due", "KeySchema": schema(due), "Projection": {"ProjectionType": "KEYS_ONLY"}}
        ],
    )  # fmt: skip
    return client


def schema(keys):
    return [{"AttributeName": name, "KeyType": kind} for name, kind in keys]


@pytest.fixture(autouse=True)
def region():
    with mock_aws():
        yield


@pytest.fixture
def cloud(tmp_path, monkeypatch):
    def make(main, others=None, **actions):
        compositions = {"main": main, **(others or {})}
        return Cloud(tmp_path, monkeypatch, compositions, actions)

    return make


def same(params):
    return params


def holding(count, size, *parts):
    """Holds so many variables of a size, then does the parts."""
    names = [f"v{at}" for at in range(count)]
    given = {name: f"{at}" * size for at, name in enumerate(names)}
    return composer.let(given, composer.sequence(*parts))


# --- what is to be sent ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("count", "size", "parts"), [(3, 120_000, 1), (1, 60_000, 8), (1, 200_000, 9)]
)
def test_parts_that_begin_by_themselves_take_their_state_with_them(cloud, count, size, parts):
    """360 KB and one part; 60 KB and eight, whose item had 483,749 bytes; nearly all that may be sent at once."""
    ran = []

    def note(params):
        ran.append(params)
        return params

    begun = [composer.asynchronous("note") for _ in range(parts)]

    seen = cloud(holding(count, size, *begun, "same"), note=note, same=same).run({"n": 1})

    assert seen["status"] == "succeeded"
    assert len(ran) == parts


def test_more_than_may_be_sent_at_once_is_a_failure_that_says_so(cloud):
    ran = []
    begun = [composer.asynchronous("note") for _ in range(10)]
    made = cloud(holding(1, 200_000, *begun, "same"), note=ran.append, same=same)

    seen = made.run({"n": 1})

    assert seen["status"] == "failed"
    assert seen["result"]["error"]["code"] == "LimitExceeded"
    assert "more than 1900000 bytes at once" in seen["result"]["error"]["message"]
    assert ran == [], "what could not be written has not begun"


@pytest.mark.parametrize(
    ("chars", "status"), [(39_000, "succeeded"), (45_000, "succeeded"), (52_000, "failed")]
)
def test_a_result_may_be_larger_than_a_message(cloud, chars, status):
    """Each character takes six bytes: below and above what SQS takes; then above what a step may return."""
    inner = composer.literal({"v": "\u00e9" * chars})
    main = composer.sequence("inner", composer.literal({"well": True}))

    seen = cloud(main, {"inner": inner}).run({})

    assert seen["status"] == status
    if status == "failed":
        assert "exceeded the allowed length" in seen["result"]["error"]


@pytest.mark.parametrize(("size", "status"), [(90_000, "succeeded"), (200_000, "failed")])
def test_what_no_event_of_lambda_holds_is_its_steps_failure(cloud, size, status):
    made = cloud(
        composer.do("same", composer.select({"said": path("$.error")})),
        same=lambda p: {"n": len(p["d"])},
    )
    settings = made.host._deployed.actions["/_/same"]
    settings.parameters["d"] = "d" * size

    seen = made.run({"x": "x" * 140_000})

    assert seen["status"] == "succeeded"
    if status == "succeeded":
        assert seen["result"] == {"n": size}
    else:
        assert seen["result"]["said"]["code"] == "LimitExceeded"
        assert "holds at most 240000" in seen["result"]["said"]["message"]


def test_an_error_of_many_bytes_is_told(cloud):
    def fail(params):
        raise ValueError("\u4e2d" * 149_000)

    seen = cloud(composer.do("fail", composer.literal({"caught": True})), fail=fail).run({})

    assert seen["result"] == {"caught": True}


# --- the table -------------------------------------------------------------------------------------


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
def test_dynamodb_keeps_the_laws(law):
    law(DynamoTable(made_table(), TABLE))


@pytest.mark.parametrize("more", [{}, {"0/1.0": {"fiber": "y"}}])
def test_what_no_item_holds_is_told_as_such(more):
    table = DynamoTable(made_table(), TABLE)
    most = {"0": {"fiber": "x" * 409_600}, **more}
    assert table.save(Change(id="e", version=1, at_ms=1, about={}))

    with pytest.raises(TooLargeError, match="400 KB"):
        table.save(Change(id="e", version=2, at_ms=1, fibers=most))


def test_what_the_table_refuses_ends_the_execution():
    """Whatever our own bounds have not foreseen."""

    class Small(hosts.Table):
        def save(self, change):
            if change.fibers and len(json.dumps(list(change.fibers.values()))) > 1_000:
                raise TooLargeError("it has room for 1,000 bytes")
            return super().save(change)

    host = hosts.Host(
        composer.sequence("grow", "grow"), {"grow": lambda p: {"v": p.get("v", "") + "x" * 1_500}}
    )
    host.table = Small()

    status, seen = hosts.result(host.run())

    assert (status, seen["error"]["code"]) == ("failed", "LimitExceeded")
    assert "room for 1,000 bytes" in seen["error"]["message"]
