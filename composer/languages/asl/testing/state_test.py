"""TestState: one state of a definition, run by itself; what AWS' API of that name takes and gives.

https://docs.aws.amazon.com/step-functions/latest/apireference/API_TestState.html
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias, final

from ....freezing import frozen
from ....values import Failure, measured
from ..checking.diagnostics import diagnose, diagnose_state, errors, refusal
from ..checking.graph import nested
from ..checking.jsontext import DepthError, TextError, read_json
from ..checking.structures import language_of
from ..jsonpath.texts import json_text
from ..lowering import state_text
from ..running.compiled import state_of
from ..running.view import instant
from ..state_errors import failed
from .mocks import RefusedTestError, check_context, check_unmocked, invalid, mocked
from .single_state import Given, MismatchError, TaskRequest, Trial

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ....values import JSON, Outcome
    from ..checking.diagnostic import Hooks, Language
    from .mocks import Fits
    from .single_state import Verdict

Object: TypeAlias = "dict[str, JSON]"

ALONE = "StateName"  # the name of a state that is given by itself
MAX_SHOWN = (
    262_144  # bytes of a member of inspectionData, about: of more, AWS' clients would not take it
)
_NUMBERS = ("maxConcurrency", "toleratedFailureCount", "toleratedFailurePercentage")


@final
@frozen
class Surroundings:
    """Where a state is tested.

    Args:
        hooks: what a definition's checks ask.
        fits: whether a mocked result has the shape of the integration's.
        run: the context object's `Execution`, but for its input and its time, and `StateMachine`.
        id: that chance is drawn from.
        now_ms: the time.
    """

    hooks: Hooks
    fits: Fits
    run: Object
    id: str
    now_ms: int


@final
@frozen
class StateTest:
    """A test that waits for its Task to be performed: `finish` it with what that comes to."""

    task: TaskRequest
    trial: Trial
    request: Object
    given: Given

    def finish(self, outcome: Outcome) -> Object:
        """The answer; of a failure's error `{"Error", "Cause"}` count, as far as there are any."""
        if isinstance(outcome, Failure):
            error = outcome.error if isinstance(outcome.error, dict) else {}
            outcome = failed(error.get("Error", outcome.code), error.get("Cause"))
        return _answer(self.request, self.given, self.trial, self.trial.finish(outcome))


def begin_test(request: Object, input: JSON, around: Surroundings) -> Object | StateTest:
    """What TestState answers, or what it waits for before it does.

    Args:
        request: TestState's, of the types that its model has.
        input: the state's, which the request has as text.
        around: where it is tested.

    Raises:
        RefusedTestError: AWS would refuse it.
    """
    state, name, language, in_map = _tested(request, around.hooks)
    execution = {"Input": input, "StartTime": instant(around.now_ms)}
    run = {**around.run, "Execution": {**around.run["Execution"], **execution}}
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
    trial = Trial(state_of(state_text(name, state, language)), given)
    try:
        begun = trial.begin()
    except MismatchError as error:
        raise invalid(str(error)) from error
    if isinstance(begun, TaskRequest):
        return StateTest(begun, trial, request, given)
    return _answer(request, given, trial, begun)


# --- what is asked -------------------------------------------------------------------------------


def _tested(request: Object, hooks: Hooks) -> tuple[Object, str, Language, bool]:
    """The state, its name, its query language, and whether it is in a Map."""
    definition, name = request["definition"], request.get("stateName")
    check = diagnose_state if name is None else diagnose
    found = check(definition, type="STANDARD", hooks=hooks)
    if errors(found):
        raise RefusedTestError("InvalidDefinition", refusal(definition, found))
    doc = read_json(definition)
    if name is None:
        return doc, ALONE, language_of(doc, "JSONPath"), False
    states = {each: (state, in_map) for each, state, in_map in _states(doc, in_map=False)}
    if name not in states:
        raise invalid("State not found in definition")
    state, in_map = states[name]
    return state, name, language_of(state, language_of(doc, "JSONPath")), in_map


def _states(doc: Object, *, in_map: bool) -> Iterator[tuple[str, Object, bool]]:
    """All states of a machine, and those nested in them, each with whether it is in a Map."""
    for name, state in doc["States"].items():
        yield name, state, in_map
        for inner, _ in nested(state, ""):
            yield from _states(inner, in_map=in_map or state["Type"] == "Map")


def _check_configuration(configured: Object, name: str, state: Object, *, mocked: bool) -> None:
    """What is configured goes with the state and its mock. The words are ours."""
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


def _outcome(request: Object, state: Object, fits: Fits) -> Outcome | None:
    """What the state's work comes to, if the request says so; None if it is to be done.

    Raises:
        RefusedTestError: when it cannot.
    """
    mock = request.get("mock")
    if mock is not None:
        return mocked(state, mock, fits, reveals=request.get("revealSecrets", False))
    check_unmocked(state, role="roleArn" in request)
    if "context" in request:  # our words
        raise invalid("A context object can be specified only when a mock is specified.")
    return None


def _object(request: Object, field: str) -> Object | None:
    """An object that a request has as text. The words of refusals are ours."""
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
        why = "it is no JSON object"
    raise invalid(f"Invalid {field}: {why}")


# --- what is answered ----------------------------------------------------------------------------


def _answer(request: Object, given: Given, trial: Trial, verdict: Verdict) -> Object:
    answer: Object = {"status": verdict.status}
    if verdict.output is not None:
        answer["output"] = json_text(verdict.output.value)
    if verdict.failure is not None:
        error: Object = verdict.failure.error
        told = {"error": error.get("Error"), "cause": error.get("Cause")}
        answer |= {name: text for name, text in told.items() if text is not None}
    if verdict.next:
        answer["nextState"] = verdict.next
    if request.get("inspectionLevel", "INFO") != "INFO":
        answer["inspectionData"] = _inspected(given, trial, verdict)
    return answer


def _inspected(given: Given, trial: Trial, verdict: Verdict) -> Object:
    """The values on their way, as texts; those that are too large are left out."""
    stages = {"input": given.raw, **trial.stages}
    assigned = {} if verdict.output is None else verdict.output.assigned
    variables = {**given.variables, **assigned}
    if variables:
        stages["variables"] = variables
    told = {
        name: value if name in _NUMBERS else json_text(value)
        for name, value in stages.items()
        if measured(value, MAX_SHOWN) <= MAX_SHOWN
    }
    return {**told, "errorDetails": verdict.handled} if verdict.handled else told
