"""Attributes over HTTP: they are declared, given to executions, and executions are found by them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

from ...actions import InvalidError, StartOptions
from ...composer import MAX_DEPTH, NOTHING, changed, nests_deeper
from . import requests
from .responses import Json
from .runs import run_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.requests import Request

    from ...composer import JSON
    from .api import Api
    from .responses import Body

MAX_BODY = 256 << 10
_ANNOTATION = {"attributes", "memo"}


async def list_attributes(request: Request, api: Api) -> Json:
    """Lists the attributes that the namespace declares, with their types."""
    return Json(api.engine.annotations.declared(api.auth.own(request)))


async def get_attribute(request: Request, api: Api) -> Json:
    """Returns an attribute that the namespace declares: `{"name", "type"}`."""
    namespace, name = api.auth.own(request), request.path_params["name"]
    return Json(api.engine.annotations.attribute(namespace, name))


async def put_attribute(request: Request, api: Api) -> Json:
    """Declares an attribute with the `type` in the body: text, number, boolean, instant or keywords."""
    namespace, name = api.auth.own(request), request.path_params["name"]
    document = await requests.parameters(request, MAX_BODY)
    if unknown := document.keys() - {"type", "name"}:
        raise InvalidError(f"'{min(unknown)}' is not known: give the type.")
    if document.get("name", name) != name:
        raise InvalidError("'name' differs from the name in the path: leave it out.")
    return Json(await api.engine.annotations.declare(namespace, name, document.get("type")))


async def delete_attribute(request: Request, api: Api) -> Json:
    """Deletes an attribute. Executions keep their values and are no longer found by them."""
    namespace, name = api.auth.own(request), request.path_params["name"]
    return Json(await api.engine.annotations.remove(namespace, name))


async def annotate_execution(request: Request, api: Api) -> Json:
    """Sets `attributes` of an execution, null to remove one, and its `memo` if the body has one."""
    namespace, id = await run_of(request, api)
    document = await requests.parameters(request, MAX_BODY)
    if unknown := document.keys() - _ANNOTATION:
        raise InvalidError(f"'{min(unknown)}' is not known: give attributes or memo.")
    attributes = requests.member(document, "attributes", dict) or {}
    memo = document.get("memo", NOTHING)
    found: Body = await api.engine.annotations.annotate(namespace, id, attributes, memo)
    return Json({"executionId": id, **found})


async def find_executions(request: Request, api: Api) -> Json:
    """Returns a page of the executions that the filter `where` finds: `executions`, and `next` to go on after."""
    namespace, query = api.auth.own(request), request.query_params
    if "skip" in query:
        raise InvalidError(
            "'skip' does not go with 'where': give 'after', the 'next' of the page before."
        )
    asked = requests.listing(query, namespace, "executions")
    found = await api.engine.finding.page(asked, query.get("where", ""), query.get("after"))
    page: Body = {"executions": found.executions}
    if found.next is not None:
        page["next"] = found.next
    return Json(page)


async def count_executions(request: Request, api: Api) -> Json:
    """Counts the executions that the filter `where` finds: `count`, and `groups` with `group=status`."""
    namespace, query = api.auth.own(request), request.query_params
    asked = requests.listing(query, namespace, "executions")
    found = await api.engine.finding.count(asked, query.get("where", ""), query.get("group"))
    return Json(found)


def described(query: Mapping[str, str], options: StartOptions) -> StartOptions:
    """Returns the options of a start with the `attributes` and the `memo` of a query, each JSON.

    Raises:
        InvalidError: one is not JSON, or the attributes are not an object.
    """
    given: dict[str, JSON] = {name: _json(query, name) for name in _ANNOTATION if name in query}
    if not isinstance(given.get("attributes", {}), dict):
        raise InvalidError("The query parameter 'attributes' must be a JSON object.")
    return changed(options, **given) if given else options


def _json(query: Mapping[str, str], name: str) -> JSON:
    try:
        found: JSON = orjson.loads(query[name])
    except ValueError as error:
        raise InvalidError(f"The query parameter '{name}' was malformed: {error}.") from error
    if isinstance(found, dict | list) and nests_deeper(found):
        raise InvalidError(f"The query parameter '{name}' nests deeper than {MAX_DEPTH} levels.")
    return found
