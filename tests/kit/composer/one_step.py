"""A program of one step, and the fibers that it goes through."""

from __future__ import annotations

from xingqiao import composer
from xingqiao.composer import (
    Completed,
    Context,
    Continued,
    Failed,
    Limits,
    advance,
)
from xingqiao.composer.machine.events import TimerFired
from xingqiao.composer.machine.fiber import Fiber
from xingqiao.composer.values import Failure

CONTEXT = Context("0" * 32, 0, Limits())
START = Fiber(id="0", pc=0, value={})
PROGRAM = composer.compile(composer.sequence("a", composer.wait(5), composer.retry(0, "b", on_exhausted="pause")))  # fmt: skip
INVOKING = advance(PROGRAM, START, Continued(), CONTEXT).fiber
SLEEPING = advance(PROGRAM, INVOKING, Completed(1, {}), CONTEXT).fiber
LATER = Context("0" * 32, 5000, Limits())
SECOND = advance(PROGRAM, SLEEPING, TimerFired(), LATER).fiber
PAUSED = advance(PROGRAM, SECOND, Failed(3, Failure("No", "no")), LATER).fiber
ENDED = advance(PROGRAM, SECOND, Completed(3, {"n": 1}), LATER).fiber
