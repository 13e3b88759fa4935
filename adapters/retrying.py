"""Whether to ask again: the one policy, for every cloud. Not the error decides, but whether the function ran.

What certainly did not run may be asked for again whenever that may help. What may have run is asked for again
only when once more makes no difference: the action says so, or the cloud knows our key.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..composer import RetryPolicy
from .port import Pending

if TYPE_CHECKING:
    from ..actions import Retrying
    from .port import Fault

JITTER = 0.5
SHARE = 0.2  # of all requests to one function that may be repeats
RESERVE = 10.0  # repeats that a function may always have had more


POLL_MS, POLL_MOST_MS, POLL_GROWTH = 250, 30_000, 1.6


class Budget:
    """How many repeats one function may still have, so that asking again never makes an outage worse.

    Each request earns a share of a repeat, up to a reserve, with which it begins.
    """

    __slots__ = ("_left",)

    def __init__(self) -> None:
        self._left = RESERVE

    def earn(self) -> None:
        self._left = min(RESERVE, self._left + SHARE)

    def spend(self) -> bool:
        """Takes one repeat; False when there is none left."""
        if self._left < 1:
            return False
        self._left -= 1
        return True


def wait_before_retry(
    fault: Fault, attempt: int, retrying: Retrying, *, repeatable: bool, seed: str
) -> int | None:
    """Milliseconds to wait before asking again; None to give up.

    Args:
        fault: what came of this attempt.
        attempt: its number, from 1.
        retrying: the action's own bounds.
        repeatable: whether running it twice makes no difference.
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
    waits_ms = policy.wait_ms(attempt, seed)
    if fault.retry_after_ms is None:
        return waits_ms
    if fault.retry_after_ms > retrying.max_delay_ms:
        return None
    return max(waits_ms, fault.retry_after_ms)


def wait_before_poll(backoff_ms: float, answer: Pending | Fault) -> tuple[float, float]:
    """How long to wait before asking after a run again.

    Args:
        backoff_ms: the backoff before the last poll.
        answer: what that poll was answered.

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
