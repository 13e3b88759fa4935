"""A minimal HTTP client: one connection, requests written by hand, responses of a known length."""

from __future__ import annotations

import asyncio
import base64
from typing import Self
from urllib.parse import urlsplit


class Connection:
    """A persistent connection to a server; one request at a time."""

    def __init__(self, url: str, auth: str) -> None:
        place = urlsplit(url)
        self._host, self._port = place.hostname or "", place.port or 80
        self._auth = base64.b64encode(auth.encode()).decode()
        self._reader: asyncio.StreamReader
        self._writer: asyncio.StreamWriter

    async def __aenter__(self) -> Self:
        self._reader, self._writer = await asyncio.open_connection(self._host, self._port)
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._writer.close()
        await self._writer.wait_closed()

    async def post(self, path: str, body: bytes = b"{}") -> tuple[int, bytes]:
        """Posts JSON. Returns the status and the body of the response."""
        return await self._ask("POST", path, body)

    async def get(self, path: str) -> tuple[int, bytes]:
        """Gets a path. Returns the status and the body of the response."""
        return await self._ask("GET", path, b"")

    async def _ask(self, method: str, path: str, body: bytes) -> tuple[int, bytes]:
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: {self._host}\r\nAuthorization: Basic {self._auth}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        self._writer.write(head.encode() + body)
        answer = await self._reader.readuntil(b"\r\n\r\n")
        length = int(answer.lower().split(b"content-length:")[1].split(b"\r\n")[0])
        return int(answer[9:12]), await self._reader.readexactly(length)
