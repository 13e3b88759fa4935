"""Admission of calls: limits on sizes and rates, with OpenWhisk's texts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .errors import InvalidError, ThrottledError, TooLargeError

if TYPE_CHECKING:
    from ..composer import JSON
    from .model import Action


@dataclass(frozen=True, slots=True, kw_only=True)
class Quotas:
    """The limits of a namespace; None is unlimited.

    Args:
        payload_bytes: of one call's parameters, and of one result.
        concurrent: calls under way, without the steps of compositions.
        per_minute: calls in one minute of the clock.
        fires_per_minute: of triggers.
        live: executions under way with all that they have started, and branches of forks: see `Usage`.
        descendants: of one execution, counted as `live` is.
    """

    payload_bytes: int = 1 << 20
    concurrent: int | None = None
    per_minute: int | None = None
    fires_per_minute: int | None = None
    live: int | None = None
    descendants: int | None = None


class Usage:
    """The current usage of a namespace.

    `running` counts calls under way. `live` counts everything that exists on their behalf: one for each execution
    (also nested, asynchronous and waiting ones), and one for each branch of its forks.
    """

    __slots__ = ("_count", "_fires", "_minute", "live", "running")

    def __init__(self) -> None:
        self.running = 0
        self.live = 0
        self._minute = 0
        self._count = 0
        self._fires = 0

    def admit(self, quotas: Quotas, now_ms: int) -> None:
        """Counts one more call of this minute. The caller counts it in `running` until it has ended.

        Raises:
            ThrottledError: the call is over a limit, and is not counted.
        """
        self._turn(now_ms)
        _check_rate(self._count, quotas.per_minute)
        if quotas.concurrent is not None and self.running >= quotas.concurrent:
            raise ThrottledError(
                "Too many concurrent requests in flight "
                f"(count: {self.running}, allowed: {quotas.concurrent})."
            )
        if quotas.live is not None and self.live >= quotas.live:
            raise ThrottledError(
                f"Too much is under way in this namespace (count: {self.live}, allowed: {quotas.live}): "
                "executions, those that they have started, and branches. Wait until some have ended, "
                "terminate some, or ask the operator to raise the limit 'liveExecutions'."
            )
        self._count += 1

    def admit_fire(self, quotas: Quotas, now_ms: int) -> None:
        """Counts one more fire of a trigger.

        Raises:
            ThrottledError: the fire is over the limit, and is not counted.
        """
        self._turn(now_ms)
        _check_rate(self._fires, quotas.fires_per_minute)
        self._fires += 1

    def _turn(self, now_ms: int) -> None:
        minute = now_ms // 60_000
        if minute != self._minute:
            self._minute, self._count, self._fires = minute, 0, 0


def _check_rate(count: int, allowed: int | None) -> None:
    if allowed is not None and count >= allowed:
        raise ThrottledError(
            f"Too many requests in the last minute (count: {count + 1}, allowed: {allowed})."
        )


def check_call(action: Action, params: dict[str, JSON], size: int, quotas: Quotas) -> None:
    """Checks the size of a call, and that it sets no final parameters.

    Raises:
        TooLargeError: with both sizes.
        InvalidError: with OpenWhisk's text.
    """
    check_payload(size, quotas)
    if not action.final.isdisjoint(params):
        raise InvalidError(
            "Request defines parameters that are not allowed (e.g., reserved properties)."
        )


def check_payload(size: int, quotas: Quotas) -> None:
    """Checks the size of a payload.

    Raises:
        TooLargeError: with both sizes.
    """
    if size > quotas.payload_bytes:
        raise TooLargeError(f"Request larger than allowed: {size} > {quotas.payload_bytes} bytes.")
