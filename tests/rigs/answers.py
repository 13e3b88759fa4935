"""What a strict host may answer: each a function of the host, the request and the connection.

An answer writes what it has to and returns whether the connection may be used again.
"""

from __future__ import annotations

import asyncio
import email.utils
import json
import threading
from dataclasses import dataclass
from http import HTTPStatus

METADATA = "http://169.254.169.254/latest/meta-data/"
CHUNK = 65536


@dataclass(frozen=True, slots=True)
class Always:
    """In a script: this answer from now on, whoever asks how often."""

    answer: object


def always(given):
    return Always(given)


def answer(value=None, status=200, headers=None):
    """JSON for an object or a list, text for a string, bytes as they are, nothing for None."""

    async def play(host, seen, writer):
        body, kind = encoded(value)
        writer.write(head(status, {**kind, "Content-Length": len(body), **(headers or {})}))
        if seen is None or seen.method != "HEAD":
            writer.write(body)
        await writer.drain()
        return True

    return play


def throttled(retry_after=None, *, status=429, value=None):
    """Too much for now. `retry_after` in seconds, or an instant, which becomes an HTTP date."""
    if retry_after is None:
        return answer(value, status)
    date = not isinstance(retry_after, int)
    said = email.utils.format_datetime(retry_after, usegmt=True) if date else retry_after
    return answer(value, status, {"Retry-After": said})


def accepted(path, *, retry_after=None, value=None):
    """202 with a Location on this host, where the rest is to be had."""

    async def play(host, seen, writer):
        headers = {"Location": host.url + path}
        if retry_after is not None:
            headers["Retry-After"] = retry_after
        return await answer(value, 202, headers)(host, seen, writer)

    return play


def redirect(to, status=302):
    """Sends elsewhere: a path of this host, or a whole URL, such as `METADATA`."""

    async def play(host, seen, writer):
        location = host.url + to if to.startswith("/") else to
        return await answer(None, status, {"Location": location})(host, seen, writer)

    return play


def broken_json():
    return answer(b'{"half": ', headers={"Content-Type": "application/json"})


def truncated(value=None, *, missing=10):
    """Promises more bytes than it sends, then closes."""

    async def play(host, seen, writer):
        body, kind = encoded({"a": "value"} if value is None else value)
        writer.write(head(200, {**kind, "Content-Length": len(body) + missing}) + body)
        await writer.drain()
        return False

    return play


def cut():
    """Reads the request to its end, then cuts the connection without a word."""

    async def play(host, seen, writer):
        writer.transport.abort()
        return False

    return play


def oversized(size, *, told=True):
    """A JSON string of `size` bytes; with `told=False` chunked, so that no header says so."""

    async def play(host, seen, writer):
        kind = {"Content-Type": "application/json"}
        framing = {"Content-Length": size} if told else {"Transfer-Encoding": "chunked"}
        writer.write(head(200, {**kind, **framing}))
        left = size
        while left:
            part = b"x" * min(left, CHUNK)
            if left == size:
                part = b'"' + part[1:]
            left -= len(part)
            if not left:
                part = part[:-1] + b'"'
            writer.write(part if told else b"%x\r\n%b\r\n" % (len(part), part))
            await writer.drain()
        if not told:
            writer.write(b"0\r\n\r\n")
            await writer.drain()
        return True

    return play


class held:  # noqa: N801 (in a script it reads as the others do)
    """Holds an answer back until `release()`: all of it, or with `part="body"` half of its body.

    `reached` is set when the request has been read, and as much as is sent at once has been sent.
    """

    def __init__(self, value=None, *, part="headers"):
        self._value, self._part = {} if value is None else value, part
        self._released, self._loop = asyncio.Event(), None
        self._lock, self._free = threading.Lock(), False
        self.reached = threading.Event()

    def release(self):
        """Also before the request has come: on a busy machine its sender may give it up that early."""
        with self._lock:
            self._free = True
            if self._loop is not None:
                self._loop.call_soon_threadsafe(self._released.set)

    async def __call__(self, host, seen, writer):
        with self._lock:
            self._loop = asyncio.get_running_loop()
            if self._free:
                self._released.set()
        body, kind = encoded(self._value)
        sent = head(200, {**kind, "Content-Length": len(body)})
        half = len(body) // 2
        before, after = (
            (sent + body[:half], body[half:]) if self._part == "body" else (b"", sent + body)
        )
        writer.write(before)
        await writer.drain()
        self.reached.set()
        await self._released.wait()
        writer.write(after)
        await writer.drain()
        return True


def encoded(value):
    """A body and its Content-Type."""
    match value:
        case None:
            return b"", {}
        case bytes():
            return value, {"Content-Type": "application/octet-stream"}
        case str():
            return value.encode(), {"Content-Type": "text/plain; charset=utf-8"}
        case _:
            return json.dumps(value).encode(), {"Content-Type": "application/json"}


def head(status, headers):
    """Status line and headers."""
    lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
