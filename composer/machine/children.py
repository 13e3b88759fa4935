"""The end of a child, as the step that waits for it sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..values import APPLICATION_ERROR, CANCELLED, Failure, boxed, failure
from .events import Completed, Failed

if TYPE_CHECKING:
    from ..values import JSON
    from .commands import Invoke

CHILD_FAILED: Final = "ChildFailed"


def child_failed(id: str, run: str, failed: Failure) -> Failure:
    """The failure of a step whose child has failed: the child's id and run, and its code and error."""
    named = f"'{id}' (run {run})" if id else run
    error: dict[str, JSON] = {
        "run": run,
        "code": failed.name,
        "error": failed.error,
        "message": f"The child {named} failed: {failed.message}",
    }
    return Failure(CHILD_FAILED, {"id": id, **error} if id else error)


def child_started(id: str, run: str) -> dict[str, JSON]:
    """The result of a step that does not wait for its child."""
    return {"executionId": run, "id": id} if id else {"executionId": run}


def child_stopped(turn: int) -> Failed:
    """The event for a step whose child has stopped because it was asked to."""
    return Failed(turn, child_failed("", "", failure(CANCELLED, "cancelled")))


def child_answered(
    command: Invoke, delay_ms: int, event: Completed | Failed | None
) -> tuple[int, Completed | Failed | None]:
    """What a simulated step hears of its child, and when; `event` is what it would hear of an action."""
    child, turn = command.child, command.turn
    if child is None:
        return delay_ms, event
    if not child.wait:
        return 0, Completed(turn, child_started(child.id, command.activation))
    failed = event.failure if isinstance(event, Failed) else None
    if isinstance(event, Completed) and "error" in (value := boxed(event.value)):
        failed = Failure(APPLICATION_ERROR, value["error"], event.raised)
    if failed is None:
        return delay_ms, event
    return delay_ms, Failed(turn, child_failed(child.id, command.activation, failed))
