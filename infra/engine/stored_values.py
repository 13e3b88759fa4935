"""Values in rows: `{"v": value}`, or `{"r": key}` for a value that is stored by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import orjson

from ...actions import TAIL_LISTS
from ...composer import DIALECTS, Fiber, Invoking
from .packing import unpacked_entries

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ...actions import Document, FiberRow, Store
    from ...composer import JSON

Stored: TypeAlias = "dict[str, Any]"
"""A document that this server wrote: its shape is known, and `checking` finds damage."""

SEEN = "seen"  # in a fiber's row: the entries that its execution's history had by then
PAGE_LISTS = 200  # lists of entries read at once
IN_ENTRIES = ("value", "variables")
_REFERENCE = b'{"r":'  # a row without it has all its values in place


async def the_document(store: Store, kind: str, key: str) -> Document | None:
    """The document with exactly this key; None if there is none."""
    async for document in store.documents(kind, key, limit=1):
        if document.key == key:
            return document
    return None


async def fetched(store: Store, execution: str, slots: Iterable[Stored]) -> Callable[[Any], JSON]:
    """Reads the values of these slots. Returns a function from a slot to its value."""
    keys = sorted({slot["r"] for slot in slots if "r" in slot})
    found = await store.values(execution, keys) if keys else {}
    values = {key: orjson.loads(text) for key, text in found.items()}
    return lambda slot: values[slot["r"]] if "r" in slot else slot["v"]


async def fibers(
    store: Store, execution: str, rows: Sequence[FiberRow]
) -> tuple[list[Fiber], int | None]:
    """The fibers of an execution, as they were stored.

    And the number of entries that its history had when the first of those was stored that may have
    gone on since; None when there are none.
    """
    docs = [orjson.loads(row.body) for row in rows]
    seen = [doc.pop(SEEN) for doc in docs]
    slots: list[Any] = []
    for row, doc in zip(rows, docs, strict=True):
        if _REFERENCE in row.body:
            Fiber.from_json(doc, slots.append, DIALECTS.frame)
    load = await fetched(store, execution, slots)
    made = [Fiber.from_json(doc, load, DIALECTS.frame) for doc in docs]
    return made, min(
        (n for n, fiber in zip(seen, made, strict=True) if type(fiber.wait) is Invoking),
        default=None,
    )


async def history(
    store: Store, execution: str, after: int, tail: Sequence[tuple[int, bytes]] | None = None
) -> list[Stored]:
    """All entries after number `after`, with their values in place; from the `tail` if that has them all."""
    found: list[Stored] = []
    if tail is not None and (len(tail) < TAIL_LISTS or tail[0][0] <= after + 1):
        for place, (first, body) in enumerate(tail):
            if place + 1 == len(tail) or tail[place + 1][0] > after + 1:
                found += (await entries(store, execution, body))[max(0, after + 1 - first) :]
        return found
    while True:
        lists = await store.history(execution, after + len(found), PAGE_LISTS)
        for first, body in lists:
            made = await entries(store, execution, body)
            found += made[max(0, after + len(found) + 1 - first) :]
        if len(lists) < PAGE_LISTS:
            return found


async def entries(store: Store, execution: str, lines: bytes) -> list[Stored]:
    """History entries with their values in place, from the list that was stored."""
    docs = unpacked_entries(lines)
    slots = [doc[name] for doc in docs for name in IN_ENTRIES if name in doc]
    load = await fetched(store, execution, slots)
    for doc in docs:
        for name in IN_ENTRIES:
            if name in doc:
                doc[name] = load(doc[name])
    return docs


async def result(store: Store, body: Stored) -> JSON:
    """The result of an activation, from the members of its row's body: see `packing`."""
    load = await fetched(store, body["execution"], [body["result"]])
    return load(body["result"])
