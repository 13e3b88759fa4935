"""CloudEvents are accepted and matched with triggers, each in two commits.

The first accepts: the CloudEvent is durable, and a second delivery of it is recognized. The sender is answered
then. The second has all that follows: the activations of the triggers, the executions of their rules, the dead
letters of those that cannot fire, and the record of what came of it. A crash between the two loses nothing: what
is accepted and not matched is matched after the next start. A crash never does anything twice.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any

import orjson

from ...actions import (
    Document,
    InDoubtError,
    InvalidError,
    NotFoundError,
    ThrottledError,
    TooLargeError,
    Trigger,
    UnavailableError,
    Write,
)
from ...composer import frozen
from .names import MANY, PAGES
from .pending_events import (
    HEARD,
    PENDING,
    STAMPS_PER_MS,
    PendingEvent,
    PendingEvents,
    heard_key,
    made_of,
)
from .stored_values import the_document
from .tick import CLOSED, IN_DOUBT
from .units import Unit

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from ...composer import JSON, CloudEvent, Name
    from .matching import Matching
    from .shared import Parts
    from .tick import Tick

CLEARED = 500  # documents that are deleted in one commit
PORTION_BYTES = 256 << 10  # of CloudEvents that are read before others have their turn: 2 ms
EACH_BYTES = 4 << 10  # that a CloudEvent takes as long as, however small it is


@frozen
class Accepted:
    """What came of a batch of CloudEvents.

    Args:
        accepted: how many are durable now and were not known.
        duplicates: how many had been accepted before.
        conflicts: how many had been accepted before, with another content: this content is not kept.
        keys: of all of them, in order.
    """

    accepted: int
    duplicates: int
    conflicts: int
    keys: tuple[str, ...]

    def to_json(self) -> dict[str, JSON]:
        """As a sender is told; `conflicts` only if there are some."""
        told: dict[str, JSON] = {"accepted": self.accepted, "duplicates": self.duplicates}
        if self.conflicts:
            told["conflicts"] = self.conflicts
        return {**told, "keys": [*self.keys]}


class Hearing:
    """Accepts CloudEvents, and has them matched in the order of their acceptance, each namespace in its turn."""

    def __init__(self, parts: Parts, tick: Tick, matching: Matching) -> None:
        self._parts, self._tick, self._matching = parts, tick, matching
        self._bounds = parts.settings.events
        self._pending = PendingEvents(self._bounds)
        self._stamp = 0  # of the last one
        self._begun = self._stopped = False

    # --- its life ----------------------------------------------------------------------------

    async def load(self) -> None:
        """Reads the CloudEvents that were accepted and not matched."""
        async for document in self._parts.store.documents(PENDING):
            pending = PendingEvent.from_json(document.key, orjson.loads(document.body or b""))
            self._pending.add(pending)
            self._stamp = max(self._stamp, pending.stamp)  # the clock may have been set back

    def begin(self) -> None:
        """Has all that is pending matched."""
        if not self._begun:
            self._begun = True
            for pending in self._pending:
                self._match_later(pending)

    def stop(self) -> None:
        """Matches nothing more; what is pending is matched after the next start."""
        self._stopped = True
        for pending in self._pending:
            for future in pending.waiting:
                if not future.done():
                    future.set_exception(UnavailableError(CLOSED))

    # --- accepting ---------------------------------------------------------------------------

    async def accept(
        self, namespace: str, events: Sequence[CloudEvent], *, trigger: Name | None = None
    ) -> Accepted:
        """Accepts CloudEvents: those that are new are durable when this returns, and take effect soon.

        Args:
            namespace: that they are sent to.
            events: the CloudEvents, in the order in which they take effect.
            trigger: that they are addressed to: it fires whatever its filter is; None for all that they fit.

        Raises:
            NotFoundError: there is no such trigger.
            InvalidError: one is not JSON.
            TooLargeError: one is too large, or they are too many at once.
            ThrottledError: too many wait to be matched.
            UnavailableError: the store does not commit; some may have been accepted, so send them again.
        """
        if trigger is not None:
            self._parts.catalog.get(Trigger, trigger)
        made = await self._read(namespace, events, "" if trigger is None else str(trigger))
        count, size = len(made), sum(pending.size for pending in made)
        self._tick.ensure()
        self._reserve(namespace, count, size)
        taken = [self._submit(pending) for pending in made]
        all_taken = asyncio.gather(*taken, return_exceptions=True)
        all_taken.add_done_callback(lambda _: self._pending.release(namespace, count, size))
        await asyncio.wait(
            [all_taken]
        )  # who stops waiting here leaves them, and their room, as they are
        return await self._answer(made, [future.result() for future in taken])

    def emitted(self, namespace: str, event: CloudEvent) -> None:
        """Accepts a CloudEvent in the unit that gathers now: it is accepted if that becomes durable."""
        pending = made_of(namespace, event, "")
        self._place(pending)
        gathering = self._tick.gathering
        gathering.write.documents += pending.documents(None)
        gathering.effects.append(partial(self._accepted, pending))
        self._tick.wake()

    async def _read(
        self, namespace: str, events: Sequence[CloudEvent], trigger: str
    ) -> list[PendingEvent]:
        """CloudEvents within their bounds, which have no places yet. Others have their turns meanwhile."""
        bounds = self._bounds
        if len(events) > bounds.batch:
            raise TooLargeError(
                f"A batch may have {bounds.batch} CloudEvents, not {len(events)}. Send it in parts."
            )
        made: list[PendingEvent] = []
        whole = portion = 0
        for index, event in enumerate(events):
            try:
                pending = made_of(namespace, event, trigger)
            except TypeError as error:
                raise InvalidError(f"CloudEvent {index} is not JSON: {error}.") from None
            if pending.size > bounds.event_bytes:
                raise TooLargeError(
                    f"CloudEvent {index} is larger than allowed: {pending.size} > {bounds.event_bytes} bytes."
                )
            made.append(pending)
            whole += pending.size
            portion += pending.size + EACH_BYTES
            if portion > PORTION_BYTES:
                await asyncio.sleep(0)  # noqa: TID251  it has taken some time
                portion = 0
        if whole > bounds.batch_bytes:
            raise TooLargeError(
                f"The batch is larger than allowed: {whole} > {bounds.batch_bytes} bytes. Send it in parts."
            )
        return made

    def _reserve(self, namespace: str, count: int, size: int) -> None:
        try:
            self._pending.reserve(namespace, count, size)
        except ThrottledError:
            self._parts.counters.events_refused += count
            raise

    def _place(self, pending: PendingEvent) -> None:
        """Gives a CloudEvent the next place in the order of acceptance."""
        now = self._parts.clock.now_ms() * STAMPS_PER_MS
        pending.stamp = self._stamp = max(now, self._stamp + 1)

    def _submit(self, pending: PendingEvent) -> asyncio.Future[bool]:
        self._place(pending)
        unit = Unit(alone=True)
        unit.write.documents += pending.documents(0)
        unit.effects.append(partial(self._accepted, pending))  # before its sender is told
        return self._tick.submit(unit, patient=False)

    async def _answer(self, made: list[PendingEvent], new: list[bool]) -> Accepted:
        known = [
            await self._same(pending)
            for pending, is_new in zip(made, new, strict=True)
            if not is_new
        ]
        counters = self._parts.counters
        counters.events_duplicates += len(known)
        counters.events_conflicts += known.count(False)
        return Accepted(
            accepted=sum(new), duplicates=known.count(True), conflicts=known.count(False),
            keys=tuple(pending.key for pending in made),
        )  # fmt: skip

    async def _same(self, pending: PendingEvent) -> bool:
        """True if the one that was accepted before had the same content."""
        known = self._pending.find(pending.namespace, pending.key)
        if known is not None:
            return known.digest == pending.digest
        doc = await self._heard(pending.namespace, pending.key)
        return doc is None or doc["digest"] == pending.digest  # None: it has just been forgotten

    # --- matching ----------------------------------------------------------------------------

    def _accepted(self, pending: PendingEvent) -> None:
        """A CloudEvent is durable."""
        self._parts.counters.events_accepted += 1
        self._pending.add(pending)
        if self._begun:
            self._match_later(pending)

    def _match_later(self, pending: PendingEvent) -> None:
        self._tick.later(pending.namespace, partial(self._match, pending))

    def _match(self, pending: PendingEvent) -> None:
        if pending not in self._pending:
            return  # its namespace was cleared
        unit = pending.unit = self._matching.match(pending)
        unit.waiting += pending.waiting
        unit.effects.append(partial(self._matched, pending))

    def _matched(self, pending: PendingEvent) -> None:
        """All that follows from a CloudEvent is durable."""
        self._pending.remove(pending)
        _tell(pending)

    async def settled(self, namespace: str, keys: Sequence[str]) -> None:
        """Waits until all that follows from these CloudEvents is durable, as far as they are accepted.

        Raises:
            InDoubtError: the store does not commit in time: they follow when it does.
            UnavailableError: the server stops: they follow after the next start.
        """
        for key in keys:
            pending = self._pending.find(namespace, key)
            if pending is None:
                continue
            if self._stopped:
                raise UnavailableError(CLOSED)
            if not self._tick.healthy:
                raise InDoubtError(IN_DOUBT)
            future = asyncio.get_running_loop().create_future()
            pending.waiting.append(future)
            if pending.unit is not None:
                pending.unit.waiting.append(future)
            await future

    # --- seen, and forgotten -----------------------------------------------------------------

    async def get(self, namespace: str, key: str) -> dict[str, JSON]:
        """What came of a CloudEvent: `key`, `state`, `seen` (ms), and the triggers that it reached.

        The state is `pending`; `fired`; `judged`, when no rule has invoked its action because of their conditions;
        `refused`, when no trigger could fire; or `unclaimed`, when none was there. `fired` is a list of
        {trigger, activationId}, `refused` one of {trigger, error}.

        Raises:
            NotFoundError: none with this key was accepted, or it is forgotten.
        """
        doc = await self._heard(namespace, key)
        if doc is None:
            raise NotFoundError
        fired, refused = doc.get("fired"), doc.get("refused", [])
        return {
            "key": key,
            "state": "pending" if fired is None else _state(fired, refused),
            "seen": doc["seen"],
            "fired": fired or [],
            "refused": refused,
        }

    async def _heard(self, namespace: str, key: str) -> dict[str, Any] | None:
        document = await the_document(self._parts.store, HEARD, heard_key(namespace, key))
        return None if document is None else orjson.loads(document.body or b"")

    async def clear(self, namespace: str) -> None:
        """Forgets all CloudEvents of a namespace that is being removed."""
        while self._pending.held(namespace):
            for pending in self._pending.of(namespace):
                if pending.unit is None:
                    self._tick.gathering.write.documents.append(pending.removal)
                    self._pending.remove(pending)
                    _tell(pending)
            await self._tick.committed()
        after: str | None = None
        while True:
            keys = [document.key async for document in self._page(f"{namespace}/", after)]
            if not keys:
                return
            gone = [Document(kind=HEARD, key=key, body=None) for key in keys]
            await self._tick.submit(Unit(Write(documents=gone)), patient=False)
            after = keys[-1]

    def _page(self, prefix: str, after: str | None) -> AsyncIterator[Document]:
        return self._parts.store.documents(HEARD, prefix, after=after, limit=CLEARED)

    async def forget(self, after: str, count: int, before_ms: int) -> str:
        """Forgets CloudEvents behind a key, of `count` at most, that were accepted before an instant.

        Those that are not matched yet are kept. While many of a page are forgotten, it goes on with the next.

        Returns:
            The last key looked at, to go on from; "" at the end.
        """
        for _ in range(PAGES):
            documents = self._parts.store.documents(HEARD, after=after or None, limit=count)
            seen = [document async for document in documents]
            gone = [document for document in seen if _is_over(document, before_ms)]
            for document in gone:
                unit = Unit()  # of its own: it is refused when the key is accepted again meanwhile
                removal = Document(
                    kind=HEARD, key=document.key, body=None, expected=document.version
                )
                unit.write.documents.append(removal)
                self._tick.submit(unit)
            after = seen[-1].key if len(seen) == count else ""
            if not after or len(gone) * MANY < count:
                break
        return after

    @property
    def horizon_ms(self) -> int:
        """How long a second delivery of a CloudEvent is recognized."""
        return self._bounds.horizon_ms

    def gauges(self) -> dict[str, int]:
        """Gauges: the CloudEvents that are pending, and the age of the oldest."""
        oldest_ms = self._pending.oldest_ms
        age_ms = 0 if oldest_ms is None else self._parts.clock.now_ms() - oldest_ms
        return {
            "cloudevents_pending": len(self._pending),
            "cloudevents_pending_longest_s": max(0, age_ms) // 1000,
        }


def _is_over(document: Document, before_ms: int) -> bool:
    doc = orjson.loads(document.body or b"")
    return doc["seen"] < before_ms and "fired" in doc


def _tell(pending: PendingEvent) -> None:
    """Tells those who wait for a CloudEvent that nothing more comes of it."""
    for future in pending.waiting:
        if not future.done():
            future.set_result(True)


def _state(fired: list[dict[str, JSON]], refused: list[JSON]) -> str:
    if any(each["activationId"] for each in fired):
        return "fired"
    return "refused" if refused else "judged" if fired else "unclaimed"
