"""A composition as a state machine of the States Language, if every part of it has a counterpart.

The machine uses JSONata. It has the composition's results and handles errors like the composition:
the result of an action is boxed, and is a failure if it has a field `error`. The differences:

- times are Step Functions' own: whole seconds for timeouts, one for the whole machine;
- an error that nothing catches ends the execution with a name and a cause, which have the error as text;
- a retry that AWS' Retry can express becomes one: an error has one name there, the first of its
  `code`, `name` and `type`;
- a path through a list follows JSONata (see `expressions`);
- the input must be an object without a field `error`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....errors import CompositionError
from ....values import flaw
from .combinators import COUNTERPARTS
from .errors import whole_timeout
from .states import Names, Sheet
from .writer import Flaw, Writer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ....dsl.composition import Composition
    from ....values import JSON


class ExportError(CompositionError):
    """A composition has parts without a counterpart; `flaws` has all of them."""

    def __init__(self, flaws: Sequence[Flaw]) -> None:
        shown = "; ".join(f"{found.path or 'the composition'}: {found.why}" for found in flaws)
        super().__init__(f"it cannot be exported to the States Language: {shown}")
        self.flaws = tuple(flaws)


def plain_name(name: str) -> str:
    """An action's own name as a resource, for this server: `name` or `/namespace/package/name`."""
    return name.removeprefix("/_/")


def export(
    composition: Composition, *, resource: Callable[[str], str] = plain_name
) -> dict[str, JSON]:
    """Exports a composition to a definition with the same behaviour.

    Args:
        composition: the composition.
        resource: returns the Resource of an action's Task, from its full name (`/_/name` without a
            namespace).

    Raises:
        ExportError: a part has no counterpart.
    """
    writer = Writer(Sheet(Names()), resource, COUNTERPARTS)
    seconds = whole_timeout(composition)
    if seconds is None:
        writer.part("", composition)
    else:
        writer.parts(composition)
    writer.sheet.check("Result")
    machine = writer.sheet.definition()
    limit = {} if seconds is None else {"TimeoutSeconds": seconds}
    definition = {"QueryLanguage": "JSONata", **limit, **machine}
    if why := flaw(definition):
        writer.flaws.append(Flaw("", "", f"its states are nested too deeply: {why}"))
    if writer.flaws:
        raise ExportError(writer.flaws)
    return definition
