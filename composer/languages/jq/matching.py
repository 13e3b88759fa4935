"""Runs the programs of regular expressions, on a stack of its own, in steps that are counted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from .patterns import (
    BACK,
    DONE,
    EDGE,
    JUMP,
    MARK,
    MOVED,
    ONE,
    RUN,
    SAVE,
    SPLIT,
    WIDE,
    Code,
    Pattern,
)  # fmt: skip

if TYPE_CHECKING:
    from .budget import Budget

CHEAP: Final = 2  # instructions in the time of one step
SCANNED: Final = 16  # characters that a run goes over in that time


class Matcher:
    """Matches one pattern on one text."""

    def __init__(self, pattern: Pattern, text: str, budget: Budget) -> None:
        self.pattern, self.text, self.budget = pattern, text, budget
        self._groups = 2 * len(pattern.names)

    def find(self, start: int, longest: bool, not_empty: bool) -> tuple[int, int, Any] | None:
        """The first match at or after `start`: its beginning, its end, and the edges of the groups."""
        slots = (None,) * (self._groups + self.pattern.marks)
        for at in range(start, len(self.text) + 1):
            found = self._run(self.pattern.code, at, slots, None, longest, not_empty)
            if found is not None:
                end, edges = found
                return at, end, edges[: self._groups]
        return None

    def _run(  # noqa: C901, PLR0912, PLR0913, PLR0917 - a call in this loop costs as much as a step
        self, code: Code, at: int, slots: Any, end: int | None, longest: bool, not_empty: bool
    ) -> tuple[int, Any] | None:
        begin, pc, done = at, 0, 0
        stack: list[tuple[int, int, Any, int]] = []
        best: tuple[int, Any] | None = None
        spend = self.budget.spend
        while True:
            done += 1
            if done % CHEAP == 0:
                spend(1)
            op = code[pc]
            ok = True
            if op[0] == DONE:
                ok = False
                if end in (None, at) and not (not_empty and at == begin):
                    if not longest:
                        spend(1)
                        return at, slots
                    if best is None or at > best[0]:
                        best = at, slots
            elif op[0] == ONE:
                ok = at < len(self.text) and op[1](self.text[at])
                at += 1
            elif op[0] == SPLIT:
                stack.append((op[2], at, slots, at))
                pc = op[1] - 1
            elif op[0] == JUMP:
                pc = op[1] - 1
            elif op[0] == MOVED:
                pc = pc if slots[self._groups + op[1]] != at else op[2] - 1
            elif op[0] == RUN:
                ok, at = self._greedy(op, at, stack, pc, slots)
            else:
                ok, at, slots = self._rest(op, at, slots)
            pc += 1
            if not ok:
                if not stack:
                    spend(1)
                    return best
                pc, at, slots, low = stack.pop()
                if at > low:
                    stack.append((pc, at - 1, slots, low))

    def _greedy(self, op: Any, at: int, stack: list[Any], pc: int, slots: Any) -> tuple[bool, int]:
        """A character as often as possible; fewer times are alternatives."""
        _, test, cost, least, most = op
        stop, last, text = min(len(self.text), at + most), at, self.text
        bite = max(1, SCANNED // cost)
        if cost > SCANNED:
            self.budget.spend(cost // SCANNED)
        while last < stop and test(text[last]):
            last += 1
            if not (last - at) % bite:
                self.budget.spend(max(1, cost // SCANNED))
        if last - at < least:
            return False, at
        if last > at + least:
            stack.append((pc + 1, last - 1, slots, at + least))
        return True, last

    def _rest(self, op: Any, at: int, slots: Any) -> tuple[bool, int, Any]:
        kind = op[0]
        if kind == WIDE:
            self.budget.spend(op[2] // SCANNED)
            return at < len(self.text) and op[1](self.text[at]), at + 1, slots
        if kind in (SAVE, MARK):
            self.budget.spend(len(slots) // SCANNED)
            place = op[1] if kind == SAVE else self._groups + op[1]
            return True, at, (*slots[:place], at, *slots[place + 1 :])
        if kind == EDGE:
            return op[1](self.text, at), at, slots
        if kind == BACK:
            return self._again(op, at, slots)
        return self._look(op, at, slots)

    def _again(self, op: Any, at: int, slots: Any) -> tuple[bool, int, Any]:
        _, group, fold = op
        edges = slots[2 * group : 2 * group + 2] if 2 * group < self._groups else (None,)
        if None in edges:
            return False, at, slots
        wanted = self.text[slice(*edges)]
        self.budget.spend(len(wanted) // SCANNED)
        found = self.text[at : at + len(wanted)]
        same = found.casefold() == wanted.casefold() if fold else found == wanted
        return same, at + len(wanted), slots

    def _look(self, op: Any, at: int, slots: Any) -> tuple[bool, int, Any]:
        _, code, kind, wanted = op
        behind = kind == "behind"
        for start in range(at, -1, -1) if behind else (at,):
            found = self._run(code, start, slots, at if behind else None, False, False)
            if found is not None:
                if kind == "atomic":
                    return True, found[0], found[1]
                return wanted, at, found[1] if wanted else slots
        return not wanted, at, slots
