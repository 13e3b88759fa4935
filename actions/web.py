"""Web actions: turns requests into parameters of actions, and results into responses for browsers.

The rules, texts and statuses are those of OpenWhisk's docs/webactions.md and its controller
(WebActions.scala); docs/openwhisk.md lists the differences and their reasons.
"""

from __future__ import annotations

import hmac
import json
import re
from base64 import b64decode, b64encode
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote

from ..composer import flaw
from .errors import InvalidError, NotFoundError, RefusedError, UnauthorizedError
from .media import FORM, JSON_TYPE, MediaType, accepts, media_type

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from ..composer import JSON
    from .model import Action

Headers = list[tuple[str, str]]

METHODS = ("OPTIONS", "GET", "DELETE", "POST", "PUT", "HEAD", "PATCH")
RESERVED = ("__ow_method", "__ow_headers", "__ow_path", "__ow_user", "__ow_query", "__ow_body")
SECRET_HEADER = "x-require-whisk-auth"  # noqa: S105  the name of the header, not its value
CORS_HEADERS = "Authorization, Origin, X-Requested-With, Content-Type, Accept, User-Agent"
MESSAGE = "message/http"
HTML, TEXT, SVG = "text/html", "text/plain", "image/svg+xml"
OK, NO_CONTENT = 200, 204
BODILESS = (204, 205, 304)
LEAST_STATUS, MOST_STATUS = 200, 599

_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")
_STATUS = re.compile(r"[0-9]{3}")
_JSON_WORD = re.compile(r"null|true|[0-9]+")  # JSON that looks like base64
# The server sets these headers itself.
_OURS = {
    "connection", "content-length", "keep-alive", "trailer", "transfer-encoding", "upgrade",
    "x-openwhisk-activation-id", "x-request-id",
}  # fmt: skip


class NotAcceptableError(RefusedError):
    """The caller accepts none of the types that the response can have (406)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WebRequest:
    """An HTTP request. `headers` is by lower-case names; `user` is the namespace of the caller."""

    method: str
    path: str
    headers: Mapping[str, str]
    query: str = ""
    body: bytes = b""
    user: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WebResponse:
    """An HTTP response."""

    status: int
    headers: Headers = field(default_factory=list)
    body: bytes = b""


# --- requests ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The action that a path names, the medium, and the rest of the path as it came."""

    action: str
    medium: str
    path: str


def target_of(path: str) -> Target:
    """Reads `action[.medium][/path]`, percent-encoded; `http` when there is no medium."""
    segment, slash, rest = path.partition("/")
    name = unquote(segment)
    stem, _, medium = name.rpartition(".")
    if not stem or medium not in MEDIA:
        stem, medium = name, "http"
    return Target(action=stem, medium=medium, path=slash + rest)


def check_exported(action: Action) -> None:
    """Checks that an action is a web action.

    Raises:
        NotFoundError: it is not, as if it did not exist.
    """
    if not _says(action, "web-export"):
        raise NotFoundError


def cors_headers(action: Action, headers: Mapping[str, str]) -> Headers:
    """The CORS headers for a browser: they allow anything, and the headers that the browser asks for.

    Empty if the action itself answers OPTIONS.
    """
    if _says(action, "web-custom-options"):
        return []
    return [
        ("access-control-allow-origin", "*"),
        ("access-control-allow-methods", ", ".join(METHODS)),
        (
            "access-control-allow-headers",
            headers.get("access-control-request-headers", CORS_HEADERS),
        ),
    ]


def check_admitted(action: Action, request: WebRequest) -> None:
    """Checks that a caller satisfies the action's annotation `require-whisk-auth`.

    `true` admits every namespace; a text or a number admits callers that send it; any other value except `false`
    admits nobody. A preflight request of a browser needs no credentials.

    Raises:
        UnauthorizedError: with OpenWhisk's text.
    """
    wanted = action.annotations.get("require-whisk-auth", False)
    if wanted is False or request.method == "OPTIONS":
        return
    if wanted is True:
        admitted = request.user is not None
    else:
        admitted = _same(wanted, request.headers.get(SECRET_HEADER))
    if not admitted:
        raise UnauthorizedError(
            "The resource requires authentication, which was not supplied with the request"
        )


def _same(wanted: JSON, shown: str | None) -> bool:
    if shown is None or not isinstance(wanted, (str, int, float)):
        return False
    secret = wanted if isinstance(wanted, str) else json.dumps(wanted)
    return hmac.compare_digest(shown.encode("latin-1"), secret.encode())


def web_parameters(request: WebRequest, action: Action) -> dict[str, JSON]:
    """Makes the parameters of an action from a request.

    Raises:
        InvalidError: the body cannot be read, or the request sets a reserved or final parameter.
    """
    context: dict[str, JSON] = {
        "__ow_method": request.method.lower(),
        "__ow_headers": dict(request.headers),
        "__ow_path": request.path,
    }
    if request.user is not None:
        context["__ow_user"] = request.user
    if _says(action, "raw-http"):
        return {**context, "__ow_query": request.query, "__ow_body": _raw(request)}
    fields, whole = _content(request)
    given = {**_pairs(request.query), **fields}
    if not (action.final | set(RESERVED)).isdisjoint(given):
        raise InvalidError(
            "Request defines parameters that are not allowed (e.g., reserved properties)."
        )
    return {**given, **context, **whole}


def _says(action: Action, annotation: str) -> bool:
    """True if an annotation is `true`, and not another truthy value."""
    return action.annotations.get(annotation) is True


def _content(request: WebRequest) -> tuple[dict[str, JSON], dict[str, JSON]]:
    """The fields of a body, and the whole body if it has no fields."""
    if not request.body:
        return {}, {}
    kind = _kind(request)
    if kind.json:
        document = _document(request.body)
        return (document, {}) if isinstance(document, dict) else ({}, {"__ow_body": document})
    if kind.name == FORM:
        return _pairs(request.body.decode("utf-8", "replace")), {}
    return {}, {"__ow_body": _raw(request)}


def _document(body: bytes) -> JSON:
    try:
        document: JSON = json.loads(body)
        why = flaw(document)
    except (ValueError, RecursionError) as error:
        why = str(error)
    if why:
        raise InvalidError(f"The request content was malformed:\n{why}")
    return document


def _pairs(text: str) -> dict[str, Any]:
    """The fields of a query or a form; the last of equal names counts."""
    return dict(parse_qsl(text, keep_blank_values=True))


def _raw(request: WebRequest) -> str:
    """A body as text, or in base64 if it is binary or JSON."""
    kind = _kind(request)
    if kind.text and not kind.json:
        try:
            return request.body.decode()
        except UnicodeDecodeError:
            pass  # the body is not the text that its type claims
    return b64encode(request.body).decode()


def _kind(request: WebRequest) -> MediaType:
    told = media_type(request.headers.get("content-type", ""))
    return told or MediaType("application/octet-stream")


# --- responses ---------------------------------------------------------------------------------


def web_response(target: Target, result: JSON, *, failed: bool, accept: str = "") -> WebResponse:
    """Turns an action's result or error into a response.

    Args:
        target: of the request.
        result: of the action; `{"error": ...}` if it has failed.
        failed: True if the action has failed; then its `error` becomes the response.
        accept: the types that the caller accepts; "" for any.

    Raises:
        NotFoundError: the result does not have the member that the path names.
        InvalidError: the result does not fit the medium.
        NotAcceptableError: the caller does not accept the type of the response.
    """
    medium = MEDIA[target.medium]
    names = [unquote(name) for name in target.path.split("/") if name]
    if failed:
        made = medium.write(_default(medium, _failure(medium, result)))
    elif medium.picks and names:
        made = medium.write(_picked(result, names))
    else:
        made = medium.write(_default(medium, result))
    if made.body:
        _check_accepted(accept, made)
    return made


def _failure(medium: _Medium, result: Any) -> JSON:
    """The error of a failure. An object that is not a response is refused, and not sent as an empty response."""
    error: JSON = result["error"]
    if medium.picks or not isinstance(error, dict):
        return error
    if not {"statusCode", "headers", "body"} & error.keys():
        raise _invalid(MESSAGE)
    return error


def _picked(result: JSON, names: list[str]) -> JSON:
    for name in names:
        if not isinstance(result, dict) or name not in result:
            raise _not_included()
        result = result[name]
    return result


def _default(medium: _Medium, result: JSON) -> JSON:
    """The part of a result that a medium sends if the path names none: its default field or the whole."""
    if medium.field is None or not isinstance(result, dict):
        return result
    for name in ("body", medium.field):
        if name in result:
            return result[name]
    if medium.field == "text":
        raise _not_included()
    return None


def _not_included() -> NotFoundError:
    return NotFoundError("Response does not include requested property.")


def _check_accepted(accept: str, made: WebResponse) -> None:
    shown = next(value for name, value in made.headers if name == "content-type")
    if not accepts(accept, shown.partition(";")[0].strip().lower()):
        raise NotAcceptableError(
            f"Resource representation is only available with these types:\n{shown}"
        )


def _as_json(result: JSON) -> WebResponse:
    if not isinstance(result, (dict, list)):
        raise _invalid(JSON_TYPE)
    return _typed(JSON_TYPE, _json(result))


def _as_text(result: JSON) -> WebResponse:
    return _typed(f"{TEXT}; charset=UTF-8", result if isinstance(result, str) else _json(result))


def _as_html(result: JSON) -> WebResponse:
    if not isinstance(result, str):
        raise _invalid(HTML)
    return _typed(f"{HTML}; charset=UTF-8", result)


def _as_svg(result: JSON) -> WebResponse:
    if not isinstance(result, str):
        raise _invalid(SVG)
    return _typed(SVG, result)


def _as_http(result: JSON) -> WebResponse:
    """Makes a response from a result with its own status, headers and body."""
    if not isinstance(result, dict):
        raise _invalid(MESSAGE)
    all_headers = _headers(result.get("headers"))
    told = next((value for name, value in all_headers if name.lower() == "content-type"), None)
    headers = [header for header in all_headers if header[0].lower() != "content-type"]
    body, code = result.get("body"), _status(result.get("statusCode"))
    if body is None or body == "" or code in BODILESS:
        return WebResponse(status=code or NO_CONTENT, headers=headers)
    kind, content = _text_body(body, told) if isinstance(body, str) else _json_body(body, told)
    return WebResponse(
        status=code or OK, headers=[*headers, ("content-type", kind)], body=content
    )  # fmt: skip


def _json_body(body: JSON, told: str | None) -> tuple[str, bytes]:
    """Writes a body that is not a text as JSON. Its type must be JSON or missing."""
    kind = media_type(JSON_TYPE if told is None else told)
    if kind is None or not kind.json:
        raise _mismatched()
    return kind.name, _encoded(_json(body))


def _text_body(body: str, told: str | None) -> tuple[str, bytes]:
    """Sends a text as it is, or decodes it from base64, as its type says."""
    shown = HTML if told is None else told
    kind = media_type(shown)
    if kind is None:
        raise _unknown()
    packed = _unpacked(body) if _may_be_packed(kind, body) else None
    if packed is not None:
        return shown, packed
    if not kind.text and not kind.xml:
        raise _mismatched()
    if kind.text and not kind.json and kind.charset is None:
        shown += "; charset=UTF-8"
    return shown, _encoded(body, kind.charset or "utf-8")


def _may_be_packed(kind: MediaType, body: str) -> bool:
    """True if a body may be base64. JSON may, because early actions of OpenWhisk sent it so."""
    if kind.json:
        return len(body) % 4 == 0 and not _JSON_WORD.fullmatch(body)
    return not kind.text


def _unpacked(body: str) -> bytes | None:
    try:
        return b64decode(body + "=" * (-len(body) % 4), validate=True)
    except ValueError:
        return None


def _status(code: JSON) -> int | None:
    """The status of a final response; None if the result has none."""
    if code is None:
        return None
    if isinstance(code, str) and _STATUS.fullmatch(code):
        code = int(code)
    if isinstance(code, bool) or not isinstance(code, (int, float)):
        raise _invalid(MESSAGE)
    if not LEAST_STATUS <= code <= MOST_STATUS or code != int(code):
        raise _invalid(MESSAGE)
    return int(code)


def _headers(doc: JSON) -> Headers:
    """The headers of a result: each is a value or a list of values, of text, number or boolean.

    Raises:
        InvalidError: a header cannot be sent. A value must not contain what could be read as another header.
    """
    if doc is None:
        return []
    if not isinstance(doc, dict):
        raise _invalid(MESSAGE)
    headers = [(name, text.strip(" \t")) for name, value in doc.items() for text in _texts(value)]
    if not all(_NAME.fullmatch(name) and _VALUE.fullmatch(text) for name, text in headers):
        raise _invalid(MESSAGE)
    return [header for header in headers if header[0].lower() not in _OURS]


def _texts(value: JSON) -> Iterable[str]:
    if isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, str):
        yield value
    elif isinstance(value, (int, float)):
        yield json.dumps(value)
    else:
        raise _invalid(MESSAGE)


def _json(value: JSON) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)


def _typed(media: str, text: str) -> WebResponse:
    return WebResponse(status=OK, headers=[("content-type", media)], body=_encoded(text))


def _encoded(text: str, charset: str = "utf-8") -> bytes:
    try:
        return text.encode(charset, "replace")
    except (LookupError, ValueError):
        raise _unknown() from None


def _invalid(media: str) -> InvalidError:
    return InvalidError(f"Response is not valid '{media}'.")


def _unknown() -> InvalidError:
    return InvalidError("Response did not specify a known content-type.")


def _mismatched() -> InvalidError:
    return InvalidError("Response type in header did not match generated content type.")


@dataclass(frozen=True, slots=True)
class _Medium:
    """A medium: the function that writes a result, the default field, and whether a path may pick another."""

    write: Callable[[JSON], WebResponse]
    field: str | None = None
    picks: bool = True


MEDIA = {
    "http": _Medium(_as_http, picks=False),
    "json": _Medium(_as_json),
    "html": _Medium(_as_html, "html"),
    "svg": _Medium(_as_svg, "svg"),
    "text": _Medium(_as_text, "text"),
}
