"""The event that a function gets for a request at its URL, and the response that its result describes.

Both have the payload format 2.0:
https://docs.aws.amazon.com/lambda/latest/dg/urls-invocation.html#urls-payloads
"""

from __future__ import annotations

import binascii
import re
from base64 import b64decode, b64encode
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

import orjson

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ...composer import JSON

VERSION, ROUTE = "2.0", "$default"
ANONYMOUS = "anonymous"
OK, BAD_GATEWAY = 200, 502
LEAST_STATUS, MOST_STATUS = 200, 599
_TEXT = re.compile(
    r"text/.+|application/(?:json|javascript|xml|[\w.-]+\+(?:json|xml))", re.IGNORECASE
)
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")
_OURS = {"connection", "content-length", "date", "server", "transfer-encoding"}


class ResultError(Exception):
    """The result of a function does not describe a response."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UrlRequest:
    """A request at the URL of a function.

    `path` is the part behind the URL, `headers` are in order, `caller` is the namespace that has signed it, with
    the id of its key.
    """

    id: str
    url: str
    host: str
    method: str
    path: str
    query: str
    headers: Sequence[tuple[str, str]]
    body: bytes
    source: str
    now_ms: int
    account: str = ANONYMOUS
    caller: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class UrlResponse:
    """A response: `headers` may have the same name more than once."""

    status: int
    body: bytes
    headers: list[tuple[str, str]] = field(default_factory=list)


def event_of(request: UrlRequest) -> dict[str, JSON]:
    """The event for a request."""
    headers = _joined((name, value) for name, value in request.headers if name != "cookie")
    cookies: list[JSON] = [
        part
        for name, value in request.headers
        if name == "cookie"
        for part in re.split(r";\s*", value)
        if part
    ]
    event: dict[str, JSON] = {
        "version": VERSION,
        "routeKey": ROUTE,
        "rawPath": request.path,
        "rawQueryString": request.query,
        "headers": {**headers},
        "requestContext": _context(request, headers.get("user-agent", "")),
        "isBase64Encoded": False,
    }
    if cookies:
        event["cookies"] = cookies
    if request.query:
        event["queryStringParameters"] = {
            **_joined(parse_qsl(request.query, keep_blank_values=True))
        }
    if request.body:
        text = _text(request.body, headers.get("content-type", ""))
        event["isBase64Encoded"] = text is None
        event["body"] = b64encode(request.body).decode() if text is None else text
    return event


def response_of(result: JSON) -> UrlResponse:
    """The response that a result describes.

    A result without `statusCode` is the body itself, as JSON.

    Raises:
        ResultError: the status, the headers or the body cannot be sent.
    """
    if not isinstance(result, dict) or "statusCode" not in result:
        body = result.encode() if isinstance(result, str) else orjson.dumps(result)
        return UrlResponse(OK, body, [("content-type", "application/json")])
    headers = [*_headers(result.get("headers")), *_cookies(result.get("cookies"))]
    if not any(name == "content-type" for name, _ in headers):
        headers.append(("content-type", "application/json"))
    return UrlResponse(_status(result["statusCode"]), _body(result), headers)


# --- the event -----------------------------------------------------------------------------------


def _context(request: UrlRequest, agent: str) -> dict[str, JSON]:
    at = datetime.fromtimestamp(request.now_ms / 1000, UTC)
    context: dict[str, JSON] = {
        "accountId": request.account,
        "apiId": request.url,
        "domainName": request.host,
        "domainPrefix": request.url,
        "http": {
            "method": request.method,
            "path": request.path,
            "protocol": "HTTP/1.1",
            "sourceIp": request.source,
            "userAgent": agent,
        },
        "requestId": request.id,
        "routeKey": ROUTE,
        "stage": ROUTE,
        "time": at.strftime("%d/%b/%Y:%H:%M:%S +0000"),
        "timeEpoch": request.now_ms,
    }
    if request.caller is not None:
        name, key = request.caller
        context["authorizer"] = {
            "iam": {
                "accessKey": key,
                "accountId": request.account,
                "callerId": name,
                "cognitoIdentity": None,
                "principalOrgId": None,
                "userArn": f"arn:aws:iam::{request.account}:user/{name}",
                "userId": name,
            }
        }
    return context


def _joined(pairs: Any) -> dict[str, str]:
    """Values by name; values of the same name are joined by commas."""
    joined: dict[str, str] = {}
    for name, value in pairs:
        joined[name] = f"{joined[name]},{value}" if name in joined else value
    return joined


def _text(body: bytes, media_type: str) -> str | None:
    """The text of a body; None for a body that is binary."""
    kind = media_type.partition(";")[0].strip()
    if kind and not _TEXT.fullmatch(kind):
        return None
    try:
        return body.decode()
    except UnicodeDecodeError:
        return None


# --- the response --------------------------------------------------------------------------------


def _status(given: JSON) -> int:
    text = str(given)
    if (
        isinstance(given, bool)
        or not text.isdecimal()
        or not LEAST_STATUS <= int(text) <= MOST_STATUS
    ):
        raise ResultError(
            f"'statusCode' must be from {LEAST_STATUS} to {MOST_STATUS}, not {given!r:.100}"
        )
    return int(text)


def _headers(given: JSON) -> list[tuple[str, str]]:
    if given is None:
        return []
    if not isinstance(given, dict):
        raise ResultError("'headers' must be an object")
    headers = []
    for name, value in given.items():
        text = str(value).lower() if isinstance(value, bool) else str(value)
        if (
            isinstance(value, dict | list)
            or not _NAME.fullmatch(name)
            or not _VALUE.fullmatch(text)
        ):
            raise ResultError(f"'headers' has a header that cannot be sent: {name!r:.100}")
        if name.lower() not in _OURS:
            headers.append((name.lower(), text))
    return headers


def _cookies(given: JSON) -> list[tuple[str, str]]:
    if given is None:
        return []
    if not isinstance(given, list):
        raise ResultError("'cookies' must be a list of texts")
    texts = [text for text in given if isinstance(text, str) and _VALUE.fullmatch(text)]
    if len(texts) < len(given):
        raise ResultError("'cookies' must be a list of texts that can be sent in a header")
    return [("set-cookie", text) for text in texts]


def _body(result: Mapping[str, JSON]) -> bytes:
    body = result.get("body")
    if body is None:
        return b""
    if not isinstance(body, str):
        body = orjson.dumps(body).decode()
    if not result.get("isBase64Encoded"):
        return body.encode()
    try:
        return b64decode(body, validate=True)
    except binascii.Error:
        raise ResultError("'body' is not base64, although 'isBase64Encoded' is true") from None
