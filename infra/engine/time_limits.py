"""The time limits of a run and of its chain: of its start, and of its action's annotations; the tighter one wins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...actions import EXECUTION_TIMEOUT, RUN_TIMEOUT, timeout_ms
from ...composer import deadlines

if TYPE_CHECKING:
    from ...composer import Deadline
    from .origins import Origin


def deadlines_of(origin: Origin) -> tuple[Deadline, ...]:
    """The frames that a run with this origin begins with; none if it has no time limit."""
    options, notes = origin.options, origin.action.annotations
    run_ms = _tighter(options.run_timeout_ms, timeout_ms(notes.get(RUN_TIMEOUT)))
    chain_ms = _tighter(options.execution_timeout_ms, timeout_ms(notes.get(EXECUTION_TIMEOUT)))
    if run_ms is None and chain_ms is None:
        return ()
    return deadlines(origin.started_ms, run_ms, chain_ms)


def run_deadline_of(origin: Origin) -> tuple[Deadline, ...]:
    """The frame of a run's own time limit, for the next run of a chain; none if it has none."""
    noted_ms = timeout_ms(origin.action.annotations.get(RUN_TIMEOUT))
    run_ms = _tighter(origin.options.run_timeout_ms, noted_ms)
    return () if run_ms is None else deadlines(origin.started_ms, run_ms)


def _tighter(one: int | None, other: int | None) -> int | None:
    if one is None or other is None:
        return other if one is None else one
    return min(one, other)
