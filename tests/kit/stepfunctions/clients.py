"""AWS' own signer before our service: requests as boto3 would send them."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from unittest.mock import patch

import httpx
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.loaders import Loader
from botocore.model import ServiceModel
from botocore.validate import ParamValidator
from starlette.applications import Starlette
from starlette.routing import Route

from tests.kit.http.worlds import KEY, USER
from xingqiao.infra.stepfunctions.api.protocol import answer

URL = "http://test/"
MODEL = ServiceModel(Loader().load_service_model("stepfunctions", "service-2"))


class Aws:
    """Signs for a namespace and asks a service.

    Args:
        world: whose service.
        key_id, secret, session: of the namespace.
        skew_ms: by how much its clock is before the service's.
        service, region: that it signs for.
        operations: in place of the service's own.
    """

    def __init__(
        self, world, key_id=USER, secret=KEY, session=None, *,
        skew_ms=0, service="states", region="us-east-1", operations=None,
    ):  # fmt: skip
        self._world, self._skew_ms = world, skew_ms
        self._whole = operations is None  # and as AWS' model has it
        self._signer = SigV4Auth(Credentials(key_id, secret, session), service, region)
        self._client = world.caller() if operations is None else caller_of(operations, world.api)

    def signed(self, body, headers, url=URL, method="POST"):
        """The request, with all that signing adds to its headers."""
        now = datetime.fromtimestamp((self._world.clock.ms + self._skew_ms) / 1000, UTC)
        request = AWSRequest(method=method, url=url, data=body, headers=headers)
        with patch("botocore.auth.get_current_datetime", lambda: now):
            self._signer.add_auth(request)
        return {name: str(value) for name, value in request.headers.items()}

    async def post(self, body, headers, url=URL):
        """The answer to a request that is signed before it is sent."""
        return await self.send(body, self.signed(body, headers, url), url)

    async def send(self, body, headers, url=URL):
        return await self._client.post(url, content=body, headers=headers)

    def headers(self, operation):
        return {
            "X-Amz-Target": f"AWSStepFunctions.{operation}",
            "Content-Type": "application/x-amz-json-1.0",
        }

    async def __call__(self, operation, **params):
        """What an operation answers."""
        answer = await self.post(json.dumps(params).encode(), self.headers(operation))
        assert answer.status_code == 200, answer.text
        content = answer.json()
        if self._whole and params.get("includedData") != "METADATA_ONLY":
            check(operation, content)
        return content

    async def refused(self, operation, **params):
        """The code and message that an operation is refused with."""
        answer = await self.post(json.dumps(params).encode(), self.headers(operation))
        assert answer.status_code >= 400, answer.text
        return told(answer)


def check(operation, content):
    """An answer has the members that AWS' model says, and no others."""
    shape = MODEL.operation_model(operation).output_shape
    given = {name: value for name, value in content.items() if value is not None}
    found = ParamValidator().validate(given, shape)
    assert not found.has_errors(), found.generate_report()


def told(answer):
    """The code and message of a refusal, as botocore reads them."""
    content = answer.json()
    return content["__type"].rpartition("#")[2], content["message"]


def caller_of(operations, api):
    """A client of a service that has these operations only."""

    async def endpoint(request):
        request.scope["bodies"] = api.bodies  # as the application has it
        return await answer(operations, request, api)

    routes = [Route("/{path:path}", endpoint, methods=["POST", "PUT"])]
    return httpx.AsyncClient(transport=httpx.ASGITransport(Starlette(routes=routes)))
