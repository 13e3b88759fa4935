"""The text of a definition, parsed and checked: refused if AWS would refuse it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....errors import CompositionError
from .diagnostics import diagnose, errors, refusal
from .jsontext import read_checked

if TYPE_CHECKING:
    from ..documents import Definition
    from .diagnostic import Diagnostic, Hooks, MachineType


class DefinitionError(CompositionError):
    """A definition that AWS would refuse; the text is that of InvalidDefinition, `diagnostics` has all findings."""

    def __init__(self, definition: str, diagnostics: list[Diagnostic]) -> None:
        super().__init__(refusal(definition, diagnostics))
        self.diagnostics = diagnostics


def parse(definition: str, *, type: MachineType, hooks: Hooks) -> Definition:
    """Parses and checks the text of a definition.

    Raises:
        DefinitionError: it has errors.
    """
    found = diagnose(definition, type=type, hooks=hooks)
    if errors(found):
        raise DefinitionError(definition, found)
    return read_checked(definition)
