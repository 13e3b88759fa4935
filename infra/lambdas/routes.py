"""The paths of Lambda's API, with their operations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..http import Wing
from . import functions, invocations
from .protocol import served, unknown

if TYPE_CHECKING:
    from ..http import Route
    from .protocol import Operation

_ALL = "/2015-03-31/functions"
_ONE = _ALL + "/{name}"

_OPERATIONS: list[tuple[str, str, Operation]] = [
    ("POST", _ONE + "/invocations", invocations.invoke),
    ("POST", _ALL, functions.create_function),
    ("POST", _ALL + "/", functions.create_function),
    ("GET", _ALL, functions.list_functions),
    ("GET", _ALL + "/", functions.list_functions),
    ("GET", _ONE, functions.get_function),
    ("DELETE", _ONE, functions.delete_function),
    ("GET", _ONE + "/configuration", functions.get_configuration),
    ("PUT", _ONE + "/configuration", functions.update_configuration),
    ("PUT", _ONE + "/code", functions.update_code),
    ("GET", _ONE + "/versions", functions.list_versions),
]

ROUTES: list[Route] = [(method, path, served(operation)) for method, path, operation in _OPERATIONS]

LAMBDA = Wing(routes=ROUTES, unknown=unknown)
