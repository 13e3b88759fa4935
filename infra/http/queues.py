"""Task queues over HTTP: workers take tasks, operators look at queues and limit them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.responses import Response

from ...actions import InvalidError
from . import requests
from .responses import Json

if TYPE_CHECKING:
    from starlette.requests import Request

    from ...composer import JSON
    from .api import Api

NO_CONTENT = 204
MAX_WAIT_S = 60.0
MAX_TASKS = 100
MAX_NAME = 255
MAX_SETTINGS_BYTES = 1 << 20


async def take(request: Request, api: Api) -> Response:
    """Waits for a task of a queue and hands it to the worker; 204 if none comes within `wait` seconds.

    With `count` the response is `{"tasks": [...]}`, with so many tasks at most.
    """
    namespace = api.auth.own(request)
    doc = await requests.parameters(request, api.payload_bytes)
    count = _number(doc, "count", 1, MAX_TASKS)
    found = await api.engine.queues.take(
        namespace,
        request.path_params["name"],
        worker=_text(doc, "worker") or "unnamed",
        version=_text(doc, "version"),
        count=count or 1,
        slots=_number(doc, "slots", 0, 1_000_000) or 0,
        wait_s=_seconds(doc),
        gone=request.is_disconnected,
    )
    if count is not None:
        return Json({"tasks": [*found]})
    return Json(found[0]) if found else Response(status_code=NO_CONTENT)


async def leave(request: Request, api: Api) -> Response:
    """Ends the wait of a worker that stops, so that it is given no task that it would not do."""
    name, worker = request.path_params["name"], request.path_params["worker"]
    api.engine.queues.leave(api.auth.own(request), name, worker)
    return Response(status_code=NO_CONTENT)


async def list_queues(request: Request, api: Api) -> Json:
    """Lists the queues of the namespace: their backlog, the age of the oldest task and their workers."""
    return Json([*api.engine.queues.listed(api.auth.own(request))])


async def get_queue(request: Request, api: Api) -> Json:
    """Returns a queue: its backlog, the age of the oldest task, its workers by version and its settings."""
    return Json(api.engine.queues.shown(api.auth.own(request), request.path_params["name"]))


async def put_queue(request: Request, api: Api) -> Json:
    """Sets the limits of a queue and the weights of its keys."""
    namespace, name = api.auth.own(request), request.path_params["name"]
    doc = await requests.parameters(request, MAX_SETTINGS_BYTES)
    await api.engine.queues.configure(namespace, name, doc)
    return Json(api.engine.queues.shown(namespace, name))


async def delete_queue(request: Request, api: Api) -> Response:
    """Removes the limits of a queue and the weights of its keys. Its tasks stay."""
    namespace, name = api.auth.own(request), request.path_params["name"]
    await api.engine.queues.configure(namespace, name, None)
    return Response(status_code=NO_CONTENT)


def _text(doc: dict[str, JSON], name: str) -> str:
    text = requests.member(doc, name, str) or ""
    if len(text) > MAX_NAME:
        raise InvalidError(f"'{name}' must be a string of at most {MAX_NAME} characters.")
    return text


def _number(doc: dict[str, JSON], name: str, low: int, high: int) -> int | None:
    number = requests.member(doc, name, int)
    if number is not None and not low <= number <= high:
        raise InvalidError(f"'{name}' must be a whole number from {low} to {high}, not {number}.")
    return number


def _seconds(doc: dict[str, Any]) -> float:
    wait = doc.get("wait", 0)
    if type(wait) not in (int, float) or not 0 <= wait <= MAX_WAIT_S:
        raise InvalidError(
            f"'wait' must be a number of seconds from 0 to {MAX_WAIT_S:g}, not {wait!r:.100}."
        )
    return float(wait)
