"""A process on the other side of a socket: starts it, exchanges messages with it, and ends it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson

from ...composer import MAX_DEPTH, flaw, overflow
from ..kinds import NODE
from .tickets import Tickets
from .watch import Watch

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable
    from pathlib import Path

    from ...composer import JSON
    from .groups import Group
    from .homes import Home
    from .sandbox import Program, Sandbox
    from .watch import Use

SLACK_BYTES = 1 << 20  # of a line from a worker, above the longest result and log line
GARBLED_BYTES = 1 << 10  # shown of a line that is not JSON
OUTPUT_BYTES = 64 << 10  # of a worker's children's output, read at once
DEPTH = MAX_DEPTH + 1  # of a document that holds a value
LINE_BYTES = 32 << 10  # a longer line is split


@dataclass(frozen=True, slots=True)
class _Started:
    process: subprocess.Popen[bytes]
    home: Home
    sandbox: Sandbox

    def bury(self) -> None:
        """Waits for the end of a stopped process, and removes its directory."""
        self.sandbox.wait(self.process)
        self.sandbox.discard(self.home)


class Process(asyncio.Protocol):
    """A process and the socket to it.

    Args:
        limit: bytes of its longest line, without some slack.
        heard: gets each JSON document that it sends; None when the process has ended.
        printed: gets the lines that a child or an extension has printed past Python, and the name of
            the stream.
    """

    def __init__(
        self,
        limit: int,
        heard: Callable[[JSON], None],
        printed: Callable[[str, list[bytes]], None],
    ) -> None:
        self._limit = limit + SLACK_BYTES
        self._heard, self._printed = heard, printed
        self._buffer = bytearray()
        self._exact = True  # JavaScript has doubles only, and spells large ones as integers
        self._transport: Any = None
        self._outputs: dict[int, tuple[str, bytearray]] = {}
        self._printing = select.poll()  # asks for all outputs at once
        self._started: _Started | None = None
        self._watch: Watch | None = None
        self._lines: list[bytes] = []  # to be sent
        self._sending = False
        self.tickets = Tickets()

    async def start(self, sandbox: Sandbox, program: Program, parent: Path | None) -> None:
        """Starts the process, in a new directory below `parent`."""
        loop = asyncio.get_running_loop()
        with contextlib.ExitStack() as ours, contextlib.ExitStack() as theirs:
            near, far = map(contextlib.closing, socket.socketpair())
            connection, fd = ours.enter_context(near), theirs.enter_context(far).fileno()
            tickets = self.tickets.open(ours)
            reads, writes = zip(os.pipe(), os.pipe(), strict=True)
            for read, write in zip(reads, writes, strict=True):
                ours.callback(os.close, read)
                theirs.callback(os.close, write)
            home = sandbox.home(parent)
            ours.callback(sandbox.discard, home)
            self._exact = program.language.kind != NODE
            process = sandbox.start(program, (fd, tickets), home, (writes[0], writes[1]))
            self._started = _Started(process, home, sandbox)
            ours.pop_all()
        for read, stream in zip(reads, ("stdout", "stderr"), strict=True):
            os.set_blocking(read, False)
            self._outputs[read] = (stream, bytearray())
            loop.add_reader(read, self._readable, read)
            self._printing.register(read, select.POLLIN)
        await loop.connect_accepted_socket(lambda: self, connection)

    def watch(self, busy: Callable[[], bool], seen: Callable[[Use], None]) -> None:
        """Measures its resources from now on, as `Watch` does."""
        if self._started is not None:
            self._watch = Watch(self._started.process.pid, self._started.home, busy, seen)

    def limit_memory(self, most: int) -> None:
        """Limits the memory of the process and all its descendants, if it has a group for that."""
        if self._group is not None:
            self._group.limit_memory(most)

    @property
    def ran_out(self) -> bool:
        """True if the kernel has killed it at its limit of memory. For a process that has died."""
        return self._group is not None and self._group.ran_out

    @property
    def _group(self) -> Group | None:
        return None if self._started is None else self._started.home.group

    # --- messages ----------------------------------------------------------------------------

    def say(self, line: bytes) -> None:
        """Adds a JSON document, without its newline, to those to be sent."""
        self._lines.append(line)

    def send_soon(self) -> None:
        """Sends what is said in this turn of the event loop, all at once."""
        if not self._sending:
            self._sending = True
            asyncio.get_running_loop().call_soon(self.send)

    def send(self) -> None:
        """Sends at once what has been said."""
        self._sending = False
        if self._started is None or not self._lines:
            return
        self.tickets.hand_out()
        self._transport.write(b"\n".join((*self._lines, b"")))
        self._lines.clear()

    def take_back(self) -> set[int]:
        """Takes back all lines with a ticket on which user code has not begun. Returns their numbers."""
        self.send()
        return self.tickets.take_back()

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        if not self._buffer and data.endswith(b"\n") and data.count(b"\n") == 1:
            self._line(data)
            return
        self._buffer += data
        *lines, rest = self._buffer.split(b"\n")
        self._buffer = bytearray(rest)
        for line in lines:
            self._line(bytes(line))
        if len(self._buffer) > self._limit:
            self.end()

    def _line(self, line: bytes) -> None:
        try:
            document = orjson.loads(line)
        except ValueError:
            document = line[:GARBLED_BYTES].decode("utf-8", "replace")
        # Counting is quick, and more brackets than levels are rare.
        if line.count(b"{") + line.count(b"[") > MAX_DEPTH and flaw(document, depth=DEPTH):
            document = f"it nests deeper than {MAX_DEPTH} levels"
        elif self._exact and (why := overflow(line)):
            document = why.replace(" $.value", " $", 1)  # as the action knows its result
        self._heard(document)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002  dead is dead
        self._heard(None)
        self.end()

    # --- output of its children --------------------------------------------------------------

    def drain(self) -> None:
        """Reads all lines that children or extensions have printed so far past Python."""
        for read, _ in self._printing.poll(0):
            self._readable(read)
        for stream, partial in self._outputs.values():
            if partial:
                self._flush(stream, partial)

    def _flush(self, stream: str, partial: bytearray) -> None:
        if partial:
            self._printed(stream, [bytes(partial)])
            partial.clear()

    def _readable(self, read: int) -> None:
        try:
            data = os.read(read, OUTPUT_BYTES)
        except BlockingIOError:
            return
        if not data:
            self._close(read)
            return
        stream, partial = self._outputs[read]
        *lines, rest = (bytes(partial) + data).split(b"\n")
        if len(rest) > LINE_BYTES:
            lines.append(rest)
            rest = b""
        partial[:] = rest
        if lines:
            self._printed(stream, lines)

    def _close(self, read: int) -> None:
        asyncio.get_running_loop().remove_reader(read)
        self._printing.unregister(read)
        os.close(read)
        self._flush(*self._outputs.pop(read))

    # --- the end -----------------------------------------------------------------------------

    def end(self) -> None:
        """Kills the process and all its descendants. It may be called again."""
        if self._started is None:
            return
        started, self._started = self._started, None
        if self._watch is not None:
            self._watch.end()
        for read in list(self._outputs):
            self._close(read)
        self.tickets.close()
        started.sandbox.stop(started.process, started.home)
        if self._transport is not None:
            self._transport.abort()
        asyncio.get_running_loop().run_in_executor(None, started.bury)
