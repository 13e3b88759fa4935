"""The graph of states: missing targets, states that cannot be reached, names used twice."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..documents import Definition, StateDoc
    from .diagnostic import Check

_DANGLING = "MISSING_TRANSITION_TARGET"


def check_graph(check: Check, definition: Definition) -> None:
    """Checks the graph of a definition whose fields are right, with all nested machines.

    A whole machine must have an end; a nested one need not, but its states must be reachable.
    """
    names: set[str] = set()
    labels: set[str] = set()
    ends = any(map(_is_end, definition["States"].values()))
    for machine, at in machines(definition):
        for name, state in machine["States"].items():
            _check_unique(check, (name, f"{at}/States/{name}"), names, ("STATE", "State"))
            label = (state.get("Label"), f"{at}/States/{name}/Label")
            _check_unique(check, label, labels, ("LABEL", "Label"))
        _check_targets(check, machine, at)
        if at or ends:
            _check_reachable(check, machine, at)
        else:
            check.error("Workflow has no terminal state", None, "MISSING_END_STATE")


def machines(definition: Definition, at: str = "") -> Iterator[tuple[Definition, str]]:
    """The definition, its branches and processors, and theirs, each with its place."""
    yield definition, at
    for name, state in definition["States"].items():
        for inner, where in nested(state, f"{at}/States/{name}"):
            yield from machines(inner, where)


def nested(state: StateDoc, at: str) -> Iterator[tuple[Definition, str]]:
    """The branches of a state or its processor, each with its place."""
    for field in ("ItemProcessor", "Iterator"):
        if field in state:
            yield state[field], f"{at}/{field}"
    for index, branch in enumerate(state.get("Branches", ())):
        yield branch, f"{at}/Branches[{index}]"


def targets(state: StateDoc) -> Iterator[tuple[str, str]]:
    """The states that a state can lead to, each with the place of its field."""
    for field in ("Next", "Default"):
        if field in state:
            yield state[field], f"/{field}"
    for field in ("Choices", "Catch"):
        for index, part in enumerate(state.get(field, ())):
            yield part["Next"], f"/{field}[{index}]/Next"


def _is_end(state: StateDoc) -> bool:
    return state["Type"] in ("Succeed", "Fail") or state.get("End") is True


def _check_unique(
    check: Check, named: tuple[str | None, str], seen: set[str], word: tuple[str, str]
) -> None:
    name, at = named
    if name is None:
        return
    if name in seen:
        check.error(f"Duplicate {word[1]} name: {name}", at, f"DUPLICATE_{word[0]}_NAME")
    seen.add(name)


def _check_targets(check: Check, machine: Definition, at: str) -> None:
    states = machine["States"]
    led = [(machine["StartAt"], f"{at}/StartAt")]
    for name, state in states.items():
        led += [(target, f"{at}/States/{name}{where}") for target, where in targets(state)]
    for target, where in led:
        if target not in states:
            # AWS writes 'Next' for every field.
            check.error(f"Missing 'Next' target: {target}", where, _DANGLING)


def _check_reachable(check: Check, machine: Definition, at: str) -> None:
    states = machine["States"]
    reached: set[str] = set()
    waiting = [machine["StartAt"]]
    while waiting:
        name = waiting.pop()
        if name in states and name not in reached:
            reached.add(name)
            waiting += [target for target, _ in targets(states[name])]
    for name in states:
        if name not in reached:
            check.error(f'State "{name}" is not reachable.', f"{at}/States/{name}", _DANGLING)
