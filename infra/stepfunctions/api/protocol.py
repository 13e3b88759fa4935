"""AWS' JSON protocol, version 1.0: every operation is a POST to `/`, named by a header.

Clients put `sync-` before the host of some operations. The signature covers the host, and all hosts are
served alike.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from ....actions import (
    ConflictError,
    ForbiddenError,
    InvalidError,
    NotFoundError,
    RefusedError,
    ThrottledError,
    TooLargeError,
)
from ....composer import InvalidNameError
from ...access import OPERATIONS as PERMISSIONS
from ...aws import AwsError, Parameters, Refusals, read, refused, signed_content
from ...http import PERMISSION, RESOURCE, Json, WideIntegerError, parse
from .inputs import INPUTS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.requests import Request
    from starlette.responses import Response

    from ....composer import JSON
    from ...access import Identity
    from .api import StepFunctionsApi

SERVICE = "states"
TARGET = "AWSStepFunctions."
ROLE = "roleArn"  # a parameter that is not the changed thing
# A definition of a million characters, each of them escaped, and what is around it.
MAX_BODY_BYTES = 8 << 20


async def _listens() -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Caller:
    """The namespace that sent a request; `request` is the request's id, `gone` tells if the client left."""

    namespace: str
    request: str
    gone: Callable[[], Awaitable[bool]] = _listens


Handler: TypeAlias = Callable[
    [Parameters, Caller, "StepFunctionsApi"], Awaitable[dict[str, "JSON"]]
]
Operations: TypeAlias = "Mapping[str, Handler]"


async def answer(operations: Operations, request: Request, api: StepFunctionsApi) -> Response:
    """Answers a request with the result of its operation, or with an error."""
    id = api.ids.uuid()
    try:
        answered = await _answered(operations, request, api, id)
    except AwsError as error:
        return _written(id, {"__type": error.type, "message": error.message}, error.status)
    return _written(id, answered, 200)


async def _answered(
    operations: Operations, request: Request, api: StepFunctionsApi, id: str
) -> dict[str, JSON]:
    try:
        identity, body = await signed_content(request, api, SERVICE, MAX_BODY_BYTES)
    except RefusedError as error:
        raise refused(error, _REFUSALS) from None
    target = request.headers.get("x-amz-target", "")
    handler = operations.get(target.removeprefix(TARGET))
    if handler is None or not target.startswith(TARGET):
        raise AwsError("UnknownOperationException", f"Unknown operation: {target!r:.100}")
    operation = target.removeprefix(TARGET)
    document = _parsed(body)
    request.scope[PERMISSION] = PERMISSIONS[operation]
    request.scope[RESOURCE] = _resource(document)
    _check_right(identity, operation)
    params = read(INPUTS[operation], document)
    caller = Caller(identity.namespace, id, request.is_disconnected)
    return await refusing(handler, params, caller, api)


def _check_right(identity: Identity, operation: str) -> None:
    right = PERMISSIONS[operation].right
    try:
        if right is not None:
            identity.check(right)
    except ForbiddenError as error:
        raise refused(error, _REFUSALS) from None


def _resource(document: JSON) -> str:
    """The ARN, or else the name, of the thing that an operation changes; "" if the request names none."""
    params = document if isinstance(document, dict) else {}
    named = [name for name in params if name.endswith("Arn") and name != ROLE]
    found = params.get(next(iter(named), "name"))
    return found if isinstance(found, str) else ""


async def refusing(
    handler: Handler, params: Parameters, caller: Caller, api: StepFunctionsApi
) -> dict[str, JSON]:
    """Carries out an operation.

    Raises:
        AwsError: the operation failed, or the engine refused it.
    """
    try:
        return await handler(params, caller, api)
    except (RefusedError, InvalidNameError) as error:
        raise refused(error, _REFUSALS) from error


def _parsed(content: bytearray) -> JSON:
    try:
        return parse(content or b"{}")
    except WideIntegerError as error:
        raise AwsError("SerializationException", f"The request cannot be read: {error}") from None
    except ValueError as error:
        raise AwsError("SerializationException", f"The request is not JSON: {error}") from None


class _AmzJson(Json):
    """A response of AWS' JSON protocol."""

    media_type = "application/x-amz-json-1.0"


def _written(id: str, content: dict[str, JSON], status: int) -> Response:
    return _AmzJson(content, status, {"x-amzn-requestid": id})


_REFUSALS: Refusals = {
    TooLargeError: ("RequestEntityTooLargeException", 413),
    ThrottledError: ("ThrottlingException", 400),
    ConflictError: ("ConflictException", 400),
    NotFoundError: ("ResourceNotFound", 400),
    ForbiddenError: ("AccessDeniedException", 400),
    InvalidError: ("ValidationException", 400),
    InvalidNameError: ("ValidationException", 400),
    Exception: ("ServiceUnavailableException", 503),
}


def seconds(ms: int) -> float:
    """An instant as AWS writes it: seconds since the epoch."""
    return ms / 1000
