"""Resets and forks of executions over HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...actions import InvalidError
from ...composer import NOTHING
from ..engine import Place
from . import requests
from .executions import MAX_PROGRAM_BYTES
from .responses import Json
from .runs import run_of
from .starts import options_of
from .visibility import check_run_shown

if TYPE_CHECKING:
    from typing import Any

    from starlette.requests import Request

    from .api import Api

_RESET = {"to", "composition", "reason", "messages"}
_FORK = _RESET | {"input"}
TO = "'to' must be the number of an entry, 'first', 'last', or an object with the 'step', not {}"


async def reset_execution(request: Request, api: Api) -> Json:
    """Begins an execution again at an entry of its history; an open run ends: `{"to", "messages"?, "composition"?, "reason"?}`."""
    (namespace, id), place = await run_of(request, api), await _place(request, api, _RESET)
    await _check_visible(namespace, id, place, api)
    run = await api.engine.resets.reset(namespace, id, place)
    return Json(await api.engine.records.execution(namespace, run), 202)


async def fork_execution(request: Request, api: Api) -> Json:
    """Begins a new execution at an entry of another's history: `{"to", "input"?, "composition"?, "reason"?}`.

    The query may give the new execution an `id`.
    """
    (namespace, id), place = await run_of(request, api), await _place(request, api, _FORK)
    await _check_visible(namespace, id, place, api)
    run = await api.engine.resets.fork(namespace, id, place, options_of(request, api))
    return Json(await api.engine.records.execution(namespace, run), 202)


async def _place(request: Request, api: Api, known: set[str]) -> Place:
    given: Any = await requests.definition(request, MAX_PROGRAM_BYTES, api.engine.threads)
    document: dict[str, Any] = requests.as_object(given)
    if unknown := document.keys() - known:
        raise InvalidError(f"'{min(unknown)}' is not known: give {', '.join(sorted(known))}.")
    to: Any = document.get("to", "last")
    step = None
    if isinstance(to, dict) and to.keys() == {"step"} and isinstance(to["step"], str):
        to, step = "last", to["step"]
    if type(to) is not int and to not in ("first", "last"):
        raise InvalidError(TO.format(f"{to!r:.80}"))
    return Place(
        to=to,
        step=step,
        composition=document.get("composition"),
        value=document.get("input", NOTHING),
        reason=requests.member(document, "reason", str) or "",
        messages=_messages(document),
    )


def _messages(document: dict[str, Any]) -> str:
    given = document.get("messages", "keep")
    if given not in ("keep", "drop"):
        raise InvalidError(f"'messages' must be 'keep' or 'drop', not {given!r:.80}")
    return str(given)


async def _check_visible(namespace: str, id: str, place: Place, api: Api) -> None:
    """The program of another namespace may be replaced, and its values be changed, by nobody else.

    Raises:
        ForbiddenError: the execution runs such a program.
    """
    if place.composition is not None or place.value is not NOTHING:
        await check_run_shown(namespace, id, api)
