"""Invokes actions over HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...actions import Call, status_of
from . import requests
from .definitions import name_of
from .responses import Json
from .starts import options_of, token_of

if TYPE_CHECKING:
    from starlette.requests import Request

    from ...composer import JSON
    from ..engine import Ended, Invoked
    from .api import Api

MAX_WAIT_MS = 60_000
SUCCESS = 0
INTERNAL = 3


async def invoke_action(request: Request, api: Api) -> Json:
    """Invokes an action; answers at once with an id, or waits for the result, as OpenWhisk does.

    200 if the action succeeded, 502 if it failed, 500 if the server failed; 202 without a wait, or if the
    wait was too short. With `id` the execution gets an id of the caller's: `on_open` and `on_closed` say what
    happens if an execution has it. With `token` a call that is sent again begins nothing.
    """
    caller, namespace = api.auth.named(request)
    query = request.query_params
    call = Call(
        name=name_of(request, namespace),
        params=await requests.parameters(request, api.payload_bytes),
        namespace=caller,
        trace=requests.trace(request),
        idempotency_key=token_of(request),
        options=options_of(request, api),
    )
    wait_ms = None
    if requests.flag(query, "blocking"):
        wait_ms = requests.number(
            query, "timeout", MAX_WAIT_MS, low=1, high=MAX_WAIT_MS, of="timeout"
        )
    invoked = await api.engine.invoke(call, wait_s=None if wait_ms is None else wait_ms / 1000)
    result = requests.flag(query, "result")
    return await answered(invoked, caller, api, result=result, waited=wait_ms is not None)


async def answered(invoked: Invoked, caller: str, api: Api, *, result: bool, waited: bool) -> Json:
    """The response to a call: its result, its record, or 202 while it runs."""
    headers = {"x-openwhisk-activation-id": invoked.activation}
    if invoked.replayed:
        headers["idempotency-replayed"] = "true"
    if invoked.ended is None:
        return Json(_accepted(invoked, waited=waited), 202, headers)
    if result:
        return Json(invoked.ended.outcome.value, _status(invoked.ended), headers)
    record = await api.engine.records.activation(caller, invoked.activation)
    named = {"id": invoked.id} if invoked.id else {}
    return Json({**record, **named}, _status(invoked.ended), headers)


def _accepted(invoked: Invoked, *, waited: bool) -> dict[str, JSON]:
    """The body of a 202; after a wait it says how to wait again."""
    accepted: dict[str, JSON] = {"activationId": invoked.activation}
    if invoked.id:
        accepted["id"] = invoked.id
    if waited:
        accepted["status"] = "running"
        accepted["message"] = (
            "The activation has not ended within the wait, and goes on. To wait again: "
            f"GET /api/v1/namespaces/_/activations/{invoked.activation}?wait={MAX_WAIT_MS}"
        )
    return accepted


def _status(ended: Ended) -> int:
    status = status_of(ended.outcome)
    if status == SUCCESS:
        return 200
    return 500 if status == INTERNAL else 502
