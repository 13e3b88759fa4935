"""Calls that carry an idempotency key: however often one is sent, it begins one execution.

The key is committed with the execution, so it holds after a crash, too, and only if nobody else has used it
meanwhile, also on another server. A call that is sent again gets the same id, or the same result if it waits.
The same key with another action or other parameters is refused.

https://datatracker.ietf.org/doc/draft-ietf-httpapi-idempotency-key-header/
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING

import orjson

from ...actions import Document, InvalidError, ReusedKeyError
from .names import Sweep

if TYPE_CHECKING:
    from collections.abc import Container

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


def digest_of(call: Call, *more: str) -> str:
    """A digest of the action and the parameters of a call, and of what else makes it the same call.

    Raises:
        InvalidError: the parameters are not JSON.
    """
    try:
        asked = orjson.dumps([str(call.name), call.params, *more], option=orjson.OPT_SORT_KEYS)
    except TypeError as error:
        raise InvalidError(f"The request content was malformed:\n{error}") from error
    return sha256(asked).hexdigest()


class IdempotencyKeys:
    """The keys that calls have used, and the execution that each has begun."""

    def __init__(self, parts: Parts, tick: Tick) -> None:
        self._parts, self._tick = parts, tick
        self._sweep = Sweep(parts, tick, START)
        self._recent: OrderedDict[str, tuple[str, str]] = OrderedDict()  # id and digest, by key

    async def begun(self, call: Call) -> str | Claim:
        """Returns the id of the execution that the key has begun, or a claim to begin one.

        The caller has the turn of the key.

        Raises:
            ReusedKeyError: the key was used for another call.
            InvalidError: the parameters are not JSON.
            UnavailableError: the store does not commit just now.
        """
        key = f"{call.namespace}/{sha256(call.idempotency_key.encode()).hexdigest()}"
        digest = digest_of(call, *filter(None, [call.options.id]))
        while True:
            known = self._recent.get(key)
            if known is None:
                stored = await self._stored(key)
                if key in self._recent:
                    continue  # another call with the key has begun meanwhile
                if stored is None:
                    return Claim(key, digest)
                known = stored
            else:
                await self._tick.committed()
                if self._recent.get(key) != known:
                    continue  # it was withdrawn: the store has not taken it
            if known[1] != digest:
                raise ReusedKeyError(REUSED)
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
        return Document(kind=START, key=claim.key, body=body, expected=0)

    def withdrawn(self, ids: Container[str]) -> None:
        """Frees the keys of executions that the store has not taken."""
        for key, (id, _) in [*self._recent.items()]:
            if id in ids:
                del self._recent[key]

    async def forget(self, after: str, count: int, before_ms: int) -> str:
        """Drops keys behind one, of `count` at most, that were used before an instant.

        The key of an execution that is still running is kept.

        Returns:
            The last key looked at, to go on from; "" at the end.
        """
        dropped, last = await self._sweep.forget(after, count, before_ms)
        for key in dropped:
            self._recent.pop(key, None)
        return last
