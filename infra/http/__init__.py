"""The service over HTTP, on OpenWhisk's paths."""

from .api import Api
from .app import create_app
from .auth import Authenticator
from .hiding import is_machine_hidden
from .parsing import WideIntegerError, parse
from .reading import content
from .wings import Route, Wing

__all__ = [
    "Api",
    "Authenticator",
    "Route",
    "WideIntegerError",
    "Wing",
    "content",
    "create_app",
    "is_machine_hidden",
    "parse",
]
