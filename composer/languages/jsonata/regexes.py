r"""JavaScript's regular expressions, matched in steps that are counted.

Python's `re` has another syntax for some things (named groups, `$`, `\d`) and no bound on time: one
nested repetition in a hostile pattern stalls it. So a pattern becomes a small program that runs on
a stack of its own, and its steps count against the evaluation's budget. Source: ECMA-262,
section 22.2, without the flags u, v, s and y, which JSONata does not have. Positions count
characters, where JavaScript counts UTF-16 units.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .attempts import Attempt, Slots
from .patterns import Pattern

if TYPE_CHECKING:
    from .bounds import Budget


@dataclass(frozen=True, slots=True)
class Match:
    """The place of a match. A group that took no part is None."""

    text: str
    start: int
    end: int
    groups: tuple[str | None, ...]


class Regex:
    """A compiled pattern. Raises QueryError where JavaScript refuses the pattern."""

    def __init__(self, source: str, *, ignore_case: bool = False, multiline: bool = False) -> None:
        self.source = source
        self.pattern = Pattern(source, ignore_case=ignore_case, multiline=multiline)

    def find(self, text: str, start: int, budget: Budget) -> Match | None:
        """The first match at or after `start`."""
        empty: Slots = (None,) * self.pattern.slots
        for at in range(start, len(text) + 1):
            attempt = Attempt(text, at, empty, budget)
            if attempt.matches(self.pattern.steps):
                ends = [
                    attempt.slots[slot : slot + 2] for slot in range(0, 2 * self.pattern.groups, 2)
                ]
                groups = tuple(None if None in pair else text[slice(*pair)] for pair in ends)
                return Match(text[at : attempt.at], at, attempt.at, groups)
        return None
