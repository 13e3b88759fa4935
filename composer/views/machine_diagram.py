"""The drawing of a state machine: its states, and where each may lead."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING

from ..languages import asl
from .drawing import Sketch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..dsl.canvas import Ends, Shape
    from ..values import JSON

MAX_LABEL = 48
_SHAPES: dict[str, Shape] = {
    "Choice": "choice",
    "Task": "step",
    "Succeed": "terminal",
    "Fail": "terminal",
}
_NO_TEST = ("Variable", "Next", "Comment", "Assign")


def machine_sketch(definition: str) -> Sketch:
    """The drawing of a definition's text.

    Raises:
        CompositionError: it has errors.
    """
    known = asl.hooks(is_action=lambda _: True, is_integration=lambda _: True)
    asl.parse(definition, type="STANDARD", hooks=known)
    sketch = Sketch()
    start = sketch.leaf("start", [], "terminal")
    ends = _states(sketch, json.loads(definition), start)
    if ends:
        sketch.leaf("end", ends, "terminal")
    return sketch


def _states(sketch: Sketch, machine: JSON, start: Ends) -> Ends:
    """Draws states; returns where they end."""
    states = machine["States"]
    entries: dict[str, str] = {}
    leaving: list[tuple[Ends, JSON]] = []
    for name, state in states.items():
        entries[name], exits = _state(sketch, name, state)
        leaving.append((exits, state))
    sketch.edges += [(node, entries[machine["StartAt"]], text) for node, text in start]
    ends: Ends = []
    for exits, state in leaving:
        for node, _ in exits:
            sketch.edges += [(node, entries[to], text) for to, text in _targets(state)]
            if state.get("End"):
                ends.append((node, ""))
    return ends


def _state(sketch: Sketch, name: str, state: JSON) -> tuple[str, Ends]:
    """Draws a state; returns the node that it is entered by, and those that it is left by."""
    processor = state.get("ItemProcessor") or state.get("Iterator")
    inner = [processor] if processor else state.get("Branches", [])
    if not inner:
        node = sketch.node(name, _SHAPES.get(state["Type"], "data"), [])
        return node, [(node, "")]
    entered: list[str] = []

    def draw() -> Ends:
        entered.append(sketch.node("", "bar", []))
        last: Ends = []
        for index, machine in enumerate(inner, 1):
            branch = partial(_states, sketch, machine, [(entered[0], "")])
            last += branch() if len(inner) == 1 else sketch.cluster(str(index), branch)
        return sketch.leaf("", last, "bar")

    ends = sketch.cluster(name, draw)
    return entered[0], ends


def _targets(state: JSON) -> Iterator[tuple[str, str]]:
    """Where a state may lead, each with when it does."""
    if "Next" in state:
        yield state["Next"], ""
    for rule in state.get("Choices", ()):
        yield rule["Next"], _short(_condition(rule))
    if "Default" in state:
        yield state["Default"], "else"
    for catcher in state.get("Catch", ()):
        yield catcher["Next"], _short(", ".join(catcher["ErrorEquals"]))


def _condition(rule: JSON) -> str:
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


def _short(text: str) -> str:
    return text if len(text) <= MAX_LABEL else text[: MAX_LABEL - 1] + "…"
