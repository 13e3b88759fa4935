"""An execution as a program works with it: one handle, from its start to its end."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from ...actions import STAGE_ACCEPTED, InvalidError, StartOptions, UnavailableError, check_stage
from ...composer import APPLICATION_ERROR, NOTHING, Failure, Success, boxed, changed, copied
from ..engine import Place
from ..handles import LATE, failed, history

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from ...composer import JSON, Composition
    from ..engine import Engine
    from ..handles import Document, Listing

NAMESPACE = "guest"
PAGE = 1000
CLOSED = "The engine was closed before execution {id} had ended. It goes on when the engine is opened again."
FOREVER_S = 366 * 24 * 3600.0
MAX_WAIT_S = 60.0  # for an execution to handle an update, as over HTTP


class ExecutionHandle:
    """An execution of an embedded engine. It need not exist: each method says so if it does not.

    Its id is the one of a run, or the one that you gave it: then each method means the open run, else the
    newest, or the run that the handle was made for.
    """

    def __init__(
        self,
        engine: Engine,
        id: str,
        define: Callable[[Composition], Awaitable[None]],
        run: str | None = None,
        document: Document | None = None,
    ) -> None:
        self._engine, self._id, self._define = engine, id, define
        self._given_run, self._document = run, document

    @property
    def id(self) -> str:
        """The id of the execution: the one that you gave it, or the id of its run."""
        return self._id

    @property
    def run(self) -> str | None:
        """The run that the handle was made for; None for the open run, else the newest."""
        return self._given_run

    @property
    def document(self) -> Document | None:
        """The execution as the list that it comes from has shown it; None if it comes from no list."""
        return self._document

    def __str__(self) -> str:
        return self._id

    def __repr__(self) -> str:
        return f"<execution {self._id}>"

    async def _run(self) -> str:
        return await self._engine.identities.run_of(NAMESPACE, self._id, self._given_run)

    async def result(self, timeout: float | None = None) -> JSON:  # noqa: ASYNC109  the engine waits
        """Waits for an execution to end. Returns its result.

        Args:
            timeout: seconds to wait; None for no limit.

        Raises:
            NotFoundError: there is no such execution.
            ActionError: it has failed; ActionTimedOutError, ActionCancelledError and ActionTerminatedError tell
                the other ways to end.
            TimeoutError: it has not ended within `timeout`. It goes on.
            UnavailableError: the engine was closed meanwhile.
        """
        outcome = await self._engine.calls.outcome(
            NAMESPACE, await self._run(), FOREVER_S if timeout is None else timeout
        )
        if outcome is None and timeout is None:
            raise UnavailableError(CLOSED.format(id=self.id))
        if outcome is None:
            raise TimeoutError(f"execution {self.id} has not ended within {timeout} s; it goes on")
        if isinstance(outcome, Failure):
            raise failed(outcome)
        return outcome.value

    wait = result  # its earlier name

    async def status(self) -> Document:
        """The state of a composition's execution and of its fibers, as the HTTP API shows it.

        Raises:
            NotFoundError: there is no such execution.
        """
        return await self._engine.records.execution(NAMESPACE, await self._run())

    def history(self, *, follow: bool = False) -> Listing[Document]:
        """The history entries so far. With `follow`, `async for` also waits for those to come.

        Raises:
            NotFoundError: there is no such execution.
        """

        async def read(after: int, wait_s: float) -> tuple[list[Document], bool]:
            found = await self._engine.watching.history(
                NAMESPACE, await self._run(), after=after, limit=PAGE, wait_s=wait_s
            )
            ended = found.row.ended_ms is not None and len(found.entries) < PAGE
            return found.entries, ended

        return history(read, follow=follow)

    async def query(self, name: str, *, reject: str = "") -> JSON:
        """Answers a query that the composition declares, or a built-in one such as `$variables`.

        Args:
            name: the name of the query.
            reject: `closed` to refuse if the execution has ended, `failed` to refuse if it has failed.

        Raises:
            NotFoundError: there is no such execution, or it has no such query.
            ConflictError: it has ended, and `reject` refuses that.
            GoneError: it has ended, and the answer was not kept.
        """
        run = await self._run()
        given = await self._engine.queries.answer(NAMESPACE, run, name, reject=reject)
        return copied(given.value)

    async def cancel(self) -> None:
        """Asks an execution to stop: running steps are abandoned, finalizers and compensations run.

        Raises:
            NotFoundError: there is no such execution.
            ConflictError: it has ended.
        """
        await self._engine.cancel(NAMESPACE, await self._run())

    async def terminate(self) -> None:
        """Ends an execution at once, without finalizers, and all executions below it.

        Raises:
            NotFoundError: there is no such execution.
            ConflictError: it has ended.
        """
        await self._engine.cancel(NAMESPACE, await self._run(), terminate=True)

    async def pause(self) -> None:
        """Begins no further step. Running steps end, and timers run on, until `resume`.

        Raises:
            NotFoundError: there is no such execution.
            ConflictError: it has ended, or is express, or is an action that was invoked by itself.
        """
        await self._engine.pauses.pause(NAMESPACE, await self._run())

    async def resume(self) -> None:
        """Lets a paused execution retry its failed step.

        Raises:
            NotFoundError: there is no such execution.
            ConflictError: it is not paused.
        """
        await self._engine.resume(NAMESPACE, await self._run())

    async def redrive(self, composition: Composition | None = None) -> None:
        """Continues a failed execution from its failed steps, with a corrected composition if given.

        The actions that the composition defines are deployed first.

        Raises:
            NotFoundError: there is no such execution.
            ConflictError: it cannot be redriven; the text says why.
        """
        if composition is not None:
            await self._define(composition)
        tree = None if composition is None else composition.to_json()
        await self._engine.redrive(NAMESPACE, await self._run(), tree)

    async def reset(
        self,
        to: int | str = "last",
        *,
        step: str | None = None,
        composition: Composition | None = None,
        reason: str = "",
        messages: str = "keep",
    ) -> ExecutionHandle:
        """Begins the execution again at an entry of its history. Returns the new run; an open run ends.

        Args:
            to: number of the entry, `first` or `last` (the last step that was asked for).
            step: path of a step, or name of its action, instead: its last run counts.
            composition: corrected composition for the new run.
            reason: text for the history.
            messages: `keep` to tell the new run the messages that came after the entry, `drop` to forget them.

        Raises:
            NotFoundError: there is no such execution.
            ConflictError: it cannot be reset to this entry; the text says why.
        """
        place = await self._place(to, step, composition, reason, messages)
        return await self._other(
            await self._engine.resets.reset(NAMESPACE, await self._run(), place)
        )

    async def fork(  # noqa: PLR0913  an entry has as many differences
        self,
        to: int | str = "last",
        *,
        step: str | None = None,
        composition: Composition | None = None,
        reason: str = "",
        messages: str = "keep",
        input: JSON = NOTHING,
        id: str = "",
    ) -> ExecutionHandle:
        """Begins a new execution at an entry of this one's history; this one goes on. Returns the new one.

        Args:
            to: number of the entry, `first` or `last` (the last step that was asked for).
            step: path of a step, or name of its action, instead: its last run counts.
            composition: corrected composition for the new execution.
            reason: text for the history.
            messages: `keep` to tell the new one the messages that came after the entry, `drop` to forget them.
            input: other input for the step that the entry asks for.
            id: your id for the new execution.

        Raises:
            NotFoundError: there is no such execution.
            ConflictError: it cannot be forked at this entry, or the id is in use; the text says why.
        """
        at = await self._place(to, step, composition, reason, messages)
        run, place = await self._run(), changed(at, value=input)
        options = StartOptions(id=id)
        return await self._other(await self._engine.resets.fork(NAMESPACE, run, place, options))

    async def _place(
        self,
        to: int | str,
        step: str | None,
        composition: Composition | None,
        reason: str,
        messages: str,
    ) -> Place:
        if messages not in ("keep", "drop"):
            raise InvalidError(f"'messages' must be 'keep' or 'drop', not {messages!r:.80}")
        if composition is not None:
            await self._define(composition)
        tree = None if composition is None else composition.to_json()
        return Place(to=to, step=step, composition=tree, reason=reason, messages=messages)

    async def _other(self, run: str) -> ExecutionHandle:
        id = (await self._engine.records.execution(NAMESPACE, run)).get("id")
        if id is None:
            return ExecutionHandle(self._engine, run, self._define)
        return ExecutionHandle(self._engine, id, self._define, run)

    async def annotate(
        self, attributes: dict[str, JSON] | None = None, *, memo: JSON = NOTHING
    ) -> Document:
        """Sets attributes of an execution, which may have ended. Returns its attributes and its memo.

        Args:
            attributes: by name; None removes one. Those that are not named stay as they are.
            memo: its new memo; it stays as it is if this is left out.

        Raises:
            NotFoundError: there is no such execution.
            InvalidError: an attribute is not declared, or a value does not fit.
            ConflictError: it is an express execution that has not ended.
        """
        run = await self._run()
        found = await self._engine.annotations.annotate(NAMESPACE, run, attributes or {}, memo)
        return {"executionId": run, **found}

    async def tell(self, name: str, payload: JSON = None, *, id: str = "") -> bool:
        """Tells an execution a message. Returns False if one with this id was told before.

        Args:
            name: of the message.
            payload: any JSON.
            id: by which the message is taken once; "" to take it in any case.

        Raises:
            NotFoundError: there is no such execution.
            ClosedError: it has ended.
            TooManyMessagesError: too many messages wait for it.
        """
        return await self._engine.messages.tell(NAMESPACE, await self._run(), name, payload, id)

    async def update(
        self,
        name: str,
        payload: JSON = None,
        *,
        id: str = "",
        wait: str = "completed",
        timeout: float | None = None,  # noqa: ASYNC109  the server waits
    ) -> JSON:
        """Updates an execution. Returns the answer, or the id of the update if it waits for `accepted` only.

        Args:
            name: of the update, which the composition declares.
            payload: any JSON.
            id: by which the update is taken once: asked again, it has the same answer; "" for a new one.
            wait: `completed` to wait for the answer, `accepted` to return when the update is durable.
            timeout: seconds to wait; None for no limit.

        Raises:
            NoSuchUpdateError: the execution handles no such update.
            RejectedError: the validator of the composition rejects it.
            ClosedError: the execution, or the part that handles the update, has ended.
            TooManyUpdatesError: the execution has too many updates.
            NotFoundError: there is no such execution.
            ActionError: the update has failed; its code is `Closed` if the part that handles it ended before.
            TimeoutError: there is no answer within `timeout`. The update goes on.
        """
        run, until_s = await self._run(), _until(timeout)
        check_stage(wait)
        wait_s = min(MAX_WAIT_S, _left(until_s))
        taken = await self._engine.updates.update(
            NAMESPACE, run, name, payload, id, wait_s=wait_s, accepted=True
        )
        if wait == STAGE_ACCEPTED:
            return taken.id
        return await self._answered(run, name, taken.id, until_s)

    async def update_answer(
        self,
        name: str,
        id: str,
        *,
        timeout: float | None = None,  # noqa: ASYNC109  the server waits
    ) -> JSON:
        """Waits for the answer to an update that was accepted, also after the execution has ended.

        Args:
            name: of the update.
            id: of the update.
            timeout: seconds to wait; None for no limit.

        Raises:
            NotFoundError: there is no such execution, or it has accepted no such update.
            ActionError: the update has failed.
            TimeoutError: there is no answer within `timeout`. The update goes on.
        """
        return await self._answered(await self._run(), name, id, _until(timeout))

    async def _answered(self, run: str, name: str, id: str, until_s: float) -> JSON:
        updates = self._engine.updates
        found = await updates.outcome(NAMESPACE, run, id, name=name, wait_s=_left(until_s))
        if found.outcome is None:
            raise TimeoutError(LATE.format(name=name, id=self._id))
        if isinstance(found.outcome, Failure):
            raise failed(found.outcome)
        return copied(found.outcome.value)

    async def complete(self, result: JSON, *, step: str | None = None) -> None:
        """Answers a step that waits for its callback.

        Args:
            result: the result of the step.
            step: the step's fiber, or the name of its action; needed if several steps wait.

        Raises:
            NotFoundError: there is no such execution.
            ConflictError: no such step waits, or several do.
        """
        outcome = Success(boxed(result))
        await self._engine.answering.answer_step(NAMESPACE, await self._run(), step, outcome)

    async def fail(self, error: JSON, *, step: str | None = None) -> None:
        """Fails a step that waits for its callback; arguments and errors as for `complete`."""
        outcome = Failure(APPLICATION_ERROR, error)
        await self._engine.answering.answer_step(NAMESPACE, await self._run(), step, outcome)


def _until(timeout: float | None) -> float:
    return asyncio.get_running_loop().time() + (FOREVER_S if timeout is None else timeout)


def _left(until_s: float) -> float:
    return max(0.0, until_s - asyncio.get_running_loop().time())
