"""The conductor as a Lambda function: DynamoDB is the table, SQS and asynchronous invocations the outbox.

One item of the table is an execution (row `head`, with its first fiber), every further fiber is one beside it:

    id, row                 the key; row is `head` or the fiber's id
    version, about, unsent  of the head; `unsent` is a map by version
    fiber                   the fiber's JSON, in the head the first one's
    shard, due              what the index `due` is sorted by; shards spread its load
    outcome, ended          once it has ended, with `expires`, after which DynamoDB forgets it
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
from zlib import crc32

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

from .conducting import Conductor, LaterError
from .ports import Deployed, Invocation, Note, Record
from .serving import Answer, Request, serve
from .wrapping import crashed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from composer import JSON

    from .ports import Change

log = logging.getLogger(__name__)

HEAD, ROOT = "head", "0"
SHARDS = 8
KEPT_S = 7 * 24 * 3600  # an execution that has ended can be looked at for so long
REMOVED_AT_ONCE = 25
NOTES_AT_ONCE, NOTES_BYTES = 10, 240_000
INVOKED_AT_ONCE = 16
_REFUSED = ("ConditionalCheckFailed", "TransactionConflict")
# What is asked here may be asked again: a write is under a condition, a message carries its key.
_CALLS = Config(connect_timeout=3, read_timeout=10, retries={"mode": "standard", "total_max_attempts": 4},
                max_pool_connections=INVOKED_AT_ONCE)  # fmt: skip


class SystemClock:
    """The time of the machine."""

    @staticmethod
    def now_ms() -> int:
        return time.time_ns() // 1_000_000


class DynamoTable:
    """Executions in a DynamoDB table. A `Table`."""

    def __init__(self, client: Any, name: str) -> None:
        self._client, self._name = client, name

    def load(self, id: str) -> Record | None:
        items = self._items(
            KeyConditionExpression="id = :id",
            ExpressionAttributeValues={":id": {"S": id}},
            ConsistentRead=True,
        )
        rows = {item["row"]["S"]: item for item in items}
        head = rows.pop(HEAD, None)
        if head is None:
            return None
        fibers = {row: json.loads(item["fiber"]["S"]) for row, item in rows.items()}
        if "fiber" in head:
            fibers[ROOT] = json.loads(head["fiber"]["S"])
        unsent = {int(n): json.loads(left["S"]) for n, left in head["unsent"]["M"].items()}
        return Record(
            id=id,
            version=int(head["version"]["N"]),
            about=json.loads(head["about"]["S"]),
            fibers=fibers,
            unsent=unsent,
            outcome=json.loads(head["outcome"]["S"]) if "outcome" in head else None,
            ended_ms=int(head["ended"]["N"]) if "ended" in head else None,
        )

    def save(self, change: Change) -> bool:
        update = {"TableName": self._name, **_head(change)}
        puts = [
            {"TableName": self._name, "Item": {**_key(change.id, name), "fiber": {"S": json.dumps(row)}}}
            for name, row in change.fibers.items()
            if name != ROOT
        ]  # fmt: skip
        try:
            if puts:
                writes = [{"Update": update}, *({"Put": put} for put in puts)]
                self._client.transact_write_items(TransactItems=writes)
            else:
                self._client.update_item(**update)
        except ClientError as error:
            if _is_refused(error):
                return False
            raise
        self._remove(change.id, [name for name in change.dropped if name != ROOT])
        return True

    def sent(self, id: str, version: int) -> None:
        self._client.update_item(
            TableName=self._name,
            Key=_key(id, HEAD),
            UpdateExpression="REMOVE unsent.#version",
            ConditionExpression="attribute_exists(id)",
            ExpressionAttributeNames={"#version": str(version)},
        )

    def due(self, now_ms: int) -> Iterator[str]:
        for shard in range(SHARDS):
            items = self._items(
                IndexName="due",
                KeyConditionExpression="#shard = :shard AND #due <= :now",
                ExpressionAttributeNames={"#shard": "shard", "#due": "due"},
                ExpressionAttributeValues={":shard": {"N": str(shard)}, ":now": {"N": str(now_ms)}},
            )
            yield from (item["id"]["S"] for item in items)

    def _items(self, **query: Any) -> Iterator[dict[str, Any]]:
        pages = self._client.get_paginator("query").paginate(TableName=self._name, **query)
        return (item for page in pages for item in page["Items"])

    def _remove(self, id: str, rows: list[str]) -> None:
        """Best effort: whoever loads it passes over what should be gone."""
        for at in range(0, len(rows), REMOVED_AT_ONCE):
            some = rows[at : at + REMOVED_AT_ONCE]
            requests = [{"DeleteRequest": {"Key": _key(id, row)}} for row in some]
            try:
                self._client.batch_write_item(RequestItems={self._name: requests})
            except ClientError:
                log.warning(
                    "%s: some branches that have ended stay in the table", id, exc_info=True
                )
                return


def _key(id: str, row: str) -> dict[str, JSON]:
    return {"id": {"S": id}, "row": {"S": row}}


def _head(change: Change) -> dict[str, Any]:
    """The update of an execution's head: everything but the other fibers."""
    values: dict[str, Any] = {"version": {"N": str(change.version)}}
    names: dict[str, str] = {}
    gone = []
    left = (
        {"S": json.dumps({"at": change.at_ms, "sends": change.unsent})} if change.unsent else None
    )
    if change.about is not None:
        values["about"] = {"S": json.dumps(change.about)}
        values["unsent"] = {"M": {str(change.version): left} if left else {}}
    elif left is not None:
        names["#left"] = str(change.version)
    if ROOT in change.fibers:
        values["fiber"] = {"S": json.dumps(change.fibers[ROOT])}
    if change.due_ms is not None:
        values["due"] = {"N": str(change.due_ms)}
        values["shard"] = {"N": str(crc32(change.id.encode()) % SHARDS)}
    else:
        gone += ["due", "shard"]
    if change.outcome is not None:
        values["outcome"] = {"S": json.dumps(change.outcome)}
        values["ended"] = {"N": str(change.ended_ms)}
        values["expires"] = {"N": str((change.ended_ms or change.at_ms) // 1000 + KEPT_S)}
        gone.append("fiber")
    sets = [f"#{name} = :{name}" for name in values]
    names |= {f"#{name}": name for name in (*values, *gone)}
    filled = {f":{name}": value for name, value in values.items()}
    if "#left" in names:
        sets.append("#unsent.#left = :left")
        names["#unsent"] = "unsent"
        filled[":left"] = left
    expression = f"SET {', '.join(sets)}"
    if gone:
        expression += f" REMOVE {', '.join(f'#{name}' for name in gone)}"
    condition = "attribute_not_exists(id)"
    if change.version > 1:
        condition = "#version = :before"
        filled[":before"] = {"N": str(change.version - 1)}
    return {
        "Key": _key(change.id, HEAD),
        "UpdateExpression": expression,
        "ConditionExpression": condition,
        "ExpressionAttributeNames": names,
        "ExpressionAttributeValues": filled,
    }


def _is_refused(error: ClientError) -> bool:
    """Whether another has written this version, or is about to."""
    code = error.response["Error"]["Code"]
    if code == "TransactionCanceledException":
        reasons = [reason.get("Code") for reason in error.response.get("CancellationReasons", ())]
        return any(reason in _REFUSED for reason in reasons)
    return code.removesuffix("Exception") in _REFUSED


class AwsOutbox:
    """Actions are invoked asynchronously, notes go to the queue. An `Outbox`."""

    def __init__(
        self, functions: Any, queues: Any, queue: str, name_of: Callable[[str], str]
    ) -> None:
        self._functions, self._queues = functions, queues
        self._queue, self._name_of = queue, name_of
        self._threads = ThreadPoolExecutor(INVOKED_AT_ONCE)

    def send(self, sends: Sequence[Invocation | Note]) -> None:
        invocations = [send for send in sends if isinstance(send, Invocation)]
        if len(invocations) == 1:
            self._invoke(invocations[0])
        else:
            list(self._threads.map(self._invoke, invocations))
        for batch in _batches([send for send in sends if isinstance(send, Note)]):
            self._post(batch)

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


def _batches(notes: Iterable[Note]) -> Iterator[list[tuple[str, int]]]:
    """Notes as texts, as many at once as one request may have."""
    batch: list[tuple[str, int]] = []
    size = 0
    for note in notes:
        text = json.dumps(note.message)
        if batch and (len(batch) == NOTES_AT_ONCE or size + len(text) > NOTES_BYTES):
            yield batch
            batch, size = [], 0
        batch.append((text, note.delay_s))
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
    def _conductor(self) -> Conductor:
        table = DynamoTable(boto3.client("dynamodb", config=_CALLS), os.environ["TABLE"])
        outbox = AwsOutbox(
            boto3.client("lambda", config=_CALLS),
            boto3.client("sqs", config=_CALLS),
            os.environ["QUEUE"],
            lambda action: os.environ["FUNCTIONS"] + self._names[action],
        )
        return Conductor(self._deployed, table, outbox, self._clock)

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
            self._conductor.receive(*(message for _, message in messages))
        except Exception:
            log.exception("messages were not dealt with at once")
        else:
            return {"batchItemFailures": []}
        again = []
        for id, message in messages:
            try:
                self._conductor.receive(message)
            except Exception:
                log.exception("the message %s was not dealt with", id)
                again.append(id)
        return {"batchItemFailures": [{"itemIdentifier": id} for id in again]}

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
            answer = Answer(status=503, body={"error": f"ask again: {later}"}, headers=retry)
        except Exception:
            log.exception("%s %s was not dealt with", request.method, request.path)
            text = "the log says why; if it is asked again with its Idempotency-Key, nothing is done twice"
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
    told = body.get("responsePayload") or {}
    text = str(told.get("errorMessage") or body["requestContext"]["condition"])
    return crashed(body["requestPayload"], timed_out="Task timed out" in text, error=text)
