"""The three ways in which a jq program ends without a value: refused, failed, over its budget."""

from __future__ import annotations

from typing import Any


class JqError(Exception):
    """Any error of a jq program. Its text is fit to be shown to the author of the program."""


class ProgramError(JqError):
    """A program is refused when it is compiled.

    `position` counts characters from 0; `line` and `column` count from 1. `expected` says what would
    have been accepted there, if that is known.
    """

    def __init__(self, why: str, source: str, position: int, expected: str | None = None) -> None:
        before = source[:position]
        self.position = position
        self.line = before.count("\n") + 1
        self.column = position - (before.rfind("\n") + 1) + 1
        self.expected = expected
        wanted = f"; expected {expected}" if expected else ""
        super().__init__(f"{why} at line {self.line}, column {self.column}{wanted}")


class EvaluationError(JqError):
    """A program failed on its input: `value` is the value of the error, as `try ... catch` sees it."""

    def __init__(self, value: Any) -> None:
        super().__init__(value if isinstance(value, str) else f"(not a string): {value!r:.200}")
        self.value = value


class BudgetError(JqError):
    """An evaluation went over a bound. No program can catch it, and its text names the bound."""
