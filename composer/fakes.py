"""Fakes of actions in a simulated world: the answers that they give, and the events that come of these."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from .errors import Error
from .machine.events import Completed, Failed, Heartbeat, Queued, Taken
from .machine.timeouts import deadlines
from .values import (
    APPLICATION_ERROR,
    Failure,
    Success,
    classes_of,
    copied,
    flaw,
)

if TYPE_CHECKING:
    from .machine.events import Event
    from .machine.frames import Frame
    from .values import JSON


class SimulationError(Error):
    """The test cannot be simulated: an action has no fake, or a fake has no answer left."""


class Fail(Exception):  # noqa: N818  an answer, which may also be raised
    """An answer: the action fails with this code and this error."""

    def __init__(self, code: str = APPLICATION_ERROR, error: JSON = None) -> None:
        super().__init__(code)
        self.code = code
        self.error: JSON = error
        if error is None:
            self.error = {"code": code, "message": "simulated"}


@dataclass(frozen=True, slots=True)
class Slow:
    """An answer that takes so many virtual seconds."""

    seconds: float
    answer: Any


@dataclass(frozen=True, slots=True)
class Never:
    """An answer that never comes: for timeouts and cancellation."""


@dataclass(frozen=True, slots=True)
class Beats:
    """An answer after a heartbeat, which the action sends with these details after so many virtual seconds."""

    seconds: float
    details: Any
    answer: Any


@dataclass(frozen=True, slots=True)
class Waits:
    """An answer of an action that first waits for a worker, so many virtual seconds; for ever if None."""

    seconds: float | None
    answer: Any = None


Fake: TypeAlias = Any
"""A JSON value, a Fail, Slow, Never, Beats or Waits, a list of those in turn, a function of the parameters, or a
composition, which is simulated too."""


@dataclass(frozen=True, slots=True)
class Left:
    """The result of an inline function, and the variables that it left."""

    value: JSON
    variables: dict[str, JSON]
    raised: tuple[str, ...] = ()


def event_of(name: str, answer: Any, turn: int) -> Completed | Failed | None:
    match answer:
        case Never():
            return None
        case Fail():
            return Failed(turn, Failure(answer.code, answer.error))
        case Failure():
            return Failed(turn, answer)
        case Success(value):
            return Completed(turn, value)
        case Left(value, variables, raised):
            left = plain(name, variables)
            return Completed(turn, plain(name, value), left, raised=raised)
    return Completed(turn, plain(name, answer))


def plain(name: str, answer: Any) -> Any:
    """The answer as a worker would write it: any dict as an object, any tuple as a list."""
    try:
        value = json.loads(json.dumps(answer, allow_nan=False))
        why = flaw(value)
    except (TypeError, ValueError, RecursionError) as error:
        why = str(error)
    if why:
        raise SimulationError(f"{name} answers with a value that is not JSON: {why}")
    return value


def held_up(
    answer: Beats | Waits, turn: int, at_ms: int
) -> tuple[int, Any, list[tuple[int, Event]]]:
    """When the answer comes, what it is then, and the events before it, each with its time."""
    if isinstance(answer, Waits):
        queued: tuple[int, Event] = (at_ms, Queued(turn))
        if answer.seconds is None:
            return at_ms, Never(), [queued]
        later_ms = at_ms + round(answer.seconds * 1000)
        return later_ms, answer.answer, [queued, (later_ms, Taken(turn))]
    later_ms = at_ms + round(answer.seconds * 1000)
    return later_ms, answer.answer, [(later_ms, Heartbeat(turn, copied(answer.details)))]


def computed(answer: Any, params: JSON) -> Any:
    """The answer of a function of the parameters."""
    try:
        return answer(copied(params))
    except Fail as fail:
        return fail
    except AssertionError:
        raise
    except Exception as error:  # noqa: BLE001  a worker would report it, too
        text = f"{type(error).__name__}: {error}"
        return Failure(APPLICATION_ERROR, text, classes_of(error))


def timed(run_timeout: float | None) -> tuple[Frame, ...]:
    """The frames of a run with a time limit in virtual seconds, if it has one."""
    return deadlines(0, None if run_timeout is None else round(run_timeout * 1000))


def context_object(input: JSON) -> dict[str, JSON]:
    """The context object of a simulated state machine."""
    place = "arn:aws:states:us-east-1:111111111111"
    return {
        "Execution": {
            "Id": f"{place}:execution:machine:simulation",
            "Input": input,
            "Name": "simulation",
            "RoleArn": "arn:aws:iam::111111111111:role/simulation",
            "StartTime": "1970-01-01T00:00:00.000Z",
            "RedriveCount": 0,
        },
        "StateMachine": {"Id": f"{place}:stateMachine:machine", "Name": "machine"},
    }
