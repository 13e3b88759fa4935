"""What every endpoint has at hand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from infra.engine import Engine
    from infra.feeds import Feeds
    from infra.namespaces import Namespaces

    from .auth import Authenticator


@dataclass(slots=True)
class Api:
    """The service as its endpoints see it.

    Args:
        engine: what runs executions.
        auth: who calls.
        namespaces: that there are.
        feeds: what fires triggers.
        payload_bytes: of one call's parameters.
        metrics: writes all figures in Prometheus' format.
        stopping: set when the server stops: then it begins nothing new.
    """

    engine: Engine
    auth: Authenticator
    namespaces: Namespaces
    feeds: Feeds
    payload_bytes: int
    metrics: Callable[[], bytes]
    stopping: bool = False
