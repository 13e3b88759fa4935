"""Deletes old records, a few at a time, in the background."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Self

from ...actions import Expiry, Write
from ..stores import StoreError

if TYPE_CHECKING:
    from ...actions import Clock
    from ..engine import Engine

log = logging.getLogger(__name__)

DAY_MS = 24 * 3600 * 1000
AT_ONCE = 2000  # records
NAMES = 500  # of executions, that are looked at
PERIOD_S = 2.0


class Retention:
    """Deletes records after so many days, while it is open; 0 keeps them forever, except which CloudEvents came."""

    def __init__(self, engine: Engine, clock: Clock, days: float) -> None:
        self._engine, self._clock, self._kept_ms = engine, clock, int(days * DAY_MS)
        self._tasks = asyncio.TaskGroup()

    async def __aenter__(self) -> Self:
        await self._tasks.__aenter__()
        self._expiring = self._tasks.create_task(self._expire())
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._expiring.cancel()
        await self._tasks.__aexit__(None, None, None)

    async def _expire(self) -> None:
        places: dict[str, str] = {}
        while True:
            now_ms = self._clock.now_ms()
            before_ms = now_ms - self._kept_ms
            asked = Expiry(before_ms, AT_ONCE, now_ms=now_ms)
            try:
                if self._kept_ms:
                    await self._engine.commit(Write(expired=asked))
                places = await self._swept(places, now_ms)
            except StoreError as error:  # a later turn finds the same again
                log.error("old records cannot be deleted: %s", error)  # noqa: TRY400
            await asyncio.sleep(0 if asked.more else PERIOD_S)  # noqa: TID251  a late deletion does no harm

    async def _swept(self, places: dict[str, str], now_ms: int) -> dict[str, str]:
        """Drops documents behind these places, by their kind. Returns the next places."""
        engine, before_ms = self._engine, now_ms - self._kept_ms
        sweeps = {"heard": engine.events.forget}
        if self._kept_ms:
            sweeps |= {
                "names": engine.executions.forget_names,
                "keys": engine.calls.keys.forget,
                "ids": engine.identities.forget,
                "told": engine.messages.forget_ids,
                "chains": engine.chains.forget,
                "updates": engine.updates.forget,
                "batches": engine.batches.forget,
            }
        instants = {
            "keys": min(before_ms, now_ms - DAY_MS),  # a token holds for a day at least
            "heard": now_ms - engine.events.horizon_ms,
        }
        return {
            kind: await forget(places.get(kind, ""), NAMES, instants.get(kind, before_ms))
            for kind, forget in sweeps.items()
        }
