"""The stored form of messages.

A message that waits is a document of the kind `message`, whose key is its execution and its number. An id that a
sender gave is a document of the kind `told`, kept as long as the execution: its body begins as that of a name does,
so that the sweep of names drops it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

from ...actions import Document
from ...composer import Message
from . import stored_values

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ...actions import Store
    from ...composer import JSON, Queued
    from .stored_values import Stored

MESSAGE, TOLD = "message", "told"


def documents(execution: str, queued: Queued, keep: Callable[[JSON], Stored]) -> list[Document]:
    """The documents for the changes of an inbox."""
    put = [
        Document(
            kind=MESSAGE,
            key=_key(execution, message.number),
            body=orjson.dumps([message.name, message.id, keep(message.payload)]),
        )
        for message in queued.added
    ]
    gone = [
        Document(kind=MESSAGE, key=_key(execution, number), body=None) for number in queued.gone
    ]
    return put + gone


async def stored(store: Store, execution: str) -> list[Message]:
    """The undelivered messages of an execution, in order of arrival."""
    found = [
        (int(document.key.rpartition("/")[2], 16), *orjson.loads(document.body or b""))
        async for document in store.documents(MESSAGE, f"{execution}/")
    ]
    load = await stored_values.fetched(store, execution, [slot for *_, slot in found])
    return [Message(number, name, id, load(slot)) for number, name, id, slot in found]


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


def told_document(execution: str, id: str, now_ms: int) -> Document:
    """The document that says that an execution was told a message with this id."""
    return Document(kind=TOLD, key=_told(execution, id), body=orjson.dumps([execution, now_ms]))


async def was_told(store: Store, execution: str, id: str) -> bool:
    """True if an execution was told a message with this id."""
    key = _told(execution, id)
    return any([document.key == key async for document in store.documents(TOLD, key, limit=1)])


def _key(execution: str, number: int) -> str:
    return f"{execution}/{number:08x}"  # keys in order of number


def _told(execution: str, id: str) -> str:
    return f"/{execution}/{id}"
