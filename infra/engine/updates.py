"""Executions are updated: an update is validated, accepted, handled and answered, once for its id.

An update is durable when it is accepted. Its caller may ask for it again by its id, also after the execution has
ended. A validator is evaluated as queries are: nothing is recorded, and a rejection tells only what is durable.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

from ...actions import (
    ClosedError,
    ConflictError,
    NoSuchUpdateError,
    NotFoundError,
    RejectedError,
    UpdateRecord,
    check_room,
    check_update,
)
from ...composer import (
    UPDATE_ACCEPTED,
    UPDATE_COMPLETED,
    UPDATE_FAILED,
    Failure,
    Settled,
    Success,
    Update,
    classes_told,
    is_over,
)
from .messages import checked_size
from .names import Sweep
from .turns import Turns
from .update_rows import UPDATE, opened, read, settled

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ...composer import JSON, Outcome
    from .core import Core
    from .inbox.inbox import Inbox
    from .live import LiveExecution
    from .news import News
    from .recovery import Recovery
    from .stored_values import Stored


class Updates:
    """Updates executions, and tells the outcomes."""

    def __init__(self, core: Core, inbox: Inbox, recovery: Recovery, news: News) -> None:
        self._parts, self._store, self._tick = core.parts, core.parts.store, core.tick
        self._inbox, self._recovery, self._news = inbox, recovery, news
        self._chains = core.chains
        self._turns = Turns()
        self._sweep = Sweep(core.parts, core.tick, UPDATE)

    async def update(  # noqa: PLR0913  an update has as many sides
        self,
        namespace: str,
        execution: str,
        name: str,
        payload: JSON,
        id: str = "",
        *,
        wait_s: float = 0,
        accepted: bool = False,
    ) -> UpdateRecord:
        """Updates an execution. With an id that was accepted before, returns the outcome of that update.

        Args:
            namespace: that the execution is in.
            execution: its id.
            name: of the update.
            payload: any JSON.
            id: by which the update is taken once; "" for a new one.
            wait_s: seconds to wait, for the execution to handle such updates, and then for the answer.
            accepted: True to return as soon as it is accepted.

        Raises:
            NotFoundError: the namespace has no such execution.
            NoSuchUpdateError: the execution handles no update of this name.
            ClosedError: the execution, or the part of its composition that handles the update, has ended.
            RejectedError: the validator rejects it.
            TooManyUpdatesError: too many are under way, or have been accepted.
            TooLargeError: the payload is too large.
            InvalidError: the id cannot be used.
            UnavailableError: the store does not commit.
        """
        check_update(id)
        checked_size(name, payload, self._parts.settings.limits.value_bytes)
        id = id or self._parts.ids.execution_id(self._parts.clock.now_ms())
        self._tick.ensure()
        loop = asyncio.get_running_loop()
        until_s = loop.time() + wait_s
        chain = await self._chains.first(execution)
        async with self._turns.of(f"{chain} {id}"):
            if await read(self._store, chain, id) is None:
                await self._accept(namespace, execution, Update(id, name, payload), until_s)
        left_s = 0 if accepted else max(0, until_s - loop.time())
        return await self.outcome(namespace, execution, id, wait_s=left_s)

    async def outcome(
        self, namespace: str, execution: str, id: str, *, name: str = "", wait_s: float = 0
    ) -> UpdateRecord:
        """An update of this name, or of any, that was accepted. Waits for its end for so many seconds.

        Raises:
            NotFoundError: the namespace has no such execution, or the execution no such update.
            UnavailableError: the server is stopping.
        """
        await self._chains.check(namespace, execution)
        loop = asyncio.get_running_loop()
        until_s = loop.time() + wait_s
        chain = await self._chains.first(execution)
        while True:
            with self._news.watching(await self._chains.newest(execution)) as news:
                found = await read(self._store, chain, id)
                if found is None or (name and found.name != name):
                    raise NotFoundError(
                        f"Execution {execution} has accepted no update{f' {name!r}' if name else ''} with the id {id!r}."
                    )
                left_s = until_s - loop.time()
                if found.outcome is not None or left_s <= 0:
                    return found
                await asyncio.wait((news,), timeout=left_s)

    async def _accept(self, namespace: str, execution: str, update: Update, until_s: float) -> None:
        loop = asyncio.get_running_loop()
        while True:
            with self._news.watching(await self._chains.newest(execution)) as news:
                run = await self._standing(namespace, execution)
                if what := run.origin.apart:
                    raise ConflictError(f"Execution {execution} has no updates: it is {what}.")
                if any(asked.update == update.id for asked in run.execution.updates.values()):
                    taken = self._tick.durable()
                    break
                if run.execution.serves(update.name):
                    taken = await self._taken(run, update)
                    break
                left_s = until_s - loop.time()
                await self._check_later(run, update.name, left_s)
                await asyncio.wait((news,), timeout=left_s)
        await taken

    async def _standing(self, namespace: str, execution: str) -> LiveExecution:
        """An execution under way, to be used before anything is awaited."""
        try:
            return await self._recovery.standing(namespace, execution)
        except ConflictError:
            raise ClosedError(f"Execution {execution} has ended.") from None

    async def _taken(self, run: LiveExecution, update: Update) -> asyncio.Future[bool]:
        """Accepts an update that the execution handles now. Returns a future of when it is durable."""
        machine = run.execution
        check_room(run.id, len(machine.updates), machine.accepted)
        valid = machine.valid(update)
        if valid is not True:
            await self._seen()
            raise RejectedError(_rejection(run, update.name, valid))
        now_ms = self._parts.clock.now_ms()
        taken = self._tick.durable()
        document = opened(run, update.id, update.name, now_ms)
        self._tick.gathering.write.documents.append(document)
        self._inbox.change(run, partial(machine.update, update, run.now_ms(self._parts.clock)))
        return taken

    async def _check_later(self, run: LiveExecution, name: str, left_s: float) -> None:
        """Checks that an execution which does not handle an update now may do so later.

        Raises:
            NoSuchUpdateError: it has no such update, or the time is over.
            ClosedError: the part that handles it has ended.
        """
        program, root = run.execution.program, run.execution.fibers.get("0")
        known, id, restarting = name in program.updates, run.id, run.execution.restarting
        over = not restarting and (root is None or is_over(program, root, name))
        if (restarting or (known and not over)) and left_s > 0:
            return
        await self._seen()
        if known and over:
            raise ClosedError(f"The part of execution {id} that handles update '{name}' has ended.")
        raise NoSuchUpdateError(id, name, program.updates)

    async def _seen(self) -> None:
        """Waits until all that has gathered by now is durable: a refusal tells of it."""
        if not self._tick.idle:
            await self._tick.committed()

    # --- their records -------------------------------------------------------------------------

    def note(self, run: LiveExecution, entries: Iterable[Stored]) -> None:
        """Has an execution know the updates in the history that it begins with."""
        write, now_ms = self._tick.gathering.write, self._parts.clock.now_ms()
        for entry in entries:
            if entry["type"] == UPDATE_ACCEPTED:
                write.documents.append(opened(run, entry["update"], entry["name"], now_ms))
            elif entry["type"] in (UPDATE_COMPLETED, UPDATE_FAILED):
                ended = [Settled(entry["update"], entry["name"], _outcome(entry))]
                write.documents += settled(run, ended, now_ms, write)

    async def forget(self, after: str, count: int, before_ms: int) -> str:
        """Drops updates of executions that are not kept any more: see `Executions.forget_names`."""
        _, last = await self._sweep.forget(after, count, before_ms)
        return last


def _rejection(run: LiveExecution, name: str, valid: bool | Failure) -> str:
    """Why a validator rejects an update, where the validator is, and what to do."""
    why = (
        f"cannot be evaluated: {valid.message}" if type(valid) is Failure
        else "does not hold for this payload and the variables"
    )  # fmt: skip
    return (
        f"Execution {run.id} rejects update '{name}': its validator, `on_update(validate=...)` of '{name}' in the "
        f"composition {run.origin.action.listed_as.text}, {why}. Correct the payload and send the update again."
    )


def _outcome(entry: Stored) -> Outcome:
    """The outcome of an update, from the entry that tells of its end."""
    if entry["type"] == UPDATE_COMPLETED:
        return Success(entry["value"])
    return Failure(entry["code"], entry["value"], classes_told(entry.get("raised")))
