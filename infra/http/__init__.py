"""The service over HTTP, on OpenWhisk's paths."""

from .api import Api
from .app import create_app
from .audit import PERMISSION, RESOURCE
from .auth import IDENTITY, Authenticator
from .json_parser import WideIntegerError, parse
from .requests import content
from .responses import Json
from .service import METRICS_TYPE, scrapes
from .visibility import is_machine_hidden
from .wings import Route, Wing

__all__ = [
    "IDENTITY",
    "METRICS_TYPE",
    "PERMISSION",
    "RESOURCE",
    "Api",
    "Authenticator",
    "Json",
    "Route",
    "WideIntegerError",
    "Wing",
    "content",
    "create_app",
    "is_machine_hidden",
    "parse",
    "scrapes",
]
