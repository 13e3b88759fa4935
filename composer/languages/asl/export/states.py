"""Writes down a state machine: states in order, with labels for those that are not known yet.

A state leads to the one that is written after it. A state that cannot be reached is not written, because AWS
refuses it. Each place knows if the value there may have a field `error`, which a composition looks
for in each result.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, final

from ....freezing import frozen
from ..checking.embedded import MAX_NAME
from .expressions import INPUT, dynamic

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ....values import JSON

FAILED: Final = f"$exists({INPUT}.error)"
ERROR: Final[dict[str, JSON]] = {"error": dynamic(f"{INPUT}.error")}
# The name in an error, as `Failure.named` finds it.
NAME_OF_ERROR: Final = dynamic(
    f'($e := {INPUT}.error; $type($e) = "string" ? $e : $type($e) != "object" ? "ApplicationError"'
    ' : $type($e.code) = "string" ? $e.code : $type($e.name) = "string" ? $e.name'
    ' : $type($e.type) = "string" ? $e.type : "ApplicationError")'
)
# The message, of an error that has only a code beside it; of any other all of it, to be read again.
CAUSE_OF_ERROR: Final = dynamic(
    f'($e := {INPUT}.error; $type($e) = "object" and $count($keys($e)) = 2'
    ' and $type($e.code) = "string" and $type($e.message) = "string"'
    f" ? $e.message : $string({INPUT}))"
)
# The error that a Fail state, a function or AWS itself has put into Error and Cause.
CAUGHT: Final = dynamic(
    "($o := $states.errorOutput;"
    ' $ours := $lookup({"States.Timeout": "Timeout", "States.DataLimitExceeded": "LimitExceeded",'
    ' "States.QueryEvaluationError": "ExpressionError"}, $o.Error);'
    r' $told := $type($o.Cause) = "string" and $contains($o.Cause, /^\{"error[\s\S]*\}$/)'
    " ? $parse($o.Cause);"
    ' $exists($told.error) ? $told : $o.Error = "States.TaskFailed" ? {"error": $o.Cause}'
    ' : {"error": {"code": $exists($ours) ? $ours : $o.Error,'
    ' "message": $exists($told.errorMessage) ? $told.errorMessage : $o.Cause}})'
)
MASK: Final[dict[str, str]] = {}  # a scope that hides the next one: known by its identity


@final
class Label:
    """A place among the states. `clean`: the value there surely has no field `error`."""

    def __init__(self) -> None:
        self.to: str | Label | None = None
        self.used = False
        self.clean = True

    @property
    def state(self) -> str | None:
        """The name of the state at the label; None at the end."""
        return self.to.state if isinstance(self.to, Label) else self.to


@final
class Names:
    """Names of states and of variables, each used once in a whole definition."""

    def __init__(self) -> None:
        # It loads JSONata's library, which is loaded when it is needed.
        from ...jsonata.functions import FUNCTIONS  # noqa: PLC0415

        self._states: set[str] = set()
        self._variables = {"states", *FUNCTIONS}

    def state(self, wanted: str) -> str:
        return _unused(wanted, self._states, " ")

    def variable(self, wanted: str) -> str:
        """A name for a variable that JSONata can read and that does not hide a function."""
        plain = re.sub(r"\W", "", wanted, flags=re.ASCII).lstrip("_0123456789")
        return _unused(plain or "variable", self._variables, "_")


def _unused(wanted: str, taken: set[str], between: str) -> str:
    name, number = wanted[:MAX_NAME], 1
    while name in taken:
        number += 1
        end = f"{between}{number}"
        name = wanted[: MAX_NAME - len(end)] + end
    taken.add(name)
    return name


@frozen
class Rule:
    """One rule of a Choice: its condition, its target, its output, and `clean` for an output without an `error`."""

    condition: str
    to: Label
    output: JSON = None
    clean: bool | None = None


@final
class Sheet:
    """The states of one machine, or of one branch.

    `scopes`: the variables of the `let`s around, outer ones first: their names here by their own.
    `handler`: the target of errors; None if this machine does not catch them. `clean`: the value
    surely has no field `error`.
    """

    def __init__(self, names: Names, scopes: tuple[dict[str, str], ...] = ()) -> None:
        self.names = names
        self.scopes = scopes
        self.handler: Label | None = None
        self.clean = True
        self._states: dict[str, dict[str, Any]] = {}
        self._failure = Label()
        self._start = Label()
        self._pending = [self._start]  # what is to lead to the next state

    # --- states ------------------------------------------------------------------------------

    def state(self, name: str, kind: str, **fields: JSON) -> None:
        """Writes a state that leads to the next one."""
        if self._pending:
            state = self._written(name, kind, fields)
            state["Next"] = self._ahead()

    def fallible(self, name: str, kind: str, **fields: JSON) -> None:
        """Writes a state whose errors go to the handler, if there is one."""
        if self._pending:
            state = self._written(name, kind, fields)
            if self.handler is not None:
                every = {"ErrorEquals": ["States.ALL"], "Output": CAUGHT}
                catchers = [*state.get("Catch", ()), every]
                state["Catch"] = [
                    {**catcher, "Next": self._led(self.handler, clean=False)}
                    for catcher in catchers
                ]
            state["Next"] = self._ahead()

    def choice(
        self, name: str, *rules: Rule, otherwise: Label | None = None, **fields: JSON
    ) -> None:
        """Writes a Choice: the first rule that holds; else `otherwise`, or the next state."""
        if not self._pending:
            return
        state = self._written(name, "Choice", {"Choices": []})
        for rule in rules:
            made = {"Condition": dynamic(rule.condition), "Next": self._led(rule.to, rule.clean)}
            given = {} if rule.output is None else {"Output": rule.output}
            state["Choices"].append({**made, **given})
        state["Default"] = self._ahead() if otherwise is None else self._led(otherwise)
        state.update(fields)

    def check(self, name: str) -> None:
        """Fails if the value has a field `error`."""
        if not self.clean:
            self.choice(f"{name} failed?", Rule(FAILED, self.target, ERROR, clean=False))
            self.clean = True

    def fail(self, name: str, code: str, message: str) -> None:
        """Fails with an error of these texts."""
        if self.handler is not None or message.startswith('{"error'):  # see CAUGHT
            self.throw(name, {"code": code, "message": message})
        elif self._pending:
            self._written(name, "Fail", {"Error": code, "Cause": message})

    def throw(self, name: str, error: JSON) -> None:
        """Fails with an error, which may have expressions."""
        self.state(name, "Pass", Output={"error": error})
        self.clean = False
        self.jump(self.target)

    # --- places ------------------------------------------------------------------------------

    @property
    def target(self) -> Label:
        """The label that errors go to."""
        return self.handler or self._failure

    def place(self, label: Label) -> None:
        """Makes the next state the target of the label."""
        if label.used:
            self.clean = label.clean and (self.clean or not self._pending)
            self._pending.append(label)

    def here(self) -> Label:
        """A label for the next state, to come back to."""
        label = Label()
        if self._pending:
            self._pending.append(label)
        return label

    def jump(self, label: Label) -> None:
        """Makes the label the next state of all that would lead to the next one."""
        for waiting in self._pending:
            waiting.to = self._led(label)
        self._pending = []

    @contextmanager
    def guarded(self, handler: Label) -> Iterator[None]:
        """Sends the errors of states that are written inside to the label."""
        outer, self.handler = self.handler, handler
        try:
            yield
        finally:
            self.handler = outer

    @contextmanager
    def within(self, scope: dict[str, str]) -> Iterator[None]:
        """Shows these variables, too, to states that are written inside."""
        outer, self.scopes = self.scopes, (*self.scopes, scope)
        try:
            yield
        finally:
            self.scopes = outer

    # --- the whole ---------------------------------------------------------------------------

    def definition(self) -> dict[str, JSON]:
        """The definition with all states that were written."""
        if self._start.state is None:
            self.state("Nothing", "Pass")
        ends, self._pending = self._pending, []
        self.place(self._failure)
        if self._pending:
            self._written("Failed", "Fail", {"Error": NAME_OF_ERROR, "Cause": CAUSE_OF_ERROR})
        if any(label.state is None for state in self._states.values() for label in _ways(state)):
            self._pending = ends
            self._written("Done", "Succeed", {})
        states: dict[str, JSON] = {name: _resolved(state) for name, state in self._states.items()}
        return {"StartAt": self._start.state, "States": states}

    def _written(self, name: str, kind: str, fields: dict[str, JSON]) -> dict[str, Any]:
        own = self.names.state(name)
        for label in self._pending:
            label.to = own
        self._pending = []
        self._states[own] = {"Type": kind, **fields}
        return self._states[own]

    def _ahead(self) -> Label:
        self._pending = [Label()]
        return self._pending[0]

    def _led(self, label: Label, clean: bool | None = None) -> Label:
        label.used = True
        label.clean = label.clean and (self.clean if clean is None else clean)
        return label


def _ways(state: dict[str, Any]) -> list[Label]:
    """The labels of a state that must lead to another state, not to the end."""
    parts = [*state.get("Choices", ()), *state.get("Catch", ())]
    return [part["Next"] for part in parts] + ([state["Default"]] if "Default" in state else [])


def _resolved(state: dict[str, Any]) -> dict[str, JSON]:
    made: dict[str, JSON] = {}
    for field, value in state.items():
        if field in ("Choices", "Catch"):
            made[field] = [{**part, "Next": part["Next"].state} for part in value]
        elif isinstance(value, Label):
            made |= {"End": True} if value.state is None else {field: value.state}
        else:
            made[field] = value
    return made
