"""Schedules over HTTP: actions that start at given times."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from ...actions import STOPS, InvalidError, NotFoundError, instant_ms, overlap_of
from ...composer import boxed
from ..access import RIGHTS, Right
from . import requests
from .responses import Json

if TYPE_CHECKING:
    from starlette.requests import Request

    from ...composer import JSON
    from .api import Api


async def list_schedules(request: Request, api: Api) -> Json:
    """Lists the schedules of the caller's namespace by name, each with its status and its next time."""
    namespace, query = api.auth.own(request), request.query_params
    names = api.engine.schedules.names(namespace)
    if requests.flag(query, "count"):
        return Json({"schedules": len(names)})
    skip, limit = requests.page(query, "schedules")
    lines = []
    for name in names[skip : skip + limit]:
        with suppress(NotFoundError):  # it was deleted meanwhile
            lines.append(api.engine.schedules.get(namespace, name, brief=True))
        await asyncio.sleep(0)  # noqa: TID251  a time may be hard to find: others go on in between
    return Json(lines)


async def get_schedule(request: Request, api: Api) -> Json:
    """Describes a schedule: its document, its next 10 times, its last 10 runs, and its counts."""
    return Json(api.engine.schedules.get(*_named(request, api)))


async def put_schedule(request: Request, api: Api) -> Json:
    """Creates a schedule, or replaces it with `overwrite=true`. Its times count from now."""
    namespace, name = _named(request, api)
    document = await requests.parameters(request, api.payload_bytes)
    overwrite = requests.flag(request.query_params, "overwrite")
    return Json(await api.engine.schedules.put(namespace, name, document, overwrite=overwrite))


async def delete_schedule(request: Request, api: Api) -> Json:
    """Deletes a schedule, and returns it. Its open runs go on."""
    return Json(await api.engine.schedules.remove(*_named(request, api)))


async def pause_schedule(request: Request, api: Api) -> Json:
    """Pauses a schedule: its times pass without effect."""
    return Json(await api.engine.schedules.pause(*_named(request, api)))


async def resume_schedule(request: Request, api: Api) -> Json:
    """Resumes a schedule. The times that passed in the pause are not met."""
    return Json(await api.engine.schedules.resume(*_named(request, api)))


async def trigger_schedule(request: Request, api: Api) -> Json:
    """Starts a run of a schedule now, under its overlap policy or the `overlap` of the body."""
    body = await _body(request, api, "overlap")
    overlap = _overlap(request, body, api)
    found = await api.engine.schedules.trigger(*_named(request, api), overlap)
    return Json(_shown(found, request, api), 202)


async def backfill_schedule(request: Request, api: Api) -> Json:
    """Starts a run for each time between `from` and `to` of the body, both included; with its `overlap`."""
    body = await _body(request, api, "from", "to", "overlap")
    period_ms = instant_ms("from", body.get("from")), instant_ms("to", body.get("to"))
    named = _named(request, api)
    overlap = _overlap(request, body, api)
    found = await api.engine.schedules.backfill(*named, period_ms, overlap)
    return Json(_shown(found, request, api), 202)


def _shown(found: dict[str, JSON], request: Request, api: Api) -> dict[str, JSON]:
    """The description without the input of its runs, for a key that may not read definitions."""
    if Right.READ in RIGHTS[api.auth.identity(request).role]:
        return found
    document = boxed(found["document"])
    do = {name: value for name, value in boxed(document["do"]).items() if name != "input"}
    return {**found, "document": {**document, "do": do}}


def _named(request: Request, api: Api) -> tuple[str, str]:
    return api.auth.own(request), request.path_params["name"]


async def _body(request: Request, api: Api, *known: str) -> dict[str, JSON]:
    body = await requests.parameters(request, api.payload_bytes)
    if unknown := body.keys() - set(known):
        raise InvalidError(f"the field '{min(unknown)}' does not exist: {', '.join(known)} do")
    return body


def _overlap(request: Request, body: dict[str, JSON], api: Api) -> str | None:
    """The policy that a request chooses. One that stops runs needs the right to cancel."""
    given = body.get("overlap")
    if given is None:
        return None
    overlap = overlap_of(given)
    if overlap in STOPS:
        api.auth.identity(request).check(Right.DEPLOY)
    return overlap
