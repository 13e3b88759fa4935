"""The tick: everything that has happened meanwhile is committed at once, then carried out.

Under load one commit pays for many executions; alone, an execution waits for no other. Committing and
carrying out are two tasks, so that while one commit is on its way to the disk the effects of the one
before are carried out, and what comes of them gathers for the next.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from actions import Write

from .fairness import FairQueue, Share

if TYPE_CHECKING:
    from collections.abc import Callable

    from actions import Clock, Store

    from .runs import Run

log = logging.getLogger(__name__)

AT_ONCE, AT_ONCE_US = 64, 4_000.0  # effects that are carried out before the next commit may begin
TURN_US = 2_000.0  # of work put off, before the others of the event loop have their turn
TURNS_US, TURNS = 4_000.0, 2_000  # of it, before what has gathered is committed
CROWDED = 2_000  # effects that wait: then none is added by what was put off
RETRY_S = 1.0  # between attempts to commit, when the store fails


@dataclass(slots=True)
class Unit:
    """One write, and what is to be done once it is durable; `refused` instead, when it is not."""

    write: Write = field(default_factory=Write)
    effects: list[Callable[[], None]] = field(default_factory=list)
    refused: Callable[[], None] | None = None


class Tick:
    """Commits what gathers, all of it at a time, then carries it out, in order.

    `gathering` is the unit of the next commit, for whatever cannot be refused: add to its write and
    its effects, then call `wake`.

    Args:
        store: the system of record.
        clock: tells how long things take.
    """

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._turn = Share(clock, TURN_US, AT_ONCE)
        self._turns = Share(clock, TURNS_US, TURNS)
        self._share = Share(clock, AT_ONCE_US, AT_ONCE)
        self.gathering = Unit()
        self._units: list[Unit] = []  # those that may be refused
        self._put_off: FairQueue[Callable[[], None]] = FairQueue()
        self._effects: deque[Callable[[], None]] = deque()  # of what is committed
        self._work, self._news, self._rest = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._rest.set()
        self._committing = False
        self.healthy = True
        self.commits = 0
        self._ending = False

    def wake(self) -> None:
        """Something has gathered."""
        self._work.set()
        self._rest.clear()

    def submit(self, unit: Unit) -> None:
        """Takes a unit that may be refused for the next commit."""
        self._units.append(unit)
        self.wake()

    def later(self, namespace: str, work: Callable[[], None]) -> None:
        """Puts work off until the others have had their turn, those of other namespaces first."""
        if not self._ending:
            self._put_off.add(namespace, work)
            self.wake()

    def put_off(self, run: Run, fiber: str, turn: int, go_on: Callable[[], None]) -> None:
        """Has a step begin when others have had their turn, if it is still waited for then.

        A crash before that loses nothing: what waits for a step that was never sent is sent again.
        """
        run.put_off.add((fiber, turn))
        self.later(run.origin.namespace, partial(_unless_abandoned, run, (fiber, turn), go_on))

    async def durable(self) -> None:
        """Waits until what has gathered by now is committed."""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.gathering.effects.append(partial(_done, done))
        self.wake()
        await done

    @property
    def waiting(self) -> int:
        """Pieces of work that were put off."""
        return len(self._put_off)

    @property
    def crowded(self) -> bool:
        """Whether so much waits to be carried out that no more should be begun."""
        return len(self._effects) > CROWDED

    async def settled(self) -> None:
        """Waits until there is nothing to commit and nothing to run."""
        await self._rest.wait()

    async def end(self) -> None:
        """Waits as `settled`, but not for a store that cannot commit: nobody has heard of what it lacks.

        What was put off, and would be without end, is left to the next start.
        """
        self._ending = True
        self._put_off.clear()
        self.wake()
        if self.healthy:
            await self._rest.wait()

    async def run(self) -> None:
        """Ticks until it is cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._carry_out())
            await self._tick()

    async def _tick(self) -> None:
        while True:
            await self._work.wait()
            self._work.clear()
            self._committing = True
            await self._work_off()
            units, self._units = [self.gathering, *self._units], []
            self.gathering = Unit()
            writes = [unit.write for unit in units]
            refused = await self._commit(writes) if any(map(_matters, writes)) else []
            for index, unit in enumerate(units):
                if index in refused and unit.refused is not None:
                    self._effects.append(unit.refused)
                else:
                    self._effects += unit.effects
            self._committing = False
            if self._put_off:
                self._work.set()
            if not self._work.is_set():  # else they take effect while the next are being committed
                self._take_effect()
            if self._effects:
                self._news.set()
            if self._put_off:
                await asyncio.sleep(0)  # noqa: TID251  others have their turn

    async def _work_off(self) -> None:
        """Does some of what was put off, and lets others do theirs in between."""
        self._turns.begin()
        self._turn.begin()
        for _ in range(len(self._put_off)):
            if self.crowded or not (self._put_off and self._turns.take()):
                break
            if not self._turn.take():
                await asyncio.sleep(0)  # noqa: TID251  it has taken some time
                self._turn.begin()
            try:
                self._put_off.take()()
            except Exception:
                log.exception("what was put off was not done; it is after the next start")

    async def _carry_out(self) -> None:
        while True:
            await self._news.wait()
            self._take_effect()
            if not self._effects:
                self._news.clear()
            await asyncio.sleep(0)  # noqa: TID251  what has gathered meanwhile can be committed

    def _take_effect(self) -> None:
        """Carries out some of the effects of what is committed, in order."""
        self._share.begin()
        while self._effects and self._share.take():
            effect = self._effects.popleft()
            try:
                effect()
            except Exception:
                log.exception("what is committed was not carried out; it is after the next start")
        if not (self._effects or self._work.is_set() or self._committing):
            self._rest.set()

    async def _commit(self, writes: list[Write]) -> list[int]:
        """Commits, however long it takes: until then nobody hears of anything."""
        while True:
            try:
                refused = await self._store.commit(writes)
            except Exception:
                log.exception("the store cannot commit; trying again")
                self.healthy = False
                if self._ending:
                    self._rest.set()
                await asyncio.sleep(RETRY_S)  # noqa: TID251  the disk may be full: give it time
            else:
                self.healthy = True
                self.commits += 1
                return refused


def _unless_abandoned(run: Run, place: tuple[str, int], go_on: Callable[[], None]) -> None:
    if place in run.put_off:
        run.put_off.discard(place)
        go_on()


def _done(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def _matters(write: Write) -> bool:
    return bool(
        write.fibers or write.history or write.activations or write.executions or write.documents
        or write.forgotten or write.dropped or write.values or write.expired
    )  # fmt: skip
