"""Counts connections by state and address, and refusals: for limits, metrics and one log line."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .bounds import Bounds

log = logging.getLogger(__name__)

REPORT_S = 10.0  # time between two log lines about refusals
NETWORK_BYTES = 8  # an IPv6 client usually has the whole /64 network
CROWDED = 0.75  # the share of connections from which idle ones are closed early
CROWDED_IDLE_S = 1.0
REASONS = {  # with their names in the log
    "connections": "connections beyond the limit on all",
    "unfinished": "connections beyond the limit on unfinished ones",
    "unfinished_per_address": "connections beyond the limit on unfinished ones of one address",
    "descriptors": "connections that no file descriptor was free for",
    "broken": "connections that could not be accepted",
    "handshake": "TLS handshakes that failed or took too long",
    "silent": "connections that sent nothing",
    "header_slow": "requests whose headers took too long",
    "body_slow": "requests whose bodies came too slowly",
    "answer_slow": "responses that were read too slowly",
    "header_size": "requests whose headers were too large",
    "url_size": "requests whose target was too long",
    "pipelined": "connections with too many requests at once",
    "malformed": "requests that are not valid HTTP",
}


class Watched(Protocol):
    """A connection with a deadline."""

    until: float

    @property
    def idle(self) -> bool:
        """True between two requests."""

    def late(self, now: float) -> None:
        """Called after the deadline."""

    def stalled(self, now: float) -> None:
        """Called at each tick while the client does not read."""


class Census:
    """Counts open connections and refusals. All methods but `tick` are O(1)."""

    def __init__(self, bounds: Bounds) -> None:
        self.bounds = bounds
        self.now = 0.0  # seconds of a running loop
        self.open = self.unfinished = self.accepted = 0
        self.refusals: Counter[str] = Counter(dict.fromkeys(REASONS, 0))
        self.watched: set[Watched] = set()
        self.writing: set[Watched] = set()  # connections whose client does not read
        self._addresses: Counter[str] = Counter()
        self._blamed: Counter[str] = Counter()
        self._told: Counter[str] = Counter()
        self._tell_at = 0.0

    # --- connections -------------------------------------------------------------------------

    def full(self, address: str) -> str | None:
        """The reason to refuse another connection from an address; None to accept it."""
        if self.open >= self.bounds.connections:
            return "connections"
        if self.unfinished >= self.bounds.unfinished:
            return "unfinished"
        return "unfinished_per_address" if self._crowds(address) else None

    def _crowds(self, address: str) -> bool:
        at_most = self.bounds.unfinished_per_address
        return self._addresses[address] >= at_most and address not in self.bounds.proxies

    def came(self, address: str) -> None:
        """Counts an accepted connection, which is unfinished at first."""
        self.open += 1
        self.accepted += 1
        self._begin(address)

    def left(self, address: str, *, unfinished: bool) -> None:
        """Counts a closed connection."""
        self.open -= 1
        if unfinished:
            self.finished(address)

    def finished(self, address: str) -> None:
        """Counts a connection that has sent a whole request."""
        self.unfinished -= 1
        self._addresses[address] -= 1
        if not self._addresses[address]:
            del self._addresses[address]

    def unfinish(self, address: str) -> str | None:
        """Counts a connection with an incomplete next request. Returns the reason to refuse it, if any."""
        crowds = self._crowds(address)
        self._begin(address)
        return "unfinished_per_address" if crowds else None

    def _begin(self, address: str) -> None:
        self.unfinished += 1
        self._addresses[address] += 1

    # --- refusals ----------------------------------------------------------------------------

    def refused(self, reason: str, address: str) -> None:
        """Counts a refusal; `reason` is one of `REASONS`."""
        self.refusals[reason] += 1
        if len(self._blamed) < self.bounds.connections or address in self._blamed:
            self._blamed[address] += 1

    def _report(self, *, due: bool) -> None:
        fresh = self.refusals - self._told
        if not fresh or not due:
            return
        counted = ", ".join(f"{count} {REASONS[reason]}" for reason, count in fresh.most_common())
        (worst, times), *_ = self._blamed.most_common(1)
        log.warning("refused: %s; most often %s (%d)", counted, worst, times)
        self._told, self._tell_at = Counter(self.refusals), self.now + REPORT_S
        self._blamed.clear()

    # --- time --------------------------------------------------------------------------------

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Closes late connections while the block runs.

        The time of a blocked loop does not count against clients: each tick adds twice its length at
        most.
        """
        loop, tick_s = asyncio.get_running_loop(), self.bounds.tick_s
        before = loop.time()
        timer: asyncio.TimerHandle | None = None

        def look() -> None:
            nonlocal before, timer
            passed_s, before = loop.time() - before, loop.time()
            timer = loop.call_later(tick_s, look)
            self.tick(min(passed_s, 2 * tick_s))

        timer = loop.call_later(tick_s, look)
        try:
            yield
        finally:
            if timer is not None:
                timer.cancel()
            self._report(due=True)

    def tick(self, passed_s: float) -> None:
        """Advances the time: checks every deadline, and reports refusals."""
        self.now = now = self.now + passed_s
        crowded = self.open >= CROWDED * self.bounds.connections
        idle_until = now + max(0.0, self.bounds.idle_s - CROWDED_IDLE_S) if crowded else now
        for connection in tuple(self.watched):
            if connection.until <= (idle_until if connection.idle else now):
                connection.late(now)
        for connection in tuple(self.writing):
            connection.stalled(now)
        self._report(due=now >= self._tell_at)


def network_of(address: str) -> str:
    """The address that counts as one client: an IPv4 address, or the /64 network of an IPv6 address."""
    if ":" not in address:
        return address
    parsed = ipaddress.IPv6Address(address.partition("%")[0])
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.IPv6Network((parsed.packed[:NETWORK_BYTES] + bytes(8), 64)))
