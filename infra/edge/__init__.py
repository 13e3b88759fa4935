"""The edge of the server: what a connection may send and how long it may take, before anybody is known."""

from .acceptor import Acceptor
from .bodies import Bodies, BusyError
from .bounds import Bounds, raise_descriptors
from .census import Census, network_of
from .certificates import CertificateError, context_of
from .metrics import edge_metrics
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
