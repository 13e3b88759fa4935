"""Any operation of any of AWS' services: botocore writes the request and reads the answer, `wire` carries both.

https://docs.aws.amazon.com/step-functions/latest/dg/supported-services-awssdk.html
"""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from functools import partial
from io import BytesIO
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from actions import PERMISSION, Retrying
from composer import Error, frozen

from ..port import Ask, Fault
from .values import answered, given
from .wire import Place, region_here

if TYPE_CHECKING:
    from collections.abc import Callable

    from composer import JSON

    from ..port import Request, Response
    from .models import Operation
    from .values import Naming
    from .wire import Aws

ERRORS = 300  # statuses of answers that are no success
SDKS_OWN = ("user-agent", "expect", "content-length")  # headers that say nothing to the service


class ParameterError(Error):
    """Parameters that an operation has not, or not so; the text names them."""


@frozen
class Answer:
    """What a service has answered: `value` as its model has it, and what came with it."""

    value: dict[str, JSON]
    status: int
    headers: dict[str, str]
    request: str


@frozen
class Refused:
    """How a service has refused: its error's code, and the name of the model's error if it has one.

    It is `transient` when asking again later may help.
    """

    code: str
    modelled: str | None
    message: str
    status: int
    request: str
    transient: bool


class _Prepared(Exception):  # noqa: N818  it is no error: it leads out of botocore
    """A request that botocore would send now."""

    def __init__(self, request: Any) -> None:
        super().__init__()
        self.request = request


class _Written(NamedTuple):
    """A request as botocore has written it; `read` is what it does to what it has read of the answer."""

    place: Place
    ask: Ask
    read: Callable[..., object]


class AwsServices:
    """Asks services.

    Args:
        aws: the way there.
    """

    def __init__(self, aws: Aws) -> None:
        self._aws = aws
        self._clients: dict[str, Any] = {}
        self._making = threading.Lock()

    async def call(
        self, request: Request, operation: Operation, params: JSON, named: Naming
    ) -> Answer | Refused | Fault:
        """Asks for an operation, again where that does no harm.

        Args:
            request: who asks, by when, and under which key.
            operation: what is asked for.
            params: as a state machine has them.
            named: spells the members of the answer.

        Raises:
            ParameterError: when the operation has no such parameters.
            RegionError: when nothing says which region is meant.
        """
        written = await asyncio.to_thread(self._written, operation, params, request.key)

        async def once() -> Response | Fault:
            response = await self._aws.send(request, written.place, written.ask)
            if isinstance(response, Fault) or response.status < ERRORS:
                return response
            refusal = self._aws.refusal(response)
            if not refusal.transient and refusal.code != PERMISSION:
                return response
            refused.append((response, refusal))
            return refusal

        refused: list[tuple[Response, Fault]] = []
        seed = f"{request.key}/{operation.model.name}"
        found = await self._aws.repeated(request, once, Retrying(), seed, repeatable=False)
        if not isinstance(found, Fault):
            return _read(operation, found, named, written)
        for response, refusal in refused:
            if refusal is found:
                return _told(operation, response, refusal)
        return found

    def _written(self, operation: Operation, params: JSON, key: str) -> _Written:
        """The request of an operation."""
        from botocore import xform_name  # noqa: PLC0415  an optional dependency
        from botocore.exceptions import BotoCoreError  # noqa: PLC0415

        if not isinstance(params, dict):
            raise ParameterError("its parameters must be an object")
        client = self._client(operation.place)
        try:
            getattr(client, xform_name(operation.model.name))(
                **given(operation.model.input_shape, params, key)
            )
        except _Prepared as prepared:
            return _asked(client, operation, prepared.request)
        except (BotoCoreError, ValueError) as error:
            raise ParameterError(str(error)) from None
        raise AssertionError(operation)  # pragma: no cover  botocore has sent it by itself

    def _client(self, place: str) -> Any:
        """A client of a service. Keys that are given keep it from asking its chain; none is used."""
        from botocore.config import Config  # noqa: PLC0415  an optional dependency
        from botocore.session import Session  # noqa: PLC0415

        with self._making:
            known = self._clients.get(place)
            if known is not None:
                return known
            session = Session()
            client = session.create_client(
                place,
                region_name=region_here(session),
                aws_access_key_id="none",
                aws_secret_access_key="none",  # noqa: S106  it is none
                config=Config(
                    request_checksum_calculation="when_required",
                    response_checksum_validation="when_required",
                    s3={"addressing_style": "path"},
                ),
            )
            client.meta.events.register_first("request-created.*", _lead_out)
            self._clients[place] = client
            return client


def _lead_out(request: Any, **_about: Any) -> None:
    raise _Prepared(request)


def _asked(client: Any, operation: Operation, request: Any) -> _Written:
    """What botocore would send, and where to; it is not signed yet."""
    service, model = client.meta.service_model.service_id.hyphenize(), operation.model
    read = partial(
        client.meta.events.emit, f"after-call.{service}.{model.name}",
        http_response=None, model=model, context=request.context,
    )  # fmt: skip
    signing = request.context.get("signing", {})
    prepared = request.prepare()
    parts = urlsplit(prepared.url)
    place = Place(
        signing.get("signing_name", client.meta.service_model.signing_name),
        signing.get("region", client.meta.region_name),
        f"{parts.scheme}://{parts.netloc}",
    )
    body = prepared.body
    if hasattr(body, "read"):
        body = body.read()
    headers = {
        name: text if isinstance(text, str) else text.decode()
        for name, text in prepared.headers.items()
        if name.lower() not in SDKS_OWN
    }
    return _Written(
        place,
        Ask(
            method=prepared.method,
            url=parts._replace(scheme="", netloc="").geturl(),
            headers=headers,
            body=body.encode() if isinstance(body, str) else body or b"",
        ),
        read,
    )


def _read(
    operation: Operation, response: Response, named: Naming, written: _Written
) -> Answer | Refused:
    if response.status >= ERRORS:
        return _refused(operation, response)
    shape, doc = operation.model.output_shape, _parsed(operation, response)
    written.read(parsed=doc)
    request = _request(response, doc)
    value = {} if shape is None else answered(shape, doc, named)
    assert isinstance(value, dict)  # noqa: S101  an output is a structure
    return Answer(value, response.status, response.headers, request)


def _told(operation: Operation, response: Response, refusal: Fault) -> Refused:
    """A refusal whose own words may quote what was signed: ours are told."""
    read = _refused(operation, response, transient=refusal.transient)
    if refusal.code != PERMISSION:
        return read
    assert isinstance(refusal.error, dict)  # noqa: S101  an adapter tells a code and a message
    return replace(read, message=str(refusal.error["message"]))


def _refused(operation: Operation, response: Response, *, transient: bool = False) -> Refused:
    doc = _parsed(operation, response)
    error = doc.get("Error", {})
    code = str(error.get("QueryErrorCode") or error.get("Code", ""))  # as before its older protocol
    modelled = operation.service.shape_for_error_code(code)
    return Refused(
        code=code,
        modelled=None if modelled is None else modelled.name,
        message=str(error.get("Message", "")),
        status=response.status,
        request=_request(response, doc),
        transient=transient,
    )


def _parsed(operation: Operation, response: Response) -> dict[str, Any]:
    from botocore.awsrequest import HeadersDict  # noqa: PLC0415  an optional dependency
    from botocore.parsers import create_parser  # noqa: PLC0415

    streams = operation.model.has_streaming_output and response.status < ERRORS
    answer = {
        "headers": HeadersDict(response.headers),
        "status_code": response.status,
        "body": BytesIO(response.body) if streams else response.body,
    }
    parser = create_parser(operation.service.resolved_protocol)
    doc: dict[str, Any] = parser.parse(answer, operation.model.output_shape)
    return doc


def _request(response: Response, doc: dict[str, Any]) -> str:
    told = doc.get("ResponseMetadata", {}).get("RequestId")
    return str(told or response.headers.get("x-amzn-requestid", ""))
