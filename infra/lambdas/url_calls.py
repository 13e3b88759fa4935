"""Calls of functions at their URLs."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, NamedTuple

import orjson
from starlette.responses import Response

from ...actions import RefusedError, ThrottledError, TooLargeError
from ...composer import Failure
from ..access import MissingRoleError, Right
from ..aws import AwsError, signed_content
from ..http import content
from .invocations import called, check_size, run
from .lookup import qualified_target
from .policies import allows
from .protocol import SERVICE, new_id
from .url_cors import PREFIX, asks, cors_headers
from .url_events import ANONYMOUS, BAD_GATEWAY, ResultError, UrlRequest, event_of, response_of
from .urls import PLACE

if TYPE_CHECKING:
    from starlette.requests import Request

    from .api import LambdaApi
    from .lambdas import Lambda
    from .records import Url

log = logging.getLogger(__name__)

FORBIDDEN = (
    "Forbidden. For troubleshooting Function URL authorization issues, see: "
    "https://docs.aws.amazon.com/lambda/latest/dg/urls-auth.html"
)
EXCEEDED, TOO_LARGE, UNAVAILABLE = 429, 413, 503


class Admitted(NamedTuple):
    """A request that may call the function: the namespace that has signed it with the key's id, and the content."""

    caller: tuple[str, str] | None
    body: bytes


async def serve(request: Request, api: LambdaApi) -> Response:
    """Calls the function of a URL with the request, and sends the response that its result describes."""
    id = new_id()
    request.scope["cors"] = []
    found = api.lambdas.url(request.path_params["url"])
    if found is None:
        return _told(id, 404, "There is no function URL with this id.")
    owner, key = found
    url = owner.record.urls[key]
    headers = {name.lower(): value for name, value in request.headers.items()}
    preflight = asks(request.method, headers)
    cors = cors_headers(url.cors or {}, headers, preflight=preflight)
    if url.cors and preflight:
        response = Response()
        response.headers["x-amzn-requestid"] = id
    else:
        response = await _answered(request, id, (owner, key, url), api)
    if cors:
        own = [pair for pair in response.raw_headers if not pair[0].startswith(PREFIX.encode())]
        response.raw_headers = own + [(n.encode(), v.encode("latin-1")) for n, v in cors]
    return response


async def _answered(
    request: Request, id: str, place: tuple[Lambda, str, Url], api: LambdaApi
) -> Response:
    owner, key, url = place
    try:
        admitted = await _admitted(request, owner, key, url, api)
        event = event_of(_request(request, id, url, admitted, api))
        check_size(event)
        target = qualified_target(owner, key or None, api)
        action = called(target, id, api)
        with api.under_way.counted(str(owner.name), owner.record.reserved):
            _, ended = await run(action, event, owner.name.namespace, api)
    except (AwsError, RefusedError) as error:
        return _refused(id, error)
    if isinstance(ended.outcome, Failure):
        return _told(id, BAD_GATEWAY, "Internal Server Error")
    try:
        made = response_of(ended.outcome.value)
    except ResultError as error:
        log.warning(
            "the result of the function %s is not a response of its URL: %s", owner.name, error
        )
        return _told(id, BAD_GATEWAY, "Internal Server Error")
    response = Response(made.body, made.status)
    response.raw_headers += [
        (name.encode(), value.encode("latin-1")) for name, value in made.headers
    ]
    response.headers["x-amzn-requestid"] = id
    return response


async def _admitted(
    request: Request, owner: Lambda, key: str, url: Url, api: LambdaApi
) -> Admitted:
    """The caller, if the URL knows callers, and the request's content.

    Raises:
        AwsError: the signature is missing or wrong, or no permission lets the caller in.
        RefusedError: the content is too large.
    """
    policy = owner.record.policies.get(key)
    statements = () if policy is None else policy.statements
    if url.auth == "NONE":
        if not allows(statements, url.auth, None):
            raise AwsError("AccessDeniedException", FORBIDDEN, 403)
        return Admitted(None, bytes(await content(request, api.payload_bytes)))
    identity, body = await signed_content(request, api, SERVICE, api.payload_bytes)
    identity.check(Right.INVOKE)
    caller = identity.namespace
    if caller != owner.name.namespace and not allows(statements, url.auth, caller):
        raise AwsError("AccessDeniedException", FORBIDDEN, 403)
    return Admitted((caller, identity.id), bytes(body))


def _request(request: Request, id: str, url: Url, admitted: Admitted, api: LambdaApi) -> UrlRequest:
    raw: str = request.scope["raw_path"].decode("latin-1")
    return UrlRequest(
        id=id,
        url=url.id,
        host=request.headers.get("host", ""),
        method=request.method,
        path="/" + raw.partition(f"{PLACE}{url.id}")[2].lstrip("/"),
        query=request.scope["query_string"].decode("latin-1"),
        headers=[(name.lower(), value) for name, value in request.headers.items()],
        body=admitted.body,
        source=request.client.host if request.client else "",
        now_ms=api.engine.now_ms,
        account=api.arns.account if admitted.caller else ANONYMOUS,
        caller=admitted.caller,
    )


def _refused(id: str, error: AwsError | RefusedError) -> Response:
    match error:
        case AwsError():
            status = max(error.status, 403)
            return _told(id, status, error.message)
        case MissingRoleError():
            return _told(id, 403, str(error))
        case ThrottledError():
            return _told(id, EXCEEDED, str(error))
        case TooLargeError():
            return _told(id, TOO_LARGE, str(error))
        case _:
            return _told(id, UNAVAILABLE, str(error))


def _told(id: str, status: int, message: str) -> Response:
    body = orjson.dumps({"Message": message})
    return Response(body, status, {"x-amzn-requestid": id}, media_type="application/json")
