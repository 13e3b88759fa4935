"""A server as a program works with it: deploy, invoke, and look after executions."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ...actions import InvalidError, NotFoundError
from ...composer import ActionFunction, CaptureError, Failure
from ..handles import Page, failed, listed, sought, started_with
from ..worker import Options as WorkerOptions
from ..worker import Worker
from .batches import RemoteBatches
from .events import RemoteEvents
from .executions import RemoteEntity, RemoteExecution
from .schedules import RemoteSchedule
from .tasks import RemoteTasks
from .wire import HOME, Request, execution, named, segment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, Unpack

    from ...actions import StartOptions
    from ...composer import JSON, Composition, Outcome
    from ..handles import Document, Listing, StartArguments, Telling
    from .calls import Calls


class _Actions:
    """Deploys actions and runs them."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def deploy(self, name: str, composition: Composition) -> None:
        """Deploys a composition as an action, with the actions that it defines inline.

        A composition that is deployed already in this form gets no new version.

        Raises:
            RefusedError: a definition is malformed.
            InDoubtError: the connection was lost. Some of the definitions may be deployed; deploy again.
        """
        await self.define(composition)
        tree = composition.to_json()
        try:
            before = await self._calls.ask("GET", named("actions", name))
        except NotFoundError:
            before = {"exec": {}}
        if before["exec"].get("composition") != tree:
            await self.put(name, {"exec": {"kind": "composition", "composition": tree}})

    async def define(self, composition: Composition) -> None:
        """Deploys the actions that a composition defines inline, without the composition.

        A function of your program is sent as source: it runs on the server, without the rest of your module.

        Raises:
            RefusedError: a definition is malformed, or the source of a function cannot be sent.
        """
        for name, definition in composition.definitions():
            if isinstance(definition, ActionFunction):
                try:
                    document = definition.definition()
                except CaptureError as error:
                    raise InvalidError(str(error)) from error
                await self.put(name, document)
            else:
                await self.put(name, definition)

    async def put(self, name: str, document: JSON) -> None:
        """Creates or updates an action from a document in the form of the HTTP API.

        Raises:
            RefusedError: the document is malformed.
            InDoubtError: the connection was lost. The action may have been changed.
        """
        await self._calls.ask("PUT", named("actions", name), document, overwrite=True)

    async def invoke(
        self,
        name: str,
        params: dict[str, JSON] | None = None,
        **options: Unpack[StartArguments],
    ) -> JSON:
        """Runs an action to its end. Returns its result.

        Args:
            name: the action.
            params: its parameters.
            options: see `StartArguments`.

        Raises:
            RefusedError: no action has this name, or a limit refuses the call.
            TakenIdError: an execution has the id, and a policy refuses the start.
            ActionError: the action has failed.
        """
        _, outcome = await self.run(name, params, **options)
        if isinstance(outcome, Failure):
            raise failed(outcome)
        return outcome.value

    async def run(
        self,
        name: str,
        params: dict[str, JSON] | None = None,
        **options: Unpack[StartArguments],
    ) -> tuple[str, Outcome]:
        """Runs an action to its end. Returns the activation's id and the outcome; arguments as for `invoke`.

        Raises:
            RefusedError: no action has this name, or a limit refuses the call.
        """
        token, given = started_with(**options)
        return await self._calls.run(name, params, token, _query(given))

    async def start(
        self,
        name: str,
        params: dict[str, JSON] | None = None,
        **options: Unpack[StartArguments],
    ) -> RemoteExecution:
        """Starts an action without waiting. Returns its handle once the start is durable; arguments as for `invoke`.

        Raises:
            RefusedError: no action has this name, or a limit refuses the call.
        """
        token, given = started_with(**options)
        begun = await self._calls.start(name, params, token, _query(given))
        if not given.id:
            return RemoteExecution(self._calls, begun, self.define)
        return RemoteExecution(self._calls, given.id, self.define, begun)

    async def tell_or_start(
        self, name: str, params: dict[str, JSON] | None = None, *, id: str, message: Telling
    ) -> RemoteExecution:
        """Tells the open execution with your id a message, or starts one that is told it first, in one commit.

        Args:
            name: the composition to start if no execution with the id is open.
            params: its parameters.
            id: your id for the execution.
            message: `(name, payload)`, or `(name, payload, message id)`: a message id is taken once.

        Returns:
            The handle of the run that is told.

        Raises:
            InDoubtError: the connection was lost. The execution may have been told; with a message id, call again.
            RefusedError: the composition does not exist, or the message is refused.
        """
        told, payload, *rest = message
        request = Request(
            method="POST",
            path=execution(id, "messages", told),
            query={"start": name, "message": rest[0] if rest else None},
            body={"input": params or {}, "payload": payload},
            repeatable=bool(rest),
        )
        answer = (await self._calls.transport.ask(request)).document
        return RemoteExecution(self._calls, id, self.define, answer["executionId"])

    def worker(  # noqa: PLR0913  a worker has as many options
        self,
        queue: str,
        functions: Iterable[Callable[..., Any]],
        *,
        slots: int = 10,
        version: str = "",
        name: str = "",
        grace_s: float = 30.0,
    ) -> Worker:
        """Makes a worker, which takes tasks from a queue and runs functions on them: see `Worker`.

        `async with` starts the worker and stops it at the end of the block; `await worker.run()` works until `stop`.

        Args:
            queue: name of the queue.
            functions: functions marked `@composer.action`, or plain ones under their own names. A function that
                is not `async` runs in a thread; a parameter `step` gets the task's `Step`.
            slots: tasks at the same time.
            version: version of the worker; it gets the tasks for this version and those for any.
            name: name of the worker; "" for one made of the host and the process.
            grace_s: seconds in which functions may end when the worker stops.

        Raises:
            InvalidError: an argument is not valid. The text names it.
        """
        options = WorkerOptions(
            queue=queue, worker=name, version=version, slots=slots, grace_s=grace_s
        )
        return Worker(RemoteTasks(self._calls.transport), functions, options)


def _query(options: StartOptions) -> dict[str, JSON]:
    """The options of a start as the query of a request."""
    query = options.to_json()
    for name in ("attributes", "memo"):
        if name in query:
            query[name] = json.dumps(query[name], ensure_ascii=False, allow_nan=False)
    for name in ("execution_timeout", "run_timeout"):
        limit_ms = query.pop(f"{name}_ms", None)
        if isinstance(limit_ms, int):
            query[name] = limit_ms / 1000
    return query


class Client(_Actions, RemoteBatches, RemoteEvents):
    """A server, in the namespace that the credentials belong to. `connect` makes it."""

    def __repr__(self) -> str:
        return f"<client of {self._calls.transport.place.url}>"

    def execution(self, id: str, run: str | None = None) -> RemoteExecution:
        """The handle of an execution, or of a run of an action that was invoked by itself.

        Args:
            id: the id of a run, or the one that you gave: then the open run, else the newest.
            run: another run of the execution with your id.
        """
        return RemoteExecution(self._calls, str(id), self.define, run)

    def executions(
        self,
        where: str = "",
        *,
        name: str | None = None,
        status: str | None = None,
        limit: int | None = None,
        skip: int = 0,
    ) -> Listing[RemoteExecution]:
        """Executions of compositions: the newest first, or in the order that the filter says.

        `async for` goes over their handles, `await` returns documents (30 if there is no limit).

        Args:
            where: a filter, such as `customer = 'anna' and status = 'failed' order by started asc`.
            name: only those of this action.
            status: only those in this status.
            limit: the maximum number of executions.
            skip: the number of executions to leave out at the start; not with a filter.

        Raises:
            InvalidError: the filter is malformed, or `skip` is given with it.
        """

        async def seek(limit: int, after: str | None) -> tuple[list[Document], str | None]:
            found = await self._calls.ask(
                "GET", f"{HOME}/executions",
                where=where, after=after, name=name, status=status, limit=limit,
            )  # fmt: skip
            return found["executions"], found.get("next")

        if where:
            return sought(seek, self._found, limit=limit, skip=skip)

        async def read(page: Page) -> list[Document]:
            return await self._calls.page("executions", page, name=name, status=status)

        return listed(read, self._found, "executionId", limit=limit, skip=skip)

    def _found(self, doc: Document) -> RemoteExecution:
        return RemoteExecution(self._calls, doc["executionId"], self.define, None, doc)

    async def count(
        self,
        where: str = "",
        *,
        name: str | None = None,
        status: str | None = None,
        group: str | None = None,
    ) -> Document:
        """Counts the executions that a filter finds.

        Args:
            where: a filter; "" for all executions.
            name: only those of this action.
            status: only those in this status.
            group: `status` to count those in each status too.

        Returns:
            `{"count"}`, with `groups` if asked.

        Raises:
            InvalidError: the filter is malformed, or there is no such group.
        """
        query = {"where": where, "name": name, "status": status, "group": group}
        return await self._calls.ask("GET", f"{HOME}/executions/count", **query)

    async def declare(self, name: str, type: str) -> None:
        """Declares an attribute by which executions are found.

        Args:
            name: of the attribute.
            type: `text`, `number`, `boolean`, `instant` or `keywords`.

        Raises:
            InvalidError: the name or the type is not valid.
            ConflictError: the attribute is declared with another type.
            InDoubtError: the connection was lost. The attribute may be declared.
        """
        await self._calls.ask("PUT", f"{HOME}/attributes/{segment(name)}", {"type": type})

    def history(self, id: str) -> Listing[Document]:
        """The history of an execution: see `RemoteExecution.history`."""
        return self.execution(id).history()

    def entity(self, type: str, key: str) -> RemoteEntity:
        """The handle of an entity."""
        return RemoteEntity(self._calls, type, key)

    def schedule(self, name: str) -> RemoteSchedule:
        """The handle of a schedule: to create, describe, pause, trigger or delete it."""
        return RemoteSchedule(self._calls, name)

    def schedules(self) -> Listing[RemoteSchedule]:
        """The schedules by name: `async for` goes over their handles, `await` returns a line for each."""

        async def seek(limit: int, after: str | None) -> tuple[list[Document], str | None]:
            skip = int(after or 0)
            found = await self._calls.page("schedules", Page(limit=limit, skip=skip))
            return found, str(skip + limit) if len(found) == limit else None

        def handle(doc: Document) -> RemoteSchedule:
            return self.schedule(doc["name"])

        return sought(seek, handle, limit=None, shown=None)

    async def fire(self, trigger: str, payload: dict[str, JSON] | None = None) -> str | None:
        """Fires a trigger. Returns the id of its activation; None if no rule invokes its action.

        Raises:
            NotFoundError: no trigger has this name.
            InDoubtError: the connection was lost. The trigger may have fired.
        """
        return (await self._calls.ask("POST", named("triggers", trigger), payload or {}) or {}).get(
            "activationId"
        )

    async def activation(self, id: str) -> Document:
        """The record of an activation that has ended: its result, its logs, its times.

        Raises:
            NotFoundError: there is none, or it has not ended.
        """
        return await self._calls.ask("GET", f"{HOME}/activations/{segment(id)}")

    def activations(
        self, *, name: str | None = None, limit: int | None = None, skip: int = 0
    ) -> Listing[Document]:
        """Activations, the newest first; of one action, if given. The records have no results and logs."""

        async def read(page: Page) -> list[Document]:
            return await self._calls.page("activations", page, name=name)

        return listed(read, lambda doc: doc, "activationId", limit=limit, skip=skip)

    async def logs(self, id: str) -> list[str]:
        """The log lines of an activation that has ended.

        Raises:
            NotFoundError: there is none, or it has not ended.
        """
        lines: list[str] = (await self.activation(id))["logs"]
        return lines
