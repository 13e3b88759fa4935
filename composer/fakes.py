"""Fakes of actions in a simulated world: the answers that they give, and the events that come of these."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from .errors import Error
from .machine.events import Completed, Failed
from .values import APPLICATION_ERROR, Failure, Success, flaw

if TYPE_CHECKING:
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


Fake: TypeAlias = Any
"""A JSON value, a Fail, Slow or Never, a list of those in turn, a function of the parameters, or a
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
