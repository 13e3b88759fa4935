"""Compositions: the tree that a user builds, checked as it is built; and the rows of the combinators.

A combinator is one `Row`, which stands beside its constructor in `combinators`. A node knows its row, so
code that compiles, draws or writes a composition asks the nodes and needs no table of combinators.

A row is looked up by its type in two cases only: `parse` reads types from JSON, and the methods of a
composition and `as_part` build nodes whose combinators' modules import this module. `ROWS` serves both.
Each row enters it where the row is defined.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from ..errors import CompositionError
from ..expressions import Predicate, Selector, Template
from .arguments import REQUIRED
from .functions import ActionFunction, capture

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from ..values import JSON
    from .arguments import Argument
    from .assembler import Assembler
    from .canvas import Canvas, Ends

    Lowering: TypeAlias = Callable[[Assembler, "Composition"], None]
    Drawing: TypeAlias = Callable[[Canvas, "Composition", Ends], Ends]

MAX_NESTING = 60  # each takes up to three levels of JSON, of which there are `values.MAX_DEPTH`


class Effect(Enum):
    """The effect that a combinator may have by itself, beside that of its parts."""

    NONE = "none: the combinator shapes data or arranges its parts"
    APART = (
        "none, but a transaction cannot contain it: it runs in a worker, or in a fiber of its own"
    )
    ENTITY = "on an entity: a transaction can undo it; in a saga it must be a step"
    ANY = "any: a transaction cannot contain it; in a saga it must be a step"


@dataclass(frozen=True, slots=True, kw_only=True)
class InComposer:
    """A combinator in Apache OpenWhisk Composer's JSON.

    names: other names of the combinator there, beside its type.
    forks: its branches run at the same time there, and the failure of a branch is a result.
    """

    names: tuple[str, ...] = ()
    forks: bool = False


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Row:
    """A combinator.

    type: its name in JSON, which is Composer's where Composer has it.
    name: its constructor's name, which its errors begin with.
    arguments: what it takes, by name.
    lower: emits its code, which takes the value, leaves its result as the value, and leaves the frames as
        it found them. When it fails it does not come back.
    check: what is wrong with its arguments together.
    draw: draws it, given what leads to it; returns what leads on. None: its components, in a box.
    title: its arguments in a few words, for drawings; its type when None.
    effect: the effect that it may have by itself. A row that does not say may have any.
    in_order: each of its parts runs once, one after the other, so a saga's pivot may stand among them.
    fails: it always fails, so nothing may follow it.
    composer: its names in Composer's JSON.
    unhosted: why an OpenWhisk conductor action cannot run it with these arguments; None when it can.

    An export to another language is not in the row: it needs the machinery of that language, which finds
    it in one table of its own, by row.
    """

    type: str
    name: str
    lower: Lowering
    arguments: Mapping[str, Argument] = field(default_factory=dict)
    check: Callable[[Mapping[str, Any]], Iterable[str]] = lambda _: ()
    draw: Drawing | None = None
    title: Callable[[Mapping[str, Any]], str] | None = None
    effect: Effect = Effect.ANY
    in_order: bool = False
    fails: bool = False
    composer: InComposer = InComposer()
    unhosted: Callable[[Mapping[str, Any]], str | None] = lambda _: None


_rows: dict[str, Row] = {}
ROWS: Final[Mapping[str, Row]] = MappingProxyType(_rows)
"""All combinators, by type."""


def define(row: Row) -> Row:
    """Enters a combinator into `ROWS`.

    Raises:
        ValueError: there is one of this type.
    """
    if row.type in _rows:
        raise ValueError(f"there is a combinator {row.type!r} already")
    _rows[row.type] = row
    return row


@dataclass(frozen=True, slots=True, eq=False)
class Composition:
    """A node of the tree. Build one with the functions of this package, never by hand."""

    row: Row
    arguments: Mapping[str, Any]
    depth: int

    @property
    def type(self) -> str:
        """Its combinator's type, as JSON has it."""
        return self.row.type

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
        return build(ROWS["sequence"], components=(*first, *parts))

    def catch(self, handler: Part, *, errors: str | list[str] = ()) -> Composition:  # type: ignore[assignment]
        """This, and `handler` on its error: as `composer.do`."""
        return build(ROWS["try"], body=self, handler=handler, errors=errors)

    def ensure(self, finalizer: Part) -> Composition:
        """This, and `finalizer` whatever happens: as `composer.ensure`."""
        return build(ROWS["finally"], body=self, finalizer=finalizer)

    def retry(self, count: int | None, **policy: Any) -> Composition:
        """This, again when it fails: as `composer.retry`."""
        return build(ROWS["retry"], count=count, components=(self,), **policy)

    def repeat(self, count: int) -> Composition:
        """This, so many times: as `composer.repeat`."""
        return build(ROWS["repeat"], count=count, components=(self,))

    def timeout(self, seconds: float) -> Composition:
        """This, within so many seconds: as `composer.timeout`."""
        return build(ROWS["timeout"], seconds=seconds, components=(self,))

    def forward(self, take: Any, *, carry: Any = None, into: str | None = None) -> Composition:
        """This, on a projection of its input: as `composer.forward`."""
        return build(ROWS["forward"], take=take, components=(self,), carry=carry, into=into)

    def asynchronous(self) -> Composition:
        """This, without waiting for it: as `composer.asynchronous`."""
        return build(ROWS["async"], components=(self,))

    # --- JSON --------------------------------------------------------------------------------

    def to_json(self) -> dict[str, JSON]:
        """The composition as JSON, for `composer.parse`. Defaults are left out."""
        doc: dict[str, JSON] = {"type": self.type}
        for name, argument in self.row.arguments.items():
            value = self.arguments[name]
            if value == argument.default:
                continue
            written = argument.kind.write(value)
            if written is not None or argument.default is not None:
                doc[name] = written
        return doc

    def children(self) -> Iterator[tuple[str, Composition]]:
        """The parts directly below, each with where it stands: `components[0]`, `handler`."""
        return _parts(self.row, self.arguments)

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


# --- building ----------------------------------------------------------------------------------


def build(row: Row, **arguments: Any) -> Composition:
    """A checked node.

    Raises:
        CompositionError: naming the combinator and the argument, and what it must be.
    """
    if unknown := arguments.keys() - row.arguments.keys():
        raise CompositionError(
            f"{row.name}: unknown argument {min(unknown)!r}; it takes {', '.join(row.arguments)}"
        )
    taken = {}
    for name, argument in row.arguments.items():
        value = arguments.get(name, argument.default)
        if value is REQUIRED:
            raise CompositionError(f"{row.name}: '{name}' is missing")
        try:
            taken[name] = argument.kind.take(value)
        except ValueError as error:
            raise CompositionError(f"{row.name}: '{name}' {error}") from error
    for problem in row.check(taken):
        raise CompositionError(f"{row.name}: {problem}")
    depth = 1 + max((part.depth for _, part in _parts(row, taken)), default=0)
    if depth > MAX_NESTING:
        raise CompositionError(
            f"{row.name}: compositions nest at most {MAX_NESTING} levels deep; "
            "deploy a part as an action of its own and name it here"
        )
    return Composition(row, taken, depth)


def _parts(row: Row, arguments: Mapping[str, Any]) -> Iterator[tuple[str, Composition]]:
    for name, argument in row.arguments.items():
        if argument.kind.parts is not None:
            yield from argument.kind.parts(name, arguments[name])


def as_part(value: Part) -> Composition:
    """What may stand for a composition: one itself, an action's name, a function, None.

    Raises:
        ValueError: for anything else, with what it may be.
    """
    if isinstance(value, Composition):
        return value
    if value is None:
        return build(ROWS["sequence"], components=())
    if isinstance(value, str):
        return build(ROWS["action"], name=value)
    if isinstance(value, ActionFunction):
        return build(ROWS["action"], name=value.name, action=value)
    if isinstance(value, Predicate) and not isinstance(value, Selector):
        return build(ROWS["predicate"], predicate=value)
    if isinstance(value, (Selector, Template)):
        return build(ROWS["select"], template=value)
    if callable(value):
        return build(ROWS["function"], function={"exec": capture(value)})
    raise ValueError(
        "must be a composition, the name of an action, a function, a path, a predicate or None, "
        f"not {value!r}"
    )
