"""Counts the synchronous calls of a function that run at the same time: its reserved concurrency limits them."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ..aws import AwsError

if TYPE_CHECKING:
    from collections.abc import Iterator

REASON = "ReservedFunctionConcurrentInvocationLimitExceeded"
EXCEEDED = 429


class CallsUnderWay:
    """The number of calls under way, by full name of the function."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    @contextmanager
    def counted(self, name: str, reserved: int | None) -> Iterator[None]:
        """Counts a call for as long as the block.

        Raises:
            AwsError: TooManyRequestsException: as many calls as are `reserved` run already.
        """
        check(self._counts[name], reserved)
        self._counts[name] += 1
        try:
            yield
        finally:
            self._counts[name] -= 1
            if not self._counts[name]:
                del self._counts[name]


def check(count: int, reserved: int | None) -> None:
    """Checks that one more call may run beside `count` others.

    Raises:
        AwsError: TooManyRequestsException.
    """
    if reserved is not None and count >= reserved:
        raise AwsError(
            "TooManyRequestsException", "Rate Exceeded.", EXCEEDED, details={"Reason": REASON}
        )
