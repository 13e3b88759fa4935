"""The page of all HTTP requests, made of the server's routes."""

from __future__ import annotations

from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING

from xingqiao.infra.http.routes import ROUTES

from .markdown import docstring

if TYPE_CHECKING:
    from xingqiao.infra.http.wings import Endpoint, Route

HEAD = """\
# HTTP API

Every request of Xingqiao's own API, which includes OpenWhisk's. Send the credentials by HTTP Basic
authentication. `{namespace}` is a namespace, or `_` for the caller's own. A name with `:path` may have
slashes: a package and a name.
"""


def page() -> str:
    """All requests as one page, grouped by what they are about."""
    parts = [HEAD]
    shown = [route for route in ROUTES if route[1] == "/" or not _is_second_spelling(route[1])]
    for subject, routes in groupby(sorted(shown, key=_subject), key=_subject):
        parts += [f"## {subject}", "", *(_request(route) for route in routes)]
    return "\n".join(parts)


def _subject(route: Route) -> str:
    words = [word for word in route[1].split("/") if word not in ("", "api", "v1", "{namespace}")]
    if words[:1] == ["namespaces"]:
        words = words[1:] or words
    return words[0].capitalize() if words else "Server"


def _is_second_spelling(path: str) -> bool:
    """True for a path that leads to the same place without its last slash."""
    return path.endswith("/") and any(path[:-1] == other for _, other, _ in ROUTES)


def _request(route: Route) -> str:
    method, path, endpoint = route
    method = "any method" if method == "*" else method
    return f"### {method} {path}\n\n{docstring(_function(endpoint))}"


def _function(endpoint: Endpoint) -> object:
    return endpoint.func if isinstance(endpoint, partial) else endpoint
