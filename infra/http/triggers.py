"""Fires triggers over HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import Response

from . import requests
from .cloudevents import envelope_of, holds_event
from .definitions import name_of
from .events import take_in
from .responses import Json

if TYPE_CHECKING:
    from starlette.requests import Request

    from .api import Api


async def fire_trigger(request: Request, api: Api) -> Response:
    """Fires a trigger: 202 with its activation if a rule invokes its action, else 204.

    CloudEvents in the binary, the structured or the batched mode are taken in as at `events`, for this trigger only.
    """
    name = name_of(request, api.auth.own(request))
    if holds_event(request.headers):
        return await take_in(request, api, envelope_of(request.headers.raw), name.namespace, name)
    payload = await requests.parameters(request, api.payload_bytes)
    id = await api.engine.firing.fire(name, payload)
    if id is None:
        return Response(status_code=204)
    return Json({"activationId": id}, 202, {"x-openwhisk-activation-id": id})
