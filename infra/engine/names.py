"""Names of executions: documents that say which execution was given a name, and when.

The body of such a document begins with the id of the execution and the instant. Those of idempotency keys do, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

from ...actions import Document
from .stored_values import the_document
from .units import Unit

if TYPE_CHECKING:
    from ...actions import Store
    from .shared import Parts
    from .tick import Tick

NAMED = (
    "named"  # documents of names: the id of the execution, and the instant at which it was given
)


IDS = "id"  # documents: the run and the instant of its start, by the user's id, and by id and run
CHAIN = (
    "chain"  # documents: the newest run of a chain and the instant of its start, by the first run
)


def key_of(namespace: str, id: str) -> str:
    """The key of the document of a user's id."""
    return f"/{namespace}/{id}"


def id_documents(key: str, run: str, now_ms: int, expected: int | None = None) -> list[Document]:
    """The documents that say that a user's id means a run; the first may expect a version."""
    body = orjson.dumps([run, now_ms])
    return [
        Document(kind=IDS, key=key, body=body, expected=expected),
        Document(kind=IDS, key=f"{key}\n{run}", body=body),
    ]


def chain_document(first: str, run: str, now_ms: int) -> Document:
    """The document that names the newest run of a chain."""
    return Document(kind=CHAIN, key=first, body=orjson.dumps([run, now_ms]))


async def newest_of(store: Store, first: str) -> str | None:
    """The newest run of the chain that begins with a run; None if that run has no successor, or none is kept."""
    document = await the_document(store, CHAIN, first)
    return None if document is None else str(orjson.loads(document.body or b"")[0])


def name_key(namespace: str, path: str, name: str) -> str:
    """The key of the document of a name: of an execution of the action with this path, or of a part of one."""
    # "/" and ":" are in no namespace's or action's name, so that no two of them run together.
    return f"/{namespace}/{path}:{name}"


def named_document(key: str, id: str, now_ms: int, expected: int | None = None) -> Document:
    """The document that gives a name to an execution."""
    return Document(kind=NAMED, key=key, body=orjson.dumps([id, now_ms]), expected=expected)


PAGES = 20  # at once
MANY = 10  # a page of which one in so many is dropped has others behind it


class Sweep:
    """Drops documents of one kind whose executions are not kept any more."""

    def __init__(self, parts: Parts, tick: Tick, kind: str) -> None:
        self._store, self._tick, self._kind = parts.store, tick, kind

    async def forget(self, after: str, count: int, before_ms: int) -> tuple[list[str], str]:
        """Drops those of `count` documents after one that were given before an instant.

        While many of a page are dropped it goes on with the next page, so that it keeps up with any rate of starts.

        Returns:
            The keys that are dropped, and the last key looked at, to go on from; "" at the end.
        """
        dropped: list[str] = []
        for _ in range(PAGES):
            documents = self._store.documents(self._kind, after=after or None, limit=count)
            seen = [document async for document in documents]
            gone = [document.key for document in seen if await self._dropped(document, before_ms)]
            dropped += gone
            after = seen[-1].key if len(seen) == count else ""
            if not after or len(gone) * MANY < count:
                break
        return dropped, after

    async def _dropped(self, document: Document, before_ms: int) -> bool:
        id, given_ms, *_ = orjson.loads(document.body or b"")
        if given_ms >= before_ms or await self._store.load(id) is not None:
            return False
        if self._kind != CHAIN and await newest_of(self._store, id) is not None:
            return False  # its chain goes on
        unit = Unit()  # of its own: it is refused when the name is given again meanwhile
        gone = Document(kind=self._kind, key=document.key, body=None, expected=document.version)
        unit.write.documents.append(gone)
        self._tick.submit(unit)
        return True
