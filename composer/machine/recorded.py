"""The parts of a history that a replay does not decide again: who heard which message, and which deadline passed.

A fiber that is replayed never runs later than it did, but it may run earlier. So it cannot be left to the rules
of `listening` which messages it hears, nor to its frames which of its deadlines has passed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..freezing import changed
from . import history
from .frames import TO_START, Deadline
from .inbox import Inbox, Message, chosen
from .waits import Sleeping

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .fiber import Fiber
    from .history import StoredEntry
    from .inbox import Want

MESSAGES = (history.MESSAGE_RECEIVED, history.MESSAGE_DROPPED, history.MESSAGE_CONSUMED)
UPDATES = (history.UPDATE_ACCEPTED, history.UPDATE_COMPLETED, history.UPDATE_FAILED)
TIMERS = (history.TIMER_FIRED, history.TIMED_OUT)


class Post:
    """The messages of a history, while it is replayed: they wait apart from the execution, which hears what it heard."""

    __slots__ = ("_gone", "_left")

    def __init__(self) -> None:
        self._left: dict[int, Message] = {}
        self._gone: list[Message] = []

    def put(self, number: int, entry: StoredEntry) -> None:
        """A message has come: the one whose history entry has this number."""
        self._left[number] = Message(number, entry["name"], entry.get("id", ""), entry["value"])

    def drop(self, numbers: Iterable[int]) -> None:
        """Messages were dropped."""
        self._gone += [self._left.pop(number) for number in numbers if number in self._left]

    def take(self, numbers: Iterable[int], want: Want) -> tuple[Message, ...] | None:
        """Takes the messages that were heard; None if they are not those that satisfy the want."""
        heard = tuple(self._left[number] for number in numbers if number in self._left)
        names = {message.name: message for message in heard}
        if not heard or chosen(want, names.get) != heard:
            return None
        self.drop(message.number for message in heard)
        return heard

    def inbox(self) -> Inbox | None:
        """The inbox with the messages that are left, which knows the ids of all."""
        if not (self._gone or self._left):
            return None
        inbox = Inbox()
        for message in self._gone:
            inbox.put(message)
            inbox.take((message,))
        for message in self._left.values():
            inbox.put(message)
        return inbox


def as_timed(fiber: Fiber, entry: StoredEntry) -> Fiber | None:
    """The fiber, with the recorded timer due and no other; None if it has no such timer."""
    wait, passed = fiber.wait, None
    if entry["type"] == history.TIMED_OUT:
        passed = _passed(fiber, entry)
        if passed is None:
            return None
    elif isinstance(wait, Sleeping):
        wait = changed(wait, until_ms=min(wait.until_ms, entry["at"]))
    else:
        return None
    at_ms: int = entry["at"]
    frames = list(fiber.frames)
    for depth, frame in enumerate(frames):
        if depth == passed:
            frames[depth] = changed(frame, at_ms=at_ms)
        elif type(frame) is Deadline and frame.at_ms is not None and frame.at_ms <= at_ms:
            frames[depth] = changed(frame, at_ms=at_ms + 1)  # a heartbeat or a queue has put it off
    return changed(fiber, frames=tuple(frames), wait=wait)


def _passed(fiber: Fiber, entry: StoredEntry) -> int | None:
    """The depth of the frame of the deadline that has passed: the outermost that counts, of those it may be."""
    bound, timeout_ms = entry.get("bound", ""), entry["timeout_ms"]
    same = [
        (depth, frame)
        for depth, frame in enumerate(fiber.frames)
        if type(frame) is Deadline and (frame.bound, frame.timeout_ms) == (bound, timeout_ms)
    ]
    counting = [depth for depth, frame in same if frame.at_ms is not None]
    waiting = [depth for depth, frame in same if frame.bound == TO_START or frame.once_taken]
    return next(iter(counting or waiting), None)
