"""The assembler: collects a program's instructions, and resolves the labels that they jump to."""

from __future__ import annotations

import json
from contextlib import contextmanager
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from ..errors import CompositionError
from ..machine.plain import PLAIN
from ..machine.program import Program
from ..names import Name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..expressions import Template
    from ..machine.dialect import Dialect
    from ..machine.instructions import Instruction
    from ..values import JSON

MAX_INSTRUCTIONS = 50_000


class Label:
    """A place in the code, known once it is placed."""

    __slots__ = ("at",)

    def __init__(self) -> None:
        self.at = -1


class Assembler:
    """Collects instructions, with labels for targets that are not placed yet."""

    def __init__(self, namespace: str) -> None:
        self.path = ""
        self._namespace = namespace
        self._code: list[tuple[type[Instruction], dict[str, Any]]] = []
        self._functions: dict[str, dict[str, JSON]] = {}
        self._inside: list[str] = []
        self._queries: dict[str, Template] = {}
        self._scopes: list[
            frozenset[str] | None
        ] = []  # of variables; None hides the next one below
        self.apart: list[str] = []  # the places around the code that are not the main line

    def emit(self, instruction: type[Instruction], **arguments: Any) -> None:
        """Appends an instruction; a target may be a Label, or a tuple of them.

        Raises:
            CompositionError: the program grows too large.
        """
        if len(self._code) >= MAX_INSTRUCTIONS:
            raise CompositionError(
                f"the composition compiles to more than {MAX_INSTRUCTIONS} instructions; "
                "deploy a part as an action of its own and name it here"
            )
        self._code.append((instruction, arguments))

    def label(self) -> Label:
        """A label to be placed later."""
        return Label()

    def here(self) -> Label:
        """A label for the next instruction."""
        label = Label()
        self.place(label)
        return label

    def place(self, label: Label) -> None:
        """Makes `label` stand for the next instruction."""
        label.at = len(self._code)

    def action(self, name: str) -> str:
        """An action's full name."""
        return str(Name.parse(name).within(self._namespace))

    def function(self, runtime: dict[str, JSON]) -> str:
        """Adds an inline function to the program. Returns its hash."""
        text = json.dumps(runtime, sort_keys=True)
        digest = sha256(text.encode()).hexdigest()
        self._functions[digest] = runtime
        return digest

    def query(self, name: str, template: Template) -> None:
        """Adds a query to the program.

        Raises:
            CompositionError: there is another query of this name.
        """
        if self._queries.setdefault(name, template).to_json() != template.to_json():
            raise CompositionError(
                f"queries: {name!r} is declared twice in one composition, with different templates: "
                "rename one of them"
            )

    @contextmanager
    def inside(self, construct: str) -> Iterator[None]:
        """Marks the code that follows as the inside of a construct: a saga, a step, or `updates`."""
        self._inside.append(construct)
        try:
            yield
        finally:
            self._inside.pop()

    def is_inside(self, construct: str) -> bool:
        """True if the code stands in this construct, however deep."""
        return construct in self._inside

    def is_directly_inside(self, construct: str) -> bool:
        """True if the code stands in this construct, and in no other inside it."""
        return self._inside[-1:] == [construct]

    @contextmanager
    def set_apart(self, place: str) -> Iterator[None]:
        """Marks the code that follows as standing in this place, which is not the main line."""
        self.apart.append(place)
        try:
            yield
        finally:
            self.apart.pop()

    @contextmanager
    def declaring(self, names: frozenset[str] | None) -> Iterator[None]:
        """Declares variables for the code that follows, or hides the innermost ones from it."""
        self._scopes.append(names)
        try:
            yield
        finally:
            self._scopes.pop()

    def declared(self) -> set[str]:
        """The names of the variables that the code sees."""
        found, hidden = set[str](), 0
        for names in reversed(self._scopes):
            if names is None:
                hidden += 1
            elif hidden:
                hidden -= 1
            else:
                found |= names
        return found

    @contextmanager
    def within(self, where: str) -> Iterator[None]:
        """Extends `path` by `where`, the place of the part to which the code that follows belongs."""
        outer = self.path
        self.path = f"{outer}.{where}" if outer else where
        try:
            yield
        finally:
            self.path = outer

    def program(self, dialect: Dialect = PLAIN) -> Program:
        """The program of the instructions collected so far, in this dialect."""
        instructions = tuple(
            instruction(**{name: _resolved(value) for name, value in arguments.items()})
            for instruction, arguments in self._code
        )
        return Program(instructions, self._functions, dialect, self._queries)


def _resolved(value: Any) -> Any:
    if isinstance(value, Label):
        return value.at
    if isinstance(value, tuple):
        return tuple(_resolved(item) for item in value)
    if isinstance(value, dict):
        return {name: _resolved(item) for name, item in value.items()}
    return value
