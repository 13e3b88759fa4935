"""Commits of any size to a DynamoDB table, all or nothing.

A transaction takes 100 writes and 4 MB. A larger commit is first written to a journal, in pieces. One
transaction decides it, with the fence and, if they fit, all pieces. Then its changes are made: in any order
and any number of times, since each change names a key and its new item. At last the journal's items are
deleted. A server that starts makes the changes of decided commits, and deletes the others from the journal.

| what                           | pk                  | sk       |
|--------------------------------|---------------------|----------|
| commit in the journal          | `journal`           | its name |
| piece of a commit              | `journal/NAME/n`    | `piece`  |
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson

from .items import (
    Changes,
    Item,
    Key,
    attribute,
    int_of,
    key_item,
    key_of,
    size_of,
    split,
    text_of,
)
from .table import Span, UnmetError, gather

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .lease import LastCommit, Lease
    from .table import Table

JOURNAL = "journal"
BEGUN, DECIDED, DONE = "begun", "decided", "done"
MOST_WRITES = 99  # in a transaction, with one more for the fence
MOST_BYTES = 2_900_000  # DynamoDB takes 4 MB, and a body travels as Base64


@dataclass(frozen=True, slots=True)
class Entry:
    """The changes of a commit, and the commit's name."""

    commit: str
    changes: Changes

    @property
    def small(self) -> bool:
        """True if the changes fit into one transaction."""
        return len(self.changes) <= MOST_WRITES and size_of(self.changes.items()) <= MOST_BYTES


class Journal:
    """Makes commits to a table that this server holds."""

    def __init__(self, table: Table, lease: Lease) -> None:
        self._table, self._lease = table, lease

    async def commit(self, entry: Entry, before: str, now: LastCommit) -> None:
        """Makes changes, as the next commit after `before`.

        Raises:
            UnmetError: if another commit came between, or another server has the table.
            StoreError: if the commit fails now; the fence tells if it was made all the same.
        """
        step = self._lease.step(before, now)
        if entry.small:
            await self._table.transact([step, *self._writes(entry.changes)])
            return
        pieces = self._pieces(entry)
        if _one(pieces):
            head = self._put(_head(entry.commit, DECIDED, len(pieces)))
            await self._table.transact([step, head, *map(self._put, pieces)])
        else:
            await self._table.put(_head(entry.commit, BEGUN, len(pieces)))
            await gather(map(self._table.put, pieces))
            head = self._put(_head(entry.commit, DECIDED, len(pieces)))
            await self._table.transact([step, head])
        await self.finish(entry)

    def _pieces(self, entry: Entry) -> list[Item]:
        """Returns the journal's items for a commit."""
        return [
            {**key_item(_piece(entry.commit, number)), "body": {"B": piece}}
            for number, piece in enumerate(split(_packed(entry.changes)))
        ]

    async def finish(self, entry: Entry) -> None:
        """Makes the changes of a decided commit, the first time or again.

        Raises:
            StoreError: if the changes fail now, or another server has the table.
        """
        if not entry.small:
            await self._apply(entry, self._pieces(entry))

    async def recover(self) -> None:
        """Makes the changes of decided commits, and deletes the others from the journal."""
        for head in await self._table.first(Span(JOURNAL)):
            commit, pieces = head["sk"]["S"], int_of(head, "pieces") or 0
            if text_of(head, "state") == DECIDED:
                keys = [_piece(commit, number) for number in range(pieces)]
                found = await self._table.get(keys)
                items = [found[key] for key in keys]
                changes = _unpacked(b"".join(item["body"]["B"] for item in items))
                await self._apply(Entry(commit, changes), items)
            else:
                await self._clear(commit, pieces)

    async def _apply(self, entry: Entry, pieces: list[Item]) -> None:
        commit, check = entry.commit, self._lease.check()
        try:
            for changes in _parted(entry.changes):
                await self._table.transact([check, *self._writes(changes)])
            if _one(pieces):
                keys = [(JOURNAL, commit), *map(key_of, pieces)]
                await self._table.transact([check, *self._writes(dict.fromkeys(keys))])
                return
            done = self._put(_head(commit, DONE, len(pieces)))
            await self._table.transact([check, done])
        except UnmetError:
            raise self._lease.lost() from None
        await self._clear(commit, len(pieces))

    async def _clear(self, commit: str, pieces: int) -> None:
        await gather(self._table.delete(_piece(commit, number)) for number in range(pieces))
        await self._table.delete((JOURNAL, commit))

    def _writes(self, changes: Changes) -> list[Any]:
        return [
            self._put(item)
            if item is not None
            else {"Delete": {"TableName": self._table.name, "Key": key_item(key)}}
            for key, item in changes.items()
        ]

    def _put(self, item: Item) -> Any:
        return {"Put": {"TableName": self._table.name, "Item": item}}


def _one(pieces: list[Item]) -> bool:
    """True if all pieces fit into one transaction."""
    size = size_of((key_of(piece), piece) for piece in pieces)
    return len(pieces) < MOST_WRITES and size <= MOST_BYTES


def _head(commit: str, state: str, pieces: int) -> Item:
    return {
        **key_item((JOURNAL, commit)),
        "state": attribute(state),
        "pieces": attribute(pieces),
    }


def _piece(commit: str, number: int) -> Key:
    return f"{JOURNAL}/{commit}/{number}", "piece"


def _parted(changes: Changes) -> Iterator[Changes]:
    """Splits changes into parts that fit into a transaction."""
    part: Changes = {}
    size = 0
    for change in changes.items():
        bytes = size_of([change])
        if part and (len(part) == MOST_WRITES or size + bytes > MOST_BYTES):
            yield part
            part, size = {}, 0
        part[change[0]] = change[1]
        size += bytes
    yield part


def _packed(changes: Changes) -> bytes:
    return orjson.dumps(
        [[*key, item] for key, item in changes.items()],
        default=lambda body: b64encode(body).decode(),
    )


def _unpacked(text: bytes) -> Changes:
    changes: Changes = {}
    for pk, sk, item in orjson.loads(text):
        if item is not None and "body" in item:
            item["body"] = {"B": b64decode(item["body"]["B"])}
        changes[pk, sk] = item
    return changes
