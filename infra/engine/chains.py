"""Chains of runs: a run has continued as another one, and who asks for the run means the chain.

A document names the newest run of each chain, under the id of its first run. So the newest run is found in two
steps however long the chain is, and the runs between may be gone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

from ...actions import NotFoundError
from .live import CONTINUED
from .names import CHAIN, Sweep, newest_of

if TYPE_CHECKING:
    from .shared import Parts
    from .stored_values import Stored
    from .tick import Tick


class Chains:
    """Finds the newest runs of chains. It changes nothing but documents that nobody needs any more."""

    def __init__(self, parts: Parts, tick: Tick) -> None:
        self._parts, self._store = parts, parts.store
        self._sweep = Sweep(parts, tick, CHAIN)

    async def newest(self, run: str) -> str:
        """The newest run of the chain of a run; the run itself if it has not continued as another one.

        It may continue while this returns: look again if it has ended.
        """
        while True:
            while (next := self._parts.handed.get(run)) is not None:
                run = next
            if run in self._parts.runs:
                return run
            saved = await self._store.load(run)
            if saved is not None and saved.execution.status == CONTINUED:
                body: Stored = orjson.loads(saved.execution.body)
                run = await newest_of(self._store, chain_in(run, body)) or body["next"]
            elif run in self._parts.handed:
                continue
            elif saved is not None or (later := await newest_of(self._store, run)) is None:
                return run
            else:  # the first run is not kept any more
                run = later

    async def check(self, namespace: str, run: str) -> None:
        """Checks that a namespace has a run, or the chain that the run began, which may go on without it.

        Raises:
            NotFoundError: it has neither.
        """
        saved = await self._store.load(run)
        if saved is None:
            saved = await self._store.load(await self.newest(run))
        if saved is None or saved.execution.namespace != namespace:
            raise NotFoundError

    async def first(self, run: str) -> str:
        """The first run of the chain of a run, by which the chain is known."""
        live = self._parts.runs.get(run)
        if live is not None:
            return live.origin.chain_of(run)
        saved = await self._store.load(run)
        return run if saved is None else chain_in(run, orjson.loads(saved.execution.body))

    async def is_open(self, run: str) -> bool:
        """True if the chain of a run has not ended."""
        newest = await self.newest(run)
        if newest in self._parts.runs or newest in self._parts.ended:
            return newest in self._parts.runs
        saved = await self._store.load(newest)
        return saved is not None and saved.execution.ended_ms is None

    async def forget(self, after: str, count: int, before_ms: int) -> str:
        """Drops documents of chains that are not kept any more: see `Identities.forget`."""
        _, last = await self._sweep.forget(after, count, before_ms)
        return last


def chain_in(run: str, body: Stored) -> str:
    """The first run of the chain of a run, from the body of its row."""
    first: str = body.get("chain", [run])[0]
    return first
