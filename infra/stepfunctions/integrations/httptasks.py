"""`http:invoke`: a task that calls a URL. A secret of the namespace stands for AWS' connection.

https://docs.aws.amazon.com/step-functions/latest/dg/call-https-apis.html
"""

from __future__ import annotations

import json
import re
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urlsplit, urlunsplit

from ....actions import HEADER, HTTP, PERMISSION, RESERVED, Remote
from ....adapters import AMBIENT, Fault, HttpRequest, Request, SecretError, parsed_json
from ....composer import Failure
from ...aws import PERMISSIONS, RUNTIME, Integration, IntegrationError, json_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ....actions import Clock
    from ....adapters import Authorizers, Channel, Response
    from ....composer import JSON
    from ...aws import IntegrationRequest

SOCKET = "States.Http.Socket"
STATUS = "States.Http.StatusCode"
LIMIT_MS = 60_000  # time limit of an answer
METHODS = ("DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT")
# Headers that a task may not set: those of the framing and the connection, and those that AWS bars.
BARRED = RESERVED | {
    "a-im", "accept-charset", "authorization", "cache-control", "content-encoding", "content-md5", "date",
    "if-match", "if-modified-since", "if-none-match", "if-range", "if-unmodified-since", "max-forwards",
    "proxy-authorization", "proxy-connection", "server", "user-agent", "via",
}  # fmt: skip
BARRED_BEGIN = ("sec-", "x-amz-", "x-amzn-", "x-forwarded-")
FORM_BYTES = 1 << 20  # size limit of a form, which may be far longer than the value it is made of
FORM = "application/x-www-form-urlencoded"
FORMATS = {  # the name of an array's item number `at` in a form
    "INDICES": "{name}[{at}]",
    "BRACKETS": "{name}[]",
    "REPEAT": "{name}",
    "NONE": "{name}",
}
_CONNECTION = re.compile(r"arn:[a-z-]+:events:[a-z0-9-]*:\d*:connection/([^/]+)(/.*)?")
_JSON = re.compile(r"application/(.+\+)?json(;.*)?", re.IGNORECASE)


class HttpTasks:
    """Finds `http:invoke`. A `Registry`.

    Args:
        channel: sends requests, to permitted addresses only.
        authorizers: credentials for requests.
        clock: source of time.
    """

    def __init__(self, channel: Channel, authorizers: Authorizers, clock: Clock) -> None:
        self._channel, self._authorizers, self._clock = channel, authorizers, clock

    def get(self, named: tuple[str, str], /) -> Integration | None:
        return Integration(self._invoke, patterns=("",)) if named == ("http", "invoke") else None

    async def _invoke(self, request: IntegrationRequest) -> JSON:
        parameters = request.parameters if isinstance(request.parameters, dict) else {}
        ask, connection = _ask(parameters, request.activation), _connection(parameters)
        parts = urlsplit(ask.url)
        options: dict[str, JSON] = {} if connection is None else {"credentials": connection}
        target = Remote(HTTP, f"{parts.scheme}://{parts.netloc}", options)  # the audience of tokens
        try:
            authorizer = self._authorizers.of(target, request.namespace)
        except SecretError as error:
            raise IntegrationError(PERMISSIONS, str(error)) from None
        sent = Request(
            target=target,
            params={},
            deadline_ms=self._clock.now_ms() + LIMIT_MS,
            key=request.activation,
            traceparent=request.traceparent,
            authorizer=authorizer,
        )
        response = await self._channel.send(sent, ask)
        if isinstance(response, Fault):
            assert isinstance(response.error, dict)  # noqa: S101  adapters give a code and a message
            named = PERMISSIONS if response.code == PERMISSION else SOCKET
            raise IntegrationError(named, str(response.error["message"]))
        if response.status >= HTTPStatus.BAD_REQUEST:
            text = response.body.decode(errors="replace")
            raise IntegrationError(f"{STATUS}.{response.status}", text)
        return {
            "Headers": {name: [text] for name, text in response.headers.items()},
            "ResponseBody": _body(response),
            "StatusCode": response.status,
            "StatusText": _phrase(response.status),
        }


# --- the request ---------------------------------------------------------------------------------


def _ask(parameters: dict[str, Any], key: str) -> HttpRequest:
    """The request that a task's parameters describe; `key` is its idempotency key.

    Raises:
        IntegrationError: a field is malformed.
    """
    url, method = parameters.get("ApiEndpoint"), parameters.get("Method")
    if not isinstance(url, str) or not _is_url(url):
        raise _flaw("ApiEndpoint", "a URL")
    if method not in METHODS:
        raise _flaw("Method", f"one of {', '.join(METHODS)}")
    headers = {"idempotency-key": key}
    for name, value in _object(parameters, "Headers"):
        if (
            not HEADER.fullmatch(name)
            or name.lower() in BARRED
            or name.lower().startswith(BARRED_BEGIN)
        ):
            raise _flaw("Headers", f"without {name!r:.100}")
        headers[name.lower()] = _texts("Headers", value)
    query = [
        (name, _texts("QueryParameters", value))
        for name, value in _object(parameters, "QueryParameters")
    ]
    body = b""
    if "RequestBody" in parameters:
        headers.setdefault("content-type", "application/json")
        body = _written(parameters["RequestBody"], parameters.get("Transform"), headers)
    parts = urlsplit(url)
    joined = "&".join(filter(None, (parts.query, urlencode(query))))
    return HttpRequest(
        method=method, url=urlunsplit(parts._replace(query=joined)), headers=headers, body=body
    )


def _is_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname)


def _object(parameters: dict[str, Any], field: str) -> list[tuple[str, Any]]:
    value = parameters.get(field, {})
    if not isinstance(value, dict):
        raise _flaw(field, "an object")
    return list(value.items())


def _texts(field: str, value: JSON) -> str:
    """The value of a header or parameter; several values are joined by commas."""
    several = value if isinstance(value, list) else [value]
    if not all(isinstance(one, (str, int, float)) for one in several):
        raise _flaw(field, "of texts and numbers")
    return ",".join(_scalar(one) for one in several)


def _written(body: JSON, transform: JSON, headers: dict[str, str]) -> bytes:
    """The body in bytes: JSON, a text as it is, or a form."""
    how = transform if isinstance(transform, dict) else {}
    if how.get("RequestBodyEncoding") == "URL_ENCODED":
        if not headers["content-type"].startswith(FORM):
            raise _flaw("Headers", f"such that Content-Type is {FORM} for a body that is a form")
        options = how.get("RequestEncodingOptions")
        format = options.get("ArrayFormat", "INDICES") if isinstance(options, dict) else "INDICES"
        if format != "COMMAS" and format not in FORMATS:
            raise _flaw("ArrayFormat", f"COMMAS, {', '.join(FORMATS)}")
        return _form(body, str(format))
    if isinstance(body, str):
        return body.encode()
    return json_text(body).encode()


def _form(body: JSON, format: str) -> bytes:
    """A form of at most FORM_BYTES bytes."""
    parts, size = [], 0
    for pair in _pairs("", body, format):
        parts.append(urlencode([pair]))
        size += len(parts[-1]) + 1
        if size > FORM_BYTES:
            raise _flaw("RequestBody", f"a form of at most {FORM_BYTES} bytes")
    return "&".join(parts).encode()


def _pairs(name: str, value: JSON, format: str) -> Iterator[tuple[str, str]]:
    """The pairs of a value's form."""
    if isinstance(value, dict):
        for key, member in value.items():
            yield from _pairs(f"{name}[{key}]" if name else key, member, format)
    elif isinstance(value, list) and format == "COMMAS":
        yield name, ",".join(_scalar(item) for item in value)
    elif isinstance(value, list):
        for at, item in enumerate(value):
            yield from _pairs(FORMATS[format].format(name=name, at=at), item, format)
    else:
        yield name, _scalar(value)


def _scalar(value: JSON) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _connection(parameters: dict[str, Any]) -> str | None:
    """The name of the secret for a task's connection; None if it has no connection.

    Raises:
        IntegrationError: the ARN is not a connection's.
    """
    given = [
        parameters[name] for name in ("Authentication", "InvocationConfig") if name in parameters
    ]
    if not given:
        return None
    of = given[0]
    text = of.get("ConnectionArn") if isinstance(of, dict) else None
    match = _CONNECTION.fullmatch(text) if isinstance(text, str) else None
    if match is None or match[1] == AMBIENT:
        raise _flaw("ConnectionArn", "the ARN of a connection")
    return match[1]


def _flaw(field: str, must: str) -> IntegrationError:
    return IntegrationError(RUNTIME, f"http:invoke: The field '{field}' must be {must}.")


# --- the response --------------------------------------------------------------------------------


def _body(response: Response) -> JSON:
    """The value of a JSON body, or the text of another body.

    Raises:
        IntegrationError: the body is neither JSON nor text.
    """
    if response.body and _JSON.fullmatch(response.headers.get("content-type", "")):
        value: JSON | Failure = parsed_json(response.body)
        if isinstance(value, Failure):
            error: Any = value.error  # adapters give a code and a message
            raise IntegrationError(RUNTIME, str(error["message"]))
        return value
    try:
        return response.body.decode()
    except UnicodeDecodeError:
        raise IntegrationError(
            RUNTIME, "http:invoke: The response must be JSON or text in UTF-8."
        ) from None


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""
