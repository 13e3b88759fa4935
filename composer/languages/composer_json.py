"""OpenWhisk Composer's JSON: the tree that its `compose` command writes and its deployments carry.

Most of it is ours already. What differs: some combinators have two names there, and a branch of
`parallel` or `map` that fails is a result like any other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..dsl.composition import Composition, parse
from ..errors import CompositionError
from ..values import flaw

if TYPE_CHECKING:
    from ..values import JSON

_NAMES = {"seq": "sequence", "empty": "sequence", "par": "parallel", "value": "literal"}
_FORKS = ("parallel", "map")
_DATA = ("action", "declarations", "function", "value")  # in which there are no compositions


def read_composer(doc: JSON) -> Composition:
    """The composition that Composer's tree, as written or lowered, stands for.

    Raises:
        CompositionError: naming the combinator and the argument that is wrong.
    """
    if why := flaw(doc):
        raise CompositionError(f"a composition is JSON, but {why}")
    return parse(_ours(doc))


def forks(doc: JSON) -> bool:
    """Whether a tree has branches that run at the same time."""
    if isinstance(doc, list):
        return any(forks(item) for item in doc)
    if not isinstance(doc, dict):
        return False
    parts = (part for name, part in doc.items() if name not in _DATA)
    kind = str(doc.get("type"))
    return _NAMES.get(kind, kind) in _FORKS or any(map(forks, parts))


def _ours(node: JSON) -> JSON:
    if isinstance(node, list):
        return [_ours(item) for item in node]
    if not isinstance(node, dict) or not isinstance(node.get("type"), str):
        return node
    made = {name: part if name in _DATA else _ours(part) for name, part in node.items()}
    made["type"] = _NAMES.get(node["type"], node["type"])
    if made["type"] in _FORKS:
        made["errors"] = "collect"
    return made
