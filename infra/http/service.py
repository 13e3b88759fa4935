"""The service itself over HTTP: its description, health, namespaces and metrics."""

from __future__ import annotations

import hmac
from importlib.metadata import version
from typing import TYPE_CHECKING

from starlette.responses import Response

from ...actions import BOUNDS, MAX_SEQUENCE, NODE, ForbiddenError
from ..access import LIMITS, OPERATOR, Right
from .definitions import COLLECTIONS
from .errors import failed
from .responses import Json

if TYPE_CHECKING:
    from starlette.requests import Request

    from ...composer import JSON
    from .api import Api

VERSION = version("xingqiao")
MIB = 1 << 20
METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"  # Prometheus' text format
FOR_OPERATORS = (
    "The metrics cover all namespaces: read them with the operator's credentials, or with the key that "
    "the server's XINGQIAO_METRICS_KEY sets, as 'Authorization: Bearer KEY'."
)


async def describe_host(_: Request, api: Api) -> Json:
    """Describes the server with its runtimes and limits in OpenWhisk's form, without authentication."""
    return Json(
        {
            "description": "Xingqiao, an OpenWhisk platform",
            "version": VERSION,
            "support": {},
            "api_paths": ["/api/v1"],
            "limits": _limits(api),
            "runtimes": _runtimes(api),
            **({"paused": True} if api.engine.recovery.paused else {}),
        }
    )


async def describe_api(_: Request, __: Api) -> Json:
    """Describes this version of the API, without authentication."""
    return Json(
        {
            "description": "OpenWhisk API",
            "api_version": "1.0.0",
            "api_version_path": "v1",
            "build": VERSION,
            "buildno": VERSION,
        }
    )


def _limits(api: Api) -> dict[str, JSON]:
    quotas = api.engine.quotas("")
    rates = {
        "actions_per_minute": quotas.per_minute,
        "concurrent_actions": quotas.concurrent,
        "triggers_per_minute": quotas.fires_per_minute,
    }
    _, least_ms, most_ms, _ = BOUNDS["timeout"]
    _, least_mb, most_mb, _ = BOUNDS["memory"]
    _, least_logs, most_logs, _ = BOUNDS["logs"]
    limits: dict[str, JSON] = {name: rate for name, rate in rates.items() if rate is not None}
    return limits | {
        "sequence_length": MAX_SEQUENCE,
        "min_action_duration": least_ms,
        "max_action_duration": most_ms,
        "min_action_memory": least_mb * MIB,
        "max_action_memory": most_mb * MIB,
        "min_action_logs": least_logs * MIB,
        "max_action_logs": most_logs * MIB,
    }


def _runtimes(api: Api) -> dict[str, JSON]:
    return {
        kind.partition(":")[0]: [
            {
                "kind": kind,
                "default": True,
                "deprecated": False,
                "attached": kind == NODE,  # how OpenWhisk keeps code; clients only show it
                "requireMain": False,
                "image": kind,
            }
        ]
        for kind in sorted(api.engine.catalog.kinds)
    }


async def ping(_: Request, __: Api) -> Response:
    """Answers `pong`, without authentication."""
    return Response("pong", media_type="text/plain")


async def health(_: Request, api: Api) -> Json:
    """Answers 200, or 503 if the store does not commit or the server stops; without authentication.

    `recovery_left` is the number of executions that the server has not recovered yet, if there are any.
    """
    if api.stopping:
        return Json({"status": "stopping"}, 503)
    if not api.engine.healthy:
        return Json({"status": "the store does not commit"}, 503)
    left = api.engine.recovery.left
    status = "paused" if api.engine.recovery.paused else "ok"
    return Json({"status": status, **({"recovery_left": left} if left else {})})


async def resume(request: Request, api: Api) -> Json:
    """Resumes a server that was started paused; for the operator."""
    if api.auth.caller(request) != OPERATOR:
        raise ForbiddenError("operator/resume")
    await api.resume()
    return Json({"status": "ok", "recovery_left": api.engine.recovery.left})


async def list_namespaces(request: Request, api: Api) -> Json:
    """Lists the namespace of the credentials, as OpenWhisk does."""
    return Json([api.auth.caller(request)])


async def get_namespace(request: Request, api: Api) -> Json:
    """Lists all definitions of the namespace."""
    namespace = api.auth.own(request)
    return Json(
        {
            collection.name: [
                entity.summary() for entity in api.engine.catalog.all(collection.kind, namespace)
            ]
            for collection in COLLECTIONS
        }
    )


async def get_limits(request: Request, api: Api) -> Json:
    """Returns the limits of the namespace; an unlimited quantity is left out."""
    quotas = api.engine.quotas(api.auth.own(request))
    rates = {limit: getattr(quotas, quota) for limit, quota in LIMITS.items()}
    limited: dict[str, JSON] = {name: rate for name, rate in rates.items() if rate is not None}
    return Json({**limited, "allowedKinds": sorted(api.engine.catalog.kinds)})


async def metrics(request: Request, api: Api) -> Response:
    """Returns the metrics of all namespaces, for the operator and for a scraper that has its key.

    Raises:
        UnauthorizedError: the credentials are unknown.
    """
    scraper = api.metrics_key and scrapes(request, api.metrics_key)
    if not scraper and api.auth.admit(request, Right.READ).namespace != OPERATOR:
        return failed(request, 403, FOR_OPERATORS)
    return Response(api.metrics(), media_type=METRICS_TYPE)


def scrapes(request: Request, key: str) -> bool:
    """True if a request has a scraper's key as its bearer token."""
    header = request.headers.get("authorization", "").encode()
    return hmac.compare_digest(header, f"Bearer {key}".encode())
