"""A wing: another API that the service serves over HTTP."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from starlette.requests import Request
    from starlette.responses import Response

Endpoint: TypeAlias = "Callable[..., Awaitable[Response]]"
Route: TypeAlias = "tuple[str, str, Endpoint]"  # a method or "*", a path, an endpoint


def _other(_: Request) -> None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Wing:
    """Another API beside OpenWhisk's.

    Args:
        routes: the routes of the API.
        frequent: the routes with the most requests, each as its method and its path: see `direct`.
        asked: beginnings of paths at which the wing itself answers OPTIONS requests.
        unknown: refuses a request of the API's clients that has no route; None for other requests.
    """

    routes: Sequence[Route]
    frequent: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()
    unknown: Callable[[Request], Response | None] = _other
