"""Tasks that are cancelled when the engine stops: what they wait for is not coming any more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Coroutine


class Cancellable:
    """Tasks of a group."""

    def __init__(self, tasks: asyncio.TaskGroup) -> None:
        self._tasks = tasks
        self._running: set[asyncio.Task[None]] = set()

    def run(self, coroutine: Coroutine[Any, Any, None]) -> None:
        """Runs a coroutine, which must not fail, as a task."""
        task = self._tasks.create_task(coroutine)
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    def cancel(self) -> None:
        """Cancels all that run."""
        for task in self._running:
            task.cancel()
