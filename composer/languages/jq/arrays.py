"""Functions of arrays and objects."""

from __future__ import annotations

from itertools import groupby, zip_longest
from typing import Any, Final

from .budget import LOOPED, MAX_LEVELS, Budget
from .errors import EvaluationError
from .numbers import is_number
from .operators import add
from .paths import checked_path, delpaths, has, index, indices, member_list, not_iterable, setpath
from .texts import positions
from .values import both_wrong, concatenated, equal, kind, less, order, quoted, truthy, wrong


def keys(budget: Budget, value: Any, ordered: bool) -> list[Any]:
    if isinstance(value, dict):
        budget.members(len(value))
        if ordered:
            budget.sorting(len(value))
            budget.keyed(value)
        return sorted(value) if ordered else list(value)
    if isinstance(value, list):
        budget.members(len(value))
        return list(range(len(value)))
    raise wrong(value, "has no keys")


def length(_: Budget, value: Any) -> Any:
    if isinstance(value, bool):
        raise wrong(value, "has no length")
    if value is None:
        return 0
    return abs(value) if is_number(value) else len(value)


def total(budget: Budget, value: Any) -> Any:
    """`add`: the sum of the members, counted before it is made."""
    members = member_list(value)
    budget.looped(len(members))
    kinds = set(map(type, members))
    if kinds == {str}:
        return concatenated(members, budget)
    if kinds == {list}:
        budget.members(sum(map(len, members)))
        return [part for member in members for part in member]
    found = None
    for member in members:
        found = add(found, member, budget)
    return found


def flatten(budget: Budget, value: Any, depth: Any = MAX_LEVELS + 1) -> list[Any]:
    if not is_number(depth):
        depth = MAX_LEVELS + 1
    if depth < 0:
        raise EvaluationError("flatten depth must not be negative")
    members = member_list(value)
    budget.looped(len(members))
    while depth > 0 and any(isinstance(member, list) for member in members):
        flat: list[Any] = []
        budget.spend(1 + len(members) // LOOPED)
        for member in members:
            if isinstance(member, list):
                budget.members(len(flat) + len(member))
                flat.extend(member)
            else:
                flat.append(member)
        members, depth = flat, depth - 1
    return list(members)


def reverse(budget: Budget, value: Any) -> Any:
    if value is None:
        return []
    if isinstance(value, (str, list)):
        budget.members(len(value))
        return list(value[::-1]) if isinstance(value, list) else value[::-1]
    if isinstance(value, dict) and not value:
        return []
    return index(value, 0 if not isinstance(value, dict) else len(value) - 1, budget)


def to_entries(budget: Budget, value: Any) -> list[Any]:
    found = keys(budget, value, ordered=False)
    budget.looped(len(found))
    return [{"key": key, "value": value[key]} for key in found]


def from_entries(budget: Budget, value: Any) -> dict[str, Any]:
    entries = member_list(value)
    budget.spend(2 * len(entries))
    made = {}
    for entry in entries:
        key: Any = None
        for name in ("key", "Key", "name", "Name", "k", "K"):
            key = index(entry, name, budget)
            if truthy(key):
                break
        if key is None or isinstance(key, (list, dict)):
            raise EvaluationError(f"Cannot use {kind(key)} ({quoted(key)}) as object key")
        if not isinstance(key, str):
            key = quoted(key)
        names = ("value", "Value", "v", "V")
        budget.compared(len(key), len(key))
        made[key] = next((entry[name] for name in names if entry and name in entry), None)
    return made


def _array(value: Any, other: Any = None) -> list[Any]:
    if not isinstance(value, list):
        if other is None:
            raise wrong(value, "cannot be sorted, as it is not an array")
        raise both_wrong(value, other, "cannot be sorted, as they are not both arrays")
    return value


def _ranked(budget: Budget, value: Any, by: list[Any] | None) -> list[tuple[Any, Any]]:
    """The members with their sorting keys, sorted."""
    members = _array(value, by)
    budget.spend(1)
    rounds = len(members).bit_length() + 1  # each member is compared about so often
    ranks = [order(key, budget, rounds) for key in (members if by is None else by)]
    budget.looped(len(members))
    budget.sorting(len(members))
    places = sorted(range(len(members)), key=ranks.__getitem__)
    return [(ranks[place], members[place]) for place in places]


def ordered(budget: Budget, value: Any, by: Any = None) -> list[Any]:
    return [member for _, member in _ranked(budget, value, by)]


def grouped(budget: Budget, value: Any, by: Any) -> list[list[Any]]:
    ranked = _ranked(budget, value, by)
    return [[pair[1] for pair in group] for _, group in groupby(ranked, key=lambda pair: pair[0])]


def unique(budget: Budget, value: Any, by: Any = None) -> list[Any]:
    ranked = _ranked(budget, value, by)
    return [next(group)[1] for _, group in groupby(ranked, key=lambda pair: pair[0])]


def extreme(budget: Budget, value: Any, by: Any, largest: bool) -> Any:
    if not isinstance(value, list):
        raise both_wrong(value, value if by is None else by, "cannot be iterated over")
    budget.looped(len(value))
    ranks = [order(key, budget) for key in (value if by is None else by)]
    places = range(len(value))
    if not value:
        return None
    if largest:
        return value[max(reversed(places), key=ranks.__getitem__)]
    return value[min(places, key=ranks.__getitem__)]


def bsearch(budget: Budget, value: Any, wanted: Any) -> int:
    if not isinstance(value, list):
        raise wrong(value, "cannot be searched from")
    low, high = 0, len(value)
    while low < high:
        budget.spend(1)
        middle = (low + high) // 2
        if equal(value[middle], wanted, budget):
            return middle
        if less(value[middle], wanted, budget):
            low = middle + 1
        else:
            high = middle
    return -1 - low


def contains(budget: Budget, value: Any, part: Any) -> bool:
    budget.walked(value)
    budget.walked(part)
    if kind(value) != kind(part):
        raise both_wrong(value, part, "cannot have their containment checked")
    return _contains(value, part, budget)


def _contains(value: Any, part: Any, budget: Budget) -> bool:
    budget.spend(2)
    if isinstance(value, dict) and isinstance(part, dict):
        return all(key in value and _contains(value[key], part[key], budget) for key in part)
    if isinstance(value, list) and isinstance(part, list):
        return all(any(_contains(member, wanted, budget) for member in value) for wanted in part)
    if isinstance(value, str) and isinstance(part, str):
        budget.searched(len(value), len(part))
        return part in value
    return equal(value, part, budget)


def found_at(budget: Budget, value: Any, part: Any) -> Any:
    if value is None:
        return None
    if isinstance(value, str) and isinstance(part, str):
        return positions(budget, value, part)
    if isinstance(value, list):
        return indices(value, part if isinstance(part, list) else [part], budget)
    return index(value, part, budget)


def _edge(budget: Budget, value: Any, part: Any, place: int) -> Any:
    found = found_at(budget, value, part)  # of an object it is a member, of any kind
    if place:
        found = index(found, {"start": place, "end": None}, budget)
    return index(found, 0, budget)


def transpose(budget: Budget, rows: Any) -> list[Any]:
    if not isinstance(rows, list):
        raise not_iterable(rows)
    budget.looped(len(rows))
    for row in rows:
        if not isinstance(row, list):
            raise EvaluationError(f"Cannot index {kind(row)} with number (0)")
    widest = max(map(len, rows), default=0)
    budget.members(widest * len(rows))
    budget.looped(widest)
    return [list(column) for column in zip_longest(*rows)]


def stream(budget: Budget, value: Any) -> list[Any]:
    """The events of `tostream`."""
    budget.walked(value)
    events: list[Any] = []
    _events(value, [], events, budget)
    return events


def _events(value: Any, path: list[Any], events: list[Any], budget: Budget) -> None:
    budget.looped(len(path) + 4)
    if not isinstance(value, (list, dict)) or not value:
        events.append([path, value])
        return
    pairs = list(value.items() if isinstance(value, dict) else enumerate(value))
    for key, member in pairs:
        _events(member, [*path, key], events, budget)
    events.append([[*path, pairs[-1][0]]])


FUNCTIONS: Final[dict[tuple[str, int], Any]] = {
    ("keys", 0): lambda budget, value: keys(budget, value, ordered=True),
    ("keys_unsorted", 0): lambda budget, value: keys(budget, value, ordered=False),
    ("length", 0): length, ("add", 0): total, ("flatten", 0): flatten, ("flatten", 1): flatten,
    ("reverse", 0): reverse, ("to_entries", 0): to_entries, ("from_entries", 0): from_entries,
    ("sort", 0): ordered, ("_sort_by", 1): ordered, ("_group_by", 1): grouped, ("unique", 0): unique,
    ("_unique_by", 1): unique,
    ("min", 0): lambda budget, value: extreme(budget, value, None, largest=False),
    ("max", 0): lambda budget, value: extreme(budget, value, None, largest=True),
    ("_min_by", 1): lambda budget, value, by: extreme(budget, value, by, largest=False),
    ("_max_by", 1): lambda budget, value, by: extreme(budget, value, by, largest=True),
    ("bsearch", 1): bsearch, ("contains", 1): contains, ("indices", 1): found_at,
    ("index", 1): lambda budget, value, part: _edge(budget, value, part, 0),
    ("rindex", 1): lambda budget, value, part: _edge(budget, value, part, -1),
    ("transpose", 0): transpose, ("_stream", 0): stream, ("has", 1): has,
    ("setpath", 2): lambda budget, value, path, new: setpath(value, checked_path(path), new, budget),
    ("delpaths", 1): lambda budget, value, paths: delpaths(value, paths, budget),
}  # fmt: skip
