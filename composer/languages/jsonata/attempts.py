"""One attempt to match a regular expression's program: a stack machine that counts its work."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from .bounds import Budget

CHEAP = 3  # instructions that take as long as one step of an expression

Slots: TypeAlias = tuple[int | None, ...]


class Attempt:
    """One attempt to match from one position; `stack` holds the alternatives."""

    __slots__ = ("at", "budget", "length", "pc", "slots", "stack", "text")

    def __init__(self, text: str, at: int, slots: Slots, budget: Budget) -> None:
        self.text = text
        self.length = len(text)
        self.at = at
        self.slots = slots
        self.pc = 0
        self.budget = budget
        self.stack: list[tuple[int, int, Slots, int]] = []

    def matches(self, steps: list[Step], end: int | None = None) -> bool:
        """True if the program reaches its end (at position `end`, if that is given)."""
        done = 0
        while True:
            step = steps[self.pc]
            done += 1
            if done % CHEAP == 0:
                self.budget.spend(1)
            if step is DONE and end in (None, self.at):
                self.budget.spend(1)
                return True
            self.pc += 1
            if (step is DONE or not step(self)) and not self._back():
                self.budget.spend(1)
                return False

    def later(self, pc: int, at: int, low: int) -> None:
        """Adds an alternative at `pc`: at position `at`, then at all positions down to `low`."""
        self.stack.append((pc, at, self.slots, low))

    def _back(self) -> bool:
        if not self.stack:
            return False
        self.pc, self.at, self.slots, low = self.stack.pop()
        if self.at > low:
            self.later(self.pc, self.at - 1, low)
        return True

    def set(self, slot: int, value: int | None) -> None:
        self.slots = (*self.slots[:slot], value, *self.slots[slot + 1 :])


Step: TypeAlias = Callable[[Attempt], bool]  # goes on, or fails


DONE: Final[Step] = (
    bool  # the end of a program: `Attempt` knows it by its identity, and never calls it
)
