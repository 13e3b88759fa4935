"""One state by itself, as TestState runs it: the machine's own functions, without a machine around them.

The outcome of its work is a mock, or is asked for: then the caller performs the task and passes its
outcome to `finish`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from ....errors import Error
from ....freezing import frozen
from ....machine.cursor import Context, Cursor, Limits
from ....machine.fiber import ROOT, Fiber
from ....machine.frames import Variables
from ....values import Failure
from ..maps.items import read_items
from ..running.children import batched_inputs, read_request
from ..running.compiled import END
from ..running.durations import task_seconds, wait_until_ms
from ..running.flow import (
    Output,
    error_to_output,
    input_of,
    input_to_output,
    limited,
    result_to_output,
)
from ..running.frames import InState, Machine
from ..running.iterations import (
    concurrency_of,
    inputs_of,
    items_of,
    selects,
    tolerance_of,
    tolerates,
)
from ..running.operations import PLAIN
from ..running.retriers import first_covering
from ..running.tasks import resource_of
from ..running.view import View
from ..state_errors import TIMEOUT, StatesError, details_of, exceeded, failed

if TYPE_CHECKING:
    from ....values import JSON, Outcome
    from ..running.compiled import State
    from ..running.frames import ContextObject
    from ..state_errors import Details

SUCCEEDED: Final = "SUCCEEDED"
FAILED: Final = "FAILED"
RETRIABLE: Final = "RETRIABLE"
CAUGHT: Final = "CAUGHT_ERROR"
LONGEST_MS: Final = 300_000  # that a test may take on AWS: so a Wait for longer fails
MAX_ITEMS: Final = 1_000  # of a Map that are worked out one after another, in one go

_INPUT = ("afterInputPath", "afterParameters", "afterArguments")
_RESULT = ("afterResultSelector", "afterResultPath")
# The stages that AWS was recorded to show of a state, by its type; of any other type only InputPath.
SHOWN: Final = {
    "Pass": (*_INPUT[:2], "result", *_RESULT),
    "Task": (*_INPUT, "result", *_RESULT),
    "Parallel": _RESULT,
    "Map": (
        "afterInputPath", "afterItemsPath", "afterItemsPointer", "afterItemSelector", "afterItemBatcher",
        "maxConcurrency", "toleratedFailureCount", "toleratedFailurePercentage", *_RESULT,
    ),
}  # fmt: skip


class MismatchError(Error):
    """The parameters of a test do not fit the state; the text is AWS' where it is known."""


@final
@frozen
class Given:
    """The parameters of a test.

    Args:
        raw: its input.
        id: the seed of chance.
        now_ms: the time.
        run: the context object's `Execution` and `StateMachine`, and `Map` for a state in one.
        variables: by name.
        context: the whole context object, instead of one with `run`.
        mock: the outcome of its work; None if the task is to be performed.
        retried: the retries so far of the retrier that covers its error.
        failures: the iterations of a Map that have failed.
        read: the text of the file that its ItemReader reads.
    """

    raw: JSON
    id: str
    now_ms: int
    run: ContextObject
    variables: dict[str, JSON]
    context: ContextObject | None = None
    mock: Outcome | None = None
    retried: int = 0
    failures: int = 0
    read: str | None = None


@final
@frozen
class TaskRequest:
    """The task of a Task state, to be performed; `timeout_s` is its timeout, if the state has one."""

    resource: str
    parameters: JSON
    timeout_s: int | None


@final
@frozen
class StateResult:
    """The result of a test.

    `next` is the next state, if there is one; `handled` has the indexes of its retrier and catcher.
    """

    status: str
    output: Output | None
    failure: Failure | None
    next: str = END
    handled: dict[str, int] | None = None


@final
class SingleState:
    """A state under test: `begin` it; if that returns a task, `finish` it with the outcome."""

    def __init__(self, state: State, given: Given) -> None:
        self._state, self._given = state, given
        self._stages: dict[str, JSON] = {}

    @property
    def stages(self) -> dict[str, JSON]:
        """The stages of the state's values, by AWS' names, as far as AWS shows them."""
        shown = SHOWN.get(self._state.type, _INPUT[:1])
        if "result" in self._stages and self._state.type == "Pass":
            shown = shown[2:]  # its result does not come from its input
        return {name: self._stages[name] for name in shown if name in self._stages}

    def begin(self) -> StateResult | TaskRequest:
        """Runs it up to its end, or up to its task.

        Raises:
            MismatchError: the parameters do not fit a Map's items.
        """
        try:
            match self._state.type:
                case "Task":
                    return self._task()
                case "Wait":
                    return self._wait()
                case "Parallel":
                    return self._parallel()
                case "Map":
                    return self._map()
                case _:
                    return self._plain()
        except StatesError as error:
            return self._failed(failed(error.name, error.cause))

    def finish(self, outcome: Outcome) -> StateResult:
        """Ends it with the outcome of its work: a result, or an error with its cause."""
        if isinstance(outcome, Failure):
            return self._failed(outcome)
        state, view, result = self._state, self._view(), outcome.value
        what = resource_of(state.doc["Resource"]).named if state.type == "Task" else state.name
        try:
            limited(result, what)
            view.shows("result", result)
            return StateResult(SUCCEEDED, result_to_output(view, result), None, self._state.next)
        except StatesError as error:
            return self._failed(failed(error.name, error.cause))

    # --- by type -----------------------------------------------------------------------------

    def _plain(self) -> StateResult:
        next, output = PLAIN[self._state.type](self._view())
        if isinstance(output, Failure):
            return self._failed(output)
        return StateResult(SUCCEEDED, output, None, next)

    def _wait(self) -> StateResult:
        """Ends a Wait at once."""
        view, now_ms = self._view(), self._given.now_ms
        value = input_of(view)
        if wait_until_ms(view, value, now_ms) - now_ms > LONGEST_MS:
            return self._failed(failed(TIMEOUT, None))
        return StateResult(SUCCEEDED, input_to_output(view, value), None, self._state.next)

    def _task(self) -> StateResult | TaskRequest:
        view = self._view()
        value = input_of(view)
        limited(value, self._state.name)
        seconds = task_seconds(view, "TimeoutSeconds", value)
        task_seconds(view, "HeartbeatSeconds", value)
        if self._given.mock is not None:
            return self.finish(self._given.mock)
        return TaskRequest(self._state.doc["Resource"], value, seconds)

    def _parallel(self) -> StateResult:
        limited(input_of(self._view()), self._state.name)
        return self._mocked()

    def _map(self) -> StateResult:
        view = self._view()
        value = input_of(view)
        items = self._items(view, value)
        concurrency_of(view, value)
        if selects(self._state) and len(items) > MAX_ITEMS:
            raise MismatchError(
                f"The Map state has {len(items)} items, and a test works out at most {MAX_ITEMS}."
            )
        if "ItemBatcher" in self._state.doc:
            items = batched_inputs(self._view(), value, items)
        tolerated = tolerance_of(view, value, len(items))
        if "ItemBatcher" not in self._state.doc:
            items = inputs_of(self._view(), value, items)
        return self._iterated(len(items), tolerated)

    def _items(self, view: View, value: JSON) -> list[JSON]:
        """The items, from the state's input or from the file of its reader."""
        if "ItemReader" not in self._state.doc:
            return items_of(view, value)
        if self._given.read is None:
            raise MismatchError(
                "ItemReader data must be specified when testing a Map state with ItemReader specified."
            )
        request = read_request(view, value)
        body, config = self._given.read.encode(), request.config
        read = read_items(body, config, max_items=request.max_items).values
        view.shows("afterItemsPointer" if "ItemsPointer" in config else "afterItemsPath", read)
        return read

    def _iterated(self, length: int, tolerated: int) -> StateResult:
        """Ends a Map with so many iterations, of which some may have failed.

        As recorded on AWS: failures count if the definition has a tolerance, and a mock may have a
        result for each item, or for each that has not failed.
        """
        failures = self._given.failures
        if failures > length:
            raise MismatchError(
                "Map iteration failure count must be less than or equal to the number of Map "
                "iterations."
            )
        mock = self._given.mock
        if isinstance(mock, Failure):  # the Map has failed with it, whatever was tolerated
            return self._failed(mock)
        if failures > tolerated and self._state.distributed and tolerates(self._state):
            return self._failed(exceeded())
        results = mock.value if mock is not None else None
        if isinstance(results, list) and len(results) not in (length, length - failures):
            raise MismatchError("Input array does not equal the mocked result array's size.")
        return self._mocked()

    # --- the end -----------------------------------------------------------------------------

    def _mocked(self) -> StateResult:
        """Ends it with the mock, since branches and iterations are not run."""
        mock = self._given.mock
        assert mock is not None  # noqa: S101  a Map or Parallel is tested with a mock only
        return self.finish(mock)

    def _failed(self, failure: Failure) -> StateResult:
        """Ends it with an error, for which it may have a retrier or a catcher."""
        state = self._state
        name: str = details_of(failure).get("Error") or ""
        handled: dict[str, int] = {}
        at = first_covering(state.retriers, name)
        if at is not None:
            handled["retryIndex"] = at
            retrier, tried = state.retriers[at], self._given.retried
            if tried < retrier.attempts:
                delay_ms = retrier.backoff_ms(tried, self._view().chance.number)
                handled["retryBackoffIntervalSeconds"] = delay_ms // 1000
                return StateResult(RETRIABLE, None, failure, handled=handled)
        at = first_covering(state.catchers, name)
        if at is None:
            return StateResult(FAILED, None, failure, handled=handled)
        catcher = state.catchers[at]
        error: Details = {"Error": "", "Cause": "", **details_of(failure)}
        try:
            output = error_to_output(self._view(), catcher, at, error)
        except StatesError as flaw:
            return StateResult(FAILED, None, failed(flaw.name, flaw.cause), handled=handled)
        handled["catchIndex"] = at
        return StateResult(CAUGHT, output, failure, catcher.next, handled)

    def _view(self) -> View:
        """The view of the state, as when it was entered."""
        given = self._given
        frames = (Machine(given.run), Variables(given.variables))
        fiber = Fiber(id=ROOT, pc=0, value=given.raw, frames=frames)
        cursor = Cursor(fiber, (), Context(given.id, given.now_ms, Limits()))
        frame = InState(0, given.raw, 0, given.now_ms, (given.retried,))
        view = View(cursor, self._state, frame, self._stages.__setitem__)
        if given.context is not None:
            view.context = dict(given.context)
        return view
