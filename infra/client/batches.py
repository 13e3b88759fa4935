"""Batches on a server, as a program works with them."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from ...composer import Failure, boxed
from ..handles import batch_with, failed, listed
from .wire import HOME, Request, execution, segment

if TYPE_CHECKING:
    from typing import Unpack

    from ..handles import BatchArguments, Document, Listing, Page
    from .calls import Calls


class RemoteBatch:
    """A batch on a server. It need not exist: each method says so if it does not."""

    def __init__(self, calls: Calls, id: str) -> None:
        self._calls, self._id = calls, id
        self._path = f"{HOME}/batches/{segment(id)}"

    @property
    def id(self) -> str:
        """The id of the batch: the one that you gave it, or the id of its execution."""
        return self._id

    def __repr__(self) -> str:
        return f"<batch {self._id}>"

    async def describe(self) -> Document:
        """The definition of the batch, its status, its counts and the first 100 executions that failed.

        Raises:
            NotFoundError: there is no such batch.
        """
        return await self._calls.ask("GET", self._path)

    async def result(self, timeout: float | None = None) -> Document:  # noqa: ASYNC109  the server waits
        """Waits for the end of the batch. Returns its counts: `matched`, `done`, `failed`, `changed`, `gone`.

        Args:
            timeout: seconds to wait; None for no limit.

        Raises:
            NotFoundError: there is no such batch.
            ActionError: the batch itself has failed; ActionCancelledError if it was cancelled.
            TimeoutError: the batch has not ended within `timeout`. It goes on.
        """
        await self.describe()  # another execution is not waited for
        outcome = await self._calls.outcome(self._id, None, timeout)
        if isinstance(outcome, Failure):
            raise failed(outcome)
        return {**boxed(outcome.value)}

    async def pause(self) -> None:
        """Pauses the batch behind the execution that it deals with now, until `resume`.

        Raises:
            NotFoundError: there is no such batch.
            ConflictError: it has ended.
        """
        await self._calls.ask("POST", await self._execution("pause"))

    async def resume(self) -> None:
        """Lets a paused batch go on.

        Raises:
            NotFoundError: there is no such batch.
            ConflictError: it is not paused.
        """
        await self._calls.ask("POST", await self._execution("resume"))

    async def cancel(self) -> None:
        """Asks the batch to stop behind the execution that it deals with now.

        Raises:
            NotFoundError: there is no such batch.
            ConflictError: it has ended.
        """
        await self._calls.ask("DELETE", self._path)

    async def _execution(self, verb: str) -> str:
        """The path of an operation on the execution of the batch.

        Raises:
            NotFoundError: there is no such batch, though an execution may have its id.
        """
        return execution(str((await self.describe())["executionId"]), verb)


class RemoteBatches:
    """Starts batches on a server and finds them."""

    _calls: Calls

    async def start_batch(
        self, where: str, do: str, **options: Unpack[BatchArguments]
    ) -> RemoteBatch:
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
        request = Request(
            method="POST",
            path=f"{HOME}/batches",
            body=document,
            headers={"Idempotency-Key": token or secrets.token_hex(16)},
            repeatable=True,
        )
        begun = (await self._calls.transport.ask(request)).document
        return self.batch(str(document.get("id") or begun["executionId"]))

    def batch(self, id: str) -> RemoteBatch:
        """The handle of a batch, by your id or by the id of its execution."""
        return RemoteBatch(self._calls, id)

    def batches(self) -> Listing[RemoteBatch]:
        """The batches, the newest first: `async for` goes over their handles, `await` returns documents (30)."""

        async def read(page: Page) -> list[Document]:
            return await self._calls.page("batches", page)

        def handle(doc: Document) -> RemoteBatch:
            return self.batch(str(doc["executionId"]))

        return listed(read, handle, "executionId", limit=None, skip=0)
