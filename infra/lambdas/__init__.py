"""AWS Lambda's API, for its own clients: a function is an action of its name, in the caller's namespace.

Not supported: layers, images, code from S3, event sources, destinations. A handler has at most five minutes and
512 MB. The names of the API are loaded when they are first used: an embedded engine does not load a web server.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from .lambdas import Lambdas
from .records import Records as LambdaRecords

if TYPE_CHECKING:
    from .api import LambdaApi
    from .routes import LAMBDA

__all__ = ["LAMBDA", "LambdaApi", "LambdaRecords", "Lambdas"]

_API = {"LAMBDA": ".routes", "LambdaApi": ".api"}


def __getattr__(name: str) -> object:
    if name not in _API:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_API[name], __name__), name)
