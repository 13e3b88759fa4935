"""Stuck sagas and transactions in doubt over HTTP: an operator lists and resolves them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ...actions import ConflictError, InvalidError, NotFoundError
from ...composer import Resolved, Resumed, boxed
from . import requests
from .responses import Json
from .runs import run_of

if TYPE_CHECKING:
    from starlette.requests import Request

    from ...composer import JSON
    from .api import Api
    from .responses import Body

STUCK = "stuck"
IN_DOUBT = "in doubt"
VERBS = {  # with the members that a request may have
    "retry": {"do", "fiber", "reason", "params"},
    "skip": {"do", "fiber", "reason"},
    "resolve": {"do", "fiber", "reason", "result"},
}
DECISION = {"decision", "reason"}
MAX_REASON = 1_000


async def list_sagas(request: Request, api: Api) -> Json:
    """Lists executions with stuck sagas, or with another status."""
    namespace = api.auth.own(request)
    query = requests.listing(request.query_params, namespace, "sagas")
    if query.status is None:
        query = replace(query, status=STUCK)
    return Json(await api.engine.records.executions(query))


async def get_saga(request: Request, api: Api) -> Json:
    """Describes a saga's execution: where it is stuck, and the compensations that are left."""
    return Json(await api.engine.records.execution(*await run_of(request, api)))


async def resolve_saga(request: Request, api: Api) -> Json:
    """Has a stuck saga retry or skip its step: `{"do", "reason", "fiber"?, "params"?, "result"?}`."""
    document = await requests.parameters(request, api.payload_bytes)
    namespace, id = await run_of(request, api)
    verb, fiber = document.get("do"), document.get("fiber")
    if not isinstance(verb, str) or verb not in VERBS:
        raise InvalidError(f"'do' must be one of {', '.join(VERBS)}, not {verb!r:.80}")
    _check_members(document, VERBS[verb], f"A saga's {verb}")
    if fiber is not None and not isinstance(fiber, str):
        raise InvalidError(f"'fiber' must be a string, not {fiber!r:.80}")
    event = _event(verb, document, namespace)
    if fiber is None and not document.keys().isdisjoint({"params", "result"}):
        await _check_one_place(namespace, id, api)
    await api.engine.resume(namespace, id, event, fiber)
    return Json(await api.engine.records.execution(namespace, id), 202)


def _event(verb: str, document: dict[str, JSON], by: str) -> Resumed | Resolved:
    detail: dict[str, JSON] = {"by": by}
    if verb != "retry" or "reason" in document:
        detail["reason"] = _reason(document)
    if verb != "retry":
        return Resolved(verb, _result(document.get("result")), detail)
    params = document.get("params")
    if params is not None and not isinstance(params, dict):
        raise InvalidError(f"'params' must be an object, not {params!r:.80}")
    return Resumed(params, detail)


def _result(value: JSON) -> JSON:
    """The result that a step is given: an object without an error."""
    if value is None:
        return None
    result = boxed(value)
    if "error" in result:
        raise InvalidError("'result' has a member 'error': a step that is resolved has succeeded.")
    return result


async def _check_one_place(namespace: str, id: str, api: Api) -> None:
    """Checks that a result or parameters go to one step only."""
    found: Body = await api.engine.records.execution(namespace, id)
    held = [str(fiber["fiber"]) for fiber in found["fibers"] if fiber["waits"] == "operator"]
    if len(held) > 1:
        raise ConflictError(
            f"Execution {id} is stuck in several fibers: say in 'fiber' which of {', '.join(held)}."
        )


def _reason(document: dict[str, JSON]) -> str:
    reason = document.get("reason")
    if not isinstance(reason, str) or not reason.strip() or len(reason) > MAX_REASON:
        raise InvalidError(
            f"'reason' must say why, in 1 to {MAX_REASON} characters: it stands in the history"
        )
    return reason


def _check_members(document: dict[str, JSON], known: set[str], what: str) -> None:
    if unknown := document.keys() - known:
        names = ", ".join(sorted(known))
        raise InvalidError(f"{what} has no member {min(unknown)!r:.80}; it takes {names}.")


async def list_transactions(request: Request, api: Api) -> Json:
    """Lists the transactions in doubt, and those that an operator has decided."""
    namespace = api.auth.own(request)
    skip, limit = requests.page(request.query_params, "transactions")
    return Json(api.engine.heuristics.votes(namespace)[skip : skip + limit])


async def decide_transaction(request: Request, api: Api) -> Json:
    """Decides a transaction in place of its coordinator: `{"decision": "commit" | "abort", "reason"}`."""
    namespace, id = api.auth.own(request), request.path_params["id"]
    document = await requests.parameters(request, api.payload_bytes)
    decision = document.get("decision")
    if decision not in ("commit", "abort"):
        raise InvalidError(f"'decision' must be commit or abort, not {decision!r:.80}")
    _check_members(document, DECISION, "A decision")
    reason, votes = _reason(document), _votes(namespace, id, api)
    if all(vote["state"] != IN_DOUBT for vote in votes):
        raise ConflictError(f"Transaction {id} is decided already: {votes[0]['decision']}.")
    await api.engine.heuristics.decide(
        namespace, id, commits=decision == "commit", by=namespace, reason=reason
    )
    return Json({"transaction": id, "decision": decision})


async def forget_transaction(request: Request, api: Api) -> Json:
    """Removes a decided transaction from the list."""
    namespace, id = api.auth.own(request), request.path_params["id"]
    if all(vote["state"] == IN_DOUBT for vote in _votes(namespace, id, api)):
        raise ConflictError(f"Transaction {id} is in doubt: commit or abort it first.")
    await api.engine.heuristics.forget(namespace, id)
    return Json({"transaction": id})


def _votes(namespace: str, id: str, api: Api) -> list[dict[str, JSON]]:
    """The votes of one transaction.

    Raises:
        NotFoundError: the transaction is unknown.
    """
    votes = api.engine.heuristics.votes(namespace)
    found = [vote for vote in votes if vote["transaction"] == id]
    if not found:
        raise NotFoundError
    return found
