"""Bounds on connections and on what they send, and the file descriptors that they must leave free."""

from __future__ import annotations

import contextlib
import resource
from dataclasses import dataclass, replace

DESCRIPTORS_KEPT = 128  # for the store, its files, and connections to clouds
DESCRIPTORS_PER_WORKER = 8  # its pipes, and what it takes to start one
LEAST_CONNECTIONS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What one connection may send, and how many connections there may be.

    Args:
        url_bytes: of the target in a request line.
        header_bytes: of all headers of a request together.
        header_count: headers of a request.
        header_s: seconds from the first byte of a request to the end of its headers.
        body_s: seconds that a body may be late, see `least_rate`.
        least_rate: bytes per second of a body, or of a response that the client reads; a transfer
            ends when it is more than `body_s` behind this rate.
        idle_s: seconds that a connection stays open between requests.
        handshake_s: seconds for a TLS handshake.
        connections: that are open.
        unfinished: connections that have not sent a whole request.
        unfinished_per_address: the same, of one client address.
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
        """What may come of a request between two things that mean something: the longest head."""
        return self.url_bytes + self.header_bytes + 4 * self.header_count + 64

    @property
    def tick_s(self) -> float:
        """How often deadlines are looked at: four times in the shortest of them."""
        shortest = min(self.header_s, self.body_s, self.idle_s)
        return min(1.0, max(0.05, shortest / 4))


def raise_descriptors(wanted: int) -> int:
    """Raises the limit on file descriptors to `wanted` as far as allowed. Returns what it is then."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return wanted if soft == resource.RLIM_INFINITY else soft
    most = wanted if hard == resource.RLIM_INFINITY else min(hard, wanted)
    with contextlib.suppress(ValueError, OSError):  # some systems allow less than they say
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
        return most
    return soft
