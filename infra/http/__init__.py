"""The service over HTTP, on OpenWhisk's paths."""

from .api import Api
from .app import create_app
from .auth import Authenticator

__all__ = ["Api", "Authenticator", "create_app"]
