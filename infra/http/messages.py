"""Messages over HTTP: told to an execution, and listed while they wait."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...actions import Call, InvalidError, StartOptions
from ...composer import Name
from . import requests
from .responses import Json
from .runs import given_id, run_of
from .starts import token_of
from .visibility import is_run_hidden

if TYPE_CHECKING:
    from starlette.requests import Request

    from ...composer import JSON
    from .api import Api

MAX_LIST = 1000
DEFAULT_LIST = 100


async def tell(request: Request, api: Api) -> Json:
    """Tells an execution a message, whose payload is the body; with `message=ID` it is taken once. 202: it is durable.

    A call that is sent again with the same message and Idempotency-Key gets the answer of the first time. A key
    without `message` is refused.

    With `start=ACTION` the execution starts if none with this id is open, told the message before its first part
    runs; the body is `{"input", "payload"}`.
    """
    if "start" in request.query_params:
        return await _tell_or_start(request, api)
    namespace, execution = await run_of(request, api)
    id, name = _id(request), request.path_params["name"]
    payload = await requests.body(request, api.payload_bytes)
    token = token_of(request)
    taken = await api.engine.messages.tell(namespace, execution, name, payload, id, token)
    return Json(_accepted(execution, name, id, taken=taken), 202)


async def _tell_or_start(request: Request, api: Api) -> Json:
    namespace, query, name = (
        api.auth.own(request),
        request.query_params,
        request.path_params["name"],
    )
    document = await requests.parameters(request, api.payload_bytes)
    if unknown := document.keys() - {"input", "payload"}:
        raise InvalidError(f"'{min(unknown)}' is not known: give input and payload.")
    options = StartOptions(
        id=given_id(request), on_open="use", on_closed=query.get("on_closed", "allow")
    )
    call = Call(
        name=Name.parse(query["start"]).within(namespace),
        params=requests.member(document, "input", dict) or {},
        namespace=namespace,
        trace=requests.trace(request),
        options=options,
    )
    payload, id = document.get("payload"), _id(request)
    invoked, taken = await api.engine.messages.tell_or_start(call, name, payload, id)
    accepted = _accepted(invoked.activation, name, id, taken=taken)
    return Json({**accepted, "id": options.id, "started": invoked.started}, 202)


def _id(request: Request) -> str:
    id: str = request.query_params.get("message", "")
    if not id and "message" in request.query_params:
        raise InvalidError("'message' must be the id of the message; leave it out if it has none.")
    if not id and token_of(request):
        raise InvalidError(
            "An Idempotency-Key alone does not make a message safe to send again: add the query parameter "
            "'message' with an id of the message, or leave out the key."
        )
    return id


def _accepted(execution: str, name: str, id: str, *, taken: bool) -> dict[str, JSON]:
    accepted: dict[str, JSON] = {"executionId": execution, "name": name}
    if id:
        accepted["message"] = id
    if not taken:
        accepted["replayed"] = True
    return accepted


async def list_messages(request: Request, api: Api) -> Json:
    """Lists messages that an execution has not received yet, in order of arrival: `limit` after number `after`."""
    (namespace, id), query = await run_of(request, api), request.query_params
    after = requests.number(query, "after", 0, low=0, high=1 << 62, of="after")
    limit = requests.number(query, "limit", DEFAULT_LIST, low=1, high=MAX_LIST, of="messages")
    page = await api.engine.messages.undelivered(namespace, id, after, limit)
    # A chain may have continued as an action that a package hides.
    if await is_run_hidden(namespace, await api.engine.chains.newest(id), api):
        for message in page:
            del message["payload"]
    return Json(page)
