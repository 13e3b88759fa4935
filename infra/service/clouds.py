"""Functions on clouds: assembles egress, adapters and credentials."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...actions import REMOTES
from ...adapters import (
    MISSING,
    Authorizers,
    CloudInvoker,
    Egress,
    Fault,
    Rules,
    Tokens,
    adapters,
    queued_completions,
)
from ..settings import each

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from ...actions import Clock, Remote
    from ...adapters import Completions, Secrets
    from ...composer import JSON, Outcome
    from ..settings import Settings

ANYBODY = "https://example.com"  # an audience, for secrets that are only checked


@dataclass(frozen=True, slots=True)
class Clouds:
    """Runs actions elsewhere. `missing` names what kinds that cannot be used need."""

    invoker: CloudInvoker
    tokens: Tokens
    egress: Egress
    authorizers: Authorizers
    missing: dict[str, str]

    async def check(self, remote: Remote, owner: str) -> Fault | str:
        """Checks that a function can be reached and accepts our credentials."""
        if remote.kind in self.missing:
            error: JSON = {"code": "Unavailable", "message": self.missing[remote.kind]}
            return Fault("Unavailable", error, "no")
        return await self.invoker.check(remote, owner)

    def check_secret(self, secret: JSON) -> None:
        """Checks a secret.

        Raises:
            SecretError: it cannot be used.
        """
        self.tokens.authorizer(secret, ANYBODY)


@asynccontextmanager
async def open_clouds(settings: Settings, secrets: Secrets, clock: Clock) -> AsyncIterator[Clouds]:
    """Opens the egress.

    Raises:
        EgressError: the operator's rules are malformed.
    """
    rules = Rules(each(settings.egress_allow))
    async with Egress(rules, clock) as egress:
        tokens = Tokens(egress, clock)
        found = adapters(egress, clock, settings.payload_bytes)
        authorizers = Authorizers(secrets, tokens, found)
        missing = {kind: MISSING for kind in REMOTES if kind not in found}
        async with CloudInvoker(found, authorizers, clock, settings.api_host or "") as invoker:
            yield Clouds(invoker, tokens, egress, authorizers, missing)


@asynccontextmanager
async def listening(
    clouds: Clouds,
    settings: Settings,
    clock: Clock,
    complete: Callable[[str, Outcome], Awaitable[None]],
) -> AsyncIterator[Completions | None]:
    """Listens for completions from a queue, if the settings name one, and passes them to `complete`.

    Raises:
        SecretError: the settings name a queue, and the credentials for it are missing.
    """
    if not settings.aws_completions:
        yield None
        return
    queue = settings.aws_completions
    async with queued_completions(clouds.egress, clock, queue, complete) as completions:
        yield completions
