"""The service over HTTP, on OpenWhisk's paths."""

from .api import Api
from .app import create_app
from .auth import Authenticator, AuthError, open_authenticator

__all__ = ["Api", "AuthError", "Authenticator", "create_app", "open_authenticator"]
