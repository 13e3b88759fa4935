"""A definition's text, refused if AWS would refuse it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....errors import CompositionError
from .diagnostics import diagnose, errors, refusal
from .jsontext import read_json

if TYPE_CHECKING:
    from ....values import JSON
    from .diagnostic import Diagnostic, Hooks, MachineType


class DefinitionError(CompositionError):
    """A definition that AWS would refuse: the text is InvalidDefinition's, `diagnostics` all findings."""

    def __init__(self, definition: str, diagnostics: list[Diagnostic]) -> None:
        super().__init__(refusal(definition, diagnostics))
        self.diagnostics = diagnostics


def parse(definition: str, *, type: MachineType, hooks: Hooks) -> dict[str, JSON]:
    """The JSON of a definition's text, which is valid.

    Raises:
        DefinitionError: it has errors.
    """
    found = diagnose(definition, type=type, hooks=hooks)
    if errors(found):
        raise DefinitionError(definition, found)
    doc: dict[str, JSON] = read_json(definition)
    return doc
