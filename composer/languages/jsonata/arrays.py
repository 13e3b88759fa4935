"""JSONata's functions of lists, objects and functions (docs.jsonata.org, "Array", "Object", "Higher order")."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from .bounds import FEW, READ
from .library import JList, sequence, sequence_of
from .messages import fault
from .ordering import sorted_by
from .texts import Row, string
from .values import append, equal, is_function, kind, lookup, symbol, truth, with_nulls

if TYPE_CHECKING:
    from collections.abc import Iterator

PAIR: Final = 2  # what $reduce gives at least: the result so far, and the next item

# --- higher order --------------------------------------------------------------------------------


def _asked(evaluator: Any, function: Any, member: Any, key: Any, whole: Any) -> Any:
    """Calls a function on a member, with as many arguments as it takes."""
    return evaluator.call(function, [member, key, whole][: max(1, min(3, function.arity))])


def _indexed(evaluator: Any, items: list[Any], function: Any) -> Iterator[tuple[Any, Any]]:
    for at, item in enumerate(items):
        yield item, _asked(evaluator, function, item, at, items)


def mapped(evaluator: Any, items: list[Any], function: Any) -> Any:
    answers = (answer for _, answer in _indexed(evaluator, items, function))
    return sequence_of([answer for answer in answers if answer is not None])


def filtered(evaluator: Any, items: list[Any], function: Any) -> Any:
    answers = _indexed(evaluator, items, function)
    return sequence_of([item for item, answer in answers if evaluator.truth(answer)])


def single(evaluator: Any, items: list[Any], function: Any = None) -> Any:
    if function is None:
        found = list(items)
    else:
        answers = _indexed(evaluator, items, function)
        found = [item for item, answer in answers if evaluator.truth(answer)]
    if len(found) != 1:
        raise fault("D3138" if found else "D3139")
    return found[0]


def reduced(evaluator: Any, items: list[Any], function: Any, start: Any = None) -> Any:
    if function.arity < PAIR:
        raise fault("D3050")
    rest = list(enumerate(items))
    result = start
    if start is None and rest:
        result = rest.pop(0)[1]
    for at, item in rest:
        arguments = [result, item, at, items]
        result = evaluator.call(function, arguments[: max(PAIR, min(4, function.arity))])
    return result


def sifted(evaluator: Any, value: Any, function: Any) -> Any:
    members = value.items() if isinstance(value, dict) else ()
    kept = {
        key: member
        for key, member in members
        if evaluator.truth(_asked(evaluator, function, member, key, value))
    }
    return kept or None


def each(evaluator: Any, value: dict[str, Any], function: Any) -> Any:
    answers = (_asked(evaluator, function, member, key, value) for key, member in value.items())
    return sequence_of([answer for answer in answers if answer is not None])


def ordered(evaluator: Any, items: list[Any], function: Any = None) -> Any:
    if len(items) <= 1:
        return items
    if function is not None:
        return sorted_by(evaluator, items, function)
    kinds = {symbol(item) for item in items}
    if kinds not in ({"n"}, {"s"}):
        raise fault("D3070")
    return sorted(items)


# --- lists ---------------------------------------------------------------------------------------


def reverse(_evaluator: Any, items: list[Any]) -> Any:
    return items[::-1] if len(items) > 1 else items


def shuffle(evaluator: Any, items: list[Any]) -> list[Any]:
    """Shuffles by Fisher and Yates, with the evaluation's own chance."""
    made = list(items)
    for last in range(len(made) - 1, 0, -1):
        other = int(evaluator.chance() * (last + 1))
        made[last], made[other] = made[other], made[last]
    return made


def distinct(evaluator: Any, value: Any) -> Any:
    if not isinstance(value, list) or len(value) <= 1:
        return value
    seen: set[Any] = set()
    made: list[Any] = []
    deep: list[Any] = []
    for item in value:
        if isinstance(item, list | dict):
            if not any(equal(item, other, evaluator.budget) for other in deep):
                deep.append(item)
                made.append(item)
        elif (key := (isinstance(item, bool), item)) not in seen:
            seen.add(key)
            made.append(item)
    return sequence_of(made) if isinstance(value, JList) and value.sequence else made


def zipped(_evaluator: Any, *lists: Any) -> list[Any]:
    return [list(items) for items in zip(*(items or () for items in lists), strict=False)]


def count(_evaluator: Any, items: Any) -> int:
    return 0 if items is None else len(items)


# --- objects -------------------------------------------------------------------------------------


def keys(evaluator: Any, value: Any) -> Any:
    return sequence_of(list(_keys(evaluator, value)))


def _keys(evaluator: Any, value: Any) -> dict[str, None]:
    if isinstance(value, dict):
        evaluator.budget.spend(len(value) // FEW)
        return dict.fromkeys(value)
    found: dict[str, None] = {}
    if isinstance(value, list):
        evaluator.budget.spend(1 + len(value) // FEW)
        for item in value:
            found |= _keys(evaluator, item)
    return found


def spread(evaluator: Any, value: Any) -> Any:
    if isinstance(value, dict):
        return sequence_of([{key: member} for key, member in value.items()])
    if not isinstance(value, list):
        return value
    result = sequence()
    for item in value:
        result = append(result, spread(evaluator, item), evaluator.budget)
    return result


def merge(evaluator: Any, objects: list[dict[str, Any]]) -> dict[str, Any]:
    evaluator.budget.members(sum(map(len, objects)))
    return {key: member for one in objects for key, member in one.items()}


def clone(evaluator: Any, value: Any) -> Any:
    """A copy, by way of JSON: numbers keep fifteen digits, functions become empty strings."""
    text = string(evaluator, value)
    evaluator.budget.spend(len(text) // READ)
    return with_nulls(json.loads(text))


def exists(_evaluator: Any, value: Any) -> bool:
    return value is not None


def boolean(evaluator: Any, value: Any) -> bool:
    return not is_function(value) and truth(value, evaluator.budget)


STRICT: Final[dict[str, Row]] = {
    "map": ("<af>", mapped),
    "filter": ("<af>", filtered),
    "single": ("<af?>", single),
    "reduce": ("<afj?:j>", reduced),
    "sift": ("<o-f?:o>", sifted),
    "each": ("<o-f:a>", each),
    "sort": ("<af?:a>", ordered),
    "reverse": ("<a:a>", reverse),
    "shuffle": ("<a:a>", shuffle),
    "distinct": ("<x:x>", distinct),
    "spread": ("<x-:a<o>>", spread),
    "merge": ("<a<o>:o>", merge),
    "clone": ("<(oa)-:o>", clone),
    "boolean": ("<x-:b>", boolean),
    "not": ("<x-:b>", lambda evaluator, value: not boolean(evaluator, value)),
    "type": ("<x:s>", lambda _evaluator, value: kind(value)),
    "lookup": ("<x-s:x>", lambda evaluator, value, key: lookup(value, key, evaluator.budget)),
}
LOOSE: Final[dict[str, Row]] = {
    "count": ("<a:n>", count),
    "keys": ("<x-:a<s>>", keys),
    "append": ("<xx:a>", lambda evaluator, one, two: append(one, two, evaluator.budget)),
    "zip": ("<a+>", zipped),
    "exists": ("<x:b>", exists),
}
