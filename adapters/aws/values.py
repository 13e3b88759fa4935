"""Converts the values of state machines to the parameters of AWS' services, and responses back.

Names of members begin with a capital letter in a state machine, regardless of the API. JSON text may be given as its
value; bytes are text, in base64 if they are not UTF-8; instants are in ISO 8601.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from datetime import UTC, datetime
from io import BytesIO
from typing import TYPE_CHECKING, Any, TypeAlias
from uuid import UUID

from .models import as_java, cased

if TYPE_CHECKING:
    from ...composer import JSON

Naming: TypeAlias = Callable[[str], str]


def given(shape: Any, value: dict[str, JSON], key: str) -> dict[str, Any]:
    """Parameters as botocore takes them; a member that makes a repetition harmless is derived from `key`."""
    if shape is None:
        return {}
    params: dict[str, Any] = _given(shape, value)
    for name, member in shape.members.items():
        if member.metadata.get("idempotencyToken"):
            params.setdefault(name, str(UUID(key)))
    return params


def _given(shape: Any, value: JSON) -> Any:
    kind = shape.type_name
    if getattr(shape, "is_document_type", False):
        return value
    if kind == "blob" and shape.serialization.get(
        "streaming"
    ):  # S3's bodies, as AWS writes them (recorded)
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    if kind in ("string", "blob") and isinstance(value, (dict, list)):
        value = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if kind == "blob" and isinstance(value, str):
        return value.encode()
    if kind == "structure" and isinstance(value, dict):
        names = _spellings(shape)
        return {
            names.get(name, name): _given(shape.members[names[name]], member)
            if name in names
            else member
            for name, member in value.items()
        }
    if kind == "list" and isinstance(value, list):
        return [_given(shape.member, item) for item in value]
    if kind == "map" and isinstance(value, dict):
        return {name: _given(shape.value, item) for name, item in value.items()}
    return value


def _spellings(shape: Any) -> dict[str, str]:
    """The allowed names of a member, and its name in the model."""
    return {
        spelling: name
        for name in shape.members
        for spelling in (name, cased(name), as_java(cased(name)))
    }


def answered(shape: Any, value: Any, named: Naming) -> JSON:
    """Botocore's response in the form of state machines."""
    if isinstance(value, BytesIO):
        return _text(value.getvalue())
    if isinstance(value, bytes):
        return _text(value)
    if isinstance(value, datetime):
        exact = "milliseconds" if value.microsecond else "seconds"
        return value.astimezone(UTC).isoformat(timespec=exact).replace("+00:00", "Z")
    if getattr(shape, "is_document_type", False):
        known: JSON = value
        return known
    if shape.type_name == "structure":
        members = shape.members
        return {
            named(cased(name)): answered(members[name], member, named)
            for name, member in value.items()
            if name in members
        }
    if shape.type_name == "list":
        return [answered(shape.member, item, named) for item in value]
    if shape.type_name == "map":
        return {name: answered(shape.value, item, named) for name, item in value.items()}
    scalar: JSON = value
    return scalar


def _text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return base64.b64encode(value).decode()
