"""Lists executions and activations in a DynamoDB table, the newest first."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ....actions import STARTED, ActivationRow, ExecutionRow
from ..matching import fits, in_order
from .items import (
    LATER,
    MAX_TIME,
    SHARED_DIGITS,
    Item,
    Key,
    activation_key,
    activation_of,
    execution_key,
    execution_of,
    id_of,
    indexed_key,
    indexed_of,
    int_of,
    key_of,
    lane,
    lanes,
    piece_keys,
    time_text,
)
from .table import Filter, Span, gather

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ....actions import Filter as Where
    from ....actions import Query, Record
    from .table import Gate, Table

PAGE = 1000  # entries read at once
_LISTS = {ExecutionRow: "listing/executions", ActivationRow: "listing/activations"}


class Listing:
    """Reads rows of a table.

    Args:
        table: to read.
        gate: returns the context in which a page is read.
    """

    def __init__(self, table: Table, gate: Gate) -> None:
        self._table, self._gate = table, gate

    async def find(self, kind: type[Record], query: Query) -> list[Record]:
        """As the `Store` port has it."""
        ids = await self._ids(kind, query)
        key, made = _KINDS[kind]
        keys = [key(id) for id in ids[query.skip : query.skip + query.limit]]
        async with self._gate():
            rows = await self.rows(keys)
        return [made(*rows[key]) for key in keys if key in rows]

    async def count(self, kind: type[ExecutionRow | ActivationRow], query: Query) -> int:
        """As the `Store` port has it."""
        if query.where is not None:
            return len(await self._filtered(replace(query, after=None), query.where, None))
        if query.id is not None or query.cause is not None or query.namespace is None:
            return len(await self._gathered(kind, query))
        return sum(
            await gather(self._table.count(span, self._gate) for span in _listed(kind, query))
        )

    async def rows(self, keys: Sequence[Key]) -> dict[Key, tuple[Item, bytes]]:
        """Returns items with their bodies."""
        found = await self._table.get(keys)
        return await self.whole(found.values())

    async def whole(self, items: Iterable[Item]) -> dict[Key, tuple[Item, bytes]]:
        """Returns items with their bodies, in order; bodies that are stored in pieces are read."""
        found = [(item, piece_keys(item)) for item in items]
        pieces = await self._table.get([key for _, keys in found for key in keys])
        return {
            key_of(item): (item, b"".join(map(_body, [pieces[key] for key in keys] or [item])))
            for item, keys in found
        }

    # --- candidates --------------------------------------------------------------------------

    async def _ids(self, kind: type[Any], query: Query) -> list[str]:
        """Returns the ids of matching records, the newest first, up to the end of the query's page."""
        if query.where is not None:
            return await self._filtered(query, query.where, query.skip + query.limit)
        if query.id is not None or query.cause is not None or query.namespace is None:
            return await self._gathered(kind, query)
        newest = await self._newest(_listed(kind, query), query.skip + query.limit)
        return [entry["id"]["S"] for entry in newest]

    async def _filtered(self, query: Query, where: Where, enough: int | None) -> list[str]:
        """Returns the ids of executions that a filter finds, in its order.

        Pages of executions are read in the order of their start, until `enough` are found.
        """
        if where.order != STARTED or query.id is not None or query.namespace is None:
            rows = await self._fitting(await self._candidates_of(query), query)
            return [row.id for row in in_order(rows, where)][:enough]
        found: list[str] = []
        spans, last = _listed(ExecutionRow, query), None
        while enough is None or len(found) < enough:
            page = [_bounded(span, last, where) for span in spans]
            entries = await self._newest(page, PAGE, backward=not where.ascending)
            entries = [entry for entry in entries if entry["sk"]["S"] != last]
            if not entries:
                break
            found += [row.id for row in await self._fitting(entries, query)]
            last = entries[-1]["sk"]["S"]
        return found[:enough]

    async def _candidates_of(self, query: Query) -> list[Item]:
        """Returns entries or items of all executions that a query without its filter may find."""
        if query.id is not None or query.namespace is None:
            return await self._candidates(ExecutionRow, query)
        found = await gather(
            self._table.first(span, gate=self._gate) for span in _listed(ExecutionRow, query)
        )
        return [entry for entries in found for entry in entries]

    async def _fitting(self, entries: Sequence[Item], query: Query) -> list[ExecutionRow]:
        """Returns rows without bodies of the entries that a filter finds, in the entries' order."""
        rows = [_row_of(entry) for entry in entries]
        async with self._gate():
            stored = await self.rows([indexed_key(row.id) for row in rows])
        values = {row.id: stored.get(indexed_key(row.id)) for row in rows}
        return [
            row
            for row in rows
            if fits(row, indexed_of(found[1]) if (found := values[row.id]) else [], query)
        ]

    async def _gathered(self, kind: type[Any], query: Query) -> list[str]:
        """Returns the ids of matching records among few, or among all namespaces, as a start asks."""
        items = [item for item in await self._candidates(kind, query) if _fits(item, query)]
        items.sort(key=_age, reverse=True)
        return [id_of(item) for item in items]

    async def _candidates(self, kind: type[Any], query: Query) -> list[Item]:
        if query.id is not None:
            async with self._gate():
                return [
                    *(await self._table.get([_KINDS[kind][0](query.id)], bodies=False)).values()
                ]
        if kind is ExecutionRow:
            statuses = [query.status] if query.status is not None else await self.statuses()
            spans = [Span(pk) for status in statuses for pk in lanes(f"status/{status}")]
        elif query.cause is not None:
            start = query.cause[:SHARED_DIGITS]
            spans = [Span(f"activations/{lane(query.cause)}", prefix=f"activation/{start}")]
        else:
            spans = [Span(pk) for pk in lanes("activations")]
        found = await gather(
            self._table.first(span, bodies=False, gate=self._gate) for span in spans
        )
        return [item for items in found for item in items]

    async def statuses(self) -> list[str]:
        """Returns all statuses that any execution has had."""
        return [item["status"]["S"] for item in await self._table.first(Span("statuses"))]

    async def _newest(
        self, spans: Sequence[Span], enough: int, *, backward: bool = True
    ) -> list[Item]:
        """Returns at most `enough` entries of some lanes, the last first, or the first if not `backward`."""
        if not enough:
            return []
        filtered = any(span.filters for span in spans)
        size = PAGE if filtered else min(PAGE, enough)
        found = await gather(
            self._table.first(span, enough, backward=backward, size=size, gate=self._gate)
            for span in spans
        )
        entries = [entry for items in found for entry in items]
        entries.sort(key=lambda entry: entry["sk"]["S"], reverse=backward)
        return entries[:enough]


def _bounded(span: Span, last: str | None, where: Where) -> Span:
    """Returns the span from an entry on, in the order of a filter."""
    if last is None:
        return span
    return span._replace(low=last) if where.ascending else span._replace(high=last)


def _row_of(entry: Item) -> ExecutionRow:
    id = entry["id"]["S"] if "id" in entry else id_of(entry)
    return ExecutionRow(
        id, entry["namespace"]["S"], entry["name"]["S"], entry["status"]["S"],
        int_of(entry, "started_ms") or 0, int_of(entry, "ended_ms"), b"",
    )  # fmt: skip


def _listed(kind: type[Any], query: Query) -> list[Span]:
    """Returns the spans of a namespace's list that match a query."""
    low = time_text(query.since_ms or 0)
    high = time_text(MAX_TIME if query.upto_ms is None else query.upto_ms) + LATER
    asked = {name: getattr(query, name) for name in ("name", "status", "kind")}
    filters = [Filter(name, "=", value) for name, value in asked.items() if value is not None]
    places = lanes(f"{_LISTS[kind]}/{query.namespace}") if low <= high else []
    return [Span(pk, low=low, high=high, filters=filters) for pk in places]


def _fits(item: Item, query: Query) -> bool:
    began = int_of(item, "started_ms") or 0
    return (
        all(
            wanted is None or (item[name]["S"] if name in item else None) == wanted
            for name, wanted in (
                ("namespace", query.namespace),
                ("name", query.name),
                ("cause", query.cause),
                ("kind", query.kind),
            )
        )
        and query.id in (None, id_of(item))
        and (query.status is None or next(iter(item["status"].values())) == str(query.status))
        and (query.since_ms is None or began >= query.since_ms)
        and (query.upto_ms is None or began <= query.upto_ms)
    )


def _age(item: Item) -> tuple[int, int, str]:
    return int_of(item, "started_ms") or 0, int_of(item, "number") or 0, id_of(item)


def _body(item: Item) -> bytes:
    body: bytes = item["body"]["B"] if "body" in item else b""
    return body


_KINDS: dict[Any, tuple[Callable[[str], Key], Callable[[Item, bytes], Any]]] = {
    ExecutionRow: (execution_key, execution_of),
    ActivationRow: (activation_key, activation_of),
}
