"""Limits that wait, over HTTP: operators look at their lines and set their numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import Response

from . import requests
from .responses import Json

if TYPE_CHECKING:
    from starlette.requests import Request

    from .api import Api

NO_CONTENT = 204
MAX_BYTES = 1 << 16


async def list_limits(request: Request, api: Api) -> Json:
    """Lists the limits of the namespace that are in use or set: their numbers, holders and waiting executions."""
    return Json([*api.engine.limits.listed(api.auth.own(request))])


async def get_limit(request: Request, api: Api) -> Json:
    """Returns a limit: its numbers, and for each key which executions hold a slot or wait for one."""
    return Json(api.engine.limits.shown(api.auth.own(request), request.path_params["name"]))


async def put_limit(request: Request, api: Api) -> Json:
    """Sets the numbers of a limit. They count in place of those of compositions, at once."""
    namespace, name = api.auth.own(request), request.path_params["name"]
    doc = await requests.parameters(request, MAX_BYTES)
    await api.engine.limits.configure(namespace, name, doc)
    return Json(api.engine.limits.shown(namespace, name))


async def delete_limit(request: Request, api: Api) -> Response:
    """Removes the numbers that were set of a limit: those of compositions count again. Nobody leaves its line."""
    namespace, name = api.auth.own(request), request.path_params["name"]
    await api.engine.limits.configure(namespace, name, None)
    return Response(status_code=NO_CONTENT)
