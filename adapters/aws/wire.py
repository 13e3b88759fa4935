"""The client of AWS' services: sends signed requests over the guarded HTTP client, not over an SDK's own.

botocore gives credentials, endpoints and signatures (`signing`); the requests go out like those to every other
cloud. So a function that runs for a quarter of an hour needs a socket and no thread; one module judges deadlines, cuts
and whether something ran; and there is one retry policy, ours: SDKs retry by themselves, also after a read timeout, and
a slow function then runs twice.

Endpoints are botocore's: of the region, the partition, FIPS, and the operator's environment
(AWS_ENDPOINT_URL, AWS_ENDPOINT_URL_LAMBDA, ~/.aws/config). An action may name a region but never a host, so
the endpoint is always the operator's choice, and may be on this machine or in a private network, as
AWS' interface endpoints are.
"""

from __future__ import annotations

import asyncio
import json
import os
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from ...actions import BAD_RESPONSE, INVALID_REQUEST, PAYLOAD_TOO_LARGE, PERMISSION, UNAVAILABLE
from ...composer import Error, Failure
from ..channel import report_of
from ..credentials import CredentialsError
from ..port import Done, Fault, HttpRequest
from ..reading import parsed
from ..retrying import wait_before_retry
from .faults import refusal
from .signing import KeySource, Signer

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from ...actions import Retrying
    from ...composer import JSON
    from ..channel import Channel
    from ..port import Report, Request, Response

T = TypeVar("T")

OK = 200
JSON_1_0 = "application/x-amz-json-1.0"


@dataclass(frozen=True, slots=True)
class Place:
    """A service in a region: the names in signatures, and the endpoint."""

    service: str
    region: str
    url: str


class RegionError(Error):
    """The region is not set."""


class Aws:
    """Calls AWS' services.

    Args:
        channel: sends requests.
        locate: finds a service in a region; "" is the operator's own. It may block.
        result_bytes: of a result.
        places: endpoints that are remembered.
    """

    def __init__(
        self,
        channel: Channel,
        locate: Callable[[str, str], Place],
        result_bytes: int,
        places: int = 100,
    ) -> None:
        self._channel, self._locate, self._most = channel, locate, result_bytes
        self._remembered = places
        self._places: dict[tuple[str, str], Place] = {}
        self._looking = asyncio.Lock()

    @property
    def now_ms(self) -> int:
        return self._channel.now_ms

    async def place(self, service: str, region: str = "") -> Place | Fault:
        """The endpoint of a service by botocore's name; without a region in the operator's own."""
        async with self._looking:
            known = self._places.get((service, region))
            if known is not None:
                return known
            try:
                found = await asyncio.to_thread(self._locate, service, region)
            except RegionError as error:
                return Fault.saying(INVALID_REQUEST, str(error), "no")
            except Exception as error:  # noqa: BLE001  the boundary to an SDK
                text = f"botocore finds no endpoint of {service} ({type(error).__name__})"
                return Fault.saying(INVALID_REQUEST, text, "no")
            if len(self._places) >= self._remembered:
                self._places.clear()
            self._places[service, region] = found
            return found

    async def send(self, request: Request, place: Place, outgoing: HttpRequest) -> Response | Fault:
        """Sends a signed request. Its URL is a path at the place."""
        source = request.authorizer
        if not isinstance(source, KeySource):
            text = "functions on AWS need a secret of type 'aws'"
            return Fault.saying(PERMISSION, text, "no")
        left_s = max(0.001, (request.deadline_ms - self.now_ms) / 1000)
        try:
            async with asyncio.timeout(left_s):
                keys = await source.keys()
        except CredentialsError as error:
            return error.fault
        except TimeoutError:
            text = "AWS' usual chain has not given credentials by the deadline"
            return Fault.saying(UNAVAILABLE, text, "no", transient=True)
        # The token is for the function, not for AWS: it is in the payload, and not in a header.
        signer = Signer(keys, place.service, place.region)
        signed = replace(request, authorizer=signer, token="", callback="")
        outgoing = replace(outgoing, url=place.url + outgoing.url, by_operator=True)
        return await self._channel.send(signed, outgoing)

    async def repeated(
        self,
        request: Request,
        once: Callable[[], Awaitable[T | Fault]],
        retrying: Retrying,
        seed: str,
        *,
        repeatable: bool,
    ) -> T | Fault:
        """Sends a request, and retries it if that may help; also with other credentials if those were refused.

        Args:
            request: has the credentials and the deadline.
            once: sends it once.
            retrying: the number of attempts and the delays.
            seed: makes the jitter differ from that of other requests.
            repeatable: True if a second run makes no difference.
        """
        attempt, again = 0, True
        while True:
            attempt += 1
            answer = await once()
            if not isinstance(answer, Fault):
                return answer
            source = request.authorizer
            if again and answer.code == PERMISSION and source is not None and source.refused():
                again = False
                continue
            wait_ms = wait_before_retry(answer, attempt, retrying, repeatable=repeatable, seed=seed)
            if wait_ms is None or self.now_ms + wait_ms >= request.deadline_ms:
                return answer
            with suppress(TimeoutError):
                async with asyncio.timeout(wait_ms / 1000):
                    await asyncio.Event().wait()

    async def call(
        self, request: Request, place: Place, operation: str, body: dict[str, JSON]
    ) -> dict[str, JSON] | Response | Fault:
        """Calls an operation of AWS' JSON protocol. Returns its result, or the unsuccessful response.

        https://smithy.io/2.0/aws/protocols/aws-json-1_0-protocol.html
        """
        outgoing = HttpRequest(
            method="POST",
            url="/",
            headers={"Content-Type": JSON_1_0, "X-Amz-Target": operation},
            body=json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode(),
        )
        response = await self.send(request, place, outgoing)
        if isinstance(response, Fault) or response.status != OK:
            return response
        doc = parsed(response.body) if response.body else {}
        return doc if isinstance(doc, dict) else response

    def ended(self, result: bytes, report: Report) -> Done | Fault:
        """The answer of a run that has succeeded with a result in JSON; "" is for none."""
        if len(result) > self._most:
            text = f"it has a result of {len(result)} bytes, and {self._most} are the most"
            return Fault.saying(PAYLOAD_TOO_LARGE, text, "unknown", report=report)
        value = parsed(result) if result else None
        if isinstance(value, Failure):
            return Fault(BAD_RESPONSE, value.error, "yes", report=report)
        return Done(value, report)

    def refusal(self, response: Response) -> Fault:
        """The Fault of an unsuccessful response."""
        return refusal(response, self.now_ms, report_of(response))


def region_of(arn: str) -> str:
    """The region of an ARN; "" for any other text."""
    parts = arn.split(":")
    return parts[3] if parts[0] == "arn" and len(parts) > 3 else ""  # noqa: PLR2004  arn:aws:lambda:REGION


def xray(traceparent: str) -> str:
    """A W3C trace context in the form of AWS' own header."""
    _, trace, span, flags = traceparent.split("-")
    return f"Root=1-{trace[:8]}-{trace[8:]};Parent={span};Sampled={int(flags, 16) & 1}"


def located(service: str, region: str) -> Place:
    """The endpoint of a service, by botocore.

    Raises:
        RegionError: the region is not set.
    """
    from botocore.session import Session  # noqa: PLC0415  an optional dependency

    session = Session()
    region = region or region_here(session)
    # Given keys keep it from calling the chain, which may take long; none of them is used.
    client = session.create_client(
        service,
        region_name=region,
        aws_access_key_id="none",
        aws_secret_access_key="none",  # noqa: S106  it is none
    )
    try:
        signing = client.meta.service_model.signing_name
        return Place(signing, client.meta.region_name, client.meta.endpoint_url.rstrip("/"))
    finally:
        client.close()


def region_here(session: Any) -> str:
    """The operator's own region, by botocore's session.

    Raises:
        RegionError: the region is not set.
    """
    region = session.get_config_variable("region") or os.environ.get("AWS_REGION", "")
    if not region:
        raise RegionError("set AWS_REGION for the server, or name a 'region' in the action's exec")
    return str(region)
