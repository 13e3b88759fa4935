"""The conductor as a Lambda function: DynamoDB is the table, SQS and asynchronous invocations the outbox.

A message that is larger than the queue takes stands in the table, and the one that is sent says where.
"""

from __future__ import annotations

import base64
import json
import logging
import os
import time
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import TYPE_CHECKING, Any

import boto3
from botocore.config import Config

from .aws_table import DynamoTable
from .conductor import Conductor, LaterError
from .endpoints import Answer, Request, serve
from .ports import Deployed, Invocation, Note
from .wrapper import crashed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from ....composer import JSON
    from .ports import Clock

log = logging.getLogger(__name__)

LARGE = "large"
NOTES_AT_ONCE, NOTES_BYTES = 10, 240_000
INVOKED_AT_ONCE = 16
# What is asked here may be asked again: a write is under a condition, a message carries its key.
_CALLS = Config(connect_timeout=3, read_timeout=10, retries={"mode": "standard", "total_max_attempts": 4},
                max_pool_connections=INVOKED_AT_ONCE)  # fmt: skip


class SystemClock:
    """The time of the machine."""

    @staticmethod
    def now_ms() -> int:
        return time.time_ns() // 1_000_000


class AwsOutbox:
    """Actions are invoked asynchronously, notes go to the queue. An `Outbox`.

    Args:
        clients: of Lambda and of SQS.
        queue: its URL.
        name_of: what an action's function is called.
        table: keeps the notes that the queue does not take.
        clock: the time.
    """

    def __init__(
        self,
        clients: tuple[Any, Any],
        queue: str,
        name_of: Callable[[str], str],
        table: DynamoTable,
        clock: Clock,
    ) -> None:
        self._functions, self._queues = clients
        self._queue, self._name_of = queue, name_of
        self._table, self._clock = table, clock
        self._threads = ThreadPoolExecutor(INVOKED_AT_ONCE)

    def send(self, sends: Sequence[Invocation | Note]) -> None:
        invocations = [send for send in sends if isinstance(send, Invocation)]
        if len(invocations) == 1:
            self._invoke(invocations[0])
        else:
            list(self._threads.map(self._invoke, invocations))
        notes = [
            (self._text(send.message), send.delay_s) for send in sends if isinstance(send, Note)
        ]
        for batch in _batches(notes):
            self._post(batch)

    def opened(self, message: dict[str, JSON]) -> dict[str, JSON] | None:
        """The message that the queue brings; None when it stood in the table, and is too old to be there."""
        if LARGE not in message:
            return message
        text = self._table.message(str(message[LARGE]))
        if text is None:
            log.error("message %s is no longer in the table and is dropped", message[LARGE])
            return None
        kept: dict[str, JSON] = json.loads(text)
        return kept

    def _text(self, message: dict[str, JSON]) -> str:
        text = json.dumps(message)
        if len(text) <= NOTES_BYTES:
            return text
        return json.dumps({LARGE: self._table.keep_message(text, self._clock.now_ms())})

    def _invoke(self, invocation: Invocation) -> None:
        self._functions.invoke(
            FunctionName=self._name_of(invocation.action),
            InvocationType="Event",
            Payload=json.dumps(invocation.message).encode(),
        )

    def _post(self, notes: list[tuple[str, int]]) -> None:
        entries = [
            {"Id": str(at), "MessageBody": text, "DelaySeconds": delay_s}
            for at, (text, delay_s) in enumerate(notes)
        ]
        answer = self._queues.send_message_batch(QueueUrl=self._queue, Entries=entries)
        if failed := answer.get("Failed"):
            raise RuntimeError(f"the queue has refused {len(failed)} messages: {failed[0]['Code']}")


def _batches(notes: Iterable[tuple[str, int]]) -> Iterator[list[tuple[str, int]]]:
    """Texts and their delays, as many at once as one request may have."""
    batch: list[tuple[str, int]] = []
    size = 0
    for text, delay_s in notes:
        if batch and (len(batch) == NOTES_AT_ONCE or size + len(text) > NOTES_BYTES):
            yield batch
            batch, size = [], 0
        batch.append((text, delay_s))
        size += len(text)
    if batch:
        yield batch


# --- what Lambda calls -------------------------------------------------------------------------


class Host:
    """The function's process: made once, called for every event."""

    def __init__(self, folder: Path) -> None:
        bundle = json.loads((folder / "deployed.json").read_text("utf-8"))
        self._deployed, self._names = Deployed.from_json(bundle), bundle["functions"]
        self._clock = SystemClock()

    @cached_property
    def _table(self) -> DynamoTable:
        return DynamoTable(boto3.client("dynamodb", config=_CALLS), os.environ["TABLE"])

    @cached_property
    def _outbox(self) -> AwsOutbox:
        return AwsOutbox(
            (boto3.client("lambda", config=_CALLS), boto3.client("sqs", config=_CALLS)),
            os.environ["QUEUE"],
            lambda action: os.environ["FUNCTIONS"] + self._names[action],
            self._table,
            self._clock,
        )

    @cached_property
    def _conductor(self) -> Conductor:
        return Conductor(self._deployed, self._table, self._outbox, self._clock)

    def __call__(self, event: dict[str, Any], _: object) -> dict[str, Any]:
        """A batch of the queue, a request, or the clock's minute."""
        if "Records" in event:
            return self._receive(event["Records"])
        if "requestContext" in event:
            return self._serve(event)
        self._conductor.sweep()
        return {}

    def _receive(self, records: list[dict[str, Any]]) -> dict[str, Any]:
        """Deals with messages, all at once; when that fails, one by one, and names the bad ones."""
        messages = [
            (record["messageId"], message_of(json.loads(record["body"]))) for record in records
        ]
        try:
            self._deal(*(message for _, message in messages))
        except Exception:
            log.exception("a batch of messages failed: they are handled one by one")
        else:
            return {"batchItemFailures": []}
        again = []
        for id, message in messages:
            try:
                self._deal(message)
            except Exception:
                log.exception("message %s failed: the queue delivers it again", id)
                again.append(id)
        return {"batchItemFailures": [{"itemIdentifier": id} for id in again]}

    def _deal(self, *messages: dict[str, JSON]) -> None:
        opened = [self._outbox.opened(message) for message in messages]
        self._conductor.receive(*(message for message in opened if message is not None))

    def _serve(self, event: dict[str, Any]) -> dict[str, Any]:
        http = event["requestContext"]["http"]
        body = event.get("body") or ""
        raw = base64.b64decode(body) if event.get("isBase64Encoded") else body.encode()
        stage = event["requestContext"].get("stage", "$default")
        path = (
            event["rawPath"] if stage == "$default" else event["rawPath"].removeprefix(f"/{stage}")
        )
        request = Request(method=http["method"], path=path, headers=event["headers"], body=raw)
        try:
            answer = serve(self._conductor, self._deployed, self._clock, request)
        except LaterError as later:
            retry = {"Retry-After": str(later.delay_s)}
            answer = Answer(status=503, body={"error": f"try again later: {later}"}, headers=retry)
        except Exception:
            log.exception("%s %s failed", request.method, request.path)
            text = "the request failed, and the log has the reason; a repeated request with the same Idempotency-Key does nothing twice"
            answer = Answer(status=500, body={"error": text})
        return {
            "statusCode": answer.status,
            "headers": {"Content-Type": "application/json", **answer.headers},
            "body": json.dumps(answer.body),
        }


def message_of(body: dict[str, Any]) -> dict[str, JSON]:
    """The message in the body of a queue's: a conductor's, a wrapper's, or Lambda's of a function that died."""
    if "requestPayload" not in body:
        return body
    told, context = body.get("responsePayload") or {}, body["requestContext"]
    text = str(told.get("errorMessage") or context["condition"])
    ran = context.get("approximateInvokeCount") != 0
    if not ran:
        text = f"Lambda had no capacity to run the action before its event expired ({context['condition']})"
    return crashed(body["requestPayload"], timed_out="Task timed out" in text, error=text, ran=ran)
