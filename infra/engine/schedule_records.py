"""Schedules as the store has them: a document of each definition, and one of its state, which changes often."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import orjson

from ...actions import (
    Document,
    InvalidError,
    ScheduleState,
    schedule_of,
)
from ...composer import Name
from .stored_values import the_document

if TYPE_CHECKING:
    from ...actions import ScheduleDefinition, Store
    from ...composer import JSON, Outcome

log = logging.getLogger(__name__)

NEVER = (
    "the schedule would never start a run, or 'spec.skip' leaves out too many times before the first one: "
    "check the field 'spec'"
)
DEFINITION = "scheduled"  # documents of definitions, by the schedules' full names
STATE = "scheduled-state"  # documents of states, the same
NEXT = 10  # times to come that are shown
LAST = 10  # runs that are shown


@dataclass(slots=True)
class Kept:
    """A schedule in memory.

    Args:
        definition: as its user has written it.
        state: as the store has it.
        version: of the document of the state.
        lock: held by whoever changes it.
        ends: runs that have ended, and what came of them; not met yet.
        stop: what its open runs are still to be asked for.
        working: True if a task meets its times and ends.
        gone: True if it was deleted.
        overtaken: True if another engine has changed it in the store.
        contested: the id of a run that the store has refused: it may be taken.
    """

    definition: ScheduleDefinition
    state: ScheduleState
    version: int
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    ends: deque[tuple[str, Outcome]] = field(default_factory=deque)
    stop: str = ""
    working: bool = False
    gone: bool = False
    overtaken: bool = False
    contested: str = ""

    @property
    def key(self) -> str:
        return self.definition.key

    @property
    def namespace(self) -> str:
        return self.definition.namespace

    @property
    def due_ms(self) -> int | None:
        """The time at which its next instant is met; None if none is."""
        next_ms = self.state.next_ms
        if next_ms is None or self.state.paused:
            return None
        return self.definition.due_ms(next_ms)

    def state_document(self, state: ScheduleState) -> Document:
        """The document of another state, which replaces the present one only."""
        body = orjson.dumps(state.to_json())
        return Document(kind=STATE, key=self.key, body=body, expected=self.version)

    def removal(self) -> list[Document]:
        return [
            Document(kind=DEFINITION, key=self.key, body=None),
            Document(kind=STATE, key=self.key, body=None, expected=self.version),
        ]

    # --- as its user sees it -----------------------------------------------------------------

    def summary(self, now_ms: int) -> dict[str, JSON]:
        """A line of a list."""
        name, state = Name.parse(self.key), self.state
        return {
            "namespace": name.namespace,
            "name": name.name,
            "action": str(self.definition.action),
            "status": self._status(),
            "overlap": self.definition.overlap,
            "next": next(iter(self._next(now_ms, 1)), None) if state.paused else self.due_ms,
            "open": len(state.open),
            "note": self.definition.note,
        }

    def described(self, now_ms: int) -> dict[str, JSON]:
        """All of it: its document, its next times, its last runs, and its counts."""
        state = self.state
        runs = sorted((*state.last, *state.open), key=lambda run: (run.started_ms, run.at_ms))
        return {
            **self.summary(now_ms),
            "document": self.definition.document,
            "why": state.why,
            "next": self._next(now_ms, NEXT),
            "last": [
                {
                    "id": run.name,
                    "at": run.at_ms,
                    "activationId": run.run or None,
                    "started": run.started_ms,
                    "ended": run.ended_ms,
                    "status": run.status,
                    **({"error": run.error} if run.error else {}),
                }
                for run in runs[-LAST:]
            ],
            "left": state.left,
            "buffered": len(state.waiting),
            "missed": state.missed,
            "skipped": state.skipped,
            "dropped": state.dropped,
        }

    def _status(self) -> str:
        if self.state.paused:
            return "paused"
        return "active" if self.state.next_ms is not None else "ended"

    def _next(self, now_ms: int, count: int) -> list[JSON]:
        """The times at which it is due next; of a paused schedule, those after its resumption now."""
        state, definition = self.state, self.definition
        if state.next_ms is None:
            return []
        after_ms = now_ms - 1 if state.paused else state.next_ms - 1
        if state.left is not None:
            count = min(count, state.left)
        return [*definition.dues_ms(after_ms, count)]


class ScheduleRecords:
    """The schedules by their full names.

    Args:
        store: has the documents.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self.kept: dict[str, Kept] = {}

    async def load(self) -> None:
        """Reads all schedules. One that cannot be read is left alone, and the log says so."""
        states = {doc.key: doc async for doc in self._store.documents(STATE)}
        async for document in self._store.documents(DEFINITION):
            kept = _read(document, states.get(document.key))
            if kept is not None:
                self.kept[kept.key] = kept

    async def reload(self, kept: Kept) -> None:
        """Reads a schedule again that another engine has changed."""
        found = None
        state = await the_document(self._store, STATE, kept.key)
        definition = await the_document(self._store, DEFINITION, kept.key)
        if definition is not None:
            found = _read(definition, state)
        if found is None:
            kept.gone = True
            self.kept.pop(kept.key, None)
        else:
            kept.definition, kept.state, kept.version = found.definition, found.state, found.version
        kept.overtaken = False


def check_times(definition: ScheduleDefinition, now_ms: int) -> None:
    """Checks that a schedule has a time.

    Raises:
        InvalidError: it has none, or a search for it takes too long.
    """
    if definition.spec.after(now_ms - 1) is None:
        raise InvalidError(NEVER)


def definition_document(definition: ScheduleDefinition) -> Document:
    """The document of a definition."""
    body = orjson.dumps(definition.document)
    return Document(kind=DEFINITION, key=definition.key, body=body)


def _read(definition: Document, state: Document | None) -> Kept | None:
    if state is None:
        log.error("the schedule %s cannot be read: its state is missing", definition.key)
        return None
    try:
        read = schedule_of(definition.key, orjson.loads(definition.body or b""))
    except InvalidError as error:
        log.error("the schedule %s cannot be read: %s", definition.key, error)  # noqa: TRY400
        return None
    stood = ScheduleState.from_json(orjson.loads(state.body or b""))
    return Kept(read, stood, state.version, stop=stood.stopping)
