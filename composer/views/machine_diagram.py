"""Diagrams of state machines: the states, and the states that each one leads to."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from ..dsl.drawing import shortened
from ..languages import asl
from .sketch import Sketch

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ..dsl.canvas import Ends, Shape

Checked: TypeAlias = "Mapping[str, Any]"
"""A part of a definition that `asl.parse` has checked: a machine, a state or a choice rule."""

_SHAPES: dict[str, Shape] = {
    "Choice": "choice",
    "Task": "step",
    "Succeed": "terminal",
    "Fail": "terminal",
}
_NO_TEST = ("Variable", "Next", "Comment", "Assign")


def machine_sketch(definition: str) -> Sketch:
    """The picture of a state machine, given the text of its definition.

    Raises:
        CompositionError: the definition has errors.
    """
    known = asl.hooks(is_action=lambda _: True, is_integration=lambda _: True)
    machine = asl.parse(definition, type="STANDARD", hooks=known)
    sketch = Sketch()
    start = sketch.leaf("start", [], "terminal")
    ends = _draw_machine(sketch, machine, start)
    if ends:
        sketch.leaf("end", ends, "terminal")
    return sketch


def _draw_machine(sketch: Sketch, machine: Checked, start: Ends) -> Ends:
    """Draws all states of a machine. Returns the ends of those that end the machine."""
    states: Mapping[str, Checked] = machine["States"]
    entries: dict[str, str] = {}
    leaving: list[tuple[Ends, Checked]] = []
    for name, state in states.items():
        entries[name], exits = _draw_state(sketch, name, state)
        leaving.append((exits, state))
    sketch.join(start, entries[machine["StartAt"]])
    ends: Ends = []
    for exits, state in leaving:
        for node, _ in exits:
            for target, label in _targets(state):
                sketch.edge(node, entries[target], label)
            if state.get("End"):
                ends.append((node, ""))
    return ends


def _draw_state(sketch: Sketch, name: str, state: Checked) -> tuple[str, Ends]:
    """Draws a state with the machines in it. Returns its first node, and the ends that leave it."""
    processor: Checked | None = state.get("ItemProcessor") or state.get("Iterator")
    inner: list[Checked] = [processor] if processor else state.get("Branches", [])
    if not inner:
        node = sketch.node(name, _SHAPES.get(state["Type"], "data"), [])
        return node, [(node, "")]
    entered: list[str] = []

    def draw() -> Ends:
        entered.append(sketch.node("", "bar", []))
        last: Ends = []
        for index, machine in enumerate(inner, 1):
            branch = partial(_draw_machine, sketch, machine, [(entered[0], "")])
            last += branch() if len(inner) == 1 else sketch.cluster(str(index), branch)
        return sketch.leaf("", last, "bar")

    ends = sketch.cluster(name, draw)
    return entered[0], ends


def _targets(state: Checked) -> Iterator[tuple[str, str]]:
    """The states that a state may lead to, each with the label of the edge."""
    if "Next" in state:
        yield state["Next"], ""
    for rule in state.get("Choices", ()):
        yield rule["Next"], shortened(_condition(rule))
    if "Default" in state:
        yield state["Default"], "else"
    for catcher in state.get("Catch", ()):
        yield catcher["Next"], shortened(", ".join(catcher["ErrorEquals"]))


def _condition(rule: Checked) -> str:
    """The condition of a choice rule, to read."""
    if "Condition" in rule:
        return str(rule["Condition"]).removeprefix("{%").removesuffix("%}").strip()
    for word in ("And", "Or"):
        if word in rule:
            return f" {word.lower()} ".join(_condition(part) for part in rule[word])
    if "Not" in rule:
        return f"not {_condition(rule['Not'])}"
    test = next(name for name in rule if name not in _NO_TEST)
    value = rule[test] if isinstance(rule[test], str) else json.dumps(rule[test])
    return f"{rule['Variable']} {test} {value}"
