"""The audit log over HTTP, and the entries about requests."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ...actions import ForbiddenError
from ..access import OPERATOR, Entry, outcome_of_status
from . import requests
from .auth import IDENTITY, address_of
from .responses import Json

if TYPE_CHECKING:
    from starlette.requests import Request

    from ..access import Identity, Permission
    from .api import Api
    from .responses import Body

PERMISSION = "permission"  # row of the request's route, in the request's scope
RESOURCE = "resource"  # changed thing, in the scope of a request whose path does not name it
MAX_RESOURCE = 512  # characters
MAX_NUMBER = (1 << 63) - 1
_HOME = "/api/v1/namespaces/"


async def list_namespace(request: Request, api: Api) -> Json:
    """Lists the entries about one namespace, the newest first, in pages."""
    return await _page(request, api, api.auth.administered(request))


async def list_all(request: Request, api: Api) -> Json:
    """Lists the entries about all namespaces, the newest first, in pages; for the operator."""
    if api.auth.caller(request) != OPERATOR:
        raise ForbiddenError("operator/audit")
    return await _page(request, api, None)


async def _page(request: Request, api: Api, namespace: str | None) -> Json:
    query = request.query_params
    most = requests.MAX_LIST
    limit = requests.number(
        query, "limit", requests.DEFAULT_LIST, low=1, high=most, of="audit entries"
    )
    before = requests.number(query, "before", MAX_NUMBER, low=1, high=MAX_NUMBER, of="before")
    entries, following = await api.audit.page(
        namespace,
        since_ms=requests.period(query, "since") or 0,
        before=before,
        limit=limit,
    )
    page: Body = {"entries": entries}
    if following is not None:
        page["next"] = following
    return Json(page)


async def record(request: Request, api: Api, status: int) -> None:
    """Stores an entry about a request that was answered, if its route is audited and its key is known."""
    permission: Permission = request.scope[PERMISSION]
    identity: Identity | None = request.scope.get(IDENTITY)
    if not permission.verb or identity is None:
        return
    namespace, resource = _place(request, identity)
    entry = Entry(
        at_ms=api.engine.now_ms,
        namespace=namespace,
        by=str(identity),
        key_id=identity.id,
        verb=permission.verb,
        resource=_printable(resource.removesuffix(f"/{permission.verb}")[:MAX_RESOURCE]),
        outcome=outcome_of_status(status),
        status=status,
        request=_printable(request.scope["transaction"]),
        address=address_of(request),
    )
    await api.audit.add(entry)


def dry_run(request: Request) -> bool:
    """True if a request asks only what would change. The audit log has changes, so it leaves this request out.

    Raises:
        InvalidError: the query parameter `dry-run` is not a boolean.
    """
    asked = requests.flag(request.query_params, requests.DRY_RUN)
    if asked:
        request.scope[PERMISSION] = replace(request.scope[PERMISSION], verb="")
    return asked


def _printable(text: str) -> str:
    """A text of a client, without characters that change how a terminal shows the lines around it."""
    return "".join(character if character.isprintable() else "?" for character in text)


def _place(request: Request, identity: Identity) -> tuple[str, str]:
    """The namespace of the changed thing, and the thing: `actions/hello`, or what the wing says."""
    if RESOURCE in request.scope:
        return identity.namespace, request.scope[RESOURCE]
    path: str = request.scope["path"].removeprefix(request.scope.get("root_path", ""))
    if path.startswith(_HOME):
        named, _, rest = path.removeprefix(_HOME).partition("/")
        return identity.namespace if named == "_" else named, rest
    operated = path.removeprefix("/api/v1/operator/")
    name = request.path_params.get("name", identity.namespace)
    return (name, operated) if operated != path else (identity.namespace, path.removeprefix("/"))
