"""The ids that users give executions: what a start finds under its id, and the run that an id means.

A document for each id names its newest run. It is committed with the start of that run, and only if the
document has not changed since it was read: of two starts at the same time one is refused by the store, also if
they come from two servers. How the run stands is not in the document but in its own rows. A further document
for each run, under the id and the run, says which runs the id has had.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING

import orjson

from ...actions import (
    WAITING,
    ActivationRow,
    AlreadyStartedError,
    Known,
    NotFoundError,
    Query,
    check_id,
    is_run,
)
from .inbox.pending import withdraw
from .live import CONTINUED, SUCCEEDED
from .names import IDS, Sweep, id_documents, key_of
from .stored_values import the_document
from .turns import Turns

if TYPE_CHECKING:
    import asyncio
    from collections.abc import AsyncIterator, Callable

    from ...actions import Document
    from .core import Core
    from .units import Unit

NOT_OF = "The run {run} is none of the execution '{id}'."
OPEN_AGAIN = (
    "Run {run} of the execution '{id}' cannot go on: another run of it is open, {open}. Wait until "
    "that one has ended, or terminate it."
)


class Identities:
    """The runs that users' ids mean. `turns` are taken by whoever starts an execution with an id."""

    def __init__(self, core: Core) -> None:
        self.core, self._parts, self._tick = core, core.parts, core.tick
        self._store = core.parts.store
        self._sweep = Sweep(core.parts, core.tick, IDS)
        self.turns = Turns()

    # --- reading -----------------------------------------------------------------------------

    async def run_of(self, namespace: str, given: str, run: str | None = None) -> str:
        """The run that an id means: the open one, else the newest. The id of a run means that run.

        Args:
            namespace: that it is in.
            given: the user's id, or the id of a run.
            run: one run of the execution; None for the open or newest one.

        Raises:
            NotFoundError: the namespace has no such execution, or the execution no such run.
            InvalidIdError: it cannot be an id.
        """
        if is_run(given):
            if run not in (None, given):
                raise NotFoundError(NOT_OF.format(run=run, id=given))
            return given
        check_id(given)
        key = key_of(namespace, given)
        found = await the_document(self._store, IDS, key if run is None else f"{key}\n{run}")
        if found is not None:
            return _run_in(found)
        if run is None:
            raise NotFoundError
        raise NotFoundError(NOT_OF.format(id=given, run=run))

    async def runs_of(self, namespace: str, id: str) -> list[str]:
        """All runs of an execution that are kept, the newest first."""
        start = f"{key_of(namespace, id)}\n"
        found = [_run_in(document) async for document in self._store.documents(IDS, start)]
        return found[::-1]

    async def look(self, namespace: str, id: str) -> tuple[Known | None, int]:
        """The newest run with an id, if one is kept, and the version that a start expects.

        It stays so while the caller has the turn of the id, but for what other servers do.
        """
        document = await the_document(self._store, IDS, key_of(namespace, id))
        if document is None:
            return None, 0
        return await self._known(_run_in(document)), document.version

    async def _known(self, run: str) -> Known | None:
        live = self._parts.runs.get(run)
        if live is not None:
            return Known(run, open=True, digest=live.origin.options.digest)
        if run in self._parts.ended:  # and that is not durable yet
            await self._tick.committed()
        saved = await self._store.load(run)
        if saved is not None:
            row = saved.execution
            if row.status == CONTINUED:  # since the document was read
                return await self._known(await self.core.chains.newest(run))
            if row.ended_ms is not None:
                return Known(run, open=False, succeeded=row.status == SUCCEEDED)
            options = orjson.loads(row.body).get("options", {})
            return Known(run, open=True, digest=options.get("digest", ""))
        # Of a single action only the activation is left.
        rows = await self._store.find(ActivationRow, Query(namespace=None, id=run, limit=1))
        if not rows or rows[0].status == WAITING:
            return None
        return Known(run, open=False, succeeded=rows[0].status == 0)

    # --- writing -----------------------------------------------------------------------------

    def documents(
        self, namespace: str, id: str, run: str, expected: int | None = None
    ) -> list[Document]:
        """The documents to commit with the start of a run. `expected` is the version that `look` has told."""
        return id_documents(key_of(namespace, id), run, self._parts.clock.now_ms(), expected)

    def conditional(self, unit: Unit, run: str, accepted: asyncio.Future[bool]) -> None:
        """Has a run withdrawn, and `accepted` become False, if the store refuses the unit it begins with.

        What else is to be done then is done before `accepted` is told.
        """
        unit.refused = partial(self._refused, unit, run, accepted, unit.refused)

    def _refused(
        self,
        unit: Unit,
        run: str,
        accepted: asyncio.Future[bool],
        further: Callable[[], None] | None,
    ) -> None:
        below = [live for live in self._parts.runs.values() if live.origin.root == run]
        begun = [*{live.id: live for live in (*unit.begun, *below)}.values()]
        withdraw(begun, self.core)
        # A later unit may have gone on with it in the meantime.
        self._tick.gathering.write.forgotten += [live.id for live in begun]
        self._tick.wake()
        if further is not None:
            further()
        if not accepted.done():
            accepted.set_result(False)

    @asynccontextmanager
    async def redriving(self, namespace: str, run: str) -> AsyncIterator[None]:
        """In the block a run that has ended goes on: then its id means it again.

        Raises:
            AlreadyStartedError: another run with its id is open.
        """
        id = await self._id_of(namespace, run)
        if not id:
            yield
            return
        async with self.turns.of(key_of(namespace, id)):
            known, _ = await self.look(namespace, id)
            if known is not None and known.open and known.run != run:
                text = OPEN_AGAIN.format(run=run, id=id, open=known.run)
                raise AlreadyStartedError(text, known.run)
            yield
            self._tick.gathering.write.documents += self.documents(namespace, id, run)
            await self._tick.committed()

    async def _id_of(self, namespace: str, run: str) -> str:
        """The user's id of a run that has ended; "" if it has none, is not there, or has continued as another."""
        saved = await self._store.load(run)
        if saved is None or saved.execution.namespace != namespace:
            return ""
        if saved.execution.status == CONTINUED:  # it is not redriven
            return ""
        return str(orjson.loads(saved.execution.body).get("options", {}).get("id", ""))

    async def forget(self, after: str, count: int, before_ms: int) -> str:
        """Drops ids of executions that are not kept any more, of `count` after one, started before an instant.

        Returns:
            The last that it has looked at, to go on from; "" when it has looked at all.
        """
        _, last = await self._sweep.forget(after, count, before_ms)
        return last


def _run_in(document: Document) -> str:
    return str(orjson.loads(document.body or b"")[0])
