"""The audit log: a bounded list of changes, with the key that made each of them.

Entries are numbered. The store lists documents in ascending order of their keys, so the key of an entry counts
down and the newest entry comes first. An entry takes the place of the entry that is `records` before it, in the
same commit, so that the log is never longer than that.
"""

from __future__ import annotations

import logging
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import orjson

from ...actions import Document, UnavailableError, Write

if TYPE_CHECKING:
    from ...actions import Clock, Store
    from ...composer import JSON

log = logging.getLogger(__name__)

KIND = "audit"
LAST = (1 << 63) - 1  # the greatest number of an entry
DAY_MS = 24 * 3600 * 1000
HOUR_MS = 3600 * 1000
MINUTE_MS = 60 * 1000
BATCH = 500  # entries that are deleted in one commit
SCANNED = 1000  # entries that are read for one page
REFUSALS = (
    60  # entries about refused requests of one key in a minute; more are counted and not kept
)
DONE, REFUSED, FAILED = "done", "refused", "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A change, or a refused attempt.

    Args:
        at_ms: time of the end of the request.
        namespace: namespace of the resource.
        by: namespace and name of the key.
        key_id: id of the key.
        verb: what was done, such as `put`.
        resource: the changed thing, such as `actions/hello`.
        outcome: `done`, `refused` or `failed`.
        status: HTTP status of the response.
        request: id of the request.
        address: address of the client.
    """

    at_ms: int
    namespace: str
    by: str
    key_id: str
    verb: str
    resource: str
    outcome: str
    status: int
    request: str
    address: str


class AuditLog:
    """Holds the entries. Call `load` first.

    Args:
        store: store of the entries.
        clock: source of time.
        days: days to keep an entry; 0 keeps it until it is displaced.
        records: maximum number of entries; the oldest are displaced.
    """

    def __init__(self, store: Store, clock: Clock, days: float, records: int) -> None:
        self._store, self._clock = store, clock
        self._kept_ms, self._records = int(days * DAY_MS), records
        self._last = 0  # number of the newest entry
        self._expired_ms = 0
        self._minute = 0
        self._refusals: dict[str, int] = {}
        self.unkept = 0  # refusals beyond the bound, and entries that could not be stored

    async def load(self) -> None:
        """Finds the newest entry, and deletes those that are too old or too many."""
        async for document in self._store.documents(KIND, limit=1):
            self._last = _number(document.key)
        await self._delete_from(self._last - self._records)
        await self._expire()

    async def add(self, entry: Entry) -> None:
        """Stores an entry. An entry that cannot be stored is logged instead."""
        if entry.outcome != DONE and not self._admits(entry):
            self.unkept += 1
            return
        self._last += 1
        documents = [
            Document(kind=KIND, key=_key(self._last), body=orjson.dumps(asdict(entry))),
            Document(kind=KIND, key=_key(self._last - self._records), body=None),
        ]
        try:
            await self._store.commit([Write(documents=documents)])
            if entry.at_ms - self._expired_ms >= HOUR_MS:
                await self._expire()
        except (UnavailableError, OSError) as error:
            self.unkept += 1
            log.error("the audit log cannot be written (%s): %s", error, asdict(entry))  # noqa: TRY400  no traceback

    def _admits(self, entry: Entry) -> bool:
        """True unless the key has had too many refusals in this minute: they must not displace changes."""
        minute = entry.at_ms // MINUTE_MS
        if minute != self._minute:
            self._minute, self._refusals = minute, {}
        count = self._refusals.get(entry.by, 0)
        self._refusals[entry.by] = count + 1
        return count < REFUSALS

    async def page(
        self, namespace: str | None, *, since_ms: int = 0, before: int | None = None, limit: int
    ) -> tuple[list[dict[str, JSON]], int | None]:
        """At most `limit` entries, the newest first, and the `before` of the next page (None at the end).

        A page may be shorter than `limit` and still have a next one.

        Args:
            namespace: namespace of the resources; None for all.
            since_ms: leaves out older entries.
            before: number of the entry that all entries of the page precede.
            limit: maximum number of entries.
        """
        oldest_ms = max(since_ms, self._clock.now_ms() - self._kept_ms if self._kept_ms else 0)
        start = LAST if before is None else before
        found: list[dict[str, JSON]] = []
        scanned = 0
        async for document in self._store.documents(KIND, after=_key(start), limit=SCANNED):
            scanned += 1
            number, entry = _number(document.key), orjson.loads(document.body or b"")
            if entry["at_ms"] < oldest_ms:
                return found, None
            if namespace in (None, entry["namespace"]):
                found.append(_shown(number, entry))
            if len(found) == limit:
                return found, number
        return found, number if scanned == SCANNED else None

    async def _expire(self) -> None:
        """Deletes the entries that are too old."""
        self._expired_ms = self._clock.now_ms()
        if self._kept_ms:
            await self._delete_from(await self._newest_before(self._expired_ms - self._kept_ms))

    async def _newest_before(self, instant_ms: int) -> int:
        """A number such that all entries up to it are older than an instant, and all others are not."""
        low, high = self._last - self._records, self._last
        while low < high:
            middle = (low + high + 1) // 2
            found = [d async for d in self._store.documents(KIND, after=_key(middle + 1), limit=1)]
            if not found or orjson.loads(found[0].body or b"")["at_ms"] < instant_ms:
                low = middle
            else:
                high = _number(found[0].key) - 1
        return low

    async def _delete_from(self, number: int) -> None:
        """Deletes the entries with this number and with smaller numbers."""
        while gone := [
            Document(kind=KIND, key=document.key, body=None)
            async for document in self._store.documents(KIND, after=_key(number + 1), limit=BATCH)
        ]:
            await self._store.commit([Write(documents=gone)])


def outcome_of_status(status: int) -> str:
    """The outcome of a request that was answered with an HTTP status."""
    if status < 400:  # noqa: PLR2004  HTTP's classes
        return DONE
    return REFUSED if status < 500 else FAILED  # noqa: PLR2004


def _key(number: int) -> str:
    return f"{LAST - number:016x}"


def _number(key: str) -> int:
    return LAST - int(key, 16)


def _shown(number: int, entry: dict[str, JSON]) -> dict[str, JSON]:
    return {
        "number": number,
        "at": entry["at_ms"],
        "namespace": entry["namespace"],
        "key": entry["by"],
        "keyId": entry["key_id"],
        "verb": entry["verb"],
        "resource": entry["resource"],
        "outcome": entry["outcome"],
        "status": entry["status"],
        "request": entry["request"],
        "address": entry["address"],
    }
