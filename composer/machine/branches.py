"""The operations that start other fibers or executions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..values import EXPRESSION_ERROR, LIMIT_EXCEEDED, Failure, boxed, failure
from . import history, instructions
from .commands import Fork, Spawn
from .frames import inherited
from .waits import Joining

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..values import JSON
    from .cursor import Cursor, Reaction


def _fork(cursor: Cursor, i: instructions.Fork) -> Reaction:
    return _begin_fork(cursor, i.path, len(i.branches), None)


def _each(cursor: Cursor, i: instructions.Each) -> Reaction:
    items = items_of(cursor, i)
    if type(items) is Failure:
        return items
    return _begin_fork(cursor, i.path, len(items), items)


def items_of(cursor: Cursor, i: instructions.Each) -> list[JSON] | Failure:
    """The value that each member starts with. As in Composer's map, no list counts as an empty one."""
    items = i.items.fill(cursor.scope())
    if items is None or type(items) is Failure:
        return [] if items is None else items
    if type(items) is not list:
        return failure(EXPRESSION_ERROR, f"map: 'items' must select a list, not {items!r:.100}")
    return [boxed(item) for item in items]


def _begin_fork(cursor: Cursor, path: str, width: int, items: list[JSON] | None) -> Reaction:
    if width > cursor.limits.fork_width:
        return failure(
            LIMIT_EXCEEDED,
            f"the fork has {width} branches; {cursor.limits.fork_width} are allowed",
        )
    cursor.turn += 1
    cursor.wait = Joining()
    cursor.commands.append(Fork(cursor.turn, items))
    cursor.note(history.FORKED, {"path": path, "width": width})
    return None


def _spawn(cursor: Cursor, i: instructions.Spawn) -> Reaction:
    if not cursor.count_steps():
        return None
    cursor.turn += 1
    activation = cursor.activation_of(cursor.turn)
    frames = inherited(cursor.frames)
    cursor.commands.append(Spawn(activation, cursor.pc, cursor.value, frames))
    cursor.note(history.SPAWNED, {"path": i.path, "activation": activation})
    cursor.value = {
        "method": "async", "activationId": activation, "sessionId": cursor.execution,
    }  # fmt: skip
    cursor.pc = i.to
    return None


BRANCHING: dict[type[Any], Callable[[Cursor, Any], Reaction]] = {
    instructions.Fork: _fork,
    instructions.Each: _each,
    instructions.Spawn: _spawn,
}
