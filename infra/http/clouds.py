"""Clouds over HTTP: the supported kinds, a check that a function can be reached, and secrets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...actions import REMOTES, Action, ForbiddenError, InvalidError, Remote, parsed_remote
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
    """Lists the kinds of actions that run elsewhere, and the missing parts of unusable ones."""
    api.auth.own(request)
    missing = api.clouds.missing
    return Json([{"kind": kind, "status": missing.get(kind, AVAILABLE)} for kind in REMOTES])


async def check(request: Request, api: Api) -> Json:
    """Checks that a function can be reached and accepts the credentials: `{"action": name}` or `{"exec": {...}}`."""
    namespace = api.auth.own(request)
    document = await requests.parameters(request, api.payload_bytes)
    remote, owner = _meant(document, namespace, api)
    answer = await api.clouds.check(remote, owner)
    told: dict[str, JSON] = {"kind": remote.kind, "function": remote.function}
    if isinstance(answer, str):
        return Json({**told, "ok": True, "found": answer})
    return Json({**told, "ok": False, "code": answer.code, "error": answer.error})


def _meant(document: dict[str, JSON], namespace: str, api: Api) -> tuple[Remote, str]:
    if "exec" in document:
        runtime = document["exec"]
        if not isinstance(runtime, dict) or runtime.get("kind") not in REMOTES:
            raise InvalidError(f"'exec.kind' must be one of {', '.join(REMOTES)}")
        return parsed_remote(runtime), namespace
    action_name: Any = document.get("action") or ""  # `parse` checks it
    name = Name.parse(action_name).within(namespace)
    action: Action = api.engine.catalog.resolve(name, namespace)
    if is_hidden(api.engine.catalog, action, namespace):
        raise ForbiddenError(action.name.path)
    if not isinstance(action.exec, Remote):
        raise InvalidError(f"{name} runs here: it is of kind '{action.kind}'")
    return action.exec, action.name.namespace


async def list_secrets(request: Request, api: Api) -> Json:
    """Lists names and types of secrets, never their contents."""
    return Json(api.secrets.list(api.auth.own(request)))


async def put_secret(request: Request, api: Api) -> Json:
    """Stores a secret; the body is the secret: a text, or an object with a `type`."""
    namespace = api.auth.own(request)
    name: str = request.path_params["name"]
    secret = await requests.body(request, SECRET_BYTES)
    await api.secrets.put(namespace, name, secret, api.clouds.check_secret)
    return Json({"name": name})


async def delete_secret(request: Request, api: Api) -> Json:
    """Deletes a secret."""
    namespace = api.auth.own(request)
    name: str = request.path_params["name"]
    await api.secrets.delete(namespace, name)
    return Json({"name": name})
