"""Entities over HTTP: their types, their keys, their states, and calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from actions import Action, Call, InvalidError, NotFoundError
from composer import InvalidNameError, Name, call, path, sequence, wait

from . import actions, reading
from .responses import Json

if TYPE_CHECKING:
    from starlette.requests import Request

    from composer import JSON

    from .api import Api

FIELDS = {"operation", "params", "read", "expected_version", "token", "undoes", "by"}


def _type(request: Request, api: Api) -> tuple[str, Action]:
    """The caller's namespace, and the entity type that is meant."""
    namespace = api.auth.own(request)
    package, name = request.path_params.get("package"), request.path_params["type"]
    try:
        text = f"/{namespace}/{package}/{name}" if package else f"/{namespace}/{name}"
        action = api.engine.catalog.resolve(Name.parse(text), namespace)
    except InvalidNameError as error:
        raise InvalidError(str(error)) from None
    if action.entity is None:
        raise NotFoundError
    return namespace, action


async def list_types(request: Request, api: Api) -> Json:
    """The entity types of a namespace."""
    namespace = api.auth.own(request)
    found = api.engine.catalog.all(Action, namespace)
    types = [action for action in found if action.entity is not None]
    skip, limit = reading.page(request.query_params, "entities")
    return Json([action.summary() for action in types[skip : skip + limit]])


async def list_keys(request: Request, api: Api) -> Json:
    """Entities of a type by key: those whose keys begin with `prefix`, after the key `after`."""
    _, action = _type(request, api)
    query = request.query_params
    limit = reading.number(query, "limit", 30, low=1, high=reading.MAX_LIST, of="entities")
    found = await api.engine.records.entities(
        str(action.name), query.get("prefix", ""), after=query.get("after", ""), limit=limit
    )
    if not reading.flag(query, "docs"):
        for doc in found:
            del doc["state"]
    page: dict[str, JSON] = {"entities": found}
    if len(found) == limit:
        page["next"] = found[-1]["key"]
    return Json(page)


async def get_entity(request: Request, api: Api) -> Json:
    """An entity as it was last committed: nobody is waited for."""
    _, action = _type(request, api)
    return Json(await api.engine.records.entity(str(action.name), request.path_params["key"]))


async def delete_entity(request: Request, api: Api) -> Json:
    """Deletes an entity when its turn has come."""
    return await _called(request, api, {"operation": "$delete"})


async def call_entity(request: Request, api: Api) -> Json:
    """Calls an operation and waits for its result; with `signal` it only accepts it, also for later."""
    document = await reading.parameters(request, api.payload_bytes)
    if unknown := document.keys() - FIELDS:
        known = ", ".join(sorted(FIELDS))
        raise InvalidError(f"A call has no member {min(unknown)!r:.80}; it takes {known}.")
    query = request.query_params
    if reading.flag(query, "signal"):
        return await _signalled(request, api, document)
    if "after" in query or "until" in query:
        raise InvalidError("'after' and 'until' are for signals: give signal=true as well.")
    return await _called(request, api, document)


async def _called(request: Request, api: Api, document: dict[str, JSON]) -> Json:
    namespace, action = _type(request, api)
    query = request.query_params
    wait_ms = reading.number(
        query, "timeout", actions.MAX_WAIT_MS, low=1, high=actions.MAX_WAIT_MS, of="timeout"
    )
    params = {**document, "key": request.path_params["key"]}
    asked = Call(name=action.name, params=params, namespace=namespace)
    invoked = await api.engine.invoke(asked, wait_s=wait_ms / 1000)
    return await actions.answered(invoked, namespace, api, result=True, waited=True)


async def _signalled(request: Request, api: Api, document: dict[str, JSON]) -> Json:
    namespace, action = _type(request, api)
    query, key = request.query_params, request.path_params["key"]
    until: JSON = query.get("until")
    if "after" in query:
        seconds = reading.number(
            query, "after", 0, low=0, high=366 * 24 * 3600, of="seconds to wait"
        )
        until = api.engine.now_ms / 1000 + seconds
    if until is None:
        asked = Call(name=action.name, params={**document, "key": key}, namespace=namespace)
        invoked = await api.engine.invoke(asked)
        return Json({"activationId": invoked.activation}, 202)
    operation = document.get("operation")
    if not isinstance(operation, str) or not operation:
        raise InvalidError("'operation' must be the name of one.")
    later = sequence(
        wait(until=path("$.until")),
        call(str(action.name), path("$.key"), operation, path("$.params")),
    )
    params = {"until": until, "key": key, "params": document.get("params") or {}}
    id = await api.engine.start(action.name, later, params, namespace)
    return Json({"activationId": id}, 202)
