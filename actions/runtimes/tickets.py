"""The tickets of a worker's requests: user code begins on a request only once the worker has taken its ticket.

They lie in a pipe that both ends can read. The kernel gives each of them once: to the worker, or to the server when it
takes requests back or the worker has died.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from contextlib import ExitStack

TICKET_BYTES = 4
PIPE_BYTES = 64 << 10  # as many as a pipe holds


class Tickets:
    """Numbers requests, from 1 on."""

    def __init__(self) -> None:
        self._numbered = 0
        self._new = b""  # tickets that are not in the pipe yet
        self._pipe: tuple[int, int] | None = None
        self._left: set[int] = set()  # when the pipe was closed

    def open(self, stack: ExitStack) -> int:
        """Makes the pipe, which the stack closes. Returns the end that the worker inherits."""
        self._pipe = os.pipe()
        stack.callback(self.close)
        for end in self._pipe:
            os.set_blocking(end, False)
        return self._pipe[0]

    def next(self) -> int:
        """The number of the request that is said next."""
        self._numbered += 1
        self._new += self._numbered.to_bytes(TICKET_BYTES, "little")
        return self._numbered

    def hand_out(self) -> None:
        """Puts the tickets of new requests into the pipe. Their requests must be sent after that."""
        if self._new and self._pipe is not None:
            os.write(self._pipe[1], self._new)
            self._new = b""

    def take_back(self) -> set[int]:
        """Takes all tickets out of the pipe. Returns their numbers.

        User code can read the pipe, too: then the answer is wrong for its own requests only.
        """
        if self._pipe is None:
            left, self._left = self._left, set()
            return left
        try:
            data = os.read(self._pipe[0], PIPE_BYTES)
        except BlockingIOError:
            return set()
        starts = range(0, len(data), TICKET_BYTES)
        return {int.from_bytes(data[at : at + TICKET_BYTES], "little") for at in starts}

    def close(self) -> None:
        """Closes the pipe. `take_back` still returns what was in it, or should have been."""
        if self._pipe is not None:
            self.hand_out()
            self._left = self.take_back()
            for end in self._pipe:
                os.close(end)
            self._pipe = None
