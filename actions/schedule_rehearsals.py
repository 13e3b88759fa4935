"""Schedules in virtual time: the runs of a year, in milliseconds, with the decisions that a server makes."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any, TypeAlias

from ..composer import CANCELLED, Failure, Schedule, Success
from .schedule_definitions import schedule_of
from .schedule_times import instant_ms
from .schedules import TERMINATE, ScheduledRun, ScheduleRules, ScheduleState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..composer import JSON, Outcome
    from .schedule_definitions import ScheduleDefinition
    from .schedules import ScheduleDecision

Durations: TypeAlias = "float | list[float] | Callable[[int], float]"
"""Seconds that a run takes: of each, of one after the other (the last again and again), or by its instant."""


@dataclass(frozen=True, slots=True)
class RehearsedRun:
    """A run of a rehearsal. Instants are milliseconds since the epoch.

    Args:
        name: its id.
        at_ms: the instant of the schedule that it stands for.
        started_ms: when it began.
        ended_ms: when it ended; None if that is after the rehearsal.
        status: `running`, `succeeded`, `failed` or `cancelled`.
        params: its parameters.
    """

    name: str
    at_ms: int
    started_ms: int
    ended_ms: int | None
    status: str
    params: dict[str, JSON]


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """The runs of a rehearsal in the order of their starts, and the schedule's state at its end."""

    runs: list[RehearsedRun]
    state: ScheduleState


def schedule_runs(  # noqa: PLR0913  each has a default
    schedule: Schedule | dict[str, Any],
    start: JSON,
    end: JSON,
    *,
    durations: Durations = 0,
    outcomes: Callable[[int], Outcome] | None = None,
    finalizers: float = 0,
) -> Rehearsal:
    """Runs a schedule in virtual time, from one instant to another, both included.

        year = schedule_runs({"spec": {"cron": "30 2 * * *", "zone": "Europe/Berlin"}},
                             "2027-01-01", "2027-12-31T23:59", durations=600)
        assert len(year.runs) == 365

    Args:
        schedule: made by `composer.schedule`, or its document, which may leave `do` out.
        start: the instant at which it is created: ISO 8601, or milliseconds since the epoch.
        end: the instant at which the rehearsal ends.
        durations: seconds that runs take.
        outcomes: the outcome of a run by its instant; each succeeds by default.
        finalizers: seconds that a run goes on when it is cancelled.

    Raises:
        InvalidError: the schedule is malformed.
    """
    given = schedule.document if isinstance(schedule, Schedule) else schedule
    document = {"do": {"action": "rehearsed"}, **given}
    definition = schedule_of("/_/rehearsed", document)
    rehearsing = _Rehearsing(definition, instant_ms("start", start), durations, outcomes)
    rehearsing.run(instant_ms("end", end), round(finalizers * 1000))
    known = rehearsing.done | {run.name: run for run in rehearsing.state.open}
    runs = [
        RehearsedRun(name, run.at_ms, begun_ms, run.ended_ms, run.status, params)
        for name, (begun_ms, params) in rehearsing.begun.items()
        for run in [known[name]]
    ]
    return Rehearsal(runs, rehearsing.state)


class _Rehearsing:
    """A rehearsal under way."""

    def __init__(
        self,
        definition: ScheduleDefinition,
        now_ms: int,
        durations: Durations,
        outcomes: Callable[[int], Outcome] | None,
    ) -> None:
        self._definition, self._now_ms = definition, now_ms
        self._rules = ScheduleRules(definition)
        self._lasting = _lasting(durations)
        self._outcomes = outcomes or (lambda _: Success({}))
        self.state = self._rules.created(now_ms)
        self._ends: list[tuple[int, str, Outcome]] = []
        self.begun: dict[str, tuple[int, dict[str, JSON]]] = {}
        self.done: dict[str, ScheduledRun] = {}

    def run(self, end_ms: int, finalizers_ms: int) -> None:
        """Lets the time pass. An end comes before a time of the schedule at the same instant."""
        while (at_ms := self._next()) is not None and at_ms <= end_ms:
            self._now_ms = max(self._now_ms, at_ms)
            while (decision := self._decided()) is not None:
                self._take(decision, finalizers_ms)

    def _next(self) -> int | None:
        next_ms = self.state.next_ms
        times = [end[0] for end in self._ends[:1]]
        if next_ms is not None and not self.state.paused:
            times.append(self._definition.due_ms(next_ms))
        return min(times, default=None)

    def _decided(self) -> ScheduleDecision | None:
        if self._ends and self._ends[0][0] <= self._now_ms:
            _, name, outcome = heapq.heappop(self._ends)
            decision = self._rules.ended(self.state, name, outcome, self._now_ms)
            assert decision is not None  # noqa: S101  it is open
            self.done[name] = decision.state.last[-1]
            return decision
        waiting = self._rules.proceeding(self.state)
        return waiting or self._rules.due(self.state, self._now_ms)

    def _take(self, decision: ScheduleDecision, finalizers_ms: int) -> None:
        self.state, start = decision.state, decision.start
        if start is not None:
            self.state = self.state.begun(start.name, start.name, self._now_ms)
            self.begun[start.name] = self._now_ms, start.params
            until_ms = self._now_ms + round(self._lasting(start.at_ms) * 1000)
            heapq.heappush(self._ends, (until_ms, start.name, self._outcomes(start.at_ms)))
        if decision.stop:
            later_ms = 0 if decision.stop == TERMINATE else finalizers_ms
            stopped = Failure(CANCELLED, {"code": CANCELLED, "message": "cancelled"})
            self._ends = [
                min(end, (self._now_ms + later_ms, end[1], stopped), key=lambda end: end[0])
                for end in self._ends
            ]
            heapq.heapify(self._ends)


def _lasting(durations: Durations) -> Callable[[int], float]:
    if callable(durations):
        return durations
    if not isinstance(durations, list):
        return lambda _: durations
    turns: Iterator[float] = chain(durations, repeat(durations[-1]))
    return lambda _: next(turns)
