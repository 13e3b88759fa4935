"""Web actions over HTTP: an action runs in its own namespace, for any client."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import unquote

from starlette.responses import Response

from ...actions import (
    Action,
    Call,
    NotFoundError,
    RefusedError,
    Target,
    UnauthorizedError,
    WebRequest,
    check_admitted,
    check_exported,
    cors_headers,
    status_of,
    target_of,
    web_parameters,
    web_response,
)
from ...composer import InvalidNameError, Name
from . import requests
from .errors import failed, refused

if TYPE_CHECKING:
    from starlette.requests import Request

    from ...actions import WebResponse
    from ..engine import Ended
    from .api import Api

WAIT_S = 60.0
NO_PACKAGE = "default"
GATEWAY = ("whisk.system", "apimgmt")  # the path at which OpenWhisk's clients expect one
SUCCESS, APPLICATION = 0, 1
_PREFIX = "/api/v1/web/"


async def serve(request: Request, api: Api) -> Response:
    """Invokes a web action, waits for its result, and sends the response that the result describes."""
    namespace, action, target = _found(request, api)
    sent = _sent(request, target, api)
    cors = cors_headers(action, sent.headers)
    request.scope["cors"] = _raw(cors)
    if request.method == "OPTIONS" and cors:
        return Response()
    check_admitted(action, sent)
    sent = replace(sent, body=bytes(await requests.content(request, api.payload_bytes)))
    call = Call(name=action.listed_as, params=web_parameters(sent, action), namespace=namespace)
    invoked = await api.engine.invoke(call, wait_s=WAIT_S)
    if invoked.ended is None:
        response: Response = failed(request, 202, "Response not yet ready.")
    else:
        response = _answered(request, target, invoked.ended)
    response.headers["x-openwhisk-activation-id"] = invoked.activation
    return response


def _found(request: Request, api: Api) -> tuple[str, Action, Target]:
    """The namespace, the action and the target in the path.

    The path is split before it is decoded, so `%2F` does not separate parts.

    Raises:
        NotFoundError: the action does not exist, or is not a web action; the text does not tell which.
    """
    path = request.scope["raw_path"].decode("latin-1").removeprefix(_PREFIX)
    namespace, package, rest = (*path.split("/", 2), "", "")[:3]
    namespace, package, target = unquote(namespace), unquote(package), target_of(rest)
    if (namespace, package) == GATEWAY:
        raise NotFoundError(
            "The server has no API gateway. Call a web action at its own URL, "
            "/api/v1/web/NAMESPACE/PACKAGE/ACTION."
        )
    parts = [namespace, *([] if package == NO_PACKAGE else [package]), target.action]
    if any("/" in part for part in parts):
        raise NotFoundError
    try:
        action = api.engine.catalog.resolve(Name.parse("/" + "/".join(parts)), namespace)
    except (RefusedError, InvalidNameError):
        raise NotFoundError from None
    check_exported(action)
    return namespace, action, target


def _sent(request: Request, target: Target, api: Api) -> WebRequest:
    """The request without its body. The action gets the caller's namespace, never its key."""
    headers = {name.lower(): value for name, value in request.headers.items()}
    user = _user(request, api)
    if user is not None:
        del headers["authorization"]
    return WebRequest(
        method=request.method,
        path=target.path,
        headers=headers,
        query=request.scope["query_string"].decode("utf-8", "replace"),
        user=user,
    )


def _user(request: Request, api: Api) -> str | None:
    try:
        return api.auth.caller(request)
    except UnauthorizedError:
        return None


def _answered(request: Request, target: Target, ended: Ended) -> Response:
    status = status_of(ended.outcome)
    if status > APPLICATION:
        return failed(request, 400, "There was an error processing your request.")
    accept = request.headers.get("accept", "")
    try:
        made = web_response(target, ended.outcome.value, failed=status != SUCCESS, accept=accept)
    except RefusedError as error:
        return refused(request, error)
    return _written(made)


def _written(made: WebResponse) -> Response:
    response = Response(made.body, made.status)
    response.raw_headers += _raw(made.headers)
    return response


def _raw(headers: list[tuple[str, str]]) -> list[tuple[bytes, bytes]]:
    return [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers]
