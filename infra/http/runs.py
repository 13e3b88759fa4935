"""The execution that a request's path names."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.requests import Request

    from .api import Api


async def run_of(request: Request, api: Api) -> tuple[str, str]:
    """Returns the caller's namespace and the id of the run that the path names.

    Raises:
        NotFoundError: the namespace has none.
    """
    return api.auth.own(request), request.path_params["id"]
