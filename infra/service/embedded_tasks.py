"""The tasks of queues of an embedded engine, as a worker in its process takes and answers them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...actions import outcome_of
from ...composer import copied
from .handles import NAMESPACE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...composer import JSON
    from ..engine import Engine


class EngineTasks:
    """The tasks of an engine, in the namespace `guest`. A `Tasks` of a worker."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def take(self, queue: str, asked: Mapping[str, Any], wait_s: float) -> list[Any]:
        """See `Tasks`. What a function does to its parameters does not change the engine's."""
        found = await self._engine.queues.take(NAMESPACE, queue, **asked, wait_s=wait_s)
        return [copied(task) for task in found]

    async def leave(self, queue: str, worker: str) -> None:
        """See `Tasks`."""
        self._engine.queues.leave(NAMESPACE, queue, worker)

    async def beat(self, token: str, details: JSON) -> bool:
        """See `Tasks`."""
        return not await self._engine.answering.beat(token, copied(details))

    async def answer(self, token: str, result: dict[str, JSON]) -> None:
        """See `Tasks`."""
        await self._engine.complete(token, outcome_of(copied(result)))
