"""The kinds of functions elsewhere: one row a kind, with the checks of its options."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import urlsplit

from .. import composer
from ..composer import ExpressionError, InvalidNameError, Name
from .errors import InvalidError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ..composer import JSON

    # Checks one field: its name and its value. Raises InvalidError with the name.
    Check: TypeAlias = Callable[[str, JSON], object]
    # Options of an action that were checked when it was deployed.
    Options: TypeAlias = Mapping[str, Any]

LAMBDA = "aws:lambda"
STATES = "aws:states"
WHISK = "openwhisk:action"
AZURE = "azure:function"
DURABLE = "azure:durable"
GCP = "gcp:function"
HTTP = "http"
CLOUDEVENTS = "cloudevents"

HOUR_MS = 3_600_000
YEAR_MS = 366 * 24 * HOUR_MS
READING = ("GET", "HEAD")  # methods that have no effect (RFC 9110, section 9.2.1)
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
MAX_TEXT = 2048


def _no_option(_options: Options) -> bool:
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Cloud:
    """A kind of functions elsewhere.

    Args:
        function: checks the name or the address of a function.
        options: the checks of its own options.
        needed: the options that must be set.
        longest_ms: the longest timeout.
        calls_back: True if the result always comes by a completion trigger.
        keyed: True if the cloud itself runs requests with the same idempotency key only once.
    """

    function: Check
    options: Mapping[str, Check]
    needed: tuple[str, ...] = ()
    longest_ms: int = YEAR_MS
    calls_back: Callable[[Options], bool] = _no_option
    keyed: Callable[[Options], bool] = _no_option


def malformed(name: str, why: str) -> InvalidError:
    """The error about a field."""
    return InvalidError(f"The request content was malformed:\n'{name}' {why}")


# --- checks of options -------------------------------------------------------------------------


def printable(name: str, value: JSON) -> str:
    """Checks that a field is a short text of printable characters. Returns the text."""
    if not isinstance(value, str) or not 0 < len(value) <= MAX_TEXT or not value.isprintable():
        raise malformed(name, f"must be a text of 1 to {MAX_TEXT} printable characters")
    return value


def _matching(pattern: str, what: str) -> Check:
    expression = re.compile(pattern, re.ASCII)

    def check(name: str, value: JSON) -> None:
        if not expression.fullmatch(printable(name, value)):
            raise malformed(name, f"must be {what}, not {value!r:.200}")

    return check


def _one_of(*choices: str) -> Check:
    def check(name: str, value: JSON) -> None:
        if value not in choices:
            raise malformed(name, f"must be one of {', '.join(choices)}, not {value!r:.200}")

    return check


def _url(name: str, value: JSON) -> str:
    url = printable(name, value)
    try:
        parts = urlsplit(url)
        named = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        named = None
    if not named:
        raise malformed(
            name, f"must be a URL that begins with https:// or http://, not {value!r:.200}"
        )
    if "@" in parts.netloc:
        raise malformed(name, "must not hold credentials: put them into a secret ('credentials')")
    if not set(parts.netloc) <= _HOST_CHARS:
        raise malformed(
            name,
            "must name its host and port as they are, without a '{parameter}' and in ASCII (xn--...)",
        )
    if not _URL.fullmatch(url):
        raise malformed(
            name, "must be percent-encoded, without '#', and with braces only as '{parameter}'"
        )
    return url


_HOST_CHARS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_:[]")
_URL = re.compile(r"([!$-;=?-\[\]_a-z~]|\{[A-Za-z_][A-Za-z0-9_]*\})+", re.ASCII)


def _fixed_url(name: str, value: JSON) -> None:
    """Checks a URL that must not contain parameters."""
    url = _url(name, value)
    if "{" in url or "?" in url:
        raise malformed(name, "must be the URL of a host: without a '{parameter}' or a query")


def _plain_url(name: str, value: JSON) -> None:
    if "{" in _url(name, value):
        raise malformed(name, "must not contain a '{parameter}' for this kind")


def _whisk_name(name: str, value: Any) -> None:
    try:
        Name.parse(value)
    except InvalidNameError as error:
        raise malformed(name, f"must be the name of an action: {error}") from error


def _headers(name: str, value: JSON) -> None:
    if not isinstance(value, dict):
        raise malformed(name, "must be an object of texts")
    seen: set[str] = set()
    for header, text in value.items():
        if not HEADER.fullmatch(header):
            raise malformed(f"{name}.{header:.100}", "is not a valid name of a header")
        if header.lower() in RESERVED:
            raise malformed(f"{name}.{header}", "is set by what sends the request")
        if header.lower() in seen:
            raise malformed(f"{name}.{header}", "is set twice")
        seen.add(header.lower())
        if header.lower() in _SECRET_HEADERS:
            raise malformed(f"{name}.{header}", "is a secret: put it into one ('credentials')")
        printable(f"{name}.{header}", text)


HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}", re.ASCII)
RESERVED = frozenset(
    (
        "accept-encoding", "connection", "content-length", "expect", "host", "keep-alive", "te", "traceparent",
        "trailer", "transfer-encoding", "upgrade", "x-callback-url", "x-completion-token",
    )
)  # fmt: skip
_SECRET_HEADERS = (
    "api-key", "authorization", "cookie", "ocp-apim-subscription-key", "proxy-authorization", "x-api-key",
    "x-auth-token", "x-functions-key", "x-goog-api-key",
)  # fmt: skip


def _template(name: str, value: JSON) -> None:
    try:
        composer.Template.from_json(value)
    except ExpressionError as error:
        raise malformed(name, f"is not a template: {error}") from error


def _retry(name: str, value: JSON) -> None:
    if not isinstance(value, dict):
        raise malformed(name, "must be an object such as {'attempts': 4, 'delay_ms': 200}")
    for option, given in value.items():
        if option not in _RETRY_BOUNDS:
            told = ", ".join(_RETRY_BOUNDS)
            raise malformed(f"{name}.{option:.100}", f"is unknown; use one of {told}")
        low, high = _RETRY_BOUNDS[option]
        if type(given) is not int or not low <= given <= high:
            raise malformed(f"{name}.{option}", f"must be an int from {low} to {high}")


_RETRY_BOUNDS = {"attempts": (1, 20), "delay_ms": (0, 60_000), "max_delay_ms": (0, 600_000)}

_identifier = _matching(
    r"[A-Za-z_][A-Za-z0-9_.-]{0,99}", "a name of letters, digits, '_', '.', '-'"
)
_region = _matching(r"[a-z]{2,4}(-[a-z0-9]+)+-\d", "a region such as eu-west-1")

COMMON: Mapping[str, Check] = {
    "credentials": _identifier,
    "retry": _retry,
    "key_parameter": _identifier,
}
CLOUDS: Mapping[str, Cloud] = {
    LAMBDA: Cloud(
        function=_matching(
            r"(arn:aws[a-z-]*:lambda:[a-z0-9-]+:\d{12}:function:)?[A-Za-z0-9_-]{1,64}"
            r"(:(\$LATEST|[A-Za-z0-9_-]{1,128}))?",
            "the name or the ARN of a function",
        ),
        options={
            "region": _region,
            "qualifier": _matching(r"\$LATEST|[A-Za-z0-9_-]{1,128}", "a version or an alias"),
            "mode": _one_of("request", "event", "durable"),
        },
        # Lambda's limit is 15 minutes, but not for the modes `event` and `durable`: a year, as by default.
        calls_back=lambda options: options.get("mode") == "event",
        keyed=lambda options: options.get("mode") == "durable",
    ),
    STATES: Cloud(
        function=_matching(
            r"arn:aws[a-z-]*:states:[a-z0-9-]+:\d{12}:stateMachine:[A-Za-z0-9_.-]{1,80}"
            r"(:[A-Za-z0-9_.-]{1,80})?",
            "the ARN of a state machine",
        ),
        options={"region": _region},
        keyed=lambda _: True,
    ),
    WHISK: Cloud(
        function=_whisk_name,
        options={"host": _fixed_url, "wait": _one_of("blocking", "poll")},
        needed=("host",),
    ),
    AZURE: Cloud(
        function=_matching(
            r"([A-Za-z0-9_./-]|\{[A-Za-z_][A-Za-z0-9_]*\})+",
            "the name or the route of a function, without /api/",
        ),
        options={"host": _fixed_url, "method": _one_of(*METHODS)},
        needed=("host",),
    ),
    DURABLE: Cloud(
        function=_matching(r"[A-Za-z0-9_-]{1,127}", "the name of an orchestrator"),
        options={
            "host": _fixed_url,
            "operation": _one_of("run", "start", "query", "raise", "terminate"),
        },
        needed=("host",),
        # Our key names an orchestration; an event may arrive twice.
        keyed=lambda options: options.get("operation") != "raise",
    ),
    GCP: Cloud(
        function=_url,
        options={"method": _one_of(*METHODS), "audience": _plain_url},
        longest_ms=HOUR_MS,
    ),
    HTTP: Cloud(
        function=_url,
        options={
            "method": _one_of(*METHODS),
            "headers": _headers,
            "body": _template,
            "result": _one_of("body", "response"),
        },
    ),
    CLOUDEVENTS: Cloud(
        function=_plain_url,
        options={"type": printable, "source": printable, "mode": _one_of("binary", "structured")},
        needed=("type",),
        longest_ms=HOUR_MS,
    ),
}
