"""A check of the whole store: it finds everything that cannot be read."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import orjson

from ...actions import ActivationRow, ExecutionRow, Member, Query, RuleState, definition_from_json
from ...composer import CONDUCTING, DIALECTS, Message, Program
from ...transactions import Prepared, Row, Tombstone
from . import stored_values
from .contexts import CONTEXT, JOINED, SPENT
from .entities.documents import PREPARED, STATE
from .message_rows import MESSAGE
from .packing import unpacked_activation
from .pending_events import PENDING, PendingEvent
from .programs import PROGRAM
from .registry import DEFINITION

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from typing import Any

    from ...actions import Record, Store
    from ...composer import JSON

PAGE = 500  # records read at once


@dataclass(slots=True)
class Findings:
    """The number of records by kind, and the faults found, in words."""

    counts: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)


class _Check:
    def __init__(self, store: Store) -> None:
        self._store = store
        self.found = Findings()
        self._programs: dict[str, bool] = {}

    async def executions(self) -> None:
        seen = set()
        async for row in _all(self._store, ExecutionRow):
            seen.add(row.id)
            self.found.counts[f"executions {row.status}"] += 1
            try:
                await self._execution(row)
            except Exception as error:  # noqa: BLE001  whatever is wrong with it is told
                self._fault(f"execution {row.id}", error)
        standing = await self._store.standing()
        for id in sorted({*standing.active, *(timer[1] for timer in standing.timers)} - seen):
            self.found.faults.append(f"execution {id} has fibers, but no row")

    async def _execution(self, row: ExecutionRow) -> None:
        body = orjson.loads(row.body)
        if not body.get("solo") and body["program"] != CONDUCTING.hash:
            await self._program(row, body["program"])
        entries = await stored_values.history(self._store, row.id, 0)
        self.found.counts["history entries"] += len(entries)
        if "answers" in body:
            load = await stored_values.fetched(self._store, row.id, [body["answers"]])
            load(body["answers"])
        if row.ended_ms is not None:
            return
        saved = await self._store.load(row.id)
        rows = saved.fibers if saved is not None else []
        self.found.counts["fibers"] += len(rows)
        if not rows:
            raise ValueError("it is under way, but has no fibers")
        await stored_values.fibers(self._store, row.id, rows)

    async def _program(self, row: ExecutionRow, hash: str) -> None:
        if hash not in self._programs:
            self._programs[hash] = False
            async for document in self._store.documents(PROGRAM, hash, limit=1):
                Program.from_json(orjson.loads(document.body or b""), DIALECTS)
                self._programs[hash] = document.key == hash
        if not self._programs[hash] and row.ended_ms is None:
            raise ValueError(f"its program {hash} is missing, or cannot be read")

    async def activations(self) -> None:
        async for row in _all(self._store, ActivationRow):
            self.found.counts["activations"] += 1
            try:
                await stored_values.result(self._store, unpacked_activation(row))
            except Exception as error:  # noqa: BLE001  whatever is wrong with it is told
                self._fault(f"activation {row.id}", error)

    async def documents(self) -> None:
        for kind, (noun, parse) in _DOCUMENTS.items():
            async for document in self._store.documents(kind):
                self.found.counts[noun] += 1
                try:
                    parse(document.key, orjson.loads(document.body or b""))
                except Exception as error:  # noqa: BLE001  whatever is wrong with it is told
                    self._fault(f"{noun}: {document.key.strip()}", error)

    def _fault(self, what: str, error: Exception) -> None:
        text = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
        if isinstance(error, KeyError):
            text = f"it refers to a missing record: {error}"
        self.found.faults.append(f"{what}: {text}")


def _state(key: str, doc: JSON) -> None:
    (Row if key.endswith("\n") else Tombstone).from_json(doc)


def _context(key: str, doc: Any) -> None:
    if not key.endswith(f"/{SPENT}"):
        RuleState.from_json(doc)


_DOCUMENTS: dict[str, tuple[str, Callable[[str, Any], object]]] = {
    DEFINITION: ("actions, packages, triggers and rules", lambda _, doc: definition_from_json(doc)),
    STATE: ("entities", _state),
    MESSAGE: ("undelivered messages", lambda _, doc: Message(0, *doc)),
    PENDING: ("CloudEvents to be matched", PendingEvent.from_json),
    CONTEXT: ("contexts of rules", _context),
    JOINED: ("members of joins", lambda _, doc: Member.from_json(doc)),
    PREPARED: ("votes", lambda _, doc: Prepared.from_json(doc)),
}


async def _all(store: Store, kind: type[Record]) -> AsyncIterator[Record]:
    skip = 0
    while page := await store.find(kind, Query(namespace=None, skip=skip, limit=PAGE)):
        for row in page:
            yield row
        skip += len(page)


async def check(store: Store) -> Findings:
    """Reads all that is stored. A record that cannot be read, or refers to a missing one, is a fault."""
    checking = _Check(store)
    for look in (checking.executions, checking.activations, checking.documents):
        try:
            await look()
        except Exception as error:  # noqa: BLE001  its pages are damaged: the others may be whole
            checking.found.faults.append(f"{look.__name__}: {error}")
    return checking.found
