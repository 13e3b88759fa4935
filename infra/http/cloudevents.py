"""Reads the CloudEvents of a request: in the modes of the HTTP protocol binding, or as a plain body with a query.

https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/bindings/http-protocol-binding.md
"""

from __future__ import annotations

import re
from base64 import b64encode
from enum import Enum, auto
from hashlib import sha256
from typing import TYPE_CHECKING
from urllib.parse import unquote_to_bytes

from ...actions import (
    MAX_BATCH_BYTES,
    InvalidError,
    UnsupportedMediaError,
    check_token,
    read_cloud_event,
    read_cloud_events,
)
from ...composer import MAX_EVENT_BYTES, frozen
from .json_parser import WideIntegerError, parse
from .requests import AS_TEXT, check_known

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from ...composer import JSON, CloudEvent

WAIT = "wait"
MEDIA, BATCH_MEDIA, JSON_FORMAT = "application/cloudevents", "application/cloudevents-batch", "json"
FORM = "application/x-www-form-urlencoded"  # what curl and browsers say if nobody tells them
_PREFIX = "ce-"
_OF_THE_BODY = ("data", "data_base64", "datacontenttype")
_CHARSETS = ("utf-8", "utf8", "us-ascii", "iso-8859-1")
_QUOTED = re.compile(rb'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_ESCAPED = re.compile(rb"\\(.)", re.DOTALL)
_HOW = (
    "The request contains no CloudEvent: send its attributes as headers (ce-specversion, ce-id, ce-source, ce-type), "
    "or in the body with Content-Type: application/cloudevents+json, or send plain data with the query parameters "
    "'type' and 'source'."
)


class Mode(Enum):
    """The way in which a request holds CloudEvents; PLAIN is data, with attributes in the query."""

    BINARY = auto()
    STRUCTURED = auto()
    BATCH = auto()
    PLAIN = auto()


@frozen
class Envelope:
    """What a request says of its content.

    Args:
        mode: the way in which it holds CloudEvents.
        attributes: text by name, from headers.
        content_type: the header Content-Type; "" if it has none.
        token: the header Idempotency-Key; "" if it has none.
    """

    mode: Mode
    attributes: dict[str, JSON]
    content_type: str
    token: str

    @property
    def limit(self) -> int:
        """Bytes that the content may have."""
        return MAX_BATCH_BYTES if self.mode is Mode.BATCH else MAX_EVENT_BYTES


def holds_event(headers: Mapping[str, str]) -> bool:
    """True if a request has CloudEvents in a mode of the binding: few look-ups, for a request that is frequent."""
    return "ce-specversion" in headers or headers.get("content-type", "").lower().startswith(MEDIA)


def envelope_of(headers: Iterable[tuple[bytes, bytes]]) -> Envelope:
    """Reads the headers of a request; names are in lower case.

    Raises:
        InvalidError: a header is malformed. The text names it.
        UnsupportedMediaError: the content is in a format that is not read here.
    """
    attributes: dict[str, JSON] = {}
    others: dict[str, str] = {}
    for name, value in headers:
        text = name.decode("latin-1")
        if not text.startswith(_PREFIX):
            others[text] = value.decode("latin-1")
            continue
        attribute = text.removeprefix(_PREFIX)
        if attribute in attributes:
            raise InvalidError(f"The request has the header '{text:.100}' twice: send it once.")
        attributes[attribute] = _unescaped(text, value)
    content_type = others.get("content-type", "")
    mode = _mode(content_type, attributes)
    return Envelope(mode, attributes, content_type, others.get("idempotency-key", ""))


def _mode(content_type: str, attributes: dict[str, JSON]) -> Mode:
    kind, parameters = _media(content_type)
    base, _, form = kind.partition("+")
    if base not in (MEDIA, BATCH_MEDIA):
        return Mode.BINARY if attributes else Mode.PLAIN
    if form != JSON_FORMAT:
        raise UnsupportedMediaError(
            f"The Content-Type '{kind:.100}' is not read here: send {MEDIA}+json or {BATCH_MEDIA}+json."
        )
    if parameters.get("charset", "utf-8") not in ("utf-8", "utf8"):
        raise UnsupportedMediaError("The JSON of a CloudEvent must be encoded as UTF-8.")
    return Mode.BATCH if base == BATCH_MEDIA else Mode.STRUCTURED


def _media(content_type: str) -> tuple[str, dict[str, str]]:
    """The media type and its parameters, in lower case."""
    kind, *parameters = (part.strip() for part in content_type.lower().split(";"))
    named = (parameter.partition("=") for parameter in parameters)
    return kind, {name.strip(): value.strip(' "') for name, _, value in named}


def _unescaped(name: str, value: bytes) -> str:
    """The value of an attribute in a header: without quotes, then without percent-encoding (section 3.1.3.2)."""
    quoted = _QUOTED.fullmatch(value)
    if quoted:
        value = _ESCAPED.sub(rb"\1", quoted[1])
    try:
        return unquote_to_bytes(value).decode()
    except UnicodeDecodeError:
        raise InvalidError(
            f"The header '{name:.100}' is not UTF-8: percent-encode its value as UTF-8."
        ) from None


def read_events(
    envelope: Envelope,
    query: Mapping[str, str],
    content: bytes | bytearray,
    draw: Callable[[], str],
) -> list[CloudEvent]:
    """The CloudEvents of a request.

    Args:
        envelope: what its headers say.
        query: its query parameters.
        content: its content.
        draw: draws the id of a plain CloudEvent without an idempotency key.

    Raises:
        InvalidError: a CloudEvent is malformed. The text names the attribute, and in a batch the index.
        ReservedEventError: a type or a source is reserved.
        TooLargeError: a batch has too many CloudEvents.
    """
    match envelope.mode:
        case Mode.BATCH:
            check_known(query, WAIT)
            return read_cloud_events(_parsed(content, "batch"))
        case Mode.STRUCTURED:
            check_known(query, WAIT)
            return [read_cloud_event(_parsed(content, "CloudEvent"))]
        case Mode.BINARY:
            check_known(query, WAIT)
            return [_binary(envelope, content)]
        case Mode.PLAIN:
            return [_plain(envelope, query, content, draw)]


def _binary(envelope: Envelope, content: bytes | bytearray) -> CloudEvent:
    attributes = envelope.attributes
    for name in _OF_THE_BODY:
        if name in attributes:
            raise InvalidError(
                f"The header '{_PREFIX}{name}' is no attribute: the body of the request is the data, and the header "
                "Content-Type its type."
            )
    if envelope.content_type:
        attributes = {**attributes, "datacontenttype": envelope.content_type}
    return read_cloud_event({**attributes, **_data(envelope.content_type, content)})


def _plain(
    envelope: Envelope,
    query: Mapping[str, str],
    content: bytes | bytearray,
    draw: Callable[[], str],
) -> CloudEvent:
    if "type" not in query or "source" not in query:
        raise InvalidError(_HOW)
    check_known(query, "type", "source", "subject", WAIT)
    told = {name: query[name] for name in ("type", "source", "subject") if name in query}
    attributes: dict[str, JSON] = {"specversion": "1.0", "id": _id(envelope, content, draw), **told}
    kind = "" if _media(envelope.content_type)[0] == FORM else envelope.content_type
    if kind:
        attributes["datacontenttype"] = kind
    return read_cloud_event({**attributes, **_data(kind, content)})


def _id(envelope: Envelope, content: bytes | bytearray, draw: Callable[[], str]) -> str:
    """Another body under the same idempotency key is another CloudEvent."""
    if not envelope.token:
        return draw()
    check_token(envelope.token)
    return sha256(envelope.token.encode() + b"\0" + content).hexdigest()[:32]


def _data(content_type: str, content: bytes | bytearray) -> dict[str, JSON]:
    """The data as a member of the JSON format: JSON, or text, or else base64."""
    if not content:
        return {}
    kind, parameters = _media(content_type)
    if not kind or kind.endswith(("/json", "+json")):
        return {"data": _parsed(content, "data of the CloudEvent")}
    charset = parameters.get("charset", "utf-8")
    if kind.startswith("text/") and charset in _CHARSETS:
        try:
            return {"data": content.decode(charset)}
        except UnicodeDecodeError:  # it is not the text that it is said to be: its bytes are kept
            pass
    return {"data_base64": b64encode(content).decode()}


def _parsed(content: bytes | bytearray, what: str) -> JSON:
    try:
        return parse(content)
    except WideIntegerError as error:
        raise InvalidError(f"The {what} is malformed: {error}: {AS_TEXT}.") from None
    except ValueError as error:
        raise InvalidError(f"The {what} is not valid JSON: {error}.") from None
