"""Executions that have ended are deleted, before their retention is over."""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

from ...actions import ConflictError, NotFoundError
from .live import CONTINUED
from .units import Unit, nothing

if TYPE_CHECKING:
    from ...actions import ExecutionRow
    from .annotations import Annotations
    from .core import Core
    from .redrives import Redrives
    from .units import Also

OPEN = "Execution {id} has not ended: cancel or terminate it first."
NEEDED = "Execution {id} is a step of {parent}, which has not ended: delete it when that one has."
CHAINED = (
    "Execution {id} has continued as {newest}, which has not ended: delete it when that one has."
)


class Deletions:
    """Deletes executions: their rows, histories, attributes and values. The records of their activations stay."""

    def __init__(self, core: Core, annotations: Annotations, redrives: Redrives) -> None:
        self._parts, self._tick, self._chains = core.parts, core.tick, core.chains
        self._annotations, self._redrives = annotations, redrives

    async def delete(self, namespace: str, id: str, also: Also = nothing) -> None:
        """Deletes an execution that has ended. `also` adds to the same commit.

        Raises:
            NotFoundError: the namespace has no such execution.
            ConflictError: it has not ended, or an execution that has not ended needs it.
            UnavailableError: the store does not commit.
        """
        self._tick.ensure()
        # Nobody may write its rows again between the look and the commit.
        with self._redrives.held(id):
            async with self._annotations.turns.of(id):
                await self._check(namespace, id)
                unit = Unit()
                unit.write.forgotten.append(id)
                also(unit.write)
                await self._tick.submit(unit, patient=False)

    async def _check(self, namespace: str, id: str) -> None:
        await self._tick.committed()  # its end may be on the way to the store
        row = await self._row(id)
        if row is None or row.namespace != namespace:
            raise NotFoundError
        if row.ended_ms is None or id in self._parts.runs:
            raise ConflictError(OPEN.format(id=id))
        if row.status == CONTINUED and await self._chains.is_open(id):
            raise ConflictError(CHAINED.format(id=id, newest=await self._chains.newest(id)))
        body = orjson.loads(row.body)
        if "parent" in body:
            above = body["parent"][0]
            parent = await self._row(above)
            if parent is not None and parent.ended_ms is None:
                raise ConflictError(NEEDED.format(id=id, parent=above))
        above = body.get("options", {}).get("parent")
        if above is not None and await self._chains.is_open(above):
            raise ConflictError(NEEDED.format(id=id, parent=await self._chains.newest(above)))

    async def _row(self, id: str) -> ExecutionRow | None:
        saved = await self._parts.store.load(id)
        return None if saved is None else saved.execution
