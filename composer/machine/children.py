"""The end of a child, as the step that waits for it sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..values import Failure

if TYPE_CHECKING:
    from ..values import JSON

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
