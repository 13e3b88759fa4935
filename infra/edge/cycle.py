"""One request and its response: uvicorn's cycle, with one write for a short response and fewer checks."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle

if TYPE_CHECKING:
    from collections.abc import Iterable

JOINED_BYTES = 64 << 10  # a longer piece of a body is not copied behind the head
BODILESS = (204, 304)  # statuses of responses that have no body
_FRAMING = {b"connection", b"content-length", b"transfer-encoding"}
_KNOWN, _KNOWN_BYTES = 256, 64  # names of headers whose form is remembered, and their longest
_NAME = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_BARRED = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")  # in a value: it could begin another header


class Cycle(RequestResponseCycle):
    """A request and its response.

    The head of a response is sent with the first piece of its body, so that a short response is one packet. Only
    the head of a response of unknown length is sent at once: its body may take long to come.
    """

    _head = b""  # waits for the body
    _closing = False  # the head says that the connection ends

    async def send(self, message: Any) -> None:
        """Sends the next part of the response; nothing if the client has left.

        Raises:
            RuntimeError: the part is out of order, a header is malformed, or the body is longer or shorter than
                the header says.
        """
        if self.flow.write_paused and not self.disconnected:
            await self.flow.drain()
        if self.disconnected:
            return
        kind = message["type"]
        if kind == "http.response.start" and not self.response_started:
            self._begin(message["status"], message.get("headers", ()))
        elif kind == "http.response.body" and self.response_started and not self.response_complete:
            self._continue(message.get("body", b""), more=message.get("more_body", False))
        else:
            raise RuntimeError(f"the response cannot go on with the message {kind!r}")

    def _begin(self, status: int, headers: Iterable[tuple[bytes, bytes]]) -> None:
        self.response_started, self.waiting_for_100_continue = True, False
        lines, values = [STATUS_LINE[status]], []
        for name, value in (*self.default_headers, *headers):
            lowered, begin = (_named if len(name) <= _KNOWN_BYTES else _checked)(name)
            lines += (begin, value, b"\r\n")
            values.append(value)
            if lowered in _FRAMING:
                self._frame(lowered, value)
        if _BARRED.search(b"".join(values)):
            raise RuntimeError("a header of the response has a character that no header may have")
        if not self.keep_alive and not self._closing:
            lines.append(b"connection: close\r\n")
        has_body = self.scope["method"] != "HEAD" and status not in BODILESS
        if self.chunked_encoding is None and has_body:
            self.chunked_encoding = True
            lines.append(b"transfer-encoding: chunked\r\n")
        lines.append(b"\r\n")
        self._head = b"".join(lines)
        if self.chunked_encoding:
            self._write(b"")

    def _frame(self, name: bytes, value: bytes) -> None:
        """Notes a header that says where the response ends, or that the connection does."""
        if name == b"connection":
            if b"close" in map(bytes.strip, value.lower().split(b",")):
                self._closing, self.keep_alive = True, False
        elif name == b"content-length" and self.chunked_encoding is None:
            self.chunked_encoding, self.expected_content_length = False, int(value)
        elif name == b"transfer-encoding" and value.lower() == b"chunked":
            self.chunked_encoding, self.expected_content_length = True, 0

    def _continue(self, body: bytes, *, more: bool) -> None:
        if self.scope["method"] == "HEAD":
            self.expected_content_length, body = 0, b""
        elif self.chunked_encoding:
            body = b"%x\r\n%b\r\n" % (len(body), body) if body else b""
            body += b"" if more else b"0\r\n\r\n"
        else:
            self.expected_content_length -= len(body)
        if self.expected_content_length < 0:
            raise RuntimeError("the body of the response is longer than its header says")
        self._write(body)
        if more:
            return
        if self.expected_content_length:
            raise RuntimeError("the body of the response is shorter than its header says")
        self.response_complete = True
        self.message_event.set()
        if not self.keep_alive:
            self.transport.close()
        self.on_response()

    def _write(self, body: bytes) -> None:
        head, self._head = self._head, b""
        if len(body) > JOINED_BYTES:
            self.transport.write(head)
            self.transport.write(body)
        elif head or body:
            self.transport.write(head + body)


def _checked(name: bytes) -> tuple[bytes, bytes]:
    """The name of a header in lower case, and the beginning of its line.

    Raises:
        RuntimeError: the name is malformed.
    """
    if not _NAME.fullmatch(name):
        raise RuntimeError(f"a header of the response has the malformed name {name!r:.100}")
    return name.lower(), name.lower() + b": "


_named = lru_cache(_KNOWN)(_checked)
