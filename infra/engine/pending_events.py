"""CloudEvents that are accepted and not matched with triggers yet, in memory and in the store.

Each has two documents. One of the kind `heard`, by namespace and key, says that the CloudEvent was accepted, and
later what came of it: the store refuses a second one. One of the kind `cloudevent`, in order of acceptance, has
its content, until it is matched: a start reads only these.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import orjson

from ...actions import Document, ThrottledError
from ...composer import CloudEvent

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Iterator

    from ...composer import JSON
    from .shared import EventBounds
    from .units import Unit

HEARD, PENDING = "heard", "cloudevent"  # kinds of documents
STAMPS_PER_MS = 1_000
CHANGING = ("traceparent", "tracestate")  # each delivery may be a trace of its own
FULL = (
    "Too many CloudEvents wait to be matched with triggers ({count} of {bytes} bytes{where}). "
    "Send these again later."
)


@dataclass(slots=True, kw_only=True)
class PendingEvent:
    """A CloudEvent that is not matched yet.

    Args:
        namespace: that it was sent to.
        key: by which the namespace knows it.
        digest: of its content.
        event: the CloudEvent.
        size: of its JSON, in bytes.
        stamp: its place in the order of acceptance, an instant in units of 1 / STAMPS_PER_MS milliseconds; 0
            before it has one.
        trigger: the full name of the trigger that it is addressed to; "" for all whose filters it fits.
        unit: that it is matched in, once it is.
        waiting: those who wait for that to be durable.
    """

    namespace: str
    key: str
    digest: str
    event: CloudEvent
    size: int
    stamp: int = 0
    trigger: str = ""
    unit: Unit | None = None
    waiting: list[asyncio.Future[bool]] = field(default_factory=list)

    @property
    def seen_ms(self) -> int:
        """The instant of its acceptance."""
        return self.stamp // STAMPS_PER_MS

    def documents(self, expected: int | None) -> list[Document]:
        """The documents that accept it; `expected` is 0 unless it cannot be refused."""
        body = {
            "key": self.key,
            "digest": self.digest,
            "trigger": self.trigger,
            "event": [self.event.attributes, self.event.content],
        }
        return [
            self._marker({}, expected),
            Document(kind=PENDING, key=self._place, body=orjson.dumps(body)),
        ]

    def taken(self, came: dict[str, JSON]) -> list[Document]:
        """The documents that say what came of it: it is not pending any more."""
        return [self._marker(came), self.removal]

    @property
    def removal(self) -> Document:
        """The document that says that it is not pending any more."""
        return Document(kind=PENDING, key=self._place, body=None)

    @classmethod
    def from_json(cls, place: str, doc: Any) -> PendingEvent:
        """Reads what `documents` wrote: the key and the content of the document."""
        namespace, _, stamp = place.rpartition("/")
        event = CloudEvent(*doc["event"])  # it was checked when it was accepted
        return cls(
            namespace=namespace, key=doc["key"], digest=doc["digest"], stamp=int(stamp, 16),
            event=event, size=size_of(event), trigger=doc["trigger"],
        )  # fmt: skip

    def _marker(self, came: dict[str, JSON], expected: int | None = None) -> Document:
        body = orjson.dumps({"digest": self.digest, "seen": self.seen_ms, **came})
        return Document(
            kind=HEARD, key=heard_key(self.namespace, self.key), body=body, expected=expected
        )

    @property
    def _place(self) -> str:
        return f"{self.namespace}/{self.stamp:016x}"  # keys in order of stamps


def heard_key(namespace: str, key: str) -> str:
    """The key of the marker of a CloudEvent."""
    return f"{namespace}/{key}"


def key_for(event: CloudEvent, trigger: str) -> str:
    """The key of a CloudEvent. One that is addressed to a trigger was not delivered to any other."""
    return sha256(f"{event.key} {trigger}".encode()).hexdigest()[:32] if trigger else event.key


def made_of(namespace: str, event: CloudEvent, trigger: str) -> PendingEvent:
    """A CloudEvent that was sent to a namespace, or to the trigger of this full name. It has no place yet.

    Raises:
        TypeError: it is not JSON.
    """
    return PendingEvent(
        namespace=namespace, key=key_for(event, trigger), digest=digest_of(event), event=event,
        size=size_of(event), trigger=trigger,
    )  # fmt: skip


def size_of(event: CloudEvent) -> int:
    """The size of the JSON of a CloudEvent, in bytes.

    Raises:
        TypeError: it is not JSON.
    """
    return len(orjson.dumps(event.to_json()))


def digest_of(event: CloudEvent) -> str:
    """A digest of what two deliveries of a CloudEvent have in common."""
    doc = {name: value for name, value in event.to_json().items() if name not in CHANGING}
    return sha256(orjson.dumps(doc, option=orjson.OPT_SORT_KEYS)).hexdigest()


class PendingEvents:
    """The CloudEvents that are pending, by namespace in order of acceptance, and their bounds."""

    def __init__(self, bounds: EventBounds) -> None:
        self._bounds = bounds
        self._waiting: dict[str, dict[int, PendingEvent]] = {}  # by namespace and stamp
        self._by_key: dict[str, PendingEvent] = {}
        self._counts: Counter[str] = Counter()  # with those that are being accepted; "" is for all
        self._bytes: Counter[str] = Counter()

    def __len__(self) -> int:
        return sum(map(len, self._waiting.values()))

    def __iter__(self) -> Iterator[PendingEvent]:
        """All, those of each namespace in order of acceptance."""
        for waiting in [*self._waiting.values()]:
            yield from [*waiting.values()]

    def __contains__(self, pending: PendingEvent) -> bool:
        return self._waiting.get(pending.namespace, {}).get(pending.stamp) is pending

    def reserve(self, namespace: str, count: int, size: int) -> None:
        """Makes room for so many CloudEvents that are being accepted.

        Raises:
            ThrottledError: there is none.
        """
        bounds = self._bounds
        for place, most, most_bytes, where in (
            (namespace, bounds.pending, bounds.pending_bytes, f" in the namespace '{namespace}'"),
            ("", bounds.all_pending, bounds.all_pending_bytes, ""),
        ):
            held, held_bytes = self._counts[place], self._bytes[place]
            if held + count > most or held_bytes + size > most_bytes:
                raise ThrottledError(FULL.format(count=held, bytes=held_bytes, where=where))
        self._count(namespace, count, size)

    def release(self, namespace: str, count: int, size: int) -> None:
        """Gives up room: they are accepted, or not."""
        self._count(namespace, -count, -size)

    def add(self, pending: PendingEvent) -> None:
        """Adds one that is durable."""
        self._waiting.setdefault(pending.namespace, {})[pending.stamp] = pending
        self._by_key[heard_key(pending.namespace, pending.key)] = pending
        self._count(pending.namespace, 1, pending.size)

    def remove(self, pending: PendingEvent) -> None:
        """Removes one that was added."""
        waiting = self._waiting[pending.namespace]
        del waiting[pending.stamp]
        if not waiting:
            del self._waiting[pending.namespace]
        self._by_key.pop(heard_key(pending.namespace, pending.key), None)
        self._count(pending.namespace, -1, -pending.size)

    def find(self, namespace: str, key: str) -> PendingEvent | None:
        """The one with a key, if it is pending."""
        return self._by_key.get(heard_key(namespace, key))

    def of(self, namespace: str) -> list[PendingEvent]:
        """Those of a namespace, in order of acceptance."""
        return [*self._waiting.get(namespace, {}).values()]

    def held(self, namespace: str) -> int:
        """The number of those of a namespace, with those that are being accepted."""
        return self._counts[namespace]

    @property
    def oldest_ms(self) -> int | None:
        """The instant at which the oldest was accepted; None if there is none."""
        firsts = (next(iter(waiting.values())).seen_ms for waiting in self._waiting.values())
        return min(firsts, default=None)

    def _count(self, namespace: str, count: int, size: int) -> None:
        for place in (namespace, ""):
            self._counts[place] += count
            self._bytes[place] += size
            if not self._counts[place]:
                del self._counts[place], self._bytes[place]
