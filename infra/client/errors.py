"""The errors of a client: those that an embedded engine raises, made of a server's answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...actions import (
    ConflictError,
    ForbiddenError,
    GoneError,
    InDoubtError,
    InvalidError,
    NotAcceptableError,
    NotFoundError,
    RefusedError,
    ReusedKeyError,
    TakenIdError,
    ThrottledError,
    TooLargeError,
    UnauthorizedError,
    UnavailableError,
    UnsupportedMediaError,
)
from .wire import UNAUTHORIZED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .places import Place
    from .wire import Answer, Request

UNAVAILABLE = 503
SERVER_ERROR = 500
_BY_STATUS: dict[int, type[RefusedError]] = {
    400: InvalidError,
    401: UnauthorizedError,
    403: ForbiddenError,
    404: NotFoundError,
    406: NotAcceptableError,
    409: ConflictError,
    410: GoneError,
    413: TooLargeError,
    415: UnsupportedMediaError,
    422: ReusedKeyError,
    429: ThrottledError,
    503: UnavailableError,
}


class UnreachedError(UnavailableError):
    """The server cannot be reached. Nothing has happened."""


def refusal(answer: Answer, request: Request, place: Place) -> RefusedError:
    """The error that a server's refusal stands for: by its code, else by its status."""
    text = answer.why(request)
    if answer.status == UNAUTHORIZED:
        text = place.unauthorized(text)
    if answer.status == UNAVAILABLE and answer.activation is not None:
        return InDoubtError(text, answer.activation)
    if answer.status >= SERVER_ERROR and answer.status not in _BY_STATUS and not answer.code:
        return InDoubtError(text)
    kind = _by_code(answer.code) or _BY_STATUS.get(answer.status, RefusedError)
    error = kind.__new__(kind, text)  # not by their constructors: the text is the server's
    error.code = answer.code
    if isinstance(error, TakenIdError):
        error.run = answer.document["executionId"]
    return error


def _by_code(code: str) -> type[RefusedError] | None:
    return next((kind for kind in _kinds(RefusedError) if code and kind.code == code), None)


def _kinds(root: type[RefusedError]) -> Iterator[type[RefusedError]]:
    """The errors below one, the most derived last."""
    for kind in root.__subclasses__():
        yield kind
        yield from _kinds(kind)
