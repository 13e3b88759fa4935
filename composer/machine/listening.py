"""Who hears a message: the rule for the fibers of an execution.

A fiber begins to wait, or a message comes: then the first of the fibers that can be satisfied hears at once. So
a fiber that goes on waiting cannot be satisfied by the messages in the inbox.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import history
from .events import Heard
from .fiber import ROOT
from .history import Entry
from .inbox import MAX_INBOX_BYTES, MAX_MESSAGES, chosen, names_of
from .waits import Hearing

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from ..values import JSON
    from .changes import Changes
    from .fiber import Fiber
    from .forks import Delivery
    from .inbox import Inbox, Message
    from .instructions import Hear
    from .program import Program

NO_TURN = 0


def received(message: Message, now_ms: int, *, with_start: bool = False) -> Entry:
    """The history entry of a message; `with_start` if it came with the start of its execution."""
    detail: dict[str, JSON] = {"name": message.name}
    if message.id:
        detail["id"] = message.id
    if with_start:
        detail["start"] = True
    return Entry(now_ms, ROOT, NO_TURN, history.MESSAGE_RECEIVED, detail, message.payload)


def listens(
    inbox: Inbox, fiber: Fiber, hear: Hear, changes: Changes, now_ms: int
) -> list[Delivery]:
    """A fiber begins to wait: returns what it hears at once. What came before is dropped if it wants that."""
    if hear.drop and (numbers := inbox.drop(names_of(hear.want))):
        changes.entries.append(_dropped_early(fiber, numbers, now_ms))
    messages = chosen(hear.want, inbox.first)
    return [] if messages is None else [_heard(inbox, fiber, messages)]


def listens_again(  # noqa: PLR0913, PLR0917  as `listens`, and since when
    inbox: Inbox, fiber: Fiber, hear: Hear, since: int, changes: Changes, now_ms: int
) -> list[Delivery]:
    """A redriven fiber waits again, as it did `since` this entry: returns what it hears of the messages that are left."""
    numbers: list[JSON] = []
    for name in names_of(hear.want) if hear.drop else ():
        while (message := inbox.first(name)) is not None and message.number < since:
            inbox.take((message,))
            numbers.append(message.number)
    if numbers:
        changes.entries.append(_dropped_early(fiber, numbers, now_ms))
    messages = chosen(hear.want, inbox.first)
    return [] if messages is None else [_heard(inbox, fiber, messages)]


def arrives(
    inbox: Inbox, fibers: Collection[Fiber], program: Program, message: Message
) -> list[Delivery]:
    """A message has come: returns what the fiber hears that began to wait first, if it satisfies one."""
    found = _first_satisfied(fibers, program, message, inbox.first)
    return [] if found is None else [_heard(inbox, *found)]


def accepts(
    inbox: Inbox | None, fibers: Collection[Fiber], program: Program, message: Message
) -> bool:
    """True if an execution can be told a message: its inbox has room, or a fiber hears the message at once."""
    if inbox is None or _has_room(inbox, message):
        return True
    known = inbox.first

    def first(name: str) -> Message | None:
        return known(name) or (message if name == message.name else None)

    return _first_satisfied(fibers, program, message, first) is not None


def closed(inbox: Inbox, now_ms: int) -> list[Entry]:
    """The execution ends: returns the entry for the messages that nobody heard, if there are any."""
    numbers = inbox.drop_all()
    if not numbers:
        return []
    detail: dict[str, JSON] = {"messages": numbers, "why": "closed"}
    return [Entry(now_ms, ROOT, NO_TURN, history.MESSAGE_DROPPED, detail)]


def wanted(fiber: Fiber, program: Program) -> Hear:
    """The instruction at which a fiber waits for messages."""
    return program.instructions[fiber.pc - 1]  # type: ignore[return-value]


def _has_room(inbox: Inbox, message: Message) -> bool:
    return inbox.count < MAX_MESSAGES and inbox.size + message.size <= MAX_INBOX_BYTES


def waiting(fibers: Collection[Fiber]) -> list[Fiber]:
    """The fibers that wait for messages; first those that began first."""
    return sorted((fiber for fiber in fibers if type(fiber.wait) is Hearing), key=_since)


def _first_satisfied(
    fibers: Collection[Fiber],
    program: Program,
    message: Message,
    first: Callable[[str], Message | None],
) -> tuple[Fiber, tuple[Message, ...]] | None:
    for fiber in waiting(fibers):
        want = wanted(fiber, program).want
        if message.name in names_of(want) and (messages := chosen(want, first)) is not None:
            return fiber, messages
    return None


def _since(fiber: Fiber) -> tuple[int, str]:
    return fiber.wait.since_ms, fiber.id  # type: ignore[union-attr]


def _dropped_early(fiber: Fiber, numbers: list[JSON], now_ms: int) -> Entry:
    detail: dict[str, JSON] = {"messages": numbers, "why": "early"}
    return Entry(now_ms, fiber.id, fiber.turn, history.MESSAGE_DROPPED, detail)


def _heard(inbox: Inbox, fiber: Fiber, messages: tuple[Message, ...]) -> Delivery:
    inbox.take(messages)
    return fiber.id, Heard(fiber.turn, messages)
