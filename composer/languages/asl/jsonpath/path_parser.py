r"""The parser of paths: JSONPath as Jayway's library for Java reads it, which AWS uses.

`$.a.b-c[0]['d e']["f"]`, `[-1]`, `[0,2]`, `['a','b']`, `[1:3]`, `.*`, `[*]`, `..a`, and filters `[?(@.x > 1)]`.
The names differ from RFC 9535: a name after a dot goes on to the next dot, bracket, parenthesis or
space, so that it may have hyphens; a text like a function is a name (AWS: functions "aren't
supported": `$.a.sum()` is accepted and finds nothing); and `\"` inside single quotes is
two characters, as recorded on AWS.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, TypeVar

from .regexes import Regex
from .segments import (
    Compare,
    Exists,
    Filter,
    Fits,
    Indexes,
    Junction,
    Literal,
    Names,
    Negation,
    Operand,
    Query,
    Segment,
    Selector,
    Slice,
    Test,
    Wildcard,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from ....values import JSON
    from .reading import Reader
    from .segments import Segments

T = TypeVar("T")

MAX_SEGMENTS = 100  # of one path
MAX_LEVELS = 20  # of filters and parentheses inside each other

_NAME = re.compile(r"[^\s.\[\]()'\",*?&|=<>!]+(?:\(\))?")
_INTEGER = re.compile(r"-?[0-9]{1,9}")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,3})?")
_REGEX = re.compile(r"/((?:[^/\\]|\\.)*)/([a-z]*)")
_WORD = re.compile(r"[A-Za-z]+")
_SYMBOLS = ("==", "!=", "<=", ">=", "=~", "<", ">")
WORDS = ("in", "nin", "contains", "subsetof", "anyof", "noneof", "size", "empty")
_LITERALS = {"true": True, "false": False, "null": None}


def parse_segments(reader: Reader, level: int = 0) -> Segments:
    """Reads the segments that come next, after `$` or `@`.

    Raises:
        ExpressionError: the text is not a segment.
    """
    segments: list[Segment] = []
    while reader.sees(".", "["):
        descends = reader.accepts("..")
        dotted = descends or reader.accepts(".")
        if reader.sees("["):
            selector = _bracket(reader, level)
        elif dotted and reader.accepts("*"):
            selector = Wildcard()
        else:
            selector = Names((_dotted(reader),))
        segments.append(Segment(selector, descends))
        if len(segments) > MAX_SEGMENTS:
            reader.fail(f"a path has at most {MAX_SEGMENTS} segments")
    return tuple(segments)


def _dotted(reader: Reader) -> str:
    name = reader.take(_NAME)
    if not name:
        reader.fail("expected a name, '*' or '['")
    return name


def _bracket(reader: Reader, level: int) -> Selector:
    reader.expects("[")
    reader.skip_space()
    if reader.accepts("*"):
        selector: Selector = Wildcard()
    elif reader.accepts("?"):
        selector = Filter(_filter(reader, level))
    elif reader.sees("'", '"'):
        selector = Names(tuple(_listed(reader, _quoted)))
    else:
        selector = _numbers(reader)
    reader.skip_space()
    reader.expects("]")
    return selector


def _listed(reader: Reader, read: Callable[[Reader], T]) -> list[T]:
    items = [read(reader)]
    reader.skip_space()
    while reader.accepts(","):
        reader.skip_space()
        items.append(read(reader))
        reader.skip_space()
    return items


def _quoted(reader: Reader) -> str:
    """A name or text in quotes of either kind, its escapes read."""
    quote = reader.text[reader.at : reader.at + 1]
    if quote not in ("'", '"') or not quote:
        reader.fail("expected a text in quotes")
    reader.at += 1
    text: list[str] = []
    while not reader.accepts(quote):
        text.append(reader.take(_ESCAPED[quote]))
        if not text[-1]:
            reader.fail(f"expected {quote!r}")
    halves = "".join(_unescaped(piece, quote) for piece in text)
    return halves.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


_ESCAPED = {
    quote: re.compile(rf"\\u[0-9a-fA-F]{{4}}|\\.|[^\\{quote}]+", re.DOTALL) for quote in "'\""
}
_CONTROLS = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}


def _unescaped(piece: str, quote: str) -> str:
    if piece[0] != "\\":
        return piece
    if len(piece) > 2:  # noqa: PLR2004  a backslash and `u` with its four digits
        return chr(int(f"0x{piece[2:]}", base=0))
    if piece[1] in "'\"" and piece[1] != quote:
        return piece
    return _CONTROLS.get(piece[1], piece[1])


def _numbers(reader: Reader) -> Selector:
    """`0`, `0,2` or `1:3`; a third figure, the step, has no meaning in Jayway's library, nor here."""
    first = reader.take(_INTEGER)
    reader.skip_space()
    if reader.accepts(":"):
        reader.skip_space()
        last = reader.take(_INTEGER)
        reader.skip_space()
        if reader.accepts(":"):
            reader.skip_space()
            reader.take(_INTEGER)
        if not first and not last:
            reader.fail("a slice needs a start or an end")
        return Slice(int(first) if first else None, int(last) if last else None)
    if not first:
        reader.fail("expected a name in quotes, an index, a slice, '*' or '?'")
    indexes = [int(first)]
    while reader.accepts(","):
        reader.skip_space()
        indexes.append(_index(reader))
        reader.skip_space()
    return Indexes(tuple(indexes))


def _index(reader: Reader) -> int:
    digits = reader.take(_INTEGER)
    if not digits:
        reader.fail("expected an index")
    return int(digits)


# --- filters -------------------------------------------------------------------------------------


def _filter(reader: Reader, level: int) -> Test:
    reader.skip_space()
    reader.expects("(")
    test = _any(reader, level + 1)
    reader.expects(")")
    return test


def _any(reader: Reader, level: int) -> Test:
    tests = [_all(reader, level)]
    while reader.accepts("||"):
        tests.append(_all(reader, level))
    return tests[0] if len(tests) == 1 else Junction(all=False, tests=tuple(tests))


def _all(reader: Reader, level: int) -> Test:
    tests = [_one(reader, level)]
    while reader.accepts("&&"):
        tests.append(_one(reader, level))
    return tests[0] if len(tests) == 1 else Junction(all=True, tests=tuple(tests))


def _one(reader: Reader, level: int) -> Test:
    if level > MAX_LEVELS:
        reader.fail(f"filters and parentheses nest more than {MAX_LEVELS} deep")
    reader.skip_space()
    if reader.accepts("!"):
        return Negation(_one(reader, level + 1))
    if reader.accepts("("):
        test = _any(reader, level + 1)
        reader.expects(")")
    else:
        test = _relation(reader, level)
    reader.skip_space()
    return test


def _relation(reader: Reader, level: int) -> Test:
    left = _operand(reader, level)
    reader.skip_space()
    operator = next((symbol for symbol in _SYMBOLS if reader.accepts(symbol)), None)
    if operator is None and (word := reader.take(_WORD)):
        operator = word.lower()
        if operator not in WORDS:
            reader.fail(f"a filter has no operator {word!r}")
    if operator is None:
        if not isinstance(left, Query):
            reader.fail("expected an operator")
        return Exists(left)
    reader.skip_space()
    if operator == "=~":
        return Fits(left, _regex(reader))
    return Compare(operator, left, _operand(reader, level))


def _operand(reader: Reader, level: int) -> Operand:
    if reader.sees("@", "$"):
        absolute = reader.accepts("$")
        if not absolute:
            reader.expects("@")
        return Query(parse_segments(reader, level + 1), absolute)
    if reader.sees("'", '"'):
        return Literal(_quoted(reader))
    if reader.accepts("["):
        reader.skip_space()
        items: list[JSON] = [] if reader.sees("]") else _listed(reader, _literal)
        reader.expects("]")
        return Literal(items)
    return Literal(_literal(reader))


def _literal(reader: Reader) -> JSON:
    if reader.sees("'", '"'):
        return _quoted(reader)
    if number := reader.take(_NUMBER):
        value: JSON = json.loads(number)
        return value
    word = reader.take(_WORD)
    if word not in _LITERALS:
        reader.fail("expected a path, a text in quotes, a number, true, false or null")
    return _LITERALS[word]


def _regex(reader: Reader) -> Regex:
    found = _REGEX.match(reader.text, reader.at)
    if found is None:
        reader.fail("expected a regular expression such as /a.*/i")
    reader.at = found.end()
    return Regex(found[1].replace("\\/", "/"), found[2])
