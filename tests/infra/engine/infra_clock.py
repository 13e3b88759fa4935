"""A clock for waits of a millisecond: the machine's own."""

from infra.clock import SystemClock as FastClock

__all__ = ["FastClock"]
