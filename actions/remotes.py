"""Actions that run elsewhere: the table of all clouds, and the options of each.

`exec` as JSON is `{"kind": ..., "function": ..., <options>}`. Options of every kind: `credentials`, the name of a
secret of the action's namespace; `retry`, see `Retrying`; `key_parameter`, the parameter in which the
function gets its idempotency key.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import urlsplit

from .. import composer
from ..composer import ExpressionError, InvalidNameError, Name, flaw
from .errors import InvalidError
from .kinds import Row

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from ..composer import JSON
    from .kinds import ExecDocument

    # Checks one field: its name and its value. Raises InvalidError with the name.
    Check: TypeAlias = Callable[[str, JSON], object]

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
LONGEST_MS = {  # the longest timeout of each kind
    LAMBDA: YEAR_MS,  # Lambda's limit is 15 minutes, but not for the modes `event` and `durable`
    STATES: YEAR_MS,
    WHISK: YEAR_MS,
    AZURE: YEAR_MS,
    DURABLE: YEAR_MS,
    GCP: HOUR_MS,
    HTTP: YEAR_MS,
    CLOUDEVENTS: HOUR_MS,
}
REMOTES = tuple(LONGEST_MS)
READING = ("GET", "HEAD")  # methods that have no effect (RFC 9110, section 9.2.1)
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
MAX_TEXT = 2048


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrying:
    """The retries within one step, of requests that were refused or may safely be repeated.

    Args:
        attempts: in all, with the first.
        delay_ms: before the second attempt; each further delay is twice as long, with jitter.
        max_delay_ms: the longest delay, also if the cloud asks for a longer one.
    """

    attempts: int = 4
    delay_ms: int = 200
    max_delay_ms: int = 20_000


@dataclass(frozen=True)
class Remote:
    """A function elsewhere. Options are as they were deployed, checked."""

    kind: str
    function: str
    options: dict[str, Any] = field(default_factory=dict)

    def option(self, name: str, default: Any = None) -> Any:
        return self.options.get(name, default)

    @property
    def retrying(self) -> Retrying:
        return Retrying(**self.options.get("retry", {}))

    @property
    def calls_back(self) -> bool:
        """True if its result always comes by a completion trigger."""
        return self.kind == LAMBDA and self.options.get("mode") == "event"

    @property
    def region(self) -> str:
        """Its region on AWS by its ARN or its options; "" if neither names one."""
        parts = self.function.split(":")
        named = parts[3] if self.function.startswith("arn:") else self.option("region", "")
        return str(named)

    @property
    def keyed(self) -> bool:
        """True if the cloud itself runs requests with the same idempotency key only once."""
        if self.kind == LAMBDA:
            return bool(self.option("mode") == "durable")
        if self.kind == DURABLE:  # our key names an orchestration; an event may arrive twice
            return bool(self.option("operation") != "raise")
        return self.kind == STATES

    @property
    def repeatable(self) -> bool:
        """True if its kind or its options say that invoking it twice is harmless."""
        return self.keyed or self.option("method") in READING

    def to_json(self) -> dict[str, JSON]:
        return {"kind": self.kind, "function": self.function, **self.options, "binary": False}


def parsed_remote(doc: ExecDocument) -> Remote:
    """Reads the `exec` of an action that runs elsewhere.

    Raises:
        InvalidError: a field is malformed. The message names the field and its allowed values.
    """
    kind = doc["kind"]
    known = {**_COMMON, **_OPTIONS[kind]}
    options = {name: value for name, value in doc.items() if name not in _NOT_OPTIONS}
    if why := flaw(options):
        raise _malformed("exec", f"is not a JSON value: {why}")
    for name, value in options.items():
        if name not in known:
            told = ", ".join(f"'{option}'" for option in sorted(known))
            raise _malformed(f"exec.{name}", f"is not an option of '{kind}', which has {told}")
        known[name](f"exec.{name}", value)
    for name in _NEEDED.get(kind, ()):
        if name not in options:
            raise _malformed(f"exec.{name}", f"is missing: '{kind}' needs it")
    _text("exec.function", doc.get("function"))
    _FUNCTIONS[kind]("exec.function", doc["function"])
    return Remote(kind, doc["function"], options)


def _malformed(name: str, why: str) -> InvalidError:
    return InvalidError(f"The request content was malformed:\n'{name}' {why}")


# --- checks of options -------------------------------------------------------------------------


def _text(name: str, value: JSON) -> str:
    if not isinstance(value, str) or not 0 < len(value) <= MAX_TEXT or not value.isprintable():
        raise _malformed(name, f"must be a text of 1 to {MAX_TEXT} printable characters")
    return value


def _matching(pattern: str, what: str) -> Check:
    expression = re.compile(pattern, re.ASCII)

    def check(name: str, value: JSON) -> None:
        if not expression.fullmatch(_text(name, value)):
            raise _malformed(name, f"must be {what}, not {value!r:.200}")

    return check


def _one_of(*choices: str) -> Check:
    def check(name: str, value: JSON) -> None:
        if value not in choices:
            raise _malformed(name, f"must be one of {', '.join(choices)}, not {value!r:.200}")

    return check


def _url(name: str, value: JSON) -> str:
    url = _text(name, value)
    try:
        parts = urlsplit(url)
        named = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        named = None
    if not named:
        raise _malformed(
            name, f"must be a URL that begins with https:// or http://, not {value!r:.200}"
        )
    if "@" in parts.netloc:
        raise _malformed(name, "must not hold credentials: put them into a secret ('credentials')")
    if not set(parts.netloc) <= _HOST_CHARS:
        raise _malformed(
            name,
            "must name its host and port as they are, without a '{parameter}' and in ASCII (xn--...)",
        )
    if not _URL.fullmatch(url):
        raise _malformed(
            name, "must be percent-encoded, without '#', and with braces only as '{parameter}'"
        )
    return url


_HOST_CHARS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_:[]")
_URL = re.compile(r"([!$-;=?-\[\]_a-z~]|\{[A-Za-z_][A-Za-z0-9_]*\})+", re.ASCII)


def _fixed_url(name: str, value: JSON) -> None:
    """Checks a URL that must not contain parameters."""
    url = _url(name, value)
    if "{" in url or "?" in url:
        raise _malformed(name, "must be the URL of a host: without a '{parameter}' or a query")


def _plain_url(name: str, value: JSON) -> None:
    if "{" in _url(name, value):
        raise _malformed(name, "must not contain a '{parameter}' for this kind")


def _whisk_name(name: str, value: Any) -> None:
    try:
        Name.parse(value)
    except InvalidNameError as error:
        raise _malformed(name, f"must be the name of an action: {error}") from error


def _headers(name: str, value: JSON) -> None:
    if not isinstance(value, dict):
        raise _malformed(name, "must be an object of texts")
    seen: set[str] = set()
    for header, text in value.items():
        if not HEADER.fullmatch(header):
            raise _malformed(f"{name}.{header:.100}", "is not a valid name of a header")
        if header.lower() in RESERVED:
            raise _malformed(f"{name}.{header}", "is set by what sends the request")
        if header.lower() in seen:
            raise _malformed(f"{name}.{header}", "is set twice")
        seen.add(header.lower())
        if header.lower() in _SECRET_HEADERS:
            raise _malformed(f"{name}.{header}", "is a secret: put it into one ('credentials')")
        _text(f"{name}.{header}", text)


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
        raise _malformed(name, f"is not a template: {error}") from error


def _retry(name: str, value: JSON) -> None:
    if not isinstance(value, dict):
        raise _malformed(name, "must be an object such as {'attempts': 4, 'delay_ms': 200}")
    for option, given in value.items():
        if option not in _RETRY_BOUNDS:
            told = ", ".join(_RETRY_BOUNDS)
            raise _malformed(f"{name}.{option:.100}", f"is unknown; use one of {told}")
        low, high = _RETRY_BOUNDS[option]
        if type(given) is not int or not low <= given <= high:
            raise _malformed(f"{name}.{option}", f"must be an int from {low} to {high}")


_RETRY_BOUNDS = {"attempts": (1, 20), "delay_ms": (0, 60_000), "max_delay_ms": (0, 600_000)}

_identifier = _matching(
    r"[A-Za-z_][A-Za-z0-9_.-]{0,99}", "a name of letters, digits, '_', '.', '-'"
)
_region = _matching(r"[a-z]{2,4}(-[a-z0-9]+)+-\d", "a region such as eu-west-1")
_NOT_OPTIONS = ("kind", "function", "binary", "code", "main")
_COMMON: dict[str, Check] = {
    "credentials": _identifier,
    "retry": _retry,
    "key_parameter": _identifier,
}
_OPTIONS: dict[str, dict[str, Check]] = {
    LAMBDA: {
        "region": _region,
        "qualifier": _matching(r"\$LATEST|[A-Za-z0-9_-]{1,128}", "a version or an alias"),
        "mode": _one_of("request", "event", "durable"),
    },
    STATES: {"region": _region},
    WHISK: {"host": _fixed_url, "wait": _one_of("blocking", "poll")},
    AZURE: {"host": _fixed_url, "method": _one_of(*METHODS)},
    DURABLE: {
        "host": _fixed_url,
        "operation": _one_of("run", "start", "query", "raise", "terminate"),
    },
    GCP: {"method": _one_of(*METHODS), "audience": _plain_url},
    HTTP: {
        "method": _one_of(*METHODS),
        "headers": _headers,
        "body": _template,
        "result": _one_of("body", "response"),
    },
    CLOUDEVENTS: {
        "type": _text,
        "source": _text,
        "mode": _one_of("binary", "structured"),
    },
}
_NEEDED = {WHISK: ("host",), AZURE: ("host",), DURABLE: ("host",), CLOUDEVENTS: ("type",)}
_FUNCTIONS: dict[str, Check] = {
    LAMBDA: _matching(
        r"(arn:aws[a-z-]*:lambda:[a-z0-9-]+:\d{12}:function:)?[A-Za-z0-9_-]{1,64}"
        r"(:(\$LATEST|[A-Za-z0-9_-]{1,128}))?",
        "the name or the ARN of a function",
    ),
    STATES: _matching(
        r"arn:aws[a-z-]*:states:[a-z0-9-]+:\d{12}:stateMachine:[A-Za-z0-9_.-]{1,80}"
        r"(:[A-Za-z0-9_.-]{1,80})?",
        "the ARN of a state machine",
    ),
    WHISK: _whisk_name,
    AZURE: _matching(
        r"([A-Za-z0-9_./-]|\{[A-Za-z_][A-Za-z0-9_]*\})+",
        "the name or the route of a function, without /api/",
    ),
    DURABLE: _matching(r"[A-Za-z0-9_-]{1,127}", "the name of an orchestrator"),
    GCP: _url,
    HTTP: _url,
    CLOUDEVENTS: _plain_url,
}


def _shown(execution: Remote, _code: bool) -> dict[str, JSON]:
    return execution.to_json()


def _parsed(doc: ExecDocument, _namespace: str, _kinds: Collection[str]) -> Remote:
    return parsed_remote(doc)


REMOTE: Mapping[str, Row] = dict.fromkeys(REMOTES, Row(parse=_parsed, show=_shown))
