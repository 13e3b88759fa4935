"""Mocks: the results that stand for a state's work in a test, and the rules for them.

The texts are AWS', recorded or reported by others; where neither is known they are our own,
and marked as such.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeAlias

from ....errors import Error
from ....values import Success
from ..checking.jsontext import DepthError, TextError, read_json
from ..resources import integration, is_activity
from ..state_errors import failed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ....values import JSON, Outcome
    from ..documents import StateDoc
    from ..resources import Integration

    Fits = Callable[[Integration, JSON, bool], str | None]
    """Checks the shape of an integration's result; with `strict` it must be complete.

    Returns AWS' message if the shape is wrong.
    """

Request: TypeAlias = "Mapping[str, Any]"
"""A request of TestState or a part of it, with the types of AWS' model."""

MOCKED: Final = ("Task", "Map", "Parallel")
ENCLOSING: Final = ("Map", "Parallel")
ALONE: Final = (
    "TestState API does not support Map or Parallel states. Supported state types include: "
    "[Task, Wait, Pass, Succeed, Fail, Choice]"
)


class RefusedTestError(Error):
    """A test that AWS would refuse, with its code and message."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code, self.message = code, message


def invalid(message: str) -> RefusedTestError:
    """The refusal of parameters that do not go together."""
    return RefusedTestError("ValidationException", message)


def check_unmocked(state: StateDoc, *, role: bool) -> None:
    """Checks that a state without a mock can be tested; `role` is True if the request has one.

    Raises:
        RefusedTestError: it cannot.
    """
    if state["Type"] in ENCLOSING:
        raise RefusedTestError("InvalidDefinition", ALONE)
    if state["Type"] != "Task":
        return
    resource: str = state["Resource"]
    service = integration(resource)
    if is_activity(resource):  # our words
        raise RefusedTestError(
            "InvalidDefinition", "TestState API does not support Activity tasks."
        )
    if service is not None and service.pattern:
        text = "TestState API does not support '.sync' or '.waitForTaskToken' integration patterns."
        raise RefusedTestError("InvalidDefinition", text)
    if not role:
        raise invalid("RoleArn must be specified when testing a Task state")


_TEXT, _COUNT = "a string", "a number"
CONTEXT: Final[dict[str, dict[str, str | None]]] = {  # members, and their types
    "Execution": {
        "Id": _TEXT, "Input": None, "Name": _TEXT, "RedriveCount": _COUNT, "RedriveTime": _TEXT, "RoleArn": _TEXT,
        "StartTime": _TEXT,
    },
    "State": {"EnteredTime": _TEXT, "Name": _TEXT, "RetryCount": _COUNT},
    "StateMachine": {"Id": _TEXT, "Name": _TEXT},
    "Task": {"Token": _TEXT},
}  # fmt: skip


def check_context(context: Mapping[str, JSON], state: StateDoc) -> None:
    """Checks that a given context object has known members only, of those that the state would see.

    Raises:
        RefusedTestError: it has others.
    """
    for name, part in context.items():
        if name == "Map":
            _no_context("'Map' field is not supported when mocking a Context object")
        if name not in CONTEXT:
            _no_context(f"Field '{name}' is not allowed")
        if name == "Task" and not _waits(state):
            _no_context(
                "Context object contains 'Task' when state is not a Task state with a '.sync' or "
                "'.waitForTaskToken' service integration pattern"
            )
        if not isinstance(part, dict):  # our words
            _no_context(f"{name} must be an object")
        for field, value in part.items():
            _check_member(name, field, value)


def _check_member(name: str, field: str, value: JSON) -> None:
    if field not in CONTEXT[name]:
        _no_context(f"Field '{field}' is not allowed")
    kind = CONTEXT[name][field]
    fits = isinstance(value, str) if kind == _TEXT else type(value) in (int, float)
    if kind is not None and not fits:
        _no_context(f"{name}.{field} must be {kind}")


def _waits(state: StateDoc) -> bool:
    service = integration(state["Resource"]) if state["Type"] == "Task" else None
    return service is not None and service.pattern != ""


def _no_context(why: str) -> NoReturn:
    raise invalid(f"Invalid Context object provided: {why}")


def mocked(state: StateDoc, mock: Request, fits: Fits, *, reveals: bool) -> Outcome:
    """The outcome in a mock of a state's work; `reveals` is True if the request asks for secrets.

    Raises:
        RefusedTestError: the mock does not fit the state.
    """
    if state["Type"] not in MOCKED:
        kind = state["Type"]
        raise invalid(f"State type '{kind}' is not supported when a mock is specified")
    if reveals:
        raise invalid("TestState does not support RevealSecrets when a mock is specified.")
    text, error = mock.get("result"), mock.get("errorOutput")
    if (text is None) == (error is None):
        raise invalid(
            "A test mock should have only one of the following fields: [result, errorOutput]."
        )
    if error is not None:
        if "error" not in error:
            raise invalid("An error was not specified in the mocked error output.")
        return failed(error["error"], error.get("cause"))
    result = _read(str(text))
    why = _flaw(state, result, mock.get("fieldValidationMode", "STRICT"), fits)
    if why is not None:
        raise invalid(why)
    output: Any = result  # any JSON value, where those of the DSL are objects
    return Success(output)


def _read(text: str) -> JSON:
    try:
        return read_json(text)
    except (DepthError, TextError):
        raise invalid("Mocked result must be valid JSON") from None


def _flaw(state: StateDoc, result: JSON, mode: str, fits: Fits) -> str | None:
    """The reason why the work of a state could not have such a result."""
    if state["Type"] == "Map" and "ResultWriter" in state:
        return None if isinstance(result, dict) else "Mocked result must be a JSON object."
    if state["Type"] in ENCLOSING:
        if not isinstance(result, list):
            return "Mocked result must be an array."
        if state["Type"] == "Parallel" and len(result) != len(state["Branches"]):
            return "Mocked result must contain the same number of items as number of Parallel branches."
        return None
    service = integration(state["Resource"])
    return None if service is None or mode == "NONE" else fits(service, result, mode == "STRICT")
