"""A store that encrypts bodies: the store below holds ids, names and times in the clear, no values."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Protocol, TypeAlias

from ...actions import ActivationRow, ExecutionRow, FiberRow, Saved, Store, Write
from ...composer import changed
from .places import (
    activation_place,
    document_place,
    execution_place,
    fiber_place,
    history_place,
    value_place,
)
from .seal import Seal, SealError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

    from ...actions import Document, Query, Record, Standing


Change: TypeAlias = "Callable[[bytes, bytes], bytes | None]"
"""Takes a place and its body, and returns the new body; None leaves the body as it is."""
new = tuple.__new__  # takes half the time of a NamedTuple's constructor


class Rewritable(Store, Protocol):
    """A store whose bodies can be replaced while it is not used otherwise.

    Law: when `rewrite` returns, every body is the result of `change`, and the store's files have no trace
    of the old bodies.
    """

    async def rewrite(self, change: Change) -> int:
        """Replaces bodies. Returns how many."""


class SealedStore:
    """A `Store` that seals bodies before another store writes them, and opens them when they are read.

    Rows that were stored without a seal are read as they are.

    Args:
        store: holds the rows; it is open.
        seal: seals and opens their bodies.
    """

    def __init__(self, store: Store, seal: Seal) -> None:
        self._store, self._seal = store, seal
        self._failed: list[tuple[Write, Write]] = []  # writes, and the same sealed

    async def commit(self, writes: Sequence[Write]) -> list[int]:
        """Retries failed writes with the same bytes: the store may have made them already."""
        known = {id(write): made for write, made in self._failed}
        sealed = [known.get(id(write)) or self._sealed(write) for write in writes]
        self._failed = []
        try:
            return await self._store.commit(sealed)
        except BaseException:
            self._failed = list(zip(writes, sealed, strict=True))
            raise

    def _sealed(self, write: Write) -> Write:
        """Seals a write. Most writes have rows of two or three kinds; the other kinds cost nothing."""
        seal = self._seal.sealed
        made = Write(
            forgotten=write.forgotten, dropped=write.dropped, expired=write.expired,
            indexed=write.indexed,
        )  # fmt: skip
        if write.executions:
            made.executions = [
                new(ExecutionRow, (id, a, b, c, d, e, seal(execution_place(id), body)))
                for id, a, b, c, d, e, body in write.executions
            ]
        if write.fibers:
            made.fibers = [
                new(FiberRow, (of, id, a, b, seal(fiber_place(of, id), body)))
                for of, id, a, b, body in write.fibers
            ]
        if write.history:
            made.history = [
                (of, first, seal(history_place(of, first), body))
                for of, first, body in write.history
            ]
        if write.activations:
            made.activations = [
                new(ActivationRow, (id, a, b, c, d, e, seal(activation_place(id), body), kind))
                for id, a, b, c, d, e, body, kind in write.activations
            ]
        if write.values:
            made.values = [
                (of, key, seal(value_place(of, key), body)) for of, key, body in write.values
            ]
        if write.documents:
            made.documents = [*map(self._document, write.documents)]
        return made

    def _document(self, document: Document) -> Document:
        if document.body is None:
            return document
        place = document_place(document.kind, document.key)
        return changed(document, body=self._seal.sealed(place, document.body))

    async def standing(
        self, after: str = "", limit: int | None = None, *, of: Sequence[str] | None = None
    ) -> Standing:
        standing = await self._store.standing(after, limit, of=of)
        return replace(
            standing,
            executions=[*map(self._whatever, standing.executions)],
            saved=[saved for saved in map(self._sound, standing.saved) if saved is not None],
        )

    async def load(self, execution: str) -> Saved | None:
        saved = await self._store.load(execution)
        return None if saved is None else self._saved(saved)

    def _sound(self, saved: Saved) -> Saved | None:
        try:
            return self._saved(saved)
        except SealError:
            return None

    def _saved(self, saved: Saved) -> Saved:
        id, tail = saved.execution.id, saved.tail
        return Saved(
            self._execution(saved.execution),
            [*map(self._fiber, saved.fibers)],
            None if tail is None else self._lists(id, tail),
        )

    def _lists(self, execution: str, lists: list[tuple[int, bytes]]) -> list[tuple[int, bytes]]:
        return [
            (first, self._seal.opened(history_place(execution, first), body))
            for first, body in lists
        ]

    def _whatever(self, row: ExecutionRow) -> ExecutionRow:
        """Opens a row; a damaged row is returned as it is, so that the other rows are found."""
        try:
            return self._execution(row)
        except SealError:
            return row

    def _execution(self, row: ExecutionRow) -> ExecutionRow:
        return row._replace(body=self._seal.opened(execution_place(row.id), row.body))

    def _activation(self, row: ActivationRow) -> ActivationRow:
        return row._replace(body=self._seal.opened(activation_place(row.id), row.body))

    def _fiber(self, row: FiberRow) -> FiberRow:
        place = fiber_place(row.execution, row.fiber)
        return row._replace(body=self._seal.opened(place, row.body))

    async def history(self, execution: str, after: int, limit: int) -> list[tuple[int, bytes]]:
        return self._lists(execution, await self._store.history(execution, after, limit))

    async def values(self, execution: str, keys: Sequence[str]) -> dict[str, bytes]:
        found = await self._store.values(execution, keys)
        return {
            key: self._seal.opened(value_place(execution, key), body) for key, body in found.items()
        }

    async def find(self, kind: type[Record], query: Query) -> list[Record]:
        rows = await self._store.find(kind, query)
        return [
            self._execution(row) if isinstance(row, ExecutionRow) else self._activation(row)
            for row in rows
        ]

    async def count(self, kind: type[ExecutionRow | ActivationRow], query: Query) -> int:
        return await self._store.count(kind, query)

    async def documents(
        self, kind: str, prefix: str = "", *, after: str | None = None, limit: int | None = None
    ) -> AsyncIterator[Document]:
        async for document in self._store.documents(kind, prefix, after=after, limit=limit):
            place = document_place(kind, document.key)
            yield changed(document, body=self._seal.opened(place, document.body or b""))
