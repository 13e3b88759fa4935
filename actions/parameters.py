"""Default parameters and their order: package < binding < action < call.

A list of `{"key": ..., "value": ...}` in documents, a dict when merged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .errors import InvalidError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..composer import JSON


def merged(*layers: dict[str, JSON]) -> dict[str, JSON]:
    """Merges layers key by key; later layers win. The result may be one of the layers itself."""
    result: dict[str, JSON] = {}
    for layer in layers:
        if layer:
            result = {**result, **layer} if result else layer
    return result


def parsed(field: str, doc: JSON) -> dict[str, JSON]:
    """Turns a list of `{"key": ..., "value": ...}` into a dict; the last of equal keys counts.

    Raises:
        InvalidError: the list is malformed. The message names `field`.
    """
    if doc is None:
        return {}
    if not isinstance(doc, list):
        raise InvalidError(_malformed(field, "must be a list of {'key': ..., 'value': ...}"))
    result: dict[str, JSON] = {}
    for item in doc:
        key = item.get("key") if isinstance(item, dict) else None
        if not isinstance(item, dict) or not isinstance(key, str) or not key:
            raise InvalidError(_malformed(field, f"has {item!r:.100}, which has no 'key'"))
        result[key] = item.get("value")
    return result


def listed(values: Mapping[str, JSON]) -> list[JSON]:
    """Turns a dict into a list of `{"key": ..., "value": ...}`."""
    return [{"key": key, "value": value} for key, value in values.items()]


def _malformed(field: str, why: str) -> str:
    return f"The request content was malformed:\n'{field}' {why}"
