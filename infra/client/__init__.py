"""The client of a server: the public door `connect`, and what the command line shares with it.

Each name is loaded when it is first used: the command line does not load the asynchronous client.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from . import dev_file, wskprops
    from .batches import RemoteBatch
    from .blocking import (
        BlockingBatch,
        BlockingClient,
        BlockingEntity,
        BlockingExecution,
        BlockingListing,
        BlockingSchedule,
        BlockingWorker,
    )
    from .client import Client
    from .connecting import Connecting, connect
    from .errors import UnreachedError
    from .executions import RemoteEntity, RemoteExecution
    from .places import (
        CredentialsError,
        Given,
        Options,
        Place,
        PlaceError,
        credentials_in,
        locate,
    )
    from .schedules import RemoteSchedule
    from .wire import (
        CLOUD_EVENTS,
        HOME,
        MARGIN_S,
        NAMESPACES,
        NOT_FOUND,
        Request,
        answer,
        basic,
        entity,
        named,
        segment,
        target,
    )

_MODULES = {
    "batches": ("RemoteBatch",),
    "blocking": (
        "BlockingBatch", "BlockingClient", "BlockingEntity", "BlockingExecution", "BlockingListing",
        "BlockingSchedule", "BlockingWorker",
    ),
    "client": ("Client",),
    "connecting": ("Connecting", "connect"),
    "errors": ("UnreachedError",),
    "executions": ("RemoteEntity", "RemoteExecution"),
    "places": (
        "CredentialsError", "Given", "Options", "Place", "PlaceError", "credentials_in", "locate",
    ),
    "schedules": ("RemoteSchedule",),
    "wire": (
        "CLOUD_EVENTS", "HOME", "MARGIN_S", "NAMESPACES", "NOT_FOUND", "Request", "answer", "basic", "entity",
        "named", "segment", "target",
    ),
}  # fmt: skip
_HOMES = {name: module for module, names in _MODULES.items() for name in names}

__all__ = [
    "CLOUD_EVENTS",
    "HOME",
    "MARGIN_S",
    "NAMESPACES",
    "NOT_FOUND",
    "BlockingBatch",
    "BlockingClient",
    "BlockingEntity",
    "BlockingExecution",
    "BlockingListing",
    "BlockingSchedule",
    "BlockingWorker",
    "Client",
    "Connecting",
    "CredentialsError",
    "Given",
    "Options",
    "Place",
    "PlaceError",
    "RemoteBatch",
    "RemoteEntity",
    "RemoteExecution",
    "RemoteSchedule",
    "Request",
    "UnreachedError",
    "answer",
    "basic",
    "connect",
    "credentials_in",
    "dev_file",
    "entity",
    "locate",
    "named",
    "segment",
    "target",
    "wskprops",
]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name not in _HOMES:
        return import_module(f".{name}", __name__)
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
