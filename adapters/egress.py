"""The guarded HTTP client for addresses that a user has named.

Every user who may deploy an action may name any URL, and this server may be inside a network with internal addresses.
So each connection is checked when it is made, by the address that it goes to, not by the
name: earlier resolutions of the name and redirects make no difference. Addresses that are not
public are refused unless the operator allows them. Only requests to addresses that the operator has set, such as AWS'
endpoints, are not checked; a redirect from there is.
"""

from __future__ import annotations

import asyncio
import io
import re
import socket
import ssl
from dataclasses import replace
from importlib.metadata import version
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urljoin, urlsplit

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from ..actions import (
    BAD_RESPONSE,
    INVALID_REQUEST,
    LOST,
    PAYLOAD_TOO_LARGE,
    PERMISSION,
    UNAVAILABLE,
)
from ..composer import TIMEOUT, Error
from .headers import merged
from .port import Fault, HttpRequest, Response

if TYPE_CHECKING:
    from collections.abc import Iterable
    from ipaddress import IPv4Network, IPv6Network

    from ..actions import Clock

MAX_HOST_CONNECTIONS = 500  # so that a slow host leaves some to others
MAX_CONNECTIONS = 1000
KEEP_ALIVE_S = (
    4.0  # less than servers' usual five: a connection that is about to be cut is not used
)
CONNECT_S = 10.0
MAX_REDIRECTS = 5
IDLE_S = 60  # gateways forget connections that are silent for some minutes, as those of long functions are
SAME_METHOD, SEE_OTHER, MOVED = (307, 308), 303, (301, 302)
SAFE = ("GET", "HEAD")
# What says where a request ends, and whose connection it goes over: several who do not know each other share one.
FRAMING = (
    "connection",
    "content-length",
    "expect",
    "host",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
)
OURS = {"Accept-Encoding": "identity", "User-Agent": f"xingqiao/{version('xingqiao')}"}
OK = range(200, 300)
PIECE_BYTES = 1 << 16  # a larger body is sent in pieces, so that other requests have their turn
_KEPT = ("accept", "content-type", "traceparent", "idempotency-key")  # for another origin
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", re.ASCII)  # RFC 9110, a token
_NAT64 = ip_network("64:ff9b::/96")
_CLOUDS_OWN = [  # what counts as public, and tells a machine in a cloud about itself, or is a relay
    ip_network(text) for text in ("168.63.129.16/32", "192.0.0.0/24", "192.88.99.0/24")
]
_GLOBAL_IPV6 = ip_network("2000::/3")  # all that has been assigned to be reached from everywhere


class EgressError(Error):
    """A rule for outgoing requests is malformed. The text says what it must be."""


class Rules:
    """The rules for addresses: public ones are allowed, and those that the operator allows.

    Args:
        allowed: networks (`10.0.0.0/8`), addresses or names of hosts.

    Raises:
        EgressError: an entry is none of these. The message names it.
    """

    def __init__(self, allowed: Iterable[str] = ()) -> None:
        self._networks: list[IPv4Network | IPv6Network] = []
        self._hosts: set[str] = set()
        for rule in allowed:
            try:
                self._networks.append(ip_network(rule))
            except ValueError:
                if "/" in rule or not rule.replace("-", "").replace(".", "").isalnum():
                    raise EgressError(
                        f"egress_allow: {rule!r} is neither a network such as 10.0.0.0/8 nor a host"
                    ) from None
                self._hosts.add(rule.lower())

    def allow(self, host: str, address: str) -> bool:
        """True if a host with this address may be reached."""
        return self.named(host, address) or all(_public(real) for real in _meant(address))

    def named(self, host: str, address: str) -> bool:
        """True if the operator allows it by name or address."""
        if host.lower() in self._hosts:
            return True
        return all(any(real in network for network in self._networks) for real in _meant(address))


def _meant(address: str) -> list[IPv4Address | IPv6Address]:
    """The addresses that an address stands for: an IPv6 address may embed one of IPv4."""
    real = ip_address(address.partition("%")[0])
    if isinstance(real, IPv4Address):
        return [real]
    if real.ipv4_mapped is not None:
        return [real.ipv4_mapped]
    if real.sixtofour is not None:
        return [real, real.sixtofour]
    if real in _NAT64:
        return [IPv4Address(int(real) & 0xFFFF_FFFF)]
    return [real]


def _public(address: IPv4Address | IPv6Address) -> bool:
    """True for the public address of one host. `is_global` is also true for groups (multicast)."""
    if isinstance(address, IPv6Address) and address not in _GLOBAL_IPV6:
        return False
    if any(address in network for network in _CLOUDS_OWN):
        return False
    return address.is_global and not address.is_multicast


class _RefusedError(OSError):
    """The rules refuse the address of a connection."""


class _UnspeakableError(Exception):
    """A request cannot be sent because of a part that may be a secret, and is not shown."""


class _AgainError(aiohttp.ClientError):
    """The library would send a request a second time."""


class _Resolver(AbstractResolver):
    """Resolves names to the addresses that a rule allows: a connection goes nowhere else.

    With `inside` those are the ones that the operator has named.
    """

    def __init__(self, rules: Rules, *, inside: bool) -> None:
        self._rules, self._inside = rules, inside

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        loop = asyncio.get_running_loop()
        try:
            found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM, family=family)
        except UnicodeError as error:
            raise OSError(f"{host} is not the name of a host") from error
        addresses = list(dict.fromkeys((str(info[4][0]), info[0]) for info in found))
        allowed = [pair for pair in addresses if self.allows(host, pair[0])]
        if not allowed:
            raise self.refusal(host, [address for address, _ in addresses])
        return [
            ResolveResult(
                hostname=host, host=address, port=port, family=kind, proto=0,
                flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
            )
            for address, kind in allowed
        ]  # fmt: skip

    async def close(self) -> None:
        """Nothing to close."""

    def allows(self, host: str, address: str) -> bool:
        rule = self._rules.named if self._inside else self._rules.allow
        return rule(host, address)

    def refusal(self, host: str, addresses: Iterable[str]) -> _RefusedError:
        if self._inside and any(self._rules.allow(host, address) for address in addresses):
            return _RefusedError(f"{host} is not sent credentials without TLS: use https://")
        return _RefusedError(
            f"{host} is not a public address, and the operator does not allow it (XINGQIAO_EGRESS_ALLOW)"
        )

    def check(self, url: URL) -> None:
        """Checks an address in a URL, which the library does not have resolved.

        A host may be another spelling of an address (`2130706433`, `127.1`). The system understands those
        spellings, so they are refused.

        Raises:
            _RefusedError: the rules refuse it.
        """
        host = url.host or ""
        try:
            ip_address(host.partition("%")[0])
        except ValueError:
            if ":" in host or host.replace(".", "").isdigit():
                raise _RefusedError(f"{host} is an address in an unknown spelling") from None
            return
        if not self.allows(host, host):
            raise self.refusal(host, [host])


class _Unasked(_Resolver):
    """Resolves names without checks: for addresses that the operator has set."""

    def allows(self, _host: str, _address: str) -> bool:
        return True


class _Sending:
    """One request: whether it has been sent, and that it is sent once.

    A request is written when its head is; a library that repeats requests it thinks safe is stopped.
    """

    def __init__(self) -> None:
        self.sent = False
        self._tried = False

    async def __call__(
        self, request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType
    ) -> aiohttp.ClientResponse:
        if self._tried:
            raise _AgainError
        self._tried = True
        return await handler(request)


def _lasting(address: aiohttp.AddrInfoType) -> socket.socket:
    """A socket with keep-alive, so that a gateway does not take its silence for an end."""
    made = socket.socket(*address[:3])
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if hasattr(socket, "TCP_KEEPIDLE"):
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, IDLE_S)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, IDLE_S)
    return made


async def _note(_: aiohttp.ClientSession, context: Any, __: Any) -> None:
    context.trace_request_ctx.sent = True


class _Line:
    """Connections to addresses that one rule allows."""

    def __init__(self, resolver: _Resolver) -> None:
        self.resolver = resolver
        trace = aiohttp.TraceConfig()
        trace.on_request_headers_sent.append(_note)
        self.session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                limit=MAX_CONNECTIONS,
                limit_per_host=MAX_HOST_CONNECTIONS,
                keepalive_timeout=KEEP_ALIVE_S,
                resolver=self.resolver,
                use_dns_cache=False,
                socket_factory=_lasting,
            ),
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            skip_auto_headers=["Accept-Encoding", "Content-Type", "User-Agent", "Accept"],
            trace_configs=[trace],
        )


class Egress:
    """Sends requests. Use it with `async with`."""

    def __init__(self, rules: Rules, clock: Clock) -> None:
        self._rules, self._clock = rules, clock
        self._open: _Line
        self._inside: _Line
        self._unasked: _Line

    async def __aenter__(self) -> Self:
        self._open = _Line(_Resolver(self._rules, inside=False))
        self._inside = _Line(_Resolver(self._rules, inside=True))
        self._unasked = _Line(_Unasked(self._rules, inside=True))
        return self

    async def __aexit__(self, *exc: object) -> None:
        for line in (self._open, self._inside, self._unasked):
            await line.session.close()

    async def send(
        self, outgoing: HttpRequest, deadline_ms: int, most_bytes: int
    ) -> Response | Fault:
        """Sends a request, and follows redirects.

        Args:
            outgoing: the request.
            deadline_ms: the instant by which the response must have come.
            most_bytes: of its body.
        """
        ran = False
        for _ in range(MAX_REDIRECTS + 1):
            answer = await self._once(outgoing, deadline_ms, most_bytes)
            if isinstance(answer, Fault):
                doubted = ran and answer.may_have_run == "no"
                return replace(answer, may_have_run="unknown") if doubted else answer
            onward = _redirected(outgoing, answer)
            if onward is None:
                return answer
            if isinstance(onward, Fault):
                return onward
            ran, outgoing = ran or answer.status == SEE_OTHER, onward
        return _bad(f"it is redirected more than {MAX_REDIRECTS} times", outgoing)

    async def reach(self, url: str, deadline_ms: int, *, secret: bool = False) -> Fault | None:
        """Connects without a request: checks that the host answers and that the rules allow it."""
        outgoing, place = HttpRequest(method="GET", url=url), URL(url, encoded=True)
        tls = ssl.create_default_context() if place.scheme == "https" else None
        left_s = max(0.001, min(CONNECT_S, (deadline_ms - self._clock.now_ms()) / 1000))
        resolver = (self._inside if secret and tls is None else self._open).resolver
        try:
            async with asyncio.timeout(left_s):
                resolver.check(place)
                found = await resolver.resolve(place.host or "", place.port or 0, socket.AF_UNSPEC)
                _, writer = await asyncio.open_connection(
                    found[0]["host"],
                    place.port,
                    ssl=tls,
                    server_hostname=place.host if tls else None,
                )
                writer.close()
        except TimeoutError:
            return _late(outgoing, sent=False)
        except OSError as error:
            return _unsent(outgoing, error)
        return None

    async def _once(
        self, outgoing: HttpRequest, deadline_ms: int, most_bytes: int
    ) -> Response | Fault:
        sending = _Sending()
        left_s = (deadline_ms - self._clock.now_ms()) / 1000
        if left_s <= 0:
            return _late(outgoing, sent=False)
        try:
            async with asyncio.timeout(left_s):
                return await self._sent(outgoing, most_bytes, sending)
        except TimeoutError:
            return _late(outgoing, sent=sending.sent)
        except _UnspeakableError as error:
            return Fault.saying(INVALID_REQUEST, f"{_origin(outgoing)}: {error}", "no")
        except (aiohttp.ClientError, OSError, ValueError) as error:
            return _failed(outgoing, error, sent=sending.sent)

    async def _sent(
        self, outgoing: HttpRequest, most_bytes: int, sending: _Sending
    ) -> Response | Fault:
        url = URL(outgoing.url, encoded=True)
        headers = merged(OURS, outgoing.headers, outgoing.secrets)
        if not all(_speakable(text) for text in headers.values()):
            raise _UnspeakableError("a header holds what HTTP does not allow, such as a line's end")
        for name in headers:
            if not _NAME.fullmatch(name) or name.lower() in FRAMING:
                raise _UnspeakableError(f"{name!r:.100} is not an allowed header")
        bare = (outgoing.secrets or outgoing.private) and url.scheme == "http"
        if url.scheme not in ("http", "https") or not url.host:
            return _bad("its address is none that can be asked", outgoing, sent=False)
        line = self._unasked if outgoing.by_operator else self._inside if bare else self._open
        line.resolver.check(url)
        async with line.session.request(
            outgoing.method,
            url,
            headers=headers,
            data=io.BytesIO(outgoing.body)
            if len(outgoing.body) > PIECE_BYTES
            else outgoing.body or None,
            allow_redirects=False,
            timeout=aiohttp.ClientTimeout(sock_connect=CONNECT_S),
            middlewares=(sending,),
            trace_request_ctx=sending,
        ) as response:
            body = bytearray()
            async for chunk in response.content.iter_any():
                body += chunk
                if len(body) > most_bytes:
                    if response.status not in OK:  # its status says enough
                        break
                    text = f"{_origin(outgoing)} answers with more than {most_bytes} bytes"
                    return Fault.saying(PAYLOAD_TOO_LARGE, text, "unknown")
            told = {name.lower(): _readable(value) for name, value in response.headers.items()}
            return Response(response.status, told, bytes(body))


def _failed(outgoing: HttpRequest, error: Exception, *, sent: bool) -> Fault:
    """The Fault of a request that got no response."""
    if isinstance(error, (aiohttp.InvalidURL, ValueError)) and not sent:
        return _bad("its address is none that can be asked", outgoing, sent=False)
    if not sent:
        cause = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error
        return _unsent(outgoing, cause)
    if isinstance(error, aiohttp.ClientResponseError):
        return _bad("the response is not valid HTTP", outgoing)
    text = f"{_origin(outgoing)} cut the connection before it had answered"
    return Fault.saying(LOST, text, "unknown", transient=True)


def _speakable(text: str) -> bool:
    return text.isprintable() and text == text.strip()


def _redirected(outgoing: HttpRequest, response: Response) -> HttpRequest | Fault | None:
    """The next request of a redirect; a Fault if it must not be followed."""
    location = response.headers.get("location")
    if location is None or response.status not in (*SAME_METHOD, *MOVED, SEE_OTHER):
        return None
    try:
        url = urljoin(outgoing.url, location)
    except ValueError:
        return _bad("it is redirected to something that is not a URL", outgoing)
    if response.status in MOVED and outgoing.method not in SAFE:
        return _bad(f"it has moved to {_shown(url)}: change the action's URL", outgoing)
    before, after = urlsplit(outgoing.url), urlsplit(url)
    if before.scheme == "https" and after.scheme == "http":
        return _bad(f"it is redirected to {_shown(url)}, which has no TLS", outgoing)
    onward = replace(outgoing, url=url)
    if response.status == SEE_OTHER and outgoing.method not in SAFE:
        onward = replace(onward, method="GET", body=b"")
    if outgoing.private and onward.body and before[:2] != after[:2]:
        return _bad(f"it is redirected to {_shown(url)}, which must not know its secrets", outgoing)
    if before[:2] != after[:2]:
        headers = {name: text for name, text in outgoing.headers.items() if name.lower() in _KEPT}
        onward = replace(onward, headers=headers, secrets={}, by_operator=False)
    return onward


def _readable(text: str) -> str:
    """The text of a header: aiohttp passes on bytes that are not UTF-8 as half surrogate pairs."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _late(outgoing: HttpRequest, *, sent: bool) -> Fault:
    if sent:
        text = f"{_origin(outgoing)} had not answered by the deadline; the function may still run"
        return Fault.saying(TIMEOUT, text, "unknown", transient=True)
    text = f"{_origin(outgoing)} could not be reached in time"
    return Fault.saying(UNAVAILABLE, text, "no", transient=True)


def _unsent(outgoing: HttpRequest, error: Exception) -> Fault:
    if isinstance(error, _RefusedError):
        return Fault.saying(PERMISSION, str(error), "no")
    why = str(error) or type(error).__name__
    text = f"{_origin(outgoing)} cannot be reached: {why}"
    return Fault.saying(UNAVAILABLE, text, "no", transient=True)


def _bad(why: str, outgoing: HttpRequest, *, sent: bool = True) -> Fault:
    may_have_run = "unknown" if sent else "no"
    return Fault.saying(BAD_RESPONSE, f"{_origin(outgoing)}: {why}", may_have_run)  # type: ignore[arg-type]


def _origin(outgoing: HttpRequest) -> str:
    parts = urlsplit(outgoing.url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def _shown(url: str) -> str:
    """A URL as it may be shown, without parts that are often secret."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
