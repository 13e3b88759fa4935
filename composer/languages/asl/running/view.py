"""The data that the expressions of a state see: its input, the context object, variables, and chance."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Any, final

from ....errors import OverlongError
from ....expressions.bounds import Budget
from ..jsonpath.fields import unseen
from ..jsonpath.functions import Chance
from ..jsonpath.paths import MAX_VISITS, Scope
from .compiled import state_of
from .evaluation import engine, evaluate_field, expression_in
from .frames import Machine
from .instructions import EnterState
from .task_tokens import task_token

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ....machine.cursor import Cursor
    from ....machine.frames import Frame
    from ....values import JSON
    from ...jsonata import Bindings
    from ..jsonpath.fields import Shows
    from .compiled import State
    from .frames import ContextObject, InState

RETRIED = ("Task", "Parallel", "Map")


@final
class _Visits(Budget):
    """Counts the nodes that the paths of a state visit, against one bound, as work of the instruction."""

    __slots__ = ("_cursor",)

    def __init__(self, cursor: Cursor) -> None:
        super().__init__(MAX_VISITS)
        self._cursor = cursor

    def spend(self, nodes: int) -> None:
        self._cursor.work += nodes
        super().spend(nodes)
        at_once = self._cursor.at_once
        if at_once is not None and at_once < 0:
            raise OverlongError


@final
class View:
    """A state under way; its raw input and the time of its entry are those of its frame, if it has one.

    Chance is drawn from the place that the fiber has reached, so that the same place draws the same.
    `shows` receives the stages of values, by the names that TestState has for them.
    """

    def __init__(
        self, cursor: Cursor, state: State, frame: InState | None = None, shows: Shows = unseen
    ) -> None:
        self._cursor, self.state, self.shows = cursor, state, shows
        self.raw: JSON = cursor.value if frame is None else frame.value
        self._entered_ms = cursor.now_ms if frame is None else frame.entered_ms
        self._retries = 0 if frame is None else sum(frame.retried)
        self._drawn = 0

    @cached_property
    def chance(self) -> Chance:
        return Chance(self._number, self._uuid)

    @cached_property
    def _visits(self) -> _Visits:
        return _Visits(self._cursor)

    @cached_property
    def variables(self) -> dict[str, JSON]:
        return self._cursor.variables()

    @cached_property
    def context(self) -> ContextObject:
        """The context object; empty for a state that does not refer to it."""
        if not self.state.sees_context:
            return {}
        cursor = self._cursor
        about: dict[str, JSON] = {
            "EnteredTime": instant(self._entered_ms),
            "Name": self.state.name,
        }
        if self.state.type in RETRIED:
            about["RetryCount"] = self._retries
        context: ContextObject = {**machine_of(cursor).context, "State": about}
        if self.state.doc.get("Resource", "").endswith(".waitForTaskToken"):
            key = cursor.limits.signing
            token = task_token(cursor.execution, cursor.id, cursor.turn + 1, key)
            context["Task"] = {"Token": token}
        return context

    def scope(self, input: JSON) -> Scope:
        """The scope of JSONPath for an input."""
        return Scope(input, self.context, self.variables, self._visits)

    def evaluated(self, value: JSON, field: str, **more: JSON) -> Any:
        """The value of a field of a JSONata state, of the type that `EXPECTED` has for the field.

        `more` are members of `$states` beside input and context.

        Raises:
            EvaluationError: see `evaluate_field`.
        """
        bindings = self._bindings(more)
        try:
            return evaluate_field(value, field, bindings)
        finally:
            self._cursor.work += bindings.spent

    def _bindings(self, more: dict[str, Any]) -> Bindings:
        limit = self._cursor.limits.evaluation_steps
        states = {"input": self.raw, "context": self.context, **more}
        made: Bindings = engine().Bindings(
            states=states, variables=self.variables, chance=self._number,
            now_ms=self._cursor.now_ms, steps=limit - self._cursor.work,
            at_once=self._cursor.at_once, limit=limit,
        )  # fmt: skip
        return made

    def is_expression(self, value: JSON) -> bool:
        return self.state.jsonata and isinstance(value, str) and expression_in(value) is not None

    def _number(self) -> float:
        return int.from_bytes(self._draw()[:7], "big") / (1 << 56)

    def _uuid(self) -> str:
        digits = self._draw().hex()
        variant = "89ab"[int(digits[16], 16) % 4]
        return (
            f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:32]}"
        )

    def _draw(self) -> bytes:
        self._drawn += 1
        cursor = self._cursor
        place = f"{cursor.execution}/{cursor.id}/{cursor.turn}/{cursor.event}/{cursor.now_ms}/{self._drawn}"
        return sha256(place.encode()).digest()


def machine_frames(context: ContextObject) -> tuple[Frame, ...]:
    """The frames that an execution begins with; `context` has its `Execution` and `StateMachine`."""
    return (Machine(context),)


def machine_in(frames: Iterable[Frame]) -> Machine | None:
    """The execution that these frames belong to; None if it is not a state machine's."""
    return next((frame for frame in frames if type(frame) is Machine), None)


def machine_of(cursor: Cursor) -> Machine:
    """The execution that a fiber of a state machine belongs to."""
    machine = machine_in(cursor.frames)
    assert machine is not None  # noqa: S101  its first instruction has pushed it
    return machine


def entry_of(cursor: Cursor, frame: InState) -> EnterState:
    """The instruction by which a fiber has entered a state."""
    entry = cursor.instructions[frame.at]
    assert isinstance(entry, EnterState)  # noqa: S101  it has pushed the frame
    return entry


def state_in(cursor: Cursor, frame: InState) -> State:
    """The state of a frame."""
    return state_of(entry_of(cursor, frame).state)


def instant(ms: int) -> str:
    """An instant as AWS writes it."""
    return (
        datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S.") + f"{ms % 1000:03d}Z"
    )
