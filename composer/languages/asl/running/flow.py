"""The data flow of a state, in either query language: its effective input, its output, its variables."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from ....values import measured
from ..jsonpath.fields import combined_by, selected_by
from ..state_errors import DATA_LIMIT_EXCEEDED, StatesError

if TYPE_CHECKING:
    from ....values import JSON
    from ..documents import StatePart
    from ..jsonpath.templates import Template
    from ..state_errors import Details
    from .retriers import Catcher
    from .view import View

MAX_BYTES = 262_144  # of an output, as JSON text


class Output(NamedTuple):
    """The output of a state, and the variables that it assigns."""

    value: JSON
    assigned: dict[str, JSON]


def input_of(view: View) -> JSON:
    """The effective input of a state: its input after InputPath and Parameters, or Arguments.

    Raises:
        StatesError: an expression or a path fails.
    """
    state = view.state
    if not state.jsonata:
        return state.inputs.effective(view.scope(view.raw), view.chance, view.shows)
    made = view.raw
    if state.type in ("Task", "Parallel") and "Arguments" in state.doc:
        made = view.evaluated(state.doc["Arguments"], "Arguments")
    view.shows("afterArguments", made)
    return made


def result_to_output(view: View, result: JSON) -> Output:
    """The output for a result: by ResultSelector, ResultPath and OutputPath, or Output; and by Assign.

    Variables are assigned after everything is evaluated, so all of it sees their old values.

    Raises:
        StatesError: an expression or a path fails, or the output is too large.
    """
    state = view.state
    if state.jsonata:
        value = _field(view, state.doc, "Output", "Output", result, result=result)
        assigned = _assigned(view, state.doc, "Assign", result=result)
        return _bounded(view, Output(value, assigned))
    scope = view.scope(view.raw)
    result = state.outputs.selected(result, scope, view.chance)
    view.shows("afterResultSelector", result)
    assigned = _filled(view, state.template, result)
    value = state.outputs.combined(result, scope, view.shows)
    return _bounded(view, Output(value, assigned))


def input_to_output(view: View, value: JSON) -> Output:
    """The output of a state without a result: a Wait, a Choice by default, a Succeed."""
    state = view.state
    if state.jsonata:
        made = _field(view, state.doc, "Output", "Output", value)
        return _bounded(view, Output(made, _assigned(view, state.doc, "Assign")))
    assigned = _filled(view, state.template, value)
    made = selected_by(state.outputs.output_path, view.scope(value))
    return _bounded(view, Output(made, assigned))


def rule_to_output(view: View, rule: int, value: JSON) -> Output:
    """The output of a Choice, by the rule that holds."""
    state, doc = view.state, view.state.doc["Choices"][rule]
    if state.jsonata:
        made = _field(view, doc, "Output", f"Choices[{rule}]/Output", value)
        if "Output" not in doc:
            made = _field(view, state.doc, "Output", "Output", value)
        return _bounded(view, Output(made, _assigned(view, doc, f"Choices[{rule}]/Assign")))
    assigned = _filled(view, state.rule_assigns[rule], value)
    return _bounded(
        view, Output(selected_by(state.outputs.output_path, view.scope(value)), assigned)
    )


def error_to_output(view: View, catcher: Catcher, at: int, error: Details) -> Output:
    """The output of a state whose error is caught, by its catcher; the state's OutputPath does not apply."""
    if view.state.jsonata:
        field = f"Catch[{at}]"
        made = _field(view, catcher.doc, "Output", f"{field}/Output", error, errorOutput=error)
        assigned = _assigned(view, catcher.doc, f"{field}/Assign", errorOutput=error)
        return _bounded(view, Output(made, assigned))
    assigned = _filled(view, catcher.template, error)
    return _bounded(view, Output(combined_by(catcher.result_path, view.raw, error), assigned))


def _field(
    view: View, doc: StatePart, name: str, field: str, otherwise: JSON, **more: JSON
) -> JSON:
    return view.evaluated(doc[name], field, **more) if name in doc else otherwise


def _assigned(view: View, doc: StatePart, field: str, **more: JSON) -> dict[str, JSON]:
    made: dict[str, JSON] = view.evaluated(doc.get("Assign") or {}, field, **more)
    return made


def _filled(view: View, template: Template | None, input: JSON) -> dict[str, JSON]:
    if template is None:
        return {}
    made = template.fill(view.scope(input), view.chance)
    assert isinstance(made, dict)  # noqa: S101  an Assign is an object
    return made


def _bounded(view: View, output: Output) -> Output:
    limited(output.value, view.state.name)
    if output.assigned:
        limited(output.assigned, view.state.name)
    return output


def limited(value: JSON, what: str) -> None:
    """Checks that a value is not too large for the output of the state or task `what`.

    Raises:
        StatesError: States.DataLimitExceeded.
    """
    if measured(value, MAX_BYTES // 6) <= MAX_BYTES // 6:  # so its text is not too long, either
        return
    if (
        measured(value, MAX_BYTES * 2) > MAX_BYTES * 2
        or len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()) > MAX_BYTES
    ):
        raise too_large(what)


def too_large(what: str) -> StatesError:
    """The error of the state or task `what`, whose value is too large."""
    text = (
        f"The state/task '{what}' returned a result with a size exceeding the maximum number of bytes service "
        "limit."
    )
    return StatesError(DATA_LIMIT_EXCEEDED, text)
