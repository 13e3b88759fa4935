"""The execution that a request's path names, by its user's id or by the id of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import unquote

if TYPE_CHECKING:
    from collections.abc import MutableMapping
    from typing import Any

    from starlette.requests import Request

    from .api import Api

NAMED = ("executions", "activations", "sagas", "batches")  # whose next segment is an id
_SLASH = b"%2f"
_NAMESPACES = "/api/v1/namespaces/"
_QUOTED = "quoted id"


async def run_of(request: Request, api: Api) -> tuple[str, str]:
    """Returns the caller's namespace and the id of the run that the path names.

    The path has the id of a run or the user's id of an execution: that means the open run, else the newest, or
    the one in the query parameter `run`.

    Raises:
        NotFoundError: the namespace has no execution with this id.
        InvalidIdError: it cannot be an id.
    """
    namespace = api.auth.own(request)
    run = request.query_params.get("run")
    return namespace, await api.engine.identities.run_of(namespace, given_id(request), run)


def given_id(request: Request) -> str:
    """The id in a request's path."""
    id: str = request.path_params["id"]
    return unquote(id) if _QUOTED in request.scope else id


def keep_slashes(scope: MutableMapping[str, Any]) -> None:
    """Leaves an id that has a slash in it quoted in the path, so that it is one segment for the router."""
    raw: bytes = scope.get("raw_path") or b""
    if _SLASH not in raw and _SLASH.upper() not in raw:
        return
    before, found, rest = raw.decode("latin-1").partition(_NAMESPACES)
    parts = rest.split("/")
    if found and len(parts) > 2 and parts[1] in NAMED:  # noqa: PLR2004  the namespace, its collection, the id
        unquoted = [part if n == 2 else unquote(part) for n, part in enumerate(parts)]  # noqa: PLR2004
        scope["path"] = unquote(before) + found + "/".join(unquoted)
        scope[_QUOTED] = True
