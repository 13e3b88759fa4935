"""What stops a caller of this package. Texts are OpenWhisk's where it has one.

composer.Error
RefusedError               what a caller asks for is refused; nothing has happened
InvalidError             it is malformed (400)
UnauthorizedError        the caller is not who they say (401)
ForbiddenError           it is another namespace's, and not public (403)
NotFoundError            there is no such thing (404)
ConflictError            it is there already, or somebody else changed it (409)
ReusedKeyError           its idempotency key was used for another call (422)
TooLargeError            it is over a size limit (413)
ThrottledError           there is too much of it just now (429)
UnavailableError         the server cannot take it now (503)
InDoubtError             it may have happened, or may happen yet (503)
"""

from __future__ import annotations

from ..composer import Error


class RefusedError(Error):
    """What a caller asks for is refused; nothing has happened."""


class InvalidError(RefusedError):
    """It is malformed; the text names the field."""


class UnauthorizedError(RefusedError):
    """The caller is not who they say, or says nothing."""


class ForbiddenError(RefusedError):
    """It is another namespace's, and not public: whether it is there at all is not told."""

    def __init__(self, resource: str) -> None:
        super().__init__(f"The supplied authentication is not authorized to access '{resource}'.")


class NotFoundError(RefusedError):
    """There is no such thing, or none that the caller may know of."""

    def __init__(self, text: str = "The requested resource does not exist.") -> None:
        super().__init__(text)


class ConflictError(RefusedError):
    """It is there already, or somebody else has changed it."""


class ReusedKeyError(ConflictError):
    """The idempotency key of a call was used for another call."""


class TooLargeError(RefusedError):
    """It is over a size limit."""


class ThrottledError(RefusedError):
    """There is too much of it just now; later it will do."""


class UnavailableError(RefusedError):
    """The server stops, or its store cannot be read or written now."""


class InDoubtError(UnavailableError):
    """The store did not say in time whether something is durable: it may be, or become so later.

    Args:
        text: what is told.
        activation: the id of the activation that may still run, if it is known.
    """

    def __init__(self, text: str, activation: str | None = None) -> None:
        super().__init__(text)
        self.activation = activation
