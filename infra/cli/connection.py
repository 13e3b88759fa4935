"""A connection to one HTTP server, on the standard library: a command starts in half the time of a larger client."""

from __future__ import annotations

import http.client
import select
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from ...composer import Error
from ..client import basic

if TYPE_CHECKING:
    import ssl
    from collections.abc import Mapping

FAILURES = (OSError, http.client.HTTPException)
"""The errors of `Connection.request`: the server was not reached, or did not answer in HTTP."""
BROKEN_OFF = (ConnectionResetError, BrokenPipeError, http.client.HTTPException)
"""Those of them in which the server accepted the connection and did not answer in HTTP."""


class ProxyError(Error):
    """The environment names a proxy that cannot be used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """The response to a request; names of headers are compared without case."""

    status: int
    headers: http.client.HTTPMessage
    content: bytes


class Connection:
    """A connection that stays open between requests, directly or through the proxy of the environment.

    Args:
        url: URL of the server; its path is put before the path of each request.
        timeout_s: seconds to wait for the server, each time that it is waited for.
        context: the certificates to trust; None for those that this machine trusts.

    Raises:
        ValueError: the URL is not valid.
        ProxyError: the environment names a proxy that is not one for HTTP.
    """

    def __init__(self, url: str, *, timeout_s: float, context: ssl.SSLContext | None) -> None:
        self._url = _parsed(url)
        self._timeout_s, self._context = timeout_s, context
        proxy = _proxy_for(self._url)
        self._prefix = self._url.path.rstrip("/")
        if proxy is None:
            self._http = self._to(self._url)
        elif self._url.scheme == "https":
            self._http = self._to(self._url, at=proxy)
            self._http.set_tunnel(
                self._url.hostname or "", self._url.port, headers=_credentials(proxy)
            )
        else:
            self._http = self._to(proxy)
            self._prefix = (
                f"{self._url.scheme}://{self._url.netloc.rpartition('@')[2]}{self._prefix}"
            )
        self._headers = {} if proxy is None or self._url.scheme == "https" else _credentials(proxy)

    def request(
        self, method: str, target: str, body: bytes | None, headers: Mapping[str, str]
    ) -> Response:
        """Sends a request for a path and query as `target` makes them, and reads the whole response.

        Raises:
            UNREACHED: the server cannot be reached, or its response is not valid HTTP.
        """
        if self._http.sock is not None and select.select([self._http.sock], [], [], 0)[0]:
            self._http.close()  # the server has closed it; the request opens another one
        try:
            sent = {**self._headers, **headers}
            self._http.request(method, self._prefix + target, body, sent)
            response = self._http.getresponse()
            return Response(
                status=response.status, headers=response.headers, content=response.read()
            )
        except BaseException:
            self.close()  # what comes next on it belongs to this request
            raise

    def close(self) -> None:
        self._http.close()

    def _to(self, url: SplitResult, *, at: SplitResult | None = None) -> http.client.HTTPConnection:
        place = at or url
        host, port = place.hostname or "", place.port
        if url.scheme == "https":
            return http.client.HTTPSConnection(
                host, port, timeout=self._timeout_s, context=self._context
            )
        return http.client.HTTPConnection(host, port, timeout=self._timeout_s)


def _parsed(url: str) -> SplitResult:
    parsed = urlsplit(url)
    if parsed.scheme not in ("http", "https"):
        raise ValueError("it must begin with http:// or https://")
    if not parsed.hostname:
        raise ValueError("it names no host")
    _ = parsed.port  # which is checked when it is read
    return parsed


def _proxy_for(url: SplitResult) -> SplitResult | None:
    """The proxy that the environment names for requests to a server; None if it names none."""
    proxies = getproxies()
    proxy = proxies.get(url.scheme) or proxies.get("all")
    if not proxy or proxy_bypass(url.netloc.rpartition("@")[2]):
        return None
    try:
        return _parsed(proxy if "://" in proxy else f"http://{proxy}")
    except ValueError:  # its text may have a part of the password
        shown = proxy.rpartition("@")[2]
        raise ProxyError(
            f"the environment names the proxy {shown!r}: it must be http://HOST:PORT"
        ) from None


def _credentials(proxy: SplitResult) -> dict[str, str]:
    if proxy.username is None:
        return {}
    user, password = unquote(proxy.username), unquote(proxy.password or "")
    return {"Proxy-Authorization": basic(user, password)}
