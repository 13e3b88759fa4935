"""Deletes old records, a few at a time, in the background."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Self

from ...actions import Expiry, Write

if TYPE_CHECKING:
    from ...actions import Clock
    from ..engine import Engine

DAY_MS = 24 * 3600 * 1000
AT_ONCE = 2000  # records
NAMES = 25  # of executions, that are looked at
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
        last = key = id = told = ""
        while True:
            now_ms = self._clock.now_ms()
            before_ms = now_ms - self._kept_ms
            asked = Expiry(before_ms, AT_ONCE, now_ms=now_ms)
            await self._engine.commit(Write(expired=asked))
            last = await self._engine.executions.forget_names(last, NAMES, before_ms)
            keys_ms = min(before_ms, now_ms - DAY_MS)  # a token holds for a day at least
            key = await self._engine.calls.keys.forget(key, NAMES, keys_ms)
            id = await self._engine.identities.forget(id, NAMES, before_ms)
            told = await self._engine.messages.forget_ids(told, NAMES, before_ms)
            await asyncio.sleep(0 if asked.more else PERIOD_S)  # noqa: TID251  a late deletion does no harm
