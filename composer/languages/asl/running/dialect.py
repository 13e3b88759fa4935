"""The dialect of the States Language: its meaning of the machine's moments, see `composer.machine.dialect`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias, assert_never

from ....machine import history
from ....machine.dialect import (
    SILENT,
    AskedAgain,
    Ended,
    MemberFailed,
    Narration,
    Redriven,
    Started,
)
from ....machine.events import Completed
from ....machine.frames import quiet
from ....machine.plain import PLAIN
from . import branches, handlers, task_outcomes
from .frames import InState, Machine
from .history import about, ended, scheduled, started
from .instructions import BeginMachine, InvokeState, MapState
from .iterations import iteration_details, iterations
from .operations import RUNNING, invocation
from .view import machine_frames

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ....machine.cursor import Cursor, Reaction
    from ....machine.dialect import (
        BoundsReader,
        CommandMaker,
        Dialect,
        FrameUnwinder,
        Moment,
        Operation,
    )
    from ....machine.events import Accepted, Event, Failed, Joined
    from ....machine.frames import Deadline, Frame, OwnFrame
    from ....machine.unwind_reasons import UnwindReason
    from ....machine.waits import Joining
    from ....values import Failure
    from .frames import ContextObject

HistoryEntry: TypeAlias = "dict[str, Any]"
"""An entry of a history as it was stored: `type`, `turn`, `value`, and the details that were written with it."""


def _passed(_cursor: Cursor, _frame: Machine, reason: UnwindReason) -> UnwindReason:
    return reason


class States:
    """The dialect of state machines: their history is numbered as on AWS, and they have a context object."""

    name = "states"
    mark: type[Any] | None = BeginMachine
    operations: Mapping[type[Any], Operation] = {**PLAIN.operations, **RUNNING}
    commands: Mapping[type[Any], CommandMaker] = {**PLAIN.commands, InvokeState: invocation}
    forks: Mapping[type[Any], BoundsReader] = {MapState: iterations}
    frames: Mapping[type[OwnFrame], FrameUnwinder] = {
        Machine: _passed,
        InState: handlers.retry_or_catch,
    }
    numbers = True
    introduces = True
    integrates = True

    def begun(self, context: ContextObject) -> tuple[Frame, ...]:
        return machine_frames(context)

    def accepted(self, cursor: Cursor, event: Accepted) -> None:
        task_outcomes.accepted(cursor, event)

    def completed(self, cursor: Cursor, event: Completed) -> Failure | None:
        return task_outcomes.completed(cursor, event)

    def failed(self, cursor: Cursor, event: Failed) -> Failure:
        return task_outcomes.failed_task(cursor, event)

    def joined(self, cursor: Cursor, event: Joined, wait: Joining) -> Reaction:
        return branches.joined(cursor, event, wait)

    def expired(self, cursor: Cursor, deadline: Deadline) -> Failure:
        return task_outcomes.timed_out(cursor, deadline)

    def narrate(self, moment: Moment) -> Narration:
        match moment:
            case Started(frames):
                event = ("ExecutionStarted", started(frames))
                return Narration((event,), tuple(about(frames).items()))
            case Redriven(generation):
                return Narration((("ExecutionRedriven", {"redriveCount": generation}),))
            case AskedAgain(cursor):
                return Narration(tuple(scheduled(cursor)))
            case MemberFailed():
                return _member_failed(moment)
            case Ended(outcome):
                return Narration((ended(outcome),))
            case _:
                assert_never(moment)

    def replayed(self, entry: HistoryEntry) -> Event | Started | None:
        match entry["type"]:
            case history.EXECUTION_STARTED:
                return Started(_begun(entry))
            case history.STEP_SUCCEEDED if entry.get("payload"):
                answer = entry["value"]  # the response of Lambda is put around its payload again
                log = answer.get("LogResult")
                return Completed(entry["turn"], answer["Payload"], log=log)
        return PLAIN.replayed(entry)


def _member_failed(moment: MemberFailed) -> Narration:
    about = None
    if isinstance(moment.instruction, MapState) and not quiet(moment.frames):
        about = iteration_details(moment.instruction, moment.index)
    return SILENT if about is None else Narration((("MapIterationFailed", about),))


def _begun(entry: HistoryEntry) -> tuple[Frame, ...]:
    """The frames that a state machine began with, from the first entry of its history."""
    if "context" not in entry:
        return ()
    context: ContextObject = entry["context"]
    return machine_frames(
        {**context, "Execution": {**context["Execution"], "Input": entry["value"]}}
    )


STATES: Final[Dialect] = States()
