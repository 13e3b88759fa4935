"""What went wrong, as OpenWhisk answers it: `{"error": text, "code": transaction id}`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.exceptions import HTTPException

from actions import (
    ConflictError,
    ForbiddenError,
    InvalidError,
    NotAcceptableError,
    NotFoundError,
    RefusedError,
    ThrottledError,
    TooLargeError,
    UnauthorizedError,
)
from composer import InvalidNameError
from infra.edge import BusyError

from .responses import Json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.requests import Request

STATUS: dict[type[Exception], int] = {
    InvalidError: 400,
    InvalidNameError: 400,
    UnauthorizedError: 401,
    ForbiddenError: 403,
    NotFoundError: 404,
    NotAcceptableError: 406,
    ConflictError: 409,
    TooLargeError: 413,
    ThrottledError: 429,
}

TEXTS = {
    404: "The requested resource does not exist.",
    405: "HTTP method not allowed for this resource.",
    500: "There was an internal server error.",
}


class UnavailableError(RefusedError):
    """The server stops, or its store does not commit (503)."""


STATUS[UnavailableError] = STATUS[BusyError] = 503


def refused(request: Request, error: Exception) -> Json:
    """The answer to what was refused."""
    status = next((STATUS[kind] for kind in type(error).__mro__ if kind in STATUS), 500)
    return failed(request, status, str(error), _headers(error))


def _headers(error: Exception) -> dict[str, str] | None:
    if isinstance(error, UnauthorizedError):
        return {"WWW-Authenticate": 'Basic realm="OpenWhisk secure realm"'}
    return {"Retry-After": "1"} if isinstance(error, BusyError) else None


def not_served(request: Request, error: Exception) -> Json:
    """The answer to what the framework rejects: no such path, no such method."""
    status = error.status_code if isinstance(error, HTTPException) else 500
    text = TEXTS.get(status) or str(getattr(error, "detail", error))
    return failed(request, status, text)


def failed(
    request: Request, status: int, text: str, headers: Mapping[str, str] | None = None
) -> Json:
    """An answer in OpenWhisk's shape."""
    return Json({"error": text, "code": request.scope["transaction"]}, status, headers)
