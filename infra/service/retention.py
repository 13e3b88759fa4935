"""Deletes old records, a few at a time, in the background."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Self, TypeAlias

from ...actions import Expiry, Write
from ..stores import StoreError

if TYPE_CHECKING:
    from ...actions import Clock
    from ..engine import Engine

log = logging.getLogger(__name__)

Places: TypeAlias = "tuple[str, str, str, str]"

DAY_MS = 24 * 3600 * 1000
AT_ONCE = 2000  # records
NAMES = 500  # of executions, that are looked at
PERIOD_S = 2.0


class Retention:
    """Deletes records after so many days, while it is open; 0 keeps them forever."""

    def __init__(self, engine: Engine, clock: Clock, days: float) -> None:
        self._engine, self._clock, self._kept_ms = engine, clock, int(days * DAY_MS)
        self._tasks = asyncio.TaskGroup()
        self._expiring: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        await self._tasks.__aenter__()
        if self._kept_ms:
            self._expiring = self._tasks.create_task(self._expire())
        return self

    async def __aexit__(self, *exc: object) -> None:
        if self._expiring is not None:
            self._expiring.cancel()
        await self._tasks.__aexit__(None, None, None)

    async def _expire(self) -> None:
        places = ("", "", "", "")
        while True:
            now_ms = self._clock.now_ms()
            before_ms = now_ms - self._kept_ms
            asked = Expiry(before_ms, AT_ONCE, now_ms=now_ms)
            try:
                await self._engine.commit(Write(expired=asked))
                places = await self._swept(places, now_ms)
            except StoreError as error:  # a later turn finds the same again
                log.error("old records cannot be deleted: %s", error)  # noqa: TRY400
            await asyncio.sleep(0 if asked.more else PERIOD_S)  # noqa: TID251  a late deletion does no harm

    async def _swept(self, places: Places, now_ms: int) -> Places:
        """Drops names, keys, ids and ids of messages behind these places. Returns the next places."""
        engine, before_ms = self._engine, now_ms - self._kept_ms
        keys_ms = min(before_ms, now_ms - DAY_MS)  # a token holds for a day at least
        name, key, id, told = places
        return (
            await engine.executions.forget_names(name, NAMES, before_ms),
            await engine.calls.keys.forget(key, NAMES, keys_ms),
            await engine.identities.forget(id, NAMES, before_ms),
            await engine.messages.forget_ids(told, NAMES, before_ms),
        )
