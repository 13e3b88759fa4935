"""The server and the credentials that a caller means: given, in the environment, of `xingqiao dev`, or in `.wskprops`."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from ...composer import Error
from . import dev_file, wskprops

URL = "http://127.0.0.1:3233"
HINT = "Start a server with `xingqiao serve`, or name one with {url} or XINGQIAO_URL"
_VARIABLES = ("XINGQIAO_URL", "XINGQIAO_AUTH", "XINGQIAO_AUTH_FILE")


class PlaceError(Error):
    """The server's address or a file cannot be used; the text says why."""


class CredentialsError(PlaceError):
    """The credentials are missing or malformed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The names of the options by which a caller gives them, for errors."""

    url: str = "url"
    auth: str = "auth"
    auth_file: str = "auth_file"
    ca: str = "ca"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A server, the credentials for it, and where both come from."""

    url: str
    auth: str = field(repr=False)
    ca: str | None
    url_from: str
    auth_from: str
    options: Options = field(default_factory=Options)

    def unreached(self, error: Exception, why: str, *, cut: bool) -> str:
        """The reason why the server cannot be reached, and the remedy.

        Args:
            error: the error of the connection.
            why: its text.
            cut: True if the server accepted the connection and did not answer in HTTP.
        """
        why = (why or type(error).__name__).rstrip(".")
        scheme, _, rest = self.url.partition("://")
        origin = f"The URL comes from {self.url_from}"
        if "CERTIFICATE_VERIFY_FAILED" in why:
            return (
                f"its certificate is not trusted ({why}). Give the PEM file of its certificate or "
                f"of its authority with {self.options.ca} or XINGQIAO_CA"
            )
        if scheme == "https" and "SSL" in why:
            return (
                f"the TLS handshake failed ({why}). If the server does not serve HTTPS, use "
                f"http://{rest}. {origin}"
            )
        if scheme == "http" and cut:
            return (
                f"the connection was closed without a response ({why}). If the server serves "
                f"HTTPS, use https://{rest}. {origin}"
            )
        return f"{why}. {origin}. {HINT.format(url=self.options.url)}"

    def not_json(self, status: int) -> str:
        """The text for an answer that is not JSON."""
        return (
            f"the response of {self.url} ({status}) is not JSON: "
            f"check that {self.options.url} names a Xingqiao server"
        )

    def unauthorized(self, text: str) -> str:
        """The text of a refusal of the credentials, with their origin."""
        return (
            f"{text}: the credentials come from {self.auth_from}, and the server at "
            f"{self.url} does not accept them: check that they belong to this server"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What a caller has given; None for what he has not.

    `auth_from` is the place that `auth` comes from; by default its option.
    """

    url: str | None = None
    auth: str | None = field(default=None, repr=False)
    auth_file: str | None = None
    ca: str | None = None
    auth_from: str | None = None


def locate(given: Given, options: Options) -> Place:
    """Finds the server and the credentials.

    The URL and the credentials of `xingqiao dev` belong together: they are used if neither is given, so
    that a folder cannot send your own credentials to a server of its choice.

    Raises:
        PlaceError: there are no credentials, or a file cannot be read.
        PropertiesError: `.wskprops` cannot be read.
    """
    if given.auth and given.auth_file:
        file = options.auth_file.split()[0]
        raise PlaceError(f"{options.auth} and {file} are both given: remove one of them")
    url, auth, auth_from = given.url, given.auth, given.auth_from or options.auth
    url_from = options.url
    if not (url or auth or given.auth_file or any(map(os.environ.get, _VARIABLES))):
        developed = dev_file.read()
        if developed is not None:
            (url, auth), auth_from = developed, f"AUTH in {dev_file.FILE}"
            url_from = f"{dev_file.FILE}, which `xingqiao dev` wrote"
    properties = wskprops.read()
    url, url_from = _first(
        (url, url_from),
        (os.environ.get("XINGQIAO_URL"), "XINGQIAO_URL"),
        (_host(properties.get("APIHOST")), f"APIHOST in {wskprops.path()}"),
        (URL, f"the default: {options.url}, XINGQIAO_URL and .wskprops name none"),
    )
    if auth:
        auth = auth.strip()
    elif given.auth_file:
        auth, auth_from = credentials_in(given.auth_file), f"the file {given.auth_file}"
    else:
        file_auth = credentials_in(os.environ.get("XINGQIAO_AUTH_FILE"))
        auth, auth_from = _first(
            (os.environ.get("XINGQIAO_AUTH"), "XINGQIAO_AUTH"),
            (file_auth, "the file in XINGQIAO_AUTH_FILE"),
            (properties.get("AUTH"), f"AUTH in {wskprops.path()}"),
        )
    return Place(
        url=url.rstrip("/"),
        auth=_checked(auth, auth_from, options),
        ca=given.ca or os.environ.get("XINGQIAO_CA") or None,
        url_from=url_from,
        auth_from=auth_from,
        options=options,
    )


def _checked(auth: str | None, origin: str, options: Options) -> str:
    """Credentials in their form.

    Raises:
        CredentialsError: they are missing or malformed.
    """
    if not auth:
        raise CredentialsError(
            f"the credentials are missing: set XINGQIAO_AUTH to UUID:KEY, or give {options.auth_file} "
            "(the server prints the credentials at its first start)"
        )
    if ":" not in auth:
        raise CredentialsError(
            f"the credentials from {origin} must have the form UUID:KEY, with a ':'"
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
        PlaceError: the file cannot be read.
    """
    if not file:
        return None
    try:
        return Path(file).read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise PlaceError(f"the credentials file {file} cannot be read: {why}") from error


def _host(apihost: str | None) -> str | None:
    if not apihost:
        return None
    return apihost if "://" in apihost else f"https://{apihost}"
