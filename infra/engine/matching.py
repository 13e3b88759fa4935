"""A CloudEvent meets the triggers of its namespace: one commit has all that follows from it."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from ...actions import INTERNAL_ERROR, UNAVAILABLE, RefusedError
from ...composer import HOPS, Failure, Name
from .unwaited import CLOUDEVENT, Unwaited

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ...composer import JSON, CloudEvent
    from .dead_letter_records import DeadLetterRecords
    from .firing import Firing
    from .pending_events import PendingEvent
    from .shared import Parts
    from .tick import Tick
    from .units import Unit

log = logging.getLogger(__name__)

MOST_HOPS = 32  # from CloudEvent to CloudEvent
LOOP = "EventLoop"  # the code of the failure
LOOPS = (
    "The CloudEvent comes from a chain of {hops} CloudEvents, each emitted because of the one before; {most} are "
    "allowed. Check the filters of the triggers for a loop."
)
BROKEN = (
    "The trigger did not fire because of an internal error; the server's log has the reason. Some of its "
    "rules may have run."
)


class Matching:
    """Fires the triggers that a CloudEvent reaches."""

    def __init__(
        self, parts: Parts, tick: Tick, firing: Firing, letters: DeadLetterRecords
    ) -> None:
        self._parts, self._tick = parts, tick
        self._firing, self._letters = firing, letters

    def match(self, pending: PendingEvent) -> Unit:
        """Fires all triggers that a CloudEvent reaches. Returns the unit that has all of it, and what came of it.

        A trigger that cannot fire makes a dead letter. An internal error makes one for each trigger.
        """
        try:
            return self._matched(pending, self._fired)
        except Exception:
            log.exception(
                "CloudEvent %s of namespace %s has met an internal error; it is a dead letter",
                pending.key,
                pending.namespace,
            )
            return self._matched(pending, self._broken)

    def _matched(
        self,
        pending: PendingEvent,
        fire: Callable[[PendingEvent], tuple[list[JSON], list[JSON]]],
    ) -> Unit:
        with self._tick.apart() as unit:
            fired, refused = fire(pending)
            came: dict[str, JSON] = {"fired": fired}
            if refused:
                came["refused"] = refused
            unit.write.documents += pending.taken(came)
        unit.alone = False  # its CloudEvent is accepted: it is never withdrawn
        counters = self._parts.counters
        if fired or refused:
            counters.events_matched += 1
        else:
            counters.events_unclaimed += 1
        return unit

    def _fired(self, pending: PendingEvent) -> tuple[list[JSON], list[JSON]]:
        """What the record of a CloudEvent says of the triggers that have fired, and of those that could not."""
        fired: list[JSON] = []
        refused: list[JSON] = []
        for trigger in self._reached(pending):
            failed = _looping(pending.event)
            if failed is None:
                try:
                    gathered = self._firing.gather(trigger, pending.event)
                except RefusedError as error:
                    failed = Failure(UNAVAILABLE, str(error))
                else:
                    if gathered is not None:
                        told: dict[str, JSON] = {
                            "trigger": str(trigger),
                            "activationId": gathered.activation,
                        }
                        fired.append(told)
                    continue
            refused.append(self._refused(pending, trigger, failed))
        return fired, refused

    def _broken(self, pending: PendingEvent) -> tuple[list[JSON], list[JSON]]:
        """The same as `_fired`, when an internal error has kept some trigger from firing."""
        failed = Failure(INTERNAL_ERROR, BROKEN)
        return [], [self._refused(pending, trigger, failed) for trigger in self._reached(pending)]

    def _refused(self, pending: PendingEvent, trigger: Name, failed: Failure) -> dict[str, JSON]:
        doc, unwaited = pending.event.to_json(), Unwaited(CLOUDEVENT)
        self._letters.failed(pending.namespace, str(trigger), unwaited, doc, failed)
        return {"trigger": str(trigger), "error": failed.error}

    def _reached(self, pending: PendingEvent) -> Iterable[Name]:
        if pending.trigger:
            return [Name.parse(pending.trigger)]
        found = self._parts.catalog.hearing.of(pending.namespace, pending.event.type)
        return [
            trigger.name
            for trigger in found
            if trigger.filter is not None and trigger.filter.fits(pending.event)
        ]


def _looping(event: CloudEvent) -> Failure | None:
    hops = event.attributes.get(HOPS)
    if isinstance(hops, int) and hops > MOST_HOPS:
        return Failure(LOOP, LOOPS.format(hops=hops, most=MOST_HOPS))
    return None
