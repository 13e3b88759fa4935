"""The changes of an execution: its next version, within the bounds of the table."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ....composer import LIMIT_EXCEEDED, Spawn, failure, outcome_to_json
from .execution_state import PATIENCE_MS, ROOT, plain
from .ports import MAX_ROWS, Change
from .records import Row

if TYPE_CHECKING:
    from collections.abc import Callable

    from ....composer import JSON
    from .execution_state import ExecutionState

ROW_BYTES = 380_000  # DynamoDB's items have at most 400 KB
SENDS_BYTES = 1_900_000  # of messages to send: five rows beside those of fibers
CHANGE_BYTES = 3_800_000  # DynamoDB's transactions and Azure's batches have 4 MB
MINUTE_MS = 60_000


def excess(state: ExecutionState, sends: list[JSON]) -> str | None:
    """The reason why the changes and the messages are too large to write; None if they are not."""
    outcome = state.gathered.outcome
    notes = [_size(send) for send in sends]
    if max(notes, default=0) > ROW_BYTES:
        return f"a part that begins by itself takes more than {ROW_BYTES} bytes"
    if sum(notes) > SENDS_BYTES:
        return f"the parts that begin by themselves take more than {SENDS_BYTES} bytes at once"
    if outcome is not None:
        return (
            f"the result takes more than {ROW_BYTES} bytes"
            if _size(outcome.value) > ROW_BYTES
            else None
        )
    sizes = [_size(row.to_json()) for row in _rows(state, 0).values()]
    if len(sizes) > MAX_ROWS:
        return f"more than {MAX_ROWS} branches have something left to do at once"
    if max(sizes, default=0) > ROW_BYTES:
        return f"the state of a branch takes more than {ROW_BYTES} bytes"
    if sum(sizes) + sum(notes) > CHANGE_BYTES:
        return f"the states of branches take more than {CHANGE_BYTES} bytes at once"
    return None


def give_up(state: ExecutionState, text: str) -> None:
    """Ends an execution as failed because of a limit. Parts that it was about to begin do not begin."""
    state.gathered.outcome = failure(LIMIT_EXCEEDED, text)
    state.gathered.commands = [
        (fiber, command)
        for fiber, command in state.gathered.commands
        if not isinstance(command, Spawn)
    ]


def change_of(
    state: ExecutionState, now_ms: int, unsent: list[JSON], patience_ms: Callable[[str], int | None]
) -> Change:
    """The next version, with all changes.

    Args:
        state: the execution, within bounds (see `excess`).
        now_ms: the time.
        unsent: the messages to send after the commit.
        patience_ms: the time to wait for the answer of an action; None for no limit.
    """
    record, outcome = state.record, state.gathered.outcome
    version = record.version + 1
    about = record.about if version == 1 else None
    if outcome is not None:
        return Change(
            id=record.id, version=version, at_ms=now_ms, about=about,
            dropped=[name for name in record.fibers if name != ROOT],
            unsent=unsent, due_ms=_minute(now_ms + PATIENCE_MS) if unsent else None,
            outcome=outcome_to_json(outcome, plain), ended_ms=now_ms,
        )  # fmt: skip
    rows = _rows(state, now_ms)
    due = [now_ms + PATIENCE_MS] if unsent or record.unsent else []
    due += [fiber.due_ms for fiber in state.execution.fibers.values() if fiber.due_ms is not None]
    for name, command in state.pending():
        patience = patience_ms(command.action or "")
        row = rows.get(name) or state.row(name)
        if patience is not None and row is not None:
            due.append(row.asked_ms + patience)
    prefixes = tuple(state.gathered.dropped)
    dropped = [name for name in record.fibers if prefixes and name.startswith(prefixes)]
    return Change(
        id=record.id, version=version, at_ms=now_ms, about=about,
        fibers={name: row.to_json() for name, row in rows.items()}, dropped=dropped,
        unsent=unsent, due_ms=_minute(min(due)) if due else None,
    )  # fmt: skip


def timers(state: ExecutionState) -> list[tuple[str, int]]:
    """The fibers with a new timer, and when it is due."""
    found = []
    for name, fiber in state.changed().items():
        before = state.before.get(name)
        if fiber.due_ms is not None and (before is None or before.due_ms != fiber.due_ms):
            found.append((name, fiber.due_ms))
    return found


def _rows(state: ExecutionState, now_ms: int) -> dict[str, Row]:
    rows: dict[str, Row] = {}
    for name, fiber in state.changed().items():
        known, again = state.row(name), name in state.gathered.again
        asked_ms, tries = now_ms, 1
        if known is not None and known.turn == fiber.turn:
            asked_ms = now_ms if again else known.asked_ms
            tries = known.tries + again
        rows[name] = Row(fiber=fiber.to_json(plain), asked_ms=asked_ms, tries=tries)
    return rows


def _size(value: JSON) -> int:
    return len(json.dumps(value))


def _minute(ms: int) -> int:
    """The next full minute: an index by minutes is seldom written."""
    return -(-ms // MINUTE_MS) * MINUTE_MS
