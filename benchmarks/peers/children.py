"""Processes that a benchmark starts: whatever happens, they end before the benchmark does."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from asyncio.subprocess import Process
    from collections.abc import Mapping

ROOT = Path(__file__).parents[2]
GRACE_S = 5.0


class ChildError(Exception):
    """A process has ended, or has not answered, before it was of use."""


class Children:
    """Processes, each with a process group of its own, so that what they start ends with them.

    A terminal's Ctrl-C reaches only the benchmark, which then leaves this context.

    Args:
        log: the file to which their output is appended; the end of it is in the text of `ChildError`.
    """

    def __init__(self, log: Path) -> None:
        self._log = log
        self._processes: list[Process] = []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        try:
            for process in self._processes:
                _send(process, signal.SIGTERM)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(GRACE_S):
                    await self._wait()
        finally:  # also when a second Ctrl-C has interrupted the wait
            await self.kill()

    async def start(
        self, *command: str | Path, env: Mapping[str, str] | None = None, piped: bool = False
    ) -> Process:
        """Starts a process in the repository's folder. With `piped` its standard output is read by the caller."""
        with self._log.open("ab") as log:
            process = await asyncio.create_subprocess_exec(
                *command, cwd=ROOT, env={**os.environ, **(env or {})}, start_new_session=True,
                stdin=asyncio.subprocess.DEVNULL, stderr=log,
                stdout=asyncio.subprocess.PIPE if piped else log,
            )  # fmt: skip
        self._processes.append(process)
        return process

    async def kill(self) -> None:
        """Ends all of them at once with SIGKILL, and what they have started."""
        for process in self._processes:
            _send(process, signal.SIGKILL)
        await self._wait()
        self._processes.clear()

    def check(self) -> None:
        """Raises ChildError if one of them has ended."""
        for process in self._processes:
            if process.returncode is not None:
                raise ChildError(f"a process ended with {process.returncode}: {self.said()}")

    def said(self) -> str:
        """The end of what they have written."""
        text = self._log.read_text("utf-8", errors="replace") if self._log.exists() else ""
        return text[-2000:].strip() or "it wrote nothing"

    async def answering(self, port: int, within_s: float = 60) -> None:
        """Waits until a port of this machine takes connections.

        Raises:
            ChildError: a process has ended, or the port takes none in time.
        """
        for _ in range(int(within_s / 0.02)):
            self.check()
            with contextlib.suppress(OSError):
                _, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.close()
                return
            await asyncio.sleep(0.02)
        raise ChildError(f"port {port} takes no connection after {within_s:.0f} s: {self.said()}")

    async def _wait(self) -> None:
        for process in self._processes:
            await process.wait()


def _send(process: Process, number: signal.Signals) -> None:
    """Sends a signal to a process's group: also when the process has ended and its children have not."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, number)
