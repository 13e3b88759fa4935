"""Failed attempts to authenticate: their number, and log lines without secrets."""

from __future__ import annotations

import logging
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...actions import Clock

log = logging.getLogger(__name__)

PERIOD_MS = 10_000  # at most one log line in this time
MISSING, INVALID = "missing", "invalid"


class Failures:
    """Counts failed attempts to authenticate by reason, and logs them, at most one line every 10 seconds.

    Args:
        clock: source of time.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._logged_ms: int | None = None
        self._unlogged = 0
        self.counts: Counter[str] = Counter({MISSING: 0, INVALID: 0})

    def add(self, reason: str, address: str, resource: str, key: str = "") -> None:
        """Counts an attempt.

        Args:
            reason: `missing` or `invalid`, for the credentials.
            address: address of the client.
            resource: method and path of the request.
            key: namespace and name of the key whose id was sent; "" if no key has the id.
        """
        self.counts[reason] += 1
        now_ms = self._clock.now_ms()
        if self._logged_ms is not None and 0 <= now_ms - self._logged_ms < PERIOD_MS:
            self._unlogged += 1
            return
        log.warning(
            "authentication failed: %s credentials from %s for %.200s%s%s",
            reason,
            address,
            resource,
            f", with the id of the key {key}" if key else "",
            f"; and {self._unlogged} attempts since the line before" if self._unlogged else "",
        )
        self._logged_ms, self._unlogged = now_ms, 0
