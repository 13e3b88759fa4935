"""Completions that come by a queue: what messages say, and how they are taken in.

The queue is played here, strictly; a real one, with functions that really run, is in `test_running.py`.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import threading
from contextlib import asynccontextmanager

import pytest
from botocore.session import Session

from tests.kit.actions.things import until
from tests.kit.adapters.aws_world import FromKeys, aws_at
from tests.rigs.answers import answer, held, throttled
from tests.rigs.strict_host import strict_host
from xingqiao.actions import ConflictError, NotFoundError
from xingqiao.adapters.aws.completions import Completions, completion_of
from xingqiao.adapters.aws.wire import Place
from xingqiao.adapters.credentials import CredentialsError
from xingqiao.adapters.port import Fault
from xingqiao.composer import Failure, Success

TOKEN = "__ow_completion_token"
RAISED = {"errorType": "NoMoney", "errorMessage": "none"}


def record(condition="Success", response=None, token="t-1", count=1, **fields):
    """What a destination sends, as AWS words it."""
    doc = {
        "version": "1.0", "timestamp": "2026-01-01T00:00:00.000Z",
        "requestContext": {
            "requestId": "r-1", "functionArn": "arn:aws:lambda:eu-west-1:1:function:f:$LATEST",
            "condition": condition, "approximateInvokeCount": count,
        },
        "requestPayload": {"n": 1, TOKEN: token},
        "responseContext": {"statusCode": 200, "executedVersion": "$LATEST"},
        "responsePayload": response,
    }  # fmt: skip
    return json.dumps({**doc, **fields})


def sent(**fields):
    """What a function sends by itself."""
    return json.dumps({TOKEN: "t-1", **fields})


# --- what messages say -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "outcome"),
    [
        (record(response={"well": True}), Success({"well": True})),
        (record(response=None), Success({})),
        (record(response=[1]), Success({"value": [1]})),
        (record(response={"error": "no"}), Failure("ApplicationError", "no")),
        (sent(result={"well": True}), Success({"well": True})),
        (sent(result=7), Success({"value": 7})),
        (sent(result=None), Success({})),
        (sent(result={"error": "no"}), Failure("ApplicationError", "no")),
        (sent(error={"code": "X"}), Failure("ApplicationError", {"code": "X"})),
        (
            record("RetriesExhausted", RAISED, count=3),
            Failure("ApplicationError", {"code": "NoMoney", "message": "none"}),
        ),
    ],
)
def test_a_message_tells_an_outcome(body, outcome):
    assert completion_of(body) == ("t-1", outcome)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (
            record("RetriesExhausted", {"errorType": "Sandbox.Timedout", "errorMessage": "x"}),
            "Timeout",
        ),
        (record("EventAgeExceeded", count=0), "Throttled"),
        (record("EventAgeExceeded", count=2), "Timeout"),
        (record("EventAgeExceeded", RAISED, count=2), "ApplicationError"),
        (record("RetriesExhausted", count=3), "Timeout"),
        (record("SomethingNew", count=3), "Timeout"),
        (record(requestContext=7), "Timeout"),
    ],
)
def test_what_has_not_ended_well_is_a_failure(body, code):
    _, outcome = completion_of(body)

    assert outcome.code == code


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("", "it is not a JSON object"),
        ("{half", "it is not a JSON object"),
        ("[" * 100_000, "it is not a JSON object"),
        ('{"n": NaN}', "it is not a JSON object"),
        ('"\ud800"', "it is not a JSON object"),
        ("[]", "it is not a JSON object"),
        ("{}", f"it has no '{TOKEN}'"),
        (json.dumps({TOKEN: 7, "result": 1}), f"it has no '{TOKEN}'"),
        (record(token=None), f"it has no '{TOKEN}'"),
        (record(requestPayload="text"), f"it has no '{TOKEN}'"),
        (sent(), "it has neither a 'result' nor an 'error'"),
    ],
)
def test_what_is_no_completion_says_why(body, why):
    assert completion_of(body) == why


# --- how they are taken in ---------------------------------------------------------------------


class Queue:
    """SQS for one queue, by its JSON protocol: what is received is hidden until it is deleted or `again`."""

    def __init__(self, host):
        self.url = f"{host.url}/123456789012/done"
        self.received, self.deleted = [], []
        self.refusals, self.undeleted = [], []  # what is answered instead, once each
        self._messages, self._hidden = {}, set()
        self._waiting, self._lock = None, threading.Lock()
        host.handlers.append((re.compile("/"), self._play))

    def send(self, *bodies):
        with self._lock:
            for body in bodies:
                number = len(self._messages)
                self._messages[f"handle-{number}"] = {
                    "MessageId": f"m-{number}", "ReceiptHandle": f"handle-{number}", "Body": body,
                }  # fmt: skip
        self.wake()

    def again(self):
        """The time has come after which a message that was not deleted is received again."""
        with self._lock:
            self._hidden = set(self.deleted)
        self.wake()

    def wake(self):
        with self._lock:
            waiting, self._waiting = self._waiting, None
        if waiting is not None:
            waiting.reached.wait()
            waiting.release()

    def _play(self, seen):
        operation = seen.headers["x-amz-target"].removeprefix("AmazonSQS.")
        asked = seen.json()
        model = Session().get_service_model("sqs").operation_model(operation)
        assert asked.keys() <= model.input_shape.members.keys()
        assert asked["QueueUrl"] == self.url
        assert "/eu-west-1/sqs/" in seen.headers["authorization"]
        with self._lock:
            if operation == "DeleteMessageBatch":
                return self.undeleted.pop(0) if self.undeleted else self._delete(asked["Entries"])
            assert (asked["WaitTimeSeconds"], asked["MaxNumberOfMessages"]) == (20, 10)
            return self.refusals.pop(0) if self.refusals else self._receive()

    def _receive(self):
        shown = [m for handle, m in self._messages.items() if handle not in self._hidden][:10]
        self._hidden |= {message["ReceiptHandle"] for message in shown}
        self.received += [message["MessageId"] for message in shown]
        if shown:
            return answer({"Messages": shown})
        self._waiting = held({})
        return self._waiting

    def _delete(self, entries):
        self.deleted += [entry["ReceiptHandle"] for entry in entries]
        return answer({"Successful": [{"Id": entry["Id"]} for entry in entries], "Failed": []})


class Steps:
    """What `engine.complete` is to the listener; a token may be told to fail."""

    def __init__(self, **failing):
        self.completed, self.failing = [], failing

    async def __call__(self, token, outcome):
        if self.failing.get(token):
            raise self.failing[token].pop(0)
        self.completed.append((token, outcome))


@pytest.fixture
def host():
    with strict_host() as made:
        yield made


@pytest.fixture
def queue(host):
    made = Queue(host)
    yield made
    made.wake()


@asynccontextmanager
async def listening(queue, steps, keys=None, pause_ms=500):
    async with (
        aws_at(queue.url.rpartition("/123")[0]) as (aws, _),
        Completions(aws, keys or FromKeys(), queue.url, steps, pause_ms) as completions,
    ):
        yield completions


async def test_what_comes_is_taken_in_and_then_deleted(queue):
    steps = Steps()
    queue.send(sent(result=1), record(response={"n": 2}, token="t-2"))

    async with listening(queue, steps) as completions:
        await until(lambda: len(queue.deleted) == 2)
        queue.send(sent(error="no"))
        await until(lambda: len(queue.deleted) == 3)

    assert steps.completed == [
        ("t-1", Success({"value": 1})),
        ("t-2", Success({"n": 2})),
        ("t-1", Failure("ApplicationError", "no")),
    ]
    assert (completions.tally.taken, completions.tally.late, completions.tally.refused) == (3, 0, 0)


async def test_more_than_a_batch_is_taken_in(queue):
    steps = Steps()
    queue.send(*(record(response={}, token=f"t-{n}") for n in range(25)))

    async with listening(queue, steps):
        await until(lambda: len(set(queue.deleted)) == 25)

    assert {token for token, _ in steps.completed} == {f"t-{n}" for n in range(25)}


async def test_what_comes_late_or_twice_is_deleted_all_the_same(queue):
    steps = Steps(**{"t-1": [ConflictError("late")], "t-2": [NotFoundError("nobody's")]})
    queue.send(record(token="t-1"), record(token="t-2"))

    async with listening(queue, steps) as completions:
        await until(lambda: len(queue.deleted) == 2)

    assert (steps.completed, completions.tally.late) == ([], 2)


async def test_a_copy_of_what_is_not_durable_yet_is_not_deleted(queue):
    """For the one that is being taken in would be all that is left of it."""
    first, durable, deleted_before = asyncio.Event(), asyncio.Event(), []

    async def slowly(token, outcome):
        if token == "t-2":
            return
        if first.is_set():
            raise ConflictError("late")
        first.set()
        await durable.wait()

    queue.send(record(response={}), record(response={}))
    async with listening(queue, slowly) as completions:
        await first.wait()
        queue.send(record(response={}, token="t-2"))  # after which both have been looked at
        await until(lambda: "handle-2" in queue.deleted)
        deleted_before += queue.deleted
        durable.set()
        await until(lambda: "handle-0" in queue.deleted)
        queue.again()
        await until(lambda: "handle-1" in queue.deleted)

    assert deleted_before == ["handle-2"]
    assert (completions.tally.taken, completions.tally.late) == (2, 1)


async def test_what_cannot_be_taken_in_now_comes_again(queue, caplog):
    steps = Steps(**{"t-1": [OSError("the disk is full")]})
    queue.send(record(response={}), record(response={}, token="t-2"))

    async with listening(queue, steps) as completions:
        await until(lambda: queue.deleted)
        queue.again()
        await until(lambda: len(queue.deleted) == 2)

    assert [token for token, _ in steps.completed] == ["t-2", "t-1"]
    assert queue.received == ["m-0", "m-1", "m-0"]
    assert completions.tally.taken == 2
    assert "'m-0' could not be handled. The queue will deliver it again." in caplog.text
    assert "t-1" not in caplog.text


async def test_what_is_no_completion_is_deleted_and_nothing_of_it_is_logged(queue, caplog):
    queue.send("{half SECRET", json.dumps({TOKEN: "SECRET"}), json.dumps({"n": "SECRET"}))

    async with listening(queue, Steps()) as completions:
        await until(lambda: len(queue.deleted) == 3)

    assert completions.tally.refused == 3
    assert "'m-0' is not a completion and is deleted: it is not a JSON object" in caplog.text
    assert "SECRET" not in caplog.text


async def test_a_message_that_could_not_be_deleted_comes_again_and_is_late(queue, caplog):
    completed = []
    queue.undeleted = [answer({"__type": "com.amazonaws.sqs#InternalError"}, 500)]

    async def once(token, outcome):
        if completed:
            raise ConflictError("late")
        completed.append(token)

    queue.send(record(response={}))
    async with listening(queue, once) as completions:
        await until(lambda: "1 messages could not be deleted" in caplog.text)
        queue.again()
        await until(lambda: queue.deleted)

    assert (completed, completions.tally.taken, completions.tally.late) == (["t-1"], 1, 1)


async def test_a_queue_that_does_not_answer_is_asked_again(queue, caplog):
    caplog.set_level(logging.INFO)
    queue.refusals = [
        throttled(0),
        answer({"__type": "QueueDoesNotExist"}, 400),
        answer([]),
        answer({"Messages": [7, {"MessageId": "m-x"}]}),
    ]
    queue.send(record(response={}))
    steps = Steps()

    async with listening(queue, steps, pause_ms=1):
        await until(lambda: queue.deleted)

    assert [token for token, _ in steps.completed] == ["t-1"]
    assert caplog.text.count("Completions cannot be received") == 1
    assert "Completions are received again" in caplog.text


async def test_a_listener_without_credentials_says_so_and_waits(queue, caplog):
    class Nobody(FromKeys):
        async def keys(self):
            raise CredentialsError(Fault("Permission", "there are none", "no"))

    async with listening(queue, Steps(), Nobody()):
        await until(lambda: "there are none" in caplog.text)

    assert queue.received == []


async def test_what_has_been_received_is_taken_in_before_it_stops(queue):
    reached, goes_on, completed = asyncio.Event(), asyncio.Event(), []

    async def slowly(token, outcome):
        reached.set()
        await goes_on.wait()
        completed.append(token)

    queue.send(record(response={}))
    async with listening(queue, slowly):
        await reached.wait()
        asyncio.get_running_loop().call_soon(goes_on.set)

    assert (completed, len(queue.deleted)) == (["t-1"], 1)


@pytest.mark.parametrize(
    ("url", "place"),
    [
        (
            "https://sqs.us-east-2.amazonaws.com/1/q",
            ("sqs", "us-east-2", "https://sqs.us-east-2.amazonaws.com"),
        ),
        (
            "https://us-west-2.queue.amazonaws.com/1/q",
            ("sqs", "us-west-2", "https://us-west-2.queue.amazonaws.com"),
        ),
        (
            "https://vpce-1.sqs.cn-north-1.vpce.amazonaws.com.cn/1/q",
            ("sqs", "cn-north-1", "https://vpce-1.sqs.cn-north-1.vpce.amazonaws.com.cn"),
        ),
        (
            "https://sqs.eusc-de-east-1.amazonaws.eu/1/q",
            ("sqs", "eusc-de-east-1", "https://sqs.eusc-de-east-1.amazonaws.eu"),
        ),
        ("http://127.0.0.1:4566/1/q", ("sqs", "eu-west-1", "http://127.0.0.1:4566")),
    ],
)
async def test_a_queue_is_where_its_url_says(url, place):
    async with aws_at("http://127.0.0.1:9") as (aws, _):
        assert await Completions(aws, FromKeys(), url, Steps())._place() == Place(*place)


async def test_a_queue_without_a_region_cannot_be_asked():
    fault = Fault("InvalidRequest", "no region", "no")

    class Nowhere:
        now_ms = 0

        async def place(self, service):
            return fault

    completions = Completions(Nowhere(), FromKeys(), "http://127.0.0.1:9/1/q", Steps())

    assert await completions._received() is fault
