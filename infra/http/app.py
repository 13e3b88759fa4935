"""The ASGI application: routes, and what every request and answer has in common."""

from __future__ import annotations

import secrets
from functools import partial
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Route

from actions import RefusedError
from composer import InvalidNameError

from . import actions, activations, completions, entities, executions, namespaces, service, triggers
from .errors import UnavailableError, not_served, refused

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, MutableMapping

    from starlette.requests import Request
    from starlette.types import ASGIApp, Receive, Scope, Send

    from .api import Api

API = "/api/v1"
NAMESPACED = API + "/namespaces/{namespace}"
TRANSACTION_LENGTH = 32
_CORS = [
    (b"access-control-allow-origin", b"*"),
    (
        b"access-control-allow-headers",
        b"Authorization, Origin, X-Requested-With, Content-Type, Accept, User-Agent",
    ),
    (b"access-control-allow-methods", b"GET,DELETE,POST,PUT,HEAD"),
]


def create_app(api: Api) -> ASGIApp:
    """The application that serves `api`."""

    def route(method: str, path: str, endpoint: Callable[..., Awaitable[Response]]) -> Route:
        async def endpoint_with_api(request: Request) -> Response:
            if api.stopping and method != "GET":
                raise UnavailableError("The server is stopping.")
            return await endpoint(request, api)

        return Route(path, endpoint_with_api, methods=[method])

    action = NAMESPACED + "/actions/{name:path}"
    execution = NAMESPACED + "/executions/{id}"
    activation = NAMESPACED + "/activations/{id}"
    operated = API + "/operator/namespaces"
    collections = [
        route(method, NAMESPACED + f"/{collection.name}{path}", partial(endpoint, collection))
        for collection in entities.COLLECTIONS
        for method, path, endpoint in (
            ("GET", "", entities.list_entities),
            ("GET", "/", entities.list_entities),
            ("GET", "/{name:path}", entities.get_entity),
            ("PUT", "/{name:path}", entities.put_entity),
            ("DELETE", "/{name:path}", entities.delete_entity),
        )
    ]
    routes = [
        route("POST", action, actions.invoke_action),  # first, since it is asked most often
        route("POST", NAMESPACED + "/triggers/{name}", triggers.fire_trigger),
        route("POST", NAMESPACED + "/rules/{name}", entities.set_rule_status),
        route("GET", NAMESPACED + "/activations", activations.list_activations),
        route("GET", activation, activations.get_activation),
        route("DELETE", activation, activations.cancel_activation),
        route("GET", activation + "/result", activations.get_result),
        route("GET", activation + "/logs", activations.get_logs),
        route("GET", NAMESPACED + "/executions", executions.list_executions),
        route("GET", execution, executions.get_execution),
        route("GET", execution + "/history", executions.get_history),
        route("POST", execution + "/cancel", executions.cancel_execution),
        route("POST", execution + "/resume", executions.resume_execution),
        route("POST", execution + "/redrive", executions.redrive_execution),
        route("GET", NAMESPACED + "/actions/{package}/", entities.list_package),
        *collections,
        route("POST", API + "/completions/{token}", completions.complete),
        route("GET", API + "/namespaces", service.list_namespaces),
        route("GET", operated, namespaces.list_all),
        route("GET", operated + "/{name}", namespaces.get),
        route("PUT", operated + "/{name}", namespaces.put),
        route("DELETE", operated + "/{name}", namespaces.delete),
        route("POST", operated + "/{name}/rotate", namespaces.rotate),
        route("GET", NAMESPACED + "/limits", service.get_limits),
        route("GET", NAMESPACED, service.get_namespace),
        route("GET", "/metrics", service.metrics),
        route("GET", "/health", service.health),
        route("GET", "/ping", service.ping),
        route("GET", "/", service.describe_host),
        route("GET", API, service.describe_api),
    ]
    handlers: dict[Any, Any] = {
        RefusedError: refused,
        InvalidNameError: refused,
        HTTPException: not_served,
        Exception: not_served,
    }
    return _Common(Starlette(routes=routes, exception_handlers=handlers))


class _Common:
    """Gives each request a transaction id, and each answer that id and the headers for browsers."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        transaction = _transaction(scope)
        scope["transaction"] = transaction.decode("latin-1")
        common = [(b"x-request-id", transaction), *_CORS]

        async def send_with_headers(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *common]
            await send(message)

        if scope["method"] == "OPTIONS":  # a browser asks what it may do, and shows no key
            await Response()(scope, receive, send_with_headers)
        else:
            await self._app(scope, receive, send_with_headers)


def _transaction(scope: Scope) -> bytes:
    for name, value in scope["headers"]:
        if name == b"x-request-id" and 0 < len(value) <= 4 * TRANSACTION_LENGTH:
            return bytes(value)
    return secrets.token_hex(TRANSACTION_LENGTH // 2).encode()
