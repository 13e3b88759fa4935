"""The parts of the service that endpoints use."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from ..edge import Bodies
from .request_ids import RequestIds

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from ...actions import Arns, Remote
    from ...adapters import Fault
    from ...composer import JSON
    from ..access import AuditLog, Keys, Namespaces, SecretStore
    from ..engine import Engine
    from .auth import Authenticator


class Webhooks(Protocol):
    """The webhooks that fire triggers."""

    async def hear(self, token: str, headers: Mapping[str, str], body: bytes) -> str | None:
        """Fires the trigger of the webhook with this token. Returns the trigger's activation, if any.

        Raises:
            RefusedError: no webhook has the token, or its trigger may not fire now.
        """


class Clouds(Protocol):
    """The clouds that run actions elsewhere."""

    @property
    def missing(self) -> Mapping[str, str]:
        """The unusable kinds of actions, each with the part that must be installed or set."""

    async def check(self, remote: Remote, owner: str) -> Fault | str:
        """Checks that a function can be reached with the credentials of its owner."""

    def check_secret(self, secret: JSON) -> None:
        """Checks a secret.

        Raises:
            SecretError: the secret is malformed.
        """


@dataclass(slots=True)
class Api:
    """The parts of the service that its endpoints use.

    Args:
        engine: runs executions.
        auth: authenticates callers.
        namespaces: all namespaces.
        keys: the keys of all namespaces.
        audit: the audit log.
        webhooks: the webhooks that fire triggers.
        clouds: the clouds that run actions elsewhere.
        secrets: credentials for other services.
        arns: makes ARNs.
        payload_bytes: size limit of a call's parameters.
        metrics: writes the metrics in Prometheus' format.
        resume: resumes a server that was started paused.
        bodies: bounds the bytes of requests that are read at the same time.
        ids: ids of requests that their clients have not named.
        metrics_key: key with which a scraper reads the metrics; "" for none.
        stopping: true while the server stops and begins nothing new.
    """

    engine: Engine
    auth: Authenticator
    namespaces: Namespaces
    keys: Keys
    audit: AuditLog
    webhooks: Webhooks
    clouds: Clouds
    secrets: SecretStore
    arns: Arns
    payload_bytes: int
    metrics: Callable[[], bytes]
    resume: Callable[[], Awaitable[None]]
    bodies: Bodies = field(default_factory=Bodies)
    ids: RequestIds = field(default_factory=RequestIds)
    metrics_key: str = ""
    stopping: bool = False
