"""Variables across scopes: nested states may not assign a variable of the machine around them again.

AWS' developer guide, "Passing data between states with variables": a Parallel's branches and a Map's
processor are scopes of their own, which read outer variables and shadow none. A variable that a Catch assigns is not
an outer variable: AWS was recorded to accept definitions whose branches assign it, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .graph import nested
from .structures import language_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..documents import Definition, StateDoc, StatePart
    from .diagnostic import Check


def check_variables(
    check: Check, machine: Definition, at: str = "", outer: tuple[set[str], ...] = ()
) -> None:
    """Checks a machine whose fields are right, and all nested machines."""
    own: set[str] = set()
    for name, state in machine["States"].items():
        language = language_of(state, check.machine)
        place = f"{at}/States/{name}"
        for field, where in assigned(state, place):
            variable = field.removesuffix(".$") if language == "JSONPath" else field
            if not where.startswith(f"{place}/Catch["):
                own.add(variable)
            if any(variable in names for names in outer):
                message = f"The variable name '{variable}' was already defined in a parent scope."
                check.error(message, f"{where}/{field}", "DUPLICATE_VARIABLE_NAME")
    for name, state in machine["States"].items():
        for inner, where in nested(state, f"{at}/States/{name}"):
            check_variables(check, inner, where, (*outer, own))


def assigned(state: StateDoc, at: str) -> Iterator[tuple[str, str]]:
    """The variables that a state may assign, each with its place; `at` is the place of the state."""
    parts: list[tuple[StatePart, str]] = [(state, at)]
    for field in ("Choices", "Catch"):
        parts += [(part, f"{at}/{field}[{i}]") for i, part in enumerate(state.get(field, ()))]
    for part, where in parts:
        for name in part.get("Assign", ()):
            yield name, f"{where}/Assign"
