"""The Lambda functions of a bundle: events of AWS in, calls of boto3 out."""

from __future__ import annotations

import base64
import json

import boto3
import pytest
from botocore.exceptions import ClientError

from xingqiao import composer
from xingqiao.composer import compile
from xingqiao.infra.deploy.hosted import Change, Invocation, Note
from xingqiao.infra.deploy.hosted.aws import AwsOutbox, DynamoTable, Host, SystemClock
from xingqiao.infra.deploy.hosted.aws_actions import wrapped


class Queues:
    """SQS: keeps what it is sent, and may refuse the last of a batch."""

    def __init__(self, *, refuses=False):
        self.batches, self.messages, self._refuses = [], [], refuses

    def send_message_batch(self, **request):
        self.batches.append(request["Entries"])
        return {"Failed": [{"Id": "0", "Code": "InternalError"}]} if self._refuses else {}

    def send_message(self, **request):
        self.messages.append((request["QueueUrl"], json.loads(request["MessageBody"])))


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


# --- the table -----------------------------------------------------------------------------------


class Refusing:
    """DynamoDB that answers every write with an error."""

    def __init__(self, code, *reasons):
        self._answer = {
            "Error": {"Code": code},
            "CancellationReasons": [{"Code": r} for r in reasons],
        }

    def update_item(self, **_):
        raise ClientError(self._answer, "UpdateItem")

    def transact_write_items(self, **_):
        raise ClientError(self._answer, "TransactWriteItems")


@pytest.mark.parametrize(
    ("refusal", "fibers"),
    [
        (Refusing("ConditionalCheckFailedException"), {}),
        (Refusing("TransactionConflictException"), {}),
        (Refusing("TransactionCanceledException", "ConditionalCheckFailed", "None"), {"0/1.0": {}}),
        (Refusing("TransactionCanceledException", "None", "TransactionConflict"), {"0/1.0": {}}),
    ],
)
def test_who_comes_second_is_told_so(refusal, fibers):
    assert not DynamoTable(refusal, "t").save(Change(id="e", version=2, at_ms=1, fibers=fibers))


@pytest.mark.parametrize(
    "refusal",
    [
        Refusing("ProvisionedThroughputExceededException"),
        Refusing("TransactionCanceledException", "ItemCollectionSizeLimitExceeded"),
    ],
)
def test_any_other_error_is_one(refusal):
    with pytest.raises(ClientError):
        DynamoTable(refusal, "t").save(Change(id="e", version=2, at_ms=1, fibers={"0/1.0": {}}))


def test_what_cannot_be_removed_is_let_lie(caplog):
    class Full:
        def update_item(self, **_):
            pass

        def batch_write_item(self, **_):
            raise ClientError({"Error": {"Code": "Throttled"}}, "BatchWriteItem")

    assert DynamoTable(Full(), "t").save(Change(id="e", version=2, at_ms=1, dropped=["0/1.0"]))
    assert "stay in the table" in caplog.text


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


# --- actions -------------------------------------------------------------------------------------


def test_an_action_sends_what_came_of_it(tmp_path, monkeypatch):
    queues = Queues()
    monkeypatch.setattr(boto3, "client", lambda *_, **__: queues)
    monkeypatch.setenv("QUEUE", "q")
    for name in ("ACTION_NAME", "NAMESPACE", "ACTIVATION_ID", "IDEMPOTENCY_KEY", "DEADLINE", "TRANSACTION_ID"):  # fmt: skip
        monkeypatch.setenv(f"__OW_{name}", "")
    file = tmp_path / "double.py"
    file.write_text("def main(params):\n    return {'n': params['n'] * 2}\n")
    token = {"execution": "e" * 32, "fiber": "0", "turn": 1}
    message = {"token": token, "params": {"n": 4}, "action": "/_/double", "activation": "a", "key": "k", "deadline": 5}  # fmt: skip

    wrapped(file, "main")(message, None)

    assert queues.messages == [
        ("q", {"is": "completed", "token": token, "outcome": {"value": {"n": 8}}})
    ]


def test_an_action_whose_message_comes_after_the_conductor_gave_up_does_not_run(
    tmp_path, monkeypatch, caplog
):
    queues = Queues()
    monkeypatch.setattr(boto3, "client", lambda *_, **__: queues)
    monkeypatch.setenv("QUEUE", "q")
    file = tmp_path / "never.py"
    file.write_text("def main(params):\n    raise SystemExit\n")
    token = {"execution": "e", "fiber": "0", "turn": 1}
    called = {"action": "/_/never", "params": {}, "activation": "a", "key": "k"}
    message = {"token": token, **called, "deadline": 4, "until": 5}

    wrapped(file, "main")(message, None)

    assert queues.messages == []
    assert "it is not run" in caplog.text
