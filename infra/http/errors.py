"""Errors in OpenWhisk's form: `{"error": text, "code": transaction id}`.

An error with a name for programs has that as its `code`; the transaction id is in the header `x-request-id`, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.exceptions import HTTPException

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
from ...composer import InvalidNameError
from ..edge import BusyError
from .responses import Json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.requests import Request

    from ...composer import JSON

STATUS: dict[type[Exception], int] = {
    InvalidError: 400,
    InvalidNameError: 400,
    UnauthorizedError: 401,
    ForbiddenError: 403,
    NotFoundError: 404,
    NotAcceptableError: 406,
    ConflictError: 409,
    GoneError: 410,
    TooLargeError: 413,
    UnsupportedMediaError: 415,
    ReusedKeyError: 422,
    ThrottledError: 429,
    UnavailableError: 503,
}
RETRY_AFTER = {"Retry-After": "1"}  # the server may recover soon

TEXTS = {
    404: "The requested resource does not exist.",
    405: "HTTP method not allowed for this resource.",
    500: "There was an internal server error.",
}


STATUS[BusyError] = 503


def status_of(error: Exception) -> int:
    """The HTTP status of the response to an error."""
    return next((STATUS[kind] for kind in type(error).__mro__ if kind in STATUS), 500)


def refused(request: Request, error: Exception, headers: Mapping[str, str] | None = None) -> Json:
    """The response to a refused request; `headers` are those that its error does not have by itself."""
    status = status_of(error)
    if isinstance(error, UnauthorizedError):
        headers = {"WWW-Authenticate": 'Basic realm="OpenWhisk secure realm"'}
        return failed(request, status, str(error), headers)
    if isinstance(error, InDoubtError) and error.activation is not None:
        about: dict[str, JSON] = {"activationId": error.activation}
        headers = {**RETRY_AFTER, "x-openwhisk-activation-id": error.activation}
        return failed(request, status, str(error), headers, about)
    if isinstance(error, UnavailableError | BusyError):
        return failed(request, status, str(error), RETRY_AFTER)
    return failed(request, status, str(error), headers, _named(error))


def _named(error: Exception) -> dict[str, JSON]:
    """The name of an error for programs, if it has one, and the run that is in the way."""
    about: dict[str, JSON] = {}
    if isinstance(error, RefusedError) and error.code:
        about["code"] = error.code
    if isinstance(error, TakenIdError):
        about["executionId"] = error.run
    return about


def not_served(request: Request, error: Exception) -> Json:
    """The response to a request that the framework rejects: unknown path or method."""
    status = error.status_code if isinstance(error, HTTPException) else 500
    text = TEXTS.get(status) or str(getattr(error, "detail", error))
    return failed(request, status, text)


def failed(
    request: Request,
    status: int,
    text: str,
    headers: Mapping[str, str] | None = None,
    about: Mapping[str, JSON] | None = None,
) -> Json:
    """An error response in OpenWhisk's form, with further members from `about`."""
    doc: dict[str, JSON] = {"error": text, "code": request.scope["transaction"]}
    return Json({**doc, **(about or {})}, status, headers)
