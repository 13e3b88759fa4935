"""`{% %}` strings in the fields of states: their expressions, their values, and AWS' errors.

A string is an expression when it begins with `{%` at column 0 and ends with `%}`; any other is a
literal. A field is named as AWS names it in causes: `Output`, `Assign/result`,
`Arguments/Payload/items[2]`, `Choices[0]/Condition`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from ....errors import OverlongError
from ..state_errors import QUERY_EVALUATION_ERROR, StatesError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...jsonata import Bindings

OPEN, CLOSE = "{%", "%}"
MAX_CAUSE: Final = 32_768  # characters that the API gives a cause

# The types of the values of fields' expressions. `array` for Items was recorded on AWS; the others
# are the types of the specification, in the same words.
EXPECTED: Final = {
    "Cause": "string",
    "Condition": "boolean",
    "Error": "string",
    "HeartbeatSeconds": "number",
    "Items": "array",
    "MaxConcurrency": "number",
    "MaxInputBytesPerBatch": "number",
    "MaxItems": "number",
    "MaxItemsPerBatch": "number",
    "Seconds": "number",
    "TimeoutSeconds": "number",
    "Timestamp": "string",
    "ToleratedFailureCount": "number",
    "ToleratedFailurePercentage": "number",
}

CONTAINERS: Final = ("Choices", "ItemBatcher", "ItemReader")  # fields that contain others


class EvaluationError(StatesError):
    """An expression failed; `location` is the field of the expression, as the event EvaluationFailed has it."""

    def __init__(self, location: str, expression: str, what: str) -> None:
        cause = f"The JSONata expression '{expression}' specified for the field '{location}' {what}"
        super().__init__(QUERY_EVALUATION_ERROR, cause[:MAX_CAUSE], location)


def engine() -> Any:
    """The evaluator of JSONata. It takes a moment to load, and few processes need it."""
    from ... import jsonata  # noqa: PLC0415

    return jsonata


def expression_in(text: str) -> str | None:
    """The expression that a string holds; None for a literal."""
    if len(text) >= len(OPEN + CLOSE) and text.startswith(OPEN) and text.endswith(CLOSE):
        return text[len(OPEN) : -len(CLOSE)].strip()
    return None


def expressions(value: Any, field: str) -> Iterator[tuple[str, str]]:
    """All expressions in a field's value, each with the path of its field, for the checks at deployment."""
    if isinstance(value, str):
        text = expression_in(value)
        if text is not None:
            yield field, text
    for path, member in _members(value, field):
        yield from expressions(member, path)


def flaws(value: Any, field: str) -> Iterator[tuple[str, str, str]]:
    """The errors of a field at creation: code, path of the field and text, for each of its expressions.

    Codes and texts as peers measured them on AWS, for syntax errors and for references to a context.
    """
    for path, text in expressions(value, field):
        try:
            names = engine().top_level_references(engine().Expression.compile(text))
        except engine().QueryError as error:
            yield "INVALID_JSONATA_EXPRESSION", path, error.text
            continue
        for name in names:
            what = f"Reference to '{name}' at the top level is not supported."
            yield "UNSUPPORTED_JSONATA_EXPRESSION", path, what


def members_of(text: str) -> frozenset[str]:
    """The members of `$states` that an expression names, as far as its text shows them."""
    members: frozenset[str] | None = engine().Expression.compile(text.strip()).members
    return members or frozenset()


def evaluate_field(value: Any, field: str, bindings: Bindings) -> Any:
    """A field's value with every expression in it evaluated; a value without expressions is returned itself.

    The value of a field that is one expression must be of the type that EXPECTED has for it.

    Raises:
        EvaluationError: an expression fails, is undefined, or has a value of another type.
        OverlongError: an expression takes more steps than it may take at once.
    """
    if isinstance(value, str):
        text = expression_in(value)
        return value if text is None else _evaluated(text, field, bindings)
    made = [
        (path, member, evaluate_field(member, path, bindings))
        for path, member in _members(value, field)
    ]
    if all(new is old for _, old, new in made):
        return value
    values = [new for _, _, new in made]
    return dict(zip(value, values, strict=True)) if isinstance(value, dict) else values


def _members(value: Any, field: str) -> list[tuple[str, Any]]:
    if isinstance(value, dict):
        return [(f"{field}/{key}", member) for key, member in value.items()]
    if isinstance(value, list):
        return [(f"{field}[{at}]", member) for at, member in enumerate(value)]
    return []


def _evaluated(text: str, field: str, bindings: Bindings) -> Any:
    try:
        value = engine().evaluate(engine().Expression.compile(text), bindings)
    except engine().OverlongError:
        raise OverlongError from None
    except engine().QueryError as error:
        what = f". {error}" if error.code else f": {error}"
        raise EvaluationError(field, text, f"threw an error during evaluation{what}") from None
    if value is engine().MISSING:
        raise EvaluationError(field, text, "returned nothing (undefined).")
    expected = EXPECTED.get(_own_name(field))
    kind = _kind(value)
    if expected not in (None, kind):
        what = f"Expected '{expected}', but was '{kind}' for value: {_shown(value)}"
        raise EvaluationError(field, text, f"returned an unexpected result type. {what}")
    return value


def _own_name(field: str) -> str:
    """The name of a field of the States Language; members of payloads have none."""
    head, _, tail = field.partition("/")
    container = head.partition("[")[0]
    return tail.removeprefix("ReaderConfig/") if container in CONTAINERS else field


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    for kind, name in ((bool, "boolean"), (str, "string"), (list, "array"), (dict, "object")):
        if isinstance(value, kind):
            return name
    return "number"


def _shown(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
