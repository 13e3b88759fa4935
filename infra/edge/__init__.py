"""The edge of the server: bounds on connections and requests before authentication.

`Guarded` is imported on first use: it loads uvicorn, which only a listening server needs.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from .acceptor import Acceptor
from .bodies import Bodies, BusyError
from .bounds import Bounds, raise_descriptors
from .census import Census, network_of
from .certificates import CertificateError, context_of
from .metrics import edge_metrics

if TYPE_CHECKING:
    from .protocol import Guarded

__all__ = [
    "Acceptor",
    "Bodies",
    "Bounds",
    "BusyError",
    "Census",
    "CertificateError",
    "Guarded",
    "context_of",
    "edge_metrics",
    "network_of",
    "raise_descriptors",
]


def __getattr__(name: str) -> object:
    if name != "Guarded":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    guarded: object = import_module(".protocol", __name__).Guarded
    return guarded
