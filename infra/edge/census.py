"""Connections by state and address, and what was refused: for limits, figures and one log line."""

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

REPORT_S = 10.0  # between two log lines about refusals
NETWORK_BYTES = 8  # of an IPv6 address: whoever has one has the network of it
CROWDED = 0.75  # of all connections: from then on idle ones are closed early
CROWDED_IDLE_S = 1.0
REASONS = {  # and what the log calls them
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
    """A connection that has a deadline."""

    until: float

    @property
    def idle(self) -> bool:
        """Whether it is open between two requests."""

    def late(self, now: float) -> None:
        """Told that its deadline is over."""

    def stalled(self, now: float) -> None:
        """Told, while its client does not read, that time has passed."""


class Census:
    """Knows the open connections and counts refusals. Everything is O(1) but `tick`."""

    def __init__(self, bounds: Bounds) -> None:
        self.bounds = bounds
        self.now = 0.0  # seconds that connections had the chance to be served
        self.open = self.unfinished = self.accepted = 0
        self.refusals: Counter[str] = Counter(dict.fromkeys(REASONS, 0))
        self.watched: set[Watched] = set()
        self.writing: set[Watched] = set()  # those whose client does not read
        self._addresses: Counter[str] = Counter()
        self._blamed: Counter[str] = Counter()
        self._told: Counter[str] = Counter()
        self._tell_at = 0.0

    # --- connections -------------------------------------------------------------------------

    def full(self, address: str) -> str | None:
        """Why no further connection of an address is taken; None when it is."""
        if self.open >= self.bounds.connections:
            return "connections"
        if self.unfinished >= self.bounds.unfinished:
            return "unfinished"
        return "unfinished_per_address" if self._crowds(address) else None

    def _crowds(self, address: str) -> bool:
        at_most = self.bounds.unfinished_per_address
        return self._addresses[address] >= at_most and address not in self.bounds.proxies

    def came(self, address: str) -> None:
        """A connection was accepted; it is unfinished."""
        self.open += 1
        self.accepted += 1
        self._begin(address)

    def left(self, address: str, *, unfinished: bool) -> None:
        """A connection has ended."""
        self.open -= 1
        if unfinished:
            self.finished(address)

    def finished(self, address: str) -> None:
        """A connection has sent a whole request."""
        self.unfinished -= 1
        self._addresses[address] -= 1
        if not self._addresses[address]:
            del self._addresses[address]

    def unfinish(self, address: str) -> str | None:
        """A connection has begun another request and not ended it. Returns why it may not."""
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
        """Ends connections that are late, for as long as the block.

        A loop that stood still does not count as time that clients let pass: each look adds two
        ticks at most.
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
        """Lets time pass: looks at every connection, and reports refusals."""
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
    """What counts as one client: an IPv4 address, or the /64 network of an IPv6 address."""
    if ":" not in address:
        return address
    parsed = ipaddress.IPv6Address(address.partition("%")[0])
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.IPv6Network((parsed.packed[:NETWORK_BYTES] + bytes(8), 64)))
