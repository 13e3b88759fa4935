"""Messages and updates in a simulated world: from outside, and those that a composition tells others."""

from __future__ import annotations

import json
from dataclasses import dataclass
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any, TypeAlias

from .machine.changes import Changes
from .machine.events import Completed
from .machine.fiber import ROOT
from .machine.handling import is_over
from .machine.inbox import Inbox, Message
from .machine.serving import Update
from .machine.updating import CLOSED, MAX_OPEN_UPDATES, MAX_UPDATES
from .values import Failure, Success, copied, failure

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .machine.commands import Invoke
    from .machine.execution import Execution
    from .values import JSON, Outcome

Telling: TypeAlias = "tuple[float, str, JSON]"
"""Virtual seconds, the name of a message or an update, and its payload."""

NO_SUCH_UPDATE, REJECTED, TOO_MANY_UPDATES = "NoSuchUpdate", "Rejected", "TooManyUpdates"


@dataclass(slots=True)
class Updated:
    """An update: its name, its payload, the virtual second in which it came, and its outcome once it has one.

    The outcome of an update that was not accepted is a Failure: `Rejected`, `NoSuchUpdate`, `Closed` or
    `TooManyUpdates`.
    """

    name: str
    payload: JSON
    at: float
    outcome: Outcome | None = None

    @property
    def answer(self) -> Any:
        """The answer, whose shape is the composition's.

        Raises:
            AssertionError: there is none; the text has the outcome.
        """
        if not isinstance(self.outcome, Success):
            raise AssertionError(f"update '{self.name}' was not answered: {self.outcome}")
        return self.outcome.value

    @property
    def error(self) -> str:
        """The code of its failure.

        Raises:
            AssertionError: it has not failed; the text has the outcome.
        """
        if not isinstance(self.outcome, Failure):
            raise AssertionError(f"update '{self.name}' did not fail: {self.outcome}")
        return self.outcome.code


@dataclass(frozen=True, slots=True)
class Told:
    """A message that a composition told another execution."""

    execution: str
    name: str
    payload: JSON
    at: float


@dataclass(slots=True, eq=False)
class _Letter:
    """A message that is to come, or an update."""

    at_ms: int
    name: str
    payload: JSON
    update: Updated | None = None
    id: str = ""


class Mail:
    """The messages and updates to come, and the messages that are stored. A sender tries again until one is durable.

    `updates` are in order of their instants. One that nothing handles yet waits until something does.
    """

    def __init__(self, messages: Iterable[Telling], updates: Iterable[Telling] = ()) -> None:
        letters = [_Letter(round(at * 1000), name, payload) for at, name, payload in messages]
        self.updates = [
            Updated(name, payload, at) for at, name, payload in sorted(updates, key=itemgetter(0))
        ]
        self._asked = {f"update-{number}": each for number, each in enumerate(self.updates)}
        letters += [
            _Letter(round(each.at * 1000), each.name, each.payload, each, id)
            for id, each in self._asked.items()
        ]
        self._coming = sorted(letters, key=attrgetter("at_ms"))
        self._letter: _Letter | None = None
        self._stored: dict[int, str] = {}
        self._told: set[str] = set()

    def due_ms(self, execution: Execution) -> int | None:
        """The instant of the next message or update; None if no more come."""
        letter = self._next(execution)
        return None if letter is None else letter.at_ms

    def tell(self, execution: Execution, number: int, now_ms: int) -> Changes:
        """Tells an execution the next message, whose history entry will have this number, or asks for the update."""
        letter = self._letter = self._next(execution)
        assert letter is not None  # noqa: S101  the caller has asked `due_ms`
        payload = copied(letter.payload)
        if letter.update is None:
            return execution.tell(Message(number, letter.name, "", payload), now_ms)
        update = Update(letter.id, letter.name, payload)
        code = refusal(execution, update)
        if code is None:
            return execution.update(update, now_ms)
        letter.update.outcome = failure(code, f"update '{letter.name}' was not accepted")
        return Changes()

    def accepted(self) -> None:
        """The message or update that was told is durable, or was refused."""
        self._coming = [each for each in self._coming if each is not self._letter]

    def _next(self, execution: Execution) -> _Letter | None:
        return next((each for each in self._coming if not _is_early(each, execution)), None)

    def commit(self, changes: Changes) -> None:
        """Stores what the changes queue, deletes what was received, and notes the ends of updates."""
        for settled in changes.updates:
            self._asked[settled.id].outcome = settled.outcome
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


def refusal(execution: Execution, update: Update) -> str | None:
    """The code with which a server refuses an update; None if it accepts it."""
    if not execution.serves(update.name):
        return CLOSED if update.name in execution.program.updates else NO_SUCH_UPDATE
    if len(execution.updates) >= MAX_OPEN_UPDATES or execution.accepted >= MAX_UPDATES:
        return TOO_MANY_UPDATES
    return None if execution.valid(update) is True else REJECTED


def _is_early(letter: _Letter, execution: Execution) -> bool:
    if letter.update is None or execution.serves(letter.name):
        return False
    if execution.restarting:  # the next run may handle it
        return True
    known = letter.name in execution.program.updates
    root = execution.fibers.get(ROOT)
    return known and root is not None and not is_over(execution.program, root, letter.name)
