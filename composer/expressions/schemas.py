"""JSON Schemas of expressions in JSON: selectors, templates and predicates.

A document that holds these schemas has them in its `$defs`. Paths and names are left to the readers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .bounds import MAX_PATTERN
from .nodes import COMPARE
from .predicates import CHECKS, CONNECTIVES, TYPES

if TYPE_CHECKING:
    from ..values import JSON

TEMPLATE_REFERENCE: Final[dict[str, JSON]] = {"$ref": "#/$defs/template"}
PREDICATE_REFERENCE: Final[dict[str, JSON]] = {"$ref": "#/$defs/predicate"}
_SELECTOR_REFERENCE: Final[dict[str, JSON]] = {"$ref": "#/$defs/selector"}
_TEXT: Final[dict[str, JSON]] = {"type": "string"}

_SELECTOR: Final[dict[str, JSON]] = {
    "description": "A place in the data, or in a variable.",
    "type": "object",
    "properties": {"path": _TEXT, "var": {"type": ["string", "null"]}, "default": True},
    "required": ["path"],
    "additionalProperties": False,
}
_PLACE: Final[dict[str, JSON]] = {
    "properties": {"$path": _TEXT, "$var": {"type": ["string", "null"]}, "$default": True},
    "required": ["$path"],
    "additionalProperties": False,
}
_ESCAPED: Final[dict[str, JSON]] = {
    "properties": {"$literal": {"type": "object", "additionalProperties": TEMPLATE_REFERENCE}},
    "additionalProperties": False,
}
_TEMPLATE: Final[dict[str, JSON]] = {
    "description": 'JSON with places in it: {"$path": "$.field"}, or with "$var" and "$default".',
    "if": {
        "type": "object",
        "anyOf": [{"required": [name]} for name in ("$path", "$var", "$default", "$literal")],
    },
    "then": {"if": {"required": ["$literal"]}, "then": _ESCAPED, "else": _PLACE},
    "else": {"items": TEMPLATE_REFERENCE, "additionalProperties": TEMPLATE_REFERENCE},
}


def _case(operators: list[str], **members: JSON) -> JSON:
    """The members of a predicate with one of these operators; all are needed."""
    required: list[JSON] = list(members)
    return {
        "if": {"properties": {"op": {"enum": list(operators)}}, "required": ["op"]},
        "then": {"properties": members, "required": required},
    }


_OPERAND: Final[JSON] = {
    "type": "object",
    "if": {"required": ["value"]},
    "then": True,
    "else": _SELECTOR_REFERENCE,
}
_PREDICATE: Final[dict[str, JSON]] = {
    "description": "A condition that the conductor evaluates itself.",
    "type": "object",
    "properties": {"op": {"enum": [*COMPARE, *CHECKS, *CONNECTIVES, "is", "matches", "not"]}},
    "required": ["op"],
    "allOf": [
        _case(list(COMPARE), left=_SELECTOR_REFERENCE, right=_OPERAND),
        _case(list(CHECKS), of=_SELECTOR_REFERENCE),
        _case(["is"], of=_SELECTOR_REFERENCE, type={"enum": list(TYPES)}),
        _case(["matches"], of=_SELECTOR_REFERENCE, pattern={**_TEXT, "maxLength": MAX_PATTERN}),
        _case(list(CONNECTIVES), of={"type": "array", "items": PREDICATE_REFERENCE}),
        _case(["not"], of=PREDICATE_REFERENCE),
    ],
}
EXPRESSION_SCHEMAS: Final[dict[str, JSON]] = {
    "selector": _SELECTOR,
    "template": _TEMPLATE,
    "predicate": _PREDICATE,
}
"""The schemas by the names that references to them have."""
