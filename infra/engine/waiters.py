"""Active acks: clients that wait for an execution hear of its end as soon as it is durable."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...composer import Outcome


@dataclass(frozen=True, slots=True)
class Ended:
    """The end of an execution."""

    outcome: Outcome


class Waiters:
    """Futures by execution."""

    def __init__(self) -> None:
        self._futures: defaultdict[str, list[asyncio.Future[Ended]]] = defaultdict(list)
        self._moved: dict[
            asyncio.Future[Ended], str
        ] = {}  # those that wait for another execution by now

    def __len__(self) -> int:
        return len(self._futures)

    def wait_for(self, execution: str) -> asyncio.Future[Ended]:
        """A future of its end. Cancel it to wait no longer."""
        future: asyncio.Future[Ended] = asyncio.get_running_loop().create_future()
        self._futures[execution].append(future)
        return future

    def move(self, execution: str, next: str) -> None:
        """Those who wait for an execution wait for another one from now on, which goes on in its place."""
        futures = self._futures.pop(execution, None)
        if futures:
            self._futures[next] += futures
            self._moved |= dict.fromkeys(futures, next)

    def answer(self, execution: str, ended: Ended) -> None:
        """Tells those who wait for it."""
        for future in self._futures.pop(execution, ()):
            self._moved.pop(future, None)
            if not future.done():
                future.set_result(ended)

    async def within(
        self, execution: str, future: asyncio.Future[Ended], seconds: float
    ) -> Ended | None:
        """The result of a future of `wait_for`; None if it takes longer, or the server stops."""
        try:
            async with asyncio.timeout(seconds):
                return await future
        except TimeoutError:
            return None
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is None or task.cancelling():  # and with it the future
                raise
            return None  # by `close`
        finally:
            self.forget(execution, future)

    def close(self) -> None:
        """Nobody is answered any more: executions go on after the next start."""
        for futures in self._futures.values():
            for future in futures:
                future.cancel()
        self._futures.clear()
        self._moved.clear()

    def forget(self, execution: str, future: asyncio.Future[Ended]) -> None:
        """Somebody waits no longer."""
        execution = self._moved.pop(future, execution)
        futures = self._futures.get(execution)
        if futures is not None and future in futures:
            futures.remove(future)
            if not futures:
                del self._futures[execution]
