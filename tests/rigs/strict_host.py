"""A strict HTTP host for the adapters' tests: it plays a script, and takes nothing for granted.

    with strict_host() as host:
        host.on("POST", "/api/hello", throttled(1), answer({"ok": True}), needs={"x-key": "k"})
        ...
        assert [seen.headers["x-key"] for seen in host.requests] == ["k", "k"]

Every answer of a script (see `answers.py`) is given once; `always(answer)` is given for ever. A request that is
not in the script is answered with 501, one that breaks HTTP's rules with 400, and one without what
the route `needs` with 401. The first two also fail the test when the block ends: a second invocation
does not go unseen. Plain HTTP on loopback.
"""

from __future__ import annotations

import asyncio
import json
import re
import threading
import urllib.parse
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from tests.rigs.answers import Always, answer

MAX_HEAD_BYTES = 65536
DEADLINE_S = 10
TRACEPARENT = re.compile(r"00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A request as it came: names of headers in small letters, path as it was sent."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes

    def json(self):
        return json.loads(self.body)

    def form(self):
        return dict(urllib.parse.parse_qsl(self.body.decode(), keep_blank_values=True))


@dataclass(slots=True, kw_only=True)
class _Route:
    script: list
    needs: dict
    bearer: object = None

    def next(self):
        """The next answer, or None when the script has ended."""
        if self.script and isinstance(self.script[0], Always):
            return self.script[0].answer
        return self.script.pop(0) if self.script else None

    def refusal(self, seen):
        """Why a request may not pass, or None."""
        for name, value in self.needs.items():
            found = seen.query if name.startswith("?") else seen.headers
            if found.get(name.removeprefix("?")) != value:
                return f"{name} is missing or wrong"
        if self.bearer is not None and not self.bearer.accepts(seen.headers.get("authorization")):
            return "the bearer token is missing, wrong or expired"
        return None


@dataclass(slots=True)
class StrictHost:
    """A running host."""

    url: str = ""
    names: frozenset[str] = frozenset()
    requests: list[Seen] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    handlers: list = field(
        default_factory=list
    )  # of whole APIs: pattern of paths, answer to a request
    _routes: dict = field(default_factory=dict)
    _unread: int = 0
    _open: set = field(default_factory=set)
    _loop: asyncio.AbstractEventLoop | None = None
    _over: asyncio.Event | None = None

    def on(self, method, path, *script, needs=None, bearer=None):
        """Adds a script to a route.

        Args:
            method: As it is sent.
            path: As it is sent, without the query.
            script: What is answered, in this order.
            needs: Headers, and `?names` of the query, that must be there with exactly this value.
            bearer: An issuer (see `issuers.py`), whose token a request must carry.
        """
        route = self._routes.setdefault((method, path), _Route(script=[], needs={}))
        route.script += script
        route.needs.update(needs or {})
        route.bearer = bearer or route.bearer

    def cut_unread(self, connections=1):
        """Cuts what is open, and the next connections before anything of their request is read."""
        self._unread = connections
        asyncio.run_coroutine_threadsafe(self._cut(), self._loop).result(DEADLINE_S)

    async def _cut(self):
        for writer in list(self._open):
            writer.transport.abort()

    # --- a connection

    async def _connected(self, reader, writer):
        if self._unread:
            self._unread -= 1
            writer.transport.abort()
            return
        self._open.add(writer)
        try:
            while await self._exchange(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the client has gone, which is its right
        except asyncio.CancelledError:
            writer.transport.abort()
            raise
        finally:  # what is not yet sent may keep it open, and then it is still cut at the end
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()
            self._open.discard(writer)

    async def _exchange(self, reader, writer):
        """Reads one request, answers it. Whether there may be another on this connection."""
        try:
            seen = await self._read(reader)
        except _BrokenRequestError as error:
            self.complaints.append(str(error))
            await answer({"error": str(error)}, 400)(self, None, writer)
            return False
        if seen is None:
            return False
        self.requests.append(seen)
        return await self._play(seen)(self, seen, writer)

    def _play(self, seen):
        route = self._routes.get((seen.method, seen.path))
        if route is not None:
            refusal = route.refusal(seen)
            if refusal:
                challenge = {"WWW-Authenticate": 'Bearer error="invalid_token"'}
                return answer({"error": refusal}, 401, challenge)
        for pattern, handler in self.handlers:
            if pattern.fullmatch(seen.path):
                return handler(seen)
        given = route and route.next()
        if given is None:
            self.complaints.append(f"{seen.method} {seen.path} is not in the script")
            return answer({"error": "this is not in the script"}, 501)
        return given

    async def _read(self, reader):
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.LimitOverrunError as error:
            text = f"its headers are longer than {MAX_HEAD_BYTES} bytes"
            raise _BrokenRequestError(text) from error
        except asyncio.IncompleteReadError as error:
            if not error.partial:
                return None
            raise
        line, *fields = head[:-4].decode("latin-1").split("\r\n")
        found = re.fullmatch(r"([A-Z]+) (/[!-~]*) HTTP/1\.1", line)
        _require(found, f"{line!r} is no request line of HTTP/1.1")
        method, target = found.groups()
        headers = _headers(fields)
        name, _, port = headers.get("host", "").partition(":")
        ours = name in self.names and port == self.url.rpartition(":")[2]
        _require(ours, f"Host {headers.get('host')!r} is not this host")
        body = await _body(reader, headers)
        path, _, query = target.partition("?")
        _check(headers, body)
        pairs = urllib.parse.parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query))
        _require(len(pairs) == len(dict(pairs)), "a name occurs twice in the query")
        return Seen(method=method, path=path, query=dict(pairs), headers=headers, body=body)


class _BrokenRequestError(Exception):
    pass


def _require(held, text):
    if not held:
        raise _BrokenRequestError(text)


def _headers(fields):
    headers = {}
    for one in fields:
        name, colon, value = one.partition(":")
        _require(
            colon and re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", name), f"{one!r}: no header"
        )
        _require(name.lower() not in headers, f"{name} is sent twice")
        _require(value.strip(" \t").isprintable(), f"{name} holds what a header may not")
        headers[name.lower()] = value.strip(" \t")
    return headers


async def _body(reader, headers):
    length, coding = headers.get("content-length"), headers.get("transfer-encoding")
    _require((length or "0").isdecimal(), f"Content-Length {length!r} is no number")
    _require(not (length and coding), "Content-Length and Transfer-Encoding exclude each other")
    if coding is None:
        return await reader.readexactly(int(length or 0))
    _require(coding == "chunked", f"Transfer-Encoding {coding} is not chunked")
    body = b""
    while size := int((await reader.readuntil(b"\r\n")).partition(b";")[0], 16):
        body += await reader.readexactly(size)
        await reader.readexactly(2)
    await reader.readuntil(b"\r\n")
    return body


def _check(headers, body):
    kind = headers.get("content-type", "")
    _require(kind or not body, "a body is sent without Content-Type")
    if kind.partition(";")[0].endswith("json"):
        try:
            json.loads(body)
        except ValueError as error:
            raise _BrokenRequestError(
                f"the body is not the JSON that it is called: {error}"
            ) from error
    trace = headers.get("traceparent", f"00-{'1' * 32}-{'1' * 16}-01")
    _require(TRACEPARENT.fullmatch(trace), f"traceparent {trace!r} is none (W3C Trace Context)")
    _require(headers.get("idempotency-key", "k"), "Idempotency-Key is empty")


@contextmanager
def strict_host(*names):
    """A host for as long as the block, at a free port of loopback.

    Args:
        names: What it is called beside `127.0.0.1` and `localhost`: other names in Host are refused.
    """
    host = StrictHost(names=frozenset({"127.0.0.1", "localhost", *names}))
    ready = threading.Event()

    async def run():
        over = asyncio.Event()
        server = await asyncio.start_server(
            host._connected, "127.0.0.1", 0, limit=MAX_HEAD_BYTES, backlog=512
        )
        host.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        host._loop, host._over = asyncio.get_running_loop(), over
        ready.set()
        await over.wait()
        # A server that is closed between a connection and its transport leaves the socket to nobody (3.11).
        host._loop.remove_reader(server.sockets[0].fileno())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        server.close()
        for _ in range(2):
            # Whoever has only connected is taken in first, and what is cut is closed before the loop is.
            for _ in range(5):
                await asyncio.sleep(0)
            await host._cut()

    thread = threading.Thread(target=asyncio.run, args=(run(),), daemon=True)
    thread.start()
    ready.wait(DEADLINE_S)
    try:
        yield host
    finally:
        host._loop.call_soon_threadsafe(host._over.set)
        thread.join(DEADLINE_S)
    if host.complaints:
        raise AssertionError("; ".join(host.complaints))
