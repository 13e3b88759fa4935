"""Entities over HTTP: their types, keys, states and operations."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from ...actions import Action, Call, ForbiddenError, InvalidError, NotFoundError
from ...composer import Name, path, sequence, wait
from ...transactions import MessageError, key_of, parsed
from . import actions, requests
from .responses import Json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.requests import Request

    from ...composer import JSON
    from .api import Api

FIELDS = {"operation", "params", "read", "expected_version", "token", "undoes", "by"}
AT_ONCE = ("token", "undoes")  # fields for repeated calls, which a delayed signal cannot have
LATEST_S = 366 * 24 * 3600
_SECONDS = re.compile(r"[0-9]{1,11}(\.[0-9]{1,9})?")


def _type(request: Request, api: Api) -> tuple[str, Action]:
    """The caller's namespace, and the entity type that the path names.

    Raises:
        NotFoundError: the action does not exist, or is not an entity type.
        ForbiddenError: the type belongs to another namespace, even if its package is bound here.
    """
    namespace = api.auth.own(request)
    package, name = request.path_params.get("package"), request.path_params["type"]
    text = f"/{namespace}/{package}/{name}" if package else f"/{namespace}/{name}"
    action = api.engine.catalog.resolve(Name.parse(text), namespace)
    if action.entity is None:
        raise NotFoundError
    if action.name.namespace != namespace:
        raise ForbiddenError(text.removeprefix("/"))
    return namespace, action


def _key(request: Request) -> str:
    """The key in the path.

    Raises:
        InvalidError: the key is malformed.
    """
    if request.scope["path"].endswith("\n"):  # the pattern of a route does not match it
        raise InvalidError("A key has no line break.")
    try:
        return key_of(request.path_params)
    except MessageError as error:
        raise InvalidError(str(error)) from None


async def list_types(request: Request, api: Api) -> Json:
    """Lists the entity types of a namespace."""
    namespace = api.auth.own(request)
    found = api.engine.catalog.all(Action, namespace)
    types = [action for action in found if action.entity is not None]
    skip, limit = requests.page(request.query_params, "entities")
    return Json([action.summary() for action in types[skip : skip + limit]])


async def list_keys(request: Request, api: Api) -> Json:
    """Lists entities of a type by key: keys that begin with `prefix`, after the key `after`."""
    _, action = _type(request, api)
    query = request.query_params
    _, limit = requests.page(query, "entities")
    found = await api.engine.records.entities(
        str(action.name), query.get("prefix", ""), after=query.get("after", ""), limit=limit
    )
    if not requests.flag(query, "docs"):
        for doc in found:
            del doc["state"]
    page: dict[str, JSON] = {"entities": [*found]}
    if len(found) == limit:
        page["next"] = found[-1]["key"]
    return Json(page)


async def get_entity(request: Request, api: Api) -> Json:
    """Returns an entity's last committed state, without waiting for calls under way."""
    _, action = _type(request, api)
    return Json(await api.engine.records.entity(str(action.name), _key(request)))


async def delete_entity(request: Request, api: Api) -> Json:
    """Deletes an entity, if it exists, after the calls before it."""
    namespace, action = _type(request, api)
    params: dict[str, JSON] = {"operation": "$delete", "key": _key(request)}
    return await _called(request, api, Call(name=action.name, params=params, namespace=namespace))


async def call_entity(request: Request, api: Api) -> Json:
    """Calls an operation and waits for its result; a `signal` is only accepted, now or for later."""
    namespace, action = _type(request, api)
    params = _message(await requests.parameters(request, api.payload_bytes), _key(request))
    call = Call(name=action.name, params=params, namespace=namespace)
    query = request.query_params
    until = _until(query, api.engine.now_ms / 1000)
    if not requests.flag(query, "signal"):
        if until is not None:
            raise InvalidError("'after' and 'until' are for signals: give signal=true as well.")
        return await _called(request, api, call)
    if until is not None:
        return await _called_later(api, call, until)
    invoked = await api.engine.invoke(call)
    return await actions.answered(invoked, namespace, api, result=True, waited=False)


def _message(document: dict[str, JSON], key: str) -> dict[str, JSON]:
    """The message of a call to an entity, checked."""
    if unknown := document.keys() - FIELDS:
        known = ", ".join(sorted(FIELDS))
        raise InvalidError(f"A call has no member {min(unknown)!r:.80}; it takes {known}.")
    read = document.get("read")
    if read is not None and type(read) is not bool:
        raise InvalidError(f"'read' must be true or false, not {read!r:.80}")
    message = {**document, "key": key}
    try:
        parsed(message)
    except MessageError as error:
        raise InvalidError(str(error)) from None
    return message


async def _called(request: Request, api: Api, call: Call) -> Json:
    wait_ms = requests.number(
        request.query_params,
        "timeout",
        actions.MAX_WAIT_MS,
        low=1,
        high=actions.MAX_WAIT_MS,
        of="timeout",
    )
    invoked = await api.engine.invoke(call, wait_s=wait_ms / 1000)
    return await actions.answered(invoked, call.namespace, api, result=True, waited=True)


async def _called_later(api: Api, call: Call, until: float) -> Json:
    """Starts an execution that waits for the instant and then calls the entity."""
    for field in AT_ONCE:
        if call.params.get(field) is not None:
            raise InvalidError(f"A signal for later is delivered once: leave out '{field}'.")
    later = sequence(wait(until=path("$.until")), path("$.message"), str(call.name))
    params: dict[str, JSON] = {"until": until, "message": call.params}
    id = await api.engine.start(call.name, later, params, call.namespace)
    return Json({"activationId": id}, 202, {"x-openwhisk-activation-id": id})


def _until(query: Mapping[str, str], now_s: float) -> float | None:
    """The instant of a delayed signal, in seconds since the epoch; None for now.

    Raises:
        InvalidError: `after` or `until` is malformed.
    """
    after, text = query.get("after"), query.get("until")
    if after is not None and text is not None:
        raise InvalidError("Give either 'after' or 'until', not both.")
    if after is not None:
        of = "seconds to wait"
        return now_s + requests.number(query, "after", 0, low=0, high=LATEST_S, of=of)
    if text is None:
        return None
    until = _instant(text)
    if until - now_s > LATEST_S:
        raise InvalidError(f"The query parameter 'until' is more than a year away: '{text:.80}'.")
    return until


def _instant(text: str) -> float:
    if _SECONDS.fullmatch(text):
        return float(text)
    try:
        instant = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidError(
            f"The query parameter 'until' was malformed: '{text:.80}' is not an instant "
            "(ISO 8601, or seconds since the epoch)."
        ) from None
    return (instant if instant.tzinfo else instant.replace(tzinfo=UTC)).timestamp()
