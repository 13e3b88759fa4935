"""OpenWhisk Composer's JSON: the tree that its `compose` command writes and its deployments carry.

Most of it is ours already. There are two differences: Composer has two names for some combinators, and
the failure of a branch of `parallel` or `map` is a result like any other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..dsl.composition import ROWS
from ..dsl.grammar import parse
from ..errors import CompositionError
from ..values import flaw

if TYPE_CHECKING:
    from ..dsl.composition import Composition, Row
    from ..values import JSON


def read_composer(doc: JSON) -> Composition:
    """Reads Composer's tree, as `compose` writes it or after Composer has lowered it.

    Raises:
        CompositionError: naming the combinator and the argument that is wrong.
    """
    if why := flaw(doc):
        raise CompositionError(f"a composition is JSON, but {why}")
    return parse(_ours(doc, _known()))


def forks(doc: JSON) -> bool:
    """True if a tree has branches that run at the same time."""
    return _forks(doc, _known())


def _known() -> dict[str, Row]:
    """The combinators, by all names that they may have in such a tree."""
    named = {name: row for row in ROWS.values() for name in row.composer.names}
    return {**named, **ROWS}


def _forks(doc: JSON, known: dict[str, Row]) -> bool:
    if isinstance(doc, list):
        return any(_forks(item, known) for item in doc)
    if not isinstance(doc, dict):
        return False
    row = known.get(str(doc.get("type")))
    if row is not None and row.composer.forks:
        return True
    return any(_forks(part, known) for name, part in doc.items() if not _is_data(row, name))


def _ours(node: JSON, known: dict[str, Row]) -> JSON:
    if isinstance(node, list):
        return [_ours(item, known) for item in node]
    if not isinstance(node, dict) or not isinstance(type := node.get("type"), str):
        return node
    row = known.get(type)
    if row is None:
        return node  # it is refused when it is parsed
    made = {
        name: part if _is_data(row, name) else _ours(part, known) for name, part in node.items()
    }
    made["type"] = row.type
    if row.composer.forks:
        made["errors"] = "collect"
    return made


def _is_data(row: Row | None, argument: str) -> bool:
    """True if an argument holds no compositions: objects in it with a `type` are data."""
    known = None if row is None else row.arguments.get(argument)
    return known is not None and known.kind.parts is None
