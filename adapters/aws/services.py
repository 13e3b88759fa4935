"""Any operation of any service of AWS: botocore writes the request and reads the response, `wire` sends it.

https://docs.aws.amazon.com/step-functions/latest/dg/supported-services-awssdk.html
"""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from ...actions import BAD_RESPONSE, Retrying
from ...composer import Error, frozen
from ..port import Fault, HttpRequest, error_document
from ..reading import retry_after_ms
from .faults import meaning, quotes_secrets, refused_text
from .signing import S3
from .values import answered, given
from .wire import Place, region_here

if TYPE_CHECKING:
    from ...composer import JSON
    from ..port import Request, Response
    from .models import Operation
    from .values import Naming
    from .wire import Aws

ERRORS = 300  # statuses from here on are unsuccessful
SDKS_OWN = ("user-agent", "expect", "content-length")  # headers without meaning for the service
THREADS = 4
CLIENTS = 8  # of services that are remembered: each takes some 17 MB
AWS_HOSTS = (".amazonaws.com", ".amazonaws.com.cn", ".api.aws")
# Where botocore encodes what AWS' library for Java takes as it is.
ENCODED = (
    "before-parameter-build.ec2.RunInstances",
    "before-parameter-build.autoscaling.CreateLaunchConfiguration",
)


class ParameterError(Error):
    """The parameters do not fit an operation. The text names them."""


@frozen
class Answer:
    """A service's response: `value` in the shape of its model, and metadata."""

    value: dict[str, JSON]
    status: int
    headers: dict[str, str]
    request: str


@frozen
class Refused:
    """A service's error: its code, and the name of the model's error if it has one.

    `transient` is True if a retry may help later.
    """

    code: str
    modelled: str | None
    message: str
    status: int
    request: str
    transient: bool


class _Prepared(Exception):  # noqa: N818  it is not an error: it leads out of botocore
    """Stops botocore at the request that it would send."""

    def __init__(self, request: Any) -> None:
        super().__init__()
        self.request = request


class _Written(NamedTuple):
    """A request that botocore has written, the client that wrote it, and the client's context of it."""

    place: Place
    outgoing: HttpRequest
    client: Any
    context: dict[str, Any]


class _Received(NamedTuple):
    """A response in the form for botocore's handlers."""

    status_code: int
    content: bytes


class AwsServices:
    """Calls services.

    Args:
        aws: the client of AWS.
    """

    def __init__(self, aws: Aws) -> None:
        self._aws = aws
        self._clients: OrderedDict[str, Any] = OrderedDict()
        self._making = threading.Lock()
        self._threads = ThreadPoolExecutor(
            THREADS, "aws-services"
        )  # not the threads that all other code uses

    async def call(
        self, request: Request, operation: Operation, params: JSON, named: Naming
    ) -> Answer | Refused | Fault:
        """Calls an operation, and retries it if that does no harm.

        Args:
            request: has the credentials, the deadline and the key.
            operation: the operation.
            params: in the form of state machines.
            named: spells the members of the response.

        Raises:
            ParameterError: the operation has no such parameters.
            RegionError: the region is not set.
        """
        loop = asyncio.get_running_loop()
        written = await loop.run_in_executor(
            self._threads, self._written, operation, params, request.key
        )
        refused: Refused | None = None

        async def once() -> Answer | Fault:
            nonlocal refused
            refused = None
            response = await self._aws.send(request, written.place, written.outgoing)
            if isinstance(response, Fault):
                return response
            found = await loop.run_in_executor(
                self._threads, _read, operation, response, named, written
            )
            if isinstance(found, Refused):
                refused = found
                code, may_have_run, transient = meaning(found.code, found.status)
                wait_ms = retry_after_ms(response, self._aws.now_ms)
                return Fault(
                    code, error_document(code, found.message), may_have_run, wait_ms, transient
                )
            return found

        seed = f"{request.key}/{operation.model.name}"
        answer = await self._aws.repeated(request, once, Retrying(), seed, repeatable=False)
        return refused or answer

    def _written(self, operation: Operation, params: JSON, key: str) -> _Written:
        """The request of an operation."""
        if not isinstance(params, dict):
            raise ParameterError("its parameters must be an object")
        client, model = self._client(operation.place), operation.model
        try:
            client._make_api_call(model.name, given(model.input_shape, params, key))  # noqa: SLF001  a method's name may be a parameter's
        except _Prepared as prepared:
            return _unsigned(client, prepared.request)
        except Exception as error:  # noqa: BLE001  the boundary to an SDK
            raise ParameterError(str(error)) from None
        raise AssertionError(operation)  # pragma: no cover  botocore has sent it by itself

    def _client(self, place: str) -> Any:
        """A client of a service. Given keys keep it from asking its chain; none of them is used."""
        from botocore.config import Config  # noqa: PLC0415  an optional dependency
        from botocore.handlers import base64_encode_user_data  # noqa: PLC0415
        from botocore.session import Session  # noqa: PLC0415

        with self._making:
            if place in self._clients:
                self._clients.move_to_end(place)
                return self._clients[place]
            session = Session()
            client = session.create_client(
                place,
                region_name=region_here(session),
                aws_access_key_id="none",
                aws_secret_access_key="none",  # noqa: S106  it is none
                config=Config(
                    request_checksum_calculation="when_required",
                    response_checksum_validation="when_required",
                    defaults_mode="legacy",
                    s3={"addressing_style": "path"},
                ),
            )
            for event in ENCODED:
                client.meta.events.unregister(event, base64_encode_user_data)
            client.meta.events.register_first("request-created.*", _lead_out)
            self._clients[place] = client
            if len(self._clients) > CLIENTS:
                self._clients.popitem(last=False)
            return client


def _lead_out(request: Any, **_about: Any) -> None:
    raise _Prepared(request)


def _unsigned(client: Any, request: Any) -> _Written:
    """Botocore's request and its address. It is not signed yet.

    Raises:
        ParameterError: the operation needs more than one signed request.
    """
    signing = request.context.get("signing", {})
    prepared = request.prepare()
    parts = urlsplit(prepared.url)
    place = Place(
        signing.get("signing_name", client.meta.service_model.signing_name),
        signing.get("region", client.meta.region_name),
        f"{parts.scheme}://{_host(client, parts.netloc)}",
    )
    body = prepared.body
    if hasattr(body, "read"):
        body = body.read()
    body = body.encode() if isinstance(body, str) else body or b""
    headers = {
        name.lower(): text if isinstance(text, str) else text.decode()
        for name, text in prepared.headers.items()
    }
    if "transfer-encoding" in headers:
        raise ParameterError("ChecksumAlgorithm is not supported: give the checksum itself")
    if b"X-Amz-Credential%3Dnone" in body or b"X-Amz-Credential=none" in body:
        raise ParameterError("an operation between two regions is not supported")
    kept = {name: text for name, text in headers.items() if name not in SDKS_OWN}
    url = parts._replace(scheme="", netloc="").geturl()
    outgoing = HttpRequest(
        method=prepared.method, url=url, headers={"accept": "*/*", **kept}, body=body
    )
    return _Written(place, outgoing, client, request.context)


def _host(client: Any, host: str) -> str:
    """The host of a request. Some operations add a word before AWS' host, but not before another host."""
    own = urlsplit(client.meta.endpoint_url).netloc
    others = not own.endswith(AWS_HOSTS)
    return own if others and host.endswith(f".{own}") else host


def _read(
    operation: Operation, response: Response, named: Naming, written: _Written
) -> Answer | Refused | Fault:
    """Reads a response. It may take some time."""
    try:
        status, doc = _parsed(operation, response, written)
    except Exception as error:  # noqa: BLE001  the boundary to an SDK
        text = f"the response does not fit botocore's model ({type(error).__name__})"
        return Fault.saying(BAD_RESPONSE, text, "unknown")
    id = doc.get("ResponseMetadata", {}).get("RequestId")
    request = str(id or response.headers.get("x-amzn-requestid", ""))
    if status >= ERRORS:
        return _refused(operation, status, doc.get("Error", {}), request)
    shape = operation.model.output_shape
    value = {} if shape is None else answered(shape, doc, named)
    assert isinstance(value, dict)  # noqa: S101  an output is a structure
    return Answer(value, status, response.headers, request)


def _refused(operation: Operation, status: int, error: dict[str, Any], request: str) -> Refused:
    code = str(error.get("QueryErrorCode") or error.get("Code", ""))  # as before its older protocol
    modelled = operation.service.shape_for_error_code(code)
    return Refused(
        code=code,
        modelled=None if modelled is None else modelled.name,
        message=refused_text(code) if quotes_secrets(code) else str(error.get("Message", "")),
        status=status,
        request=request,
        transient=meaning(code, status)[2],
    )


def _parsed(
    operation: Operation, response: Response, written: _Written
) -> tuple[int, dict[str, Any]]:
    """A response as botocore reads it; its status changes if S3 reports an error in a success."""
    from botocore.awsrequest import HeadersDict  # noqa: PLC0415  an optional dependency
    from botocore.parsers import create_parser  # noqa: PLC0415

    events, model = written.client.meta.events, operation.model
    service = operation.service.service_id.hyphenize()
    streams = model.has_streaming_output and response.status < ERRORS
    answer: dict[str, Any] = {
        "headers": HeadersDict(response.headers),
        "status_code": response.status,
        "body": BytesIO(response.body) if streams else response.body,
    }
    more: dict[str, Any] = {}
    events.emit(
        f"before-parse.{service}.{model.name}",
        operation_model=model, response_dict=answer, customized_response_dict=more,
    )  # fmt: skip
    parser = create_parser(operation.service.resolved_protocol)
    doc: dict[str, Any] = parser.parse(answer, model.output_shape) | more
    status: int = answer["status_code"]
    if (
        operation.place == S3 and status < ERRORS
    ):  # for others it does what AWS' library for Java does not
        received = _Received(status, response.body)
        events.emit(
            f"after-call.{service}.{model.name}",
            http_response=received, parsed=doc, model=model, context=written.context,
        )  # fmt: skip
    return status, doc
