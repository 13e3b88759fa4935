"""Activations over HTTP: list, get, result, logs."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from ...actions import STATUS_TEXT, WAITING, InvalidError, InvalidIdError, NotFoundError, summary
from ..engine import LogQuery
from . import requests
from .responses import Json
from .runs import given_id, run_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.requests import Request

    from .api import Api
    from .responses import Body

ID_LENGTH = 32
LOGS = 100  # activations of one page of logs
MAX_WAIT_MS = 60_000
_ID = re.compile(r"[0-9a-f]{32}")


async def list_activations(request: Request, api: Api) -> Json:
    """Lists activations, the newest first, filtered by `name`, `status`, `kind`, `cause`, `since` and `upto`."""
    namespace = api.auth.own(request)
    query = request.query_params
    wanted = requests.listing(query, namespace, "activations")
    wanted = replace(wanted, cause=query.get("cause"), kind=query.get("kind"))
    if wanted.status is not None:
        wanted = replace(wanted, status=_status(query))
    whole = requests.flag(query, "docs")
    if requests.flag(query, "count"):
        if whole:
            raise InvalidError("The parameter 'docs' is not permitted with 'count'.")
        return Json({"activations": await api.engine.records.count_activations(wanted)})
    found = await api.engine.records.activations(wanted, whole=whole)
    return Json(found if whole else [summary(record) for record in found])


def _status(query: Mapping[str, str]) -> int:
    """The number of a status that is given by number or by word; `waiting` is ours."""
    if query["status"] == "waiting":
        return WAITING
    if query["status"] in STATUS_TEXT:
        return STATUS_TEXT.index(query["status"])
    return requests.number(query, "status", 0, low=0, high=3, of="activations")


async def get_activation(request: Request, api: Api) -> Json:
    """Returns an activation; `wait` is the number of milliseconds to wait for its end."""
    return Json(await _record(request, api))


async def cancel_activation(request: Request, api: Api) -> Json:
    """Cancels a run: an action, or a whole composition. 202: it ends soon."""
    namespace, id = await _run(request, api)
    await api.engine.cancel(namespace, id)
    return Json({"activationId": id}, 202)


async def get_result(request: Request, api: Api) -> Json:
    """Returns the response of an activation."""
    record = await _record(request, api)
    if "response" not in record:
        raise NotFoundError("The activation waits for its callback: it has no result yet.")
    response = record["response"]
    return Json({name: response[name] for name in ("status", "success", "result", "size")})


async def get_logs(request: Request, api: Api) -> Json:
    """Returns the log of an activation."""
    return Json({"logs": (await _record(request, api))["logs"]})


async def follow_logs(request: Request, api: Api) -> Json:
    """Returns the activations that were stored after the position `after`, with their logs, oldest first.

    `next` is the `after` of the next page. With `wait` milliseconds it waits for an activation. A `gap`
    says that the server has forgotten the position.
    """
    namespace, query = api.auth.own(request), request.query_params
    limit = requests.number(query, "limit", LOGS, low=1, high=requests.MAX_LIST, of="logs")
    wait_ms = requests.number(query, "wait", 0, low=0, high=MAX_WAIT_MS, of="wait")
    wanted = LogQuery(
        after=query.get("after") or None,
        name=query.get("name"),
        execution=query.get("execution"),
        limit=limit,
    )
    page = await api.engine.watching.logs(namespace, wanted, wait_ms / 1000)
    return Json({**page.to_json(), "now": api.engine.now_ms})


async def _record(request: Request, api: Api) -> Body:
    namespace, id = await _run(request, api)
    wait_ms = requests.number(request.query_params, "wait", 0, low=0, high=MAX_WAIT_MS, of="wait")
    return await api.engine.watching.activation(namespace, id, wait_ms / 1000)


async def _run(request: Request, api: Api) -> tuple[str, str]:
    """The caller's namespace, and the activation that the path names: by its id, or by the id of its execution.

    Raises:
        InvalidError: with OpenWhisk's text, when it is neither.
    """
    id = given_id(request)
    if _ID.fullmatch(id):
        return api.auth.own(request), id
    try:
        return await run_of(request, api)
    except (NotFoundError, InvalidIdError):
        if len(id) != ID_LENGTH:
            text = f"Activation id length is {len(id)} but must be {ID_LENGTH}."
            raise InvalidError(text) from None
        raise InvalidError("The activation id is not valid.") from None
