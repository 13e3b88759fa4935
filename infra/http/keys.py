"""Keys of a namespace over HTTP, for its admins and for the operator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...actions import InvalidError
from ..access import Role
from . import requests
from .auth import IDENTITY
from .responses import Json

if TYPE_CHECKING:
    from starlette.requests import Request

    from ...composer import JSON
    from .api import Api

GRACE_S = 24 * 3600  # default grace period of a rotation


async def list_keys(request: Request, api: Api) -> Json:
    """Lists the keys without their secrets: id, name, role, creation and last use."""
    return Json(api.keys.list(api.auth.administered(request)))


async def create_key(request: Request, api: Api) -> Json:
    """Creates a key with the role in the body, `{"role"}`, and shows its credentials once."""
    namespace, name = api.auth.administered(request), request.path_params["name"]
    document = await requests.parameters(request, api.payload_bytes)
    _check_members(document, {"role"})
    role = requests.member(document, "role", str)
    if role is None:
        raise InvalidError(f"'role' is missing: give one of {', '.join(Role)}.")
    credentials = await api.keys.create(namespace, name, role, str(request.scope[IDENTITY]))
    return Json({**api.keys.get(namespace, name), "auth": credentials})


async def rotate_key(request: Request, api: Api) -> Json:
    """Makes new credentials, and shows them once. The old ones stay valid for `graceSeconds` (a day)."""
    namespace, name = api.auth.administered(request), request.path_params["name"]
    document = await requests.parameters(request, api.payload_bytes)
    _check_members(document, {"graceSeconds"})
    grace_s = requests.member(document, "graceSeconds", int)
    grace_ms = (GRACE_S if grace_s is None else grace_s) * 1000
    credentials = await api.keys.rotate(namespace, name, grace_ms)
    return Json({**api.keys.get(namespace, name), "auth": credentials})


async def revoke_key(request: Request, api: Api) -> Json:
    """Deletes a key, which stops working at once."""
    namespace = api.auth.administered(request)
    return Json(await api.keys.revoke(namespace, request.path_params["name"]))


def _check_members(document: dict[str, JSON], known: set[str]) -> None:
    if unknown := document.keys() - known:
        raise InvalidError(f"'{min(unknown):.80}' is not known: give {', '.join(sorted(known))}.")
