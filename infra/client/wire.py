"""Requests and answers of the HTTP API as data: what the command line and the client share. It sends nothing."""

from __future__ import annotations

import json
from base64 import b64encode
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote, urlencode

if TYPE_CHECKING:
    from collections.abc import Mapping

NAMESPACES = "/api/v1/namespaces"
HOME = f"{NAMESPACES}/_"
CLOUD_EVENTS = "application/cloudevents-batch+json"  # a list of CloudEvents
COMPLETIONS = "/api/v1/completions"
MAX_WAIT_MS = 60_000  # that a server waits at most before it answers
MARGIN_S = 15.0  # seconds on top of the time that we ask the server to wait
NO_CONTENT, ACCEPTED, LEAST_ERROR, UNAUTHORIZED, NOT_FOUND = 204, 202, 400, 401, 404
SAFE = "/%:@!$&'()*+,;=~"  # characters of a path that stand for themselves, or are encoded already
ACTIVATION = "x-openwhisk-activation-id"
_REQUEST_ID = "x-request-id"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request to a server.

    Args:
        method: the HTTP method.
        path: the path, with its segments encoded.
        query: parameters; those that are None are left out.
        body: a JSON value; None for an empty body.
        headers: headers beside those of the content and of the credentials.
        repeatable: True if sending it again changes nothing: it only reads, or it has a token.
    """

    method: str
    path: str
    query: Mapping[str, Any] = field(default_factory=dict)
    body: Any = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    repeatable: bool = False

    @property
    def target(self) -> str:
        """The path and the query as they are sent."""
        return target(self.path, {
            name: str(value).lower() if isinstance(value, bool) else str(value)
            for name, value in self.query.items()
            if value is not None
        })  # fmt: skip

    def content(self) -> bytes | None:
        """The body as it is sent."""
        if self.body is None:
            return None
        return json.dumps(self.body, ensure_ascii=False, allow_nan=False).encode()

    def all_headers(self) -> dict[str, str]:
        """The headers, with the one of the content unless they have it."""
        if self.body is None:
            return dict(self.headers)
        return {"Content-Type": "application/json", **self.headers}


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An answer of a server; names of headers are in lower case."""

    status: int
    headers: Mapping[str, str] = field(repr=False)
    document: Any = field(repr=False)

    @property
    def activation(self) -> str | None:
        """The id of the activation that the request has begun."""
        return self.headers.get(ACTIVATION)

    @property
    def is_refusal(self) -> bool:
        """True if the server has refused the request; the answer of a failed action is no refusal."""
        return self.status >= LEAST_ERROR and self.activation is None

    @property
    def text(self) -> str:
        """The server's text of a refusal."""
        document = self.document
        return str(document.get("error", document) if isinstance(document, dict) else document)

    @property
    def code(self) -> str:
        """The code of a refusal; "" if it has none. Where it has none, servers put the request's id there."""
        code = self.document.get("code") if isinstance(self.document, dict) else None
        return code if isinstance(code, str) and code != self.headers.get(_REQUEST_ID) else ""

    def why(self, request: Request) -> str:
        """The reason of a refusal, with the path if it names something that does not exist."""
        return f"{shown(request.path)}: {self.text}" if self.status == NOT_FOUND else self.text


def answer(status: int, headers: Mapping[str, str], content: bytes) -> Answer:
    """Reads what a server has sent.

    Raises:
        ValueError: the content is not JSON.
    """
    lowered = {name.lower(): value for name, value in headers.items()}
    document = None if status == NO_CONTENT else json.loads(content)
    return Answer(status=status, headers=lowered, document=document)


# --- paths ---------------------------------------------------------------------------------------


def named(collection: str, name: str) -> str:
    """The path of a named resource: `name`, `package/name`, or in full `/namespace/name`."""
    namespace, _, rest = name[1:].partition("/") if name.startswith("/") else ("_", "", name)
    return f"{NAMESPACES}/{quote(namespace)}/{collection}/{quote(rest)}"


def entity(type: str, key: str) -> str:
    """The path of an entity."""
    return f"{named('entities', type)}/keys/{segment(key)}"


def execution(id: str, *rest: str) -> str:
    """The path of an execution, or of something below it."""
    return "/".join([HOME, "executions", *map(segment, (id, *rest))])


def segment(text: str) -> str:
    """Any text as one segment of a path. `.` and `..` alone would change the path: they are escaped."""
    return text.replace(".", "%2E") if text in {".", ".."} else quote(text, safe="")


def shown(path: str) -> str:
    """Readable form of a path in the caller's namespace: `actions/package/name`."""
    return unquote(path).removeprefix(f"{HOME}/")


def target(path: str, query: Mapping[str, str]) -> str:
    """A path and a query as a request names them, with all other characters encoded."""
    encoded = quote(path, safe=SAFE)
    return f"{encoded}?{urlencode(query, quote_via=quote)}" if query else encoded


def basic(user: str, password: str) -> str:
    """The header `Authorization` for HTTP Basic authentication."""
    return f"Basic {b64encode(f'{user}:{password}'.encode()).decode()}"
