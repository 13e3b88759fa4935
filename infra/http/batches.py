"""Batch operations over HTTP: one operation for each of the executions that a filter finds."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ...actions import TELL
from ..access import Right
from . import requests
from .audit import dry_run
from .responses import Json
from .runs import given_id
from .starts import token_of

if TYPE_CHECKING:
    from starlette.requests import Request

    from .api import Api
    from .responses import Body


async def create_batch(request: Request, api: Api) -> Json:
    """Starts a batch: `{"where", "do", "with"?, "per_second"?, "reason"?, "id"?}`. 202: it goes on by itself.

    With `dry-run=true` it only counts the executions that the filter finds: `{"matched"}`.
    """
    namespace = api.auth.own(request)
    requests.check_known(request.query_params, requests.DRY_RUN, "token")
    only_counted = dry_run(request)
    document = await requests.parameters(request, api.payload_bytes)
    if document.get("do") != TELL:  # what a message needs, every caller of this route may do
        api.auth.identity(request).check(Right.DEPLOY)
    batches = api.engine.batches
    if only_counted:
        found: Body = await batches.count(namespace, document)
        return Json(found)
    key, trace = token_of(request), requests.trace(request)
    run = await batches.create(namespace, document, key=key, trace=trace)
    return Json(await batches.get(namespace, run), 202)


async def list_batches(request: Request, api: Api) -> Json:
    """Lists batches, the newest first, each with its status and its counts; filtered by `status`, `since` and `upto`."""
    query = requests.listing(request.query_params, api.auth.own(request), "batches")
    found: list[Body] = await api.engine.batches.list(replace(query, name=None))
    return Json([*found])


async def get_batch(request: Request, api: Api) -> Json:
    """Describes a batch: its definition, its status, its counts, and the first 100 executions that failed."""
    found: Body = await api.engine.batches.get(api.auth.own(request), given_id(request))
    return Json(found)


async def cancel_batch(request: Request, api: Api) -> Json:
    """Cancels a batch. It stops behind the execution that it deals with now. 202: it ends soon."""
    namespace, id = api.auth.own(request), given_id(request)
    run = str((await api.engine.batches.get(namespace, id))["executionId"])
    await api.engine.cancel(namespace, run)
    found: Body = await api.engine.batches.get(namespace, run)
    return Json(found, 202)
