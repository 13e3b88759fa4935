"""The parts of a parsed JSONPath: segments, and the tests of its filters."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from ....freezing import frozen

if TYPE_CHECKING:
    from ....values import JSON
    from .regexes import Regex


@frozen
class Names:
    """`.a`, `['a']`, `['a','b']`: several at the end of a path make one object of these members."""

    names: tuple[str, ...]

    def __str__(self) -> str:
        return "[" + ",".join(f"'{name}'" for name in self.names) + "]"


@frozen
class Indexes:
    """`[0]`, `[-1]`, `[0,2]`: from the end of the array if negative."""

    indexes: tuple[int, ...]

    def __str__(self) -> str:
        return "[" + ",".join(map(str, self.indexes)) + "]"


@frozen
class Slice:
    """`[1:3]`, either end of which may be left out."""

    start: int | None
    end: int | None

    def __str__(self) -> str:
        start, end = ("" if bound is None else bound for bound in (self.start, self.end))
        return f"[{start}:{end}]"


@frozen
class Wildcard:
    """`.*`, `[*]`: every member or element."""


@frozen
class Filter:
    """`[?(...)]`: the elements of an array for which the test holds, or the object if it does."""

    test: Test

    def __str__(self) -> str:
        return "[?]"


Selector: TypeAlias = Names | Indexes | Slice | Wildcard | Filter


@frozen
class Segment:
    """A selector; after `..` it is applied to the node and to everything below."""

    selector: Selector
    descends: bool = False

    @property
    def step(self) -> str | int | None:
        """The one name or index that this is; None if it may select several nodes."""
        match self.selector:
            case Names(names=(name,)) if not self.descends:
                return name
            case Indexes(indexes=(index,)) if not self.descends:
                return index
        return None


Segments: TypeAlias = tuple[Segment, ...]


def definite(segments: Segments) -> bool:
    """True if a path selects one value, and not a list."""
    merges = (
        bool(segments) and isinstance(segments[-1].selector, Names) and not segments[-1].descends
    )
    return all(segment.step is not None for segment in (segments[:-1] if merges else segments))


# --- filters ------------------------------------------------------------------------------------


@frozen
class Literal:
    value: JSON


@frozen
class Query:
    """`@.a`, or `$.a` if `absolute`."""

    segments: Segments
    absolute: bool

    @property
    def definite(self) -> bool:
        return definite(self.segments)


Operand: TypeAlias = Literal | Query


@frozen
class Exists:
    query: Query


@frozen
class Compare:
    operator: str
    left: Operand
    right: Operand


@frozen
class Fits:
    """`=~ /.../i`: true if a whole text fits."""

    left: Operand
    regex: Regex


@frozen
class Negation:
    test: Test


@frozen
class Junction:
    """All of these tests, or any of them."""

    all: bool
    tests: tuple[Test, ...]


Test: TypeAlias = Exists | Compare | Fits | Negation | Junction
