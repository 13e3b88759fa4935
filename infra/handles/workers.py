"""Workers as a program works with them."""

from __future__ import annotations

from typing import Protocol, Self


class Worker(Protocol):
    """Takes tasks from a queue and runs functions on them: `async with` a worker, or `await` its `run`.

    A worker is used once.
    """

    async def __aenter__(self) -> Self: ...

    async def __aexit__(self, error: type[BaseException] | None, *rest: object) -> None: ...

    @property
    def name(self) -> str:
        """The name by which the server knows the worker."""

    @property
    def functions(self) -> list[str]:
        """The names of the actions that it does."""

    @property
    def running(self) -> int:
        """The number of tasks that are being worked on."""

    def stop(self) -> None:
        """Takes no more tasks: functions that run are told, and cancelled after the grace.

        Any thread may call it. `run` and `wait` return when all functions have ended, or when the grace is over.
        """

    async def wait(self) -> None:
        """Waits until the worker has stopped. If the wait is cancelled, the worker goes on.

        Raises:
            RefusedError: the server refuses the worker.
        """

    async def run(self) -> None:
        """Works until `stop`.

        Raises:
            RefusedError: the server refuses the worker.
        """
