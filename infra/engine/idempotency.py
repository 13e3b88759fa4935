"""Calls that carry an idempotency key: however often one is sent, it begins one execution.

The key is committed with the execution, so it holds after a crash, too. A call that is sent again gets the
same id, or the same result if it waits. The same key with another action or other parameters is refused.

https://datatracker.ietf.org/doc/draft-ietf-httpapi-idempotency-key-header/
"""

from __future__ import annotations

from collections import OrderedDict
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING

import orjson

from ...actions import Document, InDoubtError, ReusedKeyError, UnavailableError
from .units import Unit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...actions import Call
    from .shared import Parts
    from .tick import Tick

START = "start"  # documents of idempotency keys: id, instant and digest of the call of each
RECENT = 10_000  # keys that need not be looked up
REUSED = (
    "The idempotency key was used for another call: it had another action or other parameters. "
    "Use a new key for a new call."
)


@dataclass(frozen=True, slots=True)
class Claim:
    """A key's place in the store, and the digest of the call that uses it."""

    key: str
    digest: str


class IdempotencyKeys:
    """The keys that calls have used, and the execution that each has begun."""

    def __init__(self, parts: Parts, tick: Tick) -> None:
        self._parts, self._tick = parts, tick
        self._recent: OrderedDict[str, tuple[str, str]] = OrderedDict()  # id and digest, by key

    async def begun(self, call: Call) -> str | Claim:
        """Returns the id of the execution that the key has begun, or a claim to begin one.

        A claim must be used before anything else is awaited.

        Raises:
            ReusedKeyError: the key was used for another call.
            UnavailableError: the store does not commit just now.
        """
        key = f"{call.namespace}/{sha256(call.idempotency_key.encode()).hexdigest()}"
        asked = orjson.dumps([str(call.name), call.params], option=orjson.OPT_SORT_KEYS)
        digest = sha256(asked).hexdigest()
        while True:
            known = self._recent.get(key) or await self._stored(key)
            if known is None and key not in self._recent:
                return Claim(key, digest)
            if known is None:
                continue  # another call with the key has begun meanwhile
            if known[1] != digest:
                raise ReusedKeyError(REUSED)
            await self._tick.committed()
            if self._recent.get(key, known) == known:
                return known[0]

    async def _stored(self, key: str) -> tuple[str, str] | None:
        async for document in self._parts.store.documents(START, key, limit=1):
            if document.key == key:
                id, _, digest = orjson.loads(document.body or b"")
                return id, digest
        return None

    def claim(self, claim: Claim, id: str) -> Document:
        """Returns the document to commit with the execution that uses the key."""
        self._recent[claim.key] = (id, claim.digest)
        if len(self._recent) > RECENT:
            self._recent.popitem(last=False)
        body = orjson.dumps([id, self._parts.clock.now_ms(), claim.digest])
        return Document(kind=START, key=claim.key, body=body)

    @contextmanager
    def using(self, claim: Claim) -> Iterator[None]:
        """Frees the key if the store does not take the execution that was to use it."""
        try:
            yield
        except InDoubtError:
            raise
        except UnavailableError:
            self._recent.pop(claim.key, None)
            raise

    async def forget(self, after: str, count: int, before_ms: int) -> str:
        """Drops keys behind one, of `count` at most, that were used before an instant.

        The key of an execution that is still running is kept.

        Returns:
            The last key looked at, to go on from; "" at the end.
        """
        seen = [
            document
            async for document in self._parts.store.documents(
                START, after=after or None, limit=count
            )
        ]
        for document in seen:
            id, used_ms, _ = orjson.loads(document.body or b"")
            if used_ms < before_ms and await self._parts.store.load(id) is None:
                self._recent.pop(document.key, None)
                unit = Unit()
                gone = Document(kind=START, key=document.key, body=None, expected=document.version)
                unit.write.documents.append(gone)
                self._tick.submit(unit)
        return seen[-1].key if len(seen) == count else ""
