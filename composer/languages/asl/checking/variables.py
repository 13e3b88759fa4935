"""Variables across scopes: what a machine assigns, nothing nested in it may assign again.

AWS' developer guide, "Passing data between states with variables": a Parallel's branches and a Map's
processor are scopes of their own, which read outer variables and shadow none. What a Catch assigns is no outer
variable: AWS was recorded to take definitions whose branches assign it, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from .graph import nested
from .structures import language_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ....values import JSON
    from .diagnostic import Check

Object: TypeAlias = "dict[str, JSON]"


def check_variables(
    check: Check, machine: Object, at: str = "", outer: tuple[set[str], ...] = ()
) -> None:
    """A machine whose fields are as they must be, and all that is nested in it."""
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


def assigned(state: Object, at: str) -> Iterator[tuple[str, str]]:
    """The fields of all that a state may assign, and where each is; `at` is where the state is."""
    parts = [(state, at)]
    for field in ("Choices", "Catch"):
        parts += [(part, f"{at}/{field}[{i}]") for i, part in enumerate(state.get(field, ()))]
    for part, where in parts:
        for name in part.get("Assign", ()):
            yield name, f"{where}/Assign"
