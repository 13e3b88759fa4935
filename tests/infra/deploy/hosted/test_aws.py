"""The Lambda functions of a bundle: events of AWS in, calls of boto3 out."""

from __future__ import annotations

import base64
import json

import boto3
import pytest

from tests.kit.deploy.aws_fakes import Queues, Refusing
from xingqiao import composer
from xingqiao.composer import compile
from xingqiao.infra.deploy.hosted import Invocation, Note
from xingqiao.infra.deploy.hosted.aws import AwsOutbox, Host, SystemClock


class Functions:
    """Lambda."""

    def __init__(self):
        self.invoked = []

    def invoke(self, **request):
        name, kind = request["FunctionName"], request["InvocationType"]
        self.invoked.append((name, kind, json.loads(request["Payload"])))


def outbox(queues=None, functions=None):
    clients = functions or Functions(), queues or Queues()
    return AwsOutbox(clients, "url", lambda name: f"stage-{name}", None, SystemClock())


def test_actions_are_invoked_and_not_waited_for():
    functions = Functions()

    outbox(functions=functions).send([Invocation(action=n, message={"n": n}) for n in "abc"])

    assert sorted(functions.invoked) == sorted((f"stage-{n}", "Event", {"n": n}) for n in "abc")


def test_notes_go_ten_at_once_and_no_more_than_a_request_takes():
    queues = Queues()

    outbox(queues).send([Note(message={"n": n}, delay_s=n) for n in range(23)])
    outbox(queues).send([Note(message={"x": "x" * 100_000})] * 5)

    assert [len(batch) for batch in queues.batches] == [10, 10, 3, 2, 2, 1]
    assert queues.batches[1][1] == {"Id": "1", "MessageBody": '{"n": 11}', "DelaySeconds": 11}


def test_a_note_that_is_refused_is_not_sent():
    with pytest.raises(RuntimeError, match="refused 1 messages: InternalError"):
        outbox(Queues(refuses=True)).send([Note(message={})])


# --- events --------------------------------------------------------------------------------------


@pytest.fixture
def host(tmp_path, monkeypatch):
    """A conductor's process, whose table has nothing in it and refuses to be written."""
    program = compile(composer.sequence("a"))
    bundle = {"programs": {"/_/main": program.to_json()}, "actions": {"/_/a": {}}, "functions": {"/_/a": "actionA"}}  # fmt: skip
    (tmp_path / "deployed.json").write_text(json.dumps(bundle))
    for name, value in {"TABLE": "t", "QUEUE": "q", "FUNCTIONS": "s-"}.items():
        monkeypatch.setenv(name, value)

    class Empty(Refusing):
        def get_paginator(self, _):
            class Pages:
                def paginate(self, **_):
                    return [{"Items": []}]

            return Pages()

    clients = {"dynamodb": Empty("Unreachable"), "lambda": Functions(), "sqs": Queues()}
    monkeypatch.setattr(boto3, "client", lambda service, **_: clients[service])
    return Host(tmp_path)


def record(number, message):
    return {"messageId": str(number), "body": json.dumps(message)}


def test_messages_that_are_not_dealt_with_are_named(host):
    good = {"is": "again", "execution": "e"}
    bad = {"is": "begin", "execution": "e", "composition": "/_/main", "params": {}, "depth": 0}

    answer = host({"Records": [record(1, good), record(2, bad), record(3, good)]}, None)

    assert answer == {"batchItemFailures": [{"itemIdentifier": "2"}]}
    assert host({"Records": [record(1, good)]}, None) == {"batchItemFailures": []}


def test_the_minute_sweeps(host):
    assert host({"is": "minute"}, None) == {}


@pytest.mark.parametrize(
    ("path", "stage"),
    [("/executions/" + "0" * 32, "$default"), ("/dev/executions/" + "0" * 32, "dev")],
)
def test_a_request_is_answered(host, path, stage):
    context = {"http": {"method": "GET"}, "stage": stage}

    answer = host({"requestContext": context, "rawPath": path, "headers": {}}, None)

    assert (answer["statusCode"], answer["headers"]) == (404, {"Content-Type": "application/json"})
    assert "does not exist" in json.loads(answer["body"])["error"]


def test_a_body_may_be_in_base64(host):
    event = {
        "requestContext": {"http": {"method": "POST"}},
        "rawPath": "/main",
        "headers": {},
        "body": base64.b64encode(b"[]").decode(),
        "isBase64Encoded": True,
    }

    assert host(event, None)["statusCode"] == 400


def test_a_call_whose_beginning_is_in_doubt_is_to_be_asked_again(host):
    event = {"requestContext": {"http": {"method": "POST"}}, "rawPath": "/main", "headers": {}}

    answer = host(event, None)

    assert answer["statusCode"] == 500
    assert "Idempotency-Key" in json.loads(answer["body"])["error"]
