"""The APIs of Step Functions and Lambda over a running service, for the server and for an embedded engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...actions import Arns
from ..http import Authenticator
from ..lambdas import LAMBDA, LambdaApi
from ..stepfunctions import STEP_FUNCTIONS, StepFunctionsApi

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..settings import Settings
    from .app import Service

WINGS = (STEP_FUNCTIONS, LAMBDA)


@dataclass(kw_only=True)
class ServiceApi(StepFunctionsApi, LambdaApi):
    """The parts of the service that the endpoints of all wings use."""


def api_of(service: Service, settings: Settings, metrics: Callable[[], bytes]) -> ServiceApi:
    """The service as its endpoints see it; `metrics` writes all figures in Prometheus' format."""
    return ServiceApi(
        engine=service.engine,
        auth=Authenticator(service.keys, service.failures),
        namespaces=service.namespaces,
        keys=service.keys,
        audit=service.audit,
        webhooks=service.feeds,
        clouds=service.clouds,
        secrets=service.secrets,
        machines=service.machines,
        lambdas=service.lambdas,
        arns=Arns(settings.aws_region, settings.aws_account),
        activities=service.activities,
        integrations=service.integrations,
        payload_bytes=settings.payload_bytes,
        metrics=metrics,
        metrics_key=settings.metrics_key,
        resume=service.resumption.resume,
    )
