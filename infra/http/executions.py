"""Executions over HTTP: their state, their history, and the operator's actions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...actions import InvalidError, UnavailableError, outcome_of
from ...composer import APPLICATION_ERROR, Failure, boxed
from ..engine import LogQuery, priced
from . import requests
from .attributes import find_executions
from .responses import Json
from .runs import run_of
from .visibility import check_run_shown, is_row_hidden, is_run_hidden, without_values

if TYPE_CHECKING:
    from starlette.requests import Request

    from ...composer import Outcome
    from .api import Api
    from .responses import Body

MAX_ENTRIES = 1000
DEFAULT_ENTRIES = 100
MAX_PROGRAM_BYTES = 16 << 20
MAX_WAIT_MS = 60_000
_ANSWER = {"step", "result", "error"}


async def list_executions(request: Request, api: Api) -> Json:
    """Lists executions, the newest first, filtered by `name`, `status`, `since` and `upto`.

    With `where`, a filter, it returns a page as an object: see `attributes.find_executions`. With `id` it lists
    the runs of the execution with that id of its user's.
    """
    if "where" in request.query_params:
        return await find_executions(request, api)
    namespace = api.auth.own(request)
    query = requests.listing(request.query_params, namespace, "executions")
    if "id" in request.query_params:
        runs = await api.engine.identities.runs_of(namespace, request.query_params["id"])
        return Json(await api.engine.records.executions(query, runs))
    return Json(await api.engine.records.executions(query))


async def get_execution(request: Request, api: Api) -> Json:
    """Describes an execution: its status, its error, and the place of each fiber."""
    return Json(await _shown(*await run_of(request, api), api))


async def _shown(namespace: str, id: str, api: Api) -> Body:
    doc: Body = await api.engine.records.execution(namespace, id)
    if await is_run_hidden(namespace, id, api):
        for fiber in doc["fibers"]:
            fiber.pop("input", None)
    return doc


async def get_history(request: Request, api: Api) -> Json:
    """Returns entries after number `after`; `next` is the `after` of the next page, if there is one.

    With `wait` milliseconds it waits for an entry while the execution is under way. With `logs`, a position
    in the logs ("" for the present one), the answer has the logs of its steps too, and waits for either.
    """
    (namespace, id), query = await run_of(request, api), request.query_params
    after = requests.number(query, "after", 0, low=0, high=1 << 62, of="after")
    limit = requests.number(
        query, "limit", DEFAULT_ENTRIES, low=1, high=MAX_ENTRIES, of="history entries"
    )
    wait_s = requests.number(query, "wait", 0, low=0, high=MAX_WAIT_MS, of="wait") / 1000
    watching = api.engine.watching
    if "logs" in query:
        logs = LogQuery(after=query["logs"] or None)
        found = await watching.both(
            namespace, id, after=after, limit=limit, logs=logs, wait_s=wait_s
        )
    else:
        found = await watching.history(namespace, id, after=after, limit=limit, wait_s=wait_s)
    entries = found.entries
    if is_row_hidden(found.row, api):
        entries = [*map(without_values, entries)]
    page: Body = {"entries": entries, "status": found.row.status}
    if len(entries) == limit:
        page["next"] = entries[-1]["seq"]
    if found.logs is not None:
        page["logs"] = found.logs.to_json()
    return Json(page)


async def get_cost(request: Request, api: Api) -> Json:
    """Returns the cost so far: time by cloud and by step, and money at list prices (see `prices`)."""
    found: Body = await api.engine.records.cost(*await run_of(request, api))
    return Json({**found, "money": priced(found["steps"])})


async def cancel_execution(request: Request, api: Api) -> Json:
    """Cancels an execution: finalizers and undos run. 202: it ends soon."""
    namespace, id = await run_of(request, api)
    terminate = requests.flag(request.query_params, "terminate")
    if api.engine.recovery.paused and not terminate:
        text = (
            "The server is paused: no finalizer can run. Cancel it with terminate, or resume first."
        )
        raise UnavailableError(text)
    await api.engine.cancel(namespace, id, terminate=terminate)
    return await _state(namespace, id, api)


async def pause_execution(request: Request, api: Api) -> Json:
    """Pauses an execution: running steps end, and no further step begins."""
    namespace, id = await run_of(request, api)
    await api.engine.pauses.pause(namespace, id)
    return await _state(namespace, id, api)


async def resume_execution(request: Request, api: Api) -> Json:
    """Resumes a paused execution."""
    namespace, id = await run_of(request, api)
    await api.engine.resume(namespace, id)
    return await _state(namespace, id, api)


async def answer_step(request: Request, api: Api) -> Json:
    """Answers a step that waits for its callback: `{"result"}` or `{"error"}`, with `step` if several wait."""
    document = await requests.parameters(request, api.payload_bytes)
    namespace, id = await run_of(request, api)
    if unknown := document.keys() - _ANSWER:
        raise InvalidError(f"'{min(unknown)}' is not known: give result or error, and step.")
    if ("result" in document) == ("error" in document):
        raise InvalidError("Give either 'result' or 'error'.")
    if "error" in document:
        outcome: Outcome = Failure(APPLICATION_ERROR, document["error"])
    else:
        outcome = outcome_of(boxed(document["result"]))
    await api.engine.answering.answer_step(
        namespace, id, requests.member(document, "step", str), outcome
    )
    return Json({"accepted": True}, 202)


async def redrive_execution(request: Request, api: Api) -> Json:
    """Continues a failed execution from its failed steps, with another `composition` if the body has one."""
    given = await requests.definition(request, MAX_PROGRAM_BYTES, api.engine.threads)
    namespace, id = await run_of(request, api)
    composition = requests.as_object(given).get("composition")
    if composition is not None:
        await check_run_shown(namespace, id, api)
    wait_ms = requests.number(request.query_params, "wait", 0, low=0, high=MAX_WAIT_MS, of="wait")
    await api.engine.redrive(namespace, id, composition)
    if wait_ms:
        await api.engine.wait(namespace, id, wait_ms / 1000)
    return await _state(namespace, id, api)


async def _state(namespace: str, id: str, api: Api) -> Json:
    return Json(await _shown(namespace, id, api), 202)
