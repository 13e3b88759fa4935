"""A batch as a program works with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...actions import Query
from ...composer import boxed
from ..handles import batch_with, listed
from .handles import NAMESPACE, ExecutionHandle

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import Unpack

    from ...composer import Composition
    from ..engine import Engine
    from ..handles import BatchArguments, Document, Listing, Page


class BatchHandle:
    """A batch of an embedded engine. It need not exist: each method says so if it does not."""

    def __init__(self, engine: Engine, namespace: str, execution: ExecutionHandle) -> None:
        self._engine, self._namespace, self._execution = engine, namespace, execution

    @property
    def id(self) -> str:
        """The id of the batch: the one that you gave it, or the id of its execution."""
        return self._execution.id

    def __repr__(self) -> str:
        return f"<batch {self.id}>"

    async def describe(self) -> Document:
        """The definition of the batch, its status, its counts and the first 100 executions that failed.

        Raises:
            NotFoundError: there is no such batch.
        """
        return await self._engine.batches.get(self._namespace, self.id)

    async def result(self, timeout: float | None = None) -> Document:  # noqa: ASYNC109  the engine waits
        """Waits for the end of the batch. Returns its counts: `matched`, `done`, `failed`, `changed`, `gone`.

        Args:
            timeout: seconds to wait; None for no limit.

        Raises:
            NotFoundError: there is no such batch.
            ActionError: the batch itself has failed; ActionCancelledError if it was cancelled.
            TimeoutError: the batch has not ended within `timeout`. It goes on.
        """
        await self.describe()  # it raises if the id is that of another execution
        return {**boxed(await self._execution.result(timeout))}

    async def pause(self) -> None:
        """Pauses the batch behind the execution that it deals with now, until `resume`.

        Raises:
            NotFoundError: there is no such batch.
            ConflictError: it has ended.
        """
        await self.describe()  # it raises if the id is that of another execution
        await self._execution.pause()

    async def resume(self) -> None:
        """Lets a paused batch go on.

        Raises:
            NotFoundError: there is no such batch.
            ConflictError: it is not paused.
        """
        await self.describe()  # it raises if the id is that of another execution
        await self._execution.resume()

    async def cancel(self) -> None:
        """Asks the batch to stop behind the execution that it deals with now.

        Raises:
            NotFoundError: there is no such batch.
            ConflictError: it has ended.
        """
        await self.describe()  # it raises if the id is that of another execution
        await self._execution.cancel()


class EmbeddedBatches:
    """Starts batches of an embedded engine and finds them."""

    def __init__(self, engine: Engine, define: Callable[[Composition], Awaitable[None]]) -> None:
        self.engine, self._define = engine, define

    async def start_batch(
        self, where: str, do: str, **options: Unpack[BatchArguments]
    ) -> BatchHandle:
        """Starts a batch: one operation for each of the executions that a filter finds now.

        Args:
            where: a filter, such as `status = 'failed' and started > '2026-11-01'`.
            do: `cancel`, `terminate`, `tell`, `reset`, `redrive`, `delete`, `annotate`, `pause` or `resume`.
            options: see `BatchArguments`.

        Returns:
            The handle of the batch, once its start is durable.

        Raises:
            InvalidError: the filter or an argument is malformed; the text names it.
            TakenIdError: an execution has the id already.
        """
        token, document = batch_with(where, do, **options)
        run = await self.engine.batches.create(NAMESPACE, document, key=token)
        return self.batch(str(document.get("id") or run))

    def batch(self, id: str) -> BatchHandle:
        """The handle of a batch, by your id or by the id of its execution."""
        return BatchHandle(self.engine, NAMESPACE, ExecutionHandle(self.engine, id, self._define))

    def batches(self) -> Listing[BatchHandle]:
        """The batches, the newest first: `async for` goes over their handles, `await` returns documents (30)."""

        async def read(page: Page) -> list[Document]:
            query = Query(
                namespace=NAMESPACE, limit=page.limit, skip=page.skip, upto_ms=page.upto_ms
            )
            return await self.engine.batches.list(query)

        def handle(doc: Document) -> BatchHandle:
            return self.batch(doc["executionId"])

        return listed(read, handle, "executionId", limit=None, skip=0)
