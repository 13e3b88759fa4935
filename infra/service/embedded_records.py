"""The executions, entities and activations of an embedded engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...actions import Call, NotFoundError, Query, UnavailableError, summary
from ...composer import Failure, Name
from ..handles import failed, listed
from .handles import CLOSED, FOREVER_S, NAMESPACE, ExecutionHandle

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from ...composer import JSON, Composition
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


class EmbeddedRecords:
    """What an embedded engine runs and has run, in the namespace `guest`."""

    def __init__(self, engine: Engine, define: Callable[[Composition], Awaitable[None]]) -> None:
        self.engine, self._define = engine, define

    def execution(self, id: str, run: str | None = None) -> ExecutionHandle:
        """The handle of an execution, or of a run of an action that was invoked by itself.

        Args:
            id: the id of a run, or the one that you gave: then the open run, else the newest.
            run: another run of the execution with your id.
        """
        return ExecutionHandle(self.engine, str(id), self._define, run)

    def executions(
        self,
        *,
        name: str | None = None,
        status: str | None = None,
        limit: int | None = None,
        skip: int = 0,
    ) -> Listing[ExecutionHandle]:
        """Executions of compositions, the newest first; of one action or in one status, if given.

        `async for` goes over their handles, `await` returns documents (30 if there is no limit).
        """

        async def read(page: Page) -> list[Document]:
            query = Query(
                namespace=NAMESPACE, name=name, status=status,
                limit=page.limit, skip=page.skip, upto_ms=page.upto_ms,
            )  # fmt: skip
            return await self.engine.records.executions(query)

        return listed(read, self._found, "executionId", limit=limit, skip=skip)

    def _found(self, doc: Document) -> ExecutionHandle:
        return ExecutionHandle(self.engine, doc["executionId"], self._define, None, doc)

    def history(self, id: str) -> Listing[Document]:
        """The history of an execution: see `ExecutionHandle.history`."""
        return self.execution(id).history()

    def entity(self, type: str, key: str) -> EntityHandle:
        """The handle of an entity.

        Raises:
            InvalidNameError: the type's name is malformed.
        """
        return EntityHandle(self.engine, type, key)

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
