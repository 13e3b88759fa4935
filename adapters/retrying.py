"""The retry policy for all clouds. The decision depends on whether the function may have run, not on the error.

A request that certainly had no effect is repeated whenever that may help. A request that may have had one is
repeated only if a second run makes no difference: the action says so, or the cloud knows our key.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..composer import RetryPolicy
from .port import Pending

if TYPE_CHECKING:
    from ..actions import Retrying
    from .port import Fault

JITTER = 0.5
SHARE = 0.2  # of all requests to one function that may be retries
RESERVE = 10.0  # retries above the share


POLL_MS, POLL_MOST_MS, POLL_GROWTH = 250, 30_000, 1.6


class Budget:
    """The retries that one function may still use, so that retries never make an outage worse.

    Each request earns a share of a retry, up to a reserve, with which the budget begins.
    """

    __slots__ = ("_left",)

    def __init__(self) -> None:
        self._left = RESERVE

    def earn(self) -> None:
        self._left = min(RESERVE, self._left + SHARE)

    def spend(self) -> bool:
        """Takes one retry; False if there is none left."""
        if self._left < 1:
            return False
        self._left -= 1
        return True


def wait_before_retry(
    fault: Fault, attempt: int, retrying: Retrying, *, repeatable: bool, seed: str
) -> int | None:
    """Milliseconds to wait before the next attempt; None to give up.

    Args:
        fault: of this attempt.
        attempt: its number, from 1.
        retrying: the action's own bounds.
        repeatable: True if a second run makes no difference.
        seed: the same seed draws the same jitter.
    """
    safe = fault.may_have_run == "no" or (fault.may_have_run == "unknown" and repeatable)
    if not (fault.transient and safe) or attempt >= retrying.attempts:
        return None
    policy = RetryPolicy(
        retries=None,
        delay_ms=retrying.delay_ms,
        backoff=2,
        max_delay_ms=retrying.max_delay_ms,
        jitter=JITTER,
    )
    waits_ms = policy.backoff_ms(attempt, seed)
    if fault.retry_after_ms is None:
        return waits_ms
    if fault.retry_after_ms > retrying.max_delay_ms:
        return None
    return max(waits_ms, fault.retry_after_ms)


def wait_before_poll(backoff_ms: float, answer: Pending | Fault) -> tuple[float, float]:
    """The wait before the next poll for a run.

    Args:
        backoff_ms: the backoff before the last poll.
        answer: to that poll.

    Returns:
        The next backoff, and the wait: the backoff, or longer if the cloud demands it (429, `Retry-After`).
    """
    most_ms, asked_ms = float(POLL_MOST_MS), 0
    if not isinstance(answer, Pending):
        asked_ms = answer.retry_after_ms or 0
    else:
        asked_ms = answer.after_ms
        if answer.most_ms is not None:
            most_ms = min(most_ms, max(POLL_MS, answer.most_ms))
    backoff_ms = min(backoff_ms * POLL_GROWTH, most_ms)
    return backoff_ms, max(backoff_ms, asked_ms)
