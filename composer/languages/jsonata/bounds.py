"""The bounds on one evaluation: steps, levels and memory. All three end with AWS' errors.

AWS' own bounds, as peers measured them: 100 levels, and 6,990,256 bytes held (a range of 873,782
numbers passes, one more does not). Its time is not known; here steps are counted, not seconds, so
that the same expression on the same input always ends the same way.
"""

from __future__ import annotations

from typing import Any

from .sizes import json_size

MAX_STEPS = 120_000  # of about 2 us each, unless the caller of an evaluation gives another number
MAX_DEPTH = 100  # evaluations inside each other, as AWS counts them
MAX_HELD = 6_990_256  # bytes of one value: eight a member, one a character
MEMBER_BYTES = 8
MAX_TEXT = 32_768  # characters of an expression
MANY = 64  # members that a native loop goes over in the time of one step
FEW = 4  # members that a loop in Python goes over in that time
WRITTEN = 8  # characters of JSON that are written in that time
SEEN = 64  # characters of JSON that a copy of a value goes over in that time
READ = 16  # characters of JSON that are read, or looked at as a value, in that time

TOO_LONG = "Expression evaluation timeout: Check for infinite loop"
EXHAUSTED = (
    f"{TOO_LONG}. The expressions of one state may take {{limit}} steps together; "
    "the operator of the server can raise XINGQIAO_EVALUATION_STEPS."
)
TOO_DEEP = (
    "Stack overflow error: Check for non-terminating recursive function. "
    "Consider rewriting as tail-recursive"
)
TOO_MUCH = "Expression evaluation memory limit exceeded: Check for excessive memory usage"


class QueryError(Exception):
    """An error of an expression, in JSONata's words: `code` is such as T2001, if it has one."""

    def __init__(self, code: str | None, text: str, position: int | None = None) -> None:
        super().__init__(f"{code}: {text}" if code else text)
        self.code = code
        self.text = text
        self.position = position


class OverlongError(Exception):
    """An evaluation needs more steps than it may take at once. It is not an error of the expression."""


class Budget:
    """Counts down the remaining steps of an evaluation, of which it may take `at_once` now (None: all)."""

    __slots__ = ("_least", "left")

    def __init__(self, steps: int = MAX_STEPS, at_once: int | None = None) -> None:
        self.left = steps
        self._least = 0 if at_once is None else max(0, steps - at_once)

    def spend(self, steps: int) -> None:
        """Counts `steps` of them, before they are done.

        Raises:
            QueryError: there are not so many left.
            OverlongError: there are, but they are more than `at_once`.
        """
        self.left -= steps
        if self.left < self._least:
            if self.left < 0:
                raise QueryError(None, TOO_LONG)
            raise OverlongError

    def members(self, count: float) -> None:
        """Counts a list of so many members, before it is made or read."""
        self.characters(count * MEMBER_BYTES)

    def characters(self, count: float) -> None:
        """Counts a text of so many characters, before it is made.

        Raises:
            QueryError: it is larger than one value may be, or there is no time left.
        """
        self.held(count)
        self.spend(int(count) // (MANY * MEMBER_BYTES))

    def compared(self, count: int, keys: int = 1) -> None:
        """Counts the comparisons that sort so many items, two of them a step."""
        self.spend(count * count.bit_length() * keys // 2)

    def held(self, count: float) -> None:
        """Checks that a text of so many characters may exist."""
        if count > MAX_HELD:
            raise QueryError(None, TOO_MUCH)

    def written(self, value: Any) -> int:
        """Counts a value that will be read as a tree, and returns its size as JSON, roughly.

        A part counts as often as it occurs in the value.
        """
        size = json_size(value, MAX_HELD)
        self.characters(size)
        return size
