"""Clouds over HTTP: which kinds there are, whether an action's function can be reached, and secrets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...actions import REMOTES, Action, ForbiddenError, InvalidError, Remote, parsed_remote
from ...adapters import Fault
from ...composer import Name
from . import requests
from .responses import Json
from .visibility import is_hidden

if TYPE_CHECKING:
    from starlette.requests import Request

    from ...composer import JSON
    from .api import Api

AVAILABLE = "available"
SECRET_BYTES = 1 << 16


async def list_adapters(request: Request, api: Api) -> Json:
    """The kinds of actions that run elsewhere, and what is missing for those that cannot be used."""
    api.auth.own(request)
    missing = api.clouds.missing
    return Json([{"kind": kind, "status": missing.get(kind, AVAILABLE)} for kind in REMOTES])


async def check(request: Request, api: Api) -> Json:
    """The body is `{"action": name}` or `{"exec": {...}}`: can it be reached, and would it let us in?"""
    namespace = api.auth.own(request)
    document = await requests.parameters(request, api.payload_bytes)
    remote, owner = _meant(document, namespace, api)
    answer = await api.clouds.check(remote, owner)
    told: dict[str, JSON] = {"kind": remote.kind, "function": remote.function}
    if isinstance(answer, Fault):
        return Json({**told, "ok": False, "code": answer.code, "error": answer.error})
    return Json({**told, "ok": True, "found": answer})


def _meant(document: dict[str, JSON], namespace: str, api: Api) -> tuple[Remote, str]:
    if "exec" in document:
        runtime = document["exec"]
        if not isinstance(runtime, dict) or runtime.get("kind") not in REMOTES:
            raise InvalidError(f"'exec.kind' must be one of {', '.join(REMOTES)}")
        return parsed_remote(runtime), namespace
    name = Name.parse(document.get("action") or "").within(namespace)
    action: Action = api.engine.catalog.resolve(name, namespace)
    if is_hidden(api.engine.catalog, action, namespace):
        raise ForbiddenError(action.name.path)
    if not isinstance(action.exec, Remote):
        raise InvalidError(f"{name} runs here: it is of kind '{action.kind}'")
    return action.exec, action.name.namespace


async def list_secrets(request: Request, api: Api) -> Json:
    """Names and types; what is in them is shown to nobody."""
    return Json(api.secrets.list(api.auth.own(request)))


async def put_secret(request: Request, api: Api) -> Json:
    """The body is the secret: a text, or an object with a `type`."""
    namespace = api.auth.own(request)
    name: str = request.path_params["name"]
    secret = await requests.body(request, SECRET_BYTES)
    await api.secrets.put(namespace, name, secret, api.clouds.check_secret)
    return Json({"name": name})


async def delete_secret(request: Request, api: Api) -> Json:
    namespace = api.auth.own(request)
    name: str = request.path_params["name"]
    await api.secrets.delete(namespace, name)
    return Json({"name": name})
