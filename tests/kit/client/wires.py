"""What stands between a client and a server: a proxy that cuts connections, and a server that says what it is told to."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

PIECE = 1 << 16


class Proxy:
    """Hands on bytes to a server. The next `cuts` answers are cut off before their first byte.

    `open` is the number of connections of clients at present, and `changed` is set at each change of it.
    """

    def __init__(self, url):
        self._to = urlsplit(url)
        self.cuts, self.cut, self.open, self.changed = 0, 0, 0, asyncio.Event()
        self.url = ""

    async def serve(self, reader, writer):
        """Serves one connection of a client."""
        self._count(1)
        try:
            there, back = await asyncio.open_connection(self._to.hostname, self._to.port)
            try:
                async with asyncio.TaskGroup() as tasks:
                    asked = tasks.create_task(self._hand_on(reader, back))
                    answered = tasks.create_task(self._hand_back(there, writer))
                    await asyncio.wait((asked, answered), return_when=asyncio.FIRST_COMPLETED)
                    asked.cancel()
                    answered.cancel()
            finally:
                back.close()
        except OSError:  # the server is away, or one of both has closed
            pass
        finally:
            writer.close()
            self._count(-1)

    async def _hand_on(self, reader, writer):
        while piece := await reader.read(PIECE):
            writer.write(piece)
            await writer.drain()

    async def _hand_back(self, reader, writer):
        while piece := await reader.read(PIECE):
            if self.cuts:
                self.cuts -= 1
                self.cut += 1
                return
            writer.write(piece)
            await writer.drain()

    def _count(self, change):
        self.open += change
        self.changed.set()

    async def until_open(self, count):
        """Waits until so many connections of clients are open."""
        while self.open != count:
            self.changed.clear()
            await self.changed.wait()


@asynccontextmanager
async def proxied(url):
    """A proxy in front of a server, for as long as the block."""
    proxy = Proxy(url)
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    async with server:
        proxy.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        yield proxy


class Scripted:
    """A server that answers each request with the next of its answers, in the order in which they are asked for.

    An answer is a status, headers and a document; None closes the connection without an answer, and `HELD`
    keeps the client waiting.
    """

    HELD = object()

    def __init__(self):
        self.answers, self.requests, self.url = [], [], ""
        self.connections = 0
        self.gone = asyncio.Event()  # when a client has closed a connection that was held

    async def serve(self, reader, writer):
        """Serves one connection of a client."""
        self.connections += 1
        try:
            while (request := await _read(reader)) is not None:
                self.requests.append(request)
                answer = self.answers.pop(0)
                if answer is None:
                    return
                if answer is self.HELD:
                    await reader.read(1)
                    self.gone.set()
                    return
                writer.write(_written(*answer))
                await writer.drain()
        except OSError:
            pass
        finally:
            writer.close()


@asynccontextmanager
async def scripted(*answers):
    """A server with these answers, for as long as the block."""
    made = Scripted()
    made.answers = list(answers)
    server = await asyncio.start_server(made.serve, "127.0.0.1", 0)
    async with server:
        made.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        yield made


async def _read(reader):
    """A request: its method, target, headers and document; None at the end of the connection."""
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.strip().split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in lines)
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    method, target, _ = first.split(" ")
    return method, target, headers, json.loads(body) if body else None


def _written(status, headers, document):
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    lines = [f"HTTP/1.1 {status} So", *(f"{name}: {value}" for name, value in headers.items())]
    lines += [f"content-length: {len(body)}", "", ""]
    return "\r\n".join(lines).encode() + body
