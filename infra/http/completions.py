"""Completion triggers over HTTP: the holder of a step's token completes the step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...actions import outcome_of
from . import requests
from .responses import Json

if TYPE_CHECKING:
    from starlette.requests import Request

    from .api import Api


async def complete(request: Request, api: Api) -> Json:
    """Completes a step: the body is the result, and an `error` field means failure. The token authenticates."""
    result = await requests.parameters(request, api.payload_bytes)
    await api.engine.complete(request.path_params["token"], outcome_of(result))
    return Json({"accepted": True}, 202)
