"""The stored form of messages.

A message that waits is a document of the kind `message`, whose key is its execution and its number. An id that a
sender gave is a document of the kind `told`, kept as long as the execution with all runs of its chain: its body begins as that of a name does,
so that the sweep of names drops it.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, TypeAlias

import orjson

from ...actions import Document
from ...composer import Message
from . import stored_values
from .stored_values import the_document

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Iterator

    from ...actions import Store
    from ...composer import JSON, InboxChanges
    from .stored_values import Stored

MESSAGE, TOLD = "message", "told"
PAGE = 200  # messages read at once
PORTION_BYTES = 1 << 20  # of payloads that are read before others have their turn
LAST_NUMBER = 0xFFFF_FFFF  # that a key can hold

Row: TypeAlias = "tuple[int, str, str, Any, int]"
"""A message whose payload is still to be read: the fields of `Message`."""


def documents(
    execution: str, queued: InboxChanges, keep: Callable[[JSON], Stored]
) -> list[Document]:
    """The documents for the changes of an inbox."""
    put = [
        Document(
            kind=MESSAGE,
            key=_key(execution, message.number),
            body=orjson.dumps([message.name, message.id, keep(message.payload), message.size]),
        )
        for message in queued.added
    ]
    gone = [
        Document(kind=MESSAGE, key=_key(execution, number), body=None) for number in queued.gone
    ]
    return put + gone


async def stored(
    store: Store, execution: str, after: int = 0, limit: int | None = None
) -> list[Message]:
    """The undelivered messages of an execution after this number, in order of arrival: `limit` of them, or all.

    Others have their turns meanwhile.
    """
    found: list[Message] = []
    async for rows in _pages(store, execution, after, limit):
        for portion in _portions(rows):
            load = await stored_values.fetched(store, execution, [row[3] for row in portion])
            found += [
                Message(number, name, id, load(slot), size)
                for number, name, id, slot, size in portion
            ]
            await asyncio.sleep(0)  # noqa: TID251  a turn for others
    return found


async def _pages(
    store: Store, execution: str, after: int, limit: int | None
) -> AsyncIterator[list[Row]]:
    left = LAST_NUMBER if limit is None else limit
    while left > 0:
        asked, last = min(left, PAGE), _key(execution, min(after, LAST_NUMBER))
        found = store.documents(MESSAGE, f"{execution}/", after=last, limit=asked)
        rows: list[Row] = [
            (int(document.key.rpartition("/")[2], 16), *orjson.loads(document.body or b""))
            async for document in found
        ]
        yield rows
        if len(rows) < asked:
            return
        after = rows[-1][0]
        left -= len(rows)


def _portions(rows: list[Row]) -> Iterator[list[Row]]:
    begin = size = 0
    for place, row in enumerate(rows):
        if size and size + row[4] > PORTION_BYTES:
            yield rows[begin:place]
            begin, size = place, 0
        size += row[4]
    if rows:
        yield rows[begin:]


def shown(messages: Iterable[Message]) -> list[Stored]:
    """Messages as clients are shown them."""
    return [
        {
            "seq": message.number,
            "name": message.name,
            **({"id": message.id} if message.id else {}),
            "payload": message.payload,
        }
        for message in messages
    ]


def told_document(chain: str, id: str, now_ms: int, token: str = "") -> Document:
    """The document that says that a run of a chain was told a message with this id, by a call with this token.

    The chain is known by its first run.
    """
    body = orjson.dumps([chain, now_ms, *([token] if token else ())])
    return Document(kind=TOLD, key=_told(chain, id), body=body)


async def was_told(store: Store, chain: str, id: str) -> bool:
    """True if a run of a chain, known by its first run, was told a message with this id."""
    return await _told_by(store, chain, id) is not None


async def was_told_by(store: Store, chain: str, id: str, token: str) -> bool:
    """True if a run of a chain, known by its first run, was told a message with this id by this call."""
    return await _told_by(store, chain, id) == token


async def _told_by(store: Store, chain: str, id: str) -> str | None:
    """The token of the call that told a chain a message with this id, "" without one; None if none did."""
    document = await the_document(store, TOLD, _told(chain, id))
    if document is None:
        return None
    _, _, *token = orjson.loads(document.body or b"")
    return str(token[0]) if token else ""


def _key(execution: str, number: int) -> str:
    return f"{execution}/{number:08x}"  # keys in order of number


def _told(chain: str, id: str) -> str:
    return f"/{chain}/{id}"
