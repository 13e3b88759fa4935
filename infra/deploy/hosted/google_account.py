"""A service account of Google Cloud, and requests to Google's REST APIs with its token.

The token comes from the metadata server, as in every function: no key is stored anywhere. The variables that
Google's own libraries read name other hosts: GCE_METADATA_HOST, and for emulators, which take plain HTTP,
FIRESTORE_EMULATOR_HOST and CLOUD_TASKS_EMULATOR_HOST.

An action's function starts cold with this module: it imports only what it needs.
"""

from __future__ import annotations

import http.client
import json
import os
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

METADATA = "metadata.google.internal"
TOKEN = "/computeMetadata/v1/instance/service-accounts/default/token"  # noqa: S105  a path
DEADLINE_S = 10  # of a request, far below the life of a conductor
IDLE_MS = 20_000  # a connection that was idle for longer may be closed: Google ends idle ones after a minute
SPARE_MS = 60_000  # a token is replaced so long before it expires
UNAUTHENTICATED = 401


class SystemClock:
    """The machine's time."""

    @staticmethod
    def now_ms() -> int:
        """Milliseconds since the epoch."""
        return time.time_ns() // 1_000_000


class SettingsError(Exception):
    """An environment variable of the function is missing."""


class GoogleError(Exception):
    """An API has refused a request.

    status: of HTTP.
    reason: Google's name of the error, such as ALREADY_EXISTS; "" if the response has none.
    """

    def __init__(self, what: str, status: int, body: bytes) -> None:
        error = _error_in(body)
        self.status, self.reason = status, str(error.get("status", ""))
        self.text = str(error.get("message", ""))[:500]
        super().__init__(f"{what} was answered {status} {self.reason}: {self.text}")


class Account:
    """The service account that a function runs as."""

    def __init__(self) -> None:
        self._token, self._until_ms, self._closed = "", 0, False
        # Connections that no request uses, with the time of their last one, by host. `list.pop` and `append`
        # are atomic, so threads may share them.
        self._idle: dict[str, list[tuple[http.client.HTTPConnection, int]]] = {}

    def post(self, host: str, path: str, body: Mapping[str, Any], *, repeat: bool = True) -> Any:
        """Posts JSON to an API. Returns its answer.

        Args:
            host: the API's name, or `http://...` of an emulator.
            path: begins with a slash.
            body: the request.
            repeat: sends the request again if the connection breaks. The first may then have been done.

        Raises:
            GoogleError: the API has refused the request.
            OSError: the API could not be reached, or did not answer in time.
        """
        text = json.dumps(body)
        for last in (False, True):
            headers = {
                "Authorization": f"Bearer {self._bearer()}",
                "Content-Type": "application/json",
            }
            try:
                status, answer = self._asked(host, "POST", path, headers, text)
            except (OSError, http.client.HTTPException) as error:
                if last or not repeat:
                    raise OSError(
                        f"{host} did not answer: {type(error).__name__}: {error}"
                    ) from error
                continue
            if status == UNAUTHENTICATED and not last:
                self._until_ms = 0  # a token that was withdrawn before its time
                continue
            if status >= http.client.BAD_REQUEST:
                raise GoogleError(f"{host}{path}", status, answer)
            return json.loads(answer)
        raise AssertionError  # the second turn returns or raises

    def close(self) -> None:
        """Closes the connections that no request uses; those of requests under way close after their answers."""
        self._closed = True
        for connections in self._idle.values():
            while connections:
                connections.pop()[0].close()

    def _bearer(self) -> str:
        """The account's access token."""
        now_ms = SystemClock.now_ms()
        if now_ms >= self._until_ms:
            host = os.environ.get("GCE_METADATA_HOST", METADATA)
            google = {"Metadata-Flavor": "Google"}
            status, answer = self._asked(f"http://{host}", "GET", TOKEN, google)
            if status != http.client.OK:
                raise GoogleError("the metadata server", status, answer)
            told = json.loads(answer)
            self._token = told["access_token"]
            self._until_ms = now_ms + 1000 * int(told["expires_in"]) - SPARE_MS
        return self._token

    def _asked(
        self, host: str, method: str, path: str, headers: dict[str, str], body: str | None = None
    ) -> tuple[int, bytes]:
        connection = self._connected(host)
        try:
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            answer = response.read()
        except BaseException:
            connection.close()
            raise
        self._idle[host].append((connection, SystemClock.now_ms()))
        if self._closed:
            self.close()
        return response.status, answer

    def _connected(self, host: str) -> http.client.HTTPConnection:
        """A connection that no other thread uses."""
        idle = self._idle.setdefault(host, [])
        try:
            connection, used_ms = idle.pop()
        except IndexError:
            pass
        else:
            if SystemClock.now_ms() - used_ms < IDLE_MS:
                return connection
            connection.close()
        scheme, _, name = host.rpartition("://")
        if scheme:
            return http.client.HTTPConnection(name, timeout=DEADLINE_S)
        return http.client.HTTPSConnection(name, timeout=DEADLINE_S)


def host_of(name: str, emulator: str) -> str:
    """The host of an API, or the emulator that the variable names."""
    other = os.environ.get(emulator)
    return f"http://{other}" if other else name


def setting(name: str) -> str:
    """An environment variable of the function.

    Raises:
        SettingsError: it is missing.
    """
    value = os.environ.get(name)
    if not value:
        raise SettingsError(
            f"{name} is not set: deploy with the bundle's main.tf.json, which sets it for each function"
        )
    return value


def _error_in(body: bytes) -> dict[str, Any]:
    """Google's description of an error, `{"error": {"status", "message"}}`; of a stream the first one."""
    try:
        answer = json.loads(body)
    except ValueError:
        return {"message": body[:500].decode("utf-8", "replace")}
    first = answer[0] if isinstance(answer, list) and answer else answer
    error = first.get("error") if isinstance(first, dict) else None
    return error if isinstance(error, dict) else {}
