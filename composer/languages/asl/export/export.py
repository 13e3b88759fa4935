"""A composition as a state machine of the States Language, where every part of it has a counterpart.

The machine speaks JSONata. It gives the composition's results, and its errors go the composition's ways:
what an action answers is boxed, and taken for a failure where it has a field `error`. What differs:

- times are Step Functions' own: whole seconds for timeouts, one for the whole machine;
- an error that nothing catches ends the execution with a name and a cause, which say the same as text;
- where a Retry of AWS' says what the composition's does, it is one: an error has one name there, the
  first that it has of its `code`, `name` and `type`;
- a path goes through a list as JSONata has it (`export_expressions`);
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
    """A composition has parts that have no counterpart: `flaws` are all of them."""

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
        composition: what to export.
        resource: the Resource of the Task that an action becomes, of its full name (`/_/name`, where it
            names no namespace).

    Raises:
        ExportError: when a part has no counterpart.
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
