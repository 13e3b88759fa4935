"""Selectors and the typed predicates over them.

A selector names a place in the data (`path("$.build.id")`) or in a `let` variable (`var("n")`).
Comparing one makes a predicate; predicates combine with `&`, `|` and `~`. Nothing is ever coerced:
the string "42" is not the number 42, and an order between unlike types does not hold
(RFC 9535, section 2.3.5.2.2, which also says that nothing equals nothing).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias, runtime_checkable

from ..errors import ExpressionError
from ..values import JSON, Failure, copied, flaw, truthy
from .bounds import MAX_PATTERN, MAX_RESULT_BYTES, unevaluable
from .nodes import COMPARE, MISSING, Node
from .paths import Path

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class Scope(NamedTuple):
    """The input of an expression: the data, the variables, and how large a value it may make."""

    value: JSON
    variables: Mapping[str, JSON]
    limit: int = MAX_RESULT_BYTES


class Selector:
    """A place in the data or in a variable. Compare it to make a `Predicate`."""

    __slots__ = ("default", "path", "variable")
    __hash__ = None  # type: ignore[assignment]  # == makes a predicate, so it cannot be a key

    def __init__(
        self, text: str = "$", *, variable: str | None = None, default: Node = MISSING
    ) -> None:
        self.path = Path.compile(text)
        if variable is not None and not (isinstance(variable, str) and variable.isidentifier()):
            raise ExpressionError(f"var: 'name' must be the name of a variable, not {variable!r}")
        self.variable = variable
        if default is not MISSING and (why := flaw(default)):
            raise ExpressionError(f"path {text!r}: 'default' must be JSON, but {why}")
        self.default: Node = default if default is MISSING else copied(default)

    def __repr__(self) -> str:
        if self.variable is None:
            return f"path({self.path.text!r})"
        inside = "" if self.path.text == "$" else f", {self.path.text!r}"
        return f"var({self.variable!r}{inside})"

    def select(self, scope: Scope) -> Node | Failure:
        """Returns the selected value; MISSING if there is none and no default."""
        if self.variable is None:
            found = self.path.select(scope.value)
        elif self.variable in scope.variables:
            found = self.path.select(scope.variables[self.variable])
        else:
            return unevaluable(repr(self), f"no enclosing let declares {self.variable!r}")
        return self.default if found is MISSING else found

    def to_json(self) -> dict[str, JSON]:
        doc: dict[str, JSON] = {"path": self.path.text}
        if self.variable is not None:
            doc["var"] = self.variable
        if self.default is not MISSING:
            doc["default"] = copied(self.default)
        return doc

    @classmethod
    def from_json(cls, doc: Any) -> Selector:
        """Reads `{"path": ..., "var"?: ..., "default"?: ...}`.

        Raises:
            ExpressionError: if `doc` is not a selector.
        """
        if not isinstance(doc, dict) or not {"path"} <= doc.keys() <= {"path", "var", "default"}:
            raise ExpressionError(f"a selector is {{'path': '$...'}}, not {doc!r:.200}")
        return cls(doc["path"], variable=doc.get("var"), default=doc.get("default", MISSING))

    def __bool__(self) -> bool:
        raise TypeError(f"{self!r} has no truth while composing: compare it, or use .is_true()")

    def __eq__(self, other: object) -> Predicate:  # type: ignore[override]
        return Comparison("eq", self, other)

    def __ne__(self, other: object) -> Predicate:  # type: ignore[override]
        return Comparison("ne", self, other)

    def __lt__(self, other: object) -> Predicate:
        return Comparison("lt", self, other)

    def __le__(self, other: object) -> Predicate:
        return Comparison("le", self, other)

    def __gt__(self, other: object) -> Predicate:
        return Comparison("gt", self, other)

    def __ge__(self, other: object) -> Predicate:
        return Comparison("ge", self, other)

    def exists(self) -> Predicate:
        """Holds if the selector selects a value, null included."""
        return Check("exists", self)

    def is_true(self) -> Predicate:
        """Holds if the selected value is true in JavaScript (not null, false, 0, "")."""
        return Check("true", self)

    def is_a(self, type: str) -> Predicate:
        """Holds if the selected value is of `type`: null, boolean, number, string, array or object."""
        return Typed(self, type)

    def one_of(self, *values: JSON) -> Predicate:
        """Holds if the selected value is one of these."""
        return Some(tuple(Comparison("eq", self, value) for value in values))

    def matches(self, pattern: str) -> Predicate:
        r"""Holds if the selected value is a string that fits `pattern`, where * is any text and \* a star."""
        return Matches(self, pattern)


def path(text: str, *, default: Node = MISSING) -> Selector:
    """The place that a JSONPath (RFC 9535) selects in the data.

    A path that can select several nodes (`$..id`, `$.items[*]`) stands for their list.

    Args:
        text: the path, from `$`.
        default: the value of a path for one node that selects none.

    Raises:
        ExpressionError: if `text` is not a path, or is a path that could stall the conductor.
    """
    return Selector(text, default=default)


def var(name: str, path: str = "$", *, default: Node = MISSING) -> Selector:
    """The `let` variable `name`, or a place in it."""
    if name is None:
        raise ExpressionError("var: 'name' must be the name of a variable, not None")
    return Selector(path, variable=name, default=default)


@runtime_checkable
class Predicate(Protocol):
    """Holds or not in a scope; a Failure when it cannot be evaluated."""

    def holds(self, scope: Scope) -> bool | Failure: ...

    def to_json(self) -> dict[str, JSON]: ...

    def __and__(self, other: Predicate) -> Predicate: ...

    def __or__(self, other: Predicate) -> Predicate: ...

    def __invert__(self) -> Predicate: ...


class _Combinable:
    __slots__ = ()

    def __and__(self: Predicate, other: Predicate) -> Predicate:
        return Every((*_terms(self, Every), *_terms(other, Every)))

    def __or__(self: Predicate, other: Predicate) -> Predicate:
        return Some((*_terms(self, Some), *_terms(other, Some)))

    def __invert__(self: Predicate) -> Predicate:
        return self.of if isinstance(self, Not) else Not(self)

    __rand__, __ror__ = __and__, __or__  # where a path stands in front: refused in the same words

    def __bool__(self) -> bool:
        raise TypeError(
            "a predicate has no truth while composing: use &, | and ~, not and, or, not"
        )


def _terms(predicate: Predicate, kind: type[Every | Some]) -> tuple[Predicate, ...]:
    """The predicates to combine, flat: a chain of a thousand | is one level, not a thousand."""
    if not isinstance(predicate, Predicate):
        raise ExpressionError(
            f"{predicate!r} cannot be combined with a predicate: compare it, or use .is_true()"
        )
    return predicate.of if isinstance(predicate, kind) else (predicate,)


Operand: TypeAlias = Any
"""A Selector, or a JSON value."""


def _operand(value: Operand, scope: Scope) -> Node | Failure:
    operand: Node | Failure = value.select(scope) if type(value) is Selector else value
    return operand


@dataclass(frozen=True, slots=True, eq=False)
class Comparison(_Combinable):
    """`left` compared to a selector or a literal."""

    op: str
    left: Selector
    right: Operand

    def __post_init__(self) -> None:
        if self.op not in COMPARE:
            raise ExpressionError(f"unknown comparison {self.op!r}: use one of {list(COMPARE)}")
        if type(self.right) is Selector:
            return
        if why := flaw(self.right):
            raise ExpressionError(f"{self.left!r} is compared with a value that is not JSON: {why}")
        object.__setattr__(self, "right", copied(self.right))

    def holds(self, scope: Scope) -> bool | Failure:
        left, right = self.left.select(scope), _operand(self.right, scope)
        if type(left) is Failure:
            return left
        return right if type(right) is Failure else COMPARE[self.op](left, right)

    def to_json(self) -> dict[str, JSON]:
        right = (
            self.right.to_json() if type(self.right) is Selector else {"value": copied(self.right)}
        )
        return {"op": self.op, "left": self.left.to_json(), "right": right}


CHECKS = ("exists", "true")


@dataclass(frozen=True, slots=True, eq=False)
class Check(_Combinable):
    """Holds if there is a value (`exists`), or a true value (`true`)."""

    op: str
    of: Selector

    def holds(self, scope: Scope) -> bool | Failure:
        found = self.of.select(scope)
        if type(found) is Failure:
            return found
        return found is not MISSING and (self.op == "exists" or truthy(found))

    def to_json(self) -> dict[str, JSON]:
        return {"op": self.op, "of": self.of.to_json()}


TYPES: dict[str, tuple[type, ...]] = {
    "null": (type(None),),
    "boolean": (bool,),
    "number": (int, float),
    "string": (str,),
    "array": (list,),
    "object": (dict,),
}


@dataclass(frozen=True, slots=True, eq=False)
class Typed(_Combinable):
    """Holds for a value of one JSON type."""

    of: Selector
    type: str

    def __post_init__(self) -> None:
        if not isinstance(self.type, str) or self.type not in TYPES:
            raise ExpressionError(f"is_a: 'type' must be one of {list(TYPES)}, not {self.type!r}")

    def holds(self, scope: Scope) -> bool | Failure:
        found = self.of.select(scope)
        return found if type(found) is Failure else type(found) in TYPES[self.type]

    def to_json(self) -> dict[str, JSON]:
        return {"op": "is", "of": self.of.to_json(), "type": self.type}


@dataclass(frozen=True, slots=True, eq=False)
class Matches(_Combinable):
    """Holds for a string that fits a pattern. Linear in the string: a pattern cannot backtrack."""

    of: Selector
    pattern: str

    def __post_init__(self) -> None:
        if not isinstance(self.pattern, str) or len(self.pattern) > MAX_PATTERN:
            raise ExpressionError(
                f"matches: 'pattern' must be a string of at most {MAX_PATTERN} characters, "
                f"not {self.pattern!r:.300}"
            )
        if len(self.pattern) - len(self.pattern.rstrip("\\")) & 1:
            raise ExpressionError(
                f"matches: 'pattern' ends with a backslash that escapes nothing: {self.pattern!r}"
            )

    def holds(self, scope: Scope) -> bool | Failure:
        found = self.of.select(scope)
        if type(found) is Failure:
            return found
        return type(found) is str and _fits(found, _pieces(self.pattern))

    def to_json(self) -> dict[str, JSON]:
        return {"op": "matches", "of": self.of.to_json(), "pattern": self.pattern}


def _pieces(pattern: str) -> list[str]:
    pieces, escaped = [""], False
    for char in pattern:
        if char == "\\" and not escaped:
            escaped = True
            continue
        if char == "*" and not escaped:
            pieces.append("")
        else:
            pieces[-1] += char
        escaped = False
    return pieces


def _fits(text: str, pieces: list[str]) -> bool:
    first, *middle = pieces
    if not middle:
        return text == first
    if not text.startswith(first):
        return False
    at, last = len(first), middle.pop()
    for piece in middle:  # the leftmost place is always right: what follows has the most room
        found = text.find(piece, at)
        if found < 0:
            return False
        at = found + len(piece)
    return len(text) - at >= len(last) and text.endswith(last)


@dataclass(frozen=True, slots=True, eq=False)
class Every(_Combinable):
    """All of them hold."""

    of: tuple[Predicate, ...]

    def holds(self, scope: Scope) -> bool | Failure:
        for predicate in self.of:
            if (held := predicate.holds(scope)) is not True:
                return held
        return True

    def to_json(self) -> dict[str, JSON]:
        return {"op": "and", "of": [predicate.to_json() for predicate in self.of]}


@dataclass(frozen=True, slots=True, eq=False)
class Some(_Combinable):
    """At least one of them holds."""

    of: tuple[Predicate, ...]

    def holds(self, scope: Scope) -> bool | Failure:
        for predicate in self.of:
            if (held := predicate.holds(scope)) is not False:
                return held
        return False

    def to_json(self) -> dict[str, JSON]:
        return {"op": "or", "of": [predicate.to_json() for predicate in self.of]}


CONNECTIVES: dict[str, type[Every | Some]] = {"and": Every, "or": Some}


@dataclass(frozen=True, slots=True, eq=False)
class Not(_Combinable):
    """It does not hold."""

    of: Predicate

    def holds(self, scope: Scope) -> bool | Failure:
        held = self.of.holds(scope)
        return held if type(held) is Failure else not held

    def to_json(self) -> dict[str, JSON]:
        return {"op": "not", "of": self.of.to_json()}


def parse_predicate(doc: Any) -> Predicate:
    """Reads a predicate that `to_json` wrote.

    Raises:
        ExpressionError: naming the part that is not a predicate.
    """
    try:
        op = doc["op"]
        if op in COMPARE:
            right = doc["right"]
            operand = right["value"] if "value" in right else Selector.from_json(right)
            return Comparison(op, Selector.from_json(doc["left"]), operand)
        if op in CHECKS:
            return Check(op, Selector.from_json(doc["of"]))
        if op in CONNECTIVES:
            return CONNECTIVES[op](_parsed(doc["of"]))
        return _READERS[op](doc)
    except (KeyError, TypeError, AttributeError) as error:
        raise ExpressionError(f"not a predicate: {doc!r:.200}") from error


def _parsed(docs: Any) -> tuple[Predicate, ...]:
    if not isinstance(docs, list):
        raise ExpressionError(f"'of' must be a list of predicates, not {docs!r:.200}")
    return tuple(map(parse_predicate, docs))


_READERS: dict[str, Callable[[dict[str, Any]], Predicate]] = {
    "is": lambda doc: Typed(Selector.from_json(doc["of"]), doc["type"]),
    "matches": lambda doc: Matches(Selector.from_json(doc["of"]), doc["pattern"]),
    "not": lambda doc: Not(parse_predicate(doc["of"])),
}
