"""Completion triggers over HTTP: the holder of a step's token completes the step, or tells that it is at work."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...actions import outcome_of
from . import requests
from .responses import Json

if TYPE_CHECKING:
    from starlette.requests import Request

    from .api import Api

MAX_DETAILS_BYTES = 64 << 10


async def complete(request: Request, api: Api) -> Json:
    """Completes a step: the body is the result, and an `error` field means failure. The token authenticates."""
    result = await requests.parameters(request, api.payload_bytes)
    await api.engine.complete(request.path_params["token"], outcome_of(result))
    return Json({"accepted": True}, 202)


async def heartbeat(request: Request, api: Api) -> Json:
    """Notes that a worker is at work on a task; `details` are kept for the next worker. The token authenticates.

    `cancel` in the response is true if the task is not waited for any more: the worker should stop.
    """
    doc = await requests.parameters(request, MAX_DETAILS_BYTES)
    waited_for = await api.engine.queues.beat(request.path_params["token"], doc.get("details"))
    return Json({"cancel": not waited_for})
