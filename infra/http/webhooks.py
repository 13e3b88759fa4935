"""Webhooks over HTTP: the holder of a webhook's token fires its trigger."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import Response

from . import requests
from .responses import Json

if TYPE_CHECKING:
    from starlette.requests import Request

    from .api import Api


async def call_webhook(request: Request, api: Api) -> Response:
    """Fires a trigger with the body as payload: 202 if a rule is active, else 204."""
    body = await requests.content(request, api.payload_bytes)
    id = await api.webhooks.hear(request.path_params["token"], request.headers, bytes(body))
    return Response(status_code=204) if id is None else Json({"activationId": id}, 202)
