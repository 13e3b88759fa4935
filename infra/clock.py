"""The machine's time and chance: the one module that asks for them."""

from __future__ import annotations

import secrets
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

DIGITS = 20  # of chance in an id
AT_ONCE = 256  # ids drawn
_ELAPSED = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)  # the first counts sleep, too


class SystemClock:
    """The time of this machine. A `Clock`."""

    @staticmethod
    def now_ms() -> int:
        return time.time_ns() // 1_000_000

    @staticmethod
    def elapsed_us() -> float:
        return time.clock_gettime_ns(_ELAPSED) / 1e3


class RandomIds:
    """Ids by chance, in order of time. An `Ids`."""

    def __init__(self) -> None:
        self._drawn: Iterator[str] = iter(())

    def execution_id(self, now_ms: int) -> str:
        chance = next(self._drawn, None)
        if chance is None:  # many are drawn at once: asking the system takes as long as a step
            text = secrets.token_hex(DIGITS // 2 * AT_ONCE)
            self._drawn = iter([text[at : at + DIGITS] for at in range(0, len(text), DIGITS)])
            chance = next(self._drawn)
        return f"{now_ms:012x}{chance}"
