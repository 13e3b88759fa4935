"""Interleaved rounds: within each workload the systems take turns, so that all see the machine in the same minutes."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .work import Load, Mail, Recovery

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping, Sequence

    from .systems import System
    from .work import Workload

LONGEST_S = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What one system has reached with one workload in one round. A failure has no figures."""

    round: int
    workload: str
    system: str
    figures: Mapping[str, float] = field(default_factory=dict)
    failure: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Floor:
    """What the disk and SQLite alone reach at the start of a round: see `floors.floor`."""

    round: int
    rates: Mapping[str, float]


async def interleaved(
    count: int,
    workloads: Sequence[Workload],
    systems: Mapping[str, System],
    floor: Callable[[], Mapping[str, float]],
) -> AsyncGenerator[Floor | Measured, None]:
    """Measures every workload with every system in each round, one after the other.

    Which system goes first changes from round to round. A failure is a row too: one system that cannot do
    the work does not stop the others.
    """
    names = list(systems)
    for number in range(count):
        yield Floor(round=number + 1, rates=floor())
        first = number % max(1, len(names))
        for workload in workloads:
            for name in (*names[first:], *names[:first]):
                yield await _measured(number + 1, workload, name, systems[name])


async def _measured(number: int, workload: Workload, name: str, system: System) -> Measured:
    figures: Mapping[str, float] = {}
    failure = ""
    try:
        async with asyncio.timeout(LONGEST_S):
            match workload.does:
                case Load() as load:
                    figures = await system.measure(load)
                case Recovery() as recovery:
                    figures = await system.recover(recovery)
                case Mail() as mail:
                    figures = await system.receive(mail)
    except TimeoutError:
        failure = f"it takes more than {LONGEST_S:.0f} s"
    except Exception as error:  # noqa: BLE001  a boundary: a peer can fail in any way, and is told of
        while isinstance(error, ExceptionGroup):
            error = error.exceptions[0]
        failure = f"{type(error).__name__}: {error}"
    return Measured(
        round=number, workload=workload.key, system=name, figures=figures, failure=failure
    )
