"""The messages between the conductor, the wrappers of actions, and the conductor again. All JSON."""

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
    failure,
    flaw,
    outcome_to_json,
)
from .ports import Invocation, Note, Record
from .running import BAD_RESPONSE, PAYLOAD_TOO_LARGE, VALUE_BYTES
from .states import MARGIN_MS, ROOT, plain

if TYPE_CHECKING:
    from ....composer import JSON, Invoke, Spawn
    from .ports import Settings

CARRIED_BYTES = 80_000  # with a value and a token it fits 256 KB
MESSAGE_BYTES = 240_000  # of an action's: Lambda's events and SQS' messages have 256 KB
LONGEST_S = 900  # that SQS holds a message back


def invocation_of(
    record: Record, fiber: str, command: Invoke, settings: Settings, now_ms: int
) -> Invocation | Note:
    """What an action's wrapper is sent; if that is too large, what the wrapper would answer."""
    assert command.action is not None  # noqa: S101  inline functions run in the conductor
    message: dict[str, JSON] = {
        "token": {"execution": record.id, "fiber": fiber, "turn": command.turn},
        "params": {**settings.parameters, **command.params}
        if isinstance(command.params, dict)
        else command.params,
        "action": command.action,
        "activation": command.activation,
        "key": command.key or command.activation,
        "deadline": now_ms + settings.timeout_ms,
        "until": now_ms + settings.timeout_ms + MARGIN_MS,
    }
    if (size := len(json.dumps(message))) > MESSAGE_BYTES:
        text = (
            f"the parameters of {command.action}, with its default parameters, make a message of {size} bytes, of "
            f"at most {MESSAGE_BYTES}: pass less, or a reference to where the data is"
        )
        return Note(
            message=replied(message["token"], outcome_to_json(failure(LIMIT_EXCEEDED, text), plain))
        )
    return Invocation(action=command.action, message=message)


def carried(record: Record, invocation: Invocation) -> dict[str, JSON] | None:
    """The whole state, to go with a token; None when there is more of it than one fiber, or it is large."""
    if record.fibers.keys() != {ROOT}:
        return None
    state = {"version": record.version, "about": record.about, "row": record.fibers[ROOT]}
    size = len(json.dumps(state))
    if size > CARRIED_BYTES or size + len(json.dumps(invocation.message)) > MESSAGE_BYTES:
        return None
    return state


def record_of(message: dict[str, JSON]) -> Record | None:
    """The execution that a message has brought back."""
    state = message.get("carried")
    if state is None:
        return None
    return Record(
        id=message["token"]["execution"],
        version=state["version"],
        about=state["about"],
        fibers={ROOT: state["row"]},
    )


def begun_step(record: Record, fiber: str, command: Invoke) -> dict[str, JSON]:
    """Begins the execution that a step is."""
    return {
        "is": "begin",
        "execution": command.activation,
        "composition": command.action,
        "params": command.params,
        "reply": {"execution": record.id, "fiber": fiber, "turn": command.turn},
        "depth": record.about["depth"] + 1,
    }


def begun_part(record: Record, command: Spawn) -> dict[str, JSON]:
    """Begins a part of a composition that nobody waits for."""
    part = Fiber(id=ROOT, pc=command.pc, value=command.value, frames=command.frames)
    return {
        "is": "begin",
        "execution": command.activation,
        "composition": record.about["composition"],
        "program": record.about["program"],
        "fiber": part.to_json(plain),
        "depth": record.about["depth"],
    }


def replied(token: dict[str, JSON], outcome: dict[str, JSON] | None) -> dict[str, JSON]:
    """What an execution that is a step of another tells at its end."""
    return {"is": "completed", "token": token, "outcome": outcome}


def timer_note(execution: str, fiber: str, at_ms: int, now_ms: int) -> Note:
    """A message that comes when a timer is due, or as late as one can be held back."""
    message = {"is": "timer", "execution": execution, "fiber": fiber, "at": at_ms}
    seconds = max(0, -(-(at_ms - now_ms) // 1000))
    return Note(message=message, delay_s=min(seconds, LONGEST_S))


def event_of(turn: int, outcome: dict[str, JSON]) -> Completed | Failed:
    """What an outcome is to the fiber that waits for it in this turn."""
    outcome = _checked(outcome)
    variables = outcome.get("variables")
    if "code" not in outcome:
        return Completed(turn, outcome["value"], variables)
    if variables and outcome["code"] == APPLICATION_ERROR:
        return Completed(turn, {"error": outcome["error"]}, variables)  # what it had set counts
    return Failed(turn, Failure(outcome["code"], outcome["error"]))


def _checked(outcome: JSON) -> dict[str, JSON]:
    """The outcome, or a failure when it is none that a wrapper makes."""
    if not (
        isinstance(outcome, dict) and ("value" in outcome or {"code", "error"} <= outcome.keys())
    ):
        return {"code": BAD_RESPONSE, "error": "The answer of the action is none of a wrapper's."}
    if why := flaw(outcome):
        text = f"The action did not produce a valid JSON response: {why}"
        return {"code": BAD_RESPONSE, "error": text}
    if (size := len(json.dumps(outcome))) > 2 * VALUE_BYTES:
        text = f"The action produced a response that exceeded the allowed length: {size} bytes."
        return {"code": PAYLOAD_TOO_LARGE, "error": text}
    return outcome
