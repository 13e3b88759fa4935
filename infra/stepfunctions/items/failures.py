"""Messages about requests that S3 or a directory refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ....adapters import Fault


def message_of(fault: Fault) -> str:
    """The message of a fault: the cause of the Map's failure."""
    error = fault.error
    return str(error.get("message")) if isinstance(error, dict) else str(error)
