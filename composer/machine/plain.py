"""The machine's own dialect, which the DSL speaks: no instruction, frame or word but the machine's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..values import (
    EXPRESSION_ERROR,
    LIMIT_EXCEEDED,
    Failure,
    classes_told,
    failure,
    measured,
)
from . import history, timeouts
from .dialect import SILENT
from .events import Acquired, Completed, Failed, Resolved, Resumed, TimerFired
from .operations import OPERATIONS
from .sagas.operations import doubt, is_unknown, take_logs, with_doubt
from .steps import COMMANDS, inspect
from .transactions.operations import asks_entity

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ..values import JSON
    from .cursor import Cursor, Reaction
    from .dialect import (
        BoundsReader,
        CommandMaker,
        Dialect,
        FrameUnwinder,
        Moment,
        Narration,
        Operation,
        Started,
    )
    from .events import Accepted, Event, Joined
    from .frames import Deadline, Frame, OwnFrame
    from .history import StoredEntry
    from .waits import Joining


class Plain:
    """Composer's rules: a result with an `error` field is a failure, and every result is an object."""

    name = ""
    mark: type[Any] | None = None
    operations: Mapping[type[Any], Operation] = OPERATIONS
    commands: Mapping[type[Any], CommandMaker] = COMMANDS
    forks: Mapping[type[Any], BoundsReader] = {}
    frames: Mapping[type[OwnFrame], FrameUnwinder] = {}
    numbers = False
    introduces = False
    integrates = False

    def begun(self, context: dict[str, JSON]) -> tuple[Frame, ...]:  # noqa: ARG002
        return ()

    def accepted(self, cursor: Cursor, event: Accepted) -> None:  # noqa: ARG002
        cursor.note(history.STEP_ACCEPTED)
        timeouts.taken(cursor)

    def completed(self, cursor: Cursor, event: Completed) -> Failure | None:
        cursor.value = event.value
        failed = inspect(cursor, event.raised)
        detail: dict[str, JSON] = {"variables": event.variables} if event.variables else {}
        if event.remote is not None:
            detail["remote"] = event.remote
        if failed is not None:
            cursor.note(history.STEP_FAILED, {**failed.detail, **detail}, failed.error)
        else:
            cursor.note(history.STEP_SUCCEEDED, detail, cursor.value)
        if event.variables and (unknown := cursor.assign(event.variables)):
            return failure(EXPRESSION_ERROR, f"no enclosing let declares {unknown!r}")
        return failed

    def failed(self, cursor: Cursor, event: Failed) -> Failure:
        detail: dict[str, JSON] = event.failure.detail
        if event.remote is not None:
            detail |= {"ran": event.may_have_run, "remote": event.remote}
        cursor.note(history.STEP_FAILED, detail, event.failure.error)
        failed = with_doubt(cursor, event.failure)
        unknown = (
            is_unknown(failed) if event.may_have_run is None else event.may_have_run == "unknown"
        )
        if unknown and not asks_entity(cursor):
            doubt(cursor)
        return failed

    def joined(self, cursor: Cursor, event: Joined, wait: Joining) -> Reaction:
        failed = event.outcome if isinstance(event.outcome, Failure) else None
        cursor.note(history.JOINED, failed.detail if failed else None)
        take_logs(cursor, event.logs)
        if not cursor.count_steps(event.steps):
            return None
        reason = wait.unwind_reason or failed
        if reason is not None:
            cursor.origin = cursor.turn
            return reason
        limit = cursor.limits.value_bytes
        if measured(event.outcome.value, limit) > limit:
            text = f"the results of the fork make a value of more than {limit} bytes"
            return failure(LIMIT_EXCEEDED, text)
        cursor.value = event.outcome.value
        return None

    def expired(self, cursor: Cursor, deadline: Deadline) -> Failure:  # noqa: ARG002
        return timeouts.expired(deadline)

    def narrate(self, moment: Moment) -> Narration:  # noqa: ARG002
        return SILENT

    def replayed(self, entry: StoredEntry) -> Event | Started | None:
        match entry["type"]:
            case history.STEP_SUCCEEDED:
                return Completed(entry["turn"], entry["value"], entry.get("variables"))
            case history.STEP_FAILED if "variables" in entry:
                raised = classes_told(entry.get("raised"))
                error, variables = {"error": entry["value"]}, entry["variables"]
                return Completed(entry["turn"], error, variables, raised=raised)
            case history.STEP_FAILED:
                raised = classes_told(entry.get("raised"))
                return Failed(entry["turn"], Failure(entry["code"], entry["value"], raised))
            case history.TIMER_FIRED | history.TIMED_OUT:
                return TimerFired()
            case history.LIMIT_ENTERED:
                return Acquired(entry["turn"], entry["limit"])
            case history.RESUMED:
                return Resumed(entry.get("value"))
            case history.RESOLVED:
                return Resolved(entry["how"], entry["value"])
        return None


PLAIN: Final[Dialect] = Plain()
