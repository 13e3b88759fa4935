"""Compositions: the tree that a user builds, checked as it is built, and its JSON.

A node has a type and arguments; the table in `grammar` says which.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import CompositionError, Error
from ..expressions import Predicate, Selector, Template, path
from ..values import flaw
from .arguments import REQUIRED
from .functions import ActionFunction, capture
from .grammar import Case, PartKinds, Task, grammar

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from ..values import JSON

MAX_NESTING = 60  # each takes up to three levels of JSON, of which there are `values.MAX_DEPTH`


@dataclass(frozen=True, slots=True, eq=False)
class Composition:
    """A node of the tree. Build one with the functions of this package, never by hand."""

    type: str
    arguments: Mapping[str, Any]
    depth: int

    def __repr__(self) -> str:
        label = self.arguments.get("name") or ""
        return f"<composition {self.type} {label}>".replace(" >", ">")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Composition):
            return NotImplemented
        return self.to_json() == other.to_json()

    __hash__ = None  # type: ignore[assignment]

    # --- combinators that read better as methods ---------------------------------------------

    def then(self, *parts: Part) -> Composition:
        """This, then the parts, each on the result of the one before."""
        first = self.arguments["components"] if self.type == "sequence" else (self,)
        return build("sequence", components=(*first, *parts))

    def catch(self, handler: Part, *, errors: str | list[str] = ()) -> Composition:  # type: ignore[assignment]
        """This, and `handler` on its error: as `composer.do`."""
        return build("try", body=self, handler=handler, errors=errors)

    def ensure(self, finalizer: Part) -> Composition:
        """This, and `finalizer` whatever happens: as `composer.ensure`."""
        return build("finally", body=self, finalizer=finalizer)

    def retry(self, count: int | None, **policy: Any) -> Composition:
        """This, again when it fails: as `composer.retry`."""
        return build("retry", count=count, components=(self,), **policy)

    def repeat(self, count: int) -> Composition:
        """This, so many times: as `composer.repeat`."""
        return build("repeat", count=count, components=(self,))

    def timeout(self, seconds: float) -> Composition:
        """This, within so many seconds: as `composer.timeout`."""
        return build("timeout", seconds=seconds, components=(self,))

    def forward(self, take: Any, **options: Any) -> Composition:
        """This, on a projection of its input: as `composer.forward`."""
        return forwarding(take, (self,), **options)

    def asynchronous(self) -> Composition:
        """This, without waiting for it: as `composer.asynchronous`."""
        return build("async", components=(self,))

    # --- JSON --------------------------------------------------------------------------------

    def to_json(self) -> dict[str, JSON]:
        """The composition as JSON, for `composer.parse`. Defaults are left out."""
        doc: dict[str, JSON] = {"type": self.type}
        for name, argument in GRAMMAR[self.type].arguments.items():
            value = self.arguments[name]
            if value == argument.default:
                continue
            written = argument.kind.write(value)
            if written is not None or argument.default is not None:
                doc[name] = written
        return doc

    def children(self) -> Iterator[tuple[str, Composition]]:
        """The parts directly below, each with where it stands: `components[0]`, `handler`."""
        for name in GRAMMAR[self.type].arguments:
            yield from _parts(name, self.arguments[name])

    def walk(self) -> Iterator[Composition]:
        """This and every part below, parents first."""
        left = [self]
        while left:
            node = left.pop()
            yield node
            left.extend(child for _, child in reversed(list(node.children())))

    def definitions(self) -> Iterator[tuple[str, Any]]:
        """The actions that it defines where it names them: an ActionFunction, or a document."""
        for node in self.walk():
            definition = node.arguments.get("action")
            if definition is not None:
                yield str(node.arguments.get("name") or node.arguments["entity"]), definition


Part = Any  # a Composition, an action's name, a Python function, a predicate, or None for `empty`


def _parts(name: str, value: Any) -> Iterator[tuple[str, Composition]]:
    if isinstance(value, Composition):
        yield name, value
    elif isinstance(value, (Task, Case)):
        yield f"{name}.body", value.body
    elif isinstance(value, tuple):
        for index, item in enumerate(value):
            yield from _parts(f"{name}[{index}]", item)
    elif isinstance(value, dict):
        for key, item in value.items():
            if isinstance(item, Task):
                yield f"{name}.{key}", item.body


# --- building ----------------------------------------------------------------------------------


def build(type: str, **arguments: Any) -> Composition:
    """A checked node.

    Raises:
        CompositionError: naming the combinator and the argument, and what it must be.
    """
    rule = GRAMMAR[type]
    if unknown := arguments.keys() - rule.arguments.keys():
        raise CompositionError(
            f"{rule.name}: unknown argument {min(unknown)!r}; it takes {', '.join(rule.arguments)}"
        )
    taken = {}
    for name, argument in rule.arguments.items():
        value = arguments.get(name, argument.default)
        if value is REQUIRED:
            raise CompositionError(f"{rule.name}: '{name}' is missing")
        try:
            taken[name] = argument.kind.take(value)
        except ValueError as error:
            raise CompositionError(f"{rule.name}: '{name}' {error}") from error
    for problem in rule.check(taken):
        raise CompositionError(f"{rule.name}: {problem}")
    below = (part.depth for name, value in taken.items() for _, part in _parts(name, value))
    depth = 1 + max(below, default=0)
    if depth > MAX_NESTING:
        raise CompositionError(
            f"{rule.name}: compositions nest at most {MAX_NESTING} levels deep; "
            "deploy a part as an action of its own and name it here"
        )
    return Composition(type, taken, depth)


def forwarding(
    take: Any, parts: Iterable[Part], *, carry: Any = None, into: str | None = None
) -> Composition:
    """What `composer.forward` and the method of its name make."""
    carried = None if carry is None else _projection("carry", carry)
    taken = _projection("take", take)
    return build("forward", take=taken, components=tuple(parts), carry=carried, into=into)


def _projection(argument: str, value: Any) -> Any:
    if isinstance(value, str):
        raise CompositionError(
            f"forward: {argument!r} must be a list of fields, a path() or a template, not {value!r}"
        )
    if isinstance(value, (list, tuple)) and all(isinstance(name, str) for name in value):
        return {name: path(f"$[{_quoted(name)}]") for name in value}
    return value


def _quoted(name: str) -> str:
    escaped = name.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def as_part(value: Part) -> Composition:
    """What may stand for a composition: one itself, an action's name, a function, None.

    Raises:
        ValueError: for anything else, with what it may be.
    """
    if isinstance(value, Composition):
        return value
    if value is None:
        return build("sequence", components=())
    if isinstance(value, str):
        return build("action", name=value)
    if isinstance(value, ActionFunction):
        return build("action", name=value.name, action=value)
    if isinstance(value, Predicate) and not isinstance(value, Selector):
        return build("predicate", predicate=value)
    if isinstance(value, (Selector, Template)):
        return build("select", template=value)
    if callable(value):
        return build("function", function={"exec": capture(value)})
    raise ValueError(
        "must be a composition, the name of an action, a function, a path, a predicate or None, "
        f"not {value!r}"
    )


def parse(doc: JSON) -> Composition:
    """The composition that `doc`, what `to_json` wrote, stands for.

    Raises:
        CompositionError: naming the combinator and the argument that is wrong.
    """
    if why := flaw(doc):
        raise CompositionError(f"a composition is JSON, but {why}")
    return _read(doc)


def _read(doc: JSON) -> Composition:
    if not isinstance(doc, dict) or not isinstance(doc.get("type"), str):
        raise CompositionError(f"a composition is an object with a 'type', not {doc!r:.200}")
    rule = GRAMMAR.get(doc["type"])
    if rule is None:
        raise CompositionError(f"there is no combinator {doc['type']!r}")
    arguments = {}
    for name, value in doc.items():
        if name in ("type", "path"):  # Composer labels its nodes with a path
            continue
        try:
            known = rule.arguments.get(name)
            arguments[name] = known.kind.read(value) if known is not None else value
        except CompositionError:
            raise
        except (Error, ValueError, TypeError, KeyError, AttributeError) as error:
            raise CompositionError(f"{rule.name}: '{name}' cannot be read: {error!r}") from error
    return build(doc["type"], **arguments)


GRAMMAR = grammar(PartKinds(as_part, _read))
