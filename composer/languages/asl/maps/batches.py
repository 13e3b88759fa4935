"""Batches: inputs of child executions of a distributed Map that have several items each.

https://docs.aws.amazon.com/step-functions/latest/dg/input-output-itembatcher.html
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from ....expressions.nodes import MISSING, Missing
from ..state_errors import DATA_LIMIT_EXCEEDED, RUNTIME, StatesError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ....values import JSON

MAX_INPUT_BYTES: Final = 262_144  # of an execution's input
_FRAME, _JOINT = len('{"Items":[]}'), len('"BatchInput":,')


def batched(
    items: Iterable[JSON],
    batch_input: JSON | Missing = MISSING,
    max_items: int | None = None,
    max_bytes: int | None = None,
) -> list[dict[str, JSON]]:
    """The inputs of the executions: each has `Items`, and `BatchInput` if there is one.

    Args:
        items: after their ItemSelector.
        batch_input: merged into each.
        max_items: of a batch, MaxItemsPerBatch; None and 0 are no bound.
        max_bytes: of a batch's list of items as JSON, MaxInputBytesPerBatch; None and 0 are no bound. With
            all else an input never has more than MAX_INPUT_BYTES.

    Raises:
        StatesError: States.Runtime for a bound that is negative; States.DataLimitExceeded for an item
            that does not fit into a batch by itself.
    """
    for name, bound in (("MaxItemsPerBatch", max_items), ("MaxInputBytesPerBatch", max_bytes)):
        if bound is not None and bound < 0:
            raise StatesError(RUNTIME, f"{name} cannot be negative.")
    shared: dict[str, Any] = {} if batch_input is MISSING else {"BatchInput": batch_input}
    beside = _FRAME - len("[]") + sum(_JOINT + _size(value) for value in shared.values())
    room = MAX_INPUT_BYTES - beside
    return _batches(items, shared, max_items, min(max_bytes or room, room))


def batch_size(batch: Any) -> int:
    """The number of items in an input that `batched` has made."""
    return len(batch["Items"])


def _batches(
    items: Iterable[JSON], shared: dict[str, JSON], most: int | None, room: int
) -> list[dict[str, JSON]]:
    batches: list[dict[str, JSON]] = []
    batch: list[JSON] = []
    used = len("[]")
    for item in items:
        size = _size(item)
        if len("[]") + size > room:
            text = f"An item of {size} bytes does not fit into a batch of {room} bytes."
            raise StatesError(DATA_LIMIT_EXCEEDED, text)
        if batch and (len(batch) == most or used + len(",") + size > room):
            batches.append({**shared, "Items": batch})
            batch, used = [], len("[]")
        used += size + (len(",") if batch else 0)
        batch.append(item)
    if batch:
        batches.append({**shared, "Items": batch})
    return batches


def _size(value: JSON) -> int:
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())
