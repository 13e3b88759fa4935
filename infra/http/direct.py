"""The most frequent requests, answered without the framework's router and its layers.

Only the way to an endpoint and back is shorter: the endpoints, and the responses to their errors, are those that
the router uses. A request with anything unusual in its way (another method, a path of another route, an
application that mounts this one) is left to the router.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from starlette.datastructures import Headers, QueryParams
from starlette.requests import Request

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from starlette.responses import Response
    from starlette.routing import Route
    from starlette.types import Receive, Scope, Send

    from .wings import Endpoint

QUERY_BYTES = 256  # a longer query is parsed each time: the cache stays small
_QUERIES = 256


class Direct:
    """The endpoints of the most frequent requests.

    Args:
        routes: all routes of the application, in the order of the router.
        frequent: the routes to answer here, each as its method and its path (`POST /api/v1/...`).
        expected: the errors that `refusal` has a response to; others are told as a mistake of the server.
        refusal: the response to an error.
    """

    def __init__(
        self,
        routes: Iterable[Route],
        frequent: Collection[str],
        expected: tuple[type[Exception], ...],
        refusal: Callable[[Request, Exception], Response],
    ) -> None:
        self._expected, self._refusal = expected, refusal
        self._ways: dict[str, list[tuple[Callable[[str], Any], Endpoint]]] = {}
        for route in routes:
            for method in route.methods or ():
                if f"{method} {route.path}" in frequent:
                    way = (route.path_regex.match, route.endpoint)
                    self._ways.setdefault(method, []).append(way)

    def find(self, scope: Scope) -> Endpoint | None:
        """The endpoint of a request, with the parameters of the path in its scope; None for the router."""
        if scope.get("root_path"):
            return None
        path = scope["path"]
        for match, endpoint in self._ways.get(scope["method"], ()):
            found = match(path)
            if found is not None:
                scope["path_params"] = found.groupdict()
                return endpoint
        return None

    async def answer(
        self, endpoint: Endpoint, scope: Scope, receive: Receive, send: Send
    ) -> tuple[Response, Exception | None]:
        """The response of an endpoint, and the mistake of the server that it tells, if it tells one."""
        request = DirectRequest(scope, receive, send)
        try:
            return await endpoint(request), None
        except self._expected as error:
            error.__traceback__ = None  # an error that many requests share would collect frames
            return self._refusal(request, error), None
        except Exception as error:  # noqa: BLE001  the caller raises it, after the response
            return self._refusal(request, error), error


class DirectRequest(Request):
    """A request whose headers are looked up in constant time, and whose query is often parsed already."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        super().__init__(scope, receive, send)
        self._found = FirstHeaders(scope)

    @property
    def headers(self) -> Headers:
        return self._found

    @property
    def query_params(self) -> QueryParams:
        query: bytes = self.scope["query_string"]
        return _parsed(query) if len(query) <= QUERY_BYTES else super().query_params


@lru_cache(_QUERIES)
def _parsed(query: bytes) -> QueryParams:
    """The parameters of a query; they cannot be changed, so requests may share them."""
    return FoundParams(query)


class FoundParams(QueryParams):
    """The parameters of a query, of several with one name the last. A missing one is no exception inside."""

    def __init__(self, query: bytes) -> None:
        super().__init__(query)
        self._found = dict(self.items())

    def get(self, key: str, default: Any = None) -> Any:
        return self._found.get(key, default)


class FirstHeaders(Headers):
    """The headers of a request by name; of several with one name the first, as the framework finds it."""

    def __init__(self, scope: Scope) -> None:
        super().__init__(scope=scope)
        self._first: dict[bytes, bytes] = dict(reversed(scope["headers"]))

    def __getitem__(self, key: str) -> str:
        return self._first[key.lower().encode("latin-1")].decode("latin-1")

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and key.lower().encode("latin-1") in self._first

    def get(self, key: str, default: Any = None) -> Any:
        found = self._first.get(key.lower().encode("latin-1"))
        return default if found is None else found.decode("latin-1")
