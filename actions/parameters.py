"""Default parameters and their order: package < binding < action < call.

A list of `{"key": ..., "value": ...}` in documents, a dict when merged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .errors import InvalidError

if TYPE_CHECKING:
    from ..composer import JSON


def merged(*layers: dict[str, JSON]) -> dict[str, JSON]:
    """Later layers over earlier ones, key by key. The result may be one of the layers itself."""
    result: dict[str, JSON] = {}
    for layer in layers:
        if layer:
            result = {**result, **layer} if result else layer
    return result


def parsed(field: str, doc: JSON) -> dict[str, JSON]:
    """A list of `{"key": ..., "value": ...}` as a dict; the last of equal keys counts.

    Raises:
        InvalidError: naming `field`.
    """
    if doc is None:
        return {}
    if not isinstance(doc, list):
        raise InvalidError(_malformed(field, "must be a list of {'key': ..., 'value': ...}"))
    result = {}
    for item in doc:
        if not isinstance(item, dict) or not isinstance(item.get("key"), str) or not item["key"]:
            raise InvalidError(_malformed(field, f"has {item!r:.100}, which has no 'key'"))
        result[item["key"]] = item.get("value")
    return result


def listed(values: dict[str, JSON]) -> list[dict[str, JSON]]:
    """A dict as a list of `{"key": ..., "value": ...}`."""
    return [{"key": key, "value": value} for key, value in values.items()]


def _malformed(field: str, why: str) -> str:
    return f"The request content was malformed:\n'{field}' {why}"
