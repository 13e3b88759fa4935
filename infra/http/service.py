"""The service itself over HTTP: what it is, how it is, its namespaces, its figures."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING

from starlette.responses import Response

from .responses import Json

if TYPE_CHECKING:
    from starlette.requests import Request

    from .api import Api

VERSION = version("xingqiao")


async def describe(_: Request, __: Api) -> Json:
    """What this is. It is served to anybody."""
    return Json({"description": "Xingqiao", "version": VERSION, "api_paths": ["/api/v1"]})


async def health(_: Request, api: Api) -> Json:
    """Whether it works: 503 when its store does not commit, or it stops. It is served to anybody."""
    if api.stopping:
        return Json({"status": "stopping"}, 503)
    if not api.engine.healthy:
        return Json({"status": "the store does not commit"}, 503)
    return Json({"status": "ok"})


async def list_namespaces(request: Request, api: Api) -> Json:
    return Json([api.auth.namespace(request)])


async def metrics(request: Request, api: Api) -> Response:
    api.auth.namespace(request)
    return Response(api.metrics(), media_type="text/plain; version=0.0.4; charset=utf-8")
