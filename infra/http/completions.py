"""Completion triggers over HTTP: the holder of a step's token completes the step, or says that it is at work."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...actions import InvalidError, outcome_of
from ...composer import MAX_DEPTH, nests_deeper
from . import requests
from .responses import Json

if TYPE_CHECKING:
    from starlette.requests import Request

    from .api import Api

DETAILS_BYTES = 64 << 10


async def heartbeat(request: Request, api: Api) -> Json:
    """Notes that a step is at work; the body is its progress. `{"cancel": true}` tells the step to stop.

    The token authenticates.
    """
    details = await requests.body(request, DETAILS_BYTES)
    if isinstance(details, (dict, list)) and nests_deeper(details):
        why = f"it nests deeper than {MAX_DEPTH} levels"
        raise InvalidError(f"The request content was malformed:\n{why}")
    cancel = await api.engine.answering.beat(request.path_params["token"], details)
    return Json({"cancel": cancel})


async def complete(request: Request, api: Api) -> Json:
    """Completes a step: the body is the result, and an `error` field means failure. The token authenticates."""
    result = await requests.parameters(request, api.payload_bytes)
    await api.engine.complete(request.path_params["token"], outcome_of(result))
    return Json({"accepted": True}, 202)
