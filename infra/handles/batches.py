"""The common parts of the batches of an embedded engine and of a server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypedDict

from ...actions import check_token

if TYPE_CHECKING:
    from typing import Unpack

    from ...composer import JSON
    from .listings import Document, Listing


class BatchArguments(TypedDict, total=False):
    """Arguments of `start_batch`, given by name.

    Args:
        details: what the operation needs: `{"name", "payload"}` for `tell`, `{"to", "messages"}` for `reset`,
            `{"attributes", "memo"}` for `annotate`.
        per_second: the number of executions that the batch deals with in a second; None for no limit.
        reason: text that is shown with the batch.
        id: your id for the batch, unique among the open executions.
        token: an idempotency key: all calls with the same key start one batch.
    """

    details: dict[str, JSON] | None
    per_second: float | None
    reason: str
    id: str
    token: str


def batch_with(  # noqa: PLR0913  each is an argument of a batch
    where: str,
    do: str,
    *,
    details: dict[str, JSON] | None = None,
    per_second: float | None = None,
    reason: str = "",
    id: str = "",
    token: str = "",
) -> tuple[str, dict[str, JSON]]:
    """The token and the document that the arguments of `start_batch` say.

    Raises:
        InvalidError: the token is not valid.
    """
    if token:
        check_token(token)
    optional: dict[str, JSON] = {
        "with": details, "per_second": per_second, "reason": reason, "id": id,
    }  # fmt: skip
    given = {name: value for name, value in optional.items() if value not in (None, "")}
    return token, {"where": where, "do": do, **given}


class Batch(Protocol):
    """One batch: an execution that deals with all executions that a filter finds.

    Each method raises NotFoundError if there is no such batch.
    """

    @property
    def id(self) -> str:
        """The id of the batch: the one that you gave it, or the id of its execution."""

    async def describe(self) -> Document:
        """The definition of the batch, its status, its counts and the first 100 executions that failed."""

    async def result(self, timeout: float | None = None) -> Document:  # noqa: ASYNC109  the engine waits
        """Waits for the end of the batch. Returns its counts: `matched`, `done`, `failed`, `changed`, `gone`.

        Args:
            timeout: seconds to wait; None for no limit.

        Raises:
            ActionError: the batch itself has failed; ActionCancelledError if it was cancelled.
            TimeoutError: the batch has not ended within `timeout`. It goes on.
        """

    async def pause(self) -> None:
        """Pauses the batch behind the execution that it deals with now, until `resume`.

        Raises:
            ConflictError: it has ended.
        """

    async def resume(self) -> None:
        """Lets a paused batch go on.

        Raises:
            ConflictError: it is not paused.
        """

    async def cancel(self) -> None:
        """Asks the batch to stop behind the execution that it deals with now.

        Raises:
            ConflictError: it has ended.
        """


class Batches(Protocol):
    """Starts batches and finds them."""

    async def start_batch(self, where: str, do: str, **options: Unpack[BatchArguments]) -> Batch:
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

    def batch(self, id: str) -> Batch:
        """The handle of a batch, by your id or by the id of its execution."""

    def batches(self) -> Listing[Batch]:
        """The batches, the newest first: `async for` goes over their handles, `await` returns documents (30)."""
