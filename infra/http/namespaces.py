"""Namespaces over HTTP, for the operator, who has the key of `whisk.system`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...actions import Change, ForbiddenError, InvalidError
from ..access import OPERATOR, OWN, AuthError
from . import requests
from .definitions import COLLECTIONS
from .responses import Json

if TYPE_CHECKING:
    from starlette.requests import Request

    from ...composer import JSON
    from ..access import Namespace
    from .api import Api


def _named(request: Request, api: Api) -> str:
    """The namespace that the path names.

    Raises:
        ForbiddenError: the caller is not the operator.
    """
    name: str = request.path_params.get("name", "")
    if api.auth.caller(request) != OPERATOR:
        raise ForbiddenError(f"operator/namespaces/{name}")
    return name


async def list_all(request: Request, api: Api) -> Json:
    """Lists all namespaces with their limits; for the operator."""
    _named(request, api)
    return Json([_shown(namespace) for namespace in api.namespaces.list()])


async def get(request: Request, api: Api) -> Json:
    """Returns a namespace with its limits; for the operator."""
    return Json(_shown(api.namespaces.get(_named(request, api))))


async def put(request: Request, api: Api) -> Json:
    """Creates a namespace and shows its credentials once; `overwrite` sets the limits of an existing one."""
    name = _named(request, api)
    document = await requests.parameters(request, api.payload_bytes)
    limits = requests.member(document, "limits", dict) or {}
    if requests.flag(request.query_params, "overwrite"):
        return Json(_shown(await api.namespaces.limit(name, limits)))
    auth = requests.member(document, "auth", str)
    try:
        credentials = await api.namespaces.create(name, limits, auth)
    except AuthError as error:
        raise InvalidError(f"'auth' cannot be used: {error}.") from None
    return Json({**_shown(api.namespaces.get(name)), "auth": credentials})


async def rotate(request: Request, api: Api) -> Json:
    """Makes new credentials of the key `admin`, and shows them once. All others of that key end."""
    name = _named(request, api)
    credentials = await api.keys.rotate(name, OWN, 0)
    return Json({**_shown(api.namespaces.get(name)), "auth": credentials})


async def delete(request: Request, api: Api) -> Json:
    """Deletes a namespace with its keys, definitions, schedules, CloudEvents, declared attributes and limits.

    The limits of queues and compositions that were set for it go, too. Its records stay until they expire.
    """
    name = _named(request, api)
    gone = api.namespaces.get(name)
    await api.keys.delete_namespace(name)
    entities = [e for c in COLLECTIONS for e in api.engine.catalog.all(c.kind, name)]
    await api.engine.registry.change(Change(None, gone=tuple(entities)))
    await api.engine.events.clear(name)  # those that are matched meanwhile may leave dead letters
    await api.engine.letters.clear(name)
    for schedule in api.engine.schedules.names(name):
        await api.engine.schedules.remove(name, schedule)
    for queue in api.engine.queues.settings.named(name):
        await api.engine.queues.configure(name, queue, None)
    for limit in api.engine.limits.settings.named(name):
        await api.engine.limits.configure(name, limit, None)
    for attribute in api.engine.annotations.declared(name):
        await api.engine.annotations.remove(name, attribute["name"])
    return Json(_shown(gone))


def _shown(namespace: Namespace) -> dict[str, JSON]:
    return {"name": namespace.name, "uuid": namespace.uuid, "limits": {**namespace.limits}}
