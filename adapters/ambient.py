"""The server's own credentials: each SDK's default chain, called in a thread because SDKs block."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from ..actions import PERMISSION
from .credentials import CredentialsError, Expiring, SecretError
from .extras import how_to_install
from .port import Fault

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..actions import Clock
    from .port import Authorizer

GOOGLE_LIFE_S = 3600.0  # of an identity token


def google(clock: Clock) -> Callable[[str], Authorizer]:
    """Identity tokens of Google's application default credentials, for an audience."""

    def authorizer(audience: str) -> Authorizer:
        try:
            from google.auth.transport.requests import Request  # noqa: PLC0415  an optional dependency
            from google.oauth2.id_token import fetch_id_token  # noqa: PLC0415
        except ImportError:
            raise SecretError(_missing("google-auth", "gcp")) from None

        def fetch() -> tuple[str, float]:
            token = fetch_id_token(Request(), audience)  # type: ignore[no-untyped-call]
            return str(token), GOOGLE_LIFE_S

        return Expiring(lambda: _threaded(fetch, "Google"), clock)

    return authorizer


def azure(clock: Clock) -> Callable[[str], Authorizer]:
    """Tokens of Azure's default credential, for a scope."""

    def authorizer(scope: str) -> Authorizer:
        try:
            from azure.identity import DefaultAzureCredential  # noqa: PLC0415  an optional dependency
        except ImportError:
            raise SecretError(_missing("azure-identity", "azure")) from None
        credential = DefaultAzureCredential()

        def fetch() -> tuple[str, float]:
            token = credential.get_token(scope)
            return token.token, token.expires_on - time.time()  # noqa: TID251  the SDK tells an instant

        return Expiring(lambda: _threaded(fetch, "Azure"), clock)

    return authorizer


def _missing(distribution: str, extra: str) -> str:
    return f"this server has no {distribution}: {how_to_install(extra)}"


async def _threaded(fetch: Callable[[], tuple[str, float]], cloud: str) -> tuple[str, float]:
    """Calls the SDK. An error's text may hold credentials, so only the type of the error is shown."""
    try:
        return await asyncio.to_thread(fetch)
    except Exception as error:  # noqa: BLE001  the boundary to an SDK
        text = f"{cloud}'s usual chain gives this server no credentials ({type(error).__name__})"
        fault = Fault.saying(PERMISSION, text, "no")
        raise CredentialsError(fault) from None
