"""Reading, writing and deleting parts of a value by path. Containers are copied, never changed."""

from __future__ import annotations

import math
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from .budget import MAX_LEVELS, TOO_NESTED, Budget
from .errors import BudgetError, EvaluationError
from .numbers import is_number, whole
from .values import equal, kind, order, quoted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Path: TypeAlias = tuple[Any, ...]
Thing: TypeAlias = tuple[
    Path | None, Any
]  # a value and where it stands; None: outside of the input

_NULL_KEYS: Final = ("string", "number", "object")
MAX_INDEX = (1 << 29) - 1


def index(target: Any, key: Any, budget: Budget) -> Any:
    """`target[key]`. Raises EvaluationError if a value of that kind has no such keys."""
    if type(target) is dict and type(key) is str:
        budget.compared(len(key), len(key))
        return target.get(key)
    kinds = kind(target), kind(key)
    if kinds == ("array", "number"):
        return _item(target, key)
    if kinds in (("array", "object"), ("string", "object")):
        low, high = bounds(key, len(target))
        budget.spend(1)
        budget.members(max(0, high - low))
        return target[low:high]
    if kinds == ("array", "array"):
        return indices(target, key, budget)
    if target is None and kinds[1] in _NULL_KEYS:
        return None
    raise _unfit(target, key)


def _unfit(target: Any, key: Any) -> EvaluationError:
    return EvaluationError(f"Cannot index {kind(target)} with {kind(key)} ({quoted(key)})")


def _item(target: list[Any], key: Any) -> Any:
    if math.isnan(key):
        return None
    at = _place(key, len(target))
    return target[at] if 0 <= at < len(target) else None


def _place(key: Any, length: int) -> int:
    """The index that a number (not NaN) says in an array of so many members."""
    at = whole(math.floor(key) if abs(key) < MAX_INDEX else key)
    return at + length * (at < 0)


def bounds(key: Any, length: int) -> tuple[int, int]:
    """The first and the last index (excluded) of a slice `{start, end}` of so many members."""
    low, high = key.get("start"), key.get("end")
    if not all(edge is None or is_number(edge) for edge in (low, high)) or not key:
        raise EvaluationError("Array/string slice indices must be integers")
    first = _edge(low, length, 0, math.floor)
    last = _edge(high, length, length, math.ceil)
    return first, max(first, last)


def _edge(edge: Any, length: int, default: int, rounded: Any) -> int:
    if edge is None or math.isnan(edge):
        return default
    at = edge + length * (edge < 0)
    return int(rounded(max(0, min(length, at))))


def indices(target: list[Any], part: list[Any], budget: Budget) -> list[int]:
    """The positions at which `part` occurs in `target`."""
    if not part:
        return []
    budget.looped(len(target))
    size = len(part)
    found = []
    for at in range(len(target) - size + 1):
        if equal(target[at], part[0], budget):
            budget.spend(size)
            if all(equal(*pair, budget) for pair in zip(target[at : at + size], part, strict=True)):
                found.append(at)
    return found


def members(value: Any) -> Iterator[Any]:
    """The members of an array or object. Raises EvaluationError for any other value."""
    if type(value) is list:
        return iter(value)
    if type(value) is dict:
        return iter(value.values())
    raise not_iterable(value)


def member_list(value: Any) -> list[Any]:
    """The members of an array or object. Raises EvaluationError for any other value."""
    return value if type(value) is list else list(members(value))


def keyed(value: Any) -> Iterator[tuple[Any, Any]]:
    """The members of an array or object, with their keys."""
    if type(value) is list:
        return enumerate(value)
    if type(value) is dict:
        return iter(value.items())
    raise not_iterable(value)


def not_iterable(value: Any) -> EvaluationError:
    return EvaluationError(f"Cannot iterate over {kind(value)} ({quoted(value)})")


def getpath(value: Any, path: Sequence[Any], budget: Budget) -> Any:
    """The value at a path. Below null everything is null."""
    _shallow(path)
    budget.looped(len(path))
    for key in path:
        if value is None:
            return None
        value = index(value, key, budget)
    return value


def _shallow(path: Sequence[Any]) -> None:
    if len(path) > MAX_LEVELS:
        raise BudgetError(TOO_NESTED.format(MAX_LEVELS))


def setpath(value: Any, path: Sequence[Any], new: Any, budget: Budget) -> Any:
    """A copy of the value in which `new` stands at the path."""
    _shallow(path)
    budget.looped(len(path) * 4)
    levels = []
    for key in path:
        levels.append((value, key))
        value = None if value is None else index(value, key, budget)
    for target, key in reversed(levels):
        new = put(target, key, new, budget)
    return new


def put(target: Any, key: Any, new: Any, budget: Budget) -> Any:
    """A copy of the container in which `new` stands at the key. Null becomes what the key needs."""
    if type(key) is str and (target is None or type(target) is dict):
        budget.members(len(target or ()) + 1)
        budget.compared(len(key), len(key))
        return {**(target or {}), key: new}
    if is_number(key) and (target is None or type(target) is list):
        return _put_item(target or [], key, new, budget)
    if type(key) is dict and (target is None or type(target) is list):
        if type(new) is not list:
            raise EvaluationError("A slice of an array can only be assigned another array")
        low, high = bounds(key, len(target or ()))
        budget.members(len(target or ()) + len(new))
        return [*(target or [])[:low], *new, *(target or [])[high:]]
    if type(key) is dict and type(target) is str:
        raise EvaluationError("Cannot update string slices")
    raise EvaluationError(f"Cannot update field at {kind(key)} index of {kind(target)}")


def _put_item(target: list[Any], key: Any, new: Any, budget: Budget) -> list[Any]:
    if math.isnan(key):
        raise EvaluationError("Cannot set array element at NaN index")
    at = _place(key, len(target))
    if at < 0:
        raise EvaluationError("Out of bounds negative array index")
    if at > MAX_INDEX:
        raise EvaluationError("Array index too large")
    budget.members(max(len(target), at + 1))
    found = target + [None] * (at + 1 - len(target))
    found[at] = new
    return found


def delpaths(value: Any, paths: Any, budget: Budget) -> Any:
    """A copy of the value without the parts at the paths.

    Raises:
        EvaluationError: `paths` is not an array of arrays, or a path does not fit the value.
    """
    if type(paths) is not list:
        raise EvaluationError("Paths must be specified as an array")
    for path in paths:
        if type(path) is not list:
            raise EvaluationError(f"Path must be specified as array, not {kind(path)}")
        _shallow(path)
    budget.sorting(len(paths))
    keys = [order(path, budget, len(paths).bit_length()) for path in paths]
    ranked = [paths[at] for at in sorted(range(len(paths)), key=keys.__getitem__)]
    if ranked and not ranked[0]:
        return None
    return _without(value, ranked, 0, budget)


def _without(value: Any, paths: list[Any], level: int, budget: Budget) -> Any:
    ends: list[Any] = []
    for _, same in groupby(paths, key=lambda path: order(path[level], budget)):
        group = list(same)
        key = group[0][level]
        if len(group[0]) == level + 1:
            ends.append(key)
            continue
        below = None if value is None else index(value, key, budget)
        if below is not None:
            value = put(value, key, _without(below, group, level + 1, budget), budget)
    return _deleted(value, ends, budget) if ends else value


def _deleted(value: Any, keys: list[Any], budget: Budget) -> Any:
    if value is None:
        return None
    if type(value) is dict:
        for key in keys:
            if type(key) is not str:
                raise EvaluationError(f"Cannot delete {kind(key)} field of object")
        budget.members(len(value))
        budget.keyed(keys)
        gone = set(keys)
        return {key: member for key, member in value.items() if key not in gone}
    if type(value) is not list:
        raise EvaluationError(f"Cannot delete fields from {kind(value)}")
    budget.looped(len(value))
    dropped: set[int] = set()
    for key in keys:
        if type(key) is dict:
            dropped.update(range(*bounds(key, len(value))))
        elif not is_number(key):
            raise EvaluationError(f"Cannot delete {kind(key)} element of array")
        elif not math.isnan(key):
            dropped.add(_place(key, len(value)))
    return [member for at, member in enumerate(value) if at not in dropped]


# --- what stands at a path -----------------------------------------------------------------------


def index_thing(thing: Thing, key: Any, budget: Budget) -> Thing:
    """`.[key]` where paths are asked for."""
    path, value = thing
    if path is None:
        raise EvaluationError(
            f"Invalid path expression near attempt to access element {quoted(key)} of {quoted(value)}"
        )
    _shallow(path)
    return (*path, key), None if value is None else index(value, key, budget)


def thing_members(thing: Thing) -> Iterator[Thing]:
    """`.[]` where paths are asked for."""
    path, value = thing
    if path is None:
        raise EvaluationError(
            f"Invalid path expression near attempt to iterate through {quoted(value)}"
        )
    _shallow(path)
    return (((*path, key), member) for key, member in keyed(value))


def path_of(thing: Thing) -> Path:
    """The path of a thing. Raises EvaluationError if the thing is not a part of the input."""
    path, value = thing
    if path is None:
        raise EvaluationError(f"Invalid path expression with result {quoted(value)}")
    return path


def checked_path(path: Any) -> Sequence[Any]:
    if type(path) is not list:
        raise EvaluationError("Path must be specified as an array")
    return path


def has(budget: Budget, value: Any, key: Any) -> bool:
    if value is None:
        return False
    if type(value) is dict and type(key) is str:
        budget.compared(len(key), len(key))
        return key in value
    if type(value) is list and is_number(key):
        return bool(0 <= key < len(value))
    raise EvaluationError(f"Cannot check whether {kind(value)} has a {kind(key)} key")
