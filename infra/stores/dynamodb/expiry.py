"""Deletes old records from a DynamoDB table, a bounded number at a time.

Activations and executions are in lanes in order of their ids, which begin with their time, so that the
oldest are found without a search. An execution and its values are deleted when none of its activations is
left.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .items import (
    LATER,
    SHARED_DIGITS,
    Item,
    execution_key,
    id_of,
    int_of,
    lane,
    lanes,
    text_of,
)
from .table import Filter, Span, gather

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ....actions import Expiry
    from .batch import Batch
    from .table import Table

LOOKED_AT_ONCE = 1000


async def expire(table: Table, batch: Batch, asked: Expiry) -> None:
    """Deletes at most `asked.count` records of each kind, and says if there may be more."""
    before_ms, count = asked.before_ms, asked.count
    digits = f"{max(before_ms, 0):0{SHARED_DIGITS}x}"
    gone = await _activations(table, batch, before_ms, digits, count)
    for item in gone:
        batch.erase(item)
    ended = await _executions(table, batch, before_ms, digits, count)
    asked.more = max(len(gone), len(ended)) == count
    await gather(_read(table, batch, Span(execution_key(id)[0])) for id in ended)
    for id in ended:
        batch.forget(id)
    await _values(table, batch, {*map(id_of, gone), *ended})


async def _activations(
    table: Table, batch: Batch, before_ms: int, digits: str, count: int
) -> list[Item]:
    """Returns the oldest activations that began before."""
    began = [Filter("started_ms", "<", before_ms)]
    low, high = "activation/", f"activation/{digits}"
    await gather(
        _read(table, batch, Span(pk, low=low, high=high, filters=began), count)
        for pk in lanes("activations")
    )
    old = [
        item
        for pk in lanes("activations")
        for item in batch.items(pk)
        if id_of(item) < digits and (int_of(item, "started_ms") or 0) < before_ms
    ]
    return sorted(old, key=id_of)[:count]


async def _executions(
    table: Table, batch: Batch, before_ms: int, digits: str, count: int
) -> list[str]:
    """Returns the oldest executions that ended before, and have no activations left."""
    ended = [Filter("ended_ms", "<", before_ms)]
    low, high = "execution/", f"execution/{digits}"
    found = await gather(
        _first(table, Span(pk, low=low, high=high, filters=ended), count)
        for status in batch.statuses
        for pk in lanes(f"status/{status}")
    )
    rows = await table.get(
        [execution_key(id_of(entry)) for entries in found for entry in entries], bodies=False
    )
    batch.read(rows.values())
    old = sorted(
        id_of(item)
        for item in batch.executions()
        if id_of(item) < digits and _ended_before(item, before_ms)
    )
    kept = await _kept(table, batch, old)
    return [id for id in old if id not in kept][:count]


def _ended_before(item: Item, before_ms: int) -> bool:
    ended_ms = int_of(item, "ended_ms")
    return ended_ms is not None and ended_ms < before_ms


async def _kept(table: Table, batch: Batch, ids: Sequence[str]) -> set[str]:
    """Returns the ids and causes of the activations that are stored near some executions."""
    by_lane: dict[int, list[str]] = {}
    for id in ids:
        by_lane.setdefault(lane(id), []).append(id[:SHARED_DIGITS])
    await gather(
        _read(
            table,
            batch,
            Span(
                f"activations/{number}",
                low=f"activation/{starts[0]}",
                high=f"activation/{starts[-1]}{LATER}",
            ),
        )
        for number, starts in by_lane.items()
    )
    left = [item for pk in lanes("activations") for item in batch.items(pk)]
    return {name for item in left for name in (id_of(item), text_of(item, "cause")) if name}


async def _values(table: Table, batch: Batch, gone: set[str]) -> None:
    """Deletes the values of deleted records, but not those of executions that are left."""
    by_lane: dict[int, list[str]] = {}
    for id in sorted(gone):
        by_lane.setdefault(lane(id), []).append(id)
    found = await gather(
        table.first(Span(f"valued/{n}", low=f"execution/{ids[0]}", high=f"execution/{ids[-1]}"))
        for n, ids in by_lane.items()
    )
    valued = {id_of(entry) for entries in found for entry in entries} & gone
    rows = await table.get([execution_key(id) for id in valued], bodies=False)
    batch.read(rows.values())
    lost = [id for id in valued if batch.item(execution_key(id)) is None]
    await gather(_read(table, batch, Span(f"values/{id}")) for id in lost)
    for id in lost:
        for item in batch.items(f"values/{id}"):
            batch.erase(item)


async def _read(table: Table, batch: Batch, span: Span, most: int | None = None) -> None:
    batch.read(await _first(table, span, most))


async def _first(table: Table, span: Span, most: int | None) -> list[Item]:
    return await table.first(span, most, size=most and LOOKED_AT_ONCE, bodies=False)
