"""JSONata's operators, as far as the library differs from 2.0.6 or does not count its work."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from .bounds import FEW, Budget, QueryError
from .library import JList, Jsonata, Node, sequence
from .messages import fault, retold
from .numbers import divided, exact, is_number, plain, remainder
from .ordering import COMPARISONS, comparison, merged_by, order
from .texts import string
from .values import append, equal, flattened, listed, lookup, numeric, same, truth

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from .ordering import Ranked

MAX_RANGE: Final = 10_000_000


ARITHMETIC: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "+": lambda left, right: left + right,
    "-": lambda left, right: left - right,
    "*": lambda left, right: left * right,
    "/": divided,
    "%": remainder,
}


class Operators(Jsonata):  # type: ignore[misc]  # the library has no types
    """The operators; `Evaluator` adds functions and the bounds."""

    budget: Budget

    eval: Callable[[Node, Any, Any], Any]
    create_frame_from_tuple: Callable[[Any, Any], Any]

    def truth(self, value: Any) -> bool:
        return truth(value, self.budget)

    def evaluate_name(self, expr: Node, input: Any, _environment: Any) -> Any:
        return lookup(input, expr.value, self.budget)

    def evaluate_condition(self, expr: Node, input: Any, environment: Any) -> Any:
        if self.truth(self.eval(expr.condition, input, environment)):
            return self.eval(expr.then, input, environment)
        other = expr._else  # noqa: SLF001 - so the library's parser calls it
        return None if other is None else self.eval(other, input, environment)

    def evaluate_binary(self, expr: Node, input: Any, environment: Any) -> Any:
        sign = expr.value
        left = self.eval(expr.lhs, input, environment)
        if sign in ("and", "or"):
            known = self.truth(left)
            if known is (sign == "or"):
                return known
            try:
                return self.truth(self.eval(expr.rhs, input, environment))
            except QueryError as error:
                raise retold(error, sign) from None
        right = self.eval(expr.rhs, input, environment)
        if sign in ARITHMETIC:
            return _arithmetic(sign, left, right)
        if sign in COMPARISONS:
            return comparison(sign, left, right)
        return self._other(sign, left, right)

    def _other(self, sign: str, left: Any, right: Any) -> Any:
        defined = left is not None and right is not None
        if sign == "=":
            return defined and equal(left, right, self.budget)
        if sign == "!=":
            return defined and not equal(left, right, self.budget)
        if sign == "in":
            items = listed(right)
            self.budget.spend(len(items) // FEW)
            return defined and any(same(left, item) for item in items)
        if sign == "&":
            texts = [string(self, value) or "" for value in (left, right)]
            self.budget.characters(sum(map(len, texts)))
            return "".join(texts)
        return self._range(left, right)

    def _range(self, left: Any, right: Any) -> Any:
        for value, code in ((left, "T2003"), (right, "T2004")):
            if value is not None and not _is_whole(value):
                raise fault(code)
        if left is None or right is None or left > right:
            return None
        size = int(right) - int(left) + 1
        if size > MAX_RANGE:
            raise fault("D2014", size)
        self.budget.members(size)
        made = JList(range(int(left), int(right) + 1))
        made.sequence = True
        return made

    def evaluate_unary(self, expr: Node, input: Any, environment: Any) -> Any:
        if expr.value == "{":
            return self.evaluate_group_expression(expr, input, environment)
        if expr.value == "-":
            value = self.eval(expr.expression, input, environment)
            if value is not None and not numeric(value):
                raise fault("D1002", value)
            return None if value is None else -value
        made = JList()
        for item in expr.expressions:
            value = self.eval(item, input, environment)
            if value is not None and item.value == "[":
                made.append(value)
            elif value is not None:
                made.extend(listed(value))
        self.budget.members(len(made))
        made.cons = bool(expr.consarray)
        return made

    def evaluate_wildcard(self, _expr: Node, input: Any) -> Any:
        found = sequence()
        values: Iterable[Any] = input if isinstance(input, list) else ()
        for value in input.values() if isinstance(input, dict) else values:
            if isinstance(value, list):
                found = append(found, JList(flattened(value, self.budget)), self.budget)
            else:
                found.append(value)
        return found

    def evaluate_descendants(self, _expr: Node, input: Any) -> Any:
        found = sequence()
        if input is not None:
            self._descend(input, found)
        return found[0] if len(found) == 1 else found

    def _descend(self, value: Any, found: list[Any]) -> None:
        self.budget.spend(1)
        if not isinstance(value, list):
            found.append(value)
        if isinstance(value, list | dict):
            for member in value if isinstance(value, list) else value.values():
                self._descend(member, found)

    def evaluate_filter(self, predicate: Node, input: Any, environment: Any) -> Any:
        tuples = isinstance(input, JList) and input.tuple_stream
        items = listed(input)
        found = sequence()
        found.tuple_stream = tuples
        if predicate.type == "number":
            at = _place(predicate.value, len(items))
            item = items[at] if 0 <= at < len(items) else None
            if item is not None and not isinstance(item, list):
                found.append(item)
            return item if isinstance(item, list) else found
        for at, item in enumerate(items):
            focus = item["@"] if tuples else item
            inner = self.create_frame_from_tuple(environment, item) if tuples else environment
            answer = self.eval(predicate, focus, inner)
            found.extend([item] * self._chosen(answer, at, len(items)))
        return found

    def _chosen(self, answer: Any, at: int, count: int) -> int:
        """The number of times that a predicate's answer selects the item: a number is a place, a list places."""
        places = answer if isinstance(answer, list) else [answer]
        self.budget.spend(len(places) // FEW)
        if all(numeric(place) for place in places):
            return sum(_place(place, count) == at for place in places)
        return int(self.truth(answer))

    def evaluate_sort_expression(self, expr: Node, input: Any, environment: Any) -> Any:
        tuples = isinstance(input, JList) and input.tuple_stream
        if len(input) <= 1:
            return input

        def key(ranked: Ranked, term: Node) -> Any:
            item, keys = ranked
            if term not in keys:
                focus = item["@"] if tuples else item
                inner = self.create_frame_from_tuple(environment, item) if tuples else environment
                keys[term] = self.eval(term.expression, focus, inner)
            return keys[term]

        def after(left: Ranked, right: Ranked) -> bool:
            for term in expr.terms:
                found = order(key(left, term), key(right, term))
                if found:
                    return found in ((1, -1)[bool(term.descending)], 2)
            return False

        self.budget.compared(len(input), len(expr.terms))
        return [item for item, _ in merged_by([(item, {}) for item in input], after)]

    def evaluate_group_expression(self, expr: Node, input: Any, environment: Any) -> Any:
        tuples = isinstance(input, JList) and input.tuple_stream
        groups: dict[str, tuple[int, list[Any]]] = {}
        for item in listed(input) or [None]:
            focus = item["@"] if tuples else item
            inner = self.create_frame_from_tuple(environment, item) if tuples else environment
            for number, (name, _) in enumerate(expr.lhs_object):
                key = self.eval(name, focus, inner)
                if key is None:
                    continue
                if not isinstance(key, str):
                    raise fault("T1003", key)
                if groups.setdefault(key, (number, []))[0] != number:
                    raise fault("D1009", key)
                groups[key][1].append(item)
        made = {}
        for key, (number, items) in groups.items():
            focus, inner = _joined(items), environment
            if tuples:
                names = {name: _joined([item[name] for item in items]) for name in items[0]}
                focus = names.pop("@")
                inner = self.create_frame_from_tuple(environment, names)
            value = self.eval(expr.lhs_object[number][1], focus, inner)
            if value is not None:
                made[key] = value
        return made


def _joined(items: list[Any]) -> Any:
    """One item, or all in one list, where lists are taken apart; undefined ones do not count."""
    defined = [item for item in items if item is not None]
    if len(defined) <= 1:
        return defined[0] if defined else None
    return JList(part for item in defined for part in listed(item))


def _is_whole(value: Any) -> bool:
    return is_number(value) and math.isfinite(value) and value == int(value)


def _place(number: float, count: int) -> int:
    at = math.floor(number)
    return at + count if at < 0 else at


def _arithmetic(sign: str, left: Any, right: Any) -> Any:
    for value, code in ((left, "T2001"), (right, "T2002")):
        if value is not None and not numeric(value):
            raise fault(code, sign)
    if left is None or right is None:
        return None
    return exact(plain(ARITHMETIC[sign](left, right)))
