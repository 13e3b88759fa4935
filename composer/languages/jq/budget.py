"""The bounds on one evaluation: steps, the size of a value, and levels. They are counted, never timed.

The same program on the same input ends in the same way on every machine, so a replay is exact.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .errors import BudgetError

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_STEPS = 100_000  # of less than a microsecond each
MAX_SIZE = 6_990_256  # bytes of one value: eight a member, one a character
MAX_DEPTH = 2_000  # calls that wait for each other; a call in tail position does not wait
MAX_LEVELS = 240  # arrays and objects inside each other; orjson writes 254, and a value is wrapped
MEMBER_BYTES = 8
NATIVE = 64  # members that a native loop goes over in the time of one step
LOOPED = 4  # members that a loop in Python goes over in that time
COMPARED = 9  # as a shift: 512 characters that are compared, or hashed, in that time
SEARCHED = 512  # comparisons of a search for a text in that time
SHORT_TEXT, LONG_TEXT = 2_500, 30_000  # from these lengths on Python searches in linear time,
SHORT_PART, LONG_PART = 6, 100  # except for parts below these lengths

TOO_LONG = "The expression took more than {} steps: look for an endless loop or recursion"
TOO_LARGE = "The expression makes a value of more than {} bytes: make smaller values"
TOO_DEEP = (
    "The expression waits for more than {} calls inside each other: look for an endless recursion"
)
TOO_NESTED = "A value has more than {} levels of arrays and objects: nest values less deeply"


class Budget:
    """The bounds of one evaluation, and what is left of them. Several evaluations may share one.

    `steps` is a count for all evaluations that share the budget; `size` (bytes, about as JSON) holds
    for each value, `depth` for the calls that wait for each other.
    """

    __slots__ = ("depth", "left", "size", "steps")

    def __init__(
        self, steps: int = MAX_STEPS, size: int = MAX_SIZE, depth: int = MAX_DEPTH
    ) -> None:
        self.steps = self.left = steps
        self.size = size
        self.depth = depth

    @property
    def spent(self) -> int:
        """The steps taken so far."""
        return self.steps - self.left

    def spend(self, steps: int) -> None:
        """Counts steps before they are taken.

        Raises:
            BudgetError: so many are not left.
        """
        self.left -= steps
        if self.left < 0:
            raise self.overlong()

    def overlong(self) -> BudgetError:
        return BudgetError(TOO_LONG.format(self.steps))

    def members(self, count: float) -> None:
        """Counts an array or object of so many members before a native loop makes it."""
        self.characters(count * MEMBER_BYTES)

    def looped(self, count: float) -> None:
        """Counts members (or characters) before a loop in Python goes over them."""
        self.held(count)
        self.spend(int(count) // LOOPED)

    def characters(self, count: float) -> None:
        """Counts a text of so many characters before it is made."""
        self.held(count)
        self.spend(int(count) // (NATIVE * MEMBER_BYTES))

    def compared(self, one: int, other: int) -> None:
        """Counts a comparison of two texts of such lengths."""
        self.spend(min(one, other) >> COMPARED)

    def keyed(self, keys: Iterable[str]) -> None:
        """Counts the comparisons of keys that are looked up, each of which may equal another."""
        self.spend(sum(map(len, keys)) >> COMPARED)

    def searched(self, length: int, part: int) -> None:
        """Counts a search for a part of so many characters, in the worst case of Python's search."""
        if part > length:
            return
        if part > 1 and length >= SHORT_TEXT:
            part = min(part, SHORT_PART if length >= LONG_TEXT else LONG_PART)
        self.spend(length * part // SEARCHED)

    def held(self, count: float) -> None:
        """Checks that a value of so many bytes may exist."""
        if count > self.size:
            raise BudgetError(TOO_LARGE.format(self.size))

    def sorting(self, count: int) -> None:
        """Counts the comparisons that sort so many items."""
        self.spend(count * count.bit_length() // LOOPED)

    def walked(self, value: Any) -> int:
        """Counts a value that will be read as a tree; returns its size as JSON, roughly.

        A part counts as often as it occurs, so that a small value which prints as a huge one (an array
        whose two members are the same array, and so on) is found out.
        """
        if not isinstance(value, (list, dict, str)):
            return 1
        size, level = 0, [value]
        for _ in range(MAX_LEVELS + 1):
            below: list[Any] = []
            for member in level:
                if type(member) is str:
                    size += len(member) + 2
                elif type(member) is dict:
                    size += 2 + 4 * len(member) + sum(map(len, member))
                    below.extend(member.values())
                elif type(member) is list:
                    size += 2 + len(member)
                    below.extend(member)
                else:
                    size += 5
                if size > self.size:
                    self.held(size)
            self.spend(1 + (len(level) + len(below)) // LOOPED)
            if not below:
                self.spend(size // NATIVE)
                return size
            level = below
        raise BudgetError(TOO_NESTED.format(MAX_LEVELS))
