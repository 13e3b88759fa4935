"""The tick: everything that has happened meanwhile is committed at once, then carried out.

Under load one commit pays for many executions; alone, an execution waits for no other. Committing and
carrying out are two tasks, so that while one commit is on its way to the disk the effects of the one
before are carried out, and what comes of them gathers for the next.

A store that does not commit within `commit_deadline_s` is not healthy. From then on nothing new is taken; calls
that have only begun are withdrawn, and clients that wait for anything else hear that it is in doubt. Events
of executions under way are kept, and tried again until the store commits them.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING

from ...actions import Document, InDoubtError, UnavailableError, Write
from .fairness import FairQueue, Share
from .programs import DEFINITION, PROGRAM
from .units import Unit, matters, parted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ...actions import Clock, Store
    from .live import LiveExecution
    from .shared import Pacing

log = logging.getLogger(__name__)

AT_ONCE, AT_ONCE_US = 64, 4_000.0  # effects that are carried out before the next commit may begin
TURN_US = 2_000.0  # of work put off, before the others of the event loop have their turn
TURNS_US, TURNS = 4_000.0, 2_000  # of it, before the next commit
CROWDED = 2_000  # effects that wait: then put-off work adds none
PROBE = Document(
    kind="probe", key="probe", body=b"{}"
)  # is written when nothing else is left to be
NAMED_BY_CONTENT = (PROGRAM, DEFINITION)  # documents that others may rely on by now
NOT_NOW = (
    "The server cannot store anything just now. Nothing of this call is kept: send it again later."
)
CLOSED = "The engine is closed: open it again."
IN_DOUBT = (
    "The server cannot store anything just now. It keeps the change of this call in memory; the change "
    "takes effect when the store works again, unless the server stops before."
)


class Tick:
    """Commits what gathers, all of it at a time, then carries it out, in order.

    `gathering` is the unit of the next commit, for whatever cannot be refused: add to its write and
    its effects, then call `wake`.

    Args:
        store: the system of record.
        clock: tells how long things take.
        withdraw: undoes in memory that executions have begun.
        pacing: how long a commit may take, and when it is tried again.
        committed: is called with the writes of each commit.
    """

    def __init__(
        self,
        store: Store,
        clock: Clock,
        withdraw: Callable[[list[LiveExecution]], None],
        pacing: Pacing,
        committed: Callable[[list[Write]], None] = lambda _: None,
    ) -> None:
        self._store, self._withdraw, self._told = store, withdraw, committed
        self._pacing = pacing
        self._turn = Share(clock, TURN_US, AT_ONCE)
        self._turns = Share(clock, TURNS_US, TURNS)
        self._share = Share(clock, AT_ONCE_US, AT_ONCE)
        self.gathering = Unit()
        self._sealed: list[Unit] = []  # those that come before it
        self._units: list[Unit] = []  # those that may be refused
        self._batch: list[Unit] = []  # those that are being committed
        self._put_off: FairQueue[Callable[[], None]] = FairQueue()
        self._effects: deque[Callable[[], None]] = deque()  # of committed units
        self._work, self._news, self._rest = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._rest.set()
        self._awake = False  # whether something has gathered since the last commit began
        self._evaluating = 0
        self._committing = False
        self._trying = False  # whether an attempt to commit is under way
        self._doubtful = False  # whether an attempt may have succeeded
        self._failing = False  # whether the last attempt failed
        self.healthy = True
        self.commits = 0
        self.turned_away = 0  # calls, by a store that did not commit
        self._ending = False
        self._over = False  # nothing is committed any more

    # --- gathering ---------------------------------------------------------------------------

    def wake(self) -> None:
        """Something has gathered."""
        if not self._awake:
            self._awake = True
            self._work.set()
            self._rest.clear()

    def evaluating(self, count: int) -> None:
        """Sets the number of executions that wait for a thread: the tick does not rest before they are done."""
        self._evaluating = count

    def submit(self, unit: Unit, *, patient: bool = True) -> asyncio.Future[bool]:
        """Takes a unit that may be refused for the next commit.

        Returns:
            A future: True once the unit is durable, False when it is refused. Unless `patient`, the future
            fails when the store does not commit in time.
        """
        future = _durable(unit)
        unit.refused = partial(_tell, future, False)
        if not patient:
            unit.waiting.append(future)
        self._units.append(unit)
        self.wake()
        return future

    def later(self, namespace: str, work: Callable[[], None]) -> None:
        """Puts work off until the others have had their turn, those of other namespaces first."""
        if not self._ending:
            self._put_off.add(namespace, work)
            self.wake()

    def put_off(self, run: LiveExecution, fiber: str, turn: int, go_on: Callable[[], None]) -> None:
        """Has a step begin when others have had their turn, if it is still waited for then.

        A crash before that loses nothing: what waits for a step that was never sent is sent again.
        """
        run.put_off.add((fiber, turn))
        self.later(run.origin.namespace, partial(_unless_abandoned, run, (fiber, turn), go_on))

    @property
    def idle(self) -> bool:
        """True if all that has happened is durable."""
        return not (self._committing or self._sealed or self._units) and self.gathering.blank

    @property
    def waiting(self) -> int:
        """Pieces of work that were put off."""
        return len(self._put_off)

    @property
    def crowded(self) -> bool:
        """True if so many effects wait that no more work should begin."""
        return len(self._effects) > CROWDED

    def ensure(self) -> None:
        """Checks that the store commits, before anything gathers for a client that waits.

        Raises:
            UnavailableError: when it does not.
        """
        if self._over:
            raise UnavailableError(CLOSED)
        if not self.healthy:
            self.turned_away += 1
            raise UnavailableError(NOT_NOW)

    @contextmanager
    def apart(self) -> Iterator[Unit]:
        """Gathers all changes of a block in one unit, which is withdrawn when the store does not commit.

        A block that raises is withdrawn, too, unless an entity has changed with it: else the name of an
        execution that never began would be taken.

        Raises:
            UnavailableError: when it does not already.
        """
        self.ensure()
        before, unit = self.gathering, Unit(alone=True)
        if not before.blank:
            self._sealed.append(before)
            before = Unit()
        self.gathering, whole = unit, False
        try:
            yield unit
            whole = True
        finally:
            self.gathering = before
            if whole or not unit.alone:
                self._sealed.append(unit)
            else:
                self._undo(unit)
            self.wake()

    def durable(self) -> asyncio.Future[bool]:
        """A future of when this unit is durable, with what gathers in it before anything is awaited.

        Raises:
            UnavailableError: when the store does not commit; the future fails when it does not in time.
        """
        self.ensure()
        future = _durable(self.gathering)
        self.gathering.waiting.append(future)
        self.wake()
        return future

    async def committed(self) -> None:
        """Waits until what has gathered by now is durable.

        Raises:
            InDoubtError: when the store does not commit in time.
        """
        if not self.healthy:
            raise InDoubtError(IN_DOUBT)
        await self.durable()

    async def settled(self) -> None:
        """Waits until there is nothing to commit and nothing to run.

        Raises:
            InDoubtError: when the store does not commit in time.
        """
        if self.healthy:
            await self._rest.wait()
        if not self.healthy:
            raise InDoubtError(IN_DOUBT)

    async def end(self, *, last: bool = False) -> None:
        """Waits as `settled`, but not for a store that cannot commit: nobody has heard of what it lacks.

        Work that was put off is left to the next start. After the last time, calls are refused.
        """
        self._ending = True
        self._put_off.clear()
        self.wake()
        if not self._failing:
            await self._rest.wait()
        self._over = last

    def give_up(self) -> None:
        """The server stops: nobody is kept waiting for a store that fails."""
        if self._failing:
            self._lose_patience()
            self._keep_nobody()

    # --- ticking -----------------------------------------------------------------------------

    async def run(self) -> None:
        """Ticks until it is cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._carry_out())
            await self._tick()

    async def _tick(self) -> None:
        while True:
            await self._work.wait()
            self._work.clear()
            self._awake = False
            self._committing = True
            await self._work_off()
            self._batch = [*self._sealed, self.gathering, *self._units]
            self._sealed, self.gathering, self._units = [], Unit(), []
            refused = await self._commit() if any(matters(u.write) for u in self._batch) else []
            for index, unit in enumerate(self._batch):
                if index in refused and unit.refused is not None:
                    self._effects.append(unit.refused)
                else:
                    self._effects += unit.effects
            self._told([u.write for n, u in enumerate(self._batch) if n not in refused])
            self._batch = []
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
            if not self._turn.take():
                await asyncio.sleep(0)  # noqa: TID251  it has taken some time
                self._turn.begin()
            if self.crowded or not (self._put_off and self._turns.take()):
                break
            try:
                self._put_off.take()()
            except Exception:
                log.exception("work that was put off was not done; it will be after the next start")

    async def _carry_out(self) -> None:
        while True:
            await self._news.wait()
            self._take_effect()
            if not self._effects:
                self._news.clear()
            await asyncio.sleep(0)  # noqa: TID251  the next commit may begin

    def _take_effect(self) -> None:
        """Carries out some of the effects of committed units, in order."""
        self._share.begin()
        while self._effects and self._share.take():
            effect = self._effects.popleft()
            try:
                effect()
            except Exception:
                log.exception(
                    "an effect of a commit was not carried out; it will be after the next start"
                )
        if not (self._effects or self._work.is_set() or self._committing or self._evaluating):
            self._rest.set()

    # --- committing --------------------------------------------------------------------------

    async def _commit(self) -> list[int]:
        """Commits the batch, however long it takes. Returns the indexes of the units refused."""
        loop, deadline_s = asyncio.get_running_loop(), self._pacing.commit_deadline_s
        self._doubtful = False
        patience = loop.call_later(deadline_s, self._lose_patience)
        last = loop.call_later(deadline_s + self._pacing.commit_grace_s, self._keep_nobody)
        began_s = loop.time()
        try:
            while True:
                self._trying = True
                try:
                    refused = await self._store.commit([unit.write for unit in self._batch])
                except Exception as error:  # noqa: BLE001  whatever it is, the commit is not done
                    self._failed(error)
                else:
                    self._recovered(loop.time() - began_s)
                    return refused
                finally:
                    self._trying = False
                if not self.healthy:
                    self._let_go()
                await asyncio.sleep(self._pacing.commit_retry_s)  # noqa: TID251  the disk may be full: give it time
        finally:
            patience.cancel()
            last.cancel()

    def _failed(self, error: Exception) -> None:
        self._doubtful = self._doubtful or isinstance(error, InDoubtError)
        if not self._failing:
            foreseen = isinstance(error, UnavailableError)
            log.error(
                "the store cannot commit: %s. It is tried again every %g s; after %g s calls are "
                "answered with 503 until it commits", error, self._pacing.commit_retry_s, self._pacing.commit_deadline_s,
                exc_info=None if foreseen else error,
            )  # fmt: skip
        self._failing = True
        if self._ending:
            self._rest.set()

    def _recovered(self, seconds: float) -> None:
        self.commits += 1
        if self._failing or not self.healthy:
            log.warning("the store commits again, after %.1f s", seconds)
        if not self.healthy:
            self._rest.clear()
        self._failing, self.healthy = False, True

    def _lose_patience(self) -> None:
        """The store is not healthy: nobody is kept waiting for what has not been sent to it."""
        self.healthy = False
        log.error(
            "the store has not committed for %g s: calls are answered with 503",
            self._pacing.commit_deadline_s,
        )
        self._let_go()
        self._rest.set()  # those who wait for that hear why

    def _keep_nobody(self) -> None:
        """An attempt to commit has taken too long: nobody knows whether it will succeed."""
        for unit in self._batch:
            self._tell(unit, InDoubtError(IN_DOUBT))

    def _let_go(self) -> None:
        """Withdraws calls that have only begun and are not committed, and tells those who wait."""
        sure = not (self._trying or self._doubtful)
        after = [*self._sealed, self.gathering, *self._units]
        gone, _ = parted([*self._batch, *after])
        if not sure:
            sent = set(map(id, self._batch))
            gone = [unit for unit in gone if id(unit) not in sent]
        left = set(map(id, gone))
        for unit in gone:
            self._undo(unit)
            self._tell(unit, UnavailableError(NOT_NOW))
        self._sealed = [unit for unit in self._sealed if id(unit) not in left]
        self._units = [unit for unit in self._units if id(unit) not in left]
        self._batch = [unit for unit in self._batch if id(unit) not in left]
        if not any(matters(unit.write) for unit in self._batch):
            self._batch.append(Unit(Write(documents=[PROBE])))
        waiting = [*self._sealed, self.gathering, *self._units]
        for unit in waiting if self._trying else [*waiting, *self._batch]:
            self._tell(unit, InDoubtError(IN_DOUBT))

    def _undo(self, unit: Unit) -> None:
        """Withdraws what began with a unit, which will not be committed."""
        self._withdraw(unit.begun)
        self.gathering.write.documents += [
            document for document in unit.write.documents if document.kind in NAMED_BY_CONTENT
        ]

    def _tell(self, unit: Unit, error: UnavailableError) -> None:
        self.turned_away += len(unit.waiting)
        unit.tell(error)


def _durable(unit: Unit) -> asyncio.Future[bool]:
    """The future that is True as soon as a unit is durable."""
    future: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
    unit.effects.append(partial(_tell, future, True))
    return future


def _tell(future: asyncio.Future[bool], value: bool) -> None:
    if not future.done():
        future.set_result(value)


def _unless_abandoned(
    run: LiveExecution, place: tuple[str, int], go_on: Callable[[], None]
) -> None:
    if place in run.put_off:
        run.put_off.discard(place)
        go_on()


async def caught_up(tick: Tick) -> bool:
    """Waits until everything that the store shows by now is durable, and was told as news.

    Returns:
        True if it has waited for a commit; it does not wait for a store that does not commit just now.
    """
    if not tick.idle:
        with suppress(UnavailableError):
            await tick.committed()
            return True
    return False
