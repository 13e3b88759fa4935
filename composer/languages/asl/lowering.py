"""The lowering of a state machine to a program: a state becomes one instruction, or a few from its entry to its exit."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ...dsl.assembler import Assembler
from ...machine.instructions import Fork
from .checking.definition import parse
from .checking.structures import language_of
from .running.compiled import END
from .running.dialect import STATES
from .running.instructions import (
    BeginBranch,
    BeginMachine,
    EndBranch,
    EnterState,
    InvokeState,
    ItemsState,
    LeaveState,
    MapState,
    PassState,
    PrepareState,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ...dsl.assembler import Label
    from ...machine.program import Program
    from .checking.diagnostic import Hooks, Language, MachineType
    from .documents import Definition, StateDoc

EXPRESS_SECONDS = 300  # the longest that an express execution may take
PLAIN = ("Pass", "Choice", "Succeed", "Fail")
NESTED = (
    "Branches",
    "States",
    "StartAt",
)  # fields of a state that become instructions of their own


def lower(definition: str, *, type: MachineType, hooks: Hooks) -> Program:
    """Lowers a definition's text to a program.

    Raises:
        DefinitionError: it has errors.
        CompositionError: it is too large.
    """
    doc = parse(definition, type=type, hooks=hooks)
    assembler = Assembler("")
    seconds: int | None = doc.get("TimeoutSeconds")
    if type == "EXPRESS":
        seconds = min(EXPRESS_SECONDS, seconds or EXPRESS_SECONDS)
    assembler.emit(BeginMachine, timeout_ms=None if seconds is None else seconds * 1000)
    _states(assembler, doc, language_of(doc, "JSONPath"), None)
    return assembler.program(STATES)


def _states(assembler: Assembler, doc: Definition, language: Language, item_of: str | None) -> None:
    """Lowers the states of a machine; `item_of` is the Map whose iteration they are."""
    states: Mapping[str, StateDoc] = doc["States"]
    places = {name: assembler.label() for name in states}
    places[END] = assembler.label()
    names = [doc["StartAt"], *(name for name in states if name != doc["StartAt"])]
    for name in names:
        assembler.place(places[name])
        _state(assembler, name, states[name], language, places)
    assembler.place(places[END])
    assembler.emit(EndBranch, state=item_of)


def _state(
    assembler: Assembler,
    name: str,
    doc: StateDoc,
    machine: Language,
    places: dict[str, Label],
) -> None:
    text = state_text(name, doc, language_of(doc, machine))
    targets = {next: places[next] for next in _nexts(doc)}
    if doc["Type"] in PLAIN:
        assembler.emit(PassState, state=text, targets=targets)
        return
    assembler.emit(EnterState, state=text, targets=targets)
    assembler.emit(PrepareState, state=text)
    leave = assembler.label()
    match doc["Type"]:
        case "Task":
            assembler.emit(InvokeState, state=text, path=name)
        case "Parallel":
            _branches(assembler, name, doc["Branches"], machine, leave)
        case "Map":
            processor = doc.get("ItemProcessor") or doc["Iterator"]
            if "ItemReader" in doc:
                assembler.emit(InvokeState, state=text, path=name)
                assembler.emit(ItemsState, state=text)
            assembler.emit(MapState, state=text, to=leave, path=name)
            assembler.emit(BeginBranch, state=text)
            _states(assembler, processor, machine, text)
    assembler.place(leave)
    if "Resource" in doc.get("ResultWriter", {}):
        assembler.emit(InvokeState, state=text, path=name)
    assembler.emit(LeaveState, state=text)


def _branches(
    assembler: Assembler, name: str, branches: Sequence[Definition], machine: Language, leave: Label
) -> None:
    starts = tuple(assembler.label() for _ in branches)
    assembler.emit(Fork, branches=starts, to=leave, path=name)
    for start, branch in zip(starts, branches, strict=True):
        assembler.place(start)
        assembler.emit(BeginBranch)
        _states(assembler, branch, machine, None)


def _nexts(doc: StateDoc) -> list[str]:
    rules = [*doc.get("Choices", ()), *doc.get("Catch", ())]
    nexts = [doc.get("Next", END), *(rule["Next"] for rule in rules)]
    return [*nexts, *([doc["Default"]] if "Default" in doc else [])]


def state_text(name: str, doc: StateDoc, language: Language) -> str:
    """The text of a state's own definition, without the states that are nested in it."""
    own = {field: part for field, part in doc.items() if field not in NESTED}
    for field in ("ItemProcessor", "Iterator"):
        if field in own:
            own[field] = {part: own[field][part] for part in own[field] if part not in NESTED}
    return json.dumps(
        {"name": name, "language": language, "state": own},
        ensure_ascii=False,
        separators=(",", ":"),
    )
