"""Updates of executions over HTTP: asked for, and told when they have ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...actions import STAGE_ACCEPTED, InvalidError, check_stage
from . import requests
from .activations import MAX_WAIT_MS
from .responses import Json
from .runs import run_of
from .visibility import check_run_shown

if TYPE_CHECKING:
    from starlette.requests import Request

    from ...actions import UpdateRecord
    from .api import Api


async def update_execution(request: Request, api: Api) -> Json:
    """Updates an execution with the payload that is the body; with `update=ID` the update is taken once.

    It waits `timeout` milliseconds for the answer: 200, with `status` `completed` or `failed`. After that time, or
    with `wait=accepted`, 202: the update is accepted and durable.
    """
    (namespace, execution), query = await run_of(request, api), request.query_params
    id, wait = query.get("update", ""), query.get("wait", "completed")
    check_stage(wait)
    if not id and "update" in query:
        raise InvalidError("'update' must be the id of the update; leave it out if it has none.")
    await check_run_shown(namespace, execution, api)
    timeout_ms = requests.number(
        query, "timeout", MAX_WAIT_MS, low=0, high=MAX_WAIT_MS, of="timeout"
    )
    payload = await requests.body(request, api.payload_bytes)
    name = request.path_params["name"]
    updated = await api.engine.updates.update(
        namespace, execution, name, payload, id,
        wait_s=timeout_ms / 1000, accepted=wait == STAGE_ACCEPTED,
    )  # fmt: skip
    return _shown(updated)


async def get_update(request: Request, api: Api) -> Json:
    """Tells the outcome of an update, after its execution has ended, too. Waits `wait` milliseconds for its end."""
    (namespace, execution), path = await run_of(request, api), request.path_params
    await check_run_shown(namespace, execution, api)
    wait_ms = requests.number(request.query_params, "wait", 0, low=0, high=MAX_WAIT_MS, of="wait")
    found = await api.engine.updates.outcome(
        namespace, execution, path["update"], name=path["name"], wait_s=wait_ms / 1000
    )
    return _shown(found)


def _shown(updated: UpdateRecord) -> Json:
    return Json(updated.to_json(), 202 if updated.outcome is None else 200)
