"""Client of the HTTP API, which the commands use."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import quote

from ...composer import Error
from ..client import (
    HOME,
    MARGIN_S,
    NAMESPACES,
    NOT_FOUND,
    CredentialsError,
    Given,
    Options,
    Place,
    PlaceError,
    Request,
    answer,
    basic,
    entity,
    locate,
    named,
    segment,
)
from ..client import credentials_in as _credentials_in
from .connection import BROKEN_OFF, FAILURES, Connection
from .exit_codes import FAILED, MISSING, NOT_ALLOWED, TIMED_OUT, UNREACHED

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

UNAUTHORIZED = 401
ACTIONS, ENTITIES, EXECUTIONS, ACTIVATIONS = "actions", "entities", "executions", "activations"
OPTIONS = Options(url="--url", auth="--auth", auth_file="--auth-file FILE", ca="--ca")
WAIT_MS = 60_000
_EXIT_CODES: dict[int | None, int] = {
    401: NOT_ALLOWED, 403: NOT_ALLOWED, 404: MISSING, 408: TIMED_OUT, 504: TIMED_OUT,
}  # fmt: skip
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


class Client:
    """A connection to a server, for one namespace.

    Args:
        url: URL of the server.
        auth: credentials, `uuid:key`.
        ca: PEM file of the trusted certificates; None for the certificates that this machine trusts.
        place: the places that the URL and the credentials come from.
        wait_s: seconds to wait for the server.

    Raises:
        ApiError: `ca` cannot be read.
        ValueError: the URL is not valid.
    """

    def __init__(
        self,
        url: str,
        auth: str,
        ca: str | None = None,
        place: Place | None = None,
        *,
        wait_s: float = DEADLINE_S,
    ) -> None:
        user, _, key = auth.partition(":")
        self._headers = {"Authorization": basic(user, key), "User-Agent": "xingqiao"}
        self.url, self.auth, self.ca = url, auth, ca
        self.place = place or Place(
            url=url, auth=auth, ca=ca, url_from="--url", auth_from="--auth", options=OPTIONS
        )
        context = None if ca is None else tls_context(ca)
        self._http = Connection(url, timeout_s=wait_s, context=context)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._http.close()

    def ask(
        self,
        method: str,
        path: str,
        headers: dict[str, str] | None = None,
        /,
        *,
        body: Any = None,
        **query: Any,
    ) -> Any:
        """Sends a request for a path of the namespace. Returns the JSON of the response.

        A failed action's response is returned too.

        Raises:
            ApiError: the server refused the request or cannot be reached.
        """
        return self._ask(method, f"{HOME}/{quote(path)}", body, query, headers)[1]

    def ask_named(
        self, method: str, collection: str, name: str, *, body: Any = None, **query: Any
    ) -> Any:
        """Like `ask`, for a named resource: `name`, `package/name`, or in full `/namespace/name`."""
        return self._ask(method, named(collection, name), body, query)[1]

    def ask_entity(
        self, method: str, type: str, key: str, *, body: Any = None, **query: Any
    ) -> tuple[int, Any]:
        """Like `ask`, for an entity. Returns the status too: 202 if a call has not ended yet."""
        return self._ask(method, entity(type, key), body, query)

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
        /,
        *,
        of: str = EXECUTIONS,
        body: Any = None,
        **query: Any,
    ) -> Any:
        """Like `ask`, for an execution by the id of a run or your own, which may have any characters."""
        return self._ask(method, f"{HOME}/{of}/{segment(id)}{rest}", body, query)[1]

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
        request = Request(method=method, path=path, query=query, body=body, headers=headers or {})
        sent = {**self._headers, **request.all_headers()}
        try:
            response = self._http.request(method, request.target, request.content(), sent)
        except FAILURES as error:
            late = isinstance(error, TimeoutError)
            why = self.place.unreached(error, str(error), cut=isinstance(error, BROKEN_OFF))
            raise ApiError(
                f"the server at {self.url} cannot be reached: {why}",
                exit_code=TIMED_OUT if late else UNREACHED,
            ) from error
        try:
            told = answer(response.status, dict(response.headers), response.content)
        except ValueError:
            raise ApiError(self.place.not_json(response.status)) from None
        if told.is_refusal:
            why = told.why(request)
            if told.status == UNAUTHORIZED:
                why = self.place.unauthorized(why)
            raise ApiError(why, told.status, request=(method, path))
        return told.status, told.document

    def invoke(
        self,
        name: str,
        params: Any,
        *,
        blocking: bool,
        result: bool,
        token: str | None = None,
        **options: str | int | None,
    ) -> tuple[int, Any]:
        """Invokes an action. Returns status and response; 202 with an id if it has not ended yet."""
        query = {"blocking": blocking, "result": result, **options}
        headers = {} if token is None else {"idempotency-key": token}
        return self._ask("POST", named(ACTIONS, name), params, query, headers)

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
    """Makes a client from options, the environment, `xingqiao dev`, or `.wskprops`, in that order: see `locate`.

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
    given = Given(url=url, auth=auth, auth_file=auth_file, ca=ca, auth_from=auth_from)
    try:
        place = locate(given, OPTIONS)
    except CredentialsError as error:
        raise ApiError(str(error), exit_code=NOT_ALLOWED) from error
    except PlaceError as error:
        raise ApiError(str(error)) from error
    try:
        return Client(place.url, place.auth, place.ca, place, wait_s=wait_s)
    except ValueError as error:
        raise ApiError(
            f"{place.url} (from {place.url_from}) is not a valid URL: {error}"
        ) from error


def credentials_in(file: str | None) -> str | None:
    """The credentials that a file holds; None if no file is named.

    Raises:
        ApiError: the file cannot be read.
    """
    try:
        return _credentials_in(file)
    except PlaceError as error:
        raise ApiError(str(error)) from error
