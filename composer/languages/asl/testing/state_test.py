"""TestState: one state of a definition, run by itself, by the request of AWS' API of that name.

https://docs.aws.amazon.com/step-functions/latest/apireference/API_TestState.html
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias, final

from ....freezing import frozen
from ....values import Failure, measured
from ..checking.diagnostics import diagnose, diagnose_state, errors, refusal
from ..checking.graph import nested
from ..checking.jsontext import DepthError, TextError, read_checked, read_json
from ..checking.structures import language_of
from ..jsonpath.texts import json_text
from ..lowering import state_text
from ..running.compiled import state_of
from ..running.history import error_details
from ..running.view import instant
from ..state_errors import details_of, failed
from .mocks import RefusedTestError, check_context, check_unmocked, invalid, mocked
from .single_state import Given, MismatchError, SingleState, TaskRequest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ....values import JSON, Outcome
    from ..checking.diagnostic import Hooks, Language
    from ..documents import Definition, StateDoc
    from ..running.frames import ContextObject
    from .mocks import Fits, Request
    from .single_state import StateResult

Answer: TypeAlias = "dict[str, JSON]"

ALONE = "StateName"  # the name of a state without a definition around it
MAX_SHOWN = (
    262_144  # bytes of a member of inspectionData, about: of more, AWS' clients would not take it
)
_NUMBERS = ("maxConcurrency", "toleratedFailureCount", "toleratedFailurePercentage")


@final
@frozen
class Surroundings:
    """The surroundings of a test: its server, its time, and the names in its context object.

    Args:
        hooks: the questions of a definition's checks.
        fits: checks the shape of a mocked result.
        run: the context object's `Execution`, without its input and its time, and `StateMachine`.
        id: the seed of chance.
        now_ms: the time.
    """

    hooks: Hooks
    fits: Fits
    run: ContextObject
    id: str
    now_ms: int


@final
@frozen
class StateTest:
    """A test that waits for its Task to be performed: `finish` it with the outcome."""

    task: TaskRequest
    single: SingleState
    request: Request
    given: Given

    def finish(self, outcome: Outcome) -> Answer:
        """The answer; a failure has the `Error` and `Cause` of its error, if there are any."""
        if isinstance(outcome, Failure):
            error = details_of(outcome)
            outcome = failed(error.get("Error", outcome.code), error.get("Cause"))
        return _answer(self.request, self.given, self.single, self.single.finish(outcome))


def begin_test(request: Request, input: JSON, around: Surroundings) -> Answer | StateTest:
    """Begins a test. Returns the answer of TestState, or a test that waits for a task.

    Args:
        request: the request of TestState, with the types of AWS' model.
        input: the state's input, which the request has as text.
        around: the surroundings of the test.

    Raises:
        RefusedTestError: AWS would refuse the request.
    """
    state, name, language, in_map = _tested(request, around.hooks)
    execution: ContextObject = {"Input": input, "StartTime": instant(around.now_ms)}
    run: ContextObject = {**around.run, "Execution": {**around.run["Execution"], **execution}}
    if in_map:
        run["Map"] = {"Item": {"Index": 0, "Value": input}}
    configured = request.get("stateConfiguration", {})
    _check_configuration(configured, name, state, mocked="mock" in request)
    outcome = _outcome(request, state, around.fits)
    context = _object(request, "context")
    if context is not None:
        check_context(context, state)
    given = Given(
        raw=input,
        id=around.id,
        now_ms=around.now_ms,
        run=run,
        variables=_object(request, "variables") or {},
        context=context,
        mock=outcome,
        retried=configured.get("retrierRetryCount", 0),
        failures=configured.get("mapIterationFailureCount", 0),
        read=configured.get("mapItemReaderData"),
    )
    single = SingleState(state_of(state_text(name, state, language)), given)
    try:
        begun = single.begin()
    except MismatchError as error:
        raise invalid(str(error)) from error
    if isinstance(begun, TaskRequest):
        return StateTest(begun, single, request, given)
    return _answer(request, given, single, begun)


# --- the request ---------------------------------------------------------------------------------


def _tested(request: Request, hooks: Hooks) -> tuple[StateDoc, str, Language, bool]:
    """The state, its name, its query language, and True if it is in a Map."""
    definition, name = request["definition"], request.get("stateName")
    check = diagnose_state if name is None else diagnose
    found = check(definition, type="STANDARD", hooks=hooks)
    if errors(found):
        raise RefusedTestError("InvalidDefinition", refusal(definition, found))
    doc = read_checked(definition)
    if name is None:
        return doc, ALONE, language_of(doc, "JSONPath"), False
    states = {each: (state, in_map) for each, state, in_map in _states(doc, in_map=False)}
    if name not in states:
        raise invalid("State not found in definition")
    state, in_map = states[name]
    return state, name, language_of(state, language_of(doc, "JSONPath")), in_map


def _states(doc: Definition, *, in_map: bool) -> Iterator[tuple[str, StateDoc, bool]]:
    """All states of a machine, and those nested in them, each with True if it is in a Map."""
    for name, state in doc["States"].items():
        yield name, state, in_map
        for inner, _ in nested(state, ""):
            yield from _states(inner, in_map=in_map or state["Type"] == "Map")


def _check_configuration(configured: Request, name: str, state: StateDoc, *, mocked: bool) -> None:
    """Checks that the configuration goes with the state and its mock. The texts are our own."""
    for field in ("mapIterationFailureCount", "mapItemReaderData"):
        if field in configured and state["Type"] != "Map":
            raise invalid(f"stateConfiguration.{field} can be specified only for a Map state.")
        if field in configured and not mocked:
            text = f"stateConfiguration.{field} can be specified only when a mock is specified."
            raise invalid(text)
    cause = configured.get("errorCausedByState", name)
    inner = [
        each for machine, _ in nested(state, "") for each, *_ in _states(machine, in_map=False)
    ]
    if cause not in (name, *inner):
        text = f"stateConfiguration.errorCausedByState: the tested state has no state '{cause}'."
        raise invalid(text)


def _outcome(request: Request, state: StateDoc, fits: Fits) -> Outcome | None:
    """The outcome of the state's work, if the request has a mock; None if the work is to be done.

    Raises:
        RefusedTestError: the mock does not fit, or the state cannot be tested without one.
    """
    mock = request.get("mock")
    if mock is not None:
        return mocked(state, mock, fits, reveals=request.get("revealSecrets", False))
    check_unmocked(state, role="roleArn" in request)
    if "context" in request:  # our words
        raise invalid("A context object can be specified only when a mock is specified.")
    return None


def _object(request: Request, field: str) -> ContextObject | None:
    """The object in a text of a request. The texts of refusals are our own."""
    if field not in request:
        return None
    try:
        value = read_json(request[field])
    except TextError as error:
        why = error.message.partition("\n")[0]
    except DepthError as error:
        why = str(error)
    else:
        if isinstance(value, dict):
            return value
        why = "it is not a JSON object"
    raise invalid(f"Invalid {field}: {why}")


# --- the answer ----------------------------------------------------------------------------------


def _answer(request: Request, given: Given, single: SingleState, result: StateResult) -> Answer:
    answer: Answer = {"status": result.status}
    if result.output is not None:
        answer["output"] = json_text(result.output.value)
    if result.failure is not None:
        answer |= error_details(result.failure)
    if result.next:
        answer["nextState"] = result.next
    if request.get("inspectionLevel", "INFO") != "INFO":
        answer["inspectionData"] = _inspected(given, single, result)
    return answer


def _inspected(given: Given, single: SingleState, result: StateResult) -> Answer:
    """The stages of values, as texts; those that are too large are left out."""
    stages = {"input": given.raw, **single.stages}
    assigned = {} if result.output is None else result.output.assigned
    variables = {**given.variables, **assigned}
    if variables:
        stages["variables"] = variables
    shown: Answer = {
        name: value if name in _NUMBERS else json_text(value)
        for name, value in stages.items()
        if measured(value, MAX_SHOWN) <= MAX_SHOWN
    }
    return {**shown, "errorDetails": dict(result.handled)} if result.handled else shown
