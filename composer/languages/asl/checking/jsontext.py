"""Reads JSON texts; errors have the place and the words of the parser that AWS uses (Jackson)."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NoReturn

from ....errors import Error
from ....values import MAX_DEPTH, flaw

if TYPE_CHECKING:
    from ....values import JSON
    from ..documents import Definition

SHOWN = 500  # characters of the text that a location quotes
_SPACE = re.compile(r"[ \t\n\r]+")
_DIGITS = frozenset("0123456789")
_WORD = re.compile(r"[\w$]+")
_PLAIN = re.compile(r'[^"\\\x00-\x1f]+')
_NUMBER = re.compile(r"-?[0-9]+")
_VALUES = "(JSON String, Number, Array, Object or token 'null', 'true' or 'false')"
_CLOSE = {"{": ("}", "Object"), "[": ("]", "Array")}


class TextError(Error):
    """A text that is not JSON. `message` is the parser's with the place, `location` the place alone."""

    def __init__(self, message: str, location: str) -> None:
        super().__init__(message)
        self.message, self.location = message, location


class DepthError(Error):
    """A text that nests too deeply to be read."""


def read_json(text: str) -> JSON:
    """The value of a text; numbers fit 64 bits, strings are Unicode.

    Raises:
        TextError: the text is not JSON; with the line and column, counted from 1, just behind the error.
        DepthError: it nests deeper than MAX_DEPTH levels.
    """
    try:
        value: JSON = json.loads(text, parse_constant=_refused)
    except RecursionError:
        raise DepthError(f"it nests deeper than {MAX_DEPTH} levels") from None
    except ValueError:
        _Scan(text).run()
    else:
        why = flaw(value)
        if why is None:
            return value
        if "deeper" in why:
            raise DepthError(why)
        location = _located(text, len(text))
        raise TextError(f"{why}\n at {location}", location)


def read_checked(text: str) -> Definition:
    """The object of a text that the checks have accepted, as a definition or as a state."""
    doc: Any = read_json(text)
    checked: Definition = doc
    return checked


def _refused(constant: str) -> NoReturn:
    raise ValueError(constant)


def _located(text: str, end: int) -> str:
    row = text.rfind("\n", 0, end) + 1
    line, column = text.count("\n", 0, end) + 1, end - row + 1
    quoted = re.sub(r"[^\S\r\n ]|[\x00-\x09\x0b\x0c\x0e-\x1f\x7f-\x9f]", _escaped, text[:SHOWN])
    more = f"[truncated {len(text) - SHOWN} chars]" if len(text) > SHOWN else ""
    return f'[Source: (String)"{quoted}"{more}; line: {line}, column: {column}]'


def _escaped(match: re.Match[str]) -> str:
    return f"\\u{ord(match[0]):04X}"


class _Scan:
    """One pass over a text that `json` has refused, up to what Jackson would refuse."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.open: list[int] = []  # where the objects and arrays that stand open begin
        self.fresh = False  # whether the innermost of them has no entry yet

    def run(self) -> NoReturn:
        if not self._peek():
            self._fail("No content to map due to end-of-input")
        self._value()
        while self.open:
            self._continue()
        if self._peek():
            self._value()
            self._fail("Unexpected text behind the value")
        self._fail("Numeric value has too many digits")

    def _continue(self) -> None:
        """The next entry of the open object or array, or its end."""
        start = self.open[-1]
        close, kind = _CLOSE[self.text[start]]
        following = self._peek()
        if not following:
            opened = _located(self.text, start)
            self._fail(f"Unexpected end-of-input: expected close marker for {kind} "
                       f"(start marker at {opened})")  # fmt: skip
        if following in "}]":
            self._close(close, kind)
            return
        if not self.fresh:
            self._expect(",", f"was expecting comma to separate {kind} entries")
            self._some(kind)
        self.fresh = False
        if kind == "Object":
            self._expect('"', "was expecting double-quote to start field name")
            self._string(" in field name", "name")
            self._some(kind)
            self._expect(":", "was expecting a colon to separate field name and value")
            self._some(kind)
        self._value()

    def _close(self, close: str, kind: str) -> None:
        found = self.text[self.at]
        self.at += 1
        if found != close:
            opened = _located(self.text, self.open[-1])
            self._fail(f"Unexpected close marker '{found}': expected '{close}' "
                       f"(for {kind} starting at {opened})")  # fmt: skip
        self.open.pop()
        self.fresh = False

    def _value(self) -> None:
        first = self._peek()
        word = _WORD.match(self.text, self.at)
        if first in ("{", "["):
            self.open.append(self.at)
            self.fresh = True
            self.at += 1
        elif first == '"':
            self.at += 1
            self._string(": was expecting closing quote for a string value", "value")
        elif first == "-" or first in _DIGITS:
            self._number()
        elif word is None:
            self.at += 1
            self._unexpected(first, f"expected a valid value {_VALUES}")
        else:
            self.at = word.end()
            if word[0] not in ("true", "false", "null"):
                self._fail(f"Unrecognized token '{word[0]}': was expecting {_VALUES}")

    def _string(self, end: str, what: str) -> None:
        while True:
            self._skip(_PLAIN)
            found = self._take(end)
            if found == '"':
                return
            if found != "\\":
                why = f"has to be escaped using backslash to be included in string {what}"
                self._fail(f"Illegal unquoted character ((CTRL-CHAR, code {ord(found)})): {why}")
            self._escape(end)

    def _escape(self, end: str) -> None:
        found = self._take(end)
        if found == "u":
            for _ in range(4):
                digit = self._take(" in character escape sequence")
                if digit not in "0123456789abcdefABCDEF":
                    self._unexpected(digit, "expected a hex-digit for character escape sequence")
        elif found not in '"\\/bfnrt':
            self._fail(f"Unrecognized character escape {_named(found)}")

    def _number(self) -> None:
        whole = _NUMBER.match(self.text, self.at)
        if whole is None:
            self.at += 1
            self._digits("expected digit (0-9) to follow minus sign, for valid numeric value")
        elif whole[0].lstrip("-").startswith("0") and whole[0] not in ("0", "-0"):
            self.at = whole.end()
            self._fail("Invalid numeric value: Leading zeroes not allowed")
        else:
            self.at = whole.end()
        if self.text.startswith(".", self.at):
            self.at += 1
            self._digits("Decimal point not followed by a digit")
        if self.text.startswith(("e", "E"), self.at):
            sign = self.text.startswith(("+", "-"), self.at + 1)
            self.at += 2 if sign else 1
            self._digits("Exponent indicator not followed by a digit")

    def _digits(self, why: str) -> None:
        found = self._take(" in numeric value")
        if found not in _DIGITS:
            self._fail(f"Unexpected character ({_named(found)}) in numeric value: {why}")
        while self.text[self.at : self.at + 1] in _DIGITS:
            self.at += 1

    def _peek(self) -> str:
        self._skip(_SPACE)
        return self.text[self.at : self.at + 1]

    def _skip(self, pattern: re.Pattern[str]) -> None:
        match = pattern.match(self.text, self.at)
        self.at = match.end() if match else self.at

    def _take(self, end: str) -> str:
        found = self.text[self.at : self.at + 1]
        if not found:
            self._fail(f"Unexpected end-of-input{end}")
        self.at += 1
        return found

    def _some(self, kind: str) -> None:
        if not self._peek():
            self._fail(f"Unexpected end-of-input within/between {kind} entries")

    def _expect(self, wanted: str, why: str) -> None:
        found = self._peek()
        self.at += 1
        if found != wanted:
            self._unexpected(found, why)

    def _unexpected(self, found: str, why: str) -> NoReturn:
        self._fail(f"Unexpected character ({_named(found)}): {why}")

    def _fail(self, message: str) -> NoReturn:
        location = _located(self.text, self.at)
        raise TextError(f"{message}\n at {location}", location)


def _named(character: str) -> str:
    return f"'{character}' (code {ord(character)})"
