"""The entries of Retry and Catch: the errors that they cover, and the delay before a retry."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from ..jsonpath.fields import result_path
from ..jsonpath.templates import Template
from ..state_errors import covers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ..documents import StatePart

DEFAULTS: Final = (1, 3, 2.0)  # of a retrier: interval in seconds, attempts, rate
MAX_DELAY_MS: Final = 31_622_400_000  # AWS' bound on MaxDelaySeconds


@final
class Retrier:
    """One entry of Retry."""

    def __init__(self, doc: StatePart) -> None:
        interval, attempts, rate = DEFAULTS
        self.errors: list[str] = doc["ErrorEquals"]
        self.attempts: int = doc.get("MaxAttempts", attempts)
        self._interval_ms = doc.get("IntervalSeconds", interval) * 1000
        self._rate: float = doc.get("BackoffRate", rate)
        most = doc.get("MaxDelaySeconds")
        self._most_ms = None if most is None else most * 1000
        self._full = doc.get("JitterStrategy") == "FULL"

    def backoff_ms(self, tried: int, chance: Callable[[], float]) -> int:
        """The delay before the next retry, after `tried` retries; `chance` draws from [0, 1)."""
        try:
            grown = self._interval_ms * float(self._rate) ** tried
        except OverflowError:
            grown = float(MAX_DELAY_MS)
        bounds = [float(MAX_DELAY_MS)] if self._most_ms is None else [float(self._most_ms)]
        grown = min(grown, *bounds)
        return int(grown * chance() + 0.5) if self._full else int(grown + 0.5)


@final
class Catcher:
    """One entry of Catch."""

    def __init__(self, doc: StatePart, *, jsonata: bool) -> None:
        self.errors: list[str] = doc["ErrorEquals"]
        self.next: str = doc["Next"]
        self.doc = doc
        if not jsonata:
            path = doc.get("ResultPath", "$")
            self.result_path = None if path is None else result_path(path)
            self.template = Template(doc["Assign"]) if "Assign" in doc else None


def first_covering(handlers: Iterable[Retrier | Catcher], error: str) -> int | None:
    """The index of the first retrier or catcher that covers an error."""
    return next((at for at, each in enumerate(handlers) if covers(each.errors, error)), None)
