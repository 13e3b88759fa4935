"""The table of adapters by kind of action."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from ..actions import AZURE, CLOUDEVENTS, DURABLE, GCP, HTTP, LAMBDA, STATES, WHISK
from . import ambient
from .aws import (
    Aws,
    AwsServices,
    Chain,
    Completions,
    LambdaAdapter,
    S3Objects,
    StatesAdapter,
    located,
)
from .azure import AzureAdapter
from .channel import Channel
from .cloudevents import EVENTS
from .credentials import SecretError
from .extras import how_to_install
from .http import PLAIN, HttpAdapter
from .openwhisk import WhiskAdapter

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from ..actions import Clock
    from ..composer import Outcome
    from .egress import Egress
    from .objects import Objects
    from .port import Adapter, Request


MISSING = f"this server has no botocore: {how_to_install('aws')}"  # for kinds of AWS
QUOTED = 4  # the size of AWS' JSON in JSON, with the input, in results
BESIDE = 1 << 20


def adapters(egress: Egress, clock: Clock, result_bytes: int) -> dict[str, Adapter]:
    """The adapters that this server can use, by kind of action."""
    channel = Channel(egress, clock, result_bytes)
    azure = AzureAdapter(channel, ambient.azure(clock))
    found: dict[str, Adapter] = {
        WHISK: WhiskAdapter(channel),
        AZURE: azure,
        DURABLE: azure,
        GCP: HttpAdapter(channel, PLAIN, "gcp", ambient.google(clock)),
        HTTP: HttpAdapter(channel, PLAIN, "http"),
        CLOUDEVENTS: HttpAdapter(channel, EVENTS, "cloudevents"),
    }
    if find_spec("botocore") is not None:
        aws, chain = _aws(egress, clock, result_bytes), Chain(clock)
        found |= {LAMBDA: LambdaAdapter(aws, chain), STATES: StatesAdapter(aws, chain)}
    return found


def queued_completions(
    egress: Egress, clock: Clock, queue: str, complete: Callable[[str, Outcome], Awaitable[None]]
) -> Completions:
    """Makes a listener for completions from a queue on SQS.

    Raises:
        SecretError: this server has no botocore.
    """
    if find_spec("botocore") is None:
        raise SecretError(MISSING)
    return Completions(_aws(egress, clock, BESIDE), Chain(clock), queue, complete)


def objects_on_s3(
    egress: Egress, clock: Clock, most_bytes: int, url: str
) -> Callable[[Request], Objects] | None:
    """Makes objects on S3 as a request's credentials see them; None if this server has no botocore.

    `url` is the address of an S3-compatible host, or "" for AWS.
    """
    if find_spec("botocore") is None:
        return None
    aws = Aws(Channel(egress, clock, most_bytes + BESIDE), located, most_bytes)
    return lambda request: S3Objects(aws, request, url)


def aws_services(egress: Egress, clock: Clock, result_bytes: int) -> AwsServices | None:
    """Makes a client of all services of AWS; None if this server has no botocore."""
    if find_spec("botocore") is None:
        return None
    return AwsServices(Aws(Channel(egress, clock, result_bytes), located, result_bytes))


def _aws(egress: Egress, clock: Clock, result_bytes: int) -> Aws:
    channel = Channel(egress, clock, QUOTED * result_bytes + BESIDE)
    return Aws(channel, located, result_bytes)
