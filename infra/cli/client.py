"""The service as its command line sees it: a client of its HTTP API."""

from __future__ import annotations

import os
import ssl
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import quote, unquote

import httpx

from ...composer import Error
from . import wskprops

if TYPE_CHECKING:
    from collections.abc import Iterator

NAMESPACES = "/api/v1/namespaces"
NO_CONTENT, NOT_FOUND = 204, 404
ACTIONS, ENTITIES = "actions", "entities"
URL = "http://127.0.0.1:3233"
WAIT_MS = 60_000
MARGIN_S = 15.0  # over what we ask the server to wait


class ApiError(Error):
    """The server refuses, with a `status`, or cannot be reached; the text says what it said."""

    def __init__(self, text: str, status: int | None = None) -> None:
        super().__init__(text if status is None else f"{text} ({status})")
        self.status = status

    @property
    def is_missing(self) -> bool:
        """Whether what was asked for is not there."""
        return self.status == NOT_FOUND


class Client:
    """A connection to a server, for one namespace.

    Args:
        url: of the server.
        auth: `uuid:key`.
        ca: PEM file of the certificates that the server's must be signed by, or be; None for those
            that this machine trusts.

    Raises:
        ApiError: when `ca` cannot be read.
    """

    def __init__(self, url: str, auth: str, ca: str | None = None) -> None:
        user, _, key = auth.partition(":")
        self.url, self.auth, self.ca = url, auth, ca
        self._http = httpx.Client(
            base_url=url,
            auth=(user, key),
            timeout=WAIT_MS / 1000 + MARGIN_S,
            verify=True if ca is None else _trusting(ca),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._http.close()

    def ask(self, method: str, path: str, *, body: Any = None, **query: Any) -> Any:
        """Asks for a path of the namespace. Returns the answer's JSON, that of a failed action too.

        Raises:
            ApiError: when the server refuses or cannot be reached.
        """
        return self._ask(method, f"{NAMESPACES}/_/{quote(path)}", body, query)[1]

    def entity(
        self, method: str, collection: str, name: str, *, body: Any = None, **query: Any
    ) -> Any:
        """As `ask`, for what has a name: `name`, `package/name`, or in full `/namespace/name`."""
        return self._ask(method, _path(collection, name), body, query)[1]

    def keyed(
        self, method: str, type: str, key: str, *, body: Any = None, **query: Any
    ) -> tuple[int, Any]:
        """As `ask`, for an entity. Returns the status, too: 202 when a call has not ended yet."""
        path = f"{_path(ENTITIES, type)}/keys/{_segment(key)}"
        return self._ask(method, path, body, query)

    def ask_action(self, method: str, name: str, *, body: Any = None, **query: Any) -> Any:
        """As `entity`, for an action."""
        return self.entity(method, ACTIONS, name, body=body, **query)

    def collection(self, collection: str, namespace: str | None, **query: Any) -> Any:
        """Those of a namespace, which may be written `/namespace`; of the caller's own when None."""
        owner = quote((namespace or "_").strip("/"))
        return self._ask("GET", f"{NAMESPACES}/{owner}/{collection}", None, query)[1]

    def get(self, path: str) -> Any:
        """As `ask`, for any path of the server."""
        return self._ask("GET", path, None, {})[1]

    def send(self, method: str, path: str, body: Any = None, **query: Any) -> Any:
        """As `ask`, for any path of the server, with a body."""
        return self._ask(method, path, body, query)[1]

    def _ask(self, method: str, path: str, body: Any, query: dict[str, Any]) -> tuple[int, Any]:
        asked = {name: str(value).lower() if isinstance(value, bool) else value
                 for name, value in query.items() if value is not None}  # fmt: skip
        try:
            response = self._http.request(method, path, json=body, params=asked)
        except httpx.HTTPError as error:
            raise ApiError(f"{self.url} cannot be reached: {error}") from error
        if response.status_code == NO_CONTENT:
            return NO_CONTENT, None
        try:
            document = response.json()
        except ValueError:
            raise ApiError(f"{self.url} answered {response.status_code} and no JSON") from None
        failed_action = "x-openwhisk-activation-id" in response.headers
        if response.is_error and not failed_action:
            text = document.get("error", document) if isinstance(document, dict) else document
            gone = response.status_code == NOT_FOUND
            what = f"{_shown(path)}: {text}" if gone else str(text)
            raise ApiError(what, response.status_code)
        return response.status_code, document

    def invoke(self, name: str, params: Any, *, blocking: bool, result: bool) -> tuple[int, Any]:
        """Invokes an action. Returns the status and the answer; 202 with an id when it is not done."""
        query = {"blocking": blocking, "result": result}
        return self._ask("POST", _path(ACTIONS, name), params, query)

    def put_action(self, name: str, document: Any, *, overwrite: bool) -> Any:
        """Creates or updates an action. Returns it as it is then."""
        return self.ask_action("PUT", name, body=document, overwrite=overwrite)

    def activation(self, id: str, *, wait_ms: int = 0) -> dict[str, Any] | None:
        """The record of an activation; None when there is none, even after waiting for its end."""
        try:
            record: dict[str, Any] = self.ask("GET", f"activations/{id}", wait=wait_ms)
        except ApiError as error:
            if error.status == NOT_FOUND:
                return None
            raise
        return record

    def history(self, id: str) -> Iterator[dict[str, Any]]:
        """All history entries of an execution, page by page."""
        after = 0
        while True:
            page = self.ask("GET", f"executions/{id}/history", after=after, limit=1000)
            yield from page["entries"]
            if "next" not in page:
                return
            after = page["next"]


def _path(collection: str, name: str) -> str:
    """The path of a name."""
    namespace, _, rest = name[1:].partition("/") if name.startswith("/") else ("_", "", name)
    return f"{NAMESPACES}/{quote(namespace)}/{collection}/{quote(rest)}"


def _shown(path: str) -> str:
    """What a path of the caller's namespace asks for, as one reads it: `actions/package/name`."""
    return unquote(path).removeprefix(f"{NAMESPACES}/_/")


def _segment(text: str) -> str:
    """Any text as one segment of a path; of dots alone it would be taken for a place in it."""
    return text.replace(".", "%2E") if text in {".", ".."} else quote(text, safe="")


def _trusting(ca: str) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=ca)
    except (OSError, ssl.SSLError) as error:
        raise ApiError(f"--ca {ca} cannot be read: {error}") from error


def connect(
    url: str | None, auth: str | None, auth_file: str | None = None, ca: str | None = None
) -> Client:
    """A client, from options, the environment, or OpenWhisk's `.wskprops`.

    Raises:
        ApiError: when there are no credentials, the URL is none, or a file cannot be read.
    """
    if auth and auth_file:
        raise ApiError("--auth and --auth-file are both given: give one")
    told = wskprops.read()
    url = url or os.environ.get("XINGQIAO_URL") or _host(told.get("APIHOST")) or URL
    auth = auth or credentials_in(auth_file) or os.environ.get("XINGQIAO_AUTH")
    auth = auth or credentials_in(os.environ.get("XINGQIAO_AUTH_FILE")) or told.get("AUTH")
    ca = ca or os.environ.get("XINGQIAO_CA") or None
    if not auth:
        raise ApiError(
            "no credentials: set XINGQIAO_AUTH to uuid:key, or give --auth-file FILE "
            "(the server shows them at its first start)"
        )
    try:
        return Client(url.rstrip("/"), auth, ca)
    except httpx.InvalidURL as error:
        raise ApiError(f"{url} is no URL: {error}") from error


def credentials_in(file: str | None) -> str | None:
    """The credentials that a file holds; None when there is no file.

    Raises:
        ApiError: when it cannot be read.
    """
    if not file:
        return None
    try:
        return Path(file).read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        told = getattr(error, "strerror", None) or error
        raise ApiError(f"the file of credentials {file} cannot be read: {told}") from error


def _host(apihost: str | None) -> str | None:
    if not apihost:
        return None
    return apihost if "://" in apihost else f"https://{apihost}"
