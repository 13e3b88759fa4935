"""A clock for waits of a millisecond: the machine's own."""

from xingqiao.infra.clock import SystemClock as FastClock

__all__ = ["FastClock"]
