"""Cuts the text of a jq program into tokens."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from .errors import ProgramError

KEYWORDS: Final = frozenset(
    [
        "def",
        "as",
        "reduce",
        "foreach",
        "if",
        "then",
        "elif",
        "else",
        "end",
        "and",
        "or",
        "try",
        "catch",
        "label",
        "import",
        "include",
        "__loc__",
    ]
)
_SPACE: Final = re.compile(r"(?:[ \t\r\n]+|#(?:[^\\\n]|\\.|\\\n|\\$)*)*", re.DOTALL)
_TOKEN: Final = re.compile(
    r"""(?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
    |(?P<variable>\$(?:[a-zA-Z_][a-zA-Z_0-9]*::)*[a-zA-Z_][a-zA-Z_0-9]*)
    |(?P<field>\.[a-zA-Z_][a-zA-Z_0-9]*)
    |(?P<word>(?:[a-zA-Z_][a-zA-Z_0-9]*::)*[a-zA-Z_][a-zA-Z_0-9]*)
    |(?P<format>@[a-zA-Z0-9_]+)
    |(?P<sign>\?//=?|//=|\|=|\+=|-=|\*=|/=|%=|==|!=|<=|>=|//|\.\.|[][(){}.,:;|=<>+*/%$?-])
    |(?P<quote>")""",
    re.VERBOSE,
)
_PLAIN: Final = re.compile(r'[^"\\]+')
_ESCAPES: Final = {
    '"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t",
}  # fmt: skip
_HEX: Final = re.compile(r"\\u([0-9a-fA-F]{4})")
HIGH, LOW, ASTRAL, REPLACEMENT = range(0xD800, 0xDC00), range(0xDC00, 0xE000), 0x10000, "\ufffd"


@dataclass(frozen=True, slots=True)
class Token:
    r"""A token: `kind` is number, variable, field, word, keyword, format, sign, quote, text or end.

    A string is the tokens `quote`, then texts and, for each `\\(...)`, the sign `\\(`, tokens and the
    sign `)`, then `quote`.
    """

    kind: str
    text: str
    at: int


class Lexer:
    """Reads all tokens of a text. `tokens` ends with one of the kind `end`."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.tokens: list[Token] = []
        self._at = 0
        self._open: list[str] = []  # of '(' and '\(' that are not closed yet
        while self._token():
            pass
        if "\\(" in self._open:
            raise ProgramError("The string is not closed", source, len(source), "')' and '\"'")
        self._add("end", "")

    def _add(self, kind: str, text: str) -> None:
        self.tokens.append(Token(kind, text, self._at))

    def _token(self) -> bool:
        space = _SPACE.match(self.source, self._at)
        self._at = space.end() if space else self._at
        if self._at == len(self.source):
            return False
        found = _TOKEN.match(self.source, self._at)
        if found is None:
            wrong = self.source[self._at]
            raise ProgramError(f"Unexpected character {wrong!r}", self.source, self._at)
        kind, text = found.lastgroup or "", found[0]
        if kind == "word" and text in KEYWORDS:
            kind = "keyword"
        self._add(kind, text)
        self._at = found.end()
        if kind == "quote":
            self._string()
        elif text == "(":
            self._open.append("(")
        elif text == ")" and self._open and self._open.pop() == "\\(":
            self._string()
        return True

    def _string(self) -> None:
        r"""Reads a string up to its end, or up to the next `\\(`."""
        parts: list[str] = []
        start = self._at
        while True:
            plain = _PLAIN.match(self.source, self._at)
            if plain:
                parts.append(plain[0])
                self._at = plain.end()
            sign = self.source[self._at : self._at + 1]
            following = self.source[self._at + 1 : self._at + 2]
            if sign == "\\" and following != "(":
                parts.append(self._escape(following))
                continue
            if not sign:
                raise ProgramError("The string is not closed", self.source, start, "'\"'")
            if parts:
                self.tokens.append(Token("text", "".join(parts), start))
            if sign == '"':
                self._add("quote", '"')
                self._at += 1
            else:
                self._add("sign", "\\(")
                self._open.append("\\(")
                self._at += 2
            return

    def _escape(self, sign: str) -> str:
        if sign != "u":
            if sign not in _ESCAPES or not sign:
                raise ProgramError(
                    "Invalid escape",
                    self.source,
                    self._at,
                    'one of \\" \\\\ \\/ \\b \\f \\n \\r \\t \\u',
                )
            self._at += 2
            return _ESCAPES[sign]
        code = self._code()
        if code is None:
            raise ProgramError("Invalid escape", self.source, self._at, "four hexadecimal digits")
        if code in HIGH:
            before = self._at
            low = self._code()
            if low is not None and low in LOW:
                return chr(ASTRAL + ((code - HIGH.start) << 10) + (low - LOW.start))
            self._at = before
        return REPLACEMENT if code in HIGH or code in LOW else chr(code)

    def _code(self) -> int | None:
        found = _HEX.match(self.source, self._at)
        if found is None:
            return None
        self._at = found.end()
        return int(found[1], 16)
