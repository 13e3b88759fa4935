r"""Regular expressions that cannot backtrack, for `=~` in a path's filter.

The usual part of Java's syntax: characters, `.`, classes, `\d \w \s` and their opposites, groups,
`|`, `* + ? {m,n}`, `^` and `$`. A text is matched as a whole (Java's `matches`), by following all ways
through the expression at once (Thompson, 1968), in time that grows with text times expression and not
faster; ways are remembered. Backreferences and lookarounds, which such an automaton cannot do, are refused.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from .reading import Reader

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

MAX_STEPS = 2_000  # of one compiled expression: `{m,n}` copies the repeated part
MAX_GROUPS = 30  # groups inside each other
MAX_MOVES = 1_000  # of one automaton that are remembered
CHARACTERS = 4  # read by moves that are remembered, cost as much as one step

Fits: TypeAlias = "Callable[[str], bool]"


class Step(NamedTuple):
    """Reads a character that fits, or goes on at any of these offsets, at an edge of the text only."""

    fits: Fits | None = None
    ways: tuple[int, ...] = (1,)
    edge: str = ""


Steps: TypeAlias = list[Step]
Places: TypeAlias = frozenset[int]

_COUNT = re.compile(r"\{(\d{1,4})(,?)(\d{0,4})\}")
_NAMED: dict[str, Fits] = {
    "d": lambda char: "0" <= char <= "9",
    "w": lambda char: char == "_" or (char.isascii() and char.isalnum()),
    "s": lambda char: char in " \t\n\x0b\f\r",
}
_CONTROLS = {"n": "\n", "t": "\t", "r": "\r", "f": "\f"}


class Regex:
    """One compiled expression. `flags`: `i` for either case, `s` for a `.` that fits a line's end."""

    __slots__ = ("_moves", "_steps", "flags", "pattern")

    def __init__(self, pattern: str, flags: str = "") -> None:
        self.pattern, self.flags = pattern, flags
        reader = Reader("the regular expression", pattern)
        if set(flags) - set("is"):
            reader.fail(f"the flags must be 'i' or 's', not {flags!r},")
        self._steps = _alternatives(reader, flags, 0)
        if not reader.ended:
            reader.fail("unexpected ')'")
        # Where each character led from where we were: an automaton that is made as it is needed.
        self._moves: dict[tuple[Places, str, str], Places] = {}

    def __repr__(self) -> str:
        return f"/{self.pattern}/{self.flags}"

    def fits(self, text: str, spend: Callable[[int], None]) -> bool:
        """True if the whole text fits; `spend` counts each step, and may stop the match."""
        spend(len(text) // CHARACTERS)
        places = self._reached({0}, "^" if text else "^$")
        for at, char in enumerate(text, 1):
            move = (places, char, "$" if at == len(text) else "")
            known = self._moves.get(move)
            if known is None:
                spend(len(places) + 1)
                known = self._moved(move)
            places = known
            if not places:
                return False
        return len(self._steps) in places

    def _moved(self, move: tuple[Places, str, str]) -> Places:
        places, char, edges = move
        moved = {place + 1 for place in places if _reads(self._steps, place, char)}
        if len(self._moves) >= MAX_MOVES:
            self._moves.clear()
        self._moves[move] = reached = self._reached(moved, edges)
        return reached

    def _reached(self, places: Iterable[int], edges: str) -> Places:
        """These places, and those that can be reached from them without reading a character."""
        steps, left, reached = self._steps, list(places), set(places)
        while left:
            place = left.pop()
            if place == len(steps) or steps[place].fits is not None:
                continue
            step = steps[place]
            ways = {place + way for way in step.ways} if step.edge in edges else set()
            left.extend(ways - reached)
            reached |= ways
        return frozenset(reached)


def _reads(steps: Steps, place: int, char: str) -> bool:
    fits = steps[place].fits if place < len(steps) else None
    return fits is not None and fits(char)


# --- the parser ----------------------------------------------------------------------------------


def _alternatives(reader: Reader, flags: str, level: int) -> Steps:
    if level > MAX_GROUPS:
        reader.fail(f"groups nest more than {MAX_GROUPS} deep")
    steps = _sequence(reader, flags, level)
    while reader.accepts("|"):
        other = _sequence(reader, flags, level)
        fork, jump = Step(ways=(1, len(steps) + 2)), Step(ways=(len(other) + 1,))
        steps = [fork, *steps, jump, *other]
    return steps


def _sequence(reader: Reader, flags: str, level: int) -> Steps:
    steps: Steps = []
    while not reader.ended and not reader.sees("|", ")"):
        steps += _repeated(reader, _atom(reader, flags, level))
        if len(steps) > MAX_STEPS:
            reader.fail("the expression is too large")
    return steps


def _repeated(reader: Reader, steps: Steps) -> Steps:
    if reader.accepts("*"):
        steps = _any_number(steps)
    elif reader.accepts("+"):
        steps = [*steps, *_any_number(steps)]
    elif reader.accepts("?"):
        steps = _perhaps(steps)
    elif reader.sees("{"):
        steps = _counted(reader, steps)
    else:
        return steps
    reader.accepts("?")  # a lazy repetition fits the same texts
    if reader.sees("*", "+", "?", "{"):
        reader.fail("a repetition follows a repetition")
    return steps


def _any_number(steps: Steps) -> Steps:
    return [Step(ways=(1, len(steps) + 2)), *steps, Step(ways=(-len(steps) - 1,))]


def _perhaps(steps: Steps) -> Steps:
    return [Step(ways=(1, len(steps) + 1)), *steps]


def _counted(reader: Reader, steps: Steps) -> Steps:
    found = _COUNT.match(reader.text, reader.at)
    if found is None:
        reader.fail("a repetition must be {m}, {m,} or {m,n}")
    least, comma, most = int(found[1]), found[2], found[3]
    upper = int(most or least)
    if upper < least or (most and not comma):
        reader.fail("a repetition must be {m}, {m,} or {m,n}")
    if len(steps) * upper > MAX_STEPS:
        reader.fail("the expression is too large")
    reader.at = found.end()
    if comma and not most:
        return [*steps * least, *_any_number(steps)]
    optional: Steps = []
    for _ in range(upper - least):
        optional = _perhaps([*steps, *optional])
    return [*steps * least, *optional]


def _atom(reader: Reader, flags: str, level: int) -> Steps:
    if reader.accepts("("):
        if reader.sees("?") and not reader.accepts("?:"):
            reader.fail("only groups such as (...) and (?:...) are supported")
        steps = _alternatives(reader, flags, level + 1)
        reader.expects(")")
        return steps
    if reader.sees("^", "$"):
        return [Step(edge=_next(reader))]
    if reader.accepts("."):
        return [Step((lambda _: True) if "s" in flags else (lambda char: char not in "\n\r"))]
    if reader.sees("*", "+", "?", "{"):
        reader.fail("there is nothing to repeat")
    fits = _class(reader) if reader.accepts("[") else _character(reader)
    return [Step(_either_case(fits) if "i" in flags else fits)]


def _either_case(fits: Fits) -> Fits:
    return lambda char: fits(char) or fits(char.lower()) or fits(char.upper())


def _next(reader: Reader) -> str:
    if reader.ended:
        reader.fail("the expression ends too early")
    reader.at += 1
    return reader.text[reader.at - 1]


def _escaped(reader: Reader) -> Fits | str:
    """The class or the character of an escape, whose backslash has been read."""
    char = _next(reader)
    if char in _NAMED:
        return _NAMED[char]
    if char.lower() in _NAMED:
        fits = _NAMED[char.lower()]
        return lambda other: not fits(other)
    if char in _CONTROLS:
        return _CONTROLS[char]
    if char.isalnum():
        reader.fail(f"the escape \\{char} is not supported")
    return char


def _character(reader: Reader) -> Fits:
    char = _next(reader)
    found = _escaped(reader) if char == "\\" else char
    return found if callable(found) else lambda other: other == found


def _class(reader: Reader) -> Fits:
    negated, parts = reader.accepts("^"), list[Fits]()
    while not parts or not reader.sees("]"):
        parts.append(_class_part(reader))
    reader.expects("]")
    return lambda char: any(fits(char) for fits in parts) != negated


def _class_part(reader: Reader) -> Fits:
    char = _next(reader)
    first = _escaped(reader) if char == "\\" else char
    if callable(first):
        return first
    if not reader.sees("-") or reader.sees("-]"):
        return lambda other: other == first
    reader.expects("-")
    char = _next(reader)
    last = _escaped(reader) if char == "\\" else char
    if callable(last) or last < first:
        reader.fail("a range must go from a character to a later one")
    return lambda other: first <= other <= last
