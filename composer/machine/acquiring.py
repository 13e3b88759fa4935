"""Limits that wait: a fiber asks for a slot, stands in line for it, and holds it as long as its frame stands.

The caller of the machine keeps the lines. It answers the command `Acquire` with the event `Acquired`, at once or
later, or with `LinedUp` if the fiber must wait. A slot is given back with its frame, however that goes: whoever
keeps the lines sees so by the fiber.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..gates import Bound
from ..values import EXPRESSION_ERROR, Failure, failure
from . import history, instructions
from .commands import Acquire
from .events import LinedUp
from .frames import Slot
from .waits import Acquiring

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..values import JSON
    from .cursor import Cursor, Reaction
    from .events import Acquired

MAX_KEY = 255  # characters


def _acquire(cursor: Cursor, i: instructions.Acquire) -> Reaction:
    key = "" if i.key is None else _text(i.key.fill(cursor.scope()))
    if isinstance(key, Failure):
        return key
    if cursor.count_steps():
        cursor.turn += 1
        cursor.wait = Acquiring(key)
        cursor.commands.append(acquire(i, cursor.turn, key))
    return None


def _text(value: JSON | Failure) -> str | Failure:
    if isinstance(value, Failure):
        return value
    if type(value) in (int, float, bool):
        value = str(value)
    if not isinstance(value, str) or len(value) > MAX_KEY:
        text = f"limit: 'key' must make a text of at most {MAX_KEY} characters, not {value!r:.100}"
        return failure(EXPRESSION_ERROR, text)
    return value


def acquire(i: instructions.Acquire, turn: int, key: str) -> Acquire:
    """The command of an instruction, for the turn of its wait."""
    return Acquire(turn, i.name, key, Bound(i.concurrent, i.per_minute), i.path)


ACQUIRING: dict[type[Any], Callable[[Cursor, Any], Reaction]] = {instructions.Acquire: _acquire}


def answered(cursor: Cursor, event: LinedUp | Acquired, wait: Acquiring) -> bool:
    """Notes the place of a fiber that must wait, or gives it its slot. False if the event is stale."""
    if event.turn != cursor.turn:
        return False
    detail = _about(cursor, event.limit, wait.key)
    if isinstance(event, LinedUp):
        cursor.wait = Acquiring(wait.key, event.limit, event.place, cursor.now_ms)
        cursor.note(history.LIMIT_AWAITED, {**detail, "before": event.before})
    else:
        cursor.note(history.LIMIT_ENTERED, detail)
        cursor.push(Slot(event.limit, wait.key, cursor.turn, event.place, cursor.pc - 1))
    return True


def _about(cursor: Cursor, limit: str, key: str) -> dict[str, JSON]:
    asking: Any = cursor.instructions[cursor.pc - 1]
    keyed: dict[str, JSON] = {"key": key} if key else {}
    return {"limit": limit, **keyed, "path": asking.path}
