"""JSONata's values: null and undefined, sequences and lists, functions and data.

None is undefined and NULL is null. Lists and objects that come from outside are shared and never
changed; a JList is one that the evaluation has made.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, Final, final

from .bounds import FEW, MANY, Budget, QueryError
from .library import NULL, JList, Jsonata, sequence
from .messages import fault
from .numbers import SAFE, is_number, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

BASE: Final = 2  # steps of a call: the arguments are checked first
_HALVES: Final = re.compile("[\ud800-\udfff]")
SYMBOLS: Final = ((str, "s"), (bool, "b"), (int, "n"), (float, "n"), (list, "a"), (dict, "o"))


@final
class Native(Jsonata.JFunctionCallable):  # type: ignore[misc]  # the library has no types
    """A built-in function. `run` gets the evaluator and the arguments, checked by `signature`.

    A call takes `base` steps, and one more for every `many` characters and members of its arguments.
    """

    def __init__(  # noqa: PLR0913, PLR0917  what the evaluator asks of it
        self,
        name: str | None,
        arity: int,
        run: Callable[..., Any],
        signature: Any = None,
        base: int = BASE,
        many: int = MANY,
    ) -> None:
        self.name = name
        self.arity = arity
        self.run = run
        self.signature = signature
        self.base = base
        self.many = many

    def steps(self, arguments: list[Any]) -> int:
        """The steps that a call with these arguments takes."""
        sizes = [len(given) for given in arguments if isinstance(given, (str, list, dict))]
        return self.base + sum(sizes) // self.many


@final
class Lambda(Jsonata.JFunctionCallable):  # type: ignore[misc]  # the library has no types
    """A function in an expression: its code and its frame."""

    def __init__(self, code: Any, focus: Any, environment: Any) -> None:
        self.arguments = code.arguments
        self.body = code.body
        self.signature = code.signature
        self.thunk = bool(code.thunk)
        self.focus = focus
        self.environment = environment
        self.name: str | None = None

    @property
    def arity(self) -> int:
        return len(self.arguments)


def is_function(value: Any) -> bool:
    return isinstance(value, Native | Lambda)


def symbol(value: Any) -> str:
    """A value's letter in a signature."""
    if is_function(value):
        return "f"
    return next((letter for kind, letter in SYMBOLS if isinstance(value, kind)), _other(value))


def _other(value: Any) -> str:
    return "l" if value is NULL else "m"


def kind(value: Any) -> str:
    names = {"s": "string", "b": "boolean", "n": "number", "a": "array", "o": "object"}
    return {**names, "f": "function", "l": "null"}[symbol(value)]


def listed(value: Any) -> Any:
    """The value as a list: of one member, unless it is a list."""
    return value if isinstance(value, list) else [value]


def numeric(value: Any) -> bool:
    """True for a number of JSON.

    Raises:
        QueryError: D1001, if it is infinite.
    """
    if not is_number(value) or math.isnan(value):
        return False
    if math.isinf(value):
        raise fault("D1001", value)
    return True


def truth(value: Any, budget: Budget) -> bool:
    """The boolean of a value in a condition (docs.jsonata.org, `$boolean`)."""
    budget.spend(0)
    if isinstance(value, list):
        budget.spend(1 + len(value) // FEW)
        return any(truth(item, budget) for item in value)
    if isinstance(value, bool | str | dict):
        return bool(value)
    if is_number(value):
        return numeric(value) and value != 0
    return is_function(value)


def equal(left: Any, right: Any, budget: Budget) -> bool:
    """True if two values are the same at any depth; 1 is 1.0 but not true."""
    if isinstance(left, list) and isinstance(right, list):
        budget.spend(1 + len(left) // FEW)
        pairs = zip(left, right, strict=False)
        return len(left) == len(right) and all(equal(one, two, budget) for one, two in pairs)
    if isinstance(left, dict) and isinstance(right, dict):
        budget.spend(1 + len(left) // FEW)
        return left.keys() == right.keys() and all(
            equal(left[key], right[key], budget) for key in left
        )
    return same(left, right)


def same(left: Any, right: Any) -> bool:
    """JavaScript's `===`: lists and objects are the same only if they are one."""
    if isinstance(left, str) or is_number(left):
        return not isinstance(right, bool) and left == right
    return left is right


def lookup(value: Any, key: str, budget: Budget) -> Any:
    """A member of an object, or of all objects of a list, flattened by one level."""
    if isinstance(value, dict):
        return value.get(key)
    if not isinstance(value, list):
        return None
    budget.spend(1 + len(value) // FEW)
    found = sequence()
    for item in value:
        member = lookup(item, key, budget)
        if isinstance(member, list):
            found.extend(member)
        elif member is not None:
            found.append(member)
    return found


def append(left: Any, right: Any, budget: Budget) -> Any:
    """Two values one after the other, as one list; undefined adds nothing."""
    if left is None or right is None:
        return right if left is None else left
    head = left if isinstance(left, list) else sequence(left)
    tail = listed(right)
    budget.members(len(head) + len(tail))
    made = JList(head)
    made.extend(tail)
    return made


def flattened(value: Any, budget: Budget) -> Iterator[Any]:
    """The members of a list at any depth."""
    budget.spend(1 + len(value) // FEW)
    for item in value:
        if isinstance(item, list):
            yield from flattened(item, budget)
        else:
            yield item


def with_nulls(value: Any) -> Any:
    """A JSON value for an expression: NULL for None. Copies only values that hold one."""
    if value is None:
        return NULL
    if isinstance(value, dict):
        members = {key: with_nulls(member) for key, member in value.items()}
        return members if any(members[key] is not value[key] for key in value) else value
    if isinstance(value, list):
        items = [with_nulls(item) for item in value]
        return items if any(map(_differ, items, value)) else value
    return value


def _differ(one: Any, two: Any) -> bool:
    return one is not two


def without_nulls(value: Any) -> Any:
    """An expression's value as JSON: whole numbers are integers, infinite ones are texts.

    AWS writes Infinity like this (measured by peers); undefined inside a list is null, as in JavaScript.

    Raises:
        QueryError: the value contains a function.
    """
    if isinstance(value, dict):
        made = {_text(key): without_nulls(member) for key, member in value.items()}
        return value if all(made.get(key, NULL) is value[key] for key in value) else made
    if isinstance(value, list):
        items = [without_nulls(item) for item in value]
        return items if type(value) is not list or any(map(_differ, items, value)) else value
    if isinstance(value, float):
        return _json_number(value)
    if is_function(value):
        raise QueryError(None, "A function is not a JSON value")
    if isinstance(value, str):
        return _text(value)
    return None if value is NULL else value


def _text(text: str) -> str:
    """Text of whole characters: JSONata can spell half characters, which JSON cannot have."""
    if text.isascii() or not _HALVES.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _json_number(number: float) -> Any:
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "Infinity" if number > 0 else "-Infinity"
    return int(shown(number)) if number.is_integer() and abs(number) < SAFE else number
