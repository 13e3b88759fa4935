"""The JSON Schema of compositions, made of the rows: an editor checks a file with it while you type.

The schema has the shape of every combinator: its arguments, their types and limits. `parse` is stricter:
it also checks names, paths, and the arguments of a combinator together.
"""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING, Final

from ..expressions import EXPRESSION_SCHEMAS
from . import combinators
from .arguments import REQUIRED
from .composition import ROWS
from .grammar import LABELS

if TYPE_CHECKING:
    from ..values import JSON
    from .composition import Row

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
ID: Final = "urn:xingqiao:schema:composition"
_FAMILIES = tuple(getattr(combinators, name) for name in combinators.__all__)
_ENTRY = re.compile(r"^ {4}(\w+): (.*(?:\n {5,}.*)*)", flags=re.MULTILINE)


def composition_schema() -> dict[str, JSON]:
    """The JSON Schema (draft 2020-12) of a composition's JSON."""
    rows = [ROWS[type] for type in sorted(ROWS)]
    types: list[JSON] = [row.type for row in rows]
    return {
        "$schema": DIALECT,
        "$id": ID,
        "title": "Xingqiao composition",
        "$ref": "#/$defs/composition",
        "$defs": {
            "composition": {
                "type": "object",
                "properties": {"type": {"description": "The combinator.", "enum": types}},
                "required": ["type"],
                "allOf": [_case(row) for row in rows],
            },
            "part": {
                "description": "A composition, or null for no part.",
                "if": {"not": {"type": "null"}},
                "then": {"$ref": "#/$defs/composition"},
            },
            **EXPRESSION_SCHEMAS,
        },
    }


def _case(row: Row) -> JSON:
    """The schema of a node of this combinator, for nodes of its type."""
    text, about = _documented(row)
    arguments: dict[str, JSON] = {
        name: {"description": about[name], **argument.kind.schema}
        if name in about
        else {**argument.kind.schema}
        for name, argument in row.arguments.items()
    }
    required: list[JSON] = [
        name for name, argument in row.arguments.items() if argument.default is REQUIRED
    ]
    return {
        "if": {"properties": {"type": {"const": row.type}}, "required": ["type"]},
        "then": {
            **({"description": text} if text else {}),
            "properties": {**dict.fromkeys(LABELS, True), **arguments},
            "required": required,
            "additionalProperties": False,
        },
    }


def _documented(row: Row) -> tuple[str, dict[str, str]]:
    """The texts of a combinator and of its arguments, from the docstring of its constructor."""
    constructor = next(filter(None, (getattr(each, row.name, None) for each in _FAMILIES)), None)
    text, _, arguments = (inspect.getdoc(constructor) or "").partition("\n\nArgs:\n")
    found = _ENTRY.findall(re.split(r"\n\n", arguments)[0])
    return text.partition("\n\n")[0], {name: " ".join(about.split()) for name, about in found}
