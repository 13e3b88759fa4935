"""From the completion of a step to the event for its fiber and the ticket or status that is stored."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import orjson

from ...actions import (
    BAD_RESPONSE,
    FAILURES,
    HERE,
    INTERNAL_ERROR,
    LOST,
    PAYLOAD_TOO_LARGE,
    Remoted,
    log_tail,
)
from ...composer import (
    APPLICATION_ERROR,
    CLOSED,
    EXECUTION_FAILED,
    MESSAGE_DROPPED,
    RUN_TIMED_OUT,
    UPDATE_FAILED,
    Accepted,
    Changes,
    Completed,
    Entry,
    Failed,
    Failure,
    InboxChanges,
    Invoking,
    Settled,
    Success,
    failure,
)
from ...composer import (
    CANCELLED as CANCELLED_CODE,
)
from .live import CANCELLED, FAILED, SUCCEEDED, TIMED_OUT
from .tickets import Ticket

if TYPE_CHECKING:
    from ...actions import Action, Completion, MayHaveRun, Opened, Write
    from ...composer import JSON, Outcome
    from .hooks import Hooks
    from .live import ActiveInvocation, LiveExecution

ACTIVITY = "activity"  # the kind of actions that outside workers poll for
KEPT_LOGS = 100  # lines of a step that answers later, until it does


def broken(now_ms: int, failure: Failure | None = None) -> Changes:
    """An execution ends by a failure that its program did not make: a mistake of ours, if none is given."""
    if failure is None:
        text = "the conductor made a mistake; its log says which"
        failure = Failure(INTERNAL_ERROR, {"code": INTERNAL_ERROR, "message": text})
    detail: dict[str, JSON] = {"code": failure.code, "origin": None}
    entry = Entry(now_ms, "0", 0, EXECUTION_FAILED, detail, failure.error)
    return Changes(entries=[entry], outcome=failure)


def broken_run(run: LiveExecution, now_ms: int, lost: InboxChanges | None = None) -> Changes:
    """An execution under way ends by a mistake of ours, and drops the messages that it has not received.

    `lost` are changes of its inbox that are not stored.
    """
    changes, inbox = broken(now_ms), run.execution.inbox
    for asked in run.execution.updates.values():
        text = f"update '{asked.name}' was not answered: the execution ended before its handler had ended"
        lost_update = failure(CLOSED, text)
        about: dict[str, JSON] = {"name": asked.name, "update": asked.update, **lost_update.detail}
        changes.entries.insert(0, Entry(now_ms, "0", 0, UPDATE_FAILED, about, lost_update.error))
        changes.updates.append(Settled(asked.update, asked.name, lost_update))
    if inbox is None:
        return changes
    inbox.drop_all()
    queued = inbox.flush()
    known = (*(lost.gone if lost else ()), *(queued.gone if queued else ()))
    if known:
        numbers: list[JSON] = [*sorted(set(known))]
        detail: dict[str, JSON] = {"messages": numbers, "why": "closed"}
        changes.entries.insert(0, Entry(now_ms, "0", 0, MESSAGE_DROPPED, detail))
        changes.messages = InboxChanges((), known)
    return changes


def ticket_for(run: LiveExecution, active: ActiveInvocation, completion: Completion) -> Ticket:
    """The ticket of a step that was accepted.

    In a numbered history the language narrates the acceptance, too: it reads the `result` from the ticket,
    or the `worker` that took the step.
    """
    opened, remote = active.opened, None
    if completion.ticket is None:
        ran_ms = completion.ended_ms - completion.started_ms
        remote = completion.remote or Remoted(HERE, ran_ms=ran_ms, billed_ms=ran_ms)
        remote = replace(remote, later=True)
    narrated: dict[str, JSON] = {}
    if run.execution.program.dialect.numbers:
        given = completion.outcome.value
        narrated = {"result": given}
        if active.kind == ACTIVITY and isinstance(given, dict):
            narrated = given
    return Ticket(
        activation=opened.id,
        action=str(opened.action.listed_as),
        asked_ms=opened.asked_ms,
        started_ms=completion.started_ms,
        logs=completion.logs[-KEPT_LOGS:],
        kind=None if completion.ticket is None else active.kind,
        poll=completion.ticket or {},
        remote=remote,
        narrated=narrated,
    )


def is_asked_to_stop(run: LiveExecution, fiber: str) -> bool:
    """True if a fiber that waits for a child has asked the child to stop."""
    found = run.execution.fibers.get(fiber)
    wait = None if found is None else found.wait
    return isinstance(wait, Invoking) and wait.unwind_reason is not None


def event_of(turn: int, completion: Completion) -> Completed | Failed:
    """The event that it is to the fiber that waits for it."""
    outcome, variables, remote = completion.outcome, completion.variables, completion.elsewhere
    if isinstance(outcome, Success):
        return Completed(turn, outcome.value, variables, remote)
    if variables and outcome.code == APPLICATION_ERROR:
        # what it had set by then counts
        return Completed(turn, {"error": outcome.error}, variables, raised=outcome.raised)
    may_have_run = completion.may_have_run
    if may_have_run is None and outcome.code in (BAD_RESPONSE, PAYLOAD_TOO_LARGE):
        may_have_run = "unknown"  # it may have done all that it was to do, but for telling so
    return Failed(turn, outcome, may_have_run, remote)


def log_of(opened: Opened, completion: Completion) -> str:
    """The end of a run's log, as Lambda answers with it."""
    ran_ms = completion.ended_ms - completion.started_ms
    return log_tail(opened.action, opened.id, ran_ms, completion.logs)


def taken_or_done(
    turn: int, run: LiveExecution, active: ActiveInvocation, completion: Completion
) -> Accepted | Completed | Failed:
    """The event that a nested execution's end is to the fiber that waits for it."""
    if active.later and isinstance(completion.outcome, Success):
        return Accepted(turn, ticket_for(run, active, completion).to_json())
    return event_of(turn, completion)


def in_doubt(
    run: LiveExecution,
    fiber: str,
    turn: int,
    failed: Failure,
    may_have_run: MayHaveRun | None = None,
) -> Failure:
    """A step of a saga or a transaction that cannot be sent again may have been done before.

    `may_have_run` is known better than by the code of the failure.
    """
    kind = FAILURES.get(failed.code)
    sent = (fiber, turn) in run.resent and run.execution.program.spans
    if not sent or kind is None or (may_have_run or kind.may_have_run) != "no":
        return failed
    text = "It was sent before the server stopped, and may have run; it cannot be sent again."
    return Failure(LOST, {"code": LOST, "message": text, "cause": failed.error})


def may_have_run(event: Failed) -> bool:
    """True if nobody knows whether a step that failed has had an effect."""
    if event.may_have_run is not None:
        return event.may_have_run == "unknown"
    kind = FAILURES.get(event.failure.code)
    return kind is not None and kind.may_have_run == "unknown"


def status_in_words(outcome: Outcome, hooks: Hooks) -> str:
    """The status of an execution with this outcome."""
    if isinstance(outcome, Success):
        return SUCCEEDED
    if outcome.code == RUN_TIMED_OUT or hooks.timed_out(outcome):
        return TIMED_OUT
    return CANCELLED if outcome.code == CANCELLED_CODE else FAILED


def within_limits(
    run: LiveExecution, completion: Completion, limit: int, write: Write
) -> Completion:
    """The completion, or a failure when its result is too large or nests too deep."""
    if isinstance(completion.outcome, Failure):
        return completion
    value = completion.outcome.value
    text = completion.text
    if text is None:
        try:
            text = orjson.dumps(value)
        except (TypeError, ValueError) as error:
            why = f"The action did not produce a valid JSON response: {error}"
            return replace(completion, outcome=Failure(BAD_RESPONSE, why))
    if len(text) <= limit:
        if not run.origin.express:
            run.keep(value, write, text)
        return completion
    why = (
        f"The action produced a response that exceeded the allowed length: {len(text)} > "
        f"{limit} bytes."
    )
    return replace(completion, outcome=Failure(PAYLOAD_TOO_LARGE, why))


def lost_text(action: Action) -> str:
    """Why a step that was under way at a crash is not sent again."""
    if action.at_most_once:
        return "The server stopped while the action ran, and it may run only once."
    return (
        f"The server stopped while the function was being invoked, so it may or may not have run. It is not "
        f"invoked again: nothing says that running it twice is harmless. If it is, annotate {action.name} 'idempotent'."
    )
