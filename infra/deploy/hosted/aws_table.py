"""The conductor's table in DynamoDB.

One item is an execution (row `head`, with its first fiber), every further fiber is one beside it:

    id, row                 the key; row is `head`, the fiber's id, or as `unsent` says
    version, about, unsent  of the head; `unsent` is a map by version: text, or how many rows hold that text
    fiber                   the fiber's JSON, in the head the first one's
    shard, due              what the index `due` is sorted by; shards spread its load
    outcome, ended          once it has ended, with `expires`, after which DynamoDB forgets it
    text                    of a row `u:7:0`: the first piece of what version 7 may not have sent yet;
                            of an item whose id begins with `message:`: a message that no queue takes

An item has at most 400 KB: messages to send are in the head only while they are small.
"""

from __future__ import annotations

import json
import logging
import secrets
from typing import TYPE_CHECKING, Any
from zlib import crc32

from botocore.exceptions import ClientError

from .ports import Record, TooLargeError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ....composer import JSON
    from .ports import Change

log = logging.getLogger(__name__)

HEAD, ROOT = "head", "0"
SHARDS = 8
KEPT_S = 7 * 24 * 3600  # an execution that has ended can be looked at for so long
MESSAGE_S = (
    20 * 24 * 3600
)  # longer than a queue keeps a message, and than the one for what was set aside
REMOVED_AT_ONCE = 25
INLINE_BYTES = 2_000  # of messages to send in the head, beside a fiber and some more versions
PIECE_BYTES = 380_000
UNSENT, MESSAGE = "u:", "message:"
_REFUSED = ("ConditionalCheckFailed", "TransactionConflict")
_INVALID = ("ValidationException", "ValidationError", "RequestEntityTooLarge")


class DynamoTable:
    """Executions in a DynamoDB table. A `Table`."""

    def __init__(self, client: Any, name: str) -> None:
        self._client, self._name = client, name
        self._beside: dict[tuple[str, int], int] = {}  # rows of what versions have to send

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
        fibers = {
            row: json.loads(item["fiber"]["S"]) for row, item in rows.items() if "fiber" in item
        }
        if "fiber" in head:
            fibers[ROOT] = json.loads(head["fiber"]["S"])
        unsent = {}
        for version, left in head["unsent"]["M"].items():
            if "N" in left:
                self._beside[id, int(version)] = count = int(left["N"])
                pieces = [rows.get(_unsent(int(version), at)) for at in range(count)]
                if not all(pieces):
                    continue  # they are removed once all was sent, while this was read
                text = "".join(piece["text"]["S"] for piece in pieces if piece)
            else:
                text = left["S"]
            unsent[int(version)] = json.loads(text)
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
        left = json.dumps({"at": change.at_ms, "sends": change.unsent}) if change.unsent else ""
        beside = len(left) > INLINE_BYTES
        pieces = [left[at : at + PIECE_BYTES] for at in range(0, len(left), PIECE_BYTES) if beside]
        stands = {"N": str(len(pieces))} if beside else {"S": left} if left else None
        update = {"TableName": self._name, **_head(change, stands)}
        rows = {
            name: {"fiber": {"S": json.dumps(row)}}
            for name, row in change.fibers.items()
            if name != ROOT
        }
        rows |= {
            _unsent(change.version, at): {"text": {"S": piece}} for at, piece in enumerate(pieces)
        }
        puts = [
            {"TableName": self._name, "Item": {**_key(change.id, row), **item}}
            for row, item in rows.items()
        ]
        try:
            if puts:
                writes = [{"Update": update}, *({"Put": put} for put in puts)]
                self._client.transact_write_items(TransactItems=writes)
            else:
                self._client.update_item(**update)
        except ClientError as error:
            if _is_refused(error):
                return False
            if _is_too_large(error):
                text = "the change is too large for DynamoDB: an item has at most 400 KB, a transaction 4 MB"
                raise TooLargeError(text) from error
            raise
        if pieces:
            self._beside[change.id, change.version] = len(pieces)
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
        count = self._beside.pop((id, version), 0)
        self._remove(id, [_unsent(version, at) for at in range(count)])

    def keep_message(self, text: str, now_ms: int) -> str:
        """Stores the text of a message for as long as a queue keeps one. Returns its id."""
        id = f"{MESSAGE}{secrets.token_hex(16)}"
        expires = {"N": str(now_ms // 1000 + MESSAGE_S)}
        item = {**_key(id, HEAD), "text": {"S": text}, "expires": expires}
        self._client.put_item(TableName=self._name, Item=item)
        return id

    def message(self, id: str) -> str | None:
        """Returns the text of a message; None if it is not there."""
        items = self._items(
            KeyConditionExpression="id = :id",
            ExpressionAttributeValues={":id": {"S": id}},
            ConsistentRead=True,
        )
        return next((str(item["text"]["S"]) for item in items), None)

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
        """Removes rows, best effort: `load` ignores rows that should be gone."""
        for at in range(0, len(rows), REMOVED_AT_ONCE):
            some = rows[at : at + REMOVED_AT_ONCE]
            requests = [{"DeleteRequest": {"Key": _key(id, row)}} for row in some]
            try:
                self._client.batch_write_item(RequestItems={self._name: requests})
            except ClientError:
                log.warning("%s: some rows that have ended stay in the table", id, exc_info=True)
                return


def _key(id: str, row: str) -> dict[str, JSON]:
    return {"id": {"S": id}, "row": {"S": row}}


def _unsent(version: int, piece: int) -> str:
    """The row of a piece of what a version has to send."""
    return f"{UNSENT}{version}:{piece}"


def _head(change: Change, left: dict[str, str] | None) -> dict[str, Any]:
    """The update of an execution's head: all but the other fibers. `left` are the messages to send."""
    values: dict[str, Any] = {"version": {"N": str(change.version)}}
    names: dict[str, str] = {}
    gone = []
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
    """True if another conductor has written this version, or is about to."""
    code = error.response["Error"]["Code"]
    if code == "TransactionCanceledException":
        reasons = [reason.get("Code") for reason in error.response.get("CancellationReasons", ())]
        return any(reason in _REFUSED for reason in reasons)
    return code.removesuffix("Exception") in _REFUSED


def _is_too_large(error: ClientError) -> bool:
    """True if a write is too large for the table. AWS says so in words only."""
    said = [error.response["Error"], *error.response.get("CancellationReasons", ())]
    return any(
        one.get("Code") in _INVALID and "size" in str(one.get("Message")).lower() for one in said
    )
