"""Schedules that start an action: their documents, and what they decide.

A schedule has a definition, which its user writes, and a state, which changes with its times and its runs. Each
decision takes both and returns the next state, at most one run to start, and perhaps a request to stop the runs
that are open: the caller stores the state and starts the run in one commit, and then asks again.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from ..composer import CANCELLED, Failure, Success, changed, frozen
from .errors import InvalidError
from .schedule_definitions import ALLOW_ALL, BUFFER_ONE, CANCEL_OTHER, SKIP, TERMINATE_OTHER
from .schedule_times import MOST, Work

if TYPE_CHECKING:
    from ..composer import JSON, Outcome
    from .documents import Stored
    from .schedule_definitions import ScheduleDefinition

CANCEL, TERMINATE = "cancel", "terminate"
STOPS = {CANCEL_OTHER: CANCEL, TERMINATE_OTHER: TERMINATE}
BUFFER = 1_000  # times that wait for a run to end
BACKFILL = 1_000  # times of one backfill
BACKFILL_WORK = 25_000  # for finding them
AT_ONCE = 200  # times that are looked at in one decision
LAST = 10  # ended runs that are shown
RESULT_CHARS = 65_536  # of a result or an error as JSON: a larger one is not given to the next run
ERROR = 300  # characters of an error that are shown
LAST_RESULT, LAST_FAILURE = "__ow_last_result", "__ow_last_failure"
RUNNING, SUCCEEDED, FAILED, STOPPED, REFUSED = (
    "running", "succeeded", "failed", "cancelled", "refused",
)  # fmt: skip


# --- the state -----------------------------------------------------------------------------------


@frozen
class ScheduledRun:
    """A run of a schedule.

    Args:
        name: its id: of its schedule and its instant.
        at_ms: the instant of the schedule that it stands for.
        run: the id of its execution or activation; "" if it was refused.
        started_ms: when it began.
        status: `running`, `succeeded`, `failed`, `cancelled`, or `refused` if it did not begin.
        ended_ms: when it ended; None if it is open.
        error: why it was refused or failed, in short.
    """

    name: str
    at_ms: int
    run: str = ""
    started_ms: int = 0
    status: str = RUNNING
    ended_ms: int | None = None
    error: str = ""

    def to_json(self) -> dict[str, JSON]:
        return {name: getattr(self, name) for name in self.__match_args__}


@dataclass(frozen=True, slots=True)
class Waiting:
    """A time that waits to start a run.

    Args:
        at_ms: the instant.
        overlap: its policy.
        number: of the user's request that it comes from; 0 for a time of the schedule.
    """

    at_ms: int
    overlap: str
    number: int = 0


@frozen
class ScheduleState:
    """How a schedule stands.

    Args:
        next_ms: the next instant to meet; None if there is none.
        paused: True if its times pass without effect.
        why: why it is paused, if it has paused by itself.
        left: the number of its times that may still start a run; None for any number.
        open: its runs that have not ended.
        last: its runs that ended last, the newest last.
        waiting: times that wait for a run to end, or for the schedule to be resumed.
        stopping: what the open runs were asked for: `cancel`, `terminate` or "".
        numbers: how many times a user has asked for runs.
        missed: times that came too late to be met.
        skipped: times without a run because another one was open.
        dropped: times for which the buffer had no room.
        result: of the last run that succeeded.
        failure: of the last run, if it failed.
    """

    next_ms: int | None
    paused: bool = False
    why: str = ""
    left: int | None = None
    open: tuple[ScheduledRun, ...] = ()
    last: tuple[ScheduledRun, ...] = ()
    waiting: tuple[Waiting, ...] = ()
    stopping: str = ""
    numbers: int = 0
    missed: int = 0
    skipped: int = 0
    dropped: int = 0
    result: JSON = None
    failure: JSON = None

    def to_json(self) -> dict[str, JSON]:
        doc: dict[str, JSON] = {name: getattr(self, name) for name in self.__match_args__}
        doc["open"] = [run.to_json() for run in self.open]
        doc["last"] = [run.to_json() for run in self.last]
        doc["waiting"] = [[each.at_ms, each.overlap, each.number] for each in self.waiting]
        return doc

    @classmethod
    def from_json(cls, doc: Stored) -> ScheduleState:
        """Reads what `to_json` wrote."""
        fields: dict[str, Any] = {**doc}
        fields["open"] = tuple(ScheduledRun(**run) for run in doc["open"])
        fields["last"] = tuple(ScheduledRun(**run) for run in doc["last"])
        fields["waiting"] = tuple(Waiting(*each) for each in doc["waiting"])
        return cls(**fields)

    def begun(self, name: str, run: str, now_ms: int) -> ScheduleState:
        """The state, with the id of a run that begins now."""
        opened = [
            changed(each, run=run, started_ms=now_ms) if each.name == name else each
            for each in self.open
        ]
        return changed(self, open=tuple(opened))


@dataclass(frozen=True, slots=True)
class ScheduledStart:
    """A run to start: its id, the instant that it stands for, whether a user has asked for it, its parameters."""

    name: str
    at_ms: int
    asked: bool
    params: dict[str, JSON] = field(compare=False)


@dataclass(frozen=True, slots=True)
class ScheduleDecision:
    """A decision: the next state, a run to start, and a request to stop those that were open before."""

    state: ScheduleState
    start: ScheduledStart | None = None
    stop: str = ""


# --- the decisions -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ScheduleRules:
    """What a schedule decides. Every method takes a state, and changes nothing."""

    definition: ScheduleDefinition

    def created(self, now_ms: int) -> ScheduleState:
        """The state of a new schedule."""
        return ScheduleState(
            next_ms=self.definition.spec.after(now_ms - 1),
            paused=self.definition.document.get("paused") is True,
            left=self.definition.limit,
        )

    def updated(
        self, before: ScheduleDefinition, state: ScheduleState, now_ms: int
    ) -> ScheduleDecision:
        """This definition replaces another one: its times count from now, and what is open or waits stays.

        Without `paused` in its document the schedule stays as it is; another `limit` counts from now.
        """
        left = state.left if before.limit == self.definition.limit else self.definition.limit
        next_ms = None if left == 0 else self.definition.spec.after(now_ms)
        state = changed(state, next_ms=next_ms, left=left)
        match self.definition.document.get("paused"):
            case True:
                return self.paused(state)
            case False:
                return self.resumed(state, now_ms)
            case _:
                return ScheduleDecision(state)

    def due(self, state: ScheduleState, now_ms: int) -> ScheduleDecision | None:
        """Meets the times that are due, up to one that starts a run; None if none is due."""
        deciding, definition, work = _Deciding(self.definition, state), self.definition, Work()
        for looked in range(AT_ONCE):
            at_ms = deciding.state.next_ms
            due_ms = None if at_ms is None or state.paused else definition.due_ms(at_ms)
            if at_ms is None or due_ms is None or due_ms > now_ms:
                return deciding.decision() if looked else None
            deciding.change(next_ms=next(definition.spec.upcoming(at_ms, work=work), None))
            if now_ms - due_ms > definition.catchup_ms:
                deciding.change(missed=deciding.state.missed + 1)
            elif deciding.meets(Waiting(at_ms, definition.overlap)):
                deciding.counts_down()
            if deciding.start is not None or work.done > MOST:
                break
        return deciding.decision()

    def proceeding(self, state: ScheduleState) -> ScheduleDecision | None:
        """Starts a run for a time that waits, if it may start now; None if none may."""
        deciding = _Deciding(self.definition, state)
        for waiting in state.waiting:
            ready = waiting.overlap == ALLOW_ALL or not state.open
            if ready and (waiting.number or not state.paused):
                rest = tuple(each for each in state.waiting if each is not waiting)
                deciding.change(waiting=rest)
                deciding.begin(waiting)
                return deciding.decision()
        return None

    def ended(
        self, state: ScheduleState, run: str, outcome: Outcome, now_ms: int
    ) -> ScheduleDecision | None:
        """A run has ended; None if it is not one of the open ones."""
        found = next((each for each in state.open if each.run == run), None)
        return None if found is None else self._closed(state, found, outcome, now_ms)

    def refused(self, state: ScheduleState, name: str, text: str, now_ms: int) -> ScheduleDecision:
        """A run that was to start was refused: it has failed without having begun."""
        found = next(each for each in state.open if each.name == name)
        begun = changed(found, started_ms=now_ms)
        return self._closed(state, begun, Failure(REFUSED, text), now_ms)

    def _closed(
        self, state: ScheduleState, run: ScheduledRun, outcome: Outcome, now_ms: int
    ) -> ScheduleDecision:
        rest = tuple(each for each in state.open if each.name != run.name)
        changes: dict[str, Any] = {"open": rest, "stopping": state.stopping if rest else ""}
        status, error = SUCCEEDED, ""
        if isinstance(outcome, Success):
            changes |= {"result": _small(outcome.value), "failure": None}
        else:
            status = {CANCELLED: STOPPED, REFUSED: REFUSED}.get(outcome.code, FAILED)
            error = outcome.message[:ERROR]
        if isinstance(outcome, Failure) and status != STOPPED:
            changes["failure"] = {"code": outcome.code, "error": _small(outcome.error)}
            if self.definition.pause_on_failure:
                changes |= {"paused": True, "why": f"the run {run.name} has failed: {error}"}
        shown = changed(run, status=status, ended_ms=now_ms, error=error)
        changes["last"] = (*state.last, shown)[-LAST:]
        return ScheduleDecision(changed(state, **changes))

    def paused(self, state: ScheduleState) -> ScheduleDecision:
        """A user pauses the schedule."""
        return ScheduleDecision(changed(state, paused=True, why=""))

    def resumed(self, state: ScheduleState, now_ms: int) -> ScheduleDecision:
        """A user resumes the schedule. The times that passed in the pause are not met."""
        if not state.paused:
            return ScheduleDecision(state)
        next_ms = None if state.next_ms is None else self.definition.spec.after(now_ms - 1)
        return ScheduleDecision(changed(state, paused=False, why="", next_ms=next_ms))

    def triggered(self, state: ScheduleState, overlap: str | None, now_ms: int) -> ScheduleDecision:
        """A user asks for a run at once, under the schedule's policy or another one."""
        return self._asked(state, [now_ms], overlap or self.definition.overlap)

    def backfilled(
        self, state: ScheduleState, period_ms: tuple[int, int], overlap: str | None
    ) -> ScheduleDecision:
        """A user asks for a run at each time of a period, both ends included; `allow_all` by default.

        Raises:
            InvalidError: the period is empty, or has too many times.
        """
        from_ms, to_ms = period_ms
        if to_ms < from_ms:
            raise InvalidError("the field 'to' must not be before 'from'")
        times: list[int] = []
        work = Work()
        for at_ms in self.definition.spec.upcoming(from_ms - 1, to_ms, work):
            times.append(at_ms)
            if work.done > BACKFILL_WORK:
                raise InvalidError(
                    "the times of the period from 'from' to 'to' are too hard to find: backfill a shorter period"
                )
            if len(times) + len(state.waiting) > BACKFILL:
                raise InvalidError(
                    f"the period from 'from' to 'to' has too many times: with those that wait already, "
                    f"{BACKFILL} at most. Backfill a shorter period, and wait for its runs"
                )
        return self._asked(state, times, overlap or ALLOW_ALL)

    def _asked(self, state: ScheduleState, times: list[int], overlap: str) -> ScheduleDecision:
        number = state.numbers + 1
        deciding = _Deciding(self.definition, changed(state, numbers=number))
        for at_ms in times:
            deciding.meets(Waiting(at_ms, overlap, number))
        return deciding.decision()


class _Deciding:
    """A decision that is being made."""

    def __init__(self, definition: ScheduleDefinition, state: ScheduleState) -> None:
        self._definition, self.state = definition, state
        self.start: ScheduledStart | None = None
        self._stop = ""

    def change(self, **fields: Any) -> None:
        self.state = changed(self.state, **fields)

    def decision(self) -> ScheduleDecision:
        return ScheduleDecision(self.state, self.start, self._stop)

    def counts_down(self) -> None:
        """One of the limited number of times has been met."""
        if self.state.left is not None:
            left = self.state.left - 1
            self.change(left=left, next_ms=self.state.next_ms if left else None)

    def meets(self, time: Waiting) -> bool:
        """Meets a time under its policy. Returns True if it has a run, or will have one."""
        waiting = self.state.waiting
        queued = sum(each.overlap != ALLOW_ALL for each in waiting)
        if time.overlap == ALLOW_ALL and self.start is not None:
            self.change(waiting=(*waiting, time))  # one run starts at a time
            return True
        if time.overlap == ALLOW_ALL or not self.state.open:
            self.begin(time)
            return True
        if time.overlap == SKIP or (time.overlap == BUFFER_ONE and queued):
            self.change(skipped=self.state.skipped + 1)
            return False
        if time.overlap in STOPS:
            self._replaces(time)
            return True
        if queued >= BUFFER:
            self.change(dropped=self.state.dropped + 1)
            return False
        self.change(waiting=(*waiting, time))
        return True

    def _replaces(self, time: Waiting) -> None:
        """The open runs are asked to stop; of the times that wait for their end, only the newest remains."""
        stop = STOPS[time.overlap]
        if self.state.stopping not in (stop, TERMINATE):
            self._stop = stop
            self.change(stopping=stop)
        kept = tuple(each for each in self.state.waiting if each.overlap == ALLOW_ALL)
        skipped = self.state.skipped + len(self.state.waiting) - len(kept)
        self.change(waiting=(*kept, time), skipped=skipped)

    def begin(self, time: Waiting) -> None:
        """Starts a run for a time."""
        definition, state = self._definition, self.state
        name = run_name(definition.id, time)
        params = dict(definition.input)
        if time.overlap != ALLOW_ALL:
            known = {LAST_RESULT: state.result, LAST_FAILURE: state.failure}
            params |= {member: value for member, value in known.items() if value is not None}
        self.start = ScheduledStart(name, time.at_ms, time.number > 0, params)
        self.change(open=(*state.open, ScheduledRun(name=name, at_ms=time.at_ms)))


def _small(value: JSON) -> JSON:
    """A value that is given to the next run; None if it is too large for that."""
    return value if len(json.dumps(value)) <= RESULT_CHARS else None


def run_name(id: str, time: Waiting) -> str:
    """The id of the run of a time: `{id}-{instant in UTC}`, with the number of the request that asked for it."""
    seconds, ms = divmod(time.at_ms, 1000)
    at = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    fraction = f".{ms:03}" if ms else ""
    asked = f"-{time.number}" if time.number else ""
    return f"{id}-{at}{fraction}Z{asked}"
