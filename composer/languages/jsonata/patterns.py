"""JavaScript regular expressions, compiled to programs that `attempts` runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NoReturn, TypeAlias

from .attempts import DONE, Attempt, Step
from .bounds import QueryError

MAX_STEPS = 5_000  # instructions of a program: a counted repetition is written out
MAX_NESTING = 50  # groups inside each other
UNBOUNDED = 1 << 30

Test: TypeAlias = Callable[[str], bool]

DIGITS: Final = frozenset("0123456789")
HEX: Final = DIGITS | frozenset("abcdefABCDEF")
WORD: Final = DIGITS | frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_")
OCTAL: Final = frozenset("01234567")
MAX_OCTAL, BYTE = 3, 255
LINES: Final = frozenset("\n\r\u2028\u2029")
SPACE: Final = LINES | frozenset(
    "\t\v\f \xa0\u1680\u202f\u205f\u3000\ufeff\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
)
CLASSES: Final = {"d": DIGITS, "w": WORD, "s": SPACE}
CONTROLS: Final = {"t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r"}
LOOKS: Final = {
    "?=": (True, True),
    "?!": (True, False),
    "?<=": (False, True),
    "?<!": (False, False),
}
QUANTITIES: Final = {"*": (0, UNBOUNDED), "+": (1, UNBOUNDED), "?": (0, 1)}


@dataclass(frozen=True, slots=True)
class Node:
    """A part of a pattern: writes its steps; `test` if it is one character."""

    write: Callable[[], object]
    test: Test | None = None
    fixed: bool = False  # it is a place, which cannot be repeated


class Pattern:
    """Reads a pattern, and writes its program to `steps`."""

    def __init__(self, source: str, *, ignore_case: bool, multiline: bool) -> None:
        self.source = source
        self.ignore_case = ignore_case
        self.multiline = multiline
        self.steps: list[Step] = []
        self.names: dict[str, int] = {}
        self.groups = 0
        self.total = _groups(source)
        self.slots = 2 * self.total
        self._at = 0
        self._depth = 0
        tree = self._alternatives()
        if self._at < len(source):
            self._refuse("Unmatched ')'")
        tree.write()
        self.steps.append(DONE)

    # --- reading ---------------------------------------------------------------------------------

    def _refuse(self, why: str) -> NoReturn:
        flags = f"g{'i' * self.ignore_case}{'m' * self.multiline}"
        raise QueryError(None, f"Invalid regular expression: /{self.source}/{flags}: {why}")

    def _peek(self, text: str) -> bool:
        return self.source.startswith(text, self._at)

    def _take(self, text: str) -> bool:
        found = self._peek(text)
        self._at += len(text) * found
        return found

    def _next(self) -> str:
        if self._at == len(self.source):
            self._refuse("\\ at end of pattern")
        self._at += 1
        return self.source[self._at - 1]

    def _alternatives(self) -> Node:
        self._depth += 1
        if self._depth > MAX_NESTING:
            self._refuse("Regular expression too large")
        ways = [self._sequence()]
        while self._take("|"):
            ways.append(self._sequence())
        self._depth -= 1
        return ways[0] if len(ways) == 1 else Node(lambda: self._write_ways(ways))

    def _sequence(self) -> Node:
        parts = []
        while self._at < len(self.source) and self.source[self._at] not in "|)":
            parts.append(self._repeated())
        if len(parts) == 1:
            return parts[0]
        return Node(lambda: [part.write() for part in parts])

    def _repeated(self) -> Node:
        first = self.groups
        atom = self._atom()
        begin = self._at
        least, most = self._quantity()
        if atom.fixed and self._at > begin:
            self._refuse("Nothing to repeat")
        if (least, most) == (1, 1):
            return atom
        greedy = not self._take("?")
        inside = range(first, self.groups)
        test = atom.test
        if greedy and test is not None:
            return Node(lambda: self._write(_run(test, least, most)))
        return Node(lambda: self._write_loop(atom, inside, (least, most), greedy))

    def _quantity(self) -> tuple[int, int]:
        for sign, quantity in QUANTITIES.items():
            if self._take(sign):
                return quantity
        begin = self._at
        if not self._take("{"):
            return 1, 1
        least = self._number()
        most = least
        if least is not None and self._take(","):
            most = UNBOUNDED if self._peek("}") else self._number()
        if least is None or most is None or not self._take("}"):
            self._at = begin  # then it is a brace like any other character
            return 1, 1
        if most < least:
            self._refuse("numbers out of order in {} quantifier")
        return least, most

    def _number(self) -> int | None:
        begin = self._at
        while self._at < len(self.source) and self.source[self._at] in DIGITS:
            self._at += 1
        return min(int(self.source[begin : self._at][:9]), UNBOUNDED) if self._at > begin else None

    def _atom(self) -> Node:
        begin = self._at
        if self._quantity() != (1, 1) or self._at > begin:
            self._refuse("Nothing to repeat")
        sign = self._next()
        readers = {"(": self._group, "[": self._class, "\\": self._escape}
        if sign in readers:
            return readers[sign]()
        if sign == ".":
            return self._one(lambda char: char not in LINES)
        if sign in "^$":
            return Node(lambda: self._write(_edge(sign == "^", self.multiline)), fixed=True)
        return self._one(self._only(sign))

    def _group(self) -> Node:
        for sign, look in LOOKS.items():
            if self._take(sign):
                return self._looked(*look)
        if self._take("?:"):
            return self._inside()
        name = self._name() if self._take("?<") else ""
        if self._peek("?"):
            self._refuse("Invalid group")
        number = self.groups
        self.groups += 1
        if name:
            self.names[name] = number
        inner = self._inside()
        return Node(lambda: self._write_group(inner, number))

    def _looked(self, ahead: bool, wanted: bool) -> Node:
        inner = self._inside()
        return Node(lambda: self._write_look(inner, ahead, wanted), fixed=not ahead)

    def _name(self) -> str:
        name, found, _ = self.source[self._at :].partition(">")
        if not found or not name.isidentifier():
            self._refuse("Invalid capture group name")
        self._at += len(name) + 1
        return name

    def _inside(self) -> Node:
        inner = self._alternatives()
        if not self._take(")"):
            self._refuse("Unterminated group")
        return Node(inner.write)

    def _escape(self) -> Node:
        sign = self._next()
        if sign in "bB":
            return Node(lambda: self._write(_boundary(sign == "b")), fixed=True)
        if sign in "123456789":
            begin = self._at
            self._at -= 1
            number = self._number() or 0
            if number <= self.total:
                return Node(lambda: self._write(_same(lambda: number - 1, self._folded)))
            self._at = begin  # no such group: then it is a character
        if sign == "k" and self._take("<"):
            name = self._name()
            return Node(lambda: self._write(_same(lambda: self._named(name), self._folded)))
        kind = sign.lower()
        if kind in CLASSES:
            return self._one(_among(CLASSES[kind], sign == kind))
        return self._one(self._only(self._character(sign)))

    def _named(self, name: str) -> int:
        return self.names.get(name, -1)

    def _character(self, sign: str) -> str:
        if sign in OCTAL:
            return self._octal(sign)
        if sign == "c":
            return chr(ord(self._next()) % 32)
        size = {"x": 2, "u": 4}.get(sign, 0)
        digits = self.source[self._at : self._at + size]
        if size and len(digits) == size and HEX.issuperset(digits):
            self._at += size
            return chr(int(digits, 16))
        return CONTROLS.get(sign, sign)

    def _octal(self, figures: str) -> str:
        while len(figures) < MAX_OCTAL and self._at < len(self.source):
            longer = figures + self.source[self._at]
            if longer[-1] not in OCTAL or int(longer, 8) > BYTE:
                break
            figures = longer
            self._at += 1
        return chr(int(figures, 8))

    def _class(self) -> Node:
        negated = self._take("^")
        tests: list[Test] = []
        while not self._take("]"):
            if self._at == len(self.source):
                self._refuse("Unterminated character class")
            low = self._member()
            if callable(low):
                tests.append(low)
            elif self._peek("-") and not self._peek("-]"):
                self._at += 1
                tests.extend(self._range(low, self._member()))
            else:
                tests.append(self._only(low))
        return self._one(lambda char: any(test(char) for test in tests) is not negated)

    def _range(self, low: str, high: str | Test) -> list[Test]:
        if callable(high):
            return [self._only(low), self._only("-"), high]
        if high < low:
            self._refuse("Range out of order in character class")
        if not self.ignore_case:
            return [lambda char: low <= char <= high]
        return [lambda char: low <= char.lower() <= high or low <= char.upper() <= high]

    def _member(self) -> str | Test:
        sign = self._next()
        if sign != "\\":
            return sign
        sign = self._next()
        if sign == "b":
            return "\b"
        kind = sign.lower()
        return _among(CLASSES[kind], sign == kind) if kind in CLASSES else self._character(sign)

    def _folded(self, text: str) -> str:
        return text.upper() if self.ignore_case else text

    def _only(self, wanted: str) -> Test:
        if not self.ignore_case:
            return wanted.__eq__
        folded = wanted.upper()
        return lambda char: char.upper() == folded

    # --- writing ---------------------------------------------------------------------------------

    def _write(self, step: Step) -> int:
        if len(self.steps) > MAX_STEPS:
            self._refuse("Regular expression too large")
        self.steps.append(step)
        return len(self.steps) - 1

    def _one(self, test: Test) -> Node:
        return Node(lambda: self._write(_one(test)), test)

    def _write_ways(self, ways: list[Node]) -> None:
        ends = []
        for way in ways[:-1]:
            split = self._write(DONE)
            way.write()
            ends.append(self._write(DONE))
            self.steps[split] = _split(split + 1, len(self.steps))
        ways[-1].write()
        for end in ends:
            self.steps[end] = _jump(len(self.steps))

    def _write_loop(self, atom: Node, inside: range, times: tuple[int, int], greedy: bool) -> None:
        least, most = times
        for _ in range(least):
            self._write_turn(atom, inside)
        mark = self.slots  # a turn that takes nothing is none
        self.slots += 1
        if most == UNBOUNDED:
            split = self._write(DONE)
            self._write(_mark(mark))
            self._write_turn(atom, inside)
            self._write(_moved(mark))
            self._write(_jump(split))
            self.steps[split] = _choice(split + 1, len(self.steps), greedy)
            return
        splits = []
        for _ in range(most - least):
            splits.append(self._write(DONE))
            self._write(_mark(mark))
            self._write_turn(atom, inside)
            self._write(_moved(mark))
        for split in splits:
            self.steps[split] = _choice(split + 1, len(self.steps), greedy)

    def _write_turn(self, atom: Node, inside: range) -> None:
        if inside:
            self._write(_forget(2 * inside.start, 2 * inside.stop))
        atom.write()

    def _write_group(self, inner: Node, number: int) -> None:
        self._write(_mark(2 * number))
        inner.write()
        self._write(_mark(2 * number + 1))

    def _write_look(self, inner: Node, ahead: bool, wanted: bool) -> None:
        outer, self.steps = self.steps, []
        inner.write()
        self.steps.append(DONE)
        steps, self.steps = self.steps, outer
        self._write(_look(steps, ahead, wanted))


def _groups(source: str) -> int:
    """The number of capturing groups: a larger number does not refer to one."""
    count, inside, skip = 0, False, False
    for at, char in enumerate(source):
        if skip:
            skip = False
        elif char == "\\":
            skip = True
        elif char in "[]":
            inside = char == "["
        elif char == "(" and not inside:
            names = source[at + 1 : at + 3] == "?<" and source[at + 3 : at + 4] not in ("=", "!")
            count += source[at + 1 : at + 2] != "?" or names
    return count


def _among(chars: frozenset[str], wanted: bool) -> Test:
    return lambda char: (char in chars) is wanted


def _one(test: Test) -> Step:
    def step(attempt: Attempt) -> bool:
        if attempt.at < attempt.length and test(attempt.text[attempt.at]):
            attempt.at += 1
            return True
        return False

    return step


def _run(test: Test, least: int, most: int) -> Step:
    def step(attempt: Attempt) -> bool:
        low, end = attempt.at + least, attempt.at
        stop = min(attempt.length, end + most)
        text = attempt.text
        while end < stop and test(text[end]):
            end += 1
        attempt.budget.spend((end - attempt.at) // 32)
        if end < low:
            return False
        if end > low:
            attempt.later(attempt.pc, end - 1, low)
        attempt.at = end
        return True

    return step


def _choice(into: int, past: int, greedy: bool) -> Step:
    return _split(into, past) if greedy else _split(past, into)


def _split(first: int, second: int) -> Step:
    def step(attempt: Attempt) -> bool:
        attempt.later(second, attempt.at, attempt.at)
        attempt.pc = first
        return True

    return step


def _jump(to: int) -> Step:
    def step(attempt: Attempt) -> bool:
        attempt.pc = to
        return True

    return step


def _mark(slot: int) -> Step:
    def step(attempt: Attempt) -> bool:
        attempt.set(slot, attempt.at)
        return True

    return step


def _moved(slot: int) -> Step:
    return lambda attempt: attempt.slots[slot] != attempt.at


def _forget(first: int, last: int) -> Step:
    def step(attempt: Attempt) -> bool:
        for slot in range(first, last):
            attempt.set(slot, None)
        return True

    return step


def _edge(begin: bool, multiline: bool) -> Step:
    def step(attempt: Attempt) -> bool:
        if begin:
            return attempt.at == 0 or (multiline and attempt.text[attempt.at - 1] in LINES)
        return attempt.at == attempt.length or (multiline and attempt.text[attempt.at] in LINES)

    return step


def _boundary(wanted: bool) -> Step:
    def step(attempt: Attempt) -> bool:
        before = attempt.at > 0 and attempt.text[attempt.at - 1] in WORD
        after = attempt.at < attempt.length and attempt.text[attempt.at] in WORD
        return (before is not after) is wanted

    return step


def _same(group: Callable[[], int], folded: Callable[[str], str]) -> Step:
    def step(attempt: Attempt) -> bool:
        number = group()
        ends = attempt.slots[2 * number : 2 * number + 2] if number >= 0 else (None,)
        if None in ends:
            return True
        again = attempt.text[slice(*ends)]
        attempt.budget.spend(len(again) // 64)
        found = attempt.text[attempt.at : attempt.at + len(again)]
        attempt.at += len(again)
        return folded(found) == folded(again)

    return step


def _look(steps: list[Step], ahead: bool, wanted: bool) -> Step:
    def step(attempt: Attempt) -> bool:
        starts = (attempt.at,) if ahead else range(attempt.at, -1, -1)
        for start in starts:
            inner = Attempt(attempt.text, start, attempt.slots, attempt.budget)
            if inner.matches(steps, None if ahead else attempt.at):
                if wanted:
                    attempt.slots = inner.slots
                return wanted
        return not wanted

    return step
