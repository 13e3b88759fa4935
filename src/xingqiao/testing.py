"""Compositions and schedules in your tests: in virtual time, with faked actions, with crashes where you want them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .composer.testing import (
    Beats,
    Emitted,
    Fail,
    Invocation,
    Never,
    Run,
    Simulation,
    SimulationError,
    Slow,
    Told,
    Waits,
    simulate,
)

if TYPE_CHECKING:
    from .actions import Rehearsal, RehearsedRun, schedule_runs

__all__ = [
    "Beats",
    "Emitted",
    "Fail",
    "Invocation",
    "Never",
    "Rehearsal",
    "RehearsedRun",
    "Run",
    "Simulation",
    "SimulationError",
    "Slow",
    "Told",
    "Waits",
    "schedule_runs",
    "simulate",
]

_OF_SCHEDULES = ("Rehearsal", "RehearsedRun", "schedule_runs")


def __getattr__(name: str) -> Any:
    """What is about schedules, which is loaded when it is first used: it needs a library."""
    if name not in _OF_SCHEDULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import actions  # noqa: PLC0415

    return getattr(actions, name)
