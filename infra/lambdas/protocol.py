"""Lambda's protocol: REST with JSON, signed as all of AWS' protocols are."""

from __future__ import annotations

import secrets
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import orjson
from starlette.responses import Response

from ...actions import (
    ConflictError,
    ForbiddenError,
    InvalidError,
    NotFoundError,
    RefusedError,
    ThrottledError,
    TooLargeError,
)
from ...composer import InvalidNameError
from ..aws import TERMINATOR, AwsError, Refusals, refused, signed_content
from ..http import PERMISSION, RESOURCE, parse

if TYPE_CHECKING:
    from starlette.requests import Request

    from ...composer import JSON
    from ..access import Permission
    from .api import LambdaApi

SERVICE = "lambda"
MAX_BODY_BYTES = 70_167_211  # Lambda's own limit: an archive of 50 MB in base64
DENIED, BUSY = 403, 429
# Errors of authentication: Lambda answers 403.
CREDENTIALS = frozenset({
    "IncompleteSignatureException", "InvalidSignatureException", "MissingAuthenticationTokenException",
    "UnrecognizedClientException",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class ApiCall:
    """An authenticated request; `id` is its request id."""

    namespace: str
    id: str
    request: Request
    content: bytearray

    @property
    def name(self) -> str:
        """The function in the path: its name, its ARN or a part of the ARN."""
        name: str = self.request.path_params["name"]
        return name

    def part(self, name: str) -> str:
        """A part of the path."""
        text: str = self.request.path_params[name]
        return text

    def query(self, name: str) -> str | None:
        """A parameter of the query; None if it is missing."""
        return self.request.query_params.get(name)

    @property
    def document(self) -> dict[str, JSON]:
        """The body.

        Raises:
            AwsError: SerializationException: the body is not a JSON object.
        """
        found = parsed(self.content or b"{}")
        if not isinstance(found, dict):
            raise AwsError("SerializationException", "The request body must be a JSON object.")
        return found


@dataclass(frozen=True, slots=True)
class Answer:
    """A response: a JSON value, or its bytes."""

    content: JSON | bytes
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


Operation: TypeAlias = Callable[[ApiCall, "LambdaApi"], Awaitable[Answer]]


def served(operation: Operation) -> Callable[[Request, LambdaApi], Awaitable[Response]]:
    """The endpoint of an operation."""

    async def endpoint(request: Request, api: LambdaApi) -> Response:
        id = new_id()
        try:
            answer = await _answered(operation, request, api, id)
        except AwsError as error:
            return _refused(id, error)
        except (RefusedError, InvalidNameError) as error:
            return _refused(id, refused(error, _REFUSALS))
        content = answer.content
        body = content if isinstance(content, bytes) else orjson.dumps(content)
        headers = {"x-amzn-RequestId": id, **answer.headers}
        return Response(body, answer.status, headers, media_type="application/json")

    return endpoint


def unknown(request: Request) -> Response | None:
    """Refuses an unsupported operation of Lambda. None for a client of another service.

    The signature names the service; it is not checked.
    """
    if f"/{SERVICE}/{TERMINATOR}" not in request.headers.get("authorization", ""):
        return None
    why = f"This operation of Lambda is not supported: {request.method} {request.url.path:.200}"
    return _refused(new_id(), AwsError("UnknownOperationException", why, 404))


async def _answered(operation: Operation, request: Request, api: LambdaApi, id: str) -> Answer:
    identity, body = await signed_content(request, api, SERVICE, MAX_BODY_BYTES)
    permission: Permission = request.scope[PERMISSION]
    request.scope[RESOURCE] = f"functions/{request.path_params.get('name', '')}"
    if permission.right is not None:
        identity.check(permission.right)
    return await operation(ApiCall(identity.namespace, id, request, body), api)


def parsed(content: bytes | bytearray) -> JSON:
    """The value of a body.

    Raises:
        AwsError: SerializationException.
    """
    try:
        return parse(content)
    except ValueError as error:
        raise AwsError(
            "SerializationException", f"Could not parse request body into json: {error}"
        ) from None


def new_id() -> str:
    """A new request id."""
    return str(uuid.UUID(bytes=secrets.token_bytes(16), version=4))


def _refused(id: str, error: AwsError) -> Response:
    status = DENIED if error.code in CREDENTIALS else error.status
    kind = "User" if status < 500 else "Service"  # noqa: PLR2004  the client's or the server's fault
    told = {"Type": kind, "Message": error.message, "message": error.message, **error.details}
    body = orjson.dumps(told)
    headers = {"x-amzn-RequestId": id, "x-amzn-ErrorType": error.code}
    if status == BUSY:
        headers["Retry-After"] = "1"
    return Response(body, status, headers, media_type="application/json")


_REFUSALS: Refusals = {
    TooLargeError: ("RequestTooLargeException", 413),
    ThrottledError: ("TooManyRequestsException", 429),
    ConflictError: ("ResourceConflictException", 409),
    NotFoundError: ("ResourceNotFoundException", 404),
    ForbiddenError: ("AccessDeniedException", 403),
    InvalidError: ("InvalidParameterValueException", 400),
    InvalidNameError: ("InvalidParameterValueException", 400),
    Exception: ("ServiceException", 503),
}
