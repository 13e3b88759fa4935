"""Writes a document as YAML that people can read and edit. Only what our templates need."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...composer import JSON

# What every reader of YAML takes for a string as it stands.
_PLAIN = re.compile(r"[A-Za-z/][A-Za-z0-9_./-]*( [A-Za-z0-9_./()-]+)*")
_NOT_STRINGS = {"true", "false", "null", "yes", "no", "on", "off", "y", "n"}


def to_yaml(document: JSON) -> str:
    """The document in block style; strings are quoted when they could mean something else."""
    return "\n".join(_lines(document)) + "\n"


def _lines(value: JSON) -> list[str]:
    if isinstance(value, dict) and value:
        return [
            line for key, member in value.items() for line in _entry(f"{_scalar(key)}:", member)
        ]
    if isinstance(value, list) and value:
        return [line for member in value for line in _item(member)]
    return [_scalar(value)]


def _entry(key: str, value: JSON) -> list[str]:
    if isinstance(value, (dict, list)) and value:
        return [key, *(f"  {line}" for line in _lines(value))]
    return [f"{key} {_scalar(value)}"]


def _item(value: JSON) -> list[str]:
    first, *rest = _lines(value)
    return [f"- {first}", *(f"  {line}" for line in rest)]


def _scalar(value: JSON) -> str:
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value.lower() not in _NOT_STRINGS:
        return value
    return json.dumps(value, ensure_ascii=False)
