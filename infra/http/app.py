"""The ASGI application: routes, transaction ids and headers."""

from __future__ import annotations

import secrets
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Route

from ...actions import METHODS, RefusedError, UnavailableError
from ...composer import InvalidNameError
from ..access import ROUTES as PERMISSIONS
from ..access import Door
from .audit import PERMISSION, record
from .errors import not_served, refused, status_of
from .routes import ANY, OPERATED, ROUTES, WEB

if TYPE_CHECKING:
    from collections.abc import MutableMapping, Sequence

    from starlette.requests import Request
    from starlette.types import ASGIApp, Receive, Scope, Send

    from ..access import Permission
    from ..edge import Bodies
    from .api import Api
    from .wings import Endpoint, Wing

TRANSACTION_LENGTH = 32
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


def create_app(api: Api, wings: Sequence[Wing] = ()) -> ASGIApp:
    """The application that serves `api`, with the routes of its wings.

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

    handlers: dict[Any, Any] = {
        RefusedError: refused,
        InvalidNameError: refused,
        HTTPException: partial(_not_served, wings),
        Exception: not_served,
    }
    routes = [route(*one) for one in chain(ROUTES, *(wing.routes for wing in wings))]
    app = Starlette(routes=routes, exception_handlers=handlers)
    return _Common(app, api.bodies, (WEB, *chain.from_iterable(wing.asked for wing in wings)))


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
    """Gives each request a transaction id, and each response that id and the headers for browsers."""

    def __init__(self, app: ASGIApp, bodies: Bodies, asked: tuple[str, ...]) -> None:
        self._app, self._bodies = app, bodies
        self._asked = asked  # paths whose endpoints answer OPTIONS requests themselves

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        transaction = _transaction(scope)
        scope["transaction"] = transaction.decode("latin-1")
        scope["bodies"] = self._bodies
        scope["cors"] = _CORS  # an endpoint may replace it

        async def send_with_headers(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                told = {name for name, _ in message["headers"]}
                common = [(b"x-request-id", transaction), *scope["cors"]]
                added = [header for header in common if header[0] not in told]
                message["headers"] = [*message["headers"], *added]
            await send(message)

        path = scope["path"].removeprefix(scope.get("root_path", ""))  # of an app that mounts this
        asks = scope["method"] == "OPTIONS" and not path.startswith(self._asked)
        if asks:  # a preflight request has no key
            await Response()(scope, receive, send_with_headers)
        else:
            await self._app(scope, receive, send_with_headers)


def _transaction(scope: Scope) -> bytes:
    for name, value in scope["headers"]:
        if name == b"x-request-id" and 0 < len(value) <= 4 * TRANSACTION_LENGTH:
            return bytes(value)
    return secrets.token_hex(TRANSACTION_LENGTH // 2).encode()
