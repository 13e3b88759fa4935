"""The grammar: compositions as arguments of other compositions, and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ..errors import CompositionError, Error
from ..values import flaw
from .arguments import Argument, Kind, items_of
from .composition import ROWS, Composition, as_part, build
from .hints import similar

if TYPE_CHECKING:
    from ..values import JSON

LABELS: Final = ("type", "path", "$schema")
"""Members of a node that are no arguments: Composer labels its nodes with a path, an editor's file its schema."""


def parse(doc: JSON) -> Composition:
    """Reads a composition that `to_json` wrote.

    Raises:
        CompositionError: an argument is wrong; the text names it and its combinator.
    """
    if why := flaw(doc):
        raise CompositionError(f"a composition is JSON, but {why}")
    return read(doc)


def read(doc: JSON) -> Composition:
    """Reads a composition as `parse` does, from a document that is known to be JSON."""
    if not isinstance(doc, dict) or not isinstance(type := doc.get("type"), str):
        raise CompositionError(f"a composition is an object with a 'type', not {doc!r:.200}")
    row = ROWS.get(type)
    if row is None:
        raise CompositionError(f"the combinator {type!r} does not exist{similar(type, ROWS)}")
    arguments = {}
    for name, value in doc.items():
        if name in LABELS:
            continue
        try:
            known = row.arguments.get(name)
            arguments[name] = known.kind.read(value) if known is not None else value
        except CompositionError:
            raise
        except (Error, ValueError, TypeError, KeyError, AttributeError) as error:
            raise CompositionError(f"{row.name}: '{name}' cannot be read: {error!r}") from error
    return build(row, **arguments)


def _take_parts(values: Any) -> tuple[Composition, ...]:
    if not isinstance(values, (list, tuple)):
        raise ValueError(f"must be a list of parts, not {values!r}")
    return tuple(as_part(value) for value in values)


PART_REFERENCE: Final[dict[str, JSON]] = {"$ref": "#/$defs/part"}
PART: Final = Kind(
    as_part,
    lambda part: part.to_json(),
    lambda doc: None if doc is None else read(doc),
    lambda name, part: [(name, part)],
    schema=PART_REFERENCE,
)
PARTS: Final = Kind(
    _take_parts,
    lambda parts: [part.to_json() for part in parts],
    lambda doc: [None if item is None else read(item) for item in items_of(doc)],
    lambda name, parts: [(f"{name}[{index}]", part) for index, part in enumerate(parts)],
    schema={"type": "array", "items": PART_REFERENCE},
)
COMPONENTS: Final = {"components": Argument(PARTS, ())}
"""The argument of most combinators: parts that run in sequence, or at the same time."""


def one_part(combinator: str, value: Any) -> Composition:
    """Makes a part of a value, for a constructor that needs the part before `build`.

    Raises:
        CompositionError: the value cannot be a part; the text names the combinator.
    """
    try:
        return as_part(value)
    except ValueError as error:
        raise CompositionError(f"{combinator}: a part {error}") from error
