"""Executions and entities on a server, as a program works with them."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from ...actions import STAGE_ACCEPTED, check_stage
from ...composer import NOTHING, Failure
from ..handles import failed, history
from .calls import until, wait_of
from .wire import Request, entity, execution

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from ...composer import JSON, Composition, Outcome
    from ..handles import Document, Listing
    from .calls import Calls

PAGE = 1000  # history entries of one request
OPEN = ("running", "paused", "stuck")


class RemoteExecution:
    """An execution on a server. It need not exist: each method says so if it does not.

    Its id is the one of a run, or the one that you gave it: then each method means the open run, else the
    newest, or the run that the handle was made for.
    """

    def __init__(
        self,
        calls: Calls,
        id: str,
        define: Callable[[Composition], Awaitable[None]],
        run: str | None = None,
        document: Document | None = None,
    ) -> None:
        self._calls, self._id, self._define = calls, id, define
        self._run, self._document = run, document

    @property
    def id(self) -> str:
        """The id of the execution: the one that you gave it, or the id of its run."""
        return self._id

    @property
    def run(self) -> str | None:
        """The run that the handle was made for; None for the open run, else the newest."""
        return self._run

    @property
    def document(self) -> Document | None:
        """The execution as the list that it comes from has shown it; None if it comes from no list."""
        return self._document

    def __str__(self) -> str:
        return self._id

    def __repr__(self) -> str:
        return f"<execution {self._id}>"

    async def result(self, timeout: float | None = None) -> JSON:  # noqa: ASYNC109  the server waits
        """Waits for an execution to end. Returns its result.

        Args:
            timeout: seconds to wait; None for no limit.

        Raises:
            NotFoundError: there is no such execution.
            ActionError: it has failed; ActionTimedOutError, ActionCancelledError and ActionTerminatedError tell
                the other ways to end.
            TimeoutError: it has not ended within `timeout`. It goes on.
        """
        outcome = await self._calls.outcome(self._id, self._run, timeout)
        if isinstance(outcome, Failure):
            raise failed(outcome)
        return outcome.value

    async def status(self) -> Document:
        """The state of a composition's execution and of its fibers, as the HTTP API shows it.

        Raises:
            NotFoundError: there is no such execution.
        """
        return await self._calls.ask("GET", execution(self._id), run=self._run)

    def history(self, *, follow: bool = False) -> Listing[Document]:
        """The history entries so far. With `follow`, `async for` also waits for those to come.

        Raises:
            NotFoundError: there is no such execution.
        """

        async def read(after: int, wait_s: float) -> tuple[list[Document], bool]:
            request = Request(
                method="GET",
                path=execution(self._id, "history"),
                query={"run": self._run, "after": after, "limit": PAGE, "wait": int(1000 * wait_s)},
                repeatable=True,
            )
            page = (await self._calls.transport.ask(request, wait_s=wait_s)).document
            return page["entries"], page["status"] not in OPEN and "next" not in page

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
        path = execution(self._id, "queries", name)
        given = await self._calls.ask("GET", path, run=self._run, reject=reject or None)
        answer: JSON = given["answer"]
        return answer

    async def cancel(self) -> None:
        """Asks an execution to stop: running steps are abandoned, finalizers and compensations run.

        Raises:
            NotFoundError: there is no such execution.
            ConflictError: it has ended.
        """
        await self._post("cancel")

    async def terminate(self) -> None:
        """Ends an execution at once, without finalizers, and all executions below it.

        Raises:
            NotFoundError: there is no such execution.
            ConflictError: it has ended.
        """
        await self._post("cancel", terminate=True)

    async def pause(self) -> None:
        """Begins no further step. Running steps end, and timers run on, until `resume`.

        Raises:
            NotFoundError: there is no such execution.
            ConflictError: it has ended, or is express, or is an action that was invoked by itself.
        """
        await self._post("pause")

    async def resume(self) -> None:
        """Lets a paused execution go on. If a failed step paused it, the step is retried.

        Raises:
            NotFoundError: there is no such execution.
            ConflictError: it is not paused.
        """
        await self._post("resume")

    async def redrive(self, composition: Composition | None = None) -> None:
        """Continues a failed execution from its failed steps, with a corrected composition if given.

        The actions that the composition defines are deployed first.

        Raises:
            NotFoundError: there is no such execution.
            ConflictError: it cannot be redriven; the text says why.
        """
        body: JSON = None
        if composition is not None:
            await self._define(composition)
            body = {"composition": composition.to_json()}
        await self._post("redrive", body)

    async def reset(
        self,
        to: int | str = "last",
        *,
        step: str | None = None,
        composition: Composition | None = None,
        reason: str = "",
        messages: str = "keep",
    ) -> RemoteExecution:
        """Begins the execution again at an entry of its history. Returns the new run; an open run ends.

        Args:
            to: number of the entry, `first` or `last` (the last step that was asked for).
            step: path of a step, or name of its action, instead: its last run counts.
            composition: corrected composition for the new run.
            reason: text for the history.
            messages: `keep` to tell the new run the messages that came after the entry, `drop` to forget them.

        Raises:
            NotFoundError: there is no such execution.
            InDoubtError: the connection was lost. The new run may have begun.
            ConflictError: it cannot be reset to this entry; the text says why.
        """
        place = await self._place(to, step, composition, reason, messages)
        return self._other(await self._post("reset", place))

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
    ) -> RemoteExecution:
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
            InDoubtError: the connection was lost. The new run may have begun.
            ConflictError: it cannot be forked at this entry, or the id is in use; the text says why.
        """
        place = await self._place(to, step, composition, reason, messages)
        if input is not NOTHING:
            place["input"] = input
        return self._other(await self._post("fork", place, id=id or None))

    async def _place(
        self,
        to: int | str,
        step: str | None,
        composition: Composition | None,
        reason: str,
        messages: str,
    ) -> dict[str, JSON]:
        """The body of a request that names an entry. The actions of a composition are deployed first."""
        place: dict[str, JSON] = {
            "to": to if step is None else {"step": step}, "reason": reason, "messages": messages,
        }  # fmt: skip
        if composition is not None:
            await self._define(composition)
            place["composition"] = composition.to_json()
        return place

    def _other(self, doc: Document) -> RemoteExecution:
        run: str = doc["executionId"]
        if "id" not in doc:
            return RemoteExecution(self._calls, run, self._define)
        return RemoteExecution(self._calls, doc["id"], self._define, run)

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
            InDoubtError: the connection was lost. The execution may have been annotated.
            ConflictError: it is an express execution that has not ended.
        """
        body: dict[str, JSON] = {"attributes": attributes or {}}
        if memo is not NOTHING:
            body["memo"] = memo
        return await self._post("annotate", body)

    async def tell(self, name: str, payload: JSON = None, *, id: str = "") -> bool:
        """Tells an execution a message. Returns False if one with this id was told before.

        Args:
            name: of the message.
            payload: any JSON.
            id: by which the message is taken once; "" to take it in any case.

        Raises:
            NotFoundError: there is no such execution.
            ClosedError: it has ended.
            InDoubtError: the connection was lost. The execution may have been told; with an id, tell it again.
            TooManyMessagesError: too many messages wait for it.
        """
        request = Request(
            method="POST",
            path=execution(self._id, "messages", name),
            query={"run": self._run, "message": id or None},
            body=payload,
            headers={"Idempotency-Key": secrets.token_hex(16)} if id else {},
            repeatable=bool(id),
        )
        return "replayed" not in (await self._calls.transport.ask(request)).document

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
        check_stage(wait)
        until_s, id = until(timeout), id or secrets.token_hex(16)
        wait_ms = wait_of(until_s)
        request = Request(
            method="POST",
            path=execution(self._id, "updates", name),
            query={"run": self._run, "update": id, "wait": wait, "timeout": wait_ms},
            body=payload,
            repeatable=True,
        )
        taken = (await self._calls.transport.ask(request, wait_s=wait_ms / 1000)).document
        if wait == STAGE_ACCEPTED:
            return id
        return await self._calls.answer(taken, until_s, self._id)

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
        taken: Document = {
            "executionId": self._run,
            "name": name,
            "update": id,
            "status": STAGE_ACCEPTED,
        }
        return await self._calls.answer(taken, until(timeout), self._id)

    async def complete(self, result: JSON, *, step: str | None = None) -> None:
        """Answers a step that waits for its callback.

        Args:
            result: the result of the step.
            step: the step's fiber, or the name of its action; needed if several steps wait.

        Raises:
            NotFoundError: there is no such execution.
            ConflictError: no such step waits, or several do.
        """
        await self._post("answer", {"result": result, "step": step})

    async def fail(self, error: JSON, *, step: str | None = None) -> None:
        """Fails a step that waits for its callback; arguments and errors as for `complete`."""
        await self._post("answer", {"error": error, "step": step})

    async def _post(self, verb: str, body: JSON = None, **query: JSON) -> Document:
        return await self._calls.ask(
            "POST", execution(self._id, verb), body, run=self._run, **query
        )


class RemoteEntity:
    """An entity on a server. It is made by its first operation."""

    def __init__(self, calls: Calls, type: str, key: str) -> None:
        self._calls, self._path = calls, entity(type, key)

    async def call(
        self,
        operation: str,
        params: dict[str, JSON] | None = None,
        *,
        read: bool = False,
        token: str = "",
    ) -> JSON:
        """Calls an operation and waits for its result.

        Args:
            operation: the operation.
            params: its parameters.
            read: True if the operation does not change the state.
            token: an idempotency key: calls with the same key run the operation once.

        Raises:
            ActionError: the operation has failed.
            RefusedError: no entity type has this name, or a limit refuses the call.
            InDoubtError: the connection was lost. The operation may have run; with a token, call again.
        """
        body = _message(operation, params, token)
        if read:
            body["read"] = True
        return _value(await self._calls.entity(self._request(body, read or bool(token))))

    async def signal(
        self, operation: str, params: dict[str, JSON] | None = None, *, token: str = ""
    ) -> str:
        """Calls an operation without waiting. Returns the activation's id once the call is durable.

        Raises:
            RefusedError: no entity type has this name, or a limit refuses the call.
            InDoubtError: the connection was lost. The operation may run; with a token, call again.
        """
        body = _message(operation, params, token)
        request = self._request(body, bool(token), signal=True)
        id: str = (await self._calls.transport.ask(request)).document["activationId"]
        return id

    async def get(self) -> Document:
        """The last committed state and its version, without waiting for calls under way.

        Raises:
            NotFoundError: there is no such entity.
        """
        return await self._calls.ask("GET", self._path)

    async def delete(self) -> None:
        """Deletes the entity after the calls before it.

        Raises:
            ActionError: it is locked.
            InDoubtError: the connection was lost. The entity may have been deleted.
        """
        request = Request(method="DELETE", path=self._path)
        _value(await self._calls.entity(request))

    def _request(self, body: dict[str, JSON], repeatable: bool, **query: JSON) -> Request:
        return Request(
            method="POST", path=self._path, body=body, query=query, repeatable=repeatable
        )


def _message(operation: str, params: dict[str, JSON] | None, token: str) -> dict[str, JSON]:
    body: dict[str, JSON] = {"operation": operation, "params": params or {}}
    return {**body, "token": token} if token else body


def _value(outcome: Outcome) -> JSON:
    if isinstance(outcome, Failure):
        raise failed(outcome)
    return outcome.value
