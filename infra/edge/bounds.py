"""Bounds on connections and requests, and the file descriptors that they must leave free."""

from __future__ import annotations

import contextlib
import resource
from dataclasses import dataclass, replace

DESCRIPTORS_KEPT = 128  # for the store, its files, and connections to clouds
DESCRIPTORS_PER_WORKER = 8  # its pipes, and those needed to start it
LEAST_CONNECTIONS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """Bounds on a connection's requests and on the number of connections.

    Args:
        url_bytes: size of the target in a request line.
        header_bytes: size of all headers of a request.
        header_count: number of headers of a request.
        header_s: seconds from the first byte of a request to the end of its headers.
        body_s: seconds that a body may be late, see `least_rate`.
        least_rate: bytes per second of a body, or of a response that the client reads; a transfer
            ends when it is more than `body_s` behind this rate.
        idle_s: seconds that a connection stays open between requests.
        handshake_s: seconds for a TLS handshake.
        connections: open connections.
        unfinished: connections that have not sent a whole request.
        unfinished_per_address: the same for one client address.
        proxies: addresses that `unfinished_per_address` does not apply to.
    """

    url_bytes: int = 16 << 10
    header_bytes: int = 64 << 10
    header_count: int = 128
    header_s: float = 20.0
    body_s: float = 30.0
    least_rate: int = 16 << 10
    idle_s: float = 75.0
    handshake_s: float = 10.0
    connections: int = 10_000
    unfinished: int = 5_000
    unfinished_per_address: int = 1_000
    proxies: frozenset[str] = frozenset()

    def descriptors(self, workers: int) -> int:
        """The file descriptors that these bounds need."""
        return self.connections + DESCRIPTORS_KEPT + DESCRIPTORS_PER_WORKER * workers

    def within(self, descriptors: int, workers: int) -> Bounds:
        """These bounds, lowered so that connections leave descriptors for everything else.

        Unfinished connections leave room for others: at most three in four may be unfinished, and
        at most half of all may be unfinished connections of one address.
        """
        connections = self.connections - max(0, self.descriptors(workers) - descriptors)
        connections = max(connections, min(self.connections, LEAST_CONNECTIONS))
        return replace(
            self,
            connections=connections,
            unfinished=min(self.unfinished, (connections * 3 + 3) // 4),
            unfinished_per_address=min(self.unfinished_per_address, (connections + 1) // 2),
        )

    @property
    def loose_bytes(self) -> int:
        """The bytes that the parser may read without completing anything: the longest head."""
        return self.url_bytes + self.header_bytes + 4 * self.header_count + 64

    @property
    def tick_s(self) -> float:
        """The time between two checks of deadlines: a quarter of the shortest deadline."""
        shortest = min(self.header_s, self.body_s, self.idle_s)
        return min(1.0, max(0.05, shortest / 4))


def raise_descriptors(wanted: int) -> int:
    """Raises the limit on file descriptors to `wanted` as far as allowed. Returns the new limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return wanted if soft == resource.RLIM_INFINITY else soft
    most = wanted if hard == resource.RLIM_INFINITY else min(hard, wanted)
    with contextlib.suppress(ValueError, OSError):  # some systems allow less than they report
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
        return most
    return soft
