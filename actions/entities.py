"""The annotation `entity`, which makes an action an entity type.

`true`, or `{"version": 2, "bytes": 65536}`: the version of its state, and the largest size of the state.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..composer import truthy
from .errors import InvalidError

if TYPE_CHECKING:
    from ..composer import JSON

ENTITY = "entity"
MAX_STATE_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class EntitySettings:
    """The settings of an entity type: the version of its state, and the largest size of the state."""

    version: int = 1
    state_bytes: int = 1 << 16


def entity_settings(annotation: JSON) -> EntitySettings | None:
    """Reads the annotation; None if the action is not an entity type.

    Raises:
        InvalidError: a member is wrong. The message names it.
    """
    if not truthy(annotation):
        return None
    if annotation is True:
        return EntitySettings()
    if not isinstance(annotation, dict) or not annotation.keys() <= {"version", "bytes"}:
        raise InvalidError(
            "The request content was malformed:\n"
            "the annotation 'entity' must be true or {'version'?, 'bytes'?}"
        )
    version, size = annotation.get("version", 1), annotation.get("bytes", 1 << 16)
    if type(version) is not int or version < 1:
        raise InvalidError(
            "The request content was malformed:\n"
            f"the annotation 'entity.version' must be a whole number, 1 or more, not {version!r:.80}"
        )
    if type(size) is not int or not 0 < size <= MAX_STATE_BYTES:
        raise InvalidError(
            "The request content was malformed:\n"
            f"the annotation 'entity.bytes' must be 1 to {MAX_STATE_BYTES}, not {size!r:.80}"
        )
    return EntitySettings(version, size)
