"""Makes the messages to actions, executions and timers, and the events of their answers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ....composer import (
    APPLICATION_ERROR,
    LIMIT_EXCEEDED,
    Completed,
    Failed,
    Failure,
    Fiber,
    classes_told,
    copied,
    failure,
    flaw,
    outcome_to_json,
)
from .action_message import ActionMessage
from .execution_state import MARGIN_MS, ROOT, plain
from .ports import Invocation, Note, Record
from .records import About, Answered, Begin, Carried, Part, TimerDue, Token
from .user_code import BAD_RESPONSE, PAYLOAD_TOO_LARGE, VALUE_BYTES

if TYPE_CHECKING:
    from ....composer import JSON, Invoke, Spawn
    from .ports import Settings

CARRIED_BYTES = 80_000  # with a value and a token it fits 256 KB
MESSAGE_BYTES = 240_000  # of an action's: Lambda's events and SQS' messages have 256 KB
LONGEST_S = 900  # that SQS holds a message back


def invocation_of(
    record: Record, fiber: str, command: Invoke, settings: Settings, now_ms: int
) -> Invocation | Note:
    """The message to an action's wrapper; if it is too large, the failure that answers it."""
    assert command.action is not None  # noqa: S101  inline functions run in the conductor
    token, params = Token(execution=record.id, fiber=fiber, turn=command.turn), command.params
    message = ActionMessage(
        token=token.to_json(),
        params={**settings.parameters, **params} if isinstance(params, dict) else params,
        action=command.action,
        activation=command.activation,
        key=command.key or command.activation,
        deadline_ms=now_ms + settings.timeout_ms,
        until_ms=now_ms + settings.timeout_ms + MARGIN_MS,
    ).to_json()
    if (size := len(json.dumps(message))) > MESSAGE_BYTES:
        text = (
            f"the parameters of {command.action}, with its default parameters, take {size} bytes, and a message holds "
            f"at most {MESSAGE_BYTES}: pass less, or a reference to the data"
        )
        outcome = outcome_to_json(failure(LIMIT_EXCEEDED, text), plain)
        return Note(message=Answered(token=token, outcome=outcome).to_json())
    return Invocation(action=command.action, message=message)


def carried(record: Record, invocation: Invocation) -> dict[str, JSON] | None:
    """The whole state, to go with a token; None if there are more fibers than one, or it is large."""
    if record.fibers.keys() != {ROOT}:
        return None
    row = record.fibers[ROOT]
    state = Carried(version=record.version, about=record.about, row=row).to_json()
    size = len(json.dumps(state))
    if size > CARRIED_BYTES or size + len(json.dumps(invocation.message)) > MESSAGE_BYTES:
        return None
    return state


def record_of(answer: Answered) -> Record | None:
    """The execution that an answer has brought back."""
    state = answer.carried
    if state is None:
        return None
    return Record(
        id=answer.token.execution,
        version=state.version,
        about=state.about,
        fibers={ROOT: state.row},
    )


def begun_step(record: Record, fiber: str, command: Invoke) -> Begin:
    """Begins the nested execution that a step invokes."""
    assert command.action is not None  # noqa: S101  it names a composition
    return Begin(
        execution=command.activation,
        composition=command.action,
        begins=command.params,
        reply=Token(execution=record.id, fiber=fiber, turn=command.turn),
        depth=About.from_json(record.about).depth + 1,
    )


def begun_part(record: Record, command: Spawn) -> Begin:
    """Begins a part of a composition that nobody waits for."""
    part = Fiber(id=ROOT, pc=command.pc, value=command.value, frames=command.frames)
    about = About.from_json(record.about)
    return Begin(
        execution=command.activation,
        composition=about.composition,
        begins=Part(program=about.program, fiber=part.to_json(plain)),
        depth=about.depth,
    )


def timer_note(timer: TimerDue, now_ms: int, longest_s: int) -> Note:
    """A message that comes when a timer is due, or as late as a queue can hold it back."""
    seconds = max(0, -(-(timer.at_ms - now_ms) // 1000))
    return Note(message=timer.to_json(), delay_s=min(seconds, longest_s))


def event_of(turn: int, outcome: JSON) -> Completed | Failed:
    """The event that an outcome is to the fiber that waits for it in this turn."""
    checked = _checked(outcome)
    code, variables = checked.get("code"), checked.get("variables")
    kept = variables if isinstance(variables, dict) else None
    raised = classes_told(checked.get("raised"))
    if "code" not in checked:
        return Completed(turn, checked["value"], kept)
    if kept and code == APPLICATION_ERROR:
        error: JSON = {"error": checked["error"]}
        return Completed(turn, error, kept, raised=raised)  # the variables it set count
    return Failed(turn, Failure(str(code), checked["error"], raised))


def variables_of(command: Invoke) -> dict[str, JSON]:
    """A copy of the variables that an inline function sees."""
    return {name: copied(value) for name, value in (command.variables or {}).items()}


def _checked(outcome: JSON) -> dict[str, JSON]:
    """The outcome, or a failure if no wrapper can have made it."""
    if not (
        isinstance(outcome, dict) and ("value" in outcome or {"code", "error"} <= outcome.keys())
    ):
        return {"code": BAD_RESPONSE, "error": "The answer does not come from an action's wrapper."}
    if why := flaw(outcome):
        text = f"The action did not produce a valid JSON response: {why}"
        return {"code": BAD_RESPONSE, "error": text}
    if (size := len(json.dumps(outcome))) > 2 * VALUE_BYTES:
        text = f"The action produced a response that exceeded the allowed length: {size} bytes."
        return {"code": PAYLOAD_TOO_LARGE, "error": text}
    return outcome
