"""The client of a server, in a program of your own: `async with connect() as x`, or `with connect() as x`."""

from .actions import InDoubtError, RefusedError
from .infra.client import (
    BlockingClient,
    BlockingEntity,
    BlockingExecution,
    BlockingListing,
    Client,
    Connecting,
    PlaceError,
    RemoteEntity,
    RemoteExecution,
    UnreachedError,
    connect,
)
from .infra.handles import (
    ActionCancelledError,
    ActionError,
    ActionTerminatedError,
    ActionTimedOutError,
    Listing,
    Xingqiao,
)

__all__ = [
    "ActionCancelledError",
    "ActionError",
    "ActionTerminatedError",
    "ActionTimedOutError",
    "BlockingClient",
    "BlockingEntity",
    "BlockingExecution",
    "BlockingListing",
    "Client",
    "Connecting",
    "InDoubtError",
    "Listing",
    "PlaceError",
    "RefusedError",
    "RemoteEntity",
    "RemoteExecution",
    "UnreachedError",
    "Xingqiao",
    "connect",
]
