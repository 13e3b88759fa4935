"""The kinds of argument a combinator can take: how each is checked, written as JSON, and read back.

A kind's `take` returns the argument in the form in which it is kept, or raises ValueError with the form
that it must have. `build` puts the names of the combinator and of the argument in front.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from ..errors import ExpressionError, InvalidNameError
from ..expressions import (
    PREDICATE_REFERENCE,
    TEMPLATE_REFERENCE,
    Predicate,
    Selector,
    Template,
    parse_predicate,
)
from ..names import Name
from ..values import flaw

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ..values import JSON

REQUIRED: Any = object()


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of argument. Without `write` and `read` it is kept as the JSON it is.

    read: makes an argument of JSON whose shape nothing has checked; `take` checks the argument.
    parts: the compositions in an argument of this kind, each with where it stands, given the
        argument's name and value; None when there can be none.
    schema: the JSON Schema of what `read` and `take` accept. It may accept more: names, paths and rules
        between arguments are left to them.
    """

    take: Callable[[Any], Any]
    write: Callable[[Any], JSON] = lambda value: value
    read: Callable[[Any], Any] = lambda doc: doc
    parts: Callable[[str, Any], Iterable[tuple[str, Any]]] | None = None
    schema: dict[str, JSON] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of a combinator; its `default` is REQUIRED if the argument must be given."""

    kind: Kind
    default: Any = REQUIRED


def _json(value: Any) -> JSON:
    if why := flaw(value):
        raise ValueError(f"must be JSON, but {why}")
    return _plain(value)


def _plain(value: Any) -> JSON:
    """A copy that shares nothing with the value, with lists for tuples."""
    if isinstance(value, dict):
        return {key: _plain(member) for key, member in value.items()}
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value


def _name(value: Any) -> str:
    try:
        return str(Name.parse(value))
    except InvalidNameError as error:
        raise ValueError(f"is not an action name: {error}") from error


def _variables(value: Any) -> dict[str, JSON]:
    if not isinstance(value, dict) or not value:
        raise ValueError("must be a dict of variable names and initial values, with at least one")
    for name in value:
        _variable_name(name)
    return {name: _json(initial) for name, initial in value.items()}


def _variable_name(name: Any) -> str:
    if not isinstance(name, str) or not name.isidentifier():
        raise ValueError(f"has {name!r}, which is not a variable name: use letters, digits and '_'")
    return name


def _assignments(value: Any) -> dict[str, Template]:
    if not isinstance(value, dict) or not value:
        raise ValueError("must name at least one variable")
    return {_variable_name(name): _template(item) for name, item in value.items()}


def _template(value: Any) -> Template:
    try:
        return value if isinstance(value, Template) else Template.of(value)
    except ExpressionError as error:
        raise ValueError(f"is not a template: {error}") from error


def _predicate(value: Any) -> Predicate:
    if not isinstance(value, Predicate) or isinstance(value, Selector):
        raise ValueError(f"must be a predicate such as path('$.done').is_true(), not {value!r}")
    return value


def _whole(at_least: int) -> Kind:
    def take(value: Any) -> int:
        if type(value) is not int or value < at_least:
            raise ValueError(f"must be an int >= {at_least}, not {value!r}")
        return value

    return Kind(take, schema={"type": "integer", "minimum": at_least})


def _number(at_least: float, at_most: float, *, above: bool = False) -> Kind:
    def take(value: Any) -> float:
        low = f"> {at_least:g}" if above else f">= {at_least:g}"
        fits = type(value) in (int, float) and at_least <= value <= at_most
        if not fits or (above and value == at_least):
            high = "" if at_most == float("inf") else f" and <= {at_most:g}"
            raise ValueError(f"must be a number {low}{high}, not {value!r}")
        return float(value)

    highest: dict[str, JSON] = {} if at_most == float("inf") else {"maximum": at_most}
    lowest = "exclusiveMinimum" if above else "minimum"
    return Kind(take, schema={"type": "number", lowest: at_least, **highest})


def _names(value: Any) -> tuple[str, ...]:
    given = (value,) if isinstance(value, (str, type)) else value
    if not isinstance(given, (list, tuple, set)) or not all(map(_is_failure, given)):
        raise ValueError(
            "must be names of failures or classes of exceptions (subclasses of Exception), such as "
            f"['Timeout', ConnectionError], not {value!r}"
        )
    names = [each.__name__ if isinstance(each, type) else each for each in given]
    return tuple(sorted(names)) if isinstance(given, set) else tuple(names)


def _is_failure(value: Any) -> bool:
    if isinstance(value, type):
        return issubclass(value, Exception)
    return isinstance(value, str) and value != ""


def _field(value: Any) -> str:
    if not isinstance(value, str) or not value or value == "error":
        raise ValueError(f"must be the name of a field other than 'error', not {value!r}")
    return value


def _flag(value: Any) -> bool:
    if type(value) is not bool:
        raise ValueError(f"must be True or False, not {value!r}")
    return value


def _instant(value: Any) -> Template:
    if isinstance(value, datetime):
        value = value.isoformat()
    return _template(value)


def choice(*choices: str) -> Kind:
    """One of these words."""

    def take(value: Any) -> str:
        if value not in choices:
            raise ValueError(f"must be one of {', '.join(map(repr, choices))}, not {value!r}")
        return str(value)

    return Kind(take, schema={"enum": list(choices)})


def items_of(doc: Any) -> list[Any]:
    """The items of a list in JSON.

    Raises:
        ValueError: it is not a list.
    """
    if not isinstance(doc, list):
        raise ValueError(f"must be a list, not {doc!r:.100}")
    return doc


def optional(kind: Kind) -> Kind:
    """The same kind, with None allowed."""
    below = kind.parts
    return Kind(
        lambda value: None if value is None else kind.take(value),
        lambda value: None if value is None else kind.write(value),
        lambda doc: None if doc is None else kind.read(doc),
        below and (lambda name, value: () if value is None else below(name, value)),
        schema={"if": {"not": {"type": "null"}}, "then": kind.schema} if kind.schema else {},
    )


_TEXT: dict[str, JSON] = {"type": "string", "minLength": 1}
ERRORS = Kind(_names, list, schema={"anyOf": [_TEXT, {"type": "array", "items": _TEXT}]})
JSON_VALUE = Kind(_json)
NAME = Kind(_name, schema=_TEXT)
VARIABLES = Kind(_variables, schema={"type": "object", "minProperties": 1})
TEMPLATE = Kind(_template, Template.to_json, Template.from_json, schema=TEMPLATE_REFERENCE)
INSTANT = Kind(_instant, Template.to_json, Template.from_json, schema=TEMPLATE_REFERENCE)
ASSIGNMENTS = Kind(
    _assignments,
    lambda value: {name: template.to_json() for name, template in value.items()},
    lambda doc: {name: Template.from_json(item) for name, item in doc.items()},
    schema={"type": "object", "minProperties": 1, "additionalProperties": TEMPLATE_REFERENCE},
)
CONDITION = Kind(
    _predicate, lambda value: value.to_json(), parse_predicate, schema=PREDICATE_REFERENCE
)
COUNT = _whole(0)
POSITIVE = _whole(1)
SECONDS = _number(0, 366 * 24 * 3600, above=True)
DELAY = _number(0, 366 * 24 * 3600)
FACTOR = _number(1, float("inf"))
SHARE = _number(0, 1)
FIELD = Kind(_field, schema={**_TEXT, "not": {"const": "error"}})
FLAG = Kind(_flag, schema={"type": "boolean"})
