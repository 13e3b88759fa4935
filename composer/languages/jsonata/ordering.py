"""The order of values: comparisons, and lists sorted by keys or by a function."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from .library import NULL
from .messages import fault
from .numbers import is_number
from .paths import plain_path
from .values import Lambda

if TYPE_CHECKING:
    from collections.abc import Callable

    from .library import Node

Ranked: TypeAlias = "tuple[Any, dict[Node, Any]]"
"""An item that is sorted, with its value of each term that was needed so far."""

COMPARISONS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "<": lambda left, right: left < right,
    "<=": lambda left, right: left <= right,
    ">": lambda left, right: left > right,
    ">=": lambda left, right: left >= right,
}
PAIR: Final = 2


def comparison(sign: str, left: Any, right: Any) -> bool | None:
    if not all(
        value is None or isinstance(value, str) or is_number(value) for value in (left, right)
    ):
        raise fault("T2010", sign)
    if left is None or right is None:
        return None
    if isinstance(left, str) is not isinstance(right, str):
        raise fault("T2009", left, right, sign)
    return COMPARISONS[sign](left, right)


def order(left: Any, right: Any) -> int:
    """1 if `left` is larger, -1 if smaller; 2 or -2 if one is undefined, which always comes last."""
    if left is None or right is None:
        return 2 * ((left is None) - (right is None))
    if not all(isinstance(value, str) or is_number(value) for value in (left, right)):
        raise fault("T2008")
    if isinstance(left, str) is not isinstance(right, str):
        raise fault("T2007", left, right)
    return int(left > right) - int(left < right)


def merged_by(items: list[Any], after: Callable[[Any, Any], bool]) -> list[Any]:
    """Sorts, stable; `after(one, two)` is True if `one` belongs behind `two`."""
    if len(items) <= 1:
        return list(items)
    middle = len(items) // 2
    left, right = merged_by(items[:middle], after), merged_by(items[middle:], after)
    made: list[Any] = []
    one = two = 0
    while one < len(left) and two < len(right):
        if after(left[one], right[two]):
            made.append(right[two])
            two += 1
        else:
            made.append(left[one])
            one += 1
    return made + left[one:] + right[two:]


def sorted_by(evaluator: Any, items: list[Any], function: Any) -> list[Any]:
    """Sorts by a comparator, `function($l, $r) { $l.price > $r.price }` in the most common form.

    The sides of that form are evaluated once for each item, not once for each comparison.
    """
    names = _compared(function)
    if names is None:
        return merged_by(items, lambda one, two: _true(evaluator.call(function, [one, two])))
    body = function.body
    left = [_side(evaluator, function, body.lhs, names[0], item) for item in items]
    right = [_side(evaluator, function, body.rhs, names[1], item) for item in items]
    swapped = names[0] != function.arguments[0].value

    def after(one: int, two: int) -> bool:
        if swapped:
            one, two = two, one
        return comparison(body.value, left[one], right[two]) is True

    evaluator.budget.compared(len(items))
    return [items[at] for at in merged_by(list(range(len(items))), after)]


def _compared(function: Any) -> tuple[str, str] | None:
    """The parameters left and right of `<` or `>`, if a function is just such a comparison."""
    if type(function) is not Lambda or function.signature is not None:
        return None
    body, parameters = function.body, [parameter.value for parameter in function.arguments]
    if body.type != "binary" or body.value not in ("<", ">") or len(parameters) != PAIR:
        return None
    paths = [plain_path(body.lhs), plain_path(body.rhs)]
    names = tuple(path[0] for path in paths if path is not None)
    return (names[0], names[1]) if sorted(names) == sorted(set(parameters)) else None


def _side(evaluator: Any, function: Lambda, side: Node, name: str, item: Any) -> Any:
    frame = evaluator.create_frame(function.environment)
    frame.bind(name, item)
    return evaluator.eval(side, function.focus, frame)


def _true(value: Any) -> bool:
    """JavaScript's truth, which JSONata uses for the answer of a comparator."""
    return not (value is None or value is NULL or value is False or value in ("", 0))
