"""Client of the HTTP API, which the commands use."""

from __future__ import annotations

import json
import os
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import quote, unquote

from ...composer import Error
from . import dev_file, wskprops
from .connection import BROKEN_OFF, FAILURES, Connection, basic, target
from .exit_codes import FAILED, MISSING, NOT_ALLOWED, TIMED_OUT, UNREACHED

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

NAMESPACES = "/api/v1/namespaces"
NO_CONTENT, LEAST_ERROR, UNAUTHORIZED, NOT_FOUND = 204, 400, 401, 404
ACTIONS, ENTITIES, EXECUTIONS, ACTIVATIONS = "actions", "entities", "executions", "activations"
URL = "http://127.0.0.1:3233"
HINT = "Start a server with `xingqiao serve`, or name one with --url or XINGQIAO_URL"
WAIT_MS = 60_000
_VARIABLES = ("XINGQIAO_URL", "XINGQIAO_AUTH", "XINGQIAO_AUTH_FILE")
_EXIT_CODES: dict[int | None, int] = {
    401: NOT_ALLOWED, 403: NOT_ALLOWED, 404: MISSING, 408: TIMED_OUT, 504: TIMED_OUT,
}  # fmt: skip
MARGIN_S = 15.0  # seconds on top of the time that we ask the server to wait
DEADLINE_S = WAIT_MS / 1000 + MARGIN_S


def annotations_of(doc: Mapping[str, Any]) -> dict[str, Any]:
    """The annotations of a definition or of an activation, by name."""
    return {note["key"]: note["value"] for note in doc["annotations"]}


class ApiError(Error):
    """The server refused a request (with a `status`) or cannot be reached; the text says why.

    `request` is the method and the path of the request that the server refused.
    """

    def __init__(
        self,
        text: str,
        status: int | None = None,
        *,
        exit_code: int | None = None,
        request: tuple[str, str] | None = None,
    ) -> None:
        super().__init__(text if status is None else f"{text} ({status})")
        self.status, self.request = status, request
        self.exit_code = _EXIT_CODES.get(status, FAILED) if exit_code is None else exit_code

    @property
    def is_missing(self) -> bool:
        """True if the requested resource does not exist."""
        return self.status == NOT_FOUND


@dataclass(frozen=True, slots=True, kw_only=True)
class Origins:
    """The places that the URL and the credentials come from, as errors name them."""

    url: str = "--url"
    auth: str = "--auth"


class Client:
    """A connection to a server, for one namespace.

    Args:
        url: URL of the server.
        auth: credentials, `uuid:key`.
        ca: PEM file of the trusted certificates; None for the certificates that this machine trusts.
        wait_s: seconds to wait for the server.
        origins: the places that the URL and the credentials come from.

    Raises:
        ApiError: `ca` cannot be read.
        ValueError: the URL is not valid.
    """

    def __init__(
        self,
        url: str,
        auth: str,
        ca: str | None = None,
        origins: Origins | None = None,
        *,
        wait_s: float = DEADLINE_S,
    ) -> None:
        user, _, key = auth.partition(":")
        self._headers = {"Authorization": basic(user, key), "User-Agent": "xingqiao"}
        self.url, self.auth, self.ca = url, auth, ca
        self._origins = origins or Origins()
        context = None if ca is None else tls_context(ca)
        self._http = Connection(url, timeout_s=wait_s, context=context)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._http.close()

    def ask(self, method: str, path: str, *, body: Any = None, **query: Any) -> Any:
        """Sends a request for a path of the namespace. Returns the JSON of the response.

        A failed action's response is returned too.

        Raises:
            ApiError: the server refused the request or cannot be reached.
        """
        return self._ask(method, f"{NAMESPACES}/_/{quote(path)}", body, query)[1]

    def ask_named(
        self, method: str, collection: str, name: str, *, body: Any = None, **query: Any
    ) -> Any:
        """Like `ask`, for a named resource: `name`, `package/name`, or in full `/namespace/name`."""
        return self._ask(method, _path(collection, name), body, query)[1]

    def ask_entity(
        self, method: str, type: str, key: str, *, body: Any = None, **query: Any
    ) -> tuple[int, Any]:
        """Like `ask`, for an entity. Returns the status too: 202 if a call has not ended yet."""
        path = f"{_path(ENTITIES, type)}/keys/{_segment(key)}"
        return self._ask(method, path, body, query)

    def ask_action(self, method: str, name: str, *, body: Any = None, **query: Any) -> Any:
        """Like `ask_named`, for an action."""
        return self.ask_named(method, ACTIONS, name, body=body, **query)

    def collection(self, collection: str, namespace: str | None, **query: Any) -> Any:
        """A page of a collection of a namespace (`/namespace`; the caller's own if None)."""
        owner = quote((namespace or "_").strip("/"))
        return self._ask("GET", f"{NAMESPACES}/{owner}/{collection}", None, query)[1]

    def ask_run(
        self,
        method: str,
        id: str,
        rest: str = "",
        *,
        of: str = EXECUTIONS,
        body: Any = None,
        **query: Any,
    ) -> Any:
        """Like `ask`, for an execution by the id of a run or your own, which may have any characters."""
        return self._ask(method, f"{NAMESPACES}/_/{of}/{_segment(id)}{rest}", body, query)[1]

    def get(self, path: str) -> Any:
        """Like `ask`, for any path of the server."""
        return self._ask("GET", path, None, {})[1]

    def send(self, method: str, path: str, body: Any = None, **query: Any) -> Any:
        """Like `ask`, for any path of the server, with a body."""
        return self._ask(method, path, body, query)[1]

    def _ask(
        self,
        method: str,
        path: str,
        body: Any,
        query: dict[str, Any],
        headers: dict[str, str] | None = None,
    ) -> tuple[int, Any]:
        given = {name: str(value).lower() if isinstance(value, bool) else str(value)
                 for name, value in query.items() if value is not None}  # fmt: skip
        sent = {**self._headers, **(headers or {})}
        content = None
        if body is not None:
            content = json.dumps(body, ensure_ascii=False, allow_nan=False).encode()
            sent["Content-Type"] = "application/json"
        try:
            response = self._http.request(method, target(path, given), content, sent)
        except FAILURES as error:
            late = isinstance(error, TimeoutError)
            raise ApiError(
                f"the server at {self.url} cannot be reached: {self._unreached(error)}",
                exit_code=TIMED_OUT if late else UNREACHED,
            ) from error
        if response.status == NO_CONTENT:
            return NO_CONTENT, None
        try:
            document = json.loads(response.content)
        except ValueError:
            raise ApiError(
                f"the response of {self.url} ({response.status}) is not JSON: "
                "check that --url names a Xingqiao server"
            ) from None
        failed_action = "x-openwhisk-activation-id" in response.headers
        if response.status >= LEAST_ERROR and not failed_action:
            text = document.get("error", document) if isinstance(document, dict) else document
            gone = response.status == NOT_FOUND
            what = f"{_shown(path)}: {text}" if gone else str(text)
            if response.status == UNAUTHORIZED:
                what = (
                    f"{what}: the credentials come from {self._origins.auth}, and the server at "
                    f"{self.url} does not accept them: check that they belong to this server"
                )
            raise ApiError(what, response.status, request=(method, path))
        return response.status, document

    def _unreached(self, error: Exception) -> str:
        """The reason why the server cannot be reached, and the remedy."""
        why = str(error).rstrip(".")
        scheme, _, place = self.url.partition("://")
        origin = f"The URL comes from {self._origins.url}"
        if "CERTIFICATE_VERIFY_FAILED" in why:
            return (
                f"its certificate is not trusted ({why}). Give the PEM file of its certificate or "
                "of its authority with --ca or XINGQIAO_CA"
            )
        if scheme == "https" and "SSL" in why:
            return (
                f"the TLS handshake failed ({why}). If the server does not serve HTTPS, use "
                f"http://{place}. {origin}"
            )
        if scheme == "http" and isinstance(error, BROKEN_OFF):
            return (
                f"the connection was closed without a response ({why}). If the server serves "
                f"HTTPS, use https://{place}. {origin}"
            )
        return f"{why}. {origin}. {HINT}"

    def invoke(
        self,
        name: str,
        params: Any,
        *,
        blocking: bool,
        result: bool,
        token: str | None = None,
        **options: str | None,
    ) -> tuple[int, Any]:
        """Invokes an action. Returns status and response; 202 with an id if it has not ended yet."""
        query = {"blocking": blocking, "result": result, **options}
        headers = {} if token is None else {"idempotency-key": token}
        return self._ask("POST", _path(ACTIONS, name), params, query, headers)

    def put_action(self, name: str, document: Any, *, overwrite: bool) -> Any:
        """Creates or updates an action. Returns the stored action."""
        return self.ask_action("PUT", name, body=document, overwrite=overwrite)

    def activation(self, id: str, *, wait_ms: int = 0) -> dict[str, Any] | None:
        """The record of an activation, or None if it has not ended after `wait_ms`."""
        try:
            record: dict[str, Any] = self.ask_run("GET", id, of=ACTIVATIONS, wait=wait_ms)
        except ApiError as error:
            if error.status == NOT_FOUND:
                return None
            raise
        return record if "response" in record else None

    def history(self, id: str, *, after: int = 0) -> Iterator[dict[str, Any]]:
        """The history entries of an execution after entry `after`, page by page."""
        while True:
            page = self.ask_run("GET", id, "/history", after=after, limit=1000)
            yield from page["entries"]
            if "next" not in page:
                return
            after = page["next"]


def _path(collection: str, name: str) -> str:
    """URL path of a named resource."""
    namespace, _, rest = name[1:].partition("/") if name.startswith("/") else ("_", "", name)
    return f"{NAMESPACES}/{quote(namespace)}/{collection}/{quote(rest)}"


def _shown(path: str) -> str:
    """Readable form of a path in the caller's namespace: `actions/package/name`."""
    return unquote(path).removeprefix(f"{NAMESPACES}/_/")


def _segment(text: str) -> str:
    """Any text as one segment of a path. `.` and `..` alone would change the path: they are escaped."""
    return text.replace(".", "%2E") if text in {".", ".."} else quote(text, safe="")


def tls_context(ca: str) -> ssl.SSLContext:
    """Trusts the certificates of a PEM file.

    Raises:
        ApiError: the file cannot be read.
    """
    try:
        return ssl.create_default_context(cafile=ca)
    except (OSError, ssl.SSLError) as error:
        raise ApiError(f"--ca {ca} cannot be read: {error}") from error


def connect(  # noqa: PLR0913  where each may come from
    url: str | None,
    auth: str | None,
    auth_file: str | None = None,
    ca: str | None = None,
    auth_from: str = "--auth",
    *,
    wait_s: float = DEADLINE_S,
) -> Client:
    """Makes a client from options, the environment, `xingqiao dev`, or `.wskprops`, in that order.

    The URL and the credentials of `xingqiao dev` belong together: they are used if neither is given, so
    that a folder cannot send your own credentials to a server of its choice.

    Args:
        url: URL of the server, from an option.
        auth: credentials, from `auth_from`.
        auth_file: file that holds the credentials.
        ca: PEM file of the trusted certificates.
        auth_from: the place that `auth` comes from, for errors.
        wait_s: seconds to wait for the server.

    Raises:
        ApiError: there are no credentials, the URL is not valid, or a file cannot be read.
    """
    if auth and auth_file:
        raise ApiError("--auth and --auth-file are both given: remove one of them")
    nothing_given = not (url or auth or auth_file or any(map(os.environ.get, _VARIABLES)))
    developed = dev_file.read() if nothing_given else None
    if developed is not None:
        (url, auth), auth_from = developed, f"AUTH in {dev_file.FILE}"
    properties = wskprops.read()
    url, url_from = _first(
        (url, "--url" if developed is None else f"{dev_file.FILE}, which `xingqiao dev` wrote"),
        (os.environ.get("XINGQIAO_URL"), "XINGQIAO_URL"),
        (_host(properties.get("APIHOST")), f"APIHOST in {wskprops.path()}"),
        (URL, "the default: --url, XINGQIAO_URL and .wskprops name none"),
    )
    if auth:
        auth = auth.strip()
    elif auth_file:
        auth, auth_from = credentials_in(auth_file), f"the file {auth_file}"
    else:
        file = credentials_in(os.environ.get("XINGQIAO_AUTH_FILE"))
        auth, auth_from = _first(
            (os.environ.get("XINGQIAO_AUTH"), "XINGQIAO_AUTH"),
            (file, "the file in XINGQIAO_AUTH_FILE"),
            (properties.get("AUTH"), f"AUTH in {wskprops.path()}"),
        )
    auth = _checked(auth, auth_from)
    ca = ca or os.environ.get("XINGQIAO_CA") or None
    try:
        origins = Origins(url=url_from, auth=auth_from)
        return Client(url.rstrip("/"), auth, ca, origins, wait_s=wait_s)
    except ValueError as error:
        raise ApiError(f"{url} (from {url_from}) is not a valid URL: {error}") from error


def _checked(auth: str | None, origin: str) -> str:
    """Credentials in their form.

    Raises:
        ApiError: they are missing or malformed.
    """
    if not auth:
        raise ApiError(
            "the credentials are missing: set XINGQIAO_AUTH to UUID:KEY, or give --auth-file FILE "
            "(the server prints the credentials at its first start)",
            exit_code=NOT_ALLOWED,
        )
    if ":" not in auth:
        raise ApiError(
            f"the credentials from {origin} must have the form UUID:KEY, with a ':'",
            exit_code=NOT_ALLOWED,
        )
    return auth


def _first(*offers: tuple[str | None, str]) -> tuple[str, str]:
    """The first value that is given, with the place that it comes from; "" if there is none."""
    given = (
        (value.strip(), place) for value, place in offers if value
    )  # a variable that is set from a file may end with a newline
    return next(((value, place) for value, place in given if value), ("", ""))


def credentials_in(file: str | None) -> str | None:
    """The credentials that a file holds; None if no file is named.

    Raises:
        ApiError: the file cannot be read.
    """
    if not file:
        return None
    try:
        return Path(file).read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise ApiError(f"the credentials file {file} cannot be read: {why}") from error


def _host(apihost: str | None) -> str | None:
    if not apihost:
        return None
    return apihost if "://" in apihost else f"https://{apihost}"
