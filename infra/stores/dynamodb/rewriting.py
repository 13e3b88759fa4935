"""Rewrites every body in a DynamoDB table: reads each row, and commits it again like any other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....actions import Write
from ..places import (
    activation_place,
    document_place,
    execution_place,
    fiber_place,
    history_place,
    value_place,
)
from .items import (
    EXECUTION,
    FIBERS,
    HISTORY,
    Item,
    activation_of,
    document_of,
    execution_of,
    fiber_of,
    first_of,
    key_of,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from ..sealed import Change
    from .table import Table

PAGE = 50  # items read at once


async def pages(table: Table) -> AsyncIterator[list[Item]]:
    """Yields all items that have a body; pieces of large bodies are not among them."""
    start: Item | None = None
    while True:
        more: dict[str, Any] = {} if start is None else {"ExclusiveStartKey": start}
        answer = await table.call(
            "scan", TableName=table.name, Limit=PAGE, ConsistentRead=True, **more
        )
        yield [item for item in answer["Items"] if "body" in item or "pieces" in item]
        start = answer.get("LastEvaluatedKey")
        if start is None:
            return


def rewritten(item: Item, body: bytes, change: Change) -> Write | None:
    """Returns the write that replaces an item's body; None if the body stays."""
    pk, sk = key_of(item)
    kind, _, id = pk.partition("/")
    if kind == "documents":
        document = document_of(id, item, body)
        new = change(document_place(id, document.key), body)
        return None if new is None else Write(documents=[document_of(id, item, new)])
    if kind == "activations":
        new = change(activation_place(activation_of(item, body).id), body)
        return None if new is None else Write(activations=[activation_of(item, new)])
    if kind == "values":
        key = sk.partition("/")[2]
        new = change(value_place(id, key), body)
        return None if new is None else Write(values=[(id, key, new)])
    if kind == "execution":
        return _of_execution(item, body, change)
    return None


def _of_execution(item: Item, body: bytes, change: Change) -> Write | None:
    pk, sk = key_of(item)
    id = pk.partition("/")[2]
    if sk == EXECUTION:
        new = change(execution_place(id), body)
        return None if new is None else Write(executions=[execution_of(item, new)])
    if sk.startswith(FIBERS):
        new = change(fiber_place(id, sk.removeprefix(FIBERS)), body)
        return None if new is None else Write(fibers=[fiber_of(item, new)])
    if sk.startswith(HISTORY):
        new = change(history_place(id, first_of(item)), body)
        return None if new is None else Write(history=[(id, first_of(item), new)])
    return None
