"""Perl's regular expressions as jq has them, compiled to programs that `matching` runs.

Python's `re` has no bound on time: one nested repetition in a hostile pattern stalls it. So a pattern
becomes a list of instructions, and each one that runs counts against the evaluation's budget.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, NoReturn, TypeAlias

from .errors import EvaluationError

MAX_CODE = 5_000  # instructions: a counted repetition is written out
MAX_NESTING = 40
ESCAPE_TEST, CHEAP_TEST = (
    3,
    8,
)  # the cost of a class such as \w; up to which a test is one instruction
ENDLESS = 1 << 30
ONE, SPLIT, JUMP, SAVE, EDGE, LOOK, BACK, MARK, MOVED, RUN, WIDE, DONE = range(12)

Test: TypeAlias = Callable[[str], bool]
Code: TypeAlias = list[tuple[Any, ...]]
Edge: TypeAlias = Callable[[str, int], bool]


def _word(char: str) -> bool:
    return char.isalnum() or char == "_" or unicodedata.category(char)[0] == "M"


CLASSES: Final[dict[str, Test]] = {
    "d": str.isdigit, "w": _word, "s": lambda char: char in " \t\n\r\f\v\x85\xa0" or char.isspace(),
    "h": lambda char: char in "0123456789abcdefABCDEF",
}  # fmt: skip
NAMED: Final[dict[str, Test]] = {
    "alpha": str.isalpha, "digit": str.isdigit, "alnum": str.isalnum, "upper": str.isupper,
    "lower": str.islower, "space": str.isspace, "word": _word, "xdigit": CLASSES["h"],
    "blank": " \t".__contains__, "cntrl": lambda char: unicodedata.category(char) == "Cc",
    "punct": lambda char: unicodedata.category(char)[0] in "PS",
    "print": lambda char: unicodedata.category(char)[0] != "C",
    "graph": lambda char: unicodedata.category(char)[0] not in "CZ", "any": lambda _: True,
    "ascii": str.isascii,
}  # fmt: skip
CONTROLS: Final = {"t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r", "a": "\a", "e": "\x1b"}
QUANTITIES: Final = {"*": (0, ENDLESS), "+": (1, ENDLESS), "?": (0, 1)}
LOOKS: Final = {
    "?=": (True, True), "?!": (True, False), "?<=": (False, True), "?<!": (False, False),
}  # fmt: skip
EDGES: Final[dict[str, Edge]] = {
    "^": lambda _, at: at == 0,
    "A": lambda _, at: at == 0,
    "z": lambda text, at: at == len(text),
    "Z": lambda text, at: at == len(text) or (at == len(text) - 1 and text[at] == "\n"),
    "b": lambda text, at: _boundary(text, at) is True,
    "B": lambda text, at: not _boundary(text, at),
}


def _boundary(text: str, at: int) -> bool:
    before = at > 0 and _word(text[at - 1])
    return before is not (at < len(text) and _word(text[at]))


@dataclass(frozen=True, slots=True)
class Node:
    """A part of a pattern: writes its code; `test` if it is one character.

    `cost` is how many times as long as the comparison with one character the test takes.
    """

    write: Callable[[Code], None]
    test: Test | None = None
    cost: int = 1


class Pattern:
    """Reads a pattern, and writes its program to `code`. `names` has one item a group.

    Raises:
        EvaluationError: the pattern is not a regular expression.
    """

    def __init__(self, source: str, *, fold: bool, dotall: bool, extended: bool) -> None:
        self.source = source
        self.names: list[str | None] = []
        self._fold, self._dotall, self._extended = fold, dotall, extended
        self._at = self._depth = 0
        self.marks = self.written = 0  # `written`: instructions, and turns of counted repetitions
        self._numbers: dict[str, int] = {}
        tree = self._ways()
        if self._at < len(source):
            self._refuse("unmatched close parenthesis")
        self.code: Code = []
        tree.write(self.code)
        self._put(self.code, DONE)

    def _refuse(self, why: str) -> NoReturn:
        raise EvaluationError(f"Regex failure: {why}")

    def _take(self, sign: str) -> bool:
        found = self.source.startswith(sign, self._at)
        self._at += len(sign) * found
        return found

    def _next(self, why: str) -> str:
        if self._at >= len(self.source):
            self._refuse(why)
        self._at += 1
        return self.source[self._at - 1]

    def _put(self, code: Code, *instruction: Any) -> int:
        self._count()
        if len(code) > MAX_CODE:
            self._refuse("the regular expression is too large")
        code.append(instruction)
        return len(code) - 1

    def _count(self) -> None:
        self.written += 1
        if self.written > 2 * MAX_CODE:
            self._refuse("the regular expression is too large")

    def _until(self, sign: str) -> tuple[str, bool]:
        """The pattern up to the next such sign, which is left behind, and whether there is one."""
        end = self.source.find(sign, self._at)
        text = self.source[self._at : end if end >= 0 else None]
        self._at += len(text) + len(sign)
        return text, end >= 0

    # --- reading ---------------------------------------------------------------------------------

    def _ways(self) -> Node:
        self._depth += 1
        if self._depth > MAX_NESTING:
            self._refuse("the regular expression is too large")
        flags = self._fold, self._dotall, self._extended
        ways = [self._row()]
        while self._take("|"):
            ways.append(self._row())
        self._fold, self._dotall, self._extended = flags
        self._depth -= 1
        return ways[0] if len(ways) == 1 else Node(lambda code: self._write_ways(code, ways))

    def _row(self) -> Node:
        parts: list[Node] = []
        while True:
            self._skip()
            if self._at == len(self.source) or self.source[self._at] in "|)":
                break
            parts.append(self._repeated())
        if len(parts) == 1:
            return parts[0]

        def write(code: Code) -> None:
            for part in parts:
                part.write(code)

        return Node(write)

    def _skip(self) -> None:
        while self._extended and self._at < len(self.source):
            if self.source[self._at] == "#":
                end = self.source.find("\n", self._at)
                self._at = len(self.source) if end < 0 else end
            elif not self.source[self._at].isspace():
                break
            else:
                self._at += 1

    def _repeated(self) -> Node:
        atom = self._atom()
        self._skip()
        times = self._quantity()
        while times is not None:
            lazy, possessive = self._take("?"), self._take("+")
            atom = self._loop(atom, times, lazy)
            if possessive:
                atom = self._looking(atom, "atomic")
            self._skip()
            times = self._quantity()
        return atom

    def _loop(self, atom: Node, times: tuple[int, int], lazy: bool) -> Node:
        if atom.test is not None and not lazy:
            return Node(lambda code: void(self._put(code, RUN, atom.test, atom.cost, *times)))
        return Node(lambda code: self._write_loop(code, atom, times, lazy))

    def _quantity(self) -> tuple[int, int] | None:
        for sign, quantity in QUANTITIES.items():
            if self._take(sign):
                return quantity
        begin = self._at
        if not self._take("{"):
            return None
        least, comma = self._number(), self._take(",")
        most = self._number() if comma else least
        if not self._take("}") or (least is None and most is None):
            self._at = begin  # then it is a brace like any other character
            return None
        low, high = least or 0, ENDLESS if most is None else most
        if high < low:
            self._refuse("numbers out of order in {} quantifier")
        return low, high

    def _number(self) -> int | None:
        begin = self._at
        while self.source[self._at : self._at + 1].isdecimal():
            self._at += 1
        return min(int(self.source[begin : self._at][:9]), ENDLESS) if self._at > begin else None

    def _atom(self) -> Node:
        sign = self._next("end of pattern")
        if sign in "*+?":
            self._refuse("target of repeat operator is not specified")
        readers = {"(": self._group, "[": self._class, "\\": self._escape}
        if sign in readers:
            return readers[sign]()
        if sign == ".":
            return self._one((lambda _: True) if self._dotall else "\n".__ne__)
        if sign in "^$":
            return self._edge(EDGES["^" if sign == "^" else "Z"])
        return self._one(self._only(sign))

    def _one(self, test: Test, cost: int = 1) -> Node:
        if cost > CHEAP_TEST:
            return Node(lambda code: void(self._put(code, WIDE, test, cost)), test, cost)
        return Node(lambda code: void(self._put(code, ONE, test)), test, cost)

    def _edge(self, edge: Edge) -> Node:
        return Node(lambda code: void(self._put(code, EDGE, edge)))

    def _only(self, char: str) -> Test:
        if not self._fold:
            return char.__eq__
        folded = char.casefold()
        return lambda other: other.casefold() == folded

    def _group(self) -> Node:
        for sign, (ahead, wanted) in LOOKS.items():
            if self._take(sign):
                return self._looking(self._inside(), "ahead" if ahead else "behind", wanted)
        if self._take("?>"):
            return self._looking(self._inside(), "atomic")
        if self._take("?:"):
            return self._inside()
        if self._take("?#"):
            while self._next("end pattern in group") != ")":
                pass
            return Node(lambda _: None)
        name = None
        if self._take("?<") or self._take("?P<"):
            name = self._name()
            self._numbers.setdefault(name, len(self.names))
        elif self._take("?"):
            return self._flags()
        number = len(self.names)
        self.names.append(name)
        inner = self._inside()

        def write(code: Code) -> None:
            self._put(code, SAVE, 2 * number)
            inner.write(code)
            self._put(code, SAVE, 2 * number + 1)

        return Node(write)

    def _flags(self) -> Node:
        wanted = True
        while True:
            sign = self._next("end pattern in group")
            if sign == "-":
                wanted = False
            elif sign == "i":
                self._fold = wanted
            elif sign in "ms":
                self._dotall = wanted
            elif sign == "x":
                self._extended = wanted
            elif sign == ":":
                return self._inside()
            elif sign == ")":
                return Node(lambda _: None)
            else:
                self._refuse("undefined group option")

    def _name(self) -> str:
        name, found = self._until(">")
        if not found or not name.isidentifier():
            self._refuse(f"invalid group name <{name}>")
        return name

    def _inside(self) -> Node:
        inner = self._ways()
        if not self._take(")"):
            self._refuse("end pattern with unmatched parenthesis")
        return Node(inner.write)

    def _escape(self) -> Node:
        sign = self._next("end pattern at escape")
        if sign in "AzZbB":
            return self._edge(EDGES[sign])
        if sign in "123456789":
            self._at -= 1
            return self._back((self._number() or 0) - 1)
        if sign == "k" and self._take("<"):
            name = self._name()
            if name not in self._numbers:
                self._refuse(f"undefined name <{name}> reference")
            return self._back(self._numbers[name])
        return self._one(self._test(sign), ESCAPE_TEST)

    def _test(self, sign: str) -> Test:
        """The characters that an escape stands for, in a class or outside of it."""
        kind = sign.lower()
        if kind in CLASSES:
            return _same(CLASSES[kind], sign == kind)
        if kind == "p" and self._take("{"):
            return self._property(sign == "p")
        return self._only(self._character(sign))

    def _property(self, wanted: bool) -> Test:
        name, found = self._until("}")
        denied = name.startswith("^")
        plain = name.removeprefix("^")
        test = NAMED.get(plain.lower())
        if test is None:
            if not found or plain[:1] not in tuple("LMNPSZC"):
                self._refuse(f"invalid character property name {{{plain}}}")
            return lambda char: (
                unicodedata.category(char).startswith(plain) is (wanted is not denied)
            )
        return _same(test, wanted is not denied)

    def _character(self, sign: str) -> str:
        if sign == "x" and self._take("{"):
            digits, _ = self._until("}")
        elif sign in "xu":
            digits = self.source[self._at : self._at + (2 if sign == "x" else 4)]
            self._at += len(digits)
        else:
            return "\0" if sign == "0" else CONTROLS.get(sign, sign)
        try:
            return chr(int(digits, 16))
        except (ValueError, OverflowError):
            self._refuse("invalid code point value")

    def _back(self, group: int) -> Node:
        return Node(lambda code: void(self._put(code, BACK, group, self._fold)))

    def _class(self) -> Node:
        negated, begin = self._take("^"), self._at
        cost = ESCAPE_TEST * (1 + self._fold)
        tests: list[Test] = []
        singles: set[str] = set()
        while self._at == begin or not self._take("]"):
            sign = self._next("premature end of char-class")
            if sign == "[" and self._take(":"):
                tests.append(self._posix())
                continue
            low = self._member(sign)
            if (
                isinstance(low, str)
                and self.source.startswith("-", self._at)
                and not (self.source.startswith("-]", self._at))
            ):
                self._at += 1
                tests.append(
                    self._range(low, self._member(self._next("premature end of char-class")))
                )
                continue
            if isinstance(low, str):
                singles.add(low.casefold() if self._fold else low)
            else:
                tests.append(low)
        return self._one(_any_of(singles, tests, negated, self._fold), 2 + cost * len(tests))

    def _posix(self) -> Test:
        name, found = self._until(":]")
        test = NAMED.get(name.removeprefix("^"))
        if test is None or not found:
            self._refuse("invalid POSIX bracket type")
        return _same(test, not name.startswith("^"))

    def _member(self, sign: str) -> str | Test:
        if sign != "\\":
            return sign
        sign = self._next("end pattern at escape")
        if sign == "b":
            return "\b"
        return self._test(sign) if sign.lower() in "dwshp" else self._character(sign)

    def _range(self, low: str, high: str | Test) -> Test:
        if not isinstance(high, str) or high < low:
            self._refuse("empty range in char class")
        if not self._fold:
            return lambda char: low <= char <= high
        return lambda char: any(
            len(other) == 1 and low <= other <= high for other in (char.lower(), char.upper())
        )

    # --- writing ---------------------------------------------------------------------------------

    def _write_ways(self, code: Code, ways: list[Node]) -> None:
        ends = []
        for way in ways[:-1]:
            split = self._put(code, DONE)
            way.write(code)
            ends.append(self._put(code, DONE))
            code[split] = (SPLIT, split + 1, len(code))
        ways[-1].write(code)
        for end in ends:
            code[end] = (JUMP, len(code))

    def _write_loop(self, code: Code, atom: Node, times: tuple[int, int], lazy: bool) -> None:
        least, most = times
        for _ in range(least):
            self._count()  # the atom may write nothing
            atom.write(code)
        splits = []
        if most == ENDLESS:  # a turn that takes nothing is the last one
            mark = self.marks
            self.marks += 1
            splits.append(self._put(code, DONE))
            self._put(code, MARK, mark)
            atom.write(code)
            self._put(code, MOVED, mark, len(code) + 2)
            self._put(code, JUMP, splits[0])
        for _ in range(most - least if most < ENDLESS else 0):
            splits.append(self._put(code, DONE))
            atom.write(code)
        for split in splits:
            ways = (split + 1, len(code))
            code[split] = (SPLIT, *(reversed(ways) if lazy else ways))

    def _looking(self, inner: Node, kind: str, wanted: bool = True) -> Node:
        def write(code: Code) -> None:
            inside: Code = []
            inner.write(inside)
            self._put(inside, DONE)
            self._put(code, LOOK, inside, kind, wanted)

        return Node(write)


def _any_of(singles: set[str], tests: list[Test], negated: bool, fold: bool) -> Test:
    """The test of a class: it takes as long as its ranges and named classes, however many characters."""

    def test(char: str) -> bool:
        found = (char.casefold() if fold else char) in singles
        return (found or any(test(char) for test in tests)) is not negated

    return test


def _same(test: Test, wanted: bool) -> Test:
    return lambda char: bool(test(char)) is wanted


def void(_: object) -> None:
    """Leaves a result."""
