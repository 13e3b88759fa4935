"""HTTP on one connection: uvicorn's protocol with bounds on sizes and times.

A request that arrives in one piece, as nearly all do, costs only a few attribute writes more than with
uvicorn alone. Deadlines are numbers that the census checks from time to time, not timers.
"""

from __future__ import annotations

import asyncio
from enum import Enum, auto
from math import inf
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import httptools
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from .cycle import Cycle
from .refusal import refusal

if TYPE_CHECKING:
    from uvicorn.config import Config
    from uvicorn.server import ServerState

    from .census import Census

MAX_PIPELINED = 64  # requests that wait for an earlier response
LINGER_S = 2.0  # time for a client to read a refusal
LINGER_BYTES = 1 << 20  # bytes that are read meanwhile


class State(Enum):
    """The state of a connection's newest request."""

    SILENT = auto()  # no byte has arrived yet
    HEAD = auto()
    BODY = auto()
    ANSWERED = auto()  # the response is complete, the body is not
    SERVED = auto()  # the request is complete, its response is not
    IDLE = auto()
    CLOSING = auto()


# Access to an Enum's members is slow, and every request needs several.
SILENT, HEAD, BODY, ANSWERED, SERVED, IDLE, CLOSING = State


class Guarded(HttpToolsProtocol):
    """A connection within bounds.

    Args:
        config: uvicorn's configuration.
        server_state: uvicorn's state.
        census: all connections, with their bounds.
        address: client's address, as `network_of` returns it.
    """

    def __init__(
        self, config: Config, server_state: ServerState, census: Census, address: str
    ) -> None:
        super().__init__(config, server_state, {})
        self._census, self._bounds, self._address = census, census.bounds, address
        self._loose_bytes = census.bounds.loose_bytes
        self._state = SILENT
        self.until = inf
        self._unfinished = True
        self._deaf = False  # input is no longer parsed
        self._chunk = 0  # size of the last piece of input
        self._loose = 0  # bytes since the parser last completed anything
        self._flaw: tuple[str, int, str] | None = None
        self._unsent, self._unsent_until = 0, inf

    @property
    def idle(self) -> bool:
        """True between two requests."""
        return self._state is IDLE

    # --- the connection ----------------------------------------------------------------------

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.until = self._census.now + self._bounds.header_s
        self._census.watched.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        census = self._census
        census.watched.discard(self)
        census.writing.discard(self)
        census.left(self._address, unfinished=self._unfinished)
        self._unfinished = False
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._chunk = len(data)
        self._loose += self._chunk
        if self._deaf:
            if self._loose > LINGER_BYTES:
                self.flow.pause_reading()
            return
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            pass  # upgrades are not supported: the request is served as any other
        except httptools.HttpParserError:
            self._refuse(*(self._flaw or ("malformed", 400, "The request is not valid HTTP.")))
            return
        if self._loose > self._loose_bytes:
            self._refuse(*self._too_large())
        elif not self._unfinished and self._state in (HEAD, BODY):
            self._unfinished = True
            if why := self._census.unfinish(self._address):
                self._refuse(why, 429, "Too many requests of this address are unfinished.")

    # --- callbacks of the parser -------------------------------------------------------------

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._state = HEAD
        self.until = self._census.now + self._bounds.header_s

    def on_headers_complete(self) -> None:
        bounds = self._bounds
        if (
            len(self.url) > bounds.url_bytes
            or len(self.headers) > bounds.header_count
            or (
                max(self._loose, self._chunk) > bounds.header_bytes
                and sum(len(name) + len(value) for name, value in self.headers)
                > bounds.header_bytes
            )
        ):
            self._stop(*self._too_large())
        if len(self.pipeline) >= MAX_PIPELINED:
            self._stop("pipelined", 429, f"More than {MAX_PIPELINED} requests were sent at once.")
        self._loose = 0
        self._state = BODY
        self.until = self._census.now + bounds.body_s
        self._serve()
        self.headers = []  # trailers are not headers: they must not prove anything

    def _serve(self) -> None:
        """Starts the application on a request whose body may follow; after the requests before it.

        Unlike uvicorn's, it knows no upgrades, no limit on tasks (the census has limits) and no root path.
        """
        scope, parser, url = self.scope, self.parser, httptools.parse_url(self.url)
        version, path = parser.get_http_version(), url.path.decode("ascii")
        scope["method"] = parser.get_method().decode("ascii")
        scope["http_version"] = version
        scope["path"] = unquote(path) if "%" in path else path
        scope["raw_path"], scope["query_string"] = url.path, url.query or b""
        before = self.cycle
        self.cycle = cycle = Cycle(
            scope=scope,
            transport=self.transport,
            flow=self.flow,
            logger=self.logger,
            access_logger=self.access_logger,
            access_log=False,
            default_headers=self.server_state.default_headers,
            message_event=asyncio.Event(),
            expect_100_continue=self.expect_100_continue,
            keep_alive=version != "1.0" and parser.should_keep_alive(),
            on_response=self.on_response_complete,
        )
        if before is None or before.response_complete:
            self._start_asgi_task(cycle, self.app)
        else:
            self.flow.pause_reading()
            self.pipeline.appendleft((cycle, self.app))

    def on_body(self, body: bytes) -> None:
        self._loose = 0
        if self._state is BODY:
            on_time = self._census.now + self._bounds.body_s
            self.until = min(self.until + len(body) / self._bounds.least_rate, on_time)
        cycle = self.cycle
        if not cycle.response_complete:
            cycle.body += body
            if len(cycle.body) > HIGH_WATER_LIMIT:
                self.flow.pause_reading()
            cycle.message_event.set()

    def on_message_complete(self) -> None:
        self._loose = 0
        if self._unfinished:
            self._unfinished = False
            self._census.finished(self._address)
        if self._state is ANSWERED:
            self._rest()
        else:
            self._state, self.until = SERVED, inf
        cycle = self.cycle
        if not cycle.response_complete:
            cycle.more_body = False
            cycle.message_event.set()

    # --- responses ---------------------------------------------------------------------------

    def on_response_complete(self) -> None:
        """Like uvicorn's method, without a timer for each response."""
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            self._close()
            return
        self.flow.resume_reading()
        if self.pipeline:
            self._start_asgi_task(*self.pipeline.pop())
        elif self._state is SERVED:
            self._rest()
        elif self._state is BODY:
            self._state, self.until = ANSWERED, self._census.now + self._bounds.body_s

    def _rest(self) -> None:
        self._state, self.until = IDLE, self._census.now + self._bounds.idle_s

    def pause_writing(self) -> None:
        super().pause_writing()
        self._unsent = self.transport.get_write_buffer_size()
        self._unsent_until = self._census.now + self._bounds.body_s
        self._census.writing.add(self)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._census.writing.discard(self)

    # --- deadlines ---------------------------------------------------------------------------

    def late(self, now: float) -> None:
        """Refuses or closes the connection after its deadline."""
        bounds, waited_for = (
            self._bounds,
            self.cycle is not None and not self.cycle.response_complete,
        )
        match self._state:
            case State.CLOSING if self not in self._census.writing:
                self.transport.abort()
            case State.CLOSING:
                self.until = now + LINGER_S
            case State.SILENT:
                self._census.refused("silent", self._address)
                self._close()
            case State.IDLE | State.ANSWERED:
                self._close()
            case State.HEAD if waited_for:  # the earlier response comes first
                self.until = now + bounds.header_s
            case State.BODY if self.flow.read_paused:  # the server itself does not read
                self.until = now + bounds.body_s
            case State.HEAD:
                text = f"The request's headers did not arrive within {bounds.header_s:g} s."
                self._refuse("header_slow", 408, text)
            case _:
                text = (
                    f"The request's body came more slowly than {bounds.least_rate} bytes a second."
                )
                self._refuse("body_slow", 408, text)

    def stalled(self, now: float) -> None:
        """Closes the connection if the client reads too slowly."""
        if now < self._unsent_until:
            return
        unsent = self.transport.get_write_buffer_size()
        if self._unsent - unsent < self._bounds.least_rate * self._bounds.body_s:
            self._census.refused("answer_slow", self._address)
            self.transport.abort()
        self._unsent, self._unsent_until = unsent, now + self._bounds.body_s

    # --- refusals ----------------------------------------------------------------------------

    def _too_large(self) -> tuple[str, int, str]:
        if self._state in (BODY, ANSWERED):
            return "malformed", 400, "The request's chunks are framed by too many bytes."
        if self._state is not HEAD:
            return "malformed", 400, "The request is not valid HTTP."
        bounds = self._bounds
        if len(self.url) > bounds.url_bytes:
            text = f"The request's path and query are longer than {bounds.url_bytes} bytes."
            return "url_size", 414, text
        if len(self.headers) > bounds.header_count:
            return "header_size", 431, f"The request has more than {bounds.header_count} headers."
        text = f"The request's headers are larger than {bounds.header_bytes} bytes together."
        return "header_size", 431, text

    def _stop(self, reason: str, status: int, text: str) -> None:
        """Stops the parser, which calls this method, so that the request is refused."""
        self._flaw = (reason, status, text)
        raise ValueError(reason)

    def _refuse(self, reason: str, status: int, text: str) -> None:
        """Answers earlier requests, then refuses this one; the connection ends."""
        self._census.refused(reason, self._address)
        self._deaf, self._loose = True, 0
        if self._state is ANSWERED:
            self._close()
            return
        cycle: Any = self.cycle
        pending = cycle is not None and not cycle.response_complete
        if pending and self._state is not BODY:
            cycle.keep_alive = False
            self._state, self.until = SERVED, inf
            return
        if not pending or not (self.pipeline or cycle.response_started):
            self.transport.write(refusal(status, text))
        if pending:
            cycle.disconnected = True
            cycle.message_event.set()
        self._state, self.until = CLOSING, self._census.now + LINGER_S
        self.flow.resume_reading()
        if self.transport.can_write_eof():
            self.transport.write_eof()
        else:
            self.transport.close()

    def _close(self) -> None:
        """Closes the connection when its output is sent, or after LINGER_S."""
        self._state, self.until = CLOSING, self._census.now + LINGER_S
        self.transport.close()
