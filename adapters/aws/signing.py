"""Credentials for AWS: keys of a secret, or of botocore's default chain; and signatures made with them.

botocore provides its chain of credentials (environment, profiles, SSO, roles, containers, instances),
the endpoints of services, and signatures (SigV4). It blocks, so it is called on a thread, and seldom: keys are kept
until shortly before they expire.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from ...actions import PERMISSION
from ..credentials import AwsKeys, CredentialsError
from ..port import Fault

if TYPE_CHECKING:
    from ...actions import Clock
    from ..port import HttpRequest

AGAIN_MS = 30_000  # the chain is not called more often, even if its keys are refused
SIGNED = ("X-Amz-Date", "X-Amz-Security-Token", "X-Amz-Content-SHA256", "Authorization")
S3 = "s3"  # signs paths as they are, and the body's hash

# At DEBUG it logs keys, tokens and signed requests; at INFO the places of keys.
logging.getLogger("botocore").setLevel(logging.WARNING)


@runtime_checkable
class KeySource(Protocol):
    """A source of keys."""

    async def keys(self) -> AwsKeys:
        """Keys for signatures made now.

        Raises:
            CredentialsError: there are none.
        """


class Chain:
    """The server's own credentials, by botocore's default chain. An `Authorizer` for AWS only.

    Args:
        clock: the time.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._credentials: Any = None  # botocore's, which renew themselves
        self._keys: AwsKeys | None = None
        self._asked_ms = 0
        self._asking = asyncio.Lock()

    async def keys(self) -> AwsKeys:
        """The keys of the chain: fetched once for all who wait, and again before they expire."""
        async with self._asking:
            known, now_ms = self._keys, self._clock.now_ms()
            if known is not None and (not self._due() or now_ms < self._asked_ms + AGAIN_MS):
                return known
            self._asked_ms = now_ms
            try:
                self._keys = await self._threaded()
            except CredentialsError:
                if known is None or self._due(0):
                    raise
            return self._keys or known  # type: ignore[return-value]

    def _due(self, *left_s: int) -> bool:
        """True if keys must be renewed: some seconds before they expire, or as early as botocore recommends."""
        due = getattr(self._credentials, "refresh_needed", None)
        return due is not None and bool(due(*left_s))

    async def _threaded(self) -> AwsKeys:
        """Calls the chain. An error's text may hold credentials, so only the type of the error is shown."""
        try:
            return await asyncio.to_thread(self._ask)
        except Exception as error:  # noqa: BLE001  the boundary to an SDK
            why = f" ({type(error).__name__})" if str(error) else ""
            text = (
                f"AWS' usual chain gives this server no credentials{why}: set AWS_PROFILE or "
                "AWS_ACCESS_KEY_ID, or name a secret in the action's 'credentials'"
            )
            raise CredentialsError(Fault.saying(PERMISSION, text, "no")) from None

    def _ask(self) -> AwsKeys:
        from botocore.session import Session  # noqa: PLC0415  an optional dependency

        if self._credentials is None:
            self._credentials = Session().get_credentials()
        if self._credentials is None:
            raise LookupError
        found = self._credentials.get_frozen_credentials()
        return AwsKeys(found.access_key, found.secret_key, found.token)

    async def headers(self, _ask: HttpRequest, _now_ms: int) -> dict[str, str]:
        text = "this server's AWS credentials are not valid for other clouds"
        raise CredentialsError(Fault.saying(PERMISSION, text, "no"))

    def refused(self) -> bool:
        """Looks the keys up from the beginning, unless that was done a moment ago."""
        if self._clock.now_ms() < self._asked_ms + AGAIN_MS:
            return False
        self._credentials = self._keys = None
        return True


@dataclass(frozen=True, slots=True)
class Signer:
    """Signs requests to one service in one region."""

    keys: AwsKeys = field(repr=False)
    service: str
    region: str

    async def headers(self, outgoing: HttpRequest, _now_ms: int) -> dict[str, str]:
        from botocore.auth import S3SigV4Auth, SigV4Auth  # noqa: PLC0415  an optional dependency
        from botocore.awsrequest import AWSRequest  # noqa: PLC0415
        from botocore.credentials import Credentials  # noqa: PLC0415

        keys = self.keys
        credentials = Credentials(keys.access_key, keys.secret_key, keys.session_token)
        request = AWSRequest(
            method=outgoing.method, url=outgoing.url, headers=outgoing.headers, data=outgoing.body
        )
        scheme = S3SigV4Auth if self.service == S3 else SigV4Auth
        scheme(credentials, self.service, self.region).add_auth(request)
        return {name: request.headers[name] for name in SIGNED if name in request.headers}

    def refused(self) -> bool:
        return False
