"""Deployments over HTTP: all actions of a project in one commit."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from . import requests
from .audit import PERMISSION
from .definitions import MAX_BODY_BYTES
from .responses import Json

if TYPE_CHECKING:
    from starlette.requests import Request

    from .api import Api


async def put_deployment(request: Request, api: Api) -> Json:
    """Deploys all actions of the body, or none; with `?dry-run=true` it only answers what would change."""
    namespace = api.auth.own(request)
    dry_run = requests.flag(request.query_params, "dry-run")
    if dry_run:  # the audit log has changes only
        request.scope[PERMISSION] = replace(request.scope[PERMISSION], verb="")
    document = await requests.definition(request, MAX_BODY_BYTES, api.engine.threads)
    plan = await api.engine.registry.deploy(namespace, document, dry_run=dry_run)
    return Json(plan.to_json())
