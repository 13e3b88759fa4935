"""Web actions over HTTP: whoever asks, the action runs in the namespace that it is of."""

from __future__ import annotations

import hmac
from typing import TYPE_CHECKING

from starlette.responses import Response

from actions import (
    METHODS,
    Action,
    Call,
    NotFoundError,
    RefusedError,
    Target,
    UnauthorizedError,
    WebRequest,
    check_exported,
    status_of,
    target_of,
    web_parameters,
    web_response,
)
from composer import InvalidNameError, Name

from . import reading
from .errors import failed
from .responses import Json

if TYPE_CHECKING:
    from starlette.requests import Request

    from .api import Api

WAIT_S = 60.0
NO_PACKAGE = "default"
GATEWAY = ("whisk.system", "apimgmt")  # where OpenWhisk's clients expect one
SECRET_HEADER = "x-require-whisk-auth"  # noqa: S105  its name, not what is in it
SUCCESS, APPLICATION = 0, 1


async def serve(request: Request, api: Api) -> Response:
    """Invokes a web action, waits for it, and answers as it says."""
    target = target_of(request.path_params["action"])
    action = _found(request, target, api)
    if request.method == "OPTIONS" and not action.marked("web-custom-options"):
        return _options(request)
    user = _user(request, action, api)
    asked = WebRequest(
        method=request.method,
        path=target.path,
        headers={name.lower(): value for name, value in request.headers.items()},
        query=request.url.query,
        body=bytes(await reading.content(request, api.payload_bytes)),
        user=user,
    )
    params = web_parameters(asked, action)
    call = Call(name=action.listed_as, params=params, namespace=request.path_params["namespace"])
    invoked = await api.engine.invoke(call, wait_s=WAIT_S)
    headers = {"x-openwhisk-activation-id": invoked.activation}
    if invoked.ended is None:
        code = request.scope["transaction"]
        return Json({"error": "Response not yet ready.", "code": code}, 202, headers)
    status = status_of(invoked.ended.outcome)
    if status > APPLICATION:
        return failed(request, 400, "There was an error processing your request.", headers)
    accept = request.headers.get("accept", "")
    made = web_response(
        target, invoked.ended.outcome.value, failed=status != SUCCESS, accept=accept
    )
    response = Response(made.body, made.status, headers)
    response.raw_headers += [
        (name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in made.headers
    ]
    return response


def _found(request: Request, target: Target, api: Api) -> Action:
    """The action that is asked for.

    Raises:
        NotFoundError: when there is none, or it is not for the web: nobody is told which.
    """
    namespace, package = request.path_params["namespace"], request.path_params["package"]
    if (namespace, package) == GATEWAY:
        raise NotFoundError(
            "There is no API gateway here: a web action has a URL of its own, "
            "/api/v1/web/NAMESPACE/PACKAGE/ACTION."
        )
    path = target.action if package == NO_PACKAGE else f"{package}/{target.action}"
    try:
        action = api.engine.catalog.resolve(Name.parse(f"/{namespace}/{path}"), namespace)
    except (RefusedError, InvalidNameError):
        raise NotFoundError from None
    check_exported(action)
    return action


def _user(request: Request, action: Action, api: Api) -> str | None:
    """The namespace that asks, if the action wants to know.

    Raises:
        UnauthorizedError: when it must be one, or must know the action's secret, and does not.
    """
    wanted = action.annotations.get("require-whisk-auth")
    if wanted is None or wanted is False:
        return None
    if wanted is True:
        return api.auth.caller(request)
    shown = request.headers.get(SECRET_HEADER, "")
    if isinstance(wanted, (str, int)) and hmac.compare_digest(shown.encode(), str(wanted).encode()):
        return None
    raise UnauthorizedError("The supplied authentication is invalid")


def _options(request: Request) -> Response:
    """What a browser may do: anything, with the headers that it names."""
    named = request.headers.get("access-control-request-headers")
    headers = {"access-control-allow-methods": ", ".join(METHODS)}
    if named:
        headers["access-control-allow-headers"] = named
    return Response(headers=headers)
