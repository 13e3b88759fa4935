"""Names of executions: documents that say which execution was given a name, and when.

The body of such a document begins with the id of the execution and the instant. Those of idempotency keys do, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

from ...actions import Document
from .units import Unit

if TYPE_CHECKING:
    from .shared import Parts
    from .tick import Tick

NAMED = (
    "named"  # documents of names: the id of the execution, and the instant at which it was given
)


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
        unit = Unit()  # of its own: it is refused when the name is given again meanwhile
        gone = Document(kind=self._kind, key=document.key, body=None, expected=document.version)
        unit.write.documents.append(gone)
        self._tick.submit(unit)
        return True
