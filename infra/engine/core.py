"""The parts of an engine that most of its modules work with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Mapping

    from ...composer import CloudEvent, Entry, Invoke, Outcome
    from .bounds import Bounds
    from .chains import Chains
    from .dead_letter_records import DeadLetterRecords
    from .functions import Functions
    from .limits.limits import Limits
    from .limits.steps import StepLimits
    from .lingering import Lingering
    from .live import LiveExecution
    from .ports import Starter
    from .shared import Parts
    from .tick import Tick
    from .timers import Timer, Timers
    from .waiters import Waiters


@dataclass(frozen=True, slots=True, kw_only=True)
class Core:
    """The parts of an engine that most of its modules work with.

    `timers` follow the elapsed time, `alarms` the clock. `stuck` is called with a saga that cannot go on,
    `tell` with a step that tells another execution a message, `emit` with a namespace and a CloudEvent that is
    accepted with what gathers now, `unwaited` with the end of a run that nobody waits for, and `close` with the
    children of an execution that has ended.
    """

    parts: Parts
    tick: Tick
    bounds: Bounds
    lingering: Lingering
    chains: Chains
    timers: Timers[Timer]
    alarms: Timers[str]
    waiters: Waiters
    starter: Starter
    letters: DeadLetterRecords
    functions: Functions
    limits: Limits
    step_limits: StepLimits
    tasks: asyncio.TaskGroup
    stuck: Callable[[LiveExecution, list[Entry]], None]
    tell: Callable[[LiveExecution, str, Invoke], None]
    emit: Callable[[str, CloudEvent], None]
    unwaited: Callable[[LiveExecution, Outcome], None]
    close: Callable[[Mapping[str, str]], None]
