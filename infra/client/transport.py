"""Connections to a server, kept open, and requests that are sent again where that is safe."""

from __future__ import annotations

import asyncio
import logging
import random
import ssl
from dataclasses import dataclass, field
from io import BytesIO
from typing import TYPE_CHECKING, Self
from urllib.parse import urlsplit

import aiohttp
from yarl import URL

from ...actions import InDoubtError, InvalidError
from .errors import UNAVAILABLE, UnreachedError, refusal
from .places import PlaceError
from .wire import MARGIN_S, answer, basic

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from ...actions import RefusedError
    from .places import Place
    from .wire import Answer, Request

log = logging.getLogger("xingqiao.client")

KEEP_ALIVE_S = (
    4.0  # less than servers' usual five: a connection that is about to be cut is not used
)
CONNECT_S = 10.0
PIECE_BYTES = 1 << 18
THROTTLED = 429
FIRST_S, LONGEST_S = 0.1, 5.0  # between two attempts
_UNSENT = (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError)
_BROKEN = (aiohttp.ClientError, asyncio.TimeoutError, OSError)
_RARE = ("PUT", "DELETE")  # methods of definitions: a connection for each costs little
_NO_USE = (aiohttp.ClientConnectorCertificateError, aiohttp.ClientConnectorSSLError)


def _now() -> float:
    return asyncio.get_running_loop().time()


async def _sleep(seconds: float) -> None:
    await asyncio.sleep(seconds)  # noqa: TID251  between two attempts


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long a client tries again, and how it waits meanwhile.

    Args:
        seconds: the time from its first failure for which a request is sent again.
        pause: waits for seconds.
        now: the time in seconds.
    """

    seconds: float = 30.0
    now: Callable[[], float] = field(default=_now, repr=False)
    pause: Callable[[float], Awaitable[None]] = field(default=_sleep, repr=False)


class Transport:
    """Requests to one server.

    Args:
        place: the server and the credentials.
        patience: how long to try again.

    Raises:
        PlaceError: the URL is not valid, or the certificates cannot be read.
    """

    def __init__(self, place: Place, patience: Patience) -> None:
        self.place, self._patience = place, patience
        self._url = _checked(place)
        self._context = None if place.ca is None else _trusting(place)
        self._sessions: tuple[
            aiohttp.ClientSession, ...
        ] = ()  # with connections kept open; with new ones

    async def __aenter__(self) -> Self:
        self._sessions = self._opened(once=False), self._opened(once=True)
        return self

    async def __aexit__(self, *exc: object) -> None:
        for session in self._sessions:
            await session.close()

    def _opened(self, *, once: bool) -> aiohttp.ClientSession:
        user, _, key = self.place.auth.partition(":")
        session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                ssl=True if self._context is None else self._context,
                limit=0,  # each call that waits has a connection, and must not keep others from theirs
                **({"force_close": True} if once else {"keepalive_timeout": KEEP_ALIVE_S}),
            ),
            headers={"Authorization": basic(user, key), "User-Agent": "xingqiao"},
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_S),
        )
        # By itself it sends each PUT and DELETE again, also those whose second answer is a refusal.
        session._retry_connection = False  # noqa: SLF001  there is no other way
        return session

    async def ask(
        self, request: Request, *, wait_s: float = 0.0, patience_s: float | None = None
    ) -> Answer:
        """Sends a request, again if that is safe, and returns the answer; a failed action's, too.

        Args:
            request: the request.
            wait_s: the time that the request asks the server to wait.
            patience_s: the time for which it is sent again; None for the usual time.

        Raises:
            RefusedError: the server has refused it.
            UnreachedError: the server cannot be reached.
            InDoubtError: the connection was lost, and the request may have been carried out.
        """
        delays, now = _delays(), self._patience.now
        patient_s = self._patience.seconds if patience_s is None else patience_s
        until_s: float | None = None  # patience counts from the first failure: a wait is none
        while True:
            try:
                told = await self._send(request, wait_s + MARGIN_S)
            except UnreachedError as error:
                failure: RefusedError = error
                again_s = None if isinstance(error.__cause__, _NO_USE) else next(delays)
            except InDoubtError as error:
                failure = error
                again_s = next(delays) if request.repeatable else None
            else:
                if not _is_refused(told):
                    return told
                again_s, failure = _again_s(told, request), refusal(told, request, self.place)
            if until_s is None:
                until_s = now() + patient_s
            if again_s is None or now() + again_s > until_s:
                raise failure
            log.info("%s %s is sent again: %s", request.method, request.path, failure)
            await self._patience.pause(again_s)

    async def _send(self, request: Request, within_s: float) -> Answer:
        if not self._sessions or self._sessions[0].closed:
            raise InvalidError(
                "The client is closed: use it inside its block `async with connect()`."
            )
        # A server that was killed meanwhile leaves a connection whose end is seen only when it is used. What must
        # not be sent twice has a new one: then it is known that it was not sent.
        once = request.method in _RARE and not request.repeatable
        try:
            async with (
                asyncio.timeout(within_s),
                self._sessions[once].request(
                    request.method,
                    URL(self._url + request.target, encoded=True),
                    data=_data(request),
                    headers=request.all_headers(),
                    allow_redirects=False,  # the credentials are for this server
                ) as response,
            ):
                content = await response.read()
        except _UNSENT as error:
            why = getattr(error, "certificate_error", None) or getattr(error, "os_error", error)
            raise UnreachedError(self._unreached(error, str(why), cut=False)) from error
        except _BROKEN as error:
            cut = isinstance(error, aiohttp.ServerDisconnectedError | aiohttp.ClientOSError)
            kind = UnreachedError if request.method == "GET" else InDoubtError
            raise kind(self._unreached(error, str(error), cut=cut)) from error
        try:
            return answer(response.status, response.headers, content)
        except ValueError:
            raise PlaceError(self.place.not_json(response.status)) from None

    def _unreached(self, error: Exception, why: str, *, cut: bool) -> str:
        told = self.place.unreached(error, why, cut=cut)
        return f"the server at {self.place.url} cannot be reached: {told}"


def _data(request: Request) -> bytes | BytesIO | None:
    """The content of a request; a large one as a stream, for it would be sent in one piece."""
    content = request.content()
    return content if content is None or len(content) <= PIECE_BYTES else BytesIO(content)


def _is_refused(answer: Answer) -> bool:
    """True for a refusal, and for a call of which the server cannot say whether it will run."""
    return answer.is_refusal or answer.status == UNAVAILABLE


def _again_s(answer: Answer, request: Request) -> float | None:
    """The seconds after which the server wants to be asked again; None if the answer is its last word."""
    wanted = answer.headers.get("retry-after", "")
    safe = answer.status == THROTTLED or (answer.status == UNAVAILABLE and request.repeatable)
    return float(wanted) if safe and wanted.isdigit() else None


def _delays() -> Iterator[float]:
    """Seconds between attempts: doubled each time, with chance so that clients do not come all at once."""
    longest = FIRST_S
    while True:
        yield longest * random.uniform(0.5, 1.0)  # noqa: S311  it is no secret
        longest = min(LONGEST_S, 2 * longest)


def _checked(place: Place) -> str:
    """The URL of a place, in its form.

    Raises:
        PlaceError: it is not valid. The text has no part that may be a password.
    """
    url = urlsplit(place.url)
    try:
        valid = url.scheme in {"http", "https"} and bool(url.hostname) and url.port != 0
    except ValueError:
        valid = False
    if "@" in url.netloc:
        raise PlaceError(
            f"the URL from {place.url_from} has credentials: give them with {place.options.auth}"
        )
    if not valid:
        raise PlaceError(
            f"{place.url} (from {place.url_from}) is not a valid URL: it must begin with http:// or "
            "https:// and name a host"
        )
    return place.url.rstrip("/")


def _trusting(place: Place) -> ssl.SSLContext:
    """Trusts the certificates of a PEM file.

    Raises:
        PlaceError: the file cannot be read.
    """
    try:
        return ssl.create_default_context(cafile=place.ca)
    except (OSError, ssl.SSLError) as error:
        raise PlaceError(f"{place.options.ca}: {place.ca} cannot be read: {error}") from error
