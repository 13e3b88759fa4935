"""Deployments over HTTP: all actions and schedules of a project in one commit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import requests
from .audit import dry_run
from .definitions import MAX_BODY_BYTES
from .responses import Json

if TYPE_CHECKING:
    from starlette.requests import Request

    from .api import Api


async def put_deployment(request: Request, api: Api) -> Json:
    """Deploys all actions and schedules of the body, or none; with `?dry-run=true` it only answers what would change."""
    namespace = api.auth.own(request)
    requests.check_known(request.query_params, requests.DRY_RUN)
    document = await requests.definition(request, MAX_BODY_BYTES, api.engine.threads)
    plan = await api.engine.schedules.deployed.deploy(
        api.engine.registry, namespace, document, dry_run=dry_run(request)
    )
    return Json(plan.to_json())
