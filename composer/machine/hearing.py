"""The instruction that waits for messages, and the event that ends its wait."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..values import LIMIT_EXCEEDED, boxed, failure, measured
from . import history
from .commands import Listen
from .instructions import Hear
from .steps import inspect
from .waits import Hearing

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..values import JSON
    from .cursor import Cursor, Reaction
    from .events import Heard


def _hear(cursor: Cursor, _: Hear) -> Reaction:
    if cursor.count_steps():
        cursor.turn += 1
        cursor.wait = Hearing(cursor.now_ms)
        cursor.commands.append(Listen())
    return None


HEARING: dict[type[Any], Callable[[Cursor, Any], Reaction]] = {Hear: _hear}


def take(cursor: Cursor, event: Heard) -> Reaction:
    """Makes the payloads of messages that were heard the fiber's value."""
    hear: Hear = cursor.instructions[cursor.pc - 1]  # type: ignore[assignment]
    numbers: list[JSON] = [message.number for message in event.messages]
    cursor.note(history.MESSAGE_CONSUMED, {"path": hear.path, "messages": numbers})
    payloads = {message.name: message.payload for message in event.messages}
    value: JSON = boxed(payloads[hear.want]) if isinstance(hear.want, str) else {**payloads}
    limit = cursor.limits.value_bytes
    if measured(value, limit) > limit:
        return failure(LIMIT_EXCEEDED, f"the messages make a value of more than {limit} bytes")
    cursor.value = value
    return inspect(cursor)
