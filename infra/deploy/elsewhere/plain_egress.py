"""Sends the requests of adapters with the standard library alone: a bundle carries no HTTP client.

A bundle runs in its user's own account and calls the addresses that the user wrote, so any address is allowed.
Secrets go over TLS only, or to hosts in `XINGQIAO_EGRESS_ALLOW`. Redirects are not followed.
"""

from __future__ import annotations

import asyncio
import http.client
import os
import ssl
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from ....actions import INVALID_REQUEST, LOST, PAYLOAD_TOO_LARGE, PERMISSION, UNAVAILABLE
from ....adapters import Fault, Response
from ....composer import TIMEOUT

if TYPE_CHECKING:
    from urllib.parse import SplitResult

    from ....actions import Clock
    from ....adapters import HttpRequest

ALLOWED = "XINGQIAO_EGRESS_ALLOW"
CONNECT_S = 10.0
PIECE_BYTES = 1 << 16
OURS = {"Accept-Encoding": "identity", "User-Agent": "xingqiao"}
OK = range(200, 300)


class PlainEgress:
    """Sends requests, each over a connection of its own.

    Args:
        clock: the time.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    async def send(
        self, outgoing: HttpRequest, deadline_ms: int, most_bytes: int
    ) -> Response | Fault:
        """Sends a request.

        Args:
            outgoing: the request.
            deadline_ms: the instant by which the response must have come.
            most_bytes: of its body.
        """
        parts = urlsplit(outgoing.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            text = "its address is neither an https:// nor an http:// URL"
            return Fault.saying(INVALID_REQUEST, text, "no")
        bare = parts.scheme == "http" and not outgoing.by_operator
        if bare and (outgoing.secrets or outgoing.private) and parts.hostname not in _allowed():
            text = (
                f"a secret is sent over TLS only, and the address of {parts.hostname} begins with http://: "
                f"use https://, or name the host in {ALLOWED}"
            )
            return Fault.saying(PERMISSION, text, "no")
        return await asyncio.to_thread(self._sent, outgoing, parts, deadline_ms, most_bytes)

    async def reach(self, _url: str, _deadline_ms: int, *, secret: bool = False) -> Fault | None:
        """Connects without a request. Nothing in a bundle asks for that."""
        raise AssertionError(f"a bundle checks no hosts: {secret}")

    def _sent(
        self, outgoing: HttpRequest, parts: SplitResult, deadline_ms: int, most_bytes: int
    ) -> Response | Fault:
        left_s = self._left_s(deadline_ms)
        if left_s <= 0:
            return _late(parts, sent=False)
        connection = _connection(parts, min(CONNECT_S, left_s))
        sent = False
        try:
            connection.connect()
            connection.sock.settimeout(self._left_s(deadline_ms))
            sent = True
            path = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
            headers = {**OURS, **outgoing.headers, **outgoing.secrets}
            connection.request(outgoing.method, path, body=outgoing.body or None, headers=headers)
            response = connection.getresponse()
            body = self._body(connection, response, deadline_ms, most_bytes)
        except TimeoutError:
            return _late(parts, sent=sent)
        except ValueError as error:  # before anything is sent: a header that HTTP does not allow
            return Fault.saying(INVALID_REQUEST, f"{parts.hostname}: {error}", "no")
        except (OSError, http.client.HTTPException) as error:
            return _broken(parts, error, sent=sent)
        finally:
            connection.close()
        if len(body) > most_bytes and response.status in OK:
            text = f"{parts.hostname} answers with more than {most_bytes} bytes"
            return Fault.saying(PAYLOAD_TOO_LARGE, text, "unknown")
        told = {name.lower(): value for name, value in response.getheaders()}
        return Response(response.status, told, body)

    def _body(
        self,
        connection: http.client.HTTPConnection,
        response: http.client.HTTPResponse,
        deadline_ms: int,
        most_bytes: int,
    ) -> bytes:
        body = bytearray()
        while len(body) <= most_bytes:
            left_s = self._left_s(deadline_ms)
            if left_s <= 0:
                raise TimeoutError
            if connection.sock is not None:  # it is None once the response is all that is left
                connection.sock.settimeout(left_s)
            piece = response.read(PIECE_BYTES)
            if (
                not piece and response.length
            ):  # a read of a part does not tell that the rest is missing
                raise http.client.IncompleteRead(bytes(body), response.length)
            if not piece:
                break
            body += piece
        return bytes(body)

    def _left_s(self, deadline_ms: int) -> float:
        return (deadline_ms - self._clock.now_ms()) / 1000


def _allowed() -> set[str]:
    return {host.strip() for host in os.environ.get(ALLOWED, "").split(",")}


def _connection(parts: SplitResult, timeout_s: float) -> http.client.HTTPConnection:
    host = parts.hostname or ""
    if parts.scheme == "https":
        context = ssl.create_default_context()
        return http.client.HTTPSConnection(host, parts.port, timeout=timeout_s, context=context)
    return http.client.HTTPConnection(host, parts.port, timeout=timeout_s)


def _late(parts: SplitResult, *, sent: bool) -> Fault:
    text = f"{parts.hostname} did not answer by the deadline"
    return Fault.saying(TIMEOUT, text, "unknown" if sent else "no")


def _broken(parts: SplitResult, error: Exception, *, sent: bool) -> Fault:
    if sent:
        text = f"{parts.hostname} cut the connection before it had answered"
        return Fault.saying(LOST, text, "unknown", transient=True)
    text = f"{parts.hostname} cannot be reached: {type(error).__name__}"
    return Fault.saying(UNAVAILABLE, text, "no", transient=True)
