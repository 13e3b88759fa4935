"""Paths, predicates and templates of compositions as JSONata.

JSONata maps a path over the members of a list on its way, and treats any other value as a list of one;
RFC 9535 finds nothing there. In all else the expressions have the composition's meaning: nothing is
coerced, an order between unlike types does not hold, and a missing value equals only a missing value.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from ....expressions import Selector
from ....values import boxed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from ....expressions import Predicate, Template
    from ....values import JSON

    Variables = Callable[[str], str]

PredicateDoc: TypeAlias = "Mapping[str, Any]"
"""A predicate or an operand of one, as `Predicate.to_json` writes it."""

TemplateDoc: TypeAlias = Any
"""A template, as `Template.to_json` writes it: JSON with objects that have a `$path` or a `$literal`."""

INPUT: Final = "$states.input"
LIST_PATH: Final = "a path that may select several places has no counterpart: JSONata flattens lists where JSONPath does not"
_WORDS: Final = frozenset({"and", "or", "in", "true", "false", "null", "function"})
_PLAIN: Final = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_PIECES: Final = re.compile(r"(\\.|\*)", re.DOTALL)
_SPECIAL: Final = re.compile(r"[\^$.|?*+()\[\]{}\\/]")


class InexpressibleError(ValueError):
    """An expression without a counterpart in JSONata; the text gives the reason."""


def dynamic(expression: str) -> str:
    """An expression as it is written in a definition."""
    return f"{{% {expression} %}}"


def constant(value: JSON) -> str:
    """A JSON value as an expression: JSON is JSONata."""
    return json.dumps(value, ensure_ascii=False)


# --- places --------------------------------------------------------------------------------------


def selected(selector: Selector, variables: Variables) -> str:
    """The place of a selector, or its default.

    Raises:
        InexpressibleError: for a path that may select several places.
    """
    place = place_of(selector, variables)
    if (default := _default(selector)) is None:
        return place
    return f"($exists({place}) ? {place} : {constant(default[0])})"


def place_of(selector: Selector, variables: Variables) -> str:
    """The place itself, which may be missing."""
    root = INPUT if selector.variable is None else f"${variables(selector.variable)}"
    if selector.path.steps is None:
        raise InexpressibleError(f"{selector!r}: {LIST_PATH}")
    text = root
    for step in selector.path.steps:
        if isinstance(step, int):
            text = f"{text}[{step}]"
        elif "`" in step:
            text = f"$lookup({text}, {constant(step)})"
        else:
            text = f"{text}.{_name(step)}"
    return text


def _name(step: str) -> str:
    plain = _PLAIN.fullmatch(step) and step not in _WORDS
    return step if plain else f"`{step}`"


def _default(selector: Selector) -> tuple[JSON] | None:
    doc = selector.to_json()
    return (doc["default"],) if "default" in doc else None


# --- predicates ----------------------------------------------------------------------------------


def condition(predicate: Predicate, variables: Variables) -> str:
    """An expression that is true if the predicate holds, and else false.

    Raises:
        InexpressibleError: for a path that may select several places.
    """
    return _condition(predicate.to_json(), variables)


def _condition(doc: PredicateDoc, variables: Variables) -> str:
    match doc["op"]:
        case "and" | "or" as op:
            parts = [_condition(part, variables) for part in doc["of"]]
            return f"({f' {op} '.join(parts)})" if parts else constant(op == "and")
        case "not":
            return f"$not({_condition(doc['of'], variables)})"
        case "exists":
            return f"$exists({selected(Selector.from_json(doc['of']), variables)})"
        case "true":
            return true(selected(Selector.from_json(doc["of"]), variables))
        case "is":
            return f'$type({selected(Selector.from_json(doc["of"]), variables)}) = "{doc["type"]}"'
        case "matches":
            return _matches(selected(Selector.from_json(doc["of"]), variables), doc["pattern"])
        case op:
            left = selected(Selector.from_json(doc["left"]), variables)
            return _compared(op, left, doc["right"], variables)


def true(place: str) -> str:
    """An expression that is true if the value at a place is true in JavaScript; an empty list is."""
    return f'($exists({place}) and $not({place} in [null, false, 0, ""]))'


def _matches(place: str, pattern: str) -> str:
    pieces = _PIECES.split(pattern)
    regex = "".join(r"[\s\S]*" if piece == "*" else _spelled(piece) for piece in pieces)
    return f'($type({place}) = "string" and $contains({place}, /^{regex}$/))'


def _spelled(piece: str) -> str:
    text = piece.removeprefix("\\")
    return _SPECIAL.sub(r"\\\g<0>", text).replace("\n", r"\n").replace("\r", r"\r")


def _compared(op: str, left: str, operand: dict[str, Any], variables: Variables) -> str:
    if "value" in operand:
        return _compared_to_value(op, left, operand["value"])
    right = selected(Selector.from_json(operand), variables)
    equal = f"({left} = {right} or $not($exists({left}) or $exists({right})))"
    alike = f'$type({left}) in ["number", "string"] and $type({left}) = $type({right})'
    return _related(op, equal, lambda sign: f"({alike} and {left} {sign} {right})")


def _compared_to_value(op: str, left: str, value: JSON) -> str:
    right, kind = constant(value), _kind(value)

    def ordered(sign: str) -> str:
        return f'($type({left}) = "{kind}" and {left} {sign} {right})' if kind else "false"

    return _related(op, f"{left} = {right}", ordered)


def _related(op: str, equal: str, ordered: Callable[[str], str]) -> str:
    match op:
        case "eq":
            return equal
        case "ne":
            return f"$not({equal})"
        case "lt" | "gt":
            return ordered("<" if op == "lt" else ">")
        case _:  # le, ge
            return f"({ordered('<' if op == 'le' else '>')} or {equal})"


def _kind(value: JSON) -> str | None:
    if isinstance(value, str):
        return "string"
    return "number" if isinstance(value, (int, float)) and not isinstance(value, bool) else None


# --- templates -----------------------------------------------------------------------------------


def filled(template: Template, variables: Variables) -> JSON:
    """The value of a field, for a template.

    Raises:
        InexpressibleError: for a path that may select several places.
    """
    return _filled(template.to_json(), variables)


def boxing(template: Template, variables: Variables) -> JSON:
    """Like `filled`, but always an object: any other value is in its field `value`."""
    place = template.selector
    if place is None:
        return boxed(filled(template, variables))
    text = selected(place, variables)
    if text == INPUT:
        return dynamic(text)
    made = boxed_expression(text)
    return dynamic(f"$exists({text}) ? ({made})" if _default(place) is None else made)


def boxed_expression(text: str) -> str:
    return f'$type({text}) = "object" ? {text} : {{"value": {text}}}'


def needed(template: Template, variables: Variables) -> Iterator[tuple[str, Selector]]:
    """The places that must exist when the template is filled, with their selectors."""
    for doc in _places(template.to_json()):
        selector = _selector(doc)
        if _default(selector) is None:
            place = place_of(selector, variables)
            if selector.path.text != "$":
                yield place, selector


def fixed(value: JSON) -> JSON:
    """A constant as the value of a field: a text that looks like an expression becomes an expression."""
    if isinstance(value, dict):
        return {key: fixed(member) for key, member in value.items()}
    if isinstance(value, list):
        return [fixed(member) for member in value]
    return dynamic(constant(value)) if isinstance(value, str) and value[:2] == "{%" else value


def _filled(doc: TemplateDoc, variables: Variables) -> JSON:
    if isinstance(doc, dict):
        if "$literal" in doc:
            return {key: _filled(member, variables) for key, member in doc["$literal"].items()}
        if "$path" in doc:
            return dynamic(selected(_selector(doc), variables))
        return {key: _filled(member, variables) for key, member in doc.items()}
    if isinstance(doc, list):
        return [_filled(item, variables) for item in doc]
    return fixed(doc)


def _places(doc: TemplateDoc) -> Iterator[dict[str, JSON]]:
    if isinstance(doc, list):
        for item in doc:
            yield from _places(item)
    elif isinstance(doc, dict):
        if "$path" in doc:
            yield doc
            return
        for member in doc.get("$literal", doc).values():
            yield from _places(member)


def _selector(doc: dict[str, JSON]) -> Selector:
    return Selector.from_json({key[1:]: value for key, value in doc.items()})
