"""Dead letters over HTTP: asynchronous calls that failed for good."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import requests
from .responses import Json
from .visibility import is_letter_hidden

if TYPE_CHECKING:
    from starlette.requests import Request

    from .api import Api


async def list_letters(request: Request, api: Api) -> Json:
    """Lists the dead letters of the caller's namespace, the newest first, without parameters."""
    namespace, query = api.auth.own(request), request.query_params
    found = api.engine.letters.list(namespace)
    if requests.flag(query, "count"):
        return Json({"dead-letters": len(found)})
    skip, limit = requests.page(query, "dead letters")
    return Json(found[skip : skip + limit])


async def get_letter(request: Request, api: Api) -> Json:
    """Returns a dead letter with its `params` and the whole `error`.

    A call of a hidden package is shown without parameters, because they include the package's own.
    """
    namespace, id = api.auth.own(request), request.path_params["id"]
    letter = await api.engine.letters.get(namespace, id)
    if is_letter_hidden(namespace, id, api):
        letter.pop("params", None)
    return Json(letter)


async def retry_letter(request: Request, api: Api) -> Json:
    """Repeats the call of a dead letter, which is removed. 202 with the activation's id.

    The id is null if the letter is of an alarm, and no rule of its trigger is active.
    """
    namespace = api.auth.own(request)
    activation = await api.engine.letters.retry(namespace, request.path_params["id"])
    headers = {} if activation is None else {"x-openwhisk-activation-id": activation}
    return Json({"activationId": activation}, 202, headers)


async def delete_letter(request: Request, api: Api) -> Json:
    """Removes a dead letter, and returns it."""
    namespace = api.auth.own(request)
    return Json(await api.engine.letters.remove(namespace, request.path_params["id"]))
