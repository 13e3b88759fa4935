"""The port of a worker: where it takes tasks from, and where it answers them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from ...actions import InDoubtError, RefusedError, ThrottledError, UnavailableError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...composer import JSON


class Tasks(Protocol):
    """The tasks of a server or of an engine in this process.

    Each method raises a RefusedError: one that `is_passing` if the same request may succeed later.
    """

    async def take(self, queue: str, asked: Mapping[str, Any], wait_s: float) -> list[Any]:
        """Waits for tasks of a queue, for so many seconds. An empty list if none comes.

        Args:
            queue: name of the queue.
            asked: `worker`, `version`, `slots`, and `count`, the number of tasks to take at most.
            wait_s: seconds to wait.
        """

    async def leave(self, queue: str, worker: str) -> None:
        """Ends the wait of a worker: it gets no further task."""

    async def beat(self, token: str, details: JSON) -> bool:
        """Tells that a worker is at work. Returns False if nobody waits for its task any more."""

    async def answer(self, token: str, result: dict[str, JSON]) -> None:
        """Answers a task; the first answer counts. A server that cannot be reached is asked for minutes."""


def is_passing(error: RefusedError) -> bool:
    """True if the same request may succeed later."""
    return isinstance(error, InDoubtError | ThrottledError | UnavailableError)
