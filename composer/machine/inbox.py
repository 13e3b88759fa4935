"""The inbox of an execution: messages that were told to it and that no fiber has heard yet.

A message is known by the number of its history entry, and messages of one name are heard in the order of these
numbers. A want says which messages a fiber waits for: the name of one, `{"any": [wants]}` or `{"all": [wants]}`.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, TypeAlias

from ..freezing import changed, frozen
from ..values import measured

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from ..values import JSON

MAX_MESSAGES = 10_000  # undelivered
MAX_MESSAGE_BYTES = 1 << 20
MAX_INBOX_BYTES = 16 << 20  # of all undelivered payloads
MAX_WANT_DEPTH = 16
MAX_MESSAGE_NAME = 255  # characters of a name, or of an id

Want: TypeAlias = Any
"""A message's name, `{"any": [wants]}` or `{"all": [wants]}`; `check_want` has seen it."""


@frozen
class Message:
    """A message: the number of its history entry, its name, the id that its sender gave it ("" for none), its payload.

    `size` is the payload's, in bytes of JSON; 0 if nobody has counted them: an inbox then takes about as many.
    """

    number: int
    name: str
    id: str
    payload: JSON
    size: int = 0


@frozen
class InboxChanges:
    """The changes of a queue: messages to be stored, and the numbers of those that left it."""

    added: tuple[Message, ...]
    gone: tuple[int, ...]


class Inbox:
    """Messages in order of arrival, by name: their `count`, and the `size` of their payloads in bytes.

    `ids` are those of messages that came since it is in memory, until they are forgotten.
    """

    __slots__ = ("_added", "_gone", "_queues", "count", "ids", "size")

    def __init__(self, stored: Iterable[Message] = ()) -> None:
        self._queues: dict[str, deque[Message]] = {}
        self._added: dict[int, Message] = {}
        self._gone: list[int] = []
        self.ids: set[str] = set()
        self.count = self.size = 0
        for message in stored:
            self._append(message)

    def __iter__(self) -> Iterator[Message]:
        """The undelivered messages, in order of arrival."""
        messages = [message for queue in self._queues.values() for message in queue]
        return iter(sorted(messages, key=_number))

    def first(self, name: str) -> Message | None:
        """The message of this name that is heard next."""
        queue = self._queues.get(name)
        return queue[0] if queue else None

    def put(self, message: Message) -> None:
        """Takes a message in."""
        self._added[message.number] = self._append(message)

    def take(self, messages: Iterable[Message]) -> None:
        """Removes messages, each the first of its name."""
        for message in messages:
            queue = self._queues[message.name]
            queue.popleft()
            if not queue:
                del self._queues[message.name]
            self._left(message)

    def drop(self, names: Iterable[str]) -> list[JSON]:
        """Drops all messages of these names. Returns their numbers, in order."""
        dropped = [message for name in names for message in self._queues.pop(name, ())]
        for message in dropped:
            self._left(message)
        return [*sorted(message.number for message in dropped)]

    def drop_all(self) -> list[JSON]:
        """Drops all messages. Returns their numbers, in order."""
        return self.drop([*self._queues])

    def put_again(self) -> None:
        """Has all undelivered messages stored again: a redrive goes on with them."""
        self._added, self._gone = {message.number: message for message in self}, []

    def flush(self) -> InboxChanges | None:
        """The changes since the last flush; None if there are none."""
        if not (self._added or self._gone):
            return None
        queued = InboxChanges(tuple(self._added.values()), tuple(self._gone))
        self._added, self._gone = {}, []
        return queued

    def forget(self, id: str) -> None:
        """Forgets the id of a message: others know by now that it was taken."""
        self.ids.discard(id)

    def _append(self, message: Message) -> Message:
        if not message.size:
            message = changed(message, size=measured(message.payload, MAX_INBOX_BYTES))
        self._queues.setdefault(message.name, deque()).append(message)
        self.count += 1
        self.size += message.size
        if message.id:
            self.ids.add(message.id)
        return message

    def _left(self, message: Message) -> None:
        self.count -= 1
        self.size -= message.size
        if self._added.pop(message.number, None) is None:
            self._gone.append(message.number)


# --- wants -------------------------------------------------------------------------------------


def chosen(want: Want, first: Callable[[str], Message | None]) -> tuple[Message, ...] | None:
    """The messages that satisfy a want, in order of arrival; None if it is not satisfied.

    Of several alternatives, the one that was complete first is chosen.
    """
    if isinstance(want, str):
        found = first(want)
        return None if found is None else (found,)
    ((how, parts),) = want.items()
    made = [chosen(part, first) for part in parts]
    whole = [messages for messages in made if messages is not None]
    if how == "any":
        return min(whole, key=lambda messages: messages[-1].number, default=None)
    if len(whole) < len(made):
        return None
    together = {message.number: message for messages in whole for message in messages}
    return tuple(sorted(together.values(), key=_number))


def names_of(want: Want) -> tuple[str, ...]:
    """The names in a want, each once."""
    if isinstance(want, str):
        return (want,)
    (parts,) = want.values()
    return tuple(dict.fromkeys(name for part in parts for name in names_of(part)))


def is_message_name(text: str) -> bool:
    """True if a message can have this name: it must fit into a path, and `$` begins names of our own."""
    return (
        0 < len(text) <= MAX_MESSAGE_NAME
        and text.isprintable()
        and "/" not in text
        and text[0] != "$"
    )


def check_want(want: JSON, depth: int = 0) -> Want:
    """Returns a want that is well formed.

    Raises:
        ValueError: it is not; the text says what it must be.
    """
    if isinstance(want, str) and want:
        return want
    if isinstance(want, dict) and len(want) == 1 and depth < MAX_WANT_DEPTH:
        ((how, parts),) = want.items()
        if how in ("any", "all") and isinstance(parts, list) and parts:
            return {how: [check_want(part, depth + 1) for part in parts]}
    raise ValueError(
        "must be the name of a message, any_of(...) or all_of(...) of names, "
        f"at most {MAX_WANT_DEPTH} deep, not {want!r:.200}"
    )


def _number(message: Message) -> int:
    return message.number
