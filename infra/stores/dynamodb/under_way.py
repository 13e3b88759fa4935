"""Reads what is under way from a DynamoDB table: in pages of executions, and executions whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....actions import TAIL_LISTS, ExecutionRow, Saved, Standing
from .items import (
    AFTER_FIBERS,
    EXECUTION,
    HISTORY,
    LATER,
    Item,
    execution_key,
    execution_of,
    fiber_of,
    first_of,
    id_of,
    int_of,
    lanes,
)
from .table import Span, gather

if TYPE_CHECKING:
    from .listing import Listing
    from .table import Gate, Table

UNDER_WAY = ("running", "paused", "stuck")  # statuses of executions that have not ended
AFTER_ID = "\1"  # entries of fibers continue with a zero after the id


class UnderWay:
    """Reads executions that have not ended.

    Args:
        table: to read.
        listing: reads rows of the table.
        gate: returns the context in which a page is read.
    """

    def __init__(self, table: Table, listing: Listing, gate: Gate) -> None:
        self._table, self._listing, self._gate = table, listing, gate

    async def page(self, after: str, limit: int | None) -> Standing:
        """At most `limit` executions after an id, in order; all of them without a limit."""
        ids, more = await self._ids(after, limit)
        if not ids:
            return Standing([], [])
        entries = await self._entries(after, ids[-1])
        async with self._gate():
            rows = await self._listing.rows([execution_key(id) for id in ids])
        found = [execution_of(*row) for row in rows.values()]
        return Standing(
            list(dict.fromkeys(entry["id"]["S"] for entry in entries if "active" in entry)),
            [
                (due_ms, entry["id"]["S"], entry["key"]["S"])
                for entry in entries
                if (due_ms := int_of(entry, "due_ms")) is not None
            ],
            [row for row in found if row.ended_ms is None],
            ids[-1] if more else None,
        )

    async def _ids(self, after: str, limit: int | None) -> tuple[list[str], bool]:
        """The ids of a page, and whether there are more."""
        statuses = [pk for status in UNDER_WAY for pk in lanes(f"status/{status}")]
        low, high = f"execution/{after}\0", f"execution/{LATER}"
        spans = [Span(pk, low=low, high=high) for pk in statuses]
        spans += [Span(pk, low=after + AFTER_ID, high=LATER) for pk in lanes("standing")]
        size = {} if limit is None else {"size": limit}
        found = await gather(
            self._table.first(span, limit, gate=self._gate, **size) for span in spans
        )
        listed = [[_id(item) for item in items] for items in found]
        cut = [ids[-1] for ids in listed if len(ids) == limit]  # a lane that may hold more
        every = sorted({id for ids in listed for id in ids})
        page = [id for id in every if not cut or id <= min(cut)][:limit]
        return page, bool(cut) or len(page) < len(every)

    async def _entries(self, after: str, last: str) -> list[Item]:
        """The entries of the fibers of a page: active, or with a timer."""
        spans = [Span(pk, low=after + AFTER_ID, high=last + AFTER_ID) for pk in lanes("standing")]
        found = await gather(self._table.first(span, gate=self._gate) for span in spans)
        return [entry for items in found for entry in items]

    async def saved(self, execution: str, *, tail: bool = True) -> Saved | None:
        """An execution with its fibers, and with the tail of its history."""
        pk, sk = execution_key(execution)
        async with self._gate():
            found = await self._table.first(Span(pk, low=sk, high=AFTER_FIBERS))
            newest: list[Item] = []
            if tail:
                history = Span(pk, low=HISTORY, high=HISTORY + LATER)
                newest = await self._table.first(
                    history, TAIL_LISTS, backward=True, size=TAIL_LISTS
                )
            rows = await self._listing.whole([*found, *reversed(newest)])
        if (pk, sk) not in rows:
            return None
        lists = [(first_of(i), body) for (_, key), (i, body) in rows.items() if key >= HISTORY]
        fibers = [
            fiber_of(item, body)
            for (_, key), (item, body) in rows.items()
            if EXECUTION != key < HISTORY
        ]
        row: ExecutionRow = execution_of(*rows[pk, sk])
        return Saved(row, fibers, lists if tail else None)


def _id(item: Item) -> str:
    """The id of an entry: of a fiber, or by status."""
    id: str = item["id"]["S"] if "id" in item else id_of(item)
    return id
