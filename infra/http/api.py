"""What every endpoint has at hand."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from ..edge import Bodies

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from ...actions import Arns, Remote
    from ...adapters import Fault
    from ...composer import JSON
    from ..access import Namespaces, SecretStore
    from ..engine import Engine
    from .auth import Authenticator


class Webhooks(Protocol):
    """The webhooks that fire triggers."""

    async def hear(self, token: str, headers: Mapping[str, str], body: bytes) -> str | None:
        """Fires the trigger of the webhook with this token. Returns the trigger's activation, if any.

        Raises:
            RefusedError: when no webhook has the token, or its trigger may not fire now.
        """


class Clouds(Protocol):
    """The clouds that run actions elsewhere."""

    @property
    def missing(self) -> Mapping[str, str]:
        """The kinds of actions that cannot be used, each with what must be installed or set."""

    async def check(self, remote: Remote, owner: str) -> Fault | str:
        """Finds out whether a function can be reached with the credentials of its owner."""

    def check_secret(self, secret: JSON) -> None:
        """Looks at a secret.

        Raises:
            SecretError: when it cannot be used.
        """


@dataclass(slots=True)
class Api:
    """The service as its endpoints see it.

    Args:
        engine: what runs executions.
        auth: who calls.
        namespaces: that there are.
        webhooks: that fire triggers.
        clouds: what runs actions elsewhere.
        secrets: that those name.
        arns: spells their names.
        payload_bytes: of one call's parameters.
        metrics: writes all figures in Prometheus' format.
        resume: has a server go on that was started paused.
        bodies: how much of requests is read at the same time.
        metrics_key: that a scraper shows to read the figures; "" for none.
        stopping: set when the server stops: then it begins nothing new.
    """

    engine: Engine
    auth: Authenticator
    namespaces: Namespaces
    webhooks: Webhooks
    clouds: Clouds
    secrets: SecretStore
    arns: Arns
    payload_bytes: int
    metrics: Callable[[], bytes]
    resume: Callable[[], Awaitable[None]]
    bodies: Bodies = field(default_factory=Bodies)
    metrics_key: str = ""
    stopping: bool = False
