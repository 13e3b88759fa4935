"""Completion triggers over HTTP: a step that answers later is answered by whoever holds its token."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...actions import outcome_of
from . import requests
from .responses import Json

if TYPE_CHECKING:
    from starlette.requests import Request

    from .api import Api


async def complete(request: Request, api: Api) -> Json:
    """The body is the result; an object with an `error` field is a failure. The token is the key."""
    result = await requests.parameters(request, api.payload_bytes)
    await api.engine.complete(request.path_params["token"], outcome_of(result))
    return Json({"accepted": True}, 202)
