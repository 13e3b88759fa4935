"""Errors that stop a caller of this package. Texts are OpenWhisk's where it has one.

composer.Error
  RefusedError               the request is refused; nothing has happened
    InvalidError             malformed (400)
      InvalidIdError         the id of an execution cannot be one (400)
    UnauthorizedError        the caller's credentials are wrong or missing (401)
    ForbiddenError           it belongs to another namespace, and is not public (403)
    NotFoundError            it does not exist (404)
      NotEndedError          it does not exist yet: it is under way (404)
    ConflictError            it exists already, or another caller changed it (409)
      TakenIdError           an execution cannot start under this id (409)
        AlreadyStartedError    one with the id is open
        AlreadyCompletedError  one with the id has ended
    GoneError                it existed, and was not kept (410)
    ReusedKeyError           its idempotency key was used for another call (422)
    TooLargeError            over a size limit (413)
    UnsupportedMediaError    its content is in a format that the server does not read (415)
    ThrottledError           too many requests at present (429)
    UnavailableError         the server cannot accept the request now (503)
  InDoubtError               it may have happened, or may happen yet (503)
"""

from __future__ import annotations

from ..composer import Error


class RefusedError(Error):
    """The request is refused. Nothing has happened.

    `code` names the error for programs; "" if it has no name.
    """

    code: str = ""


class InvalidError(RefusedError):
    """The request is malformed. The text names the field."""


class InvalidIdError(InvalidError):
    """The id that a caller gives an execution cannot be one. The text says why."""

    code = "InvalidId"


class UnauthorizedError(RefusedError):
    """The caller's credentials are wrong or missing."""


class ForbiddenError(RefusedError):
    """The object belongs to another namespace, and is not public. The text does not say whether it exists."""

    def __init__(self, resource: str) -> None:
        super().__init__(f"The supplied authentication is not authorized to access '{resource}'.")


class NotFoundError(RefusedError):
    """The object does not exist, or the caller must not know that it does."""

    def __init__(self, text: str = "The requested resource does not exist.") -> None:
        super().__init__(text)


class NotEndedError(NotFoundError):
    """The record does not exist yet: its activation is under way."""

    code = "NotEnded"


class ConflictError(RefusedError):
    """The object exists already, or another caller has changed it."""


class GoneError(RefusedError):
    """The object existed, and was not kept."""


class TakenIdError(ConflictError):
    """An execution cannot start under the id that its caller gives it.

    Args:
        text: the message.
        run: the id of the run that has the id.
    """

    def __init__(self, text: str, run: str) -> None:
        super().__init__(text)
        self.run = run


class AlreadyStartedError(TakenIdError):
    """An execution with the id is open, and the start does not say what to do then."""

    code = "AlreadyStarted"


class AlreadyCompletedError(TakenIdError):
    """An execution with the id has ended, and the start does not allow another."""

    code = "AlreadyCompleted"


class ReusedKeyError(ConflictError):
    """The idempotency key of a call was used for another call."""


class TooLargeError(RefusedError):
    """The request is over a size limit."""


class UnsupportedMediaError(RefusedError):
    """The content of the request is in a format that the server does not read. The text names those that it reads."""


class ThrottledError(RefusedError):
    """There are too many requests at present. A later one may succeed."""


class UnavailableError(RefusedError):
    """The server is stopping, or its store cannot be read or written now."""


class InDoubtError(UnavailableError):
    """The store did not confirm in time that a change is durable: it may be, or become so later.

    Args:
        text: the message.
        activation: the id of the activation that may still run, if it is known.
    """

    def __init__(self, text: str, activation: str | None = None) -> None:
        super().__init__(text)
        self.activation = activation
