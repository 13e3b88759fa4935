"""Credentials: secrets, and the tokens that are fetched with them. They are never shown or logged.

A secret is a text, or an object whose `type` names its kind:

    "uuid:key"                                              Basic, as OpenWhisk's
    {"type": "basic", "username", "password"}
    {"type": "bearer", "token"}
    {"type": "header", "name", "value"}                     an API's key
    {"type": "functions-key", "key"}                        Azure's, of a function or of a host
    {"type": "iam", "apikey", "url"?}                       IBM's: a token for an hour
    {"type": "entra", "tenant", "client_id", "client_secret", "scope", "authority"?}
    {"type": "service_account", ...}                        Google's own file: an identity token
    {"type": "hmac", "secret"}                              signs the body (Standard Webhooks)
    {"type": "aws", "access_key_id", "secret_access_key", "session_token"?}

The name `ambient` stands for the server's own credentials: each SDK's default chain.
"""

from __future__ import annotations

import asyncio
import base64
import hmac
import json
import re
from dataclasses import dataclass, field
from math import isfinite
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode, urlsplit

from ..actions import BAD_RESPONSE, HEADER, PERMISSION, RESERVED, UNAVAILABLE
from ..composer import Error
from .extras import how_to_install
from .port import Fault, HttpRequest

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from ..actions import Clock
    from ..composer import JSON
    from .egress import Egress
    from .port import Authorizer

AMBIENT = "ambient"
IAM = "https://iam.cloud.ibm.com/identity/token"
ENTRA = "https://login.microsoftonline.com"
FRESH = 0.8  # of its life after which a token is renewed
FAILED_MS = 1_000  # without another attempt after a token could not be fetched
TOKEN_WAIT_MS = 20_000
TOKEN_BYTES = 1 << 16
_TOKEN = re.compile(r"[!-~]+")


class SecretError(Error):
    """A secret cannot be used. The text says why, and shows nothing of the secret."""


class CredentialsError(Error):
    """A secret gives no credentials. `fault` is the answer of the adapter."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(str(fault.error))
        self.fault = fault


@dataclass(frozen=True, slots=True)
class Fixed:
    """Always the same headers."""

    fixed: dict[str, str] = field(repr=False)

    async def headers(self, _ask: HttpRequest, _now_ms: int) -> dict[str, str]:
        return self.fixed

    def refused(self) -> bool:
        return False


@dataclass(frozen=True, slots=True)
class Signed:
    """Signs each body as described on https://www.standardwebhooks.com."""

    secret: bytes = field(repr=False)

    async def headers(self, outgoing: HttpRequest, now_ms: int) -> dict[str, str]:
        named = {name.lower(): text for name, text in outgoing.headers.items()}
        id, at = named.get("idempotency-key", ""), str(now_ms // 1000)
        signed = hmac.digest(self.secret, f"{id}.{at}.".encode() + outgoing.body, "sha256")
        signature = f"v1,{base64.b64encode(signed).decode()}"
        return {"webhook-id": id, "webhook-timestamp": at, "webhook-signature": signature}

    def refused(self) -> bool:
        return False


class Expiring:
    """A bearer token that is renewed before it expires, once for all requests that wait for it.

    Args:
        fetch: fetches a token. Returns the token and the seconds that it lives.
        clock: the time.
    """

    def __init__(self, fetch: Callable[[], Awaitable[tuple[str, float]]], clock: Clock) -> None:
        self._fetch, self._clock = fetch, clock
        self._token = ""
        self._fresh_until_ms = 0.0
        self._fetching = asyncio.Lock()
        self._failure: CredentialsError | None = None
        self._failed_until_ms = 0

    async def headers(self, _ask: HttpRequest, _now_ms: int) -> dict[str, str]:
        async with self._fetching:
            now_ms = self._clock.now_ms()
            if now_ms >= self._fresh_until_ms:
                if self._failure is not None and now_ms < self._failed_until_ms:
                    raise self._failure  # requests that waited for the same token do not fetch it one after the other
                await self._renew(now_ms)
        return {"Authorization": f"Bearer {self._token}"}

    def refused(self) -> bool:
        self._fresh_until_ms = 0
        return True

    async def _renew(self, now_ms: int) -> None:
        try:
            self._token, life_s = await self._fetch()
        except CredentialsError as error:
            self._failure, self._failed_until_ms = error, self._clock.now_ms() + FAILED_MS
            raise
        self._failure = None
        self._fresh_until_ms = now_ms + FRESH * 1000 * life_s

    def lease(self) -> Lease:
        """The same tokens, for one run."""
        return Lease(self)

    def lapse(self, headers: dict[str, str]) -> None:
        """Notes that these headers were refused. A token that was fetched since is still valid."""
        if headers == {"Authorization": f"Bearer {self._token}"}:
            self._fresh_until_ms = 0


class Lease:
    """Shared tokens, as one run sees them: only a token that this run was given counts as refused to it."""

    def __init__(self, tokens: Expiring) -> None:
        self._tokens = tokens
        self._given: dict[str, str] = {}

    async def headers(self, outgoing: HttpRequest, now_ms: int) -> dict[str, str]:
        self._given = await self._tokens.headers(outgoing, now_ms)
        return self._given

    def refused(self) -> bool:
        self._tokens.lapse(self._given)
        return bool(self._given)


@dataclass(frozen=True, slots=True)
class AwsKeys:
    """Keys that sign requests to AWS; see `aws.signing`."""

    access_key: str
    secret_key: str = field(repr=False)
    session_token: str | None = field(default=None, repr=False)

    async def keys(self) -> AwsKeys:
        return self

    async def headers(self, _ask: HttpRequest, _now_ms: int) -> dict[str, str]:
        raise CredentialsError(_refusal("an AWS key is not valid for other clouds"))

    def refused(self) -> bool:
        return False


class Tokens:
    """Makes authorizers from secrets, and fetches their tokens through the guarded HTTP client."""

    def __init__(self, egress: Egress, clock: Clock) -> None:
        self._egress, self._clock = egress, clock

    def authorizer(self, secret: JSON, audience: str) -> Authorizer:
        """The authorizer of a secret.

        Args:
            secret: see the module.
            audience: the URL for which an identity token is issued.

        Raises:
            SecretError: the secret is malformed. The message names the missing part.
        """
        if isinstance(secret, str):
            if ":" not in secret or not _shows(secret):
                raise SecretError("a secret that is a text must be 'id:key', on one line")
            return Fixed({"Authorization": _basic(secret)})
        kind = secret.get("type") if isinstance(secret, dict) else None
        make = _SECRETS.get(kind) if isinstance(kind, str) else None
        if make is None or not isinstance(secret, dict):
            raise SecretError(
                f"a secret is a text 'id:key', or has a 'type' of {', '.join(_SECRETS)}"
            )
        return make(self, secret, audience)

    def iam(self, secret: dict[str, JSON], _audience: str) -> Authorizer:
        apikey, url = _text(secret, "apikey"), _address(secret, "url", IAM)
        form = {"grant_type": "urn:ibm:params:oauth:grant-type:apikey", "apikey": apikey}
        return Expiring(lambda: self._granted(url, form, "access_token"), self._clock)

    def entra(self, secret: dict[str, JSON], audience: str) -> Authorizer:
        authority = _address(secret, "authority", ENTRA).rstrip("/")
        url = f"{authority}/{quote(_text(secret, 'tenant'), safe='')}/oauth2/v2.0/token"
        form = {
            "grant_type": "client_credentials",
            "client_id": _text(secret, "client_id"),
            "client_secret": _text(secret, "client_secret"),
            "scope": _text(secret, "scope", f"{audience}/.default"),
        }
        return Expiring(lambda: self._granted(url, form, "access_token"), self._clock)

    def service_account(self, secret: dict[str, JSON], audience: str) -> Authorizer:
        url = _address(secret, "token_uri")
        signer, email = _google_signer(secret), _text(secret, "client_email")

        async def fetch() -> tuple[str, float]:
            from google.auth import jwt  # noqa: PLC0415  an optional dependency

            now_s = self._clock.now_ms() // 1000
            claims = {
                "iss": email, "sub": email, "aud": url, "target_audience": audience,
                "iat": now_s, "exp": now_s + 3600,
            }  # fmt: skip
            form = {
                "grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer",
                "assertion": jwt.encode(signer, claims).decode(),  # type: ignore[no-untyped-call]
            }
            return await self._granted(url, form, "id_token")

        return Expiring(fetch, self._clock)

    async def _granted(self, url: str, form: dict[str, str], field: str) -> tuple[str, float]:
        """Fetches a token. Returns it, and the seconds that it lives."""
        outgoing = HttpRequest(
            method="POST",
            url=url,
            headers={
                "Content-Type": "application/x-www-form-urlencoded",
                "Accept": "application/json",
            },
            body=urlencode(form).encode(),
            private=True,
        )
        answer = await self._egress.send(
            outgoing, self._clock.now_ms() + TOKEN_WAIT_MS, TOKEN_BYTES
        )
        host = urlsplit(url).hostname
        if isinstance(answer, Fault):
            told = dict(answer.error) if isinstance(answer.error, dict) else {}
            error = {**told, "message": f"no token is available: {told.get('message', '')}"}
            raise CredentialsError(Fault(answer.code, error, "no", transient=answer.transient))
        if answer.status != 200:  # noqa: PLR2004
            refused = 400 <= answer.status < 500 and answer.status != 429  # noqa: PLR2004
            text = f"{host} gives no token for this secret: it answers {answer.status}"
            code = PERMISSION if refused else UNAVAILABLE
            raise CredentialsError(Fault.saying(code, text, "no", transient=not refused))
        try:
            doc = json.loads(answer.body)
            token, life_s = doc[field], float(doc.get("expires_in", 3600))
            known = bool(_TOKEN.fullmatch(token)) and isfinite(life_s)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            known = False
        if not known:
            raise CredentialsError(Fault.saying(BAD_RESPONSE, f"{host} gives no '{field}'", "no"))
        return token, life_s


def _refusal(text: str) -> Fault:
    return Fault.saying(PERMISSION, text, "no")


def _text(secret: dict[str, JSON], name: str, default: str | None = None) -> str:
    value = secret.get(name, default)
    if not isinstance(value, str) or not value or not _shows(value):
        raise SecretError(f"a secret of type '{secret['type']}' needs '{name}', a text of one line")
    return value


def _shows(text: str) -> bool:
    """True if a text is one line. A file's last line ends in a newline that is not part of the secret."""
    return text.isprintable() and text == text.strip()


def _word(secret: dict[str, JSON], name: str) -> str:
    """A text that can be a part of a header."""
    value = _text(secret, name)
    if not _TOKEN.fullmatch(value):
        raise SecretError(
            f"'{name}' of a secret of type '{secret['type']}' must be ASCII, no spaces"
        )
    return value


def _address(secret: dict[str, JSON], name: str, default: str | None = None) -> str:
    value = _text(secret, name, default)
    try:
        parts = urlsplit(value)
        whole = parts.scheme in ("https", "http") and parts.hostname and parts.port != 0
    except ValueError:
        whole = False
    if not whole or "@" in parts.netloc:
        raise SecretError(
            f"'{name}' of a secret of type '{secret['type']}' must be an https:// URL"
        )
    return value


def _header(secret: dict[str, JSON]) -> dict[str, str]:
    name = _text(secret, "name")
    if not HEADER.fullmatch(name) or name.lower() in RESERVED:
        raise SecretError("a secret of type 'header' needs a 'name' that a header may have")
    return {name: _word(secret, "value")}


def _basic(text: str) -> str:
    return f"Basic {base64.b64encode(text.encode()).decode()}"


def _webhook_secret(text: str) -> bytes:
    try:
        return base64.b64decode(text.removeprefix("whsec_"), validate=True)
    except ValueError:
        if text.startswith("whsec_"):
            raise SecretError("what follows 'whsec_' in a secret must be base64") from None
        return text.encode()


def _google_signer(secret: dict[str, JSON]) -> Any:
    try:
        from google.auth.crypt import RSASigner  # noqa: PLC0415  an optional dependency
    except ImportError:
        raise SecretError(f"service accounts need google-auth: {how_to_install('gcp')}") from None
    try:
        return RSASigner.from_service_account_info(secret)  # type: ignore[no-untyped-call]
    except ValueError:
        raise SecretError("a service account needs a 'private_key' in PEM") from None


def _aws(secret: dict[str, JSON]) -> AwsKeys:
    session = secret.get("session_token")
    return AwsKeys(
        _word(secret, "access_key_id"),
        _word(secret, "secret_access_key"),
        None if session is None else _word(secret, "session_token"),
    )


_SECRETS: dict[str, Callable[[Tokens, dict[str, JSON], str], Authorizer]] = {
    "basic": lambda _, s, __: Fixed(
        {"Authorization": _basic(f"{_text(s, 'username')}:{_text(s, 'password')}")}
    ),
    "bearer": lambda _, s, __: Fixed({"Authorization": f"Bearer {_word(s, 'token')}"}),
    "header": lambda _, s, __: Fixed(_header(s)),
    "functions-key": lambda _, s, __: Fixed({"x-functions-key": _word(s, "key")}),
    "iam": Tokens.iam,
    "entra": Tokens.entra,
    "service_account": Tokens.service_account,
    "hmac": lambda _, s, __: Signed(_webhook_secret(_text(s, "secret"))),
    "aws": lambda _, s, __: _aws(s),
}
