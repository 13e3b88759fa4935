"""The place of a wing in the service over HTTP: the routes it adds, and how it refuses other requests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from starlette.requests import Request
    from starlette.responses import Response

Endpoint: TypeAlias = "Callable[..., Awaitable[Response]]"
Route: TypeAlias = "tuple[str, str, Endpoint]"  # a method or "*", a path, and what answers


def _other(_: Request) -> None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Wing:
    """Another API beside OpenWhisk's.

    Args:
        routes: that it adds.
        unknown: refuses a request of its clients that no route takes; None for requests of others.
    """

    routes: Sequence[Route]
    unknown: Callable[[Request], Response | None] = _other
