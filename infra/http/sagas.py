"""Sagas that are stuck, and transactions in doubt, over HTTP: what an operator sees and decides."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from actions import InvalidError
from composer import Resolved, Resumed

from . import reading
from .responses import Json

if TYPE_CHECKING:
    from starlette.requests import Request

    from composer import JSON

    from .api import Api

STUCK = "stuck"
VERBS = ("retry", "skip", "resolve")
MAX_REASON = 1_000


async def list_sagas(request: Request, api: Api) -> Json:
    """Executions whose sagas are stuck; or of another status."""
    namespace = api.auth.own(request)
    query = reading.listing(request.query_params, namespace, "sagas")
    if query.status is None:
        query = replace(query, status=STUCK)
    return Json(await api.engine.records.executions(query))


async def get_saga(request: Request, api: Api) -> Json:
    """A saga's execution: for each place that it is stuck at, what is to be undone and what is left."""
    namespace = api.auth.own(request)
    return Json(await api.engine.records.execution(namespace, request.path_params["id"]))


async def resolve_saga(request: Request, api: Api) -> Json:
    """An operator has it try again, or go on without: `{"do", "reason", "fiber"?, "params"?, "result"?}`."""
    namespace, id = api.auth.own(request), request.path_params["id"]
    document = await reading.parameters(request, api.payload_bytes)
    verb, fiber = document.get("do"), document.get("fiber")
    if verb not in VERBS:
        raise InvalidError(f"'do' must be one of {', '.join(VERBS)}, not {verb!r:.80}")
    if fiber is not None and not isinstance(fiber, str):
        raise InvalidError(f"'fiber' must be a string, not {fiber!r:.80}")
    detail: dict[str, JSON] = {"by": namespace}
    if verb == "retry":
        params = document.get("params")
        if params is not None and not isinstance(params, dict):
            raise InvalidError(f"'params' must be an object, not {params!r:.80}")
        event: Resumed | Resolved = Resumed(params, detail)
    else:
        detail["reason"] = _reason(document)
        event = Resolved(verb, document.get("result"), detail)
    await api.engine.resume(namespace, id, event, fiber)
    return Json(await api.engine.records.execution(namespace, id), 202)


def _reason(document: dict[str, JSON]) -> str:
    reason = document.get("reason")
    if not isinstance(reason, str) or not 0 < len(reason) <= MAX_REASON:
        raise InvalidError(
            f"'reason' must say why, in 1 to {MAX_REASON} characters: it stands in the history"
        )
    return reason


async def list_transactions(request: Request, api: Api) -> Json:
    """What is in doubt in a namespace, and what an operator has decided."""
    return Json(api.engine.heuristics.votes(api.auth.own(request)))


async def decide_transaction(request: Request, api: Api) -> Json:
    """An operator decides what the coordinator has not: `{"decision": "commit" | "abort", "reason"}`."""
    namespace, id = api.auth.own(request), request.path_params["id"]
    document = await reading.parameters(request, api.payload_bytes)
    decision = document.get("decision")
    if decision not in ("commit", "abort"):
        raise InvalidError(f"'decision' must be commit or abort, not {decision!r:.80}")
    await api.engine.heuristics.decide(
        namespace, id, commits=decision == "commit", by=namespace, reason=_reason(document)
    )
    return Json({"transaction": id, "decision": decision})


async def forget_transaction(request: Request, api: Api) -> Json:
    """What an operator had decided is dealt with: it is listed no more."""
    namespace, id = api.auth.own(request), request.path_params["id"]
    await api.engine.heuristics.forget(namespace, id)
    return Json({"transaction": id})
