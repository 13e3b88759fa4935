"""The executions, entities and activations of an embedded engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...actions import Call, NotFoundError, Query, UnavailableError, summary
from ...composer import Failure, Name
from ..handles import failed, listed, sought
from .batch_handles import EmbeddedBatches
from .event_handles import EmbeddedEvents
from .handles import CLOSED, FOREVER_S, NAMESPACE, ExecutionHandle
from .schedule_handles import ScheduleHandle

if TYPE_CHECKING:
    from ...composer import JSON
    from ..engine import Engine
    from ..handles import Document, Listing, Page


class EntityHandle:
    """An entity of an embedded engine. It is made by its first operation."""

    def __init__(self, engine: Engine, type: str, key: str) -> None:
        self._engine, self._type, self._key = engine, Name.parse(type).within(NAMESPACE), key

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
        """
        message: dict[str, JSON] = {"operation": operation, "params": params or {}}
        if read:
            message["read"] = True
        return await self._ended(message, token)

    async def signal(
        self, operation: str, params: dict[str, JSON] | None = None, *, token: str = ""
    ) -> str:
        """Calls an operation without waiting. Returns the activation's id once the call is durable.

        Raises:
            RefusedError: no entity type has this name, or a limit refuses the call.
        """
        call = self._call({"operation": operation, "params": params or {}}, token)
        return (await self._engine.invoke(call)).activation

    async def get(self) -> Document:
        """The last committed state and its version, without waiting for calls under way.

        Raises:
            NotFoundError: there is no such entity.
        """
        action = self._engine.catalog.resolve(self._type, NAMESPACE)
        return await self._engine.records.entity(str(action.name), self._key)

    async def delete(self) -> None:
        """Deletes the entity after the calls before it.

        Raises:
            ActionError: it is locked.
        """
        await self._ended({"operation": "$delete"}, "")

    async def _ended(self, message: dict[str, JSON], token: str) -> JSON:
        invoked = await self._engine.invoke(self._call(message, token), wait_s=FOREVER_S)
        if invoked.ended is None:
            raise UnavailableError(CLOSED.format(id=invoked.activation))
        if isinstance(invoked.ended.outcome, Failure):
            raise failed(invoked.ended.outcome)
        return invoked.ended.outcome.value

    def _call(self, message: dict[str, JSON], token: str) -> Call:
        if self._engine.catalog.resolve(self._type, NAMESPACE).entity is None:
            raise NotFoundError
        params = {**message, "key": self._key, **({"token": token} if token else {})}
        return Call(name=self._type, params=params, namespace=NAMESPACE)


class EmbeddedRecords(EmbeddedBatches, EmbeddedEvents):
    """The executions and records of an embedded engine, in the namespace `guest`."""

    def execution(self, id: str, run: str | None = None) -> ExecutionHandle:
        """The handle of an execution, or of a run of an action that was invoked by itself.

        Args:
            id: the id of a run, or the one that you gave: then the open run, else the newest.
            run: another run of the execution with your id.
        """
        return ExecutionHandle(self.engine, str(id), self._define, run)

    def executions(
        self,
        where: str = "",
        *,
        name: str | None = None,
        status: str | None = None,
        limit: int | None = None,
        skip: int = 0,
    ) -> Listing[ExecutionHandle]:
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
            query = Query(namespace=NAMESPACE, name=name, status=status, limit=limit)
            found = await self.engine.finding.page(query, where, after)
            return found.executions, found.next

        if where:
            return sought(seek, self._found, limit=limit, skip=skip)

        async def read(page: Page) -> list[Document]:
            query = Query(
                namespace=NAMESPACE, name=name, status=status,
                limit=page.limit, skip=page.skip, upto_ms=page.upto_ms,
            )  # fmt: skip
            return await self.engine.records.executions(query)

        return listed(read, self._found, "executionId", limit=limit, skip=skip)

    def _found(self, doc: Document) -> ExecutionHandle:
        return ExecutionHandle(self.engine, doc["executionId"], self._define, None, doc)

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
        query = Query(namespace=NAMESPACE, name=name, status=status)
        return await self.engine.finding.count(query, where, group)

    async def declare(self, name: str, type: str) -> None:
        """Declares an attribute by which executions are found.

        Args:
            name: of the attribute.
            type: `text`, `number`, `boolean`, `instant` or `keywords`.

        Raises:
            InvalidError: the name or the type is not valid.
            ConflictError: the attribute is declared with another type.
        """
        await self.engine.annotations.declare(NAMESPACE, name, type)

    def history(self, id: str) -> Listing[Document]:
        """The history of an execution: see `ExecutionHandle.history`."""
        return self.execution(id).history()

    def entity(self, type: str, key: str) -> EntityHandle:
        """The handle of an entity.

        Raises:
            InvalidNameError: the type's name is malformed.
        """
        return EntityHandle(self.engine, type, key)

    def schedule(self, name: str) -> ScheduleHandle:
        """The handle of a schedule: to create, describe, pause, trigger or delete it."""
        return ScheduleHandle(self.engine, NAMESPACE, name)

    def schedules(self) -> Listing[ScheduleHandle]:
        """The schedules by name: `async for` goes over their handles, `await` returns a line for each."""

        async def seek(_limit: int, _after: str | None) -> tuple[list[Document], str | None]:
            schedules = self.engine.schedules
            names = schedules.names(NAMESPACE)
            return [schedules.get(NAMESPACE, name, brief=True) for name in names], None

        def handle(doc: Document) -> ScheduleHandle:
            return self.schedule(doc["name"])

        return sought(seek, handle, limit=None, shown=None)

    async def fire(self, trigger: str, payload: dict[str, JSON] | None = None) -> str | None:
        """Fires a trigger. Returns the id of its activation; None if no rule is active.

        Raises:
            NotFoundError: no trigger has this name.
        """
        return await self.engine.firing.fire(Name.parse(trigger).within(NAMESPACE), payload or {})

    async def activation(self, id: str) -> Document:
        """The record of an activation that has ended: its result, its logs, its times.

        Raises:
            NotFoundError: there is none, or it has not ended.
        """
        run = await self.engine.identities.run_of(NAMESPACE, id)
        return await self.engine.records.activation(NAMESPACE, run)

    def activations(
        self, *, name: str | None = None, limit: int | None = None, skip: int = 0
    ) -> Listing[Document]:
        """Activations, the newest first; of one action, if given. The records have no results and logs."""

        async def read(page: Page) -> list[Document]:
            query = Query(
                namespace=NAMESPACE, name=name,
                limit=page.limit, skip=page.skip, upto_ms=page.upto_ms,
            )  # fmt: skip
            return [
                summary(doc) for doc in await self.engine.records.activations(query, whole=False)
            ]

        return listed(read, lambda doc: doc, "activationId", limit=limit, skip=skip)

    async def logs(self, id: str) -> list[str]:
        """The log lines of an activation that has ended.

        Raises:
            NotFoundError: there is none, or it has not ended.
        """
        lines: list[str] = (await self.activation(id))["logs"]
        return lines
