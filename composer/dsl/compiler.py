"""Compiles a composition to the program that the machine runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import CompositionError
from ..machine.instructions import End
from ..names import DEFAULT_NAMESPACE
from ..values import MADE_DEPTH, flaw
from .assembler import Assembler

if TYPE_CHECKING:
    from ..machine.program import Program
    from .composition import Composition


def compile(composition: Composition, *, namespace: str = DEFAULT_NAMESPACE) -> Program:
    """Compiles a composition. Equal compositions give equal programs, with one hash.

    Args:
        composition: the composition.
        namespace: the namespace of actions that are named without one.

    Raises:
        CompositionError: the composition is too large.
    """
    assembler = Assembler(namespace)
    composition.row.lower(assembler, composition)
    assembler.emit(End)
    program = assembler.program()
    if why := flaw(program.to_json(), depth=MADE_DEPTH):
        raise CompositionError(f"the program of the composition cannot be written: {why}")
    return program
