"""Fires triggers over HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import Response

from . import requests
from .definitions import name_of
from .responses import Json

if TYPE_CHECKING:
    from starlette.requests import Request

    from .api import Api


async def fire_trigger(request: Request, api: Api) -> Response:
    """Fires a trigger: 202 with its activation if a rule is active, else 204."""
    name = name_of(request, api.auth.own(request))
    payload = await requests.parameters(request, api.payload_bytes)
    id = await api.engine.firing.fire(name, payload)
    if id is None:
        return Response(status_code=204)
    return Json({"activationId": id}, 202, {"x-openwhisk-activation-id": id})
