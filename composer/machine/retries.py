"""The policy of a retry: which failures, how often, with which delays, and what follows the last attempt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from zlib import crc32

from ..expressions import Predicate, parse_predicate

if TYPE_CHECKING:
    from ..values import JSON, Failure
    from .stored import Document

MAX_DELAY_MS = 366 * 24 * 3600 * 1000
RETRYABLE, RETRY_AFTER = "retryable", "retry_after"  # members of an error object


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """The rule for trying again. `retries` counts re-tries: the first attempt is not one of them.

    Args:
        retries: at most so many; None for as many as it takes.
        delay_ms: before the first retry; each further one waits `backoff` times as long, up to
            `max_delay_ms`.
        jitter: the share of a delay, 0 to 1, that chance takes off.
        errors: names of failures to retry (`Failure.named`); all when empty.
        except_errors: names of failures never to retry, whatever `errors` says.
        until: a result for which this does not hold counts as a failed attempt.
        pause: when spent, wait for an operator instead of failing.
        stuck: the retry belongs to a saga, which is stuck while it waits.
    """

    retries: int | None
    delay_ms: int = 0
    backoff: float = 1.0
    max_delay_ms: int = MAX_DELAY_MS
    jitter: float = 0.0
    errors: tuple[str, ...] = ()
    until: Predicate | None = None
    pause: bool = False
    stuck: bool = False
    except_errors: tuple[str, ...] = ()

    def covers(self, failure: Failure) -> bool:
        """True if this failure is one to retry."""
        if self.except_errors and any(failure.named(name) for name in self.except_errors):
            return False
        return not self.errors or any(failure.named(name) for name in self.errors)

    def spent(self, attempt: int) -> bool:
        """True if `attempt`, counted from 1, was the last."""
        return self.retries is not None and attempt > self.retries

    def backoff_ms(self, attempt: int, seed: str) -> int:
        """The delay after failed `attempt`; the same seed draws the same jitter."""
        try:
            grown = self.delay_ms * float(self.backoff) ** (attempt - 1)
        except OverflowError:
            grown = self.max_delay_ms
        chance = crc32(f"{seed}#{attempt}".encode()) / 0xFFFF_FFFF
        return round(min(grown, self.max_delay_ms) * (1 - self.jitter * chance))

    def delay_after(self, failure: Failure, attempt: int, seed: str) -> int:
        """The delay after failed `attempt`, in ms: as the failure asks, or else as the policy says."""
        asked = failure.error.get(RETRY_AFTER) if type(failure.error) is dict else None
        if (type(asked) is int or type(asked) is float) and asked >= 0:
            return round(min(asked * 1000, self.max_delay_ms))
        return self.backoff_ms(attempt, seed)

    def to_json(self) -> dict[str, JSON]:
        return {
            "retries": self.retries,
            "delay_ms": self.delay_ms,
            "backoff": self.backoff,
            "max_delay_ms": self.max_delay_ms,
            "jitter": self.jitter,
            "errors": list(self.errors),
            "until": self.until.to_json() if self.until is not None else None,
            "pause": self.pause,
            **({"stuck": True} if self.stuck else {}),
            **({"except_errors": list(self.except_errors)} if self.except_errors else {}),
        }

    @classmethod
    def from_json(cls, doc: Document) -> RetryPolicy:
        until = doc["until"]
        return cls(
            **{
                **doc,
                "errors": tuple(doc["errors"]),
                "except_errors": tuple(doc.get("except_errors", ())),
                "until": parse_predicate(until) if until is not None else None,
            }
        )


def final(failure: Failure) -> bool:
    """True if the failure says that another attempt cannot help: its error has `"retryable": false`."""
    return type(failure.error) is dict and failure.error.get(RETRYABLE) is False
