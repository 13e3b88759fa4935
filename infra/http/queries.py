"""Queries of executions over HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...actions import ForbiddenError, InvalidQueryError
from .responses import Json
from .runs import run_of
from .visibility import is_action_hidden

if TYPE_CHECKING:
    from starlette.requests import Request

    from .api import Api

_PARAMETERS = {"reject", "run"}


async def list_queries(request: Request, api: Api) -> Json:
    """Lists the names of an execution's queries: those that its composition declares, then the built-in ones."""
    return Json(await api.engine.queries.names(*await run_of(request, api)))


async def ask_query(request: Request, api: Api) -> Json:
    """Answers a query of an execution: `{"answer", "status"}`. It changes nothing, and is not recorded.

    With `reject=closed` it refuses an execution that has ended, with `reject=failed` one that has ended without
    success.
    """
    (namespace, id), query = await run_of(request, api), request.query_params
    name = request.path_params["name"]
    if unknown := query.keys() - _PARAMETERS:
        text = f"'{min(unknown):.80}' is not known: queries of compositions take no parameters."
        raise InvalidQueryError(text)
    given = await api.engine.queries.answer(namespace, id, name, reject=query.get("reject", ""))
    if is_action_hidden(given.action, given.owner, namespace, api):
        raise ForbiddenError(f"{namespace}/{id}")
    return Json({"answer": given.value, "status": given.status})
