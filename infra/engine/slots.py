"""How values stand in rows: `{"v": value}`, or `{"r": key}` for one that is stored by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from composer import Fiber

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from actions import FiberRow, Store
    from composer import JSON

_IN_ENTRIES = ("value", "variables")


async def fetched(
    store: Store, execution: str, slots: Iterable[dict[str, JSON]]
) -> Callable[[JSON], JSON]:
    """Reads those slots: a function from a slot to its value."""
    keys = sorted({slot["r"] for slot in slots if "r" in slot})
    found = await store.values(execution, keys) if keys else {}
    values = {key: orjson.loads(text) for key, text in found.items()}
    return lambda slot: values[slot["r"]] if "r" in slot else slot["v"]


async def fibers(store: Store, execution: str, rows: Iterable[FiberRow]) -> list[Fiber]:
    """The fibers of an execution, from their rows."""
    docs = [orjson.loads(row.body) for row in rows]
    slots: list[dict[str, Any]] = []
    for doc in docs:
        Fiber.from_json(doc, slots.append)
    load = await fetched(store, execution, slots)
    return [Fiber.from_json(doc, load) for doc in docs]


async def entries(store: Store, execution: str, lines: bytes) -> list[dict[str, JSON]]:
    """History entries with their values in place, from the JSON list that was stored."""
    docs: list[dict[str, JSON]] = orjson.loads(lines)
    slots = [doc[name] for doc in docs for name in _IN_ENTRIES if name in doc]
    load = await fetched(store, execution, slots)
    for doc in docs:
        for name in _IN_ENTRIES:
            if name in doc:
                doc[name] = load(doc[name])
    return docs


async def result(store: Store, body: dict[str, JSON]) -> JSON:
    """The result of an activation, from its row's body."""
    load = await fetched(store, body["execution"], [body["result"]])
    return load(body["result"])
