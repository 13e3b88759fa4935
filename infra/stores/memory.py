"""The store in this process's memory: for tests, and for executions that need no record."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

from ...actions import TAIL_LISTS, ExecutionRow, Saved, Standing
from ...composer import changed
from .matching import fits, in_order, matches

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from ...actions import ActivationRow, Document, Expiry, FiberRow, Indexed, Query, Record, Write


class MemoryStore:
    """A `Store` that ends with its process."""

    def __init__(self) -> None:
        self._executions: dict[str, ExecutionRow] = {}
        self._fibers: dict[str, dict[str, FiberRow]] = {}
        self._history: dict[str, dict[int, bytes]] = {}
        self._activations: dict[str, ActivationRow] = {}
        self._values: dict[tuple[str, str], bytes] = {}
        self._documents: dict[tuple[str, str], Document] = {}
        self._indexed: dict[str, Indexed] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        """Keeps its rows: it may be opened again in this process."""

    async def commit(self, writes: Sequence[Write]) -> list[int]:
        refused = []
        for index, write in enumerate(writes):
            if all(map(self._fits, write.documents)):
                self._put(write)
            else:
                refused.append(index)
        for index, write in enumerate(writes):
            if index not in refused:
                self._drop(write)
        return refused

    def _fits(self, document: Document) -> bool:
        found = self._documents.get((document.kind, document.key))
        return document.expected is None or document.expected == (found.version if found else 0)

    def _put(self, write: Write) -> None:
        for document in write.documents:
            place = (document.kind, document.key)
            found = self._documents.pop(place, None)
            if document.body is not None:
                version = found.version + 1 if found else 1
                self._documents[place] = changed(document, version=version, expected=None)
        for execution in write.executions:
            self._executions[execution.id] = execution
        for fiber in write.fibers:
            self._fibers.setdefault(fiber.execution, {})[fiber.fiber] = fiber
        for id, first, body in write.history:
            self._history.setdefault(id, {})[first] = body
        for activation in write.activations:
            self._activations.pop(activation.id, None)  # it is the last now
            self._activations[activation.id] = activation
        for id, key, body in write.values:
            self._values[id, key] = body
        for indexed in write.indexed:
            self._indexed[indexed.execution] = indexed

    def _drop(self, write: Write) -> None:
        for id, prefix in write.dropped:
            fibers = self._fibers.get(id, {})
            self._fibers[id] = {k: row for k, row in fibers.items() if not k.startswith(prefix)}
        for id in write.forgotten:
            self._executions.pop(id, None)
            self._history.pop(id, None)
            self._fibers.pop(id, None)
            self._indexed.pop(id, None)
        if write.expired is not None:
            self._expire(write.expired)

    def _expire(self, asked: Expiry) -> None:
        before_ms = asked.before_ms
        oldest = list(self._activations.values())[: asked.count]
        gone = [row.id for row in oldest if row.started_ms < before_ms]
        asked.more = len(gone) == asked.count
        for id in gone:
            del self._activations[id]
        kept = {row.cause for row in self._activations.values()} | self._activations.keys()
        ended = [
            row.id
            for row in self._executions.values()
            if row.ended_ms is not None and row.ended_ms < before_ms and row.id not in kept
        ]
        for id in ended:
            del self._executions[id]
            self._history.pop(id, None)
            self._indexed.pop(id, None)
        forgotten = {id for id in (*gone, *ended) if id not in self._executions}
        self._values = {
            place: value for place, value in self._values.items() if place[0] not in forgotten
        }

    async def standing(
        self, after: str = "", limit: int | None = None, *, of: Sequence[str] | None = None
    ) -> Standing:
        if of is not None:
            found = [self._saved(id) for id in of]
            return Standing([], [], saved=[saved for saved in found if saved is not None])
        later = sorted(id for id, fibers in self._fibers.items() if fibers and id > after)
        page = later[:limit]
        standing = self._under_way(page)
        return replace(standing, last=page[-1] if page and len(page) < len(later) else None)

    def _saved(self, execution: str) -> Saved | None:
        row = self._executions.get(execution)
        if row is None:
            return None
        fibers = self._fibers.get(execution, {})
        lists = sorted(self._history.get(execution, {}).items())
        return Saved(row, [fibers[name] for name in sorted(fibers)], lists[-TAIL_LISTS:])

    def _under_way(self, page: Sequence[str]) -> Standing:
        rows = [row for id in page for row in self._fibers[id].values()]
        active = list(dict.fromkeys(row.execution for row in rows if row.active))
        timers = [(row.due_ms, row.execution, row.fiber) for row in rows if row.due_ms is not None]
        found = dict.fromkeys(row.execution for row in rows)
        executions = [self._executions[id] for id in found if id in self._executions]
        return Standing(active, timers, [row for row in executions if row.ended_ms is None])

    async def load(self, execution: str) -> Saved | None:
        saved = self._saved(execution)
        return None if saved is None else replace(saved, tail=None)

    async def history(self, execution: str, after: int, limit: int) -> list[tuple[int, bytes]]:
        lists = sorted(self._history.get(execution, {}).items())
        start = bisect_right(lists, after + 1, key=lambda entry: entry[0])
        return lists[max(0, start - 1) :][:limit]

    async def values(self, execution: str, keys: Sequence[str]) -> dict[str, bytes]:
        places = ((execution, key) for key in keys)
        return {place[1]: self._values[place] for place in places if place in self._values}

    async def find(self, kind: type[Record], query: Query) -> list[Record]:
        found = self._fitting(kind, query)
        if query.where is not None:
            found = in_order(found, query.where)
            return found[query.skip :][: query.limit]
        if kind is ExecutionRow:
            found.sort(key=lambda row: row.id)
        found.sort(key=lambda row: row.started_ms)
        found.reverse()
        return found[query.skip : query.skip + query.limit]

    async def count(self, kind: type[ExecutionRow | ActivationRow], query: Query) -> int:
        return len(self._fitting(kind, replace(query, after=None)))

    def _fitting(self, kind: type[Any], query: Query) -> list[Any]:
        if kind is ExecutionRow and query.where is not None:
            return [row for row in self._executions.values() if self._fits_filter(row, query)]
        table: dict[str, Any] = self._executions if kind is ExecutionRow else self._activations
        return [row for row in table.values() if matches(row, query)]

    def _fits_filter(self, row: ExecutionRow, query: Query) -> bool:
        indexed = self._indexed.get(row.id)
        return fits(row, indexed.values if indexed is not None else (), query)

    async def documents(
        self, kind: str, prefix: str = "", *, after: str | None = None, limit: int | None = None
    ) -> AsyncIterator[Document]:
        keys = [key for found, key in self._documents if found == kind and key.startswith(prefix)]
        for key in sorted(key for key in keys if after is None or key > after)[:limit]:
            yield self._documents[kind, key]
