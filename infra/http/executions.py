"""Executions over HTTP: where they stand, what has happened, and what an operator can do about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from infra.prices import priced

from . import reading
from .responses import Json

if TYPE_CHECKING:
    from starlette.requests import Request

    from .api import Api

MAX_ENTRIES = 1000
DEFAULT_ENTRIES = 100
MAX_PROGRAM_BYTES = 16 << 20


async def list_executions(request: Request, api: Api) -> Json:
    namespace = api.auth.own(request)
    query = reading.listing(request.query_params, namespace, "executions")
    return Json(await api.engine.records.executions(query))


async def get_execution(request: Request, api: Api) -> Json:
    namespace = api.auth.own(request)
    return Json(await api.engine.records.execution(namespace, request.path_params["id"]))


async def get_history(request: Request, api: Api) -> Json:
    """Entries after number `after`; `next` is what to give as `after` for more, if there are more."""
    namespace, query = api.auth.own(request), request.query_params
    after = reading.number(query, "after", 0, low=0, high=1 << 62, of="after")
    limit = reading.number(
        query, "limit", DEFAULT_ENTRIES, low=1, high=MAX_ENTRIES, of="history entries"
    )
    entries = await api.engine.records.history(
        namespace, request.path_params["id"], after=after, limit=limit
    )
    page = {"entries": entries}
    if len(entries) == limit:
        page["next"] = entries[-1]["seq"]
    return Json(page)


async def get_cost(request: Request, api: Api) -> Json:
    """What it has cost so far: time by cloud and by step, and money at list prices (see `prices`)."""
    namespace = api.auth.own(request)
    found = await api.engine.records.cost(namespace, request.path_params["id"])
    return Json({**found, "money": priced(found["steps"])})


async def cancel_execution(request: Request, api: Api) -> Json:
    namespace, id = api.auth.own(request), request.path_params["id"]
    terminate = reading.flag(request.query_params, "terminate")
    await api.engine.cancel(namespace, id, terminate=terminate)
    return await _state(namespace, id, api)


async def resume_execution(request: Request, api: Api) -> Json:
    namespace, id = api.auth.own(request), request.path_params["id"]
    await api.engine.resume(namespace, id)
    return await _state(namespace, id, api)


async def redrive_execution(request: Request, api: Api) -> Json:
    namespace, id = api.auth.own(request), request.path_params["id"]
    document = await reading.parameters(request, MAX_PROGRAM_BYTES)
    await api.engine.redrive(namespace, id, document.get("composition"))
    return await _state(namespace, id, api)


async def _state(namespace: str, id: str, api: Api) -> Json:
    return Json(await api.engine.records.execution(namespace, id), 202)
