"""Filters of executions: text such as `status = 'failed' and customer in ('a', 'b')`, read as data.

    filter     = [ either ] [ "order" "by" ("started" | "ended") [ "asc" | "desc" ] ]
    either     = both { "or" both }
    both       = part { "and" part }
    part       = "not" part | "(" either ")" | "starts_with" "(" field "," value ")" | field test
    test       = ("=" | "!=" | "<" | "<=" | ">" | ">=") value | [ "not" ] "in" "(" value { "," value } ")"
               | [ "not" ] "between" value "and" value | "is" [ "not" ] "null"

A test of a field that an execution has no value of does not hold, and `not` turns that around. An attribute of
keywords has several values: a test holds if one of them fits. `a != b` means `a is not null and not a = b`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple, NoReturn, TypeAlias, assert_never

from ..composer import frozen
from .attributes import (
    BOOLEAN,
    FIELDS,
    ID_KEY,
    INSTANT,
    KEYWORDS,
    NUMBER,
    TEXT,
    instant_ms,
    key_of,
    number,
    undeclared,
)
from .errors import InvalidError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from .attributes import Scalar

MAX_TERMS = 50
MAX_NESTED = 30
MAX_CHARS = 16_384
STARTED, ENDED = "started", "ended"
UNENDED_MS = 1 << 62  # the end of an execution that has not ended, in an order by ends


class InvalidFilterError(InvalidError):
    """A filter is malformed. The text says where, and what would do."""

    code = "InvalidFilter"


@frozen
class Field:
    """A field of an execution.

    Args:
        name: as filters say it.
        type: one of `ATTRIBUTE_TYPES`.
        key: under which its values are indexed; "" for a field of the execution's row.
    """

    name: str
    type: str
    key: str = ""


@frozen
class Term:
    """A test of a field: `=`, `<`, `<=`, `>`, `>=`, `in`, `between`, `starts_with`, or `has` any value."""

    field: Field
    op: str
    values: tuple[Scalar, ...] = ()


@frozen
class Not:
    part: Predicate


@frozen
class And:
    parts: tuple[Predicate, ...]


@frozen
class Or:
    parts: tuple[Predicate, ...]


Predicate: TypeAlias = "Term | Not | And | Or"


@frozen
class Filter:
    """A filter of executions.

    Args:
        predicate: that holds for those to be found; None for all.
        order: the field by which they are ordered, `started` or `ended`. One that has not ended counts as the
            last to end.
        ascending: True for the first to start or to end at the top.
    """

    predicate: Predicate | None = None
    order: str = STARTED
    ascending: bool = False

    def place(self, started_ms: int, ended_ms: int | None, id: str) -> tuple[int, str]:
        """Returns the place of an execution in the filter's order."""
        if self.order == STARTED:
            return started_ms, id
        return UNENDED_MS if ended_ms is None else ended_ms, id


EVERYTHING = Filter()


def parse(text: str, declared: Mapping[str, str]) -> Filter:
    """Reads a filter. `declared` are the types of the namespace's attributes.

    Raises:
        InvalidFilterError: the text is not a filter, or does not fit the attributes.
    """
    if len(text) > MAX_CHARS:
        _fail(MAX_CHARS, f"the filter has more than {MAX_CHARS} characters")
    return _Parser(_tokens(text), declared).whole()


def holds(predicate: Predicate, values: Callable[[Field], Sequence[Scalar]]) -> bool:
    """True if a predicate holds for an execution whose `values` of a field these are."""
    match predicate:
        case And(parts):
            return all(holds(part, values) for part in parts)
        case Or(parts):
            return any(holds(part, values) for part in parts)
        case Not(part):
            return not holds(part, values)
        case Term(field, op, wanted):
            fits = _FITS[op]
            return any(fits(value, wanted) for value in values(field))
        case _:
            assert_never(predicate)


_FITS: dict[str, Callable[..., bool]] = {
    "=": lambda value, wanted: value == wanted[0],
    "<": lambda value, wanted: value < wanted[0],
    "<=": lambda value, wanted: value <= wanted[0],
    ">": lambda value, wanted: value > wanted[0],
    ">=": lambda value, wanted: value >= wanted[0],
    "in": lambda value, wanted: value in wanted,
    "between": lambda value, wanted: wanted[0] <= value <= wanted[1],
    "starts_with": lambda value, wanted: value.startswith(wanted[0]),
    "has": lambda _value, _wanted: True,
}


# --- tokens ------------------------------------------------------------------------------------


class _Token(NamedTuple):
    """A piece of the text: `word`, `text`, `number`, `sign`, or `end`."""

    kind: str
    text: str
    at: int


_TOKEN = re.compile(
    r"(?P<word>[A-Za-z_][A-Za-z0-9_]*)|'(?P<text>(?:[^']|'')*)'"
    r"|(?P<number>[-+]?(?:\d++\.?\d*+|\.\d++)(?:[eE][-+]?\d++)?+(?![A-Za-z0-9_.]))"
    r"|(?P<sign>!=|<=|>=|[=<>(),])"
)
_SPACE = re.compile(r"\s*")
_ORDER = {"=": "=", "<": "<", "<=": "<=", ">": ">", ">=": ">=", "!=": "!="}


def _tokens(text: str) -> list[_Token]:
    tokens: list[_Token] = []
    at = _end_of_space(text, 0)
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None or found.lastgroup is None:
            if text[at] == "'":
                _fail(at, "the text has no end: close it with '")
            if text[at] == '"':
                _fail(at, "text is written in single quotes, such as 'a'")
            _fail(
                at,
                f"{text[at : at + 20]!r} is not known: give a field, a value, or one of = != < <= > >=",
            )
        kind = found.lastgroup
        raw = found[kind]
        tokens.append(_Token(kind, raw.replace("''", "'") if kind == "text" else raw, at))
        at = _end_of_space(text, found.end())
    tokens.append(_Token("end", "the end", len(text)))
    return tokens


def _end_of_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return at if found is None else found.end()


def _fail(at: int, why: str) -> NoReturn:
    raise InvalidFilterError(f"InvalidFilter: at {at}: {why}")


# --- the grammar -------------------------------------------------------------------------------


class _Parser:
    """Reads tokens by recursive descent, within bounds of terms and of depth."""

    def __init__(self, tokens: list[_Token], declared: Mapping[str, str]) -> None:
        self._tokens, self._declared = tokens, declared
        self._place = self._terms = self._depth = 0

    @property
    def _next(self) -> _Token:
        return self._tokens[self._place]

    def _take(self) -> _Token:
        token = self._next
        self._place += token.kind != "end"
        return token

    def _is(self, *texts: str) -> bool:
        """True if the next token is one of these words or signs."""
        token = self._next
        return token.kind in ("word", "sign") and token.text.lower() in texts

    def _took(self, text: str) -> bool:
        found = self._is(text)
        self._place += found
        return found

    def _expect(self, text: str, where: str) -> None:
        if not self._took(text):
            _fail(self._next.at, f"'{text}' is missing {where}, before {_shown(self._next)}")

    def whole(self) -> Filter:
        predicate = None
        if not (self._is("order") or self._next.kind == "end"):
            predicate = self._either()
        order, ascending = self._order() if self._took("order") else (STARTED, False)
        if self._next.kind != "end":
            rest = "'and', 'or', 'order by', or the end"
            _fail(self._next.at, f"{_shown(self._next)} is not expected here: give {rest}")
        return Filter(predicate, order, ascending)

    def _order(self) -> tuple[str, bool]:
        self._expect("by", "after 'order'")
        if not self._is(STARTED, ENDED):
            _fail(self._next.at, f"order by 'started' or 'ended', not by {_shown(self._next)}")
        order = self._take().text.lower()
        ascending = self._took("asc")
        if not ascending:
            self._took("desc")
        return order, ascending

    def _either(self) -> Predicate:
        parts = [self._both()]
        while self._took("or"):
            parts.append(self._both())
        return parts[0] if len(parts) == 1 else Or(tuple(parts))

    def _both(self) -> Predicate:
        parts = [self._part()]
        while self._took("and"):
            parts.append(self._part())
        return parts[0] if len(parts) == 1 else And(tuple(parts))

    def _part(self) -> Predicate:
        self._depth += 1
        if self._depth > MAX_NESTED:
            _fail(self._next.at, f"the filter nests deeper than {MAX_NESTED} levels")
        if self._took("not"):
            made: Predicate = Not(self._part())
        elif self._took("("):
            made = self._either()
            self._expect(")", "after a part in parentheses")
        else:
            made = self._term()
        self._depth -= 1
        return made

    def _term(self) -> Predicate:
        self._terms += 1
        if self._terms > MAX_TERMS:
            _fail(self._next.at, f"the filter has more than {MAX_TERMS} terms")
        if self._took("starts_with"):
            self._expect("(", "after 'starts_with'")
            at = self._next.at
            field = self._field()
            if field.type not in (TEXT, KEYWORDS):
                _fail(at, f"'{field.name}' is {_A[field.type]}: starts_with takes text or keywords")
            self._expect(",", "after the field of 'starts_with'")
            made = Term(field, "starts_with", (self._value(field),))
            self._expect(")", "after the text of 'starts_with'")
            return made
        return self._test(self._field())

    def _field(self) -> Field:
        token = self._take()
        if token.kind != "word" or token.text.lower() in _NOT_FIELDS:
            _fail(token.at, f"a field is missing before {_shown(token)}")
        name = token.text
        if name in self._declared:
            return Field(name, self._declared[name], key_of(name, self._declared[name]))
        if name.lower() in FIELDS:
            name = name.lower()
            return Field(name, FIELDS[name], ID_KEY if name == "id" else "")
        return _fail(token.at, f"{undeclared(name, self._declared)}. Fields: {', '.join(FIELDS)}")

    def _test(self, field: Field) -> Predicate:
        token = self._take()
        op = token.text.lower() if token.kind in ("word", "sign") else ""
        if op in _ORDER:
            return self._compared(field, op, token.at)
        if op == "is":
            negated = self._took("not")
            self._expect("null", "after 'is'")
            return Term(field, "has") if negated else Not(Term(field, "has"))
        negated = op == "not"
        if negated:
            token = self._take()
            op = token.text.lower()
        if op == "in":
            test = self._among(field)
        elif op == "between":
            test = self._between(field, token.at)
        else:
            known = "= != < <= > >= in between is"
            _fail(
                token.at,
                f"{_shown(token)} is not expected after '{field.name}': give one of {known}",
            )
        return And((Term(field, "has"), Not(test))) if negated else test

    def _compared(self, field: Field, op: str, at: int) -> Predicate:
        if op in ("=", "!="):
            test = Term(field, "=", (self._value(field),))
            return test if op == "=" else And((Term(field, "has"), Not(test)))
        self._check_order(field, op, at)
        return Term(field, op, (self._value(field),))

    def _among(self, field: Field) -> Term:
        self._expect("(", "after 'in'")
        values = [self._value(field)]
        while self._took(","):
            self._terms += 1
            if self._terms > MAX_TERMS:
                _fail(self._next.at, f"the filter has more than {MAX_TERMS} terms")
            values.append(self._value(field))
        self._expect(")", "after the values of 'in'")
        return Term(field, "in", tuple(values))

    def _between(self, field: Field, at: int) -> Term:
        self._check_order(field, "between", at)
        low = self._value(field)
        self._expect("and", "between two values")
        return Term(field, "between", (low, self._value(field)))

    def _check_order(self, field: Field, op: str, at: int) -> None:
        if field.type in (BOOLEAN, KEYWORDS):
            _fail(at, f"'{field.name}' is {_A[field.type]}: {op} does not fit; give =, != or in")

    def _value(self, field: Field) -> Scalar:
        token = self._take()
        value = _value_of(field.type, token)
        if value is None:
            _fail(
                token.at,
                f"'{field.name}' is {_A[field.type]}: give {_SUCH[field.type]}, not {_shown(token)}",
            )
        return value


_NOT_FIELDS = ("and", "or", "not", "in", "between", "is", "null", "true", "false", "by", "order")
_A = {
    TEXT: "text", NUMBER: "a number", BOOLEAN: "true or false", INSTANT: "an instant", KEYWORDS: "keywords",
}  # fmt: skip
_SUCH = {
    TEXT: "text such as 'a'",
    NUMBER: "a number such as 2.5",
    BOOLEAN: "true or false",
    INSTANT: "an instant such as '2026-11-01' or '2026-11-01T09:30:00Z'",
    KEYWORDS: "text such as 'a'",
}


def _value_of(type: str, token: _Token) -> Scalar | None:
    """The value that a token stands for; None if it does not fit the type."""
    kind, text = token.kind, token.text
    if type in (TEXT, KEYWORDS):
        return text if kind == "text" and _is_unicode(text) else None
    if type == BOOLEAN:
        return {"true": 1, "false": 0}.get(text.lower()) if kind == "word" else None
    try:
        if kind == "number":
            return number(int(text) if text.lstrip("+-").isdecimal() else float(text))
        return instant_ms(text) if type == INSTANT and kind == "text" else None
    except (ValueError, OverflowError):
        return None


def _is_unicode(text: str) -> bool:
    return not any("\ud800" <= char <= "\udfff" for char in text)


def _shown(token: _Token) -> str:
    return token.text if token.kind == "end" else repr(token.text[:80])
