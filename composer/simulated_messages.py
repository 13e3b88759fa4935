"""Messages in a simulated world: those that come from outside, and those that a composition tells others."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from .machine.events import Completed
from .machine.inbox import Inbox, Message
from .values import copied

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .machine.changes import Changes
    from .machine.commands import Invoke
    from .machine.execution import Execution
    from .values import JSON

Telling: TypeAlias = "tuple[float, str, JSON]"
"""Virtual seconds, the name of a message, and its payload."""


@dataclass(frozen=True, slots=True)
class Told:
    """A message that a composition told another execution."""

    execution: str
    name: str
    payload: JSON
    at: float


class Mail:
    """The messages to come, and those that are stored. A sender tries again until a message is durable."""

    def __init__(self, messages: Iterable[Telling]) -> None:
        made = [(round(at * 1000), name, payload) for at, name, payload in messages]
        self._coming = sorted(made, key=lambda message: message[0])
        self._stored: dict[int, str] = {}
        self._told: set[str] = set()

    @property
    def due_ms(self) -> int | None:
        """The instant of the next message; None if no more come."""
        return self._coming[0][0] if self._coming else None

    def tell(self, execution: Execution, number: int, now_ms: int) -> Changes:
        """Tells an execution the next message, whose history entry will have this number."""
        _, name, payload = self._coming[0]
        return execution.tell(Message(number, name, "", copied(payload)), now_ms)

    def accepted(self) -> None:
        """The next message is durable."""
        del self._coming[0]

    def commit(self, changes: Changes) -> None:
        """Stores what the changes queue, and deletes what was received."""
        if changes.messages is None:
            return
        for message in changes.messages.added:
            self._stored[message.number] = json.dumps([message.name, message.payload])
        for number in changes.messages.gone:
            del self._stored[number]

    def inbox(self) -> Inbox | None:
        """The inbox as it is stored; None if it is empty."""
        read: list[tuple[int, Any]] = [(n, json.loads(text)) for n, text in self._stored.items()]
        stored = [Message(number, name, "", payload) for number, (name, payload) in read]
        return Inbox(stored) if stored else None

    def told(self, command: Invoke, at: float) -> tuple[Told | None, Completed]:
        """The message that a step tells, unless it has been told before a crash; and the answer to the step."""
        tell = command.tell
        assert tell is not None  # noqa: S101  only such steps tell
        done = Completed(command.turn, {"executionId": tell.execution, "message": tell.id})
        if tell.id in self._told:
            return None, done
        self._told.add(tell.id)
        return Told(tell.execution, tell.name, copied(command.params), at), done
