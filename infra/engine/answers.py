"""What an answer is to the machine, and what is kept of it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import orjson

from actions import BAD_RESPONSE, INTERNAL_ERROR, PAYLOAD_TOO_LARGE
from composer import (
    APPLICATION_ERROR,
    EXECUTION_FAILED,
    Changes,
    Completed,
    Entry,
    Failed,
    Failure,
    Success,
)
from composer import (
    CANCELLED as CANCELLED_CODE,
)

from .runs import CANCELLED, FAILED, SUCCEEDED

if TYPE_CHECKING:
    from actions import Completion, Opened, Write
    from composer import JSON, Outcome

    from .runs import Run

KEPT_LOGS = 100  # lines of a step that answers later, until it does


def broken(now_ms: int) -> Changes:
    text = "the conductor made a mistake; its log says which"
    failure = Failure(INTERNAL_ERROR, {"code": INTERNAL_ERROR, "message": text})
    detail = {"code": failure.code, "origin": None}
    entry = Entry(now_ms, "0", 0, EXECUTION_FAILED, detail, failure.error)
    return Changes(entries=[entry], outcome=failure)


def ticket_of(opened: Opened, completion: Completion) -> dict[str, JSON]:
    """What must be known of a step that is accepted, when it is answered."""
    return {
        "activation": opened.id,
        "action": str(opened.action.listed_as),
        "asked": opened.asked_ms,
        "started": completion.started_ms,
        "logs": completion.logs[-KEPT_LOGS:],
    }


def event_of(turn: int, outcome: Outcome, variables: JSON) -> Completed | Failed:
    if isinstance(outcome, Success):
        return Completed(turn, outcome.value, variables)
    if variables and outcome.code == APPLICATION_ERROR:
        return Completed(
            turn, {"error": outcome.error}, variables
        )  # what it had set by then counts
    return Failed(turn, outcome)


def status_in_words(outcome: Outcome) -> str:
    if isinstance(outcome, Success):
        return SUCCEEDED
    return CANCELLED if outcome.code == CANCELLED_CODE else FAILED


def within_limits(run: Run, completion: Completion, limit: int, write: Write) -> Completion:
    """The completion, or a failure when its result is too large or nests too deep."""
    if isinstance(completion.outcome, Failure):
        return completion
    value = completion.outcome.value
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
