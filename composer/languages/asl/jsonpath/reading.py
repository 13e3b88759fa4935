"""A text that is read from left to right, by the parsers of paths, filters and intrinsic functions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ....errors import ExpressionError

if TYPE_CHECKING:
    from typing import NoReturn

_SPACE = re.compile(r"[ \t\r\n]*")


class Reader:
    """A place in a text. A text that does not fit raises an ExpressionError that names the place."""

    __slots__ = ("at", "kind", "text")

    def __init__(self, kind: str, text: str) -> None:
        self.kind, self.text, self.at = kind, text, 0

    @property
    def ended(self) -> bool:
        return self.at == len(self.text)

    def sees(self, *texts: str) -> bool:
        """True if one of these comes next."""
        return self.text.startswith(texts, self.at)

    def accepts(self, text: str) -> bool:
        """Reads this text if it comes next, and returns True."""
        if not self.text.startswith(text, self.at):
            return False
        self.at += len(text)
        return True

    def expects(self, text: str) -> None:
        """Reads this text.

        Raises:
            ExpressionError: something else comes next.
        """
        if not self.accepts(text):
            self.fail(f"expected {text!r}")

    def take(self, pattern: re.Pattern[str]) -> str:
        """Reads the text that fits the pattern from here on; empty if nothing does."""
        found = pattern.match(self.text, self.at)
        if found is None:
            return ""
        self.at = found.end()
        return found[0]

    def skip_space(self) -> None:
        self.take(_SPACE)

    def fail(self, why: str) -> NoReturn:
        """Ends the reading.

        Raises:
            ExpressionError: always.
        """
        raise ExpressionError(f"{self.kind} {self.text!r:.200}: {why} at character {self.at + 1}")
