"""The ASGI application: routes, transaction ids and headers."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Route

from ...actions import METHODS, RefusedError, UnavailableError
from ...composer import InvalidNameError
from ..access import ROUTES as PERMISSIONS
from ..access import Door
from .audit import PERMISSION, record
from .direct import Direct
from .errors import not_served, refused, status_of
from .events import granted
from .routes import ANY, FREQUENT, OPERATED, ROUTES, WEB
from .runs import keep_slashes

if TYPE_CHECKING:
    from collections.abc import (
        Awaitable,
        Callable,
        Collection,
        Iterable,
        MutableMapping,
        Sequence,
    )
    from typing import TypeAlias

    from starlette.requests import Request
    from starlette.types import ASGIApp, Receive, Scope, Send

    from ..access import Permission
    from .api import Api
    from .request_ids import RequestIds
    from .wings import Endpoint, Wing

    _Header: TypeAlias = tuple[bytes, bytes]

GIVEN_LENGTH = 128  # bytes of an id that a client may give its request
EXPECTED = (
    RefusedError,
    InvalidNameError,
    HTTPException,
)  # other errors are mistakes of the server
PAUSED = (
    "The server is paused: it answers what only reads, ends executions (cancel with terminate), and starts "
    "nothing until the operator resumes it (xingqiao service resume)."
)
_CORS = [
    (b"access-control-allow-origin", b"*"),
    (
        b"access-control-allow-headers",
        b"Authorization, Origin, X-Requested-With, Content-Type, Accept, User-Agent",
    ),
    (b"access-control-allow-methods", b"GET,DELETE,POST,PUT,HEAD"),
]


def create_app(
    api: Api, wings: Sequence[Wing] = (), *, _frequent: Collection[str] | None = None
) -> ASGIApp:
    """The application that serves `api`, with the routes of its wings.

    `_frequent` replaces the routes that are answered without the router: tests compare both ways.

    Raises:
        LookupError: a route has no row in the table of permissions.
    """

    def route(method: str, path: str, endpoint: Endpoint) -> Route:
        permission = _permission(method, path)

        async def endpoint_with_api(request: Request) -> Response:
            if api.stopping and method != "GET":
                raise UnavailableError("The server is stopping.")
            if api.engine.recovery.paused and not _when_paused(method, path, endpoint):
                raise UnavailableError(PAUSED)
            request.scope[PERMISSION] = permission
            answer = await _answered(endpoint, request, api)
            if api.keys.unkept:
                answer.background = BackgroundTask(api.keys.keep)
            return answer

        methods = list(METHODS) if method == ANY else [method]
        return Route(path, endpoint_with_api, methods=methods)

    refusal = _refusal(wings)
    routes = [route(*one) for one in chain(ROUTES, *(wing.routes for wing in wings))]
    app = Starlette(
        routes=routes, exception_handlers=dict.fromkeys((*EXPECTED, Exception), _awaited(refusal))
    )
    if _frequent is None:
        _frequent = {*FREQUENT, *chain.from_iterable(wing.frequent for wing in wings)}
    direct = Direct(routes, _frequent, EXPECTED, refusal)
    asked = (WEB, *chain.from_iterable(wing.asked for wing in wings))
    return _Common(app, direct, api, asked)


def _refusal(wings: Sequence[Wing]) -> Callable[[Request, Exception], Response]:
    """A function that makes the response to an error."""

    def refusal(request: Request, error: Exception) -> Response:
        if isinstance(error, RefusedError | InvalidNameError):
            return refused(request, error)
        if isinstance(error, HTTPException):
            return _not_served(wings, request, error)
        return not_served(request, error)

    return refusal


def _awaited(
    refusal: Callable[[Request, Exception], Response],
) -> Callable[[Request, Exception], Awaitable[Response]]:
    """The same as a coroutine function: the framework calls others in a thread."""

    async def awaited(request: Request, error: Exception) -> Response:
        return refusal(request, error)

    return awaited


def _permission(method: str, path: str) -> Permission:
    permission = PERMISSIONS.get(f"{method} {path}")
    if permission is None:
        raise LookupError(
            f"the route {method} {path} has no row in infra/access/permissions.py: add one with the right "
            "that the route needs"
        )
    return permission


async def _answered(endpoint: Endpoint, request: Request, api: Api) -> Response:
    """The endpoint's response to a request whose key has the right; writes the audit log."""
    permission: Permission = request.scope[PERMISSION]
    try:
        if permission.door is Door.KEY and permission.right is not None:
            api.auth.admit(request, permission.right)
        answer = await endpoint(request, api)
    except Exception as error:
        await record(request, api, status_of(error))
        raise
    if request.scope[PERMISSION].verb:  # an operation of a wing may have replaced the permission
        await record(request, api, answer.status_code)
    return answer


def _when_paused(method: str, path: str, endpoint: Endpoint) -> bool:
    """True if a paused server serves the request: it reads, or an operator needs it."""
    return (method == "GET" and not path.startswith(WEB)) or endpoint in OPERATED


def _not_served(wings: Sequence[Wing], request: Request, error: Exception) -> Response:
    """Refuses a request without a route, in the form that its client expects."""
    answers = (wing.unknown(request) for wing in wings)
    return next(filter(None, answers), None) or not_served(request, error)


class _Common:
    """Gives each request a transaction id, and each response that id and the headers for browsers.

    `asked` are the beginnings of paths whose endpoints answer OPTIONS requests themselves.
    """

    def __init__(self, app: ASGIApp, direct: Direct, api: Api, asked: tuple[str, ...]) -> None:
        self._app, self._direct, self._api = app, direct, api
        self._asked = asked

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        scope["transaction"] = _transaction(scope, self._api.ids)
        scope["bodies"] = self._api.bodies
        scope["cors"] = _CORS  # an endpoint may replace it
        if b"%" in (scope.get("raw_path") or b""):
            keep_slashes(scope)
        endpoint = self._direct.find(scope)
        if endpoint is not None:
            response, mistake = await self._direct.answer(endpoint, scope, receive, send)
            response.raw_headers = _with_common(response.raw_headers, scope)
            await response(scope, receive, send)
            if mistake is not None:
                raise mistake  # for the server's log
            return

        async def send_with_headers(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = _with_common(message["headers"], scope)
            await send(message)

        path = scope["path"].removeprefix(scope.get("root_path", ""))  # of an app that mounts this
        asks = scope["method"] == "OPTIONS" and not path.startswith(self._asked)
        if asks:  # a preflight request has no key
            grant = granted(path, Headers(scope=scope))
            await Response(headers=grant)(scope, receive, send_with_headers)
        else:
            await self._app(scope, receive, send_with_headers)


def _with_common(headers: Iterable[_Header], scope: Scope) -> list[_Header]:
    """The headers of a response, with the id of the request and those for browsers that are not among them."""
    common = [(b"x-request-id", scope["transaction"].encode("latin-1")), *scope["cors"]]
    told = dict(headers)
    if not told.keys().isdisjoint(dict(common)):
        common = [header for header in common if header[0] not in told]
    return [*headers, *common]


def _transaction(scope: Scope, ids: RequestIds) -> str:
    for name, value in scope["headers"]:
        if name == b"x-request-id" and 0 < len(value) <= GIVEN_LENGTH:
            return str(value, "latin-1")
    return ids.new()
