"""A connection without a network: what is written to it, and whether it is still open."""

from __future__ import annotations

import asyncio
import re

import anyio.lowlevel
import uvicorn
from uvicorn.server import ServerState

from xingqiao.infra.edge import Bounds, Census, Guarded

ADDRESS = "203.0.113.7"
TURNS = 20  # of the loop: more than any response here takes


class Wire(asyncio.Transport):
    """The transport under a connection. `stuck` bytes of what is written are never sent."""

    def __init__(self):
        super().__init__()
        self.sent, self.stuck = b"", 0
        self.closed = self.aborted = self.ended = self.paused = False
        self.protocol = None

    def write(self, data):
        if not self.closed:
            self.sent += data

    def write_eof(self):
        self.ended = True

    def can_write_eof(self):
        return True

    def is_closing(self):
        return self.closed

    def close(self):
        if not self.closed:
            self.closed = True
            if not self.stuck:
                self._lost()

    def abort(self):
        self.aborted = self.closed = True
        self._lost()

    def _lost(self):
        asyncio.get_running_loop().call_soon(self.protocol.connection_lost, None)

    def pause_reading(self):
        self.paused = True

    def resume_reading(self):
        self.paused = False

    def get_write_buffer_size(self):
        return self.stuck

    def get_extra_info(self, name, default=None):
        return (ADDRESS, 1) if name == "peername" else default


class Line:
    """A server with one connection."""

    def __init__(self, app, **bounds):
        self.census = Census(Bounds(**bounds))
        config = uvicorn.Config(app, http=Guarded, ws="none", lifespan="off", log_config=None)
        self.make = lambda: Guarded(config, ServerState(), self.census, ADDRESS)
        self.protocol, self.wire = self.connection()

    def connection(self):
        wire = Wire()
        wire.protocol = protocol = self.make()
        self.census.came(ADDRESS)
        protocol.connection_made(wire)
        return protocol, wire

    async def send(self, *pieces):
        """Sends bytes, and gives the application its turn. Returns the statuses answered so far."""
        for piece in pieces:
            self.protocol.data_received(piece)
        return await self.answered()

    async def answered(self):
        for _ in range(TURNS):
            await anyio.lowlevel.checkpoint()
        return [int(status) for status in re.findall(rb"HTTP/1.1 (\d{3})", self.wire.sent)]

    async def wait(self, seconds):
        """Lets time pass. Returns the statuses answered so far."""
        self.census.tick(seconds)
        return await self.answered()

    def refused(self):
        return {reason: count for reason, count in self.census.refusals.items() if count}


async def echo(scope, receive, send):
    """Answers with the length of the request's body."""
    size, more = 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        size += len(message["body"])
        more = message["more_body"]
    await answer(send, b"%d" % size)


async def answer(send, body):
    headers = [(b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})
