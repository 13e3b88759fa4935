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
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

    from ..values import JSON
    from .arguments import Argument
    from .assembler import Assembler
    from .canvas import Canvas, Ends

    Lowering: TypeAlias = Callable[[Assembler, "Composition"], None]
    Drawing: TypeAlias = Callable[[Canvas, "Composition", Ends], Ends]

MAX_NESTING = 60  # each takes up to three levels of JSON, and `values.MAX_DEPTH` are allowed


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

    type: its name in JSON; Composer's name if Composer has the combinator.
    name: its constructor's name, with which its errors begin.
    arguments: its arguments, by name.
    lower: emits its code, which takes the value, leaves its result as the value, and leaves the frames as
        it found them. Code that fails does not return.
    check: the problems of its arguments together.
    draw: draws it after the given ends; returns the ends that lead on. None: its components, in a box.
    title: its arguments in a few words, for diagrams. None: its type.
    effect: the effect that it may have by itself; any effect, by default.
    in_order: True if each of its parts runs once, one after the other: a saga's pivot may be among them.
    fails: True if it always fails: nothing may follow it.
    continues: True if it ends the run, so that the next run of its chain begins.
    whole: why none of its parts may end the run, and where to do that instead; "" if they may.
    composer: its names in Composer's JSON.
    unhosted: why an OpenWhisk conductor action cannot run it with these arguments; None when it can.

    The export to another language is not in the row, because it needs the machinery of that language. Each
    language has one table of exports, by row.
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
    continues: bool = False
    whole: str = ""
    composer: InComposer = InComposer()
    unhosted: Callable[[Mapping[str, Any]], str | None] = lambda _: None


_rows: dict[str, Row] = {}
ROWS: Final[Mapping[str, Row]] = MappingProxyType(_rows)
"""All combinators, by type."""


def define(row: Row) -> Row:
    """Adds a combinator to `ROWS`.

    Raises:
        ValueError: there is a combinator of this type already.
    """
    if row.type in _rows:
        raise ValueError(f"there is a combinator {row.type!r} already")
    _rows[row.type] = row
    return row


@dataclass(frozen=True, slots=True, eq=False)
class Composition:
    """A node of the tree. Build nodes with the functions of this package, never by hand."""

    row: Row
    arguments: Mapping[str, Any]
    depth: int
    continues: bool = False  # it may end the run, so that the next run of its chain begins

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
        """This, then the parts, each on the result of the part before it."""
        first = self.arguments["components"] if self.type == "sequence" else (self,)
        return build(ROWS["sequence"], components=(*first, *parts))

    def catch(self, handler: Part, *, errors: Errors = ()) -> Composition:
        """This, and `handler` on its error, as `composer.do`."""
        return build(ROWS["try"], body=self, handler=handler, errors=errors)

    def ensure(self, finalizer: Part) -> Composition:
        """This, and `finalizer` on its result or error, as `composer.ensure`."""
        return build(ROWS["finally"], body=self, finalizer=finalizer)

    def retry(self, count: int | None, **policy: Any) -> Composition:
        """This, retried when it fails, as `composer.retry`."""
        return build(ROWS["retry"], count=count, components=(self,), **policy)

    def repeat(self, count: int) -> Composition:
        """This, `count` times, as `composer.repeat`."""
        return build(ROWS["repeat"], count=count, components=(self,))

    def timeout(self, seconds: float) -> Composition:
        """This, with a timeout in seconds, as `composer.timeout`."""
        return build(ROWS["timeout"], seconds=seconds, components=(self,))

    def within(self, **timeouts: float) -> Composition:
        """This, with timeouts in seconds, as `composer.within`."""
        return build(ROWS["within"], components=(self,), **timeouts)

    def forward(self, take: Any, *, carry: Any = None, into: str | None = None) -> Composition:
        """This, on a projection of its input, as `composer.forward`."""
        return build(ROWS["forward"], take=take, components=(self,), carry=carry, into=into)

    def asynchronous(self) -> Composition:
        """This, without waiting for its end, as `composer.asynchronous`."""
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
        """The parts directly below, each with its place: `components[0]`, `handler`."""
        return _parts(self.row, self.arguments)

    def walk(self) -> Iterator[Composition]:
        """This and every part below, parents first."""
        left = [self]
        while left:
            node = left.pop()
            yield node
            left.extend(child for _, child in reversed(list(node.children())))

    def definitions(self) -> Iterator[tuple[str, Any]]:
        """The actions that it defines inline, by name: an ActionFunction, or a document."""
        for node in self.walk():
            definition = node.arguments.get("action")
            if definition is not None:
                yield str(node.arguments.get("name") or node.arguments["entity"]), definition


Errors: TypeAlias = "str | type[Exception] | Collection[str | type[Exception]]"
"""Failures by name or by the exception's class; a class also means its subclasses."""

Part = Any  # a Composition, an action's name, a Python function, a predicate, or None for `empty`


# --- building ----------------------------------------------------------------------------------


def build(row: Row, **arguments: Any) -> Composition:
    """Makes a node from checked arguments.

    Raises:
        CompositionError: an argument is wrong; the text names it, its combinator and the remedy.
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
    continuing = [where for where, part in _parts(row, taken) if part.continues]
    if row.whole and continuing:
        raise CompositionError(
            f"{row.name}: '{continuing[0]}' has a continue_as_new, but {row.whole}"
        )
    for problem in row.check(taken):
        raise CompositionError(f"{row.name}: {problem}")
    depth = 1 + max((part.depth for _, part in _parts(row, taken)), default=0)
    if depth > MAX_NESTING:
        raise CompositionError(
            f"{row.name}: compositions nest at most {MAX_NESTING} levels deep; "
            "deploy a part as an action of its own and name it here"
        )
    return Composition(row, taken, depth, row.continues or bool(continuing))


def _parts(row: Row, arguments: Mapping[str, Any]) -> Iterator[tuple[str, Composition]]:
    for name, argument in row.arguments.items():
        if argument.kind.parts is not None:
            yield from argument.kind.parts(name, arguments[name])


def as_part(value: Part) -> Composition:
    """Makes a composition of a composition, an action's name, a function, a path, a predicate or None.

    Raises:
        ValueError: the value is anything else.
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
