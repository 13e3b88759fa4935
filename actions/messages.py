"""Messages told to executions: the rules for names and ids, and the errors."""

from __future__ import annotations

from ..composer import MAX_MESSAGE_NAME, is_message_name
from .errors import ConflictError, InvalidError, ThrottledError


class ClosedError(ConflictError):
    """The execution has ended, and the request needs one that is open."""

    code = "Closed"


class TooManyMessagesError(ThrottledError):
    """The execution has as many undelivered messages as it may have."""

    code = "TooManyMessages"


def check_message(name: str, id: str) -> None:
    """Checks the name of a message, and the id that its sender gives it ("" for none).

    Raises:
        InvalidError: one of them cannot be used; the text says why.
    """
    if not is_message_name(name):
        raise InvalidError(
            f"The name of a message must have 1 to {MAX_MESSAGE_NAME} printable characters without '/', and must not "
            f"begin with '$', not {name!r:.100}."
        )
    if len(id) > MAX_MESSAGE_NAME or not id.isprintable():
        raise InvalidError(
            f"The id of a message must have 1 to {MAX_MESSAGE_NAME} printable characters, not {id!r:.100}."
        )
