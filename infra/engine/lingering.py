"""Dormant executions that stay in memory for a while, because they were told messages lately.

An execution that waits leaves memory: 100,000 of them must cost little. But an execution that was told a message is
likely to be told another, and reading it costs more than hearing the message. So it stays in memory until enough
others have been told something since. Their number and their size are bounded.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

from ...composer import measured

if TYPE_CHECKING:
    from .bounds import Bounds
    from .live import LiveExecution
    from .shared import Parts

MOST_BYTES = 32 << 20  # of all of them together
VALUES_BYTES = 16 << 10  # of the values in the fibers of one: to count more takes too long
FIBERS = 16  # of one, for the same reason
SELF_BYTES, MESSAGE_BYTES = (
    8 << 10,
    1 << 10,
)  # that an execution and a message take beside their values


class Lingering:
    """Keeps dormant executions in memory: those that were told a message last.

    Args:
        parts: the parts of the engine; `settings.dormant` is the number of executions to keep.
        bounds: hears which executions leave memory.
    """

    def __init__(self, parts: Parts, bounds: Bounds) -> None:
        self._runs, self._bounds, self._most = parts.runs, bounds, parts.settings.dormant
        self._sizes: OrderedDict[str, int] = OrderedDict()  # the one that was told last is the last
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._sizes)

    def used(self, run: LiveExecution) -> None:
        """Notes that an execution in memory is told a message: it stays when it is dormant, unless it is large."""
        if run.id in self._sizes:
            self._sizes.move_to_end(run.id)
        elif (size := _size(run)) is not None:
            self._keep(run.id, size)

    def settled(self, run: LiveExecution) -> None:
        """Has a dormant execution leave memory, unless it stays for a while."""
        size = _size(run) if run.id in self._sizes else None
        self.forget(run.id)
        if size is None:
            self._leave(run)
        else:
            self._keep(run.id, size)

    def forget(self, execution: str) -> None:
        """Forgets an execution that has ended, or has left memory."""
        self._bytes -= self._sizes.pop(execution, 0)

    def clear(self) -> None:
        """Forgets all executions: all have left memory."""
        self._sizes.clear()
        self._bytes = 0

    def _keep(self, execution: str, size: int) -> None:
        self._sizes[execution] = size
        self._bytes += size
        while len(self._sizes) > self._most or self._bytes > MOST_BYTES:
            oldest, freed = self._sizes.popitem(last=False)
            self._bytes -= freed
            run = self._runs.get(oldest)
            if run is not None and run.dormant and oldest != execution:
                self._leave(run)

    def _leave(self, run: LiveExecution) -> None:
        del self._runs[run.id]
        self._bounds.left(run)


def _size(run: LiveExecution) -> int | None:
    """About how many bytes an execution takes in memory; None if it is too large to stay."""
    execution, size = run.execution, SELF_BYTES
    if len(execution.fibers) > FIBERS:
        return None
    for fiber in execution.fibers.values():
        for value in fiber.values():
            size += measured(value, VALUES_BYTES)
            if size > SELF_BYTES + VALUES_BYTES:
                return None
    if execution.inbox is not None:
        size += execution.inbox.size + MESSAGE_BYTES * execution.inbox.count
    return size if size <= MOST_BYTES else None
