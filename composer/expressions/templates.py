"""Templates: a JSON value with selectors in it, filled in from a scope.

As JSON a selector is `{"$path": "$.a"}` or `{"$var": "n", "$path": "$.a"}`, with `$default` if it
has one; an object that would read as one of these stands as `{"$literal": {...}}`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from ..errors import ExpressionError
from ..values import JSON, MADE_DEPTH, Failure, flaw, measured
from .bounds import too_large, unevaluable
from .nodes import MISSING
from .predicates import Scope, Selector

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_SELECTOR = {"$path", "$var", "$default"}
_RESERVED = _SELECTOR | {"$literal"}


class Template:
    """A JSON value with selectors in it. Build it with `Template.of` or `Template.from_json`."""

    __slots__ = ("_grows", "node")

    def __init__(self, node: Node) -> None:
        self.node = node
        # A literal or one singular path makes no value larger than its data.
        self._grows = not (
            isinstance(node, _Literal) or (isinstance(node, _Place) and node.selector.path.singular)
        )

    @classmethod
    def of(cls, value: Any) -> Template:
        """The template for a Python value with selectors in it.

        Raises:
            ExpressionError: for a value that is neither JSON nor a selector.
        """
        if why := flaw(value, leaf=Selector):
            raise ExpressionError(f"a template is JSON with path() and var() in it, but {why}")
        return cls(_from_python(value))

    @classmethod
    def literal(cls, value: JSON) -> Template:
        """The template for exactly this value: an object that looks like a selector is not one."""
        return cls(_Literal(value))

    @classmethod
    def joined(cls, value: Any) -> Template:
        """The template for objects and lists with templates in them."""
        return cls(_joined(value))

    @property
    def selector(self) -> Selector | None:
        """The selector, if the template consists of one selector."""
        return self.node.selector if isinstance(self.node, _Place) else None

    def or_null(self) -> Template:
        """The template in which a selector without a default has the default null."""
        return Template(_or_null(self.node))

    def fill(self, scope: Scope) -> JSON | Failure:
        """Returns the value; a Failure if a path selects nothing or the value grows too large."""
        value = self.node.fill(scope)
        if not self._grows or type(value) is Failure:
            return value
        fits = measured(value, scope.limit) <= scope.limit
        return value if fits else too_large("the template", scope.limit)

    def to_json(self) -> JSON:
        return self.node.to_json()

    @classmethod
    def from_json(cls, doc: JSON) -> Template:
        """Reads a template that `to_json` wrote.

        Raises:
            ExpressionError: naming the part that is not a template.
        """
        if why := flaw(doc, depth=MADE_DEPTH):
            raise ExpressionError(f"a template is JSON, but {why}")
        return cls(_from_json(doc))


class _Literal:
    __slots__ = ("value",)

    def __init__(self, value: JSON) -> None:
        self.value = value

    def fill(self, _scope: Scope) -> JSON:
        return self.value

    def to_json(self) -> JSON:
        return _escaped(self.value)


class _Place:
    __slots__ = ("selector",)

    def __init__(self, selector: Selector) -> None:
        self.selector = selector

    def fill(self, scope: Scope) -> JSON | Failure:
        found = self.selector.select(scope)
        return unevaluable(repr(self.selector), "selects nothing") if found is MISSING else found

    def to_json(self) -> JSON:
        return {f"${key}": value for key, value in self.selector.to_json().items()}


class _Object:
    __slots__ = ("members",)

    def __init__(self, members: dict[str, Node]) -> None:
        self.members = members

    def fill(self, scope: Scope) -> JSON | Failure:
        filled: dict[str, JSON] = {}
        for key, member in self.members.items():
            value = member.value if type(member) is _Literal else member.fill(scope)
            if type(value) is Failure:
                return value
            filled[key] = value
        return filled

    def to_json(self) -> JSON:
        return _guarded({key: member.to_json() for key, member in self.members.items()})


class _Array:
    __slots__ = ("items",)

    def __init__(self, items: list[Node]) -> None:
        self.items = items

    def fill(self, scope: Scope) -> JSON | Failure:
        filled: list[JSON] = []
        for item in self.items:
            value = item.fill(scope)
            if type(value) is Failure:
                return value
            filled.append(value)
        return filled

    def to_json(self) -> JSON:
        return [item.to_json() for item in self.items]


Node: TypeAlias = _Literal | _Place | _Object | _Array


def _or_null(node: Node) -> Node:
    match node:
        case _Place(selector=place) if place.default is MISSING:
            return _Place(Selector(place.path.text, variable=place.variable, default=None))
        case _Object():
            return _Object({key: _or_null(member) for key, member in node.members.items()})
        case _Array():
            return _Array([_or_null(item) for item in node.items])
    return node


def _from_python(value: Any) -> Node:
    return _Place(value) if isinstance(value, Selector) else _built(value, _from_python)


def _joined(value: Any) -> Node:
    return value.node if isinstance(value, Template) else _built(value, _joined)


def _from_json(doc: JSON) -> Node:
    if type(doc) is dict:
        if doc.keys() == {"$literal"} and type(doc["$literal"]) is dict:
            doc = doc["$literal"]
        elif doc.keys() & _RESERVED:
            return _Place(_selector(doc))
    return _built(doc, _from_json)


def _selector(doc: dict[str, JSON]) -> Selector:
    if not {"$path"} <= doc.keys() <= _SELECTOR:
        raise ExpressionError(
            f"a template has an object with {', '.join(doc):.200}: a selector is '$path', and "
            "perhaps '$var' and '$default'; an object that only looks like one is {'$literal': ...}"
        )
    return Selector.from_json({key[1:]: value for key, value in doc.items()})


def _built(value: Any, read: Callable[[Any], Node]) -> Node:
    """The node for a plain value; a container without selectors in it is one literal."""
    if type(value) is dict:
        members = {key: read(member) for key, member in value.items()}
        literals = _literals(members.values())
        return (
            _Object(members)
            if literals is None
            else _Literal(dict(zip(members, literals, strict=True)))
        )
    if type(value) in (list, tuple):
        items = [read(item) for item in value]
        literals = _literals(items)
        return _Array(items) if literals is None else _Literal(literals)
    return _Literal(value)


def _literals(nodes: Iterable[Node]) -> list[JSON] | None:
    values: list[JSON] = []
    for node in nodes:
        if not isinstance(node, _Literal):
            return None
        values.append(node.value)
    return values


def _escaped(value: JSON) -> JSON:
    if type(value) is dict:
        return _guarded({key: _escaped(member) for key, member in value.items()})
    return [_escaped(item) for item in value] if type(value) is list else value


def _guarded(doc: dict[str, JSON]) -> dict[str, JSON]:
    return {"$literal": doc} if _RESERVED & doc.keys() else doc
