"""Web actions: what a request becomes for an action, and what its result becomes for a browser.

The rules and texts are those of OpenWhisk's docs/webactions.md and its controller.
"""

from __future__ import annotations

import json
import re
from base64 import b64decode, b64encode
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from .errors import InvalidError, NotFoundError, RefusedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from composer import JSON

    from .model import Action

Headers = list[tuple[str, str]]

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
RESERVED = ("__ow_method", "__ow_headers", "__ow_path", "__ow_user", "__ow_query", "__ow_body")
FORM = "application/x-www-form-urlencoded"
JSON_TYPE = "application/json"
MESSAGE = "message/http"
OK, NO_CONTENT = 200, 204
BODILESS = (204, 205, 304)
LEAST_STATUS, MOST_STATUS = 200, 599

_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"[^\x00-\x08\x0a-\x1f\x7f]*")
_TYPE = re.compile(r"[\w.+-]+/[\w.+*-]+")
_TEXTUAL = re.compile(
    r"text/.*|.*[/+](json|xml)|application/(javascript|ecmascript|graphql)|" + FORM
)
# The server says these itself.
_OURS = {"content-length", "transfer-encoding", "connection", "keep-alive", "upgrade", "trailer"}


class NotAcceptableError(RefusedError):
    """What there is, is of no kind that the caller takes (406)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WebRequest:
    """A request as it came. `headers` by lower-case names; `user` is the namespace that asks."""

    method: str
    path: str
    headers: dict[str, str]
    query: str = ""
    body: bytes = b""
    user: str | None = None

    @property
    def media(self) -> str:
        """The type of the body, without its parameters."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()


@dataclass(frozen=True, slots=True, kw_only=True)
class WebResponse:
    """What is sent back."""

    status: int
    headers: Headers = field(default_factory=list)
    body: bytes = b""


# --- what is asked for -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Which action a path asks for, as which medium, and what follows it."""

    action: str
    medium: str
    path: str


def target_of(path: str) -> Target:
    """Reads `action[.medium][/path]`; `http` when there is no medium."""
    name, slash, rest = path.partition("/")
    stem, dot, medium = name.rpartition(".")
    if not dot or not stem or medium not in MEDIA:
        stem, medium = name, "http"
    return Target(action=stem, medium=medium, path=slash + rest)


def check_exported(action: Action) -> None:
    """Refuses what is not for the web.

    Raises:
        NotFoundError: as if it were not there.
    """
    if not action.marked("web-export"):
        raise NotFoundError


def web_parameters(request: WebRequest, action: Action) -> dict[str, JSON]:
    """What an action is invoked with for a request.

    Raises:
        InvalidError: for a body that cannot be read, and when it sets what it may not.
    """
    context: dict[str, JSON] = {
        "__ow_method": request.method.lower(),
        "__ow_headers": request.headers,
        "__ow_path": request.path,
    }
    if request.user is not None:
        context["__ow_user"] = request.user
    if action.marked("raw-http"):
        return {**context, "__ow_query": request.query, "__ow_body": _raw(request)}
    given = {**dict(parse_qsl(request.query, keep_blank_values=True)), **_fields(request)}
    extra = {name: given.pop(name) for name in ("__ow_body",) if type(given.get(name)) is _Body}
    if not (action.final | set(RESERVED)).isdisjoint(given):
        raise InvalidError(
            "Request defines parameters that are not allowed (e.g., reserved properties)."
        )
    return {**given, **context, **{name: body.value for name, body in extra.items()}}


@dataclass(frozen=True, slots=True)
class _Body:
    """A body that has no fields: it is handed on as a whole."""

    value: JSON


def _fields(request: WebRequest) -> dict[str, Any]:
    if not request.body:
        return {}
    if request.media == JSON_TYPE:
        try:
            document = json.loads(request.body)
        except (ValueError, RecursionError) as error:
            raise InvalidError(f"The request content was malformed:\n{error}") from None
        return document if isinstance(document, dict) else {"__ow_body": _Body(document)}
    if request.media == FORM:
        return dict(parse_qsl(request.body.decode("utf-8", "replace"), keep_blank_values=True))
    return {"__ow_body": _Body(_raw(request))}


def _raw(request: WebRequest) -> str:
    """A body as text, or in base64 when it is binary, or JSON."""
    if _TEXTUAL.fullmatch(request.media) and request.media != JSON_TYPE:
        try:
            return request.body.decode()
        except UnicodeDecodeError:
            pass  # it is not what it says
    return b64encode(request.body).decode()


# --- what is answered --------------------------------------------------------------------------


def web_response(target: Target, result: JSON, *, failed: bool, accept: str = "") -> WebResponse:
    """What an action's result, or the error it has failed with, becomes.

    Args:
        target: what was asked for.
        result: of the action; for one that has failed `{"error": ...}`.
        failed: whether it has; then what its `error` holds is the response.
        accept: what kinds the caller takes; any when it is empty.

    Raises:
        NotFoundError: when the result has not what the path asks for.
        InvalidError: when it is not what the medium must be.
        NotAcceptableError: when it is JSON, and the caller takes none.
    """
    medium = MEDIA[target.medium]
    wanted = list(medium.projection)
    if medium.projects and target.path.strip("/"):
        wanted = target.path.strip("/").split("/")
    if failed:
        wanted = ["error"]
    for name in wanted:
        if not isinstance(result, dict) or name not in result:
            raise NotFoundError("Response does not include requested property.")
        result = result[name]
    made = medium.write(result)
    if ("content-type", JSON_TYPE) in made.headers and not _takes_json(accept):
        raise NotAcceptableError(
            f"Resource representation is only available with these types:\n{JSON_TYPE}"
        )
    return made


def _takes_json(accept: str) -> bool:
    kinds = [kind.partition(";")[0].strip().lower() for kind in accept.split(",") if kind.strip()]
    return not kinds or any(kind in ("*/*", "application/*", JSON_TYPE) for kind in kinds)


def _as_json(result: JSON) -> WebResponse:
    if not isinstance(result, (dict, list)):
        raise _invalid(JSON_TYPE)
    return _typed(JSON_TYPE, json.dumps(result, ensure_ascii=False).encode())


def _as_text(result: JSON) -> WebResponse:
    if result is None:
        raise _invalid("text/plain")
    text = result if isinstance(result, str) else json.dumps(result, ensure_ascii=False, indent=2)
    return _typed("text/plain; charset=UTF-8", text.encode())


def _as(media: str, shown: str) -> Callable[[JSON], WebResponse]:
    def write(result: JSON) -> WebResponse:
        if not isinstance(result, str):
            raise _invalid(media)
        return _typed(shown, result.encode())

    return write


def _as_http(result: JSON) -> WebResponse:
    """A result says its own status, headers and body."""
    if not isinstance(result, dict):
        raise _invalid(MESSAGE)
    headers = _headers(result.get("headers"))
    body, code = result.get("body"), _status(result.get("statusCode"))
    if body is None or body == "" or code in BODILESS:
        return WebResponse(status=code or NO_CONTENT, headers=headers)
    told = next((value for name, value in headers if name.lower() == "content-type"), None)
    if told is not None and not _TYPE.fullmatch(told.partition(";")[0].strip()):
        raise InvalidError("Response did not specify a known content-type.")
    media = (told or "").partition(";")[0].strip().lower()
    if not isinstance(body, str):
        if told is not None and media != JSON_TYPE:
            raise InvalidError("Response type in header did not match generated content type.")
        others = [(name, value) for name, value in headers if name.lower() != "content-type"]
        written = _typed(JSON_TYPE, json.dumps(body, ensure_ascii=False).encode())
        return WebResponse(
            status=code or OK, headers=[*others, *written.headers], body=written.body
        )
    if told is None:
        headers.append(("content-type", "text/html; charset=UTF-8"))
    return WebResponse(status=code or OK, headers=headers, body=_content(media, body))


def _content(media: str, body: str) -> bytes:
    if not media or _TEXTUAL.fullmatch(media):
        return body.encode("utf-8", "replace")
    try:
        return b64decode(body, validate=True)
    except ValueError:
        raise _invalid(MESSAGE) from None


def _status(code: JSON) -> int | None:
    if isinstance(code, str) and code.isascii() and code.isdigit():
        code = int(code)
    if code is None:
        return None
    if isinstance(code, bool) or not isinstance(code, (int, float)) or int(code) != code:
        raise _invalid(MESSAGE)
    if not LEAST_STATUS <= code <= MOST_STATUS:
        raise _invalid(MESSAGE)
    return int(code)


def _headers(doc: JSON) -> Headers:
    """Headers of a result: a value, or a list of values, each a text, a number or a boolean."""
    if doc is None:
        return []
    if not isinstance(doc, dict):
        raise _invalid(MESSAGE)
    return [
        (name, text)
        for name, value in doc.items()
        for text in _values(value)
        if _sound(name, text) and name.lower() not in _OURS
    ]


def _values(value: JSON) -> Iterable[str]:
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, bool):
            yield "true" if item else "false"
        elif isinstance(item, (str, int, float)):
            yield str(item)
        else:
            raise _invalid(MESSAGE)


def _sound(name: str, value: str) -> bool:
    """Whether it can be sent: nothing in a value may look like another header."""
    try:
        value.encode("latin-1")
    except UnicodeEncodeError:
        raise _invalid(MESSAGE) from None
    if not _NAME.fullmatch(name) or not _VALUE.fullmatch(value):
        raise _invalid(MESSAGE)
    return True


def _typed(media: str, body: bytes) -> WebResponse:
    return WebResponse(status=OK, headers=[("content-type", media)], body=body)


def _invalid(media: str) -> InvalidError:
    return InvalidError(f"Response is not valid '{media}'.")


@dataclass(frozen=True, slots=True)
class _Medium:
    """How a result is written; whether the path picks from it; what is picked when it does not."""

    write: Callable[[JSON], WebResponse]
    projects: bool = True
    projection: tuple[str, ...] = ()


MEDIA = {
    "http": _Medium(_as_http, projects=False),
    "json": _Medium(_as_json),
    "html": _Medium(_as("text/html", "text/html; charset=UTF-8"), projection=("html",)),
    "svg": _Medium(_as("image/svg+xml", "image/svg+xml"), projection=("svg",)),
    "text": _Medium(_as_text, projection=("text",)),
}
