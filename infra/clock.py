"""The machine's time and chance: the one module that asks for them."""

from __future__ import annotations

import secrets
import time


class SystemClock:
    """The time of this machine. A `Clock`."""

    @staticmethod
    def now_ms() -> int:
        return time.time_ns() // 1_000_000

    @staticmethod
    def elapsed_us() -> float:
        return time.perf_counter() * 1e6


class RandomIds:
    """Ids by chance, in order of time. An `Ids`."""

    @staticmethod
    def execution_id(now_ms: int) -> str:
        return f"{now_ms:012x}{secrets.token_hex(10)}"
